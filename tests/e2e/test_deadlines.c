/* SPDX-License-Identifier: Apache-2.0 */
/* Limits and the deadlines that clients give: over ZeroMQ and shared memory, under every stall, and
 * for RoIs that cannot make theirs. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "clock.h"
#include "sharer.h"
#include "workers.h"

#define MS           1000u /* us */
#define ROIS         20u
#define MANY         40u
#define NEAR         (5 * MS)    /* of the deadline, for nearly all */
#define FAR          (2000 * MS) /* for any: the machine may be busy */
#define TRIES        50u
#define STATUS(name) TRIGD__V1__STATUS__##name

static const char menu[] = "name: deadlines\n"
                           "streams: [physics]\n"
                           "steps: [{name: f, plugin: fault, params: {stall_ms: 60}}]\n"
                           "chains: [{name: c, id: 1, steps: [{step: f}], streams: [physics]}]\n";

static const char slow_menu[] =
    "name: slow\n"
    "streams: [physics]\n"
    "steps: [{name: f, plugin: fault, params: {stall_ms: 600}}]\n"
    "chains: [{name: c, id: 1, steps: [{step: f}], streams: [physics]}]\n";

/* One RoI a batch, so that each stall is the cost of a batch. */
static const char one_by_one[] = "devices: [{backend: cpu, lanes: 1, slots: 1}]\n"
                                 "batching: {max_rois: 1}\n"
                                 "limits: {soft_ms: 0, hard_ms: 20000}\n";

struct ends {      /* of RoIs by token */
    uint32_t n[8]; /* by status */
    uint32_t n_late;
    uint32_t n_late_ok; /* the result came just when the limit did */
    bool is_near[MANY]; /* once at least */
    uint32_t n_near;
};

/* Either way in. */
struct client {
    bool is_shm;
    struct link link;
    struct sharer sharer;
};

static void client_open(struct client *c, const struct server *s, bool is_shm)
{
    c->is_shm = is_shm;
    if (is_shm) {
        sharer_open(&c->sharer, s);
        sharer_hello(&c->sharer, "deadlines", 0);
    } else {
        link_open(&c->link, s);
        link_hello(&c->link, "deadlines", 0);
    }
}

static void client_close(struct client *c)
{
    if (c->is_shm)
        sharer_close(&c->sharer);
    else
        link_close(&c->link);
}

static void client_send(struct client *c, const struct roi_spec *specs, uint32_t n)
{
    if (c->is_shm)
        sharer_send_rois(&c->sharer, specs, n);
    else
        link_send_rois(&c->link, specs, n);
}

/* The next decisions. */
static const Trigd__V1__DecisionBatch *client_expect(struct client *c)
{
    const Trigd__V1__FromDaemon__BodyCase kind = TRIGD__V1__FROM_DAEMON__BODY_DECISIONS;

    return c->is_shm ? sharer_expect(&c->sharer, kind)->decisions
                     : link_expect(&c->link, kind)->decisions;
}

/* One RoI, decided. */
static void decide(struct client *c, const struct roi_spec *spec, Trigd__V1__Decision *ret)
{
    const Trigd__V1__DecisionBatch *b;

    client_send(c, spec, 1);
    b = client_expect(c);
    assert_int_equal(b->n_decisions, 1);
    *ret = *b->decisions[0];
    assert_int_equal(ret->token, spec->token);
}

/* Token i is held to the deadline of specs[i]: no decision before it is TIMEOUT, none comes much
 * later, and one after it is marked late.  Near is by the client's own clock. */
static void take_ends(struct client *c, const struct roi_spec *specs, uint32_t n, uint64_t sent_ns,
                      struct ends *e)
{
    memset(e->n, 0, sizeof e->n);
    e->n_late = e->n_late_ok = 0;
    for (uint32_t got = 0; got < n;) {
        const Trigd__V1__DecisionBatch *b = client_expect(c);
        const uint64_t after_us = (clock_ns() - sent_ns) / NS_PER_US;

        for (size_t i = 0; i < b->n_decisions; i++, got++) {
            const Trigd__V1__Decision *d = b->decisions[i];
            const uint32_t deadline_us = specs[d->token].deadline_us;

            assert_true(d->status < 8);
            e->n[d->status]++;
            e->n_late += d->late != 0;
            e->n_late_ok += d->late && d->status == STATUS(OK);
            if (after_us <= deadline_us + NEAR && !e->is_near[d->token]) {
                e->is_near[d->token] = true;
                e->n_near++;
            }
            assert_true(d->latency_us <= deadline_us + FAR);
            assert_true(d->late || d->latency_us < deadline_us);
            if (d->status == STATUS(TIMEOUT))
                assert_true(d->late && d->accept && d->latency_us >= deadline_us);
            if (d->status == STATUS(TOO_LATE))
                assert_true(d->accept && d->n_results == 0);
        }
    }
}

