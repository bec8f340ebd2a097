/* SPDX-License-Identifier: Apache-2.0 */
/* Messages that are taken ahead of their turn: none is lost or changes its place, and who sends
 * more than its credits explain is cut off. */
#include <errno.h>
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
#include "transport/clients_inner.h"

#define CREDITS 8u
#define MOST    (2 * CREDITS + 64) /* messages of a client that may wait */
#define DEALERS 3u

static struct config config;
static struct stats *stats;
static struct directory *directory;
static struct clients *clients;
static char folder[32], endpoint[64];
static void *context, *dealer[DEALERS];

static int start(void **state)
{
    static char nothing[] = "", *endpoints[] = {endpoint};
    int none = 0;

    (void)state;
    snprintf(folder, sizeof folder, "/tmp/trigd-ahead-XXXXXX");
    assert_non_null(mkdtemp(folder));
    snprintf(endpoint, sizeof endpoint, "ipc://%s/in", folder);
    config.endpoints = endpoints;
    config.n_endpoints = 1;
    config.threads.zmq_threads = 1;
    config.pool.rois = DEALERS * CREDITS;
    config.pool.mbytes = 1;
    config.clients.max = DEALERS;
    config.clients.credits = CREDITS;
    config.clients.heartbeat_ms = 60000;
    config.clients.max_message_kbytes = 1024;
    config.clients.queue_mbytes = 1024;
    config.clients.weights = nothing;
    config.security.key_file = config.security.clients_file = nothing;
    config.debug_stream.folder = nothing;
    assert_int_equal(stats_new(&stats), 0);
    assert_int_equal(directory_new(1, DEALERS, &directory), 0);
    assert_int_equal(clients_open(&config, stats, config.pool.rois, NULL, directory, 0, &clients),
                     0);
    context = zmq_ctx_new();
    for (uint32_t i = 0; i < DEALERS; i++) {
        dealer[i] = zmq_socket(context, ZMQ_DEALER);
        zmq_setsockopt(dealer[i], ZMQ_LINGER, &none, sizeof none);
        zmq_setsockopt(dealer[i], ZMQ_SNDHWM, &none, sizeof none);
        assert_int_equal(zmq_connect(dealer[i], endpoint), 0);
    }
    return 0;
}

static int stop(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < DEALERS; i++)
        zmq_close(dealer[i]);
    zmq_ctx_term(context);
    clients_close(clients);
    directory_free(directory);
    stats_free(stats);
    return rmdir(folder);
}

/* Takes the next message, waiting for it; what clients_receive says. */
static int receive(struct peer *ret_peer, uint32_t *ret_route, uint32_t *ret_value)
{
    const uint64_t limit = clock_ns() + 60 * NS_PER_S;
    struct route route;
    zmq_msg_t body;
    int r;

    while ((r = clients_receive(clients, ret_peer, &route, &body)) == 0)
        assert_true(clock_ns() < limit);
    if (r != 1)
        return r;
    *ret_route = route.n;
    assert_int_equal(zmq_msg_size(&body), sizeof *ret_value);
    memcpy(ret_value, zmq_msg_data(&body), sizeof *ret_value);
    zmq_msg_close(&body);
    return 1;
}

static void send_number(uint32_t i, uint32_t value)
{
    assert_int_equal(zmq_send(dealer[i], &value, sizeof value, 0), sizeof value);
}

/* Makes a dealer a client. */
static uint32_t meet(uint32_t i)
{
    static char name[] = "one";
    Trigd__V1__Hello hello = TRIGD__V1__HELLO__INIT;
    struct peer peer;
    struct route route;
    uint32_t number;
    zmq_msg_t body;

    hello.name = name;
    send_number(i, 0);
    while (clients_receive(clients, &peer, &route, &body) == 0) {
    }
    assert_int_equal(clients_hello(clients, &peer, &hello, &number), 0);
    zmq_msg_close(&body);
    assert_int_equal(clients_at(clients, number)->credits, CREDITS);
    return number;
}

