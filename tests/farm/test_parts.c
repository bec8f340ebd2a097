/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of a supervisor that need no socket: routing frames, sets of RoIs, flights, events, and
 * the choice of a node. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "events.h"
#include "flights.h"
#include "policy.h"
#include "route.h"
#include "scan.h"
#include "seed.h"
#include "trigd.pb-c.h"

/* ---------------------------------------------------------------- routing frames */

static void frames_come_back_as_they_were(void **state)
{
    const struct route r = {.n = 256,
                            .is_repeat = true,
                            .is_partial = true,
                            .is_event = true,
                            .run = 7,
                            .l1id = UINT32_MAX,
                            .token = UINT64_MAX - 300,
                            .key = 5,
                            .wanted = {1, 2, 3, UINT64_C(1) << 63}};
    struct route whole = r, back;
    unsigned char bytes[ROUTE_BYTES];

    (void)state;
    assert_int_equal(route_pack(&r, bytes), 64);
    assert_true(route_read(bytes, 64, &back));
    assert_memory_equal(&r, &back, sizeof r);
    assert_true(route_wants(&back, 255) && route_wants(&back, 0) && !route_wants(&back, 254));
    whole.is_partial = false;
    memset(whole.wanted, 0, sizeof whole.wanted);
    assert_int_equal(route_pack(&whole, bytes), 32);
    assert_true(route_read(bytes, 32, &back));
    assert_memory_equal(&whole, &back, sizeof r);
    assert_true(route_wants(&back, 254));
}

/* Frames that ask, and those with a pass: each is written again as it was. */
static void frames_without_their_batch(void **state)
{
    const struct route ask = {
        .n = 2, .is_event = true, .is_ask = true, .l1id = 7, .bytes = 100000, .token = 9};
    struct route pass = {
        .n = 3,
        .has_pass = true,
        .is_partial = true,
        .wanted = {5},
        .bytes = 70000,
        .token = 11,
        .pass = {
            .issuer = 1, .serial = 2, .expires_ns = 3, .holder = 4, .tag = {[0] = 6, [15] = 7}}};
    unsigned char bytes[ROUTE_BYTES], again[ROUTE_BYTES];
    struct route back;

    (void)state;
    assert_int_equal(route_pack(&ask, bytes), ROUTE_ASK_BYTES);
    assert_true(route_read(bytes, ROUTE_ASK_BYTES, &back));
    assert_true(back.is_ask && !back.has_pass && back.bytes == 100000 && back.l1id == 7);
    for (int is_partial = 0; is_partial < 2; is_partial++) {
        const size_t n = is_partial ? ROUTE_BYTES : 80;

        pass.is_partial = is_partial;
        assert_int_equal(route_pack(&pass, bytes), n);
        assert_true(route_read(bytes, n, &back));
        assert_true(back.has_pass && !back.is_ask && back.bytes == 70000);
        assert_true(back.pass.issuer == 1 && back.pass.serial == 2 && back.pass.expires_ns == 3);
        assert_true(back.pass.holder == 4 && back.pass.tag[0] == 6 && back.pass.tag[15] == 7);
        assert_int_equal(route_pack(&back, again), n);
        assert_memory_equal(bytes, again, n);
        for (size_t k = 0; k <= ROUTE_BYTES; k++)
            assert_int_equal(route_read(bytes, k, &back), k == n);
    }
}

static void other_frames_are_none(void **state)
{
    static const struct {
        uint32_t at;
        unsigned char byte;
    } wrong[] = {{0, 'Q'}, {1, 32}, {1, 2}, {1, 10}, {1, 16},
                 {1, 24},  {2, 0},  {3, 2}, {12, 1}, {15, 1}};
    const struct route r = {.n = 1, .token = 3};
    unsigned char bytes[ROUTE_BYTES];
    struct route back;

    (void)state;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        route_pack(&r, bytes);
        bytes[wrong[i].at] = wrong[i].byte;
        assert_false(route_read(bytes, 32, &back));
    }
    route_pack(&r, bytes);
    for (size_t n = 0; n <= ROUTE_BYTES; n++)
        assert_int_equal(route_read(bytes, n, &back), n == 32);
}

/* What is found without unpacking is what protobuf-c unpacks. */
static void heads_of_rois(void **state)
{
    Trigd__V1__ToDaemon m = TRIGD__V1__TO_DAEMON__INIT;
    Trigd__V1__RoiBatch batch = TRIGD__V1__ROI_BATCH__INIT;
    Trigd__V1__Roi roi[3], *list[3] = {&roi[0], &roi[1], &roi[2]};
    Trigd__V1__Spacepoints points = TRIGD__V1__SPACEPOINTS__INIT;
    struct scan_head head[3];
    unsigned char bytes[512];
    size_t n;

    (void)state;
    for (uint32_t i = 0; i < 3; i++) {
        trigd__v1__roi__init(&roi[i]);
        roi[i].token = i ? UINT64_MAX - i : 0;
        roi[i].run = 300 * i;
        roi[i].l1id = UINT32_MAX - i;
        roi[i].roi_id = i;
        roi[i].eta = 1.5f;
        roi[i].spacepoints = &points;
    }
    batch.n_rois = 3;
    batch.rois = list;
    m.body_case = TRIGD__V1__TO_DAEMON__BODY_BATCH;
    m.batch = &batch;
    n = trigd__v1__to_daemon__pack(&m, bytes);
    assert_int_equal(scan_heads(bytes, n, head, 3), 3);
    for (uint32_t i = 0; i < 3; i++) {
        assert_true(head[i].token == roi[i].token && head[i].run == roi[i].run);
        assert_true(head[i].l1id == roi[i].l1id && head[i].roi_id == roi[i].roi_id);
    }
    assert_int_equal(scan_heads(bytes, n, head, 2), 0); /* more than there is room for */
    for (size_t cut = 0; cut < n; cut++)
        assert_int_equal(scan_heads(bytes, cut, head, 3), 0);
}

