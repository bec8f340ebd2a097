/* SPDX-License-Identifier: Apache-2.0 */
/* The second table of docs/protocol.md: what ingress answers, over a real socket. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zmq.h>

#include <cmocka.h>

#include "harness.h"

#define CODE(name) TRIGD__V1__ERROR__CODE__##name

static const char menu[] = "name: wire\n"
                           "streams: [physics]\n"
                           "steps:\n"
                           "  - {name: count, plugin: nothing}\n"
                           "chains:\n"
                           "  - {name: all, id: 1, steps: [{step: count}], streams: [physics]}\n";
static const char config[] =
    "devices: [{backend: cpu, index: 0, lanes: 1}]\n"
    "clients: {max: 1, credits: 4, max_message_kbytes: 64, max_items: 100}\n"
    "log: {level: error}\n";

static struct server server;

static int start(void **state)
{
    (void)state;
    server_start(&server, config, menu);
    return 0;
}

static int stop(void **state)
{
    (void)state;
    server_check_ledger(&server);
    server_stop(&server);
    return 0;
}

static void expect_error(struct link *l, Trigd__V1__Error__Code code, const char *text)
{
    const Trigd__V1__FromDaemon *m = link_expect(l, TRIGD__V1__FROM_DAEMON__BODY_ERROR);

    assert_int_equal(m->error->code, code);
    assert_string_equal(m->error->text, text);
}

static void expect_busy(struct link *l, uint64_t token, Trigd__V1__Busy__Reason reason)
{
    const Trigd__V1__FromDaemon *m = link_expect(l, TRIGD__V1__FROM_DAEMON__BODY_BUSY);

    assert_int_equal(m->busy->reason, reason);
    assert_int_equal(m->busy->n_tokens, 1);
    assert_int_equal(m->busy->tokens[0], token);
}

/* Says Bye and waits until the place is free for the next test. */
static void leave(struct link *l)
{
    Trigd__V1__ToDaemon m = TRIGD__V1__TO_DAEMON__INIT;
    Trigd__V1__Bye bye = TRIGD__V1__BYE__INIT;

    m.body_case = TRIGD__V1__TO_DAEMON__BODY_BYE;
    m.bye = &bye;
    link_send(l, &m);
    server_wait_counter(&server, "clients", 0);
    link_close(l);
}

static void two_frames(void **state)
{
    struct link l;

    (void)state;
    link_open(&l, &server);
    link_hello(&l, "wire", 0);
    assert_int_equal(zmq_send(l.socket, "a", 1, ZMQ_SNDMORE), 1);
    assert_int_equal(zmq_send(l.socket, "b", 1, 0), 1);
    expect_error(&l, CODE(MALFORMED),
                 "a message of trigd is one ZeroMQ frame, after a routing frame or alone; this one "
                 "had more or none");
    leave(&l);
}

static void send_hello(struct link *l, uint32_t protocol, const char *name)
{
    Trigd__V1__ToDaemon m = TRIGD__V1__TO_DAEMON__INIT;
    Trigd__V1__Hello hello = TRIGD__V1__HELLO__INIT;

    hello.protocol = protocol;
    hello.name = (char *)name;
    m.body_case = TRIGD__V1__TO_DAEMON__BODY_HELLO;
    m.hello = &hello;
    link_send(l, &m);
}

static void another_version(void **state)
{
    struct link l;

    (void)state;
    link_open(&l, &server);
    send_hello(&l, 9, "wire");
    expect_error(&l, CODE(PROTOCOL), "Hello asks for protocol 9; this daemon speaks protocol 1");
    link_close(&l);
}

static void too_many_clients(void **state)
{
    struct link first, second;

    (void)state;
    link_open(&first, &server);
    link_hello(&first, "first", 0);
    link_open(&second, &server);
    send_hello(&second, 1, "second");
    expect_error(&second, CODE(TOO_LARGE), "this daemon has its 1 clients already (clients.max)");
    link_close(&second);
    leave(&first);
}

/* Sends one RoI without any collection, or with an empty one. */
static void send_bare(struct link *l, uint64_t token, bool with_points)
{
    Trigd__V1__ToDaemon m = TRIGD__V1__TO_DAEMON__INIT;
    Trigd__V1__RoiBatch batch = TRIGD__V1__ROI_BATCH__INIT;
    Trigd__V1__Spacepoints none = TRIGD__V1__SPACEPOINTS__INIT;
    Trigd__V1__Roi roi = TRIGD__V1__ROI__INIT, *list[1] = {&roi};

    roi.token = token;
    roi.spacepoints = with_points ? &none : NULL;
    batch.n_rois = 1;
    batch.rois = list;
    m.body_case = TRIGD__V1__TO_DAEMON__BODY_BATCH;
    m.batch = &batch;
    link_send(l, &m);
}