static void end_well(struct server *s, struct client *c)
{
    client_close(c);
    server_wait_counter(s, "in_flight", 0);
    server_check_ledger(s);
    server_stop(s);
}

/* ---------------------------------------------------------------- stalls */

enum stall { LANE, STOPPED };

/* Deadlines from 10 to 105 ms, tightest last. */
static void make_specs(struct roi_spec *specs)
{
    for (uint32_t i = 0; i < ROIS; i++)
        specs[i] =
            (struct roi_spec){.token = i, .n = 50, .deadline_us = (10 + 5 * (ROIS - 1 - i)) * MS};
}

/* Nothing comes back from the worker: each RoI is answered at its own deadline.  Once more when the
 * machine itself stalled meanwhile, for those that it delayed. */
static void stalled(bool is_shm, enum stall how)
{
    struct server s;
    struct client c;
    struct roi_spec specs[ROIS];
    struct ends e = {.n_near = 0};
    uint32_t tries = 0;
    pid_t pid;

    sharer_server(&s,
                  "devices: [{backend: cpu, lanes: 1}]\nworkers: {hang_ms: 60000}\n"
                  "limits: {soft_ms: 0, hard_ms: 20000}\n",
                  menu);
    client_open(&c, &s, is_shm);
    make_specs(specs);
    pid = how == LANE ? workers_pid(&s, "cpu:0/1") : workers_stop(&s, "cpu:0/1");
    if (how == LANE)
        specs[0].roi_id = FAULT_HANG;
    for (; tries < TRIES && e.n_near < ROIS - 3; tries++) {
        const uint64_t sent_ns = clock_ns();

        client_send(&c, specs, ROIS);
        take_ends(&c, specs, ROIS, sent_ns, &e);
        assert_int_equal(e.n[STATUS(TIMEOUT)], ROIS);
        assert_int_equal(e.n_late, ROIS);
    }
    assert_in_range(e.n_near, ROIS - 3, ROIS);
    assert_int_equal(server_counter(&s, "timeouts"), tries * ROIS);
    assert_int_equal(server_counter(&s, "late"), tries * ROIS);
    kill(pid, SIGKILL); /* or the end waits for it */
    end_well(&s, &c);
}

static void a_lane_hangs(void **state)
{
    (void)state;
    stalled(true, LANE);
}

static void a_worker_is_stopped(void **state)
{
    (void)state;
    stalled(false, STOPPED);
}

/* Another client's RoIs fill every queue: those with a deadline are decided in time, or answered at
 * it, or before. */
static void others_fill_the_queues(void **state)
{
    struct server s;
    struct client c;
    struct link flood;
    struct roi_spec many[200], specs[ROIS];
    struct ends e = {.n_near = 0};
    uint64_t sent_ns;

    (void)state;
    sharer_server(&s, one_by_one, menu);
    link_open(&flood, &s);
    link_hello(&flood, "flood", 0);
    client_open(&c, &s, true);
    for (uint32_t i = 0; i < 200; i++)
        many[i] = (struct roi_spec){.token = i, .roi_id = i < 12 ? FAULT_STALL : 0, .n = 50};
    link_send_rois(&flood, many, 200); /* the first ones take 60 ms each */
    server_wait_counter(&s, "received", 200);
    make_specs(specs);
    sent_ns = clock_ns();
    client_send(&c, specs, ROIS);
    take_ends(&c, specs, ROIS, sent_ns, &e);
    assert_int_equal(e.n[STATUS(TIMEOUT)] + e.n[STATUS(TOO_LATE)], ROIS);
    link_collect(&flood, 0, 200, NULL);
    assert_int_equal(server_counter(&s, "accepted"), 200);
    link_close(&flood);
    end_well(&s, &c);
}

/* ---------------------------------------------------------------- the configured limits */

#define HARD_MS 100u

/* RoIs that a lane is through with after a limit, which only the daemon knows. */
static void make_many(struct roi_spec *specs, uint32_t n_stalls)
{
    for (uint32_t i = 0; i < MANY; i++)
        specs[i] = (struct roi_spec){.token = i, .roi_id = i < n_stalls ? FAULT_STALL : 0, .n = 50};
}

/* Takes their decisions. */
static void take_limited(struct client *c, struct roi_spec *specs, uint32_t limit_ms,
                         uint64_t sent_ns, struct ends *e)
{
    for (uint32_t i = 0; i < MANY; i++)
        specs[i].deadline_us = limit_ms * MS;
    take_ends(c, specs, MANY, sent_ns, e);
}

