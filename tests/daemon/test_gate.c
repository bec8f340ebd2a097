/* SPDX-License-Identifier: Apache-2.0 */
/* The gate's patience with a client whose bytes wait, by the clock that the test gives it.  Nobody
 * receives, so libzmq stops reading: bytes wait in the connection for as long as the test wants. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zmq.h>

#include <cmocka.h>

#include "base/stats.h"
#include "clock.h"
#include "transport/gate.h"

#define TICK_NS  (20 * NS_PER_MS)
#define CLIENT   3u
#define MESSAGES 400
#define BYTES    16384

static struct config config;
static struct stats *stats;
static struct gate *gate;
static char folder[32], endpoint[64];
static void *context, *router, *dealer;
static uint64_t now_ns;

static int start(void **state)
{
    static char nothing[] = "";
    int few = 1, none = 0;

    (void)state;
    config.clients.max = 8;
    config.clients.heartbeat_ms = 1000;
    config.clients.max_message_kbytes = 1024;
    config.clients.queue_mbytes = config.pool.mbytes = 1024;
    config.debug_stream.folder = nothing;
    snprintf(folder, sizeof folder, "/tmp/trigd-gate-XXXXXX");
    assert_non_null(mkdtemp(folder));
    snprintf(endpoint, sizeof endpoint, "ipc://%s/in", folder);
    context = zmq_ctx_new();
    router = zmq_socket(context, ZMQ_ROUTER);
    dealer = zmq_socket(context, ZMQ_DEALER);
    zmq_setsockopt(router, ZMQ_RCVHWM, &few, sizeof few);
    zmq_setsockopt(dealer, ZMQ_LINGER, &none, sizeof none);
    assert_int_equal(stats_new(&stats), 0);
    assert_int_equal(gate_open(context, router, &config, NULL, stats, &gate), 0);
    assert_int_equal(zmq_bind(router, endpoint), 0);
    assert_int_equal(zmq_connect(dealer, endpoint), 0);
    now_ns = clock_ns();
    return 0;
}

static int stop(void **state)
{
    static char bytes[BYTES];
    int soon = 100;

    (void)state;
    zmq_close(dealer);
    zmq_setsockopt(router, ZMQ_RCVTIMEO, &soon, sizeof soon);
    while (zmq_recv(router, bytes, sizeof bytes, 0) >= 0) { /* a full pipe would keep libzmq */
    }
    zmq_socket_monitor(router, NULL, 0);
    zmq_close(router);
    gate_close(gate);
    stats_free(stats);
    zmq_ctx_term(context);
    (void)unlink(endpoint + strlen("ipc://")); /* libzmq may have done it */
    return rmdir(folder);
}

static uint64_t cut_off(void)
{
    return stats_get(&stats->g.cut_off);
}

static void tick(uint64_t after_ns)
{
    now_ns += after_ns;
    gate_tick(gate, now_ns);
}

/* The dealer says Hello, and sends more than libzmq takes in. */
static void meet_and_flood(void)
{
    static char bytes[BYTES];
    char address[GATE_ADDRESS];
    zmq_msg_t m;
    int n = 0;

    assert_int_equal(zmq_send(dealer, "hello", 5, 0), 5);
    zmq_msg_init(&m);
    assert_true(zmq_msg_recv(&m, router, 0) > 0); /* whose it is */
    assert_int_equal(zmq_msg_recv(&m, router, 0), 5);
    gate_hello(gate, &m, CLIENT, address);
    assert_string_not_equal(address, "?");
    zmq_msg_close(&m);
    while (n < MESSAGES && zmq_send(dealer, bytes, sizeof bytes, ZMQ_DONTWAIT) > 0)
        n++;
    usleep(100000); /* libzmq's threads have done what they can */
}

static void bytes_that_wait_for_long(void **state)
{
    (void)state;
    meet_and_flood();
    for (uint32_t i = 0; i < 20; i++) {
        gate_heard(gate, CLIENT); /* its messages end */
        tick(TICK_NS);
    }
    for (uint32_t i = 0; i < 20; i++) /* 0.4 s of the 0.5 s that one message may take */
        tick(TICK_NS);
    assert_int_equal(cut_off(), 0);
    for (uint32_t i = 0; i < 10; i++)
        tick(TICK_NS);
    assert_int_equal(cut_off(), 1);
}

/* The daemon was stopped, or its host: that is nobody's fault. */
static void a_daemon_that_stood_still(void **state)
{
    (void)state;
    meet_and_flood();
    tick(TICK_NS);
    for (uint32_t i = 0; i < 10; i++)
        tick(10 * NS_PER_S);
    assert_int_equal(cut_off(), 0);
    for (uint32_t i = 0; i < 10; i++)
        tick(TICK_NS);
    assert_int_equal(cut_off(), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(bytes_that_wait_for_long, start, stop),
        cmocka_unit_test_setup_teardown(a_daemon_that_stood_still, start, stop),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