static void a_missing_collection(void **state)
{
    struct link l;

    (void)state;
    link_open(&l, &server);
    link_hello(&l, "wire", 0);
    send_bare(&l, 5, false);
    link_expect(&l, TRIGD__V1__FROM_DAEMON__BODY_DECISIONS); /* its chains fail, it does not */
    assert_int_equal(l.last->decisions->decisions[0]->token, 5);
    assert_false(l.last->decisions->decisions[0]->accept);
    assert_int_equal(l.last->decisions->decisions[0]->status, TRIGD__V1__STATUS__OK);
    assert_int_equal(l.last->decisions->decisions[0]->n_missing, 1);
    assert_string_equal(l.last->decisions->decisions[0]->missing[0]->collection, "spacepoints");
    send_bare(&l, 6, true); /* empty is data */
    link_collect(&l, 6, 1, NULL);
    leave(&l);
}

static void before_hello(void **state)
{
    struct link l;

    (void)state;
    link_open(&l, &server);
    send_bare(&l, 7, true);
    expect_busy(&l, 7, TRIGD__V1__BUSY__REASON__NO_HELLO);
    link_close(&l);
}

static void after_bye(void **state)
{
    Trigd__V1__ToDaemon m = TRIGD__V1__TO_DAEMON__INIT;
    Trigd__V1__Bye bye = TRIGD__V1__BYE__INIT;
    struct link l;

    (void)state;
    link_open(&l, &server);
    link_hello(&l, "wire", 0);
    m.body_case = TRIGD__V1__TO_DAEMON__BODY_BYE;
    m.bye = &bye;
    link_send(&l, &m);
    send_bare(&l, 8, true);
    expect_busy(&l, 8, TRIGD__V1__BUSY__REASON__NO_HELLO);
    link_hello(&l, "wire", 0);
    send_bare(&l, 9, true);
    link_collect(&l, 9, 1, NULL);
    leave(&l);
}

/* Said again, Hello changes nothing; a Heartbeat comes back as it was. */
static void hello_again_and_heartbeat(void **state)
{
    Trigd__V1__ToDaemon m = TRIGD__V1__TO_DAEMON__INIT;
    Trigd__V1__Heartbeat beat = TRIGD__V1__HEARTBEAT__INIT;
    struct link l;

    (void)state;
    link_open(&l, &server);
    assert_int_equal(link_hello(&l, "wire", 3), 3);
    assert_int_equal(link_hello(&l, "other", 4), 3);
    beat.sent_ns = 123456789;
    m.body_case = TRIGD__V1__TO_DAEMON__BODY_HEARTBEAT;
    m.heartbeat = &beat;
    link_send(&l, &m);
    assert_int_equal(link_expect(&l, TRIGD__V1__FROM_DAEMON__BODY_HEARTBEAT)->heartbeat->sent_ns,
                     123456789);
    leave(&l);
}

/* Somewhat too large is answered; far too large never reaches the daemon, which serves on. */
static void too_large(void **state)
{
    static char bytes[(128 << 10) + 1];
    struct link l;

    (void)state;
    link_open(&l, &server);
    link_hello(&l, "wire", 0);
    link_send_bytes(&l, bytes, (64 << 10) + 1);
    expect_error(&l, CODE(TOO_LARGE), "the message has 65537 bytes; at most 65536 are allowed");
    link_send_bytes(&l, bytes, sizeof bytes);
    link_close(&l);
    /* the cut connection's place comes free by its silence; until then another is refused */
    link_open(&l, &server);
    send_bare(&l, 10, true);
    expect_busy(&l, 10, TRIGD__V1__BUSY__REASON__NO_HELLO);
    link_close(&l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(two_frames),
        cmocka_unit_test(another_version),
        cmocka_unit_test(too_many_clients),
        cmocka_unit_test(a_missing_collection),
        cmocka_unit_test(before_hello),
        cmocka_unit_test(after_bye),
        cmocka_unit_test(hello_again_and_heartbeat),
        cmocka_unit_test(too_large),
    };

    return cmocka_run_group_tests(tests, start, stop);
}