/* A lane takes 60 ms for each of 40 RoIs: those that it is not through with at the hard limit are
 * answered then, none of them OK, and what it makes of one later is thrown away.  Once more when
 * the machine itself stalled meanwhile, for those that it delayed. */
static void slow_lane(bool is_shm)
{
    struct server s;
    struct client c;
    struct roi_spec specs[MANY];
    struct ends e = {.n_near = 0};
    uint32_t tries = 0, thrown = 0;

    sharer_server(&s,
                  "devices: [{backend: cpu, lanes: 1, slots: 1}]\nbatching: {max_rois: 1}\n"
                  "workers: {hang_ms: 60000}\nlimits: {soft_ms: 0, hard_ms: 100}\n",
                  menu);
    client_open(&c, &s, is_shm);
    for (; tries < TRIES && e.n_near < MANY - 3; tries++) {
        const uint64_t late = server_counter(&s, "late"), sent_ns = clock_ns();

        make_many(specs, MANY);
        client_send(&c, specs, MANY);
        take_limited(&c, specs, HARD_MS, sent_ns, &e);
        assert_in_range(e.n[STATUS(OK)], 0, 2);
        assert_int_equal(e.n[STATUS(OK)] + e.n[STATUS(TIMEOUT)], MANY);
        assert_int_equal(server_counter(&s, "late"), late + e.n_late);
        thrown += !e.n_late_ok;
        server_wait_counter(&s, "late_results", thrown);
    }
    assert_in_range(e.n_near, MANY - 3, MANY);
    end_well(&s, &c);
}

static void a_lane_is_slow(void **state)
{
    (void)state;
    slow_lane(false);
    slow_lane(true);
}

/* Sends RoIs whose lane takes 600 ms, stops the daemon, but not its worker, and lets it go on when
 * results and limit are both there.  false: it had them before it was stopped. */
static bool send_and_stop(struct server *s, struct client *c, struct roi_spec *specs,
                          uint64_t *ret_sent_ns)
{
    const uint64_t received = server_counter(s, "received");
    bool was_in_time;

    make_many(specs, 1);
    *ret_sent_ns = clock_ns();
    client_send(c, specs, MANY);
    server_wait_counter(s, "received", received + MANY);
    assert_int_equal(kill(s->pid, SIGSTOP), 0);
    was_in_time = clock_ns() - *ret_sent_ns < 400 * NS_PER_MS;
    workers_nap(1200);
    assert_int_equal(kill(s->pid, SIGCONT), 0);
    return was_in_time;
}

/* Results and the limit are seen in one turn of the daemon: what is late is not answered as if it
 * were not. */
static void both_at_once(const char *limits, int status)
{
    struct server s;
    struct client c;
    struct roi_spec specs[MANY];
    struct ends e = {.n_near = 0};
    uint64_t sent_ns, late;
    bool was_in_time = false;
    char config[512];

    snprintf(config, sizeof config,
             "devices: [{backend: cpu, lanes: 1}]\nworkers: {hang_ms: 60000}\n%s", limits);
    sharer_server(&s, config, slow_menu);
    client_open(&c, &s, false);
    for (uint32_t i = 0; i < TRIES && !was_in_time; i++) {
        late = server_counter(&s, "late");
        was_in_time = send_and_stop(&s, &c, specs, &sent_ns);
        take_limited(&c, specs, 1000, sent_ns, &e);
        assert_int_equal(server_counter(&s, "late"), late + e.n_late);
    }
    assert_true(was_in_time);
    assert_int_equal(e.n[status], MANY);
    assert_int_equal(e.n_late, MANY);
    if (status == STATUS(TIMEOUT))
        server_wait_counter(&s, "late_results", MANY);
    end_well(&s, &c);
}

static void results_and_the_limit_at_once(void **state)
{
    (void)state;
    both_at_once("limits: {soft_ms: 0, hard_ms: 1000}\n", STATUS(TIMEOUT));
    both_at_once("limits: {soft_ms: 1000, hard_ms: 20000}\n", STATUS(OK));
}

#define CROWD       8000u
#define CROWD_PART  250u /* in one message */
#define CROWD_PARTS (CROWD / CROWD_PART)

/* Sends RoIs that no lane takes; returns how much later the last ones were received than the first,
 * at least. */
