/* SPDX-License-Identifier: Apache-2.0 */
/* Events of several RoIs: one decision for each, with all of its RoIs, whatever goes wrong. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "workers.h"

static const char config[] = "devices: [{backend: cpu, lanes: 1}]\n"
                             "limits: {soft_ms: 0, hard_ms: 60000}\n"
                             "events: {rois: 8}\n"
                             "workers: {remember: 0}\n"
                             "batching: {max_rois: 8, max_age_us: 500}\n";
static const char menu[] =
    "name: events\n"
    "streams: [physics, express]\n"
    "roi_types: [{name: jet, number: 0}, {name: mu, number: 1}]\n"
    "steps:\n"
    "  - {name: points, plugin: fault}\n"
    "chains:\n"
    "  - {name: 2jets, id: 1, types: [jet], multiplicity: 2, streams: [physics],\n"
    "     steps: [{step: points, cuts: [{value: n, min: 10}]}]}\n"
    "  - {name: mu, id: 2, types: [mu], seeds: [0, 1], prescale: 0, streams: [physics],\n"
    "     steps: [{step: points, cuts: [{value: n, min: 10}]}]}\n"
    "  - {name: 2jets_no_mu, id: 3, seeds: [1], combine: 2jets and not mu, streams: [express]}\n"
    "  - {name: alone, id: 4, seeds: [2], types: [jet], streams: [express],\n"
    "     steps: [{step: points}]}\n";
enum { TWO_JETS, MU, TWO_JETS_NO_MU, ALONE };
enum { PHYSICS, EXPRESS, DEBUG };

/* ---------------------------------------------------------------- asking */

#define ROIS   8u
#define EVENTS 4u

struct answers { /* by token, and by event as they came */
    struct {
        uint32_t n, status, streams, chains;
        bool accept, is_repeat;
    } roi[ROIS];
    struct event {
        uint32_t l1id, rois, came, status, streams, chains, raw, generation;
        bool accept, is_repeat;
    } event[EVENTS];
    uint32_t n_events, n_errors, n_busy;
    char error[200];
};

static uint32_t bits(const uint32_t *list, size_t n)
{
    uint32_t b = 0;

    for (size_t i = 0; i < n; i++)
        b |= 1u << list[i];
    return b;
}

static void take_roi(struct answers *a, const Trigd__V1__Decision *d)
{
    assert_true(d->token < ROIS);
    a->roi[d->token].n++;
    a->roi[d->token].status = d->status;
    a->roi[d->token].accept = d->accept;
    a->roi[d->token].streams = bits(d->streams, d->n_streams);
    a->roi[d->token].chains = bits(d->chains, d->n_chains);
    a->roi[d->token].is_repeat = d->repeated;
}

static void take_event(struct answers *a, const Trigd__V1__EventDecision *d)
{
    assert_true(a->n_events < EVENTS);
    a->event[a->n_events++] = (struct event){.l1id = d->l1id,
                                             .rois = d->rois,
                                             .came = d->came,
                                             .status = d->status,
                                             .streams = bits(d->streams, d->n_streams),
                                             .chains = bits(d->chains, d->n_chains),
                                             .raw = bits(d->chains_raw, d->n_chains_raw),
                                             .generation = d->menu_generation,
                                             .accept = d->accept,
                                             .is_repeat = d->repeated};
    assert_true(d->menu_key && d->prescale_key);
}

/* Takes what comes until there are so many decisions of RoIs and events; Errors and Busy count as
 * RoIs. */
static void collect(struct link *l, uint32_t rois, uint32_t events, struct answers *a)
{
    uint32_t n = 0;

    memset(a, 0, sizeof *a);
    while (n < rois || a->n_events < events) {
        const Trigd__V1__FromDaemon *m = link_receive(l, 60000);

        if (!m)
            fail_msg("%u of %u RoIs and %u of %u events are answered", n, rois, a->n_events,
                     events);
        if (m->body_case == TRIGD__V1__FROM_DAEMON__BODY_ERROR) {
            snprintf(a->error, sizeof a->error, "%s", m->error->text);
            a->n_errors++;
            n++;
        }
        if (m->body_case == TRIGD__V1__FROM_DAEMON__BODY_BUSY) {
            a->n_busy += (uint32_t)m->busy->n_tokens;
            n += (uint32_t)m->busy->n_tokens;
        }
        if (m->body_case != TRIGD__V1__FROM_DAEMON__BODY_DECISIONS)
            continue;
        n += (uint32_t)m->decisions->n_decisions;
        for (size_t i = 0; i < m->decisions->n_decisions; i++)
            take_roi(a, m->decisions->decisions[i]);
        for (size_t i = 0; i < m->decisions->n_events; i++)
            take_event(a, m->decisions->events[i]);
    }
    assert_int_equal(n, rois);
    assert_int_equal(a->n_events, events);
}

