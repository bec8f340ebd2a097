/* SPDX-License-Identifier: Apache-2.0 */
/* Batching: full, by bytes, by age; a pool that is full; a lane that never comes back. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "fault.h"
#include "harness.h"

static const char menu[] = "name: limits\n"
                           "streams: [physics]\n"
                           "steps:\n"
                           "  - {name: f, plugin: fault, params: {stall_ms: 20000}}\n"
                           "chains:\n"
                           "  - {name: c, id: 1, steps: [{step: f}], prescale: 1,\n"
                           "     streams: [physics]}\n";

static void send_many(struct link *l, uint32_t n, uint32_t points)
{
    for (uint32_t i = 0; i < n; i++) {
        const struct roi_spec spec = {.token = i, .n = points};

        link_send_rois(l, &spec, 1);
    }
    link_collect(l, 0, n, NULL);
}

/* The value of a counter of step f. */
static uint64_t step_counter(struct server *s, const char *name)
{
    return server_row_number(s, "stat", "f", name);
}

static void batches_close_by_count(void **state)
{
    struct server s;
    struct link l;

    (void)state;
    server_start(&s,
                 "devices: [{backend: cpu, index: 0, lanes: 1, slots: 2}]\n"
                 "batching: {max_rois: 4, max_age_us: 10000000, eager: false}\n",
                 menu);
    link_open(&l, &s);
    link_hello(&l, "limits", 0);
    send_many(&l, 40, 10);
    assert_int_equal(step_counter(&s, "closed_full"), 10);
    assert_int_equal(step_counter(&s, "closed_age"), 0);
    link_close(&l);
    server_stop(&s);
}

static void batches_close_by_age(void **state)
{
    struct server s;
    struct link l;

    (void)state;
    server_start(&s,
                 "devices: [{backend: cpu, index: 0, lanes: 1, slots: 2}]\n"
                 "batching: {max_rois: 1000, max_age_us: 2000, eager: false}\n"
                 "limits: {soft_ms: 5000, hard_ms: 10000}\n",
                 menu);
    link_open(&l, &s);
    link_hello(&l, "limits", 0);
    send_many(&l, 3, 10);
    assert_true(step_counter(&s, "closed_age") >= 1);
    assert_int_equal(step_counter(&s, "closed_full"), 0);
    link_close(&l);
    server_stop(&s);
}

static void batches_close_by_bytes(void **state)
{
    struct server s;
    struct link l;

    (void)state;
    server_start(&s,
                 "devices: [{backend: cpu, index: 0, lanes: 1, slots: 2}]\n"
                 "clients: {max_items: 4096}\n"
                 "batching: {max_rois: 1000, max_kbytes: 52, max_age_us: 10000000, eager: false}\n",
                 menu);
    link_open(&l, &s);
    link_hello(&l, "limits", 0);
    send_many(&l, 4, 2048); /* 13 bytes a point: two RoIs fill a batch */
    assert_int_equal(step_counter(&s, "closed_bytes"), 2);
    link_close(&l);
    server_stop(&s);
}

/* Sixteen records: the seventeenth RoI in flight is answered Busy, never dropped. */
static void a_full_pool_is_busy(void **state)
{
    struct server s;
    struct link l, other;
    struct roi_spec specs[16];
    const struct roi_spec one = {.token = 99, .n = 10};

    (void)state;
    server_start(&s,
                 "devices: [{backend: cpu, index: 0, lanes: 1, slots: 1}]\n"
                 "pool: {rois: 16}\nisolation: thread\n"
                 "limits: {soft_ms: 0, hard_ms: 0, drain_ms: 100}\n",
                 menu);
    link_open(&l, &s);
    assert_int_equal(link_hello(&l, "first", 0), 16);
    link_open(&other, &s);
    assert_int_equal(link_hello(&other, "second", 0), 0); /* nothing is left to grant */
    for (uint32_t i = 0; i < 16; i++)
        specs[i] = (struct roi_spec){.token = i, .roi_id = i ? 0 : FAULT_STALL, .n = 10};
    link_send_rois(&l, specs, 16);
    server_wait_counter(&s, "received", 16);
    link_send_rois(&other, &one, 1);
    link_expect(&other, TRIGD__V1__FROM_DAEMON__BODY_BUSY);
    server_check_ledger(&s);
    assert_int_equal(server_counter(&s, "in_flight"), 16);
    /* the lane is stuck: a stop answers everything and leaves it behind, with its own exit code */
    assert_int_equal(server_end(&s, SIGTERM, 10), 72);
    link_collect(&l, 0, 16, NULL);
    link_close(&l);
    link_close(&other);
    server_clean(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(batches_close_by_count),
        cmocka_unit_test(batches_close_by_age),
        cmocka_unit_test(batches_close_by_bytes),
        cmocka_unit_test(a_full_pool_is_busy),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
