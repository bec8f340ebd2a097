/* SPDX-License-Identifier: Apache-2.0 */
/* The way of RoIs through the whole daemon: chains, prescales, streams, credits, drain, reload. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "fault.h"
#include "harness.h"

static const char config[] = "devices: [{backend: cpu, index: 0, lanes: 2, slots: 2}]\n";

/* chain 0: RoIs with >= 10 points and L1 bit 0; chain 1: prescaled; chain 2: pass-through */
static const char menu[] =
    "name: flow\n"
    "streams: [physics, express]\n"
    "steps:\n"
    "  - {name: f, plugin: fault}\n"
    "chains:\n"
    "  - {name: big, id: 1, seeds: [0], steps: [{step: f, cuts: [{value: n, min: 10}]}],\n"
    "     prescale: 1, streams: [physics]}\n"
    "  - {name: few, id: 2, seeds: [1], steps: [{step: f}], prescale: 4, streams: [express]}\n"
    "  - {name: all, id: 3, seeds: [2], steps: [{step: f, cuts: [{value: n, min: 1000}]}],\n"
    "     prescale: 1, pass_through: true, streams: [physics]}\n";

static void cuts_seeds_and_streams(void **state)
{
    struct server s;
    struct link l;
    const struct roi_spec specs[] = {
        {.token = 1, .l1_bits = 1, .n = 20}, /* passes chain 0 */
        {.token = 2, .l1_bits = 1, .n = 5},  /* cut away */
        {.token = 3, .l1_bits = 4, .n = 5},  /* passes through chain 2 */
        {.token = 4, .l1_bits = 8, .n = 50}, /* seeds nothing */
        {.token = 5, .l1_bits = 1, .n = 0},  /* empty: an answer, not an error */
    };
    uint8_t result[5];

    (void)state;
    server_start(&s, config, menu);
    link_open(&l, &s);
    assert_true(link_hello(&l, "flow", 0) > 0);
    link_send_rois(&l, specs, 5);
    link_collect(&l, 1, 5, result);
    assert_memory_equal(result, ((uint8_t[]){1, 0, 1, 0, 0}), 5);
    server_wait_counter(&s, "in_flight", 0);
    assert_int_equal(server_counter(&s, "accepted"), 2);
    assert_int_equal(server_counter(&s, "rejected"), 3);
    server_check_ledger(&s);
    link_close(&l);
    server_stop(&s);
}

static void the_decision_names_chains_streams_and_values(void **state)
{
    struct server s;
    struct link l;
    const struct roi_spec spec = {.token = 77, .l1id = 9, .l1_bits = 1, .n = 12};
    Trigd__V1__FromDaemon *m;
    const Trigd__V1__Decision *d;

    (void)state;
    server_start(&s, config, menu);
    link_open(&l, &s);
    link_hello(&l, "flow", 0);
    link_send_rois(&l, &spec, 1);
    m = link_expect(&l, TRIGD__V1__FROM_DAEMON__BODY_DECISIONS);
    assert_int_equal(m->decisions->n_decisions, 1);
    d = m->decisions->decisions[0];
    assert_int_equal(d->token, 77);
    assert_int_equal(d->l1id, 9);
    assert_int_equal(d->n_chains, 1);
    assert_int_equal(d->chains[0], 0);
    assert_int_equal(d->n_chains_raw, 1);
    assert_int_equal(d->n_streams, 1);
    assert_int_equal(d->n_results, 1);
    assert_int_equal(d->results[0]->step, 0);
    assert_true(d->results[0]->n_values == 1 && d->results[0]->values[0] == 12.0f);
    link_close(&l);
    server_stop(&s);
}

#define MANY 4000u

static void a_prescale_is_a_function_of_the_event(void **state)
{
    struct server s;
    struct link l;
    static uint8_t first[MANY], again[MANY];
    uint32_t passed = 0;

    (void)state;
    server_start(&s, config, menu);
    link_open(&l, &s);
    for (uint32_t round = 0; round < 2; round++) {
        uint32_t credits = link_hello(&l, "flow", 0), sent = 0;

        while (sent < MANY) {
            struct roi_spec specs[64];
            uint32_t n = MANY - sent < 64 ? MANY - sent : 64;

            assert_true(credits >= n);
            for (uint32_t i = 0; i < n; i++)
                specs[i] =
                    (struct roi_spec){.token = sent + i, .l1id = sent + i, .l1_bits = 2, .n = 3};
            link_send_rois(&l, specs, n);
            link_collect(&l, sent, n, (round ? again : first) + sent);
            sent += n;
        }
    }
    assert_memory_equal(first, again, MANY);
    for (uint32_t i = 0; i < MANY; i++)
        passed += first[i] & 1;
    /* one in four, within five standard deviations */
    assert_in_range(passed, MANY / 4 - 137, MANY / 4 + 137);
    link_close(&l);
    server_stop(&s);
}

