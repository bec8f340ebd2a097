/* SPDX-License-Identifier: Apache-2.0 */
/* lane.h - one plugin instance on one device, with its slots: the thread that runs batches.
 *
 * Dispatch hands over a batch by number through the ring `in` and gets it back through `out`; both,
 * and the batches, lie in the pool's mapping.  While the batch of one slot computes, the next
 * one is gathered and copied in another slot.  Batches come back in the order in which they were
 * given.
 */
#ifndef TRIGD_LANE_H
#define TRIGD_LANE_H
#include <stdbool.h>
#include <stdint.h>

#include "menu.h"
#include "pool.h"
#include "ring.h"
#include "stats.h"

#define LANE_SLOTS_MAX 8u

struct lane_batch { /* followed by max_rois numbers of RoIs */
    uint32_t n;
    int32_t error; /* 0, or the negative errno that failed the whole batch */
    uint32_t roi[];
};

struct lane_link { /* in the pool's mapping */
    struct ring in, out;
};

struct lane_setup {
    struct pool *pool;
    const struct menu *menu;
    uint32_t step;
    struct trg_device *device;
    const struct trg_host *host;
    struct trg_limits limits;
    struct stats_lane *stats;
    struct latency *latency;         /* of this lane */
    int done_fd;                     /* eventfd to write when the dispatcher sleeps */
    _Atomic uint32_t *done_sleeping; /* whether it does */
};

struct lane;
/* Allocates buffers, creates the algo, starts the thread.  Logs the cause of a failure. */
int lane_open(const struct lane_setup *setup, struct lane **ret_lane);
/* Stops the thread after the batches that it has, frees everything.  NULL is fine. */
void lane_close(struct lane *l);

/* ---- for dispatch, on the I/O thread ---- */

/* A batch to fill, or NULL when all slots are taken. */
struct lane_batch *lane_begin(struct lane *l);
/* Hands over the batch that lane_begin gave. */
void lane_submit(struct lane *l);
/* A finished batch, or NULL.  Valid until lane_release. */
struct lane_batch *lane_finished(struct lane *l);
void lane_release(struct lane *l);
/* Whether lane_begin would give a batch. */
bool lane_has_room(const struct lane *l);
/* Slots that are taken. */
uint32_t lane_outstanding(const struct lane *l);
#endif
