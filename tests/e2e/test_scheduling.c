/* SPDX-License-Identifier: Apache-2.0 */
/* What the menu says of chains on busy, slow and missing lanes: priorities, decisions that go out
 * early, and chains that go on without a step. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "workers.h"

/* A batch is an RoI, and FAULT_STALL holds up its lane. */
#define ONE_BY_ONE                                    \
    "devices: [{backend: cpu, lanes: 1, slots: 1}]\n" \
    "limits: {soft_ms: 0, hard_ms: 20000}\n"          \
    "batching: {max_rois: 1, overtake_ms: 10000}\n"

static void open_with(struct server *s, struct link *l, const char *config, const char *menu)
{
    server_start(s, config, menu);
    link_open(l, s);
    link_hello(l, "scheduling", 0);
}

/* The number behind a key of the first row of a table that has that name. */
/* One RoI, decided. */
static const Trigd__V1__Decision *decide(struct link *l, const struct roi_spec *spec)
{
    const Trigd__V1__FromDaemon *m;

    link_send_rois(l, spec, 1);
    m = link_expect(l, TRIGD__V1__FROM_DAEMON__BODY_DECISIONS);
    assert_int_equal(m->decisions->n_decisions, 1);
    assert_int_equal(m->decisions->decisions[0]->token, spec->token);
    return m->decisions->decisions[0];
}

/* ---------------------------------------------------------------- priorities */

/* RoIs of a chain of high priority overtake those that wait with a low one. */
static void high_before_low(void **state)
{
    const uint32_t n_low = 12, n_high = 3;
    struct roi_spec specs[15];
    uint32_t n = 0, last_high = 0;
    struct server s;
    struct link l;

    (void)state;
    open_with(&s, &l, ONE_BY_ONE,
              "name: priorities\nstreams: [physics]\n"
              "steps: [{name: f, plugin: fault, params: {stall_ms: 30}}]\n"
              "chains:\n"
              "  - {name: low, id: 1, seeds: [1], priority: low, steps: [{step: f}],\n"
              "     streams: [physics]}\n"
              "  - {name: high, id: 2, seeds: [2], priority: high, steps: [{step: f}],\n"
              "     streams: [physics]}\n");
    for (uint32_t i = 0; i < n_low + n_high; i++)
        specs[i] = (struct roi_spec){
            .token = i, .roi_id = FAULT_STALL, .n = 20, .l1_bits = i < n_low ? 2 : 4};
    link_send_rois(&l, specs, n_low + n_high);
    while (n < n_low + n_high) {
        const Trigd__V1__FromDaemon *m = link_expect(&l, TRIGD__V1__FROM_DAEMON__BODY_DECISIONS);

        for (size_t i = 0; i < m->decisions->n_decisions; i++, n++)
            if (m->decisions->decisions[i]->token >= n_low)
                last_high = n;
    }
    assert_in_range(last_high, n_high - 1, n_low - 1); /* by arrival it would be the last of all */
    link_end_well(&s, &l);
}

/* Threads of a process that the kernel runs with that nice value. */
static uint32_t count_nice(pid_t pid, int nice)
{
    pid_t thread[WORKERS_THREADS];
    const uint32_t n_threads = workers_threads(pid, thread, WORKERS_THREADS);
    uint32_t n = 0;

    assert_true(n_threads > 0);
    for (uint32_t i = 0; i < n_threads; i++) {
        errno = 0;
        n += getpriority(PRIO_PROCESS, (id_t)thread[i]) == nice && !errno;
    }
    return n;
}

#define STEPS_MENU(low, high)                                                              \
    "name: steps\nstreams: [physics]\n"                                                    \
    "steps:\n"                                                                             \
    "  - {name: first, plugin: fault}\n"                                                   \
    "  - {name: second, plugin: fault}\n"                                                  \
    "  - {name: both, plugin: fault}\n"                                                    \
    "chains:\n"                                                                            \
    "  - {name: low, id: 1, priority: " low ", steps: [{step: first}, {step: both}],\n"    \
    "     streams: [physics]}\n"                                                           \
    "  - {name: high, id: 2, priority: " high ", steps: [{step: both}, {step: second}],\n" \
    "     streams: [physics]}\n"