static int64_t send_crowd(struct server *s, struct client *c)
{
    const uint64_t received = server_counter(s, "received");
    struct roi_spec specs[CROWD_PART];
    uint64_t first_ns = 0, last_ns = 0;

    for (uint32_t part = 0; part < CROWD_PARTS; part++) {
        for (uint32_t i = 0; i < CROWD_PART; i++)
            specs[i] = (struct roi_spec){.token = part * CROWD_PART + i, .n = 10};
        if (part == CROWD_PARTS - 1)
            last_ns = clock_ns();
        client_send(c, specs, CROWD_PART);
        if (part == 0 || part >= CROWD_PARTS - 2)
            server_wait_counter(s, "received", received + (part + 1) * CROWD_PART);
        if (part == 0)
            first_ns = clock_ns();
    }
    return (int64_t)((last_ns - first_ns) / NS_PER_US);
}

/* Takes their decisions; returns how much later the last one left than the first, at least. */
static int64_t take_crowd(struct client *c, int64_t apart_us)
{
    int64_t first_us = 0, last_us = 0;

    for (uint32_t got = 0; got < CROWD;) {
        const Trigd__V1__DecisionBatch *b = client_expect(c);

        for (size_t i = 0; i < b->n_decisions; i++, got++) {
            assert_int_equal(b->decisions[i]->status, STATUS(TIMEOUT));
            if (b->decisions[i]->token == 0)
                first_us = b->decisions[i]->latency_us;
            if (b->decisions[i]->token == CROWD - 1)
                last_us = b->decisions[i]->latency_us;
        }
    }
    return apart_us + last_us - first_us;
}

/* Thousands of RoIs are past the hard limit in one turn of the daemon, which was stopped meanwhile:
 * the first answers leave before the last RoI is decided. */
static void crowd(bool is_shm)
{
    struct server s;
    struct client c;
    uint32_t tries = 0;
    int64_t spread_us = 0;
    pid_t pid;

    sharer_server(&s,
                  "devices: [{backend: cpu, lanes: 1}]\nworkers: {hang_ms: 60000}\n"
                  "limits: {soft_ms: 0, hard_ms: 2000}\npool: {rois: 32768}\n"
                  "clients: {credits: 8000, heartbeat_ms: 20000}\n",
                  menu);
    client_open(&c, &s, is_shm);
    pid = workers_stop(&s, "cpu:0/1");
    for (; tries < TRIES && spread_us < (int64_t)MS; tries++) {
        const int64_t apart_us = send_crowd(&s, &c);

        assert_int_equal(kill(s.pid, SIGSTOP), 0);
        workers_nap(2100);
        assert_int_equal(kill(s.pid, SIGCONT), 0);
        spread_us = take_crowd(&c, apart_us);
    }
    assert_true(spread_us >= (int64_t)MS);
    assert_int_equal(server_counter(&s, "timeouts"), tries * CROWD);
    kill(pid, SIGKILL); /* or the end waits for it */
    end_well(&s, &c);
}

static void thousands_pass_the_limit(void **state)
{
    (void)state;
    crowd(false);
    crowd(true);
}

/* ---------------------------------------------------------------- what deadlines mean */

/* An RoI that cannot make its deadline is answered at once, and no device runs it. */
static void too_late(bool is_shm)
{
    struct server s;
    struct client c;
    Trigd__V1__Decision d;

    sharer_server(&s, one_by_one, menu);
    client_open(&c, &s, is_shm);
    decide(&c, &(struct roi_spec){.token = 1, .n = 50, .deadline_us = 1}, &d);
    assert_int_not_equal(d.status, STATUS(TOO_LATE)); /* nothing was measured yet */
    for (uint32_t i = 0; i < 5; i++) {                /* now a batch takes 60 ms */
        decide(&c, &(struct roi_spec){.token = 2 + i, .roi_id = FAULT_STALL, .n = 50}, &d);
        assert_int_equal(d.status, STATUS(OK));
    }
    for (uint32_t i = 0; i < 5; i++) {
        decide(&c, &(struct roi_spec){.token = 7 + i, .n = 50, .deadline_us = 10 * MS}, &d);
        assert_int_equal(d.status, STATUS(TOO_LATE));
        assert_true(d.accept);
        assert_int_equal(d.n_streams, 1); /* debug */
        assert_true(d.latency_us < FAR);
        assert_int_equal(d.lane_us, 0);
    }
    assert_int_equal(server_counter(&s, "too_late"), 5);
    assert_int_equal(server_counter(&s, "failed"), 5 + server_counter(&s, "timeouts"));
    decide(&c, &(struct roi_spec){.token = 20, .n = 50, .deadline_us = 10000 * MS}, &d);
    assert_int_equal(d.status, STATUS(OK));
    assert_false(d.late);
    end_well(&s, &c);
}