static void expect_silence(struct link *l)
{
    const Trigd__V1__FromDaemon *m;

    while ((m = link_receive(l, 60)) != NULL)
        assert_int_not_equal(m->body_case, TRIGD__V1__FROM_DAEMON__BODY_DECISIONS);
}

struct part {                  /* an RoI of an event */
    uint32_t token, roi_id, n; /* n points */
    uint32_t type;
};

static void send_parts(struct link *l, uint32_t l1id, uint32_t rois, uint32_t l1_bits,
                       const struct part *parts, uint32_t n)
{
    struct roi_spec specs[ROIS];

    for (uint32_t i = 0; i < n; i++)
        specs[i] = (struct roi_spec){.token = parts[i].token,
                                     .l1id = l1id,
                                     .roi_id = parts[i].roi_id,
                                     .l1_bits = l1_bits,
                                     .n = parts[i].n,
                                     .type = parts[i].type,
                                     .event_rois = rois};
    link_send_rois(l, specs, n);
}
#define PARTS(l, l1id, rois, ...)                                    \
    send_parts(l, l1id, rois, 0, (const struct part[]){__VA_ARGS__}, \
               sizeof((const struct part[]){__VA_ARGS__}) / sizeof(struct part))

/* RoIs `first` to `first + n - 1`, with so many points each; the token is the number. */
static void send_event(struct link *l, uint32_t l1id, uint32_t rois, uint32_t first, uint32_t n,
                       const uint32_t *points)
{
    struct part parts[ROIS];

    for (uint32_t i = 0; i < n; i++)
        parts[i] = (struct part){.token = first + i, .roi_id = first + i, .n = points[i]};
    send_parts(l, l1id, rois, 0, parts, n);
}
#define POINTS(...) ((const uint32_t[]){__VA_ARGS__})

static void check_ledgers(struct server *s)
{
    server_wait_counter(s, "in_flight", 0);
    server_check_ledger(s);
    assert_int_equal(server_counter(s, "events_open"), 0);
    assert_int_equal(server_counter(s, "events"), server_counter(s, "events_accepted") +
                                                      server_counter(s, "events_rejected") +
                                                      server_counter(s, "events_failed"));
}

static void begin(struct server *s, struct link *l, const char *with)
{
    server_start(s, with, menu);
    link_open(l, s);
    link_hello(l, "events", 0);
}

static void end(struct server *s, struct link *l)
{
    check_ledgers(s);
    link_close(l);
    server_stop(s);
}

#define BEGIN         \
    struct answers a; \
    struct server s;  \
    struct link l;    \
    (void)state

/* ---------------------------------------------------------------- decisions */

static void an_event_has_one_decision(void **state)
{
    BEGIN;

    begin(&s, &l, config);
    send_event(&l, 1, 3, 0, 3, POINTS(20, 5, 10));
    collect(&l, 3, 1, &a);
    assert_true(a.event[0].l1id == 1 && a.event[0].rois == 3);
    assert_true(a.event[0].accept && a.event[0].status == TRIGD__V1__STATUS__OK);
    assert_int_equal(a.event[0].streams, 1u << PHYSICS);
    assert_int_equal(a.event[0].chains, 1u << TWO_JETS);
    for (uint32_t i = 0; i < 3; i++) { /* they share its fate; the chain did not pass each */
        assert_true(a.roi[i].n == 1 && a.roi[i].accept);
        assert_int_equal(a.roi[i].streams, 1u << PHYSICS);
        assert_int_equal(a.roi[i].chains, i == 1 ? 0 : 1u << TWO_JETS);
    }
    send_event(&l, 2, 3, 0, 2, POINTS(20, 5));
    expect_silence(&l); /* the third one can still turn it */
    send_event(&l, 2, 3, 2, 1, POINTS(9));
    collect(&l, 3, 1, &a);
    assert_true(!a.event[0].accept && !a.event[0].streams && !a.event[0].raw);
    assert_true(!a.roi[0].accept && a.roi[0].status == TRIGD__V1__STATUS__OK);
    assert_int_equal(server_counter(&s, "events_accepted"), 1);
    assert_int_equal(server_counter(&s, "events_rejected"), 1);
    assert_int_equal(server_counter(&s, "accepted"), 3);
    assert_int_equal(server_counter(&s, "rejected"), 3);
    end(&s, &l);
}