/* `more`: than this process has. */
static void threads_of_steps(const char *menu, int more, uint32_t n)
{
    const int nice = getpriority(PRIO_PROCESS, 0) + more;
    struct server s;
    struct link l;
    pid_t pid;

    open_with(&s, &l, "devices: [{backend: cpu, lanes: 2}]\n" PATIENT, menu);
    pid = (pid_t)workers_number(&s, "cpu:0/1", "pid");
    assert_int_equal(count_nice(pid, nice < 19 ? nice : 19), n);
    assert_int_equal(decide(&l, &(struct roi_spec){.token = 1, .n = 20})->n_chains, 2);
    link_end_well(&s, &l);
}

/* A step that only chains of lower priority need leaves the cores to the others; one that a chain
 * of high priority needs as well does not. */
static void steps_of_low_chains_give_way(void **state)
{
    (void)state;
    if (getpriority(PRIO_PROCESS, 0) > 10)
        skip(); /* there is no room above */
    threads_of_steps(STEPS_MENU("low", "high"), 10, 2);
    threads_of_steps(STEPS_MENU("low", "normal"), 5, 2);
    threads_of_steps(STEPS_MENU("low", "low"), 5, 0);
}

/* ---------------------------------------------------------------- early decisions */

#define EARLY_MENU(decision)                                                          \
    "name: early\nstreams: [physics, express, calibration]\ndecision: " decision "\n" \
    "steps:\n"                                                                        \
    "  - {name: fast, plugin: fault, params: {stall_ms: 1}}\n"                        \
    "  - {name: slow, plugin: fault, params: {stall_ms: 400}}\n"                      \
    "chains:\n"                                                                       \
    "  - {name: a, id: 1, steps: [{step: fast}], streams: [physics, express]}\n"      \
    "  - {name: b, id: 2, steps: [{step: slow}], streams: [physics]}\n"               \
    "  - {name: c, id: 3, seeds: [1], steps: [{step: slow}], streams: [calibration]}\n"

static void expect_early(const Trigd__V1__Decision *d, uint32_t n_unfinished)
{
    assert_int_equal(d->status, TRIGD__V1__STATUS__OK);
    assert_true(d->accept);
    assert_int_equal(d->n_unfinished, n_unfinished);
    assert_int_equal(d->unfinished[0], 1);
    assert_int_equal(d->n_chains, 1);
    assert_int_equal(d->chains[0], 0);
    assert_int_equal(d->n_streams, 2);
    assert_int_equal(d->n_results, 1);
    assert_int_equal(d->results[0]->step, 0);
}

/* Decisions go out while a slow step still runs or waits, unless it could add a stream; what is
 * decided waits nowhere any more. */
static void before_all_chains_have_ended(void **state)
{
    const Trigd__V1__Decision *d;
    struct server s;
    struct link l;
    uint64_t n_ran;

    (void)state;
    open_with(&s, &l, ONE_BY_ONE, EARLY_MENU("streams"));
    for (uint64_t i = 0; i < 6; i++)
        expect_early(decide(&l, &(struct roi_spec){.token = i, .roi_id = FAULT_STALL, .n = 20}), 1);
    n_ran = server_row_number(&s, "stat", "slow", "rois");
    assert_in_range(n_ran, 1, 4); /* the others left its queue; 1, where the machine is idle */
    assert_int_equal(server_row_number(&s, "stat", "slow", "queued"), 0);
    server_wait_counter(&s, "early_results", n_ran);
    assert_int_equal(server_counter(&s, "early"), 6);
    assert_int_equal(server_counter(&s, "late_results"), 0);
    assert_int_equal(server_row_number(&s, "chains", "b", "run"), 6);
    assert_int_equal(server_row_number(&s, "chains", "b", "unfinished"), 6);
    assert_int_equal(server_row_number(&s, "chains", "b", "reject"), 0);
    /* with the third chain a stream is open */
    d = decide(&l, &(struct roi_spec){.token = 9, .n = 20, .l1_bits = 2});
    assert_int_equal(d->n_unfinished, 0);
    assert_int_equal(d->n_chains, 3);
    assert_int_equal(d->n_streams, 3);
    assert_int_equal(server_counter(&s, "early"), 6);
    link_end_well(&s, &l);
}

