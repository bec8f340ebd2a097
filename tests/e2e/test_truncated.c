/* SPDX-License-Identifier: Apache-2.0 */
/* What a plugin's limit cut short: chains that do not cut on it pass, so often for each client. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "clock.h"
#include "fault.h"
#include "harness.h"

static const char config[] = "devices: [{backend: cpu, index: 0, lanes: 1, slots: 2}]\n"
                             "batching: {max_rois: 8}\n"
                             "events: {rois: 4}\n";
static const char two_chains[] =
    "name: limits\n"
    "streams: [physics, strict]\n"
    "steps:\n"
    "  - {name: f, plugin: fault}\n"
    "chains:\n"
    "  - {name: c, id: 1, steps: [{step: f, cuts: [{value: n, min: 10}]}], streams: [physics]}\n"
    "  - {name: d, id: 2, steps: [{step: f, cuts: [{value: n, min: 10}]}], truncated: cut,\n"
    "     streams: [strict]}\n";

/* How many of a client's RoIs with too few items, all TRUNCATED, are accepted. */
static uint32_t accepted_of(struct link *l, uint32_t n)
{
    struct roi_spec specs[8];
    uint8_t result[8];
    uint32_t sum = 0;

    for (uint32_t i = 0; i < n; i++)
        specs[i] = (struct roi_spec){.token = i, .roi_id = FAULT_TRUNCATE, .n = 5};
    link_send_rois(l, specs, n);
    link_collect(l, 0, n, result);
    for (uint32_t i = 0; i < n; i++) {
        assert_int_equal(result[i] >> 1, TRIGD__V1__STATUS__TRUNCATED);
        sum += result[i] & 1u;
    }
    return sum;
}

/* What a limit cut short passes a chain that does not cut on it, but only so often for each client.
 */
static void truncated_rois(void **state)
{
    struct server s;
    struct link l, other;
    char limits[512];
    uint64_t start = clock_ns();
    uint32_t n;

    (void)state;
    snprintf(limits, sizeof limits, "%sclients: {truncated_per_s: 3}\n", config);
    server_start(&s, limits, two_chains);
    link_open(&l, &s);
    link_hello(&l, "noisy", 0);
    n = accepted_of(&l, 8);
    assert_in_range(n, 3, 3 + 3 * (clock_ns() - start) / NS_PER_S);
    assert_int_equal(server_counter(&s, "truncated_passed"), n);
    assert_int_equal(server_counter(&s, "truncated_over"), 8 - n);
    assert_int_equal(server_row_number(&s, "clients", "noisy", "truncated_over"), 8 - n);
    link_open(&other, &s);
    link_hello(&other, "quiet", 0);
    assert_int_equal(accepted_of(&other, 2), 2);
    assert_int_equal(server_counter(&s, "rejected"), 8 - n);
    link_close(&other);
    link_end_well(&s, &l);
}

/* The decision of an RoI that a limit cut short names the chains that it passed, and what there
 * was. */
static void what_a_limit_left(void **state)
{
    struct server s;
    struct link l;
    const struct roi_spec few = {.token = 3, .roi_id = FAULT_TRUNCATE, .n = 5},
                          many = {.token = 4, .roi_id = FAULT_TRUNCATE, .n = 50};
    const Trigd__V1__Decision *d;

    (void)state;
    server_start(&s, config, two_chains);
    link_open(&l, &s);
    link_hello(&l, "limits", 0);
    link_send_rois(&l, &few, 1);
    d = link_expect(&l, TRIGD__V1__FROM_DAEMON__BODY_DECISIONS)->decisions->decisions[0];
    assert_int_equal(d->status, TRIGD__V1__STATUS__TRUNCATED);
    assert_true(d->accept && d->wanted == 10 && d->kept == 5);
    assert_true(d->n_chains_raw == 1 && d->chains_raw[0] == 0); /* not the one that cuts on it */
    assert_true(d->n_chains == 1 && d->chains[0] == 0);
    assert_true(d->n_streams == 1 && d->streams[0] == 0);
    link_send_rois(&l, &many, 1);
    d = link_expect(&l, TRIGD__V1__FROM_DAEMON__BODY_DECISIONS)->decisions->decisions[0];
    assert_int_equal(d->status, TRIGD__V1__STATUS__TRUNCATED);
    assert_true(d->n_chains == 2 && d->n_streams == 2); /* what was kept is enough for both */
    link_end_well(&s, &l);
}