/* A message of a routing frame and a number, or of that many frames more. */
static void send_frames(uint32_t i, uint32_t value, uint32_t more)
{
    const struct route route = {.n = 1, .token = value};
    unsigned char frame[ROUTE_BYTES];
    const size_t n = route_pack(&route, frame);

    for (uint32_t k = 0; k <= more; k++)
        assert_int_equal(zmq_send(dealer[i], frame, n, ZMQ_SNDMORE), n);
    send_number(i, value);
}

/* Looks ahead until that finds something. */
static void look_ahead(void)
{
    const uint64_t limit = clock_ns() + 60 * NS_PER_S;

    while (!clients_has_ahead(clients) && clock_ns() < limit) {
        usleep(100000); /* all of it has come, mostly */
        clients_look_ahead(clients);
    }
    assert_true(clients_has_ahead(clients));
}

/* All messages of two clients and of a stranger come as they would have come, those of too many
 * frames as such. */
static void messages_within_credits(void **state)
{
    uint32_t number[DEALERS - 1], next[DEALERS] = {0}, n = 0;
    const uint32_t most[DEALERS] = {MOST, MOST, 20};

    (void)state;
    for (uint32_t i = 0; i < DEALERS - 1; i++)
        number[i] = meet(i);
    for (uint32_t i = 0; i < DEALERS; i++)
        for (uint32_t k = 0; k < most[i]; k++) {
            if (k % 3 == 0)
                send_number(i, k);
            else
                send_frames(i, k, k % 3 == 1 ? 0 : k);
        }
    look_ahead();
    while (n < 2 * MOST + 20) {
        struct peer peer;
        uint32_t route, value, who;
        int r = receive(&peer, &route, &value);
        uint32_t found = clients_find(clients, &peer);

        for (who = 0; who < DEALERS - 1 && number[who] != found; who++) {
        }
        assert_int_equal(r, next[who] % 3 == 2 ? -EBADMSG : 1);
        if (r == 1) {
            assert_int_equal(value, next[who]);
            assert_int_equal(route, value % 3);
        }
        next[who]++;
        n++;
    }
    assert_memory_equal(next, most, sizeof most);
    assert_int_equal(stats_get(&stats->g.cut_off), 0);
}

/* Receives what there is, and counts what comes of each client. */
static void receive_all(const uint32_t number[2], uint32_t ret_n[2])
{
    struct peer peer;
    struct route route;
    zmq_msg_t body;

    while (clients_receive(clients, &peer, &route, &body) == 1) {
        ret_n[0] += clients_find(clients, &peer) == number[0];
        ret_n[1] += clients_find(clients, &peer) == number[1];
        zmq_msg_close(&body);
    }
}

/* One client sends on and on; it is cut off, what it sent within its credits is taken, and all of
 * another's messages. */
static void a_client_beyond_its_credits(void **state)
{
    const uint64_t limit = clock_ns() + 60 * NS_PER_S;
    const uint32_t number[2] = {meet(0), meet(1)};
    uint32_t n[2] = {0}, sent = 0;

    (void)state;
    while (!clients_at(clients, number[0])->lost && clock_ns() < limit) {
        n[0] = 0;
        for (uint32_t k = 0; k < 2000; k++)
            send_number(0, k);
        send_number(1, sent++);
        usleep(100000);
        clients_look_ahead(clients);
        receive_all(number, n);
    }
    assert_non_null(clients_at(clients, number[0])->lost);
    assert_int_equal(stats_get(&stats->g.cut_off), 1);
    assert_true(n[0] >= MOST);
    while (n[1] < sent && clock_ns() < limit)
        receive_all(number, n);
    assert_int_equal(n[1], sent);
    assert_null(clients_at(clients, number[1])->lost);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(messages_within_credits, start, stop),
        cmocka_unit_test_setup_teardown(a_client_beyond_its_credits, start, stop),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
