/* SPDX-License-Identifier: Apache-2.0 */
/* engine.h - one generation of the trigger: a menu with the lanes of its steps.
 *
 * A reload opens a new engine beside the running one (on the keeper's thread, since it may compile
 * kernels for seconds), dispatch moves new RoIs over to it, and the old one is closed when its
 * last RoI has left.
 */
#ifndef TRIGD_ENGINE_H
#define TRIGD_ENGINE_H
#include <stdbool.h>
#include <stdint.h>

#include "config/config.h"
#include "exec/affinity.h"
#include "exec/lane.h"
#include "exec/warm.h"
#include "menu/menu.h"

#define ENGINE_LANES_MAX 64

struct engine_entry { /* an RoI waiting in a batcher */
    uint32_t roi;
    uint64_t since_ns;
};

struct engine_step {
    struct config_batching batching;
    uint32_t n_inputs; /* collections that its batches need; 0 in a step without batches */
    struct lane_input input[LANE_INPUTS_MAX];
    uint32_t gathers; /* 1 << kind for each of them that the RoI comes with */
    uint32_t n_lanes;
    struct lane *lane[ENGINE_LANES_MAX];
    struct stats_step *stats;
    uint32_t first, n;          /* ring of waiting RoIs */
    struct engine_entry *queue; /* [capacity] */
    uint64_t n_items;           /* waiting items of the first input */
    uint32_t n_slots, n_out;    /* of all lanes; those that are taken */
    uint64_t closed_ns;         /* when the last batch closed */
    uint64_t lane_ns;           /* what batches take in a lane, a mean of the last ones */
    struct warm warm;           /* while its lanes are opened */
};

struct engine {
    struct menu *menu;
    uint32_t generation;
    uint32_t capacity; /* RoIs that a batcher can hold: all of the pool */
    uint32_t n_warm;   /* lanes that were warmed up */
    uint32_t n_rois;   /* RoIs that still refer to this engine (dispatch) */
    struct engine_step step[MENU_STEPS_MAX];
    struct stats_chain *chain[MENU_CHAINS_MAX];
    uint64_t steps_bytes, chains_bytes; /* what every RoI carries */
};

struct engine_setup {
    const struct config *config;
    struct backends *backends;
    struct plugin_host *plugins;
    const struct trg_host *host;
    struct pool *pool;
    struct stats *stats;
    struct affinity *affinity;
    int done_fd; /* lanes write here when dispatch sleeps */
    _Atomic uint32_t *done_sleeping;
    uint64_t spin_ns; /* lanes look for work so long before they sleep */
};

/* Whether the steps that the config names have batches of their own in the menu; logs those that
 * have not.  0 or -EINVAL. */
int engine_check_steps(const struct config *config, const struct menu *menu);
/* Loads the menu file of the config and opens its lanes.  Logs what is wrong. */
int engine_open(const struct engine_setup *setup, uint32_t generation, struct engine **ret_engine);
/* No RoI may be in it.  NULL is fine. */
void engine_close(struct engine *e);
#endif