/* An RoI that is alone, and has no event_rois, is decided at once, as it always was. */
static void rois_that_are_alone_go_by(void **state)
{
    struct roi_spec one = {.token = 7, .l1id = 9, .l1_bits = 1u << 2, .n = 3};
    BEGIN;

    begin(&s, &l, config);
    send_event(&l, 1, 2, 0, 1, POINTS(20));
    link_send_rois(&l, &one, 1);
    collect(&l, 1, 0, &a);
    assert_true(a.roi[7].n == 1 && a.roi[7].accept && a.roi[7].chains == 1u << ALONE);
    send_event(&l, 1, 2, 1, 1, POINTS(20));
    collect(&l, 2, 1, &a);
    assert_true(a.event[0].accept);
    assert_int_equal(server_counter(&s, "events"), 1);
    end(&s, &l);
}

static void early_reject_leaves_rois_undone(void **state)
{
    pid_t worker;
    BEGIN;

    begin(&s, &l, config);
    send_event(&l, 1, 4, 0, 3, POINTS(1, 2, 3)); /* one that is left is no pair */
    collect(&l, 3, 1, &a);
    assert_true(!a.event[0].accept && a.event[0].rois == 4 && a.event[0].came == 3);
    for (uint32_t i = 0; i < 3; i++)
        assert_int_equal(a.roi[i].status, TRIGD__V1__STATUS__OK);
    send_event(&l, 1, 4, 3, 1, POINTS(50)); /* it comes after the decision */
    collect(&l, 1, 0, &a);
    assert_true(!a.roi[3].accept && a.roi[3].status == TRIGD__V1__STATUS__SKIPPED);
    worker = workers_stop(&s, "cpu:0/1"); /* the next one takes a while */
    PARTS(&l, 2, 3, {.token = 0, .n = 20});
    server_wait_row(&s, "lanes", "points@cpu:0/0", "in_flight", 1, UINT64_MAX);
    PARTS(&l, 2, 3, {.token = 1, .roi_id = 1, .type = 1}, {.token = 2, .roi_id = 2, .type = 1});
    collect(&l, 3, 1, &a); /* muons are no jets */
    assert_true(!a.event[0].accept && a.event[0].came == 3);
    assert_int_equal(a.roi[0].status, TRIGD__V1__STATUS__SKIPPED);
    assert_int_equal(server_counter(&s, "skipped"), 2);
    assert_int_equal(server_counter(&s, "rejected"), 7);
    assert_int_equal(kill(worker, SIGCONT), 0);
    server_wait_counter(&s, "late_results", 1);
    end(&s, &l);
}

/* What is accepted already is told at once; the RoIs that are left run to their ends. */
static void an_accept_does_not_wait(void **state)
{
    BEGIN;

    begin(&s, &l, config);
    send_event(&l, 1, 3, 0, 2, POINTS(20, 20));
    collect(&l, 2, 1, &a);
    assert_true(a.event[0].accept && a.event[0].came == 2);
    send_event(&l, 1, 3, 2, 1, POINTS(30));
    collect(&l, 1, 0, &a);
    assert_true(a.roi[2].accept && a.roi[2].status == TRIGD__V1__STATUS__OK);
    assert_int_equal(a.roi[2].streams, 1u << PHYSICS);
    assert_int_equal(a.roi[2].chains, 1u << TWO_JETS);
    end(&s, &l);
}

static void a_combination_decides_the_whole_event(void **state)
{
    const struct part muon[] = {{0, 0, 20, 0}, {1, 1, 20, 0}, {2, 2, 20, 1}},
                      none[] = {{0, 0, 20, 0}, {1, 1, 20, 0}, {2, 2, 9, 1}};
    BEGIN;

    begin(&s, &l, config);
    send_parts(&l, 1, 3, 1u << 1, muon, 3);
    collect(&l, 3, 1, &a);
    assert_int_equal(a.event[0].chains, 1u << TWO_JETS);
    send_parts(&l, 2, 3, 1u << 1, none, 2);
    expect_silence(&l); /* a muon may come */
    send_parts(&l, 2, 3, 1u << 1, none + 2, 1);
    collect(&l, 3, 1, &a);
    assert_int_equal(a.event[0].chains, 1u << TWO_JETS | 1u << TWO_JETS_NO_MU);
    assert_int_equal(a.event[0].streams, 1u << PHYSICS | 1u << EXPRESS);
    assert_int_equal(a.roi[2].streams, 1u << PHYSICS | 1u << EXPRESS);
    end(&s, &l);
}