/* ---------------------------------------------------------------- sets and flights */

static void sets_of_rois(void **state)
{
    struct mask a = mask_first(0), b = mask_first(256), c;

    (void)state;
    assert_true(mask_is_empty(&a));
    assert_int_equal(mask_next(&a, 0), ROUTE_ROIS);
    assert_int_equal(mask_count(&b), 256);
    for (uint32_t n = 1; n <= 256; n++) {
        c = mask_first(n);
        assert_int_equal(mask_count(&c), n);
        assert_true(mask_has(&c, n - 1) && (n == 256 || !mask_has(&c, n)));
    }
    mask_add(&a, 64);
    mask_add(&a, 255);
    assert_int_equal(mask_next(&a, 0), 64);
    assert_int_equal(mask_next(&a, 65), 255);
    assert_int_equal(mask_next(&a, 256), ROUTE_ROIS);
    c = mask_without(&b, &a);
    assert_int_equal(mask_count(&c), 254);
    mask_drop(&a, 64);
    assert_false(mask_has(&a, 64));
}

static struct flight *take(struct flights *fs, uint32_t n)
{
    const struct mask all = mask_first(n);
    zmq_msg_t body;

    zmq_msg_init(&body);
    return flights_take(fs, n, &all, 100, &body);
}

/* A flight whose body is elsewhere: it leaves the line until the body is here. */
static void flights_without_their_body(void **state)
{
    const struct mask all = mask_first(2), one = mask_first(1);
    struct flights fs;
    struct flight *f, *g;
    zmq_msg_t body;

    (void)state;
    assert_int_equal(flights_open(&fs, 2), 0);
    f = flights_take(&fs, 2, &all, 5000, NULL);
    g = take(&fs, 1);
    assert_true(f && g && !f->has_body && f->bytes == 5000 && g->has_body);
    flights_fetch(&fs, f);
    assert_true(f->is_fetched && !f->is_waiting && !mask_is_empty(&f->waiting));
    assert_ptr_equal(TAILQ_FIRST(&fs.waiting), g);
    flights_wait(&fs, f, &all, true); /* a node returned some */
    assert_false(f->is_waiting);
    flights_stop_waiting(&fs, f, &one);
    assert_ptr_equal(TAILQ_FIRST(&fs.fetched), f);
    assert_int_equal(zmq_msg_init_size(&body, 4000), 0);
    flights_fetched(&fs, f, &body);
    assert_true(f->has_body && f->is_waiting && !f->is_fetched && TAILQ_EMPTY(&fs.fetched));
    assert_int_equal(zmq_msg_size(&f->body), 4000);
    assert_ptr_equal(TAILQ_NEXT(g, of_waiting), f);
    zmq_msg_close(&body);
    f->has_body = false; /* again, and nothing waits before it comes */
    flights_fetch(&fs, f);
    flights_stop_waiting(&fs, f, &all);
    assert_true(!f->is_fetched && TAILQ_EMPTY(&fs.fetched));
    flights_close(&fs);
}

static void flights_are_found_until_they_end(void **state)
{
    const struct mask all = mask_first(3), none = mask_first(0);
    struct flights fs;
    struct flight *f, *g;
    uint64_t token;
    uint32_t roi;

    (void)state;
    assert_int_equal(flights_open(&fs, 2), 0);
    f = take(&fs, 3);
    g = take(&fs, 256);
    assert_true(f && g && !take(&fs, 1));
    token = flights_token(&fs, f);
    assert_true(token != 0);
    for (uint32_t i = 0; i < 3; i++) {
        assert_ptr_equal(flights_find(&fs, token + i, &roi), f);
        assert_int_equal(roi, i);
    }
    assert_null(flights_find(&fs, token + 3, &roi));
    assert_ptr_equal(flights_find(&fs, flights_token(&fs, g) + 255, &roi), g);
    assert_ptr_equal(TAILQ_FIRST(&fs.waiting), f);
    flights_stop_waiting(&fs, f, &all);
    assert_ptr_equal(TAILQ_FIRST(&fs.waiting), g);
    f->open = none;
    f->hold[0].link = 1; /* a node has it still */
    assert_false(flights_put_if_done(&fs, f));
    f->hold[0].link = FLIGHTS_NONE;
    assert_true(flights_put_if_done(&fs, f));
    assert_null(flights_find(&fs, token, &roi));
    f = take(&fs, 3); /* in the same place, under another name */
    assert_non_null(f);
    assert_null(flights_find(&fs, token, &roi));
    flights_close(&fs);
}

