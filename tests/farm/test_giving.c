/* SPDX-License-Identifier: Apache-2.0 */
/* How RoIs are given to nodes, and what comes of those that a node returns, loses or forgets: each
 * has one outcome, and the accounts balance. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zmq.h>

#include <cmocka.h>

#include "pair.h"

#define KEYS    "name: sup, heartbeat_ms: 50, lost_beats: 200, again_ms: 0"
#define LOSING  "name: sup, heartbeat_ms: 50, lost_beats: 30, again_ms: 0" /* silent: 1.5 s */
#define PATIENT "limits: {soft_ms: 0, hard_ms: 20000, drain_ms: 0}\n" /* nodes are lost before */

static uint32_t open_farm(const char *config, const char *farm, uint32_t credits)
{
    a = (struct fake){.plugin = NULL};
    b = a;
    pair_open(config, farm, credits);
    return link_hello(&client, "client", 0);
}

/* n RoIs of one event each, from `first` on, in one message. */
static void send(uint64_t first, uint32_t l1id, uint32_t n, bool one_event)
{
    struct roi_spec specs[ROUTE_ROIS];

    for (uint32_t i = 0; i < n; i++)
        specs[i] = (struct roi_spec){
            .token = first + i, .l1id = one_event ? l1id : l1id + i, .roi_id = i, .n = 3};
    link_send_rois(&client, specs, n);
}

/* The node that gets the next batch. */
static struct fake *next(void)
{
    return fake_next(both, 2);
}

static struct fake *other(const struct fake *n)
{
    return n == &a ? &b : &a;
}

/* ---------------------------------------------------------------- to whom */

static void by_counts_and_events(void **state)
{
    struct fake *first, *second;
    uint8_t got[8];

    (void)state;
    open_farm(SOON, KEYS, 64);
    send(0, 1, 4, true);
    first = next();
    assert_int_equal(first->route.n, 4);
    assert_false(first->route.is_partial);
    send(4, 2, 2, true); /* another event, to the one with less */
    second = next();
    assert_ptr_equal(second, other(first));
    fake_decide(first, 0, 4, true);
    send(6, 2, 2, true); /* the rest of that event follows it, though the other is idle */
    fake_decide(second, 0, 2, false);
    assert_ptr_equal(next(), second);
    fake_decide(second, 0, 2, false);
    link_collect(&client, 0, 8, got);
    for (uint32_t i = 0; i < 8; i++)
        assert_int_equal(got[i], i < 4);
    pair_close();
}

/* A batch with RoIs of events that are at different nodes goes to both, in parts. */
static void parts_by_event(void **state)
{
    struct roi_spec specs[4];
    struct fake *first, *second;

    (void)state;
    open_farm(SOON, KEYS, 64);
    send(0, 1, 1, true);
    first = next();
    send(1, 2, 1, true);
    second = next();
    assert_ptr_equal(second, other(first));
    fake_decide(first, 0, 1, true);
    fake_decide(second, 0, 1, true);
    for (uint32_t i = 0; i < 4; i++) /* of events 1, 2, 1, 2 */
        specs[i] = (struct roi_spec){.token = 2 + i, .l1id = 1 + i % 2, .roi_id = 9 + i, .n = 1};
    link_send_rois(&client, specs, 4);
    assert_true(fake_batch(first, both, 2, LIMIT_MS) && fake_batch(second, both, 2, LIMIT_MS));
    assert_int_equal(first->route.wanted[0], 0x5);
    assert_int_equal(second->route.wanted[0], 0xa);
    fake_decide(first, 0, 2, true);
    fake_decide(second, 0, 2, false);
    link_collect(&client, 0, 6, NULL);
    pair_close();
}

/* No node gets more than its credits, and the client none beyond all of them. */
static void within_credits(void **state)
{
    struct fake *first;

    (void)state;
    for (uint32_t has = open_farm(SOON, KEYS, 4); has != 8;) { /* the nodes came one by one */
        const Trigd__V1__FromDaemon *m = link_receive(&client, 10);

        fake_beat(&a);
        fake_beat(&b);
        if (m && m->body_case == TRIGD__V1__FROM_DAEMON__BODY_CREDIT)
            has = m->credit->credits;
    }
    send(0, 1, 3, false);
    first = next();
    send(3, 10, 3, false);
    assert_ptr_equal(next(), other(first));
    send(6, 20, 2, false); /* 1 + 1 are free: for neither is it a whole */
    assert_false(fake_batch(&a, both, 2, 50) || fake_batch(&b, both, 2, 50));
    assert_int_equal(fake_count(&server, NULL, "waiting"), 2);
    fake_decide(first, 0, 1, true);
    assert_ptr_equal(next(), first);
    assert_int_equal(first->route.n, 2);
    send(100, 30, 2, false); /* one place of eight is left: the second is beyond it */
    while (link_expect(&client, TRIGD__V1__FROM_DAEMON__BODY_DECISIONS)
               ->decisions->decisions[0]
               ->token != 0) {
    }
    assert_int_equal(link_expect(&client, TRIGD__V1__FROM_DAEMON__BODY_BUSY)->busy->tokens[0], 101);
    pair_close();
}