static void as_soon_as_a_chain_accepts(void **state)
{
    struct server s;
    struct link l;

    (void)state;
    open_with(&s, &l, ONE_BY_ONE, EARLY_MENU("accept"));
    expect_early(
        decide(&l, &(struct roi_spec){.token = 1, .roi_id = FAULT_STALL, .n = 20, .l1_bits = 2}),
        2);
    assert_int_equal(server_counter(&s, "early"), 1);
    link_end_well(&s, &l);
}

/* ---------------------------------------------------------------- quarantine */

static const char fallback_menu[] =
    "name: fallback\nstreams: [physics]\n"
    "steps: [{name: f, plugin: fault}]\n"
    "chains:\n"
    "  - {name: skips, id: 1, fallback: skip, steps: [{step: f, cuts: [{value: n, min: 100}]}],\n"
    "     streams: [physics]}\n"
    "  - {name: debugs, id: 2, seeds: [1], steps: [{step: f}], streams: [physics]}\n";

/* Has the only worker die until it is in quarantine: an RoI is decided without its step. */
static void kill_until_quarantine(struct server *s, struct link *l)
{
    const Trigd__V1__Decision *d;

    for (uint64_t i = 0; i < 10; i++) {
        const pid_t pid = (pid_t)workers_number(s, "cpu:0/1", "pid");

        if (pid > 0)
            assert_int_equal(kill(pid, SIGKILL), 0);
        workers_wait(s, "cpu:0/1", "deaths", (long)i + 1);
        d = decide(l, &(struct roi_spec){.token = i, .n = 20}); /* waits until it is back, or not */
        assert_int_equal(d->status, TRIGD__V1__STATUS__OK);
        if (d->n_skipped) {
            assert_int_equal(d->n_skipped, 1);
            assert_int_equal(d->skipped[0], 0);
            assert_int_equal(d->n_results, 0);
            assert_true(d->accept); /* its cut is left out */
            return;
        }
        assert_false(d->accept);
    }
    fail_msg("the worker did not go into quarantine");
}

/* While a worker that keeps dying is in quarantine, chains do what their fallback says; afterwards
 * they run their step. */
static void a_worker_that_keeps_dying(void **state)
{
    const Trigd__V1__Decision *d;
    struct server s;
    struct link l;

    (void)state;
    open_with(&s, &l, ONE_BY_ONE, fallback_menu);
    kill_until_quarantine(&s, &l);
    d = decide(&l, &(struct roi_spec){.token = 100, .n = 20, .l1_bits = 2}); /* of both chains */
    assert_int_equal(d->status, TRIGD__V1__STATUS__ALGO_FAILED);
    assert_int_equal(d->n_skipped, 0);
    assert_true(server_counter(&s, "steps_down") > 0);
    assert_int_equal(server_row_number(&s, "chains", "skips", "skipped"), 1);
    assert_int_equal(server_row_number(&s, "chains", "debugs", "failed"), 1);
    assert_int_equal(server_row_number(&s, "stat", "f", "skipped"), 1);
    server_wait_counter(&s, "steps_down", 0);
    d = decide(&l, &(struct roi_spec){.token = 101, .n = 20});
    assert_int_equal(d->status, TRIGD__V1__STATUS__OK);
    assert_int_equal(d->n_skipped, 0);
    assert_false(d->accept); /* the cut decides again */
    assert_int_equal(server_counter(&s, "failed"), 1);
    link_end_well(&s, &l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(high_before_low),
        cmocka_unit_test(steps_of_low_chains_give_way),
        cmocka_unit_test(before_all_chains_have_ended),
        cmocka_unit_test(as_soon_as_a_chain_accepts),
        cmocka_unit_test(a_worker_that_keeps_dying),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