static const char two_jets[] =
    "name: limits\n"
    "streams: [physics]\n"
    "roi_types: [{name: jet, number: 0}]\n"
    "steps:\n"
    "  - {name: f, plugin: fault}\n"
    "chains:\n"
    "  - {name: 2jets, id: 1, types: [jet], multiplicity: 2, streams: [physics],\n"
    "     steps: [{step: f, cuts: [{value: n, min: 10}]}]}\n"
    "histograms: [{name: n, step: f, value: n, bins: 10, min: 0, max: 100}]\n";

struct told { /* of an event, and of its RoIs by token */
    uint32_t n_events, n_rois, event_status, roi_status[3];
    bool event_accept, roi_accept[3], roi_passed[3];
};

/* Sends RoIs and takes their decisions, and those of so many events. */
static struct told ask(struct link *l, const struct roi_spec *specs, uint32_t n, uint32_t events)
{
    struct told t = {0};

    link_send_rois(l, specs, n);
    while (t.n_rois < n || t.n_events < events) {
        const Trigd__V1__DecisionBatch *d =
            link_expect(l, TRIGD__V1__FROM_DAEMON__BODY_DECISIONS)->decisions;

        for (size_t i = 0; i < d->n_decisions; i++, t.n_rois++) {
            const Trigd__V1__Decision *one = d->decisions[i];

            t.roi_status[one->token] = one->status;
            t.roi_accept[one->token] = one->accept;
            t.roi_passed[one->token] = one->n_chains == 1;
        }
        for (size_t i = 0; i < d->n_events; i++, t.n_events++) {
            t.event_status = d->events[i]->status;
            t.event_accept = d->events[i]->accept;
        }
    }
    return t;
}

/* RoIs of events pass as others do, before and after their event is accepted; an event with one is
 * TRUNCATED. */
static void rois_of_events(void **state)
{
    const struct roi_spec
        first[] = {{.token = 0, .l1id = 1, .n = 20, .event_rois = 2},
                   {.token = 1, .l1id = 1, .roi_id = FAULT_TRUNCATE, .n = 5, .event_rois = 2}},
        second[] = {{.token = 0, .l1id = 2, .n = 20, .event_rois = 3},
                    {.token = 1, .l1id = 2, .roi_id = 1, .n = 20, .event_rois = 3}},
        late = {.token = 2, .l1id = 2, .roi_id = FAULT_TRUNCATE, .n = 5, .event_rois = 3};

    (void)state;
    for (uint32_t k = 0; k < 2; k++) { /* the client's limit allows it, or not */
        const char *const counter = k ? "truncated_over" : "truncated_passed";
        struct server s;
        struct link l;
        struct told t;
        char text[512];

        snprintf(text, sizeof text, "%sclients: {truncated_per_s: %u}\n", config, k ? 0 : 100);
        server_start(&s, text, two_jets);
        link_open(&l, &s);
        link_hello(&l, "events", 0);
        t = ask(&l, first, 2, 1);
        assert_int_equal(t.event_status, TRIGD__V1__STATUS__TRUNCATED);
        assert_int_equal(t.roi_status[1], TRIGD__V1__STATUS__TRUNCATED);
        assert_int_equal(t.event_accept, !k);
        assert_int_equal(server_counter(&s, counter), 1);
        if (!k) /* else the other one may be left undone */
            assert_int_equal(server_row_number(&s, "histograms", "n", "entries"), 2);
        t = ask(&l, second, 2, 1);
        assert_true(t.event_accept && t.event_status == TRIGD__V1__STATUS__OK);
        t = ask(&l, &late, 1, 0);
        assert_true(t.roi_accept[2] && t.roi_status[2] == TRIGD__V1__STATUS__TRUNCATED);
        assert_int_equal(t.roi_passed[2], !k);
        assert_int_equal(server_counter(&s, counter), 2);
        link_end_well(&s, &l);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(truncated_rois),
                                       cmocka_unit_test(what_a_limit_left),
                                       cmocka_unit_test(rois_of_events)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