static void events_are_remembered(void **state)
{
    struct events e;
    uint32_t found = 0;

    (void)state;
    assert_int_equal(events_open(&e, 1024), 0);
    assert_int_equal(events_find(&e, 5), EVENTS_NONE);
    for (uint64_t i = 0; i < 1000; i++)
        events_set(&e, i << 20, (uint32_t)(i % 7));
    for (uint64_t i = 0; i < 1000; i++) {
        const uint32_t node = events_find(&e, i << 20);

        assert_true(node == i % 7 || node == EVENTS_NONE);
        found += node != EVENTS_NONE;
    }
    assert_true(found > 700); /* a set has four places */
    for (uint32_t node = 0; node < 3; node++) {
        events_set(&e, 42, node);
        assert_int_equal(events_find(&e, 42), node);
    }
    events_close(&e);
}

/* ---------------------------------------------------------------- the choice */

static void the_one_that_ends_first(void **state)
{
    struct policy_node n[3] = {{.may_take = true}, {.may_take = true}, {.may_take = true}};
    uint32_t turn = 0, times[3] = {0};

    (void)state;
    for (uint32_t i = 0; i < 300; i++) /* nothing is known: in turn */
        times[policy_choose(n, 3, 1, &turn)]++;
    for (uint32_t i = 0; i < 3; i++)
        assert_int_equal(times[i], 100);
    for (uint32_t i = 0; i < 100; i++) { /* two are alike, one is four times slower */
        policy_answered(&n[0], 4, 1000000);
        policy_answered(&n[1], 4, 1000000);
        policy_answered(&n[2], 4, 4000000);
    }
    assert_true(policy_rate(&n[0]) > 3999 && policy_rate(&n[0]) < 4001);
    assert_true(policy_rate(&n[2]) > 999 && policy_rate(&n[2]) < 1001);
    for (uint32_t i = 0; i < 90; i++) /* they fill up in proportion */
        n[policy_choose(n, 3, 1, &turn)].in_flight++;
    assert_in_range(n[0].in_flight, 39, 41);
    assert_in_range(n[1].in_flight, 39, 41);
    assert_in_range(n[2].in_flight, 9, 11);
    n[2].may_take = n[1].may_take = false;
    assert_int_equal(policy_choose(n, 3, 1, &turn), 0);
    n[0].may_take = false;
    assert_int_equal(policy_choose(n, 3, 1, &turn), POLICY_NONE);
    for (uint32_t i = 0; i < 3; i++) {
        n[i].may_take = true;
        n[i].in_flight = 0;
    }
    policy_age(&n[2]); /* what was measured long ago is shown, and does not keep an RoI from it */
    assert_true(policy_rate(&n[2]) > 999 && policy_rate(&n[2]) < 1001);
    for (uint32_t i = 0; i < 3; i++)
        n[policy_choose(n, 3, 1, &turn)].in_flight++;
    for (uint32_t i = 0; i < 3; i++)
        assert_int_equal(n[i].in_flight, 1);
    for (uint32_t i = 0; i < 87; i++) /* it has not answered: a burst is not for it */
        n[policy_choose(n, 3, 1, &turn)].in_flight++;
    assert_in_range(n[2].in_flight, 9, 11);
    policy_answered(&n[2], 4, 2000000); /* measured anew */
    assert_true(policy_rate(&n[2]) > 1999 && policy_rate(&n[2]) < 2001);
}

/* It answers an RoI that it has alone in 4 ms, and may have slots for more: it gets a second one
 * before the other node has as much to do as if it had not. */
static void one_that_was_never_full(void **state)
{
    struct policy_node n[2] = {{.may_take = true, .in_flight = 20},
                               {.may_take = true, .in_flight = 1}};
    uint32_t turn = 0;

    (void)state;
    for (uint32_t i = 0; i < 100; i++) {
        policy_answered(&n[0], 1, 1000000);
        policy_answered(&n[0], 8, 2000000);
        policy_answered(&n[1], 1, 4000000);
    }
    assert_int_equal(policy_choose(n, 2, 1, &turn), 1);
    for (uint32_t i = 0; i < 100; i++) /* it had none */
        policy_answered(&n[1], 2, 8000000);
    assert_int_equal(policy_choose(n, 2, 1, &turn), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(frames_come_back_as_they_were),
        cmocka_unit_test(frames_without_their_batch),
        cmocka_unit_test(other_frames_are_none),
        cmocka_unit_test(heads_of_rois),
        cmocka_unit_test(sets_of_rois),
        cmocka_unit_test(flights_without_their_body),
        cmocka_unit_test(flights_are_found_until_they_end),
        cmocka_unit_test(events_are_remembered),
        cmocka_unit_test(the_one_that_ends_first),
        cmocka_unit_test(one_that_was_never_full),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