/* ---------------------------------------------------------------- once more */

static void returned_ones_go_elsewhere(void **state)
{
    struct fake *first;

    (void)state;
    open_farm(SOON, KEYS, 64);
    send(0, 1, 6, false);
    first = next();
    fake_busy(first, 2, 3, TRIGD__V1__BUSY__REASON__POOL_FULL);
    assert_ptr_equal(next(), other(first));
    assert_int_equal(other(first)->route.wanted[0], 0x1c);
    assert_false(other(first)->route.is_repeat);
    fake_decide(other(first), 0, 3, true);
    fake_decide(first, 0, 2, true);
    fake_decide(first, 5, 1, true);
    link_collect(&client, 0, 6, NULL);
    assert_int_equal(fake_count(&server, NULL, "returned"), 3);
    pair_close();
}

static void refused_ones_are_answered(void **state)
{
    const Trigd__V1__FromDaemon *m;

    (void)state;
    open_farm(SOON, KEYS, 64);
    send(40, 1, 2, true);
    fake_error(next(), 1, "RoI 41: its eta is 12");
    m = link_expect(&client, TRIGD__V1__FROM_DAEMON__BODY_ERROR);
    assert_true(m->error->has_token && m->error->token == 41);
    assert_string_equal(m->error->text, "RoI 41: its eta is 12");
    fake_decide(a.route.n ? &a : &b, 0, 1, true);
    link_collect(&client, 40, 1, NULL);
    assert_int_equal(server_counter(&server, "failed"), 1);
    pair_close();
}

/* A node falls silent: what it had goes to the other one, and what it says afterwards counts only
 * where nobody else was faster. */
static void of_a_lost_node(void **state)
{
    struct fake *first;

    (void)state;
    open_farm(PATIENT, LOSING, 64);
    send(0, 1, 4, true);
    first = next();
    fake_decide(first, 0, 1, true);
    first->is_mute = true;
    assert_true(fake_batch(other(first), both, 2, LIMIT_MS));
    assert_int_equal(other(first)->route.wanted[0], 0xe);
    assert_true(other(first)->route.is_repeat);
    assert_int_equal(fake_count(&server, first->name, "lost"), 3);
    fake_decide(other(first), 0, 1, true); /* RoI 1 */
    fake_wait(&server, other(first)->name, "answered", 1, both, 2);
    first->is_mute = false; /* it was stopped for a while, and goes on */
    fake_wait(&server, NULL, "nodes_serving", 2, both, 2);
    fake_decide(first, 1, 2, true); /* RoI 1 comes too late, RoI 2 does not */
    fake_wait(&server, first->name, "stale", 1, both, 2);
    assert_int_equal(fake_count(&server, first->name, "rescued"), 1);
    fake_decide(other(first), 2, 2, true); /* RoI 2 comes second, RoI 3 first */
    fake_wait(&server, other(first)->name, "late", 1, both, 2);
    link_collect(&client, 0, 4, NULL);
    assert_int_equal(fake_count(&server, NULL, "again"), 3);
    pair_close();
}

/* Twice, and no more: then it is force-accepted. */
static void lost_twice(void **state)
{
    struct fake *first;
    uint8_t got;

    (void)state;
    open_farm(PATIENT, LOSING, 64);
    send(7, 1, 1, true);
    first = next();
    first->is_mute = true;
    assert_true(fake_batch(other(first), both, 2, LIMIT_MS));
    first->is_mute = false;
    fake_wait(&server, NULL, "nodes_serving", 2, both, 2);
    other(first)->is_mute = true;
    for (uint32_t i = 0; i < 1000 && !fake_count(&server, NULL, "forced"); i++)
        assert_false(fake_batch(first, both, 2, 5));
    link_collect(&client, 7, 1, &got);
    assert_int_equal(got, 1 | TRIGD__V1__STATUS__ALGO_FAILED << 1);
    pair_close();
}

/* A node that lives and does not answer: another one gets the RoI as well, and the first answer
 * counts. */
static void of_a_slow_node(void **state)
{
    struct fake *first;

    (void)state;
    open_farm(SOON, "name: sup, heartbeat_ms: 50, lost_beats: 200, again_ms: 100", 64);
    send(0, 1, 2, true);
    first = next();
    assert_true(fake_batch(other(first), both, 2, LIMIT_MS));
    if (first->route.is_repeat) /* this test was slow itself, and saw the second first */
        first = other(first);
    assert_false(first->route.is_repeat);
    assert_true(other(first)->route.is_repeat);
    fake_decide(first, 0, 1, true);
    fake_wait(&server, first->name, "answered", 1, both, 2);
    fake_decide(other(first), 0, 2, true);
    fake_wait(&server, other(first)->name, "late", 1, both, 2);
    fake_decide(first, 1, 1, true);
    fake_wait(&server, first->name, "late", 1, both, 2);
    link_collect(&client, 0, 2, NULL);
    pair_close();
}