/* ---------------------------------------------------------------- what goes wrong */

static void what_does_not_fit_is_refused(void **state)
{
    struct roi_spec alone = {.token = 5, .l1id = 1, .n = 3};
    struct answers a;
    struct server s;
    struct link l, other;
    const struct part part = {.token = 5, .roi_id = 5, .n = 3};

    (void)state;
    begin(&s, &l, config);
    link_open(&other, &s);
    link_hello(&other, "other", 0);
    send_event(&l, 1, 3, 0, 2, POINTS(20, 5));
    server_wait_counter(&s, "received", 2);
#define REFUSED(link, sentence)      \
    collect(link, 1, 0, &a);         \
    assert_int_equal(a.n_errors, 1); \
    assert_string_equal(a.error, sentence)
    send_parts(&l, 1, 4, 0, &part, 1);
    REFUSED(&l, "RoI 5: event 1/1 (run/l1id) has 3 RoIs, as its first one says; this one says 4");
    link_send_rois(&l, &alone, 1);
    REFUSED(&l, "RoI 5: event 1/1 (run/l1id) has 3 RoIs, as its first one says; this one says 1");
    PARTS(&l, 1, 3, {.token = 5, .roi_id = 1});
    REFUSED(&l, "RoI 5: event 1/1 (run/l1id) has an RoI 1 already; each number is allowed once");
    send_parts(&l, 1, 3, 1, &part, 1);
    REFUSED(&l, "RoI 5: event 1/1 (run/l1id) has bcid 0, lumi block 0, l1_bits 0x0, as its first "
                "RoI says; this one says 0, 0, 0x1");
    send_parts(&l, 7, 9, 0, &part, 1);
    REFUSED(&l, "RoI 5: event 1/7 (run/l1id) has 9 RoIs; at most 8 are allowed (events.rois)");
    send_parts(&other, 1, 3, 0, &part, 1);
    REFUSED(&other, "RoI 5: event 1/1 (run/l1id) comes from another client; the RoIs of an event "
                    "come from one");
    send_event(&l, 1, 3, 2, 1, POINTS(20));
    collect(&l, 3, 1, &a);
    assert_true(a.event[0].accept);
    assert_int_equal(server_counter(&s, "event_errors"), 6);
    assert_int_equal(server_counter(&s, "errors"), 6);
    link_close(&other);
    end(&s, &l);
}

static void few_credits_are_too_few(void **state)
{
    BEGIN;

    server_start(&s, config, menu);
    link_open(&l, &s);
    link_hello(&l, "poor", 2);
    send_event(&l, 1, 3, 0, 1, POINTS(1));
    REFUSED(&l, "RoI 0: event 1/1 (run/l1id) has 3 RoIs, and this client may have 2 unanswered "
                "(credits)");
    end(&s, &l);
}

/* An event is begun only when there are places for all of its RoIs. */
static void an_event_that_begins_finds_its_places(void **state)
{
    BEGIN;

    begin(&s, &l,
          "devices: [{backend: cpu, lanes: 1}]\npool: {rois: 16}\nthreads: {shards: 1}\n"
          "limits: {soft_ms: 0, hard_ms: 60000}\n");
    send_event(&l, 1, 7, 0, 1, POINTS(20));
    send_event(&l, 2, 7, 1, 1, POINTS(20));
    server_wait_counter(&s, "received", 2);
    send_event(&l, 3, 3, 2, 1, POINTS(20));
    collect(&l, 1, 0, &a);
    assert_int_equal(a.n_busy, 1); /* two places are left */
    send_event(&l, 1, 7, 1, 6, POINTS(1, 1, 1, 1, 1, 1));
    collect(&l, 7, 1, &a);
    send_event(&l, 3, 3, 2, 1, POINTS(20));
    send_event(&l, 3, 3, 3, 2, POINTS(20, 20));
    collect(&l, 3, 1, &a);
    assert_true(a.event[0].accept);
    send_event(&l, 2, 7, 2, 6, POINTS(1, 1, 1, 1, 1, 1));
    collect(&l, 7, 1, &a);
    end(&s, &l);
}