static void overrunning_credits_is_answered_busy(void **state)
{
    struct server s;
    struct link l;
    struct roi_spec specs[64];
    uint32_t decided = 0, busy = 0;

    (void)state;
    server_start(&s, config, menu);
    link_open(&l, &s);
    assert_int_equal(link_hello(&l, "greedy", 8), 8);
    for (uint32_t i = 0; i < 64; i++)
        specs[i] = (struct roi_spec){.token = i, .l1_bits = 1, .n = 20};
    link_send_rois(&l, specs, 64); /* eight times the credits in one message */
    while (decided + busy < 64) {
        const Trigd__V1__FromDaemon *m = link_receive(&l, 10000);

        assert_non_null(m);
        if (m->body_case == TRIGD__V1__FROM_DAEMON__BODY_BUSY) {
            assert_int_equal(m->busy->reason, TRIGD__V1__BUSY__REASON__NO_CREDIT);
            busy += (uint32_t)m->busy->n_tokens;
        } else if (m->body_case == TRIGD__V1__FROM_DAEMON__BODY_DECISIONS) {
            decided += (uint32_t)m->decisions->n_decisions;
        }
    }
    assert_int_equal(decided, 8);
    assert_int_equal(busy, 56);
    server_wait_counter(&s, "in_flight", 0);
    assert_int_equal(server_counter(&s, "received"), 8);
    assert_int_equal(server_counter(&s, "credit_violations"), 56);
    server_check_ledger(&s);
    link_close(&l);
    server_stop(&s);
}

static void without_hello_nothing_is_taken(void **state)
{
    struct server s;
    struct link l;
    const struct roi_spec spec = {.token = 3, .l1_bits = 1, .n = 4};

    (void)state;
    server_start(&s, config, menu);
    link_open(&l, &s);
    link_send_rois(&l, &spec, 1);
    assert_int_equal(link_expect(&l, TRIGD__V1__FROM_DAEMON__BODY_BUSY)->busy->reason,
                     TRIGD__V1__BUSY__REASON__NO_HELLO);
    assert_int_equal(server_counter(&s, "received"), 0);
    link_close(&l);
    server_stop(&s);
}

static void drain_and_resume(void **state)
{
    struct server s;
    struct link l;
    const struct roi_spec spec = {.token = 1, .l1_bits = 1, .n = 20};

    (void)state;
    server_start(&s, config, menu);
    link_open(&l, &s);
    link_hello(&l, "flow", 0);
    server_expect(&s, "drain", "drain");
    link_send_rois(&l, &spec, 1);
    assert_int_equal(link_expect(&l, TRIGD__V1__FROM_DAEMON__BODY_BUSY)->busy->reason,
                     TRIGD__V1__BUSY__REASON__DRAINING);
    server_expect(&s, "resume", "ready");
    link_send_rois(&l, &spec, 1);
    link_collect(&l, 1, 1, NULL);
    link_close(&l);
    server_stop(&s);
}

/* The menu is reloaded again and again while RoIs flow; a broken one changes nothing. */
static void reload_under_load(void **state)
{
    struct server s;
    struct link l;
    uint8_t result[64];

    (void)state;
    server_start(&s, config, menu);
    link_open(&l, &s);
    assert_true(link_hello(&l, "flow", 0) >= 64);
    for (uint32_t round = 0; round < 20; round++) {
        struct roi_spec specs[64];

        for (uint32_t i = 0; i < 64; i++)
            specs[i] = (struct roi_spec){.token = i, .l1_bits = 1, .n = 20};
        link_send_rois(&l, specs, 64);
        if (round % 5 == 4) {
            server_menu(&s, "chains: [{name: nonsense}]\n");
            server_expect(&s, "reload", "stays");
            server_menu(&s, menu);
        } else {
            server_expect(&s, "reload", "reloaded");
        }
        link_collect(&l, 0, 64, result);
        for (uint32_t i = 0; i < 64; i++)
            assert_int_equal(result[i], 1);
    }
    assert_int_equal(server_counter(&s, "reloads"), 16);
    assert_int_equal(server_counter(&s, "reload_failures"), 4);
    assert_int_equal(server_counter(&s, "accepted"), 20 * 64);
    server_check_ledger(&s);
    link_close(&l);
    server_stop(&s);
}

static void sighup_reloads(void **state)
{
    struct server s;

    (void)state;
    server_start(&s, config, menu);
    assert_int_equal(kill(s.pid, SIGHUP), 0);
    server_wait_counter(&s, "reloads", 1);
    server_stop(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cuts_seeds_and_streams),
        cmocka_unit_test(the_decision_names_chains_streams_and_values),
        cmocka_unit_test(a_prescale_is_a_function_of_the_event),
        cmocka_unit_test(overrunning_credits_is_answered_busy),
        cmocka_unit_test(without_hello_nothing_is_taken),
        cmocka_unit_test(drain_and_resume),
        cmocka_unit_test(reload_under_load),
        cmocka_unit_test(sighup_reloads),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
