/* SPDX-License-Identifier: Apache-2.0 */
/* engine.h - one generation of the trigger: a menu with the lanes of its steps.
 *
 * A generation has the menu and the workers, and an engine for each shard: its batchers and its
 * lanes at the workers.  A reload opens a new generation beside the running one (on the keeper's
 * thread, since it may compile kernels for seconds), the dispatch of each shard moves new RoIs over
 * to its engine, and leaves the old one with its last RoI there.  When all have left it, the
 * generation is closed.
 */
#ifndef TRIGD_ENGINE_H
#define TRIGD_ENGINE_H
#include <stdbool.h>
#include <stdint.h>

#include "config/config.h"
#include "exec/affinity.h"
#include "exec/devices.h"
#include "exec/guests.h"
#include "exec/lane.h"
#include "exec/step_record.h"
#include "exec/worker.h"
#include "menu/chains.h"
#include "menu/change_book.h"

#define ENGINE_WORKERS_MAX 64
#define ENGINE_RETRIES     2u                     /* on two devices, so that one may be lost */
#define ENGINE_LANES_MAX   (STATS_LANES_MAX / 2u) /* a reload has its own beside those before */

struct engine_entry { /* an RoI waiting in a batcher */
    uint32_t roi;     /* POOL_NONE: it has left */
    uint64_t since_ns;
};

struct engine_queue {           /* those of one priority, by arrival */
    uint32_t first, n;          /* those that have left are in it until it is their turn */
    struct engine_entry *entry; /* [ENGINE_QUEUE(capacity)]; NULL: no chain has this priority */
};
#define ENGINE_QUEUE(capacity) (2 * (capacity)) /* when half have left they are cleared away */

struct engine_step {
    struct config_batching batching;
    struct group group;     /* no inputs in a step without batches */
    uint32_t gathers;       /* 1 << kind for each of its inputs that the RoI comes with */
    uint64_t product_bytes; /* room for products in one slot */
    uint32_t n_lanes;
    struct lane **lane;
    struct lane_cost cost[ENGINE_WORKERS_MAX]; /* by worker: of its lanes of this step */
    uint32_t n_retries;
    struct lane *retry[ENGINE_RETRIES]; /* for batches that failed in another lane, one at a time */
    struct stats_step *stats;
    uint32_t capacity; /* RoIs that can wait: all of the pool */
    uint32_t n_waiting;
    struct engine_queue queue[MENU_PRIORITIES];
    uint32_t *place;         /* [capacity] by RoI: its entry (batcher.c); 0: it does not wait */
    uint64_t n_items;        /* waiting items of the first input */
    uint32_t n_slots, n_out; /* of all lanes; those that are taken */
    uint64_t closed_ns;      /* when the last batch closed */
    uint64_t lane_ns;        /* of a batch in a lane, a mean of the last ones */
    uint32_t turn;           /* of equal lanes the one from here on is next */
    bool is_out;             /* it gets no batches: its plugins keep ending workers */
};

struct engine { /* of one shard; its own but for what `of` points to */
    struct generation *of;
    uint32_t shard;
    const struct menu *menu;
    uint32_t generation;
    uint32_t n_rois; /* RoIs that still refer to this engine (dispatch) */
    struct engine_step step[MENU_STEPS_MAX];
    struct stats_chain *chain[MENU_CHAINS_MAX];
    struct histogram **histogram;       /* [of the menu], while RoIs may come (flow/histograms.h) */
    uint64_t steps_bytes, chains_bytes; /* of every RoI */
};

struct generation {
    struct menu *menu;
    struct conditions conditions; /* in force when it was opened */
    uint32_t number;
    uint32_t n_warm; /* lanes that were warmed up */
    struct step_record record[MENU_STEPS_MAX];
    uint32_t n_workers;
    struct engine_worker {
        struct worker *worker; /* NULL: the device is not there */
        char backend[16];
        uint32_t index, node;
        bool is_retry, is_guest;
    } worker[ENGINE_WORKERS_MAX];
    uint32_t n_engines;
    struct engine *engine[SHARDS_MAX];
    _Atomic uint32_t n_left; /* engines that are still in use */
};

struct engine_setup {
    struct worker_base base;
    const struct devices *devices;
    struct plugin_host *plugins;
    struct affinity *affinity;
    struct gather_threads *gather_threads; /* NULL: there are none */
    struct change_book *book;
    struct guests *guests; /* NULL: there are none */
};

/* Whether the steps that the config names have batches of their own in the menu; logs those that
 * have not.  0 or -EINVAL. */
int engine_check_steps(const struct config *config, const struct menu *menu);
/* Notes in the menu which of its streams have files; logs streams of the config that it has not.  0
 * or -EINVAL. */
int engine_bind_streams(const struct config *config, struct menu *menu);
/* Lanes that the config makes for the steps of a menu, with retry lanes.  Devices that are named
 * and not there count; where `devices` is NULL, `all` counts the most that there may be. */
uint32_t engine_count_lanes(const struct config *config, const struct menu *menu, uint32_t cores,
                            const struct devices *devices);
/* Whether they are no more than there may be; logs it if not.  0 or -EINVAL. */
int engine_check_lanes(const struct config *config, const struct menu *menu, uint32_t cores,
                       const struct devices *devices);
/* Loads the menu file of the config and opens its lanes, for all shards. Logs problems. */
int generation_open(const struct engine_setup *setup, uint32_t number,
                    struct generation **ret_generation);
/* Opens the lanes of one step, with its retry lanes, in the workers of their devices, for all
 * shards. -ENODEV: none is up (logged). */
int engine_open_lanes(const struct engine_setup *setup, struct generation *g, uint32_t step);
/* Has the workers of the configuration's guests. */
int engine_open_guests(const struct engine_setup *setup, struct generation *g);
/* Whether a guest has a worker of its own there, so that its end affects nothing else; else
 * it has that of the lanes. */
bool engine_guest_is_alone(const char *backend);
/* The worker of the guest on a device; NULL: the device is not there. */
struct worker *generation_guest_worker(struct generation *g, const char *backend, uint32_t index);
/* An engine is not in use any more: the last one closes the generation. */
void engine_leave(struct engine *e);
#endif