static void an_roi_cannot_make_it(void **state)
{
    (void)state;
    too_late(false);
    too_late(true);
}

/* Sends an RoI, kills the worker while it runs, and waits until the worker is back. */
static void decide_killed(struct server *s, struct client *c, const struct roi_spec *spec,
                          Trigd__V1__Decision *ret)
{
    const long restarts = workers_number(s, "cpu:0/1", "restarts");

    client_send(c, spec, 1);
    workers_nap(150);
    assert_int_equal(kill(workers_pid(s, "cpu:0/1"), SIGKILL), 0);
    *ret = *client_expect(c)->decisions[0];
    workers_wait(s, "cpu:0/1", "restarts", restarts + 1);
}

/* An RoI whose worker ended is not run again when that would take too long. */
static void no_time_to_run_again(void **state)
{
    struct server s;
    struct client c;
    Trigd__V1__Decision d;

    (void)state;
    sharer_server(&s, one_by_one, slow_menu);
    client_open(&c, &s, false);
    decide_killed(&s, &c, &(struct roi_spec){.token = 1, .roi_id = FAULT_STALL, .n = 50}, &d);
    assert_int_equal(d.status, STATUS(OK)); /* the retry lane took 600 ms over it */
    decide_killed(
        &s, &c,
        &(struct roi_spec){.token = 2, .roi_id = FAULT_STALL, .n = 50, .deadline_us = 700 * MS},
        &d);
    assert_int_equal(d.status, STATUS(TOO_LATE));
    assert_true(d.latency_us < FAR);
    assert_int_equal(server_counter(&s, "retried"), 2);
    assert_int_equal(server_counter(&s, "too_late"), 1);
    end_well(&s, &c);
}

/* A deadline is never looser than the configured limit. */
static void never_looser(void **state)
{
    const struct roi_spec stall = {
        .token = 1, .roi_id = FAULT_STALL, .n = 50, .deadline_us = 60000 * MS};
    struct server s;
    struct client c;
    Trigd__V1__Decision d;

    (void)state;
    sharer_server(&s, "devices: [{backend: cpu, lanes: 1}]\nlimits: {soft_ms: 20, hard_ms: 40}\n",
                  menu);
    client_open(&c, &s, true);
    decide(&c, &stall, &d);
    assert_int_equal(d.status, STATUS(TIMEOUT));
    assert_in_range(d.latency_us, 40 * MS, 40 * MS + FAR);
    end_well(&s, &c);
}

/* A batch gives its deadline to those of its RoIs that have no tighter one. */
static void of_a_batch(void **state)
{
    static const uint32_t own[3] = {0, 20 * MS, 60000 * MS};
    Trigd__V1__ToDaemon m = TRIGD__V1__TO_DAEMON__INIT;
    Trigd__V1__RoiBatch batch = TRIGD__V1__ROI_BATCH__INIT;
    Trigd__V1__Roi rois[3], *list[3] = {&rois[0], &rois[1], &rois[2]};
    Trigd__V1__Spacepoints points[3];
    struct roi_spec specs[3];
    struct server s;
    struct client c;
    struct ends e = {.n_near = 0};
    uint64_t sent_ns;

    (void)state;
    sharer_server(&s, one_by_one, menu);
    client_open(&c, &s, false);
    for (uint32_t i = 0; i < 3; i++) {
        specs[i] =
            (struct roi_spec){.token = i, .roi_id = FAULT_STALL, .n = 50, .deadline_us = own[i]};
        roi_fill(&rois[i], &points[i], &specs[i]);
        if (!own[i] || own[i] > 40 * MS)
            specs[i].deadline_us = 40 * MS; /* what it will be held to */
    }
    batch.n_rois = 3;
    batch.rois = list;
    batch.deadline_us = 40 * MS;
    m.body_case = TRIGD__V1__TO_DAEMON__BODY_BATCH;
    m.batch = &batch;
    sent_ns = clock_ns();
    link_send(&c.link, &m);
    take_ends(&c, specs, 3, sent_ns, &e);
    assert_int_equal(e.n[STATUS(TIMEOUT)] + e.n_late_ok, 3);
    end_well(&s, &c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_lane_hangs),
        cmocka_unit_test(a_worker_is_stopped),
        cmocka_unit_test(others_fill_the_queues),
        cmocka_unit_test(a_lane_is_slow),
        cmocka_unit_test(results_and_the_limit_at_once),
        cmocka_unit_test(thousands_pass_the_limit),
        cmocka_unit_test(an_roi_cannot_make_it),
        cmocka_unit_test(no_time_to_run_again),
        cmocka_unit_test(never_looser),
        cmocka_unit_test(of_a_batch),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