static void past_the_hard_limit(void **state)
{
    uint8_t got[2];

    (void)state;
    open_farm("limits: {soft_ms: 0, hard_ms: 2000, drain_ms: 0}\n", KEYS, 64);
    send(0, 1, 2, true);
    fake_decide(next(), 0, 1, false);
    for (uint32_t i = 0; i < 1000 && !fake_count(&server, NULL, "forced"); i++)
        assert_false(fake_batch(&a, both, 2, 5));
    link_collect(&client, 0, 2, got);
    assert_int_equal(got[0], 0);
    assert_int_equal(got[1], 1 | TRIGD__V1__STATUS__TIMEOUT << 1);
    pair_close();
}

/* ---------------------------------------------------------------- clients */

/* A client's routing frame is taken as it is; a partial one leaves RoIs out. */
static void routing_frames_of_clients(void **state)
{
    struct roi_spec specs[3];
    struct route route = {.n = 3, .token = 50, .is_partial = true, .wanted = {5}};
    unsigned char bytes[ROUTE_BYTES];
    struct fake *first;
    uint8_t got[3] = {9, 9, 9};

    (void)state;
    open_farm(SOON, KEYS, 64);
    assert_int_equal(zmq_send(client.socket, bytes, route_pack(&route, bytes), ZMQ_SNDMORE), 64);
    for (uint32_t i = 0; i < 3; i++) /* their own tokens do not count */
        specs[i] = (struct roi_spec){.token = 7, .l1id = 1, .n = 1};
    link_send_rois(&client, specs, 3);
    first = next();
    assert_int_equal(first->route.wanted[0], 5);
    fake_decide(first, 0, 1, true);
    link_collect(&client, 50, 1, got);
    fake_decide(first, 2, 1, true);
    link_collect(&client, 52, 1, got);
    assert_int_equal(server_counter(&server, "received"), 2);
    pair_close();
}

/* Of a client that has gone the RoIs are decided, and their answers are for nobody. */
static void of_a_client_that_goes(void **state)
{
    Trigd__V1__ToDaemon m = TRIGD__V1__TO_DAEMON__INIT;
    Trigd__V1__Bye bye = TRIGD__V1__BYE__INIT;
    struct fake *first;

    (void)state;
    open_farm(SOON, KEYS, 64);
    send(0, 1, 2, true);
    first = next();
    m.body_case = TRIGD__V1__TO_DAEMON__BODY_BYE;
    m.bye = &bye;
    link_send(&client, &m);
    server_wait_counter(&server, "clients", 0);
    fake_decide(first, 0, 2, true);
    server_wait_counter(&server, "undeliverable", 2);
    assert_int_equal(server_counter(&server, "accepted"), 2);
    pair_close();
}

/* A drained node gets no more, and finishes what it has. */
static void drained_by_name(void **state)
{
    struct fake *first;
    char *answer;

    (void)state;
    open_farm(SOON, KEYS, 64);
    send(0, 1, 1, true);
    first = next();
    answer = server_ask(&server, first == &a ? "drain node a" : "drain node b");
    assert_string_equal(answer, "draining\n\n");
    free(answer);
    for (uint32_t i = 1; i < 5; i++) {
        send(i, 1, 1, true); /* of the same event, even so */
        assert_ptr_equal(next(), other(first));
        fake_decide(other(first), 0, 1, true);
    }
    fake_decide(first, 0, 1, true);
    link_collect(&client, 0, 5, NULL);
    fake_wait(&server, first->name, "in_flight", 0, both, 2);
    answer = server_ask(&server, first == &a ? "resume node a" : "resume node b");
    assert_string_equal(answer, "serving\n\n");
    free(answer);
    answer = server_ask(&server, "drain node c");
    assert_string_equal(answer, "error: no node is called \"c\"; `show nodes` lists them\n\n");
    free(answer);
    pair_close();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(by_counts_and_events),
        cmocka_unit_test(parts_by_event),
        cmocka_unit_test(within_credits),
        cmocka_unit_test(returned_ones_go_elsewhere),
        cmocka_unit_test(refused_ones_are_answered),
        cmocka_unit_test(of_a_lost_node),
        cmocka_unit_test(lost_twice),
        cmocka_unit_test(of_a_slow_node),
        cmocka_unit_test(past_the_hard_limit),
        cmocka_unit_test(routing_frames_of_clients),
        cmocka_unit_test(of_a_client_that_goes),
        cmocka_unit_test(drained_by_name),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
