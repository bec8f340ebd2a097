/* SPDX-License-Identifier: Apache-2.0 */
/* When batches close, with lanes that only keep their books. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "clock.h"
#include "exec/lane_inner.h"
#include "flow/batcher.h"

#define LANES 2u
#define SLOTS 3u
#define US    NS_PER_US

struct fake {
    struct engine_step step;
    struct engine_entry queue[16];
    struct stats_step stats;
    struct lane lane[LANES];
    struct lane_link link[LANES];
    _Alignas(64) unsigned char batches[LANES][SLOTS][sizeof(struct lane_batch)];
};

static struct fake *fake_new(bool eager)
{
    struct fake *f = aligned_alloc(_Alignof(struct fake), sizeof *f);

    assert_non_null(f);
    memset(f, 0, sizeof *f);
    for (uint32_t i = 0; i < LANES; i++) {
        f->lane[i].s.slots = SLOTS;
        f->lane[i].link = &f->link[i];
        f->lane[i].batches = &f->batches[i][0][0];
        f->lane[i].batch_bytes = sizeof f->batches[i][0];
        f->step.lane[i] = &f->lane[i];
    }
    f->step.n_lanes = LANES;
    f->step.n_slots = LANES * SLOTS;
    f->step.queue = f->queue;
    f->step.stats = &f->stats;
    f->step.input[0].max_items = 1000;
    f->step.batching = (struct config_batching){.max_rois = 4, .max_age_us = 200, .eager = eager};
    return f;
}

/* RoIs that have waited since then, of 10 items each. */
static void wait_since(struct fake *f, uint64_t since_ns, uint32_t n)
{
    f->queue[0].since_ns = since_ns;
    f->step.n = n;
    f->step.n_items = 10 * n;
}

/* Gives the waiting RoIs to the freest lane. */
static struct lane_batch *close_batch(struct fake *f, uint64_t now)
{
    struct lane *lane = batcher_lane(&f->step);
    struct lane_batch *b = lane_begin(lane);

    batcher_out(&f->step, b, now);
    lane_submit(lane);
    f->step.n = 0;
    return b;
}

/* The lane's thread is through with all that it has. */
static void begin_all(struct fake *f)
{
    for (uint32_t i = 0; i < LANES; i++)
        atomic_store(&f->link[i].begun, f->lane[i].submitted);
}

static void closes_by_its_limits(void **state)
{
    struct fake *f = fake_new(false);
    const struct lane *lane = &f->lane[0];

    (void)state;
    assert_true(batcher_due_ns(&f->step) == UINT64_MAX);
    wait_since(f, 1000 * US, 3);
    assert_null(batcher_closes(&f->step, lane, 1199 * US));
    assert_ptr_equal(batcher_closes(&f->step, lane, 1200 * US), &f->stats.closed_age);
    assert_true(batcher_due_ns(&f->step) == 1200 * US);
    assert_false(batcher_has_work(&f->step, 1000 * US));
    wait_since(f, 1000 * US, 4);
    assert_ptr_equal(batcher_closes(&f->step, lane, 1000 * US), &f->stats.closed_full);
    f->step.n = 2;
    f->step.n_items = 1000;
    assert_ptr_equal(batcher_closes(&f->step, lane, 1000 * US), &f->stats.closed_bytes);
    free(f);
}

static void early_while_a_lane_is_free(void **state)
{
    struct fake *f = fake_new(true);

    (void)state;
    wait_since(f, 1000 * US, 1);
    assert_ptr_equal(batcher_closes(&f->step, &f->lane[0], 1000 * US), &f->stats.closed_eager);
    assert_true(batcher_has_work(&f->step, 1000 * US));
    assert_true(batcher_due_ns(&f->step) <= 1000 * US);
    close_batch(f, 1000 * US);
    close_batch(f, 1000 * US); /* the other lane */
    assert_int_equal(lane_outstanding(&f->lane[0]), 1);
    assert_int_equal(lane_outstanding(&f->lane[1]), 1);
    wait_since(f, 1000 * US, 1);
    /* no thread has begun its batch yet */
    assert_null(batcher_closes(&f->step, batcher_lane(&f->step), 1010 * US));
    assert_true(batcher_due_ns(&f->step) == 1200 * US);
    begin_all(f);
    assert_ptr_equal(batcher_closes(&f->step, batcher_lane(&f->step), 1010 * US),
                     &f->stats.closed_eager);
    free(f);
}

/* With half of the slots taken, batches go as fast as slots come back and no faster. */
static void early_at_the_pace_of_the_slots(void **state)
{
    struct fake *f = fake_new(true);
    struct lane_batch *b;

    (void)state;
    b = close_batch(f, 1000 * US);
    b->begun_ns = 1000 * US;
    b->ended_ns = 1120 * US;
    batcher_back(&f->step, b); /* a batch takes 120 us: 20 us a slot, 30 us with a third to spare */
    assert_int_equal(f->step.n_out, 0);
    f->lane[0].taken = 0;
    for (uint32_t i = 0; i < 3; i++)
        close_batch(f, 2000 * US);
    begin_all(f);
    wait_since(f, 2001 * US, 1);
    assert_null(batcher_closes(&f->step, batcher_lane(&f->step), 2029 * US));
    assert_false(batcher_has_work(&f->step, 2029 * US));
    assert_true(batcher_due_ns(&f->step) == 2030 * US);
    assert_ptr_equal(batcher_closes(&f->step, batcher_lane(&f->step), 2030 * US),
                     &f->stats.closed_eager);
    /* but a full one goes at once */
    f->step.n = 4;
    assert_ptr_equal(batcher_closes(&f->step, batcher_lane(&f->step), 2001 * US),
                     &f->stats.closed_full);
    for (uint32_t i = 0; i < 3; i++)
        close_batch(f, 2030 * US);
    assert_null(batcher_lane(&f->step)); /* all slots are taken */
    wait_since(f, 2031 * US, 1);
    assert_true(batcher_due_ns(&f->step) == UINT64_MAX);
    free(f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(closes_by_its_limits),
        cmocka_unit_test(early_while_a_lane_is_free),
        cmocka_unit_test(early_at_the_pace_of_the_slots),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