static void missing_rois_time_out(void **state)
{
    BEGIN;

    begin(&s, &l, "devices: [{backend: cpu, lanes: 1}]\nlimits: {soft_ms: 0, hard_ms: 150}\n");
    send_event(&l, 1, 3, 0, 2, POINTS(20, 5));
    collect(&l, 2, 1, &a);
    assert_true(a.event[0].accept && a.event[0].status == TRIGD__V1__STATUS__TIMEOUT);
    assert_true(a.event[0].came == 2 && !a.event[0].chains);
    assert_int_equal(a.event[0].streams, 1u << DEBUG);
    for (uint32_t i = 0; i < 2; i++) {
        assert_true(a.roi[i].accept && a.roi[i].status == TRIGD__V1__STATUS__TIMEOUT);
        assert_int_equal(a.roi[i].streams, 1u << DEBUG);
    }
    send_event(&l, 1, 3, 2, 1, POINTS(20)); /* too late: no second decision */
    collect(&l, 1, 0, &a);
    assert_int_equal(a.roi[2].status, TRIGD__V1__STATUS__TIMEOUT);
    expect_silence(&l);
    assert_int_equal(server_counter(&s, "events_incomplete"), 1);
    assert_int_equal(server_stream(&s, "debug", "rois"), 3);
    assert_int_equal(server_counter(&s, "events"), 1);
    end(&s, &l);
}

/* An RoI that fails, alone or with its worker, takes its event to the debug stream, and no other.
 */
static void an_event_fails_as_a_whole(void **state)
{
    static const uint32_t faults[] = {FAULT_ROI, FAULT_CRASH};
    BEGIN;

    begin(&s, &l, config);
    for (uint32_t i = 0; i < 2; i++) {
        PARTS(&l, 10 + i, 3, {.token = 0, .roi_id = 0, .n = 20}, {.token = 1, .roi_id = faults[i]},
              {.token = 2, .roi_id = 2, .n = 20});
        PARTS(&l, 20 + i, 2, {.token = 3, .roi_id = 0, .n = 20},
              {.token = 4, .roi_id = 1, .n = 20});
        collect(&l, 5, 2, &a);
        for (uint32_t k = 0; k < 2; k++) {
            const bool is_bad = a.event[k].l1id == 10 + i;

            assert_int_equal(a.event[k].status,
                             is_bad ? TRIGD__V1__STATUS__ALGO_FAILED : TRIGD__V1__STATUS__OK);
            assert_int_equal(a.event[k].streams, is_bad ? 1u << DEBUG : 1u << PHYSICS);
        }
        for (uint32_t k = 0; k < 5; k++)
            assert_int_equal(a.roi[k].status,
                             k < 3 ? TRIGD__V1__STATUS__ALGO_FAILED : TRIGD__V1__STATUS__OK);
    }
    assert_int_equal(server_stream(&s, "debug", "rois"), 6);
    assert_int_equal(server_counter(&s, "poison"), 1);
    end(&s, &l);
}

static void a_client_that_leaves_takes_its_events_along(void **state)
{
    struct answers a;
    struct server s;
    struct link l, other;

    (void)state;
    begin(&s, &l, config);
    send_event(&l, 1, 2, 0, 1, POINTS(20));
    server_wait_counter(&s, "received", 1);
    link_close(&l);
    server_wait_counter(&s, "events_failed", 1);  /* not after 60 s */
    server_expect(&s, "reload", "menu reloaded"); /* all shards have ended the turn of then */
    link_open(&other, &s);
    link_hello(&other, "other", 0);
    send_event(&other, 1, 2, 0, 2, POINTS(20, 20));
    collect(&other, 2, 1, &a);
    assert_true(a.event[0].accept && a.event[0].status == TRIGD__V1__STATUS__OK);
    assert_int_equal(server_counter(&s, "events_incomplete"), 1);
    end(&s, &other);
}

/* ---------------------------------------------------------------- sent again */

