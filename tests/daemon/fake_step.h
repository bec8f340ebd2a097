/* SPDX-License-Identifier: Apache-2.0 */
/* fake_step.h - a step with lanes that only keep their books, for tests of its batcher. */
#ifndef TRIGD_TEST_FAKE_STEP_H
#define TRIGD_TEST_FAKE_STEP_H
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "clock.h"
#include "flow/batcher.h"

#define LANES 2u
#define SLOTS 3u
#define US    NS_PER_US

#define CAPACITY 16u

struct fake {
    struct engine_step step;
    struct engine_entry entry[MENU_PRIORITIES][ENGINE_QUEUE(CAPACITY)];
    uint32_t place[CAPACITY];
    struct stats_step stats;
    struct stats_lane lane_stats;
    struct menu menu;
    struct plugin plugin;
    struct lane lane[LANES];
    struct lane_cost cost[LANES]; /* each lane is a device of its own */
    struct lane *lanes[LANES];
};

static inline struct fake *fake_new(bool eager)
{
    struct fake *f = aligned_alloc(_Alignof(struct fake), sizeof *f);
    const struct arena_shape shape = {.slots = SLOTS, .max_rois = 4, .n_inputs = 1, .n_members = 1};

    assert_non_null(f);
    memset(f, 0, sizeof *f);
    f->menu.steps[0] = (struct menu_step){.plugin = &f->plugin, .members = 1};
    f->step.group = (struct group){.menu = &f->menu, .n_inputs = 1};
    f->step.group.input[0].max_items = 1000;
    for (uint32_t i = 0; i < LANES; i++) {
        f->lane[i].s = (struct lane_setup){.n_shards = 1,
                                           .group = &f->step.group,
                                           .slots = SLOTS,
                                           .max_rois = 4,
                                           .guess_ns = &f->step.lane_ns,
                                           .cost = &f->cost[i],
                                           .stats = &f->lane_stats};
        f->lane[i].is_up = true;
        assert_int_equal(arena_file(&shape, &f->lane[i].fd), 0);
        assert_int_equal(arena_map(&shape, f->lane[i].fd, &f->lane[i].arena), 0);
        f->lanes[i] = &f->lane[i];
        f->lane[i].sibling = &f->lanes[i]; /* the only shard's */
    }
    f->step.lane = f->lanes;
    f->step.n_lanes = LANES;
    f->step.n_slots = LANES * SLOTS;
    f->step.capacity = CAPACITY;
    f->step.place = f->place;
    for (uint32_t c = 0; c < MENU_PRIORITIES; c++)
        f->step.queue[c].entry = f->entry[c];
    f->step.stats = &f->stats;
    f->step.batching = (struct config_batching){.max_rois = 4, .max_age_us = 200, .eager = eager};
    return f;
}

static inline void fake_free(struct fake *f)
{
    for (uint32_t i = 0; i < LANES; i++) {
        arena_unmap(&f->lane[i].arena);
        close(f->lane[i].fd);
    }
    free(f);
}
#endif