static void sent_again_it_is_decided_once(void **state)
{
    BEGIN;

    server_start(&s,
                 "devices: [{backend: cpu, lanes: 1}]\nlimits: {soft_ms: 0, hard_ms: 60000}\n"
                 "threads: {shards: 1}\n", /* as a client that may move comes back to its own */
                 menu);
    link_open(&l, &s);
    link_hello_key(&l, "asker", "one");
    send_event(&l, 1, 2, 0, 2, POINTS(20, 20));
    collect(&l, 2, 1, &a);
    assert_true(!a.event[0].is_repeat && !a.roi[0].is_repeat);
    send_event(&l, 1, 2, 0, 2, POINTS(20, 20));
    collect(&l, 2, 1, &a);
    assert_true(a.event[0].is_repeat && a.roi[0].is_repeat && a.event[0].accept);
    link_close(&l);
    link_open(&l, &s);
    link_hello_key(&l, "asker", "one");
    send_event(&l, 1, 2, 0, 1, POINTS(20));
    collect(&l, 1, 0, &a); /* the event's when all of its RoIs were sent again */
    send_event(&l, 1, 2, 1, 1, POINTS(20));
    collect(&l, 1, 1, &a);
    assert_true(a.event[0].is_repeat && a.event[0].streams == 1u << PHYSICS);
    send_event(&l, 2, 3, 0, 1, POINTS(20)); /* and while it is open */
    server_wait_counter(&s, "received", 3);
    link_close(&l);
    link_open(&l, &s);
    link_hello_key(&l, "asker", "one");
    send_event(&l, 2, 3, 0, 3, POINTS(20, 5, 10));
    collect(&l, 3, 1, &a);
    assert_true(a.event[0].accept && a.event[0].came == 3);
    assert_int_equal(server_counter(&s, "received"), 5);
    assert_int_equal(server_counter(&s, "events"), 2);
    end(&s, &l);
}

/* ---------------------------------------------------------------- changes of state */

static void an_event_keeps_its_menu(void **state)
{
    struct answers a;
    struct server s;
    struct link l;

    (void)state;
    begin(&s, &l, config);
    send_event(&l, 1, 2, 0, 1, POINTS(20));
    server_wait_counter(&s, "received", 1);
    server_menu(&s, "streams: [physics]\n"
                    "steps: [{name: points, plugin: fault}]\n"
                    "chains: [{name: any, id: 9, steps: [{step: points}], streams: [physics]}]\n");
    server_expect(&s, "reload", "menu reloaded");
    send_event(&l, 1, 2, 1, 1, POINTS(20));
    collect(&l, 2, 1, &a);
    assert_true(a.event[0].generation == 1 && a.event[0].chains == 1u << TWO_JETS);
    send_event(&l, 2, 2, 0, 2, POINTS(1, 1));
    collect(&l, 2, 1, &a);
    assert_true(a.event[0].generation == 2 && a.event[0].chains == 1u);
    end(&s, &l);
}

static void a_daemon_that_drains_ends_its_events(void **state)
{
    BEGIN;

    begin(&s, &l, "devices: [{backend: cpu, lanes: 1}]\nlimits: {hard_ms: 60000, drain_ms: 200}\n");
    send_event(&l, 1, 2, 0, 1, POINTS(20));
    server_wait_counter(&s, "received", 1);
    free(server_ask(&s, "drain"));
    send_event(&l, 2, 2, 2, 1, POINTS(20)); /* no new event */
    collect(&l, 1, 0, &a);
    assert_int_equal(a.n_busy, 1);
    send_event(&l, 1, 2, 1, 1, POINTS(20));
    collect(&l, 2, 1, &a);
    assert_true(a.event[0].accept && a.event[0].status == TRIGD__V1__STATUS__OK);
    free(server_ask(&s, "resume"));
    send_event(&l, 3, 2, 0, 1, POINTS(20));
    server_wait_counter(&s, "received", 3);
    assert_int_equal(kill(s.pid, SIGTERM), 0);
    collect(&l, 1, 1, &a);
    assert_int_equal(a.event[0].status, TRIGD__V1__STATUS__SHUTDOWN);
    assert_int_equal(a.roi[0].status, TRIGD__V1__STATUS__SHUTDOWN);
    assert_int_equal(server_wait_end(&s, 20), 0);
    link_close(&l);
    server_clean(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_event_has_one_decision),
        cmocka_unit_test(rois_that_are_alone_go_by),
        cmocka_unit_test(early_reject_leaves_rois_undone),
        cmocka_unit_test(an_accept_does_not_wait),
        cmocka_unit_test(a_combination_decides_the_whole_event),
        cmocka_unit_test(what_does_not_fit_is_refused),
        cmocka_unit_test(few_credits_are_too_few),
        cmocka_unit_test(an_event_that_begins_finds_its_places),
        cmocka_unit_test(missing_rois_time_out),
        cmocka_unit_test(an_event_fails_as_a_whole),
        cmocka_unit_test(a_client_that_leaves_takes_its_events_along),
        cmocka_unit_test(sent_again_it_is_decided_once),
        cmocka_unit_test(an_event_keeps_its_menu),
        cmocka_unit_test(a_daemon_that_drains_ends_its_events)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
