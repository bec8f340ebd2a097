/* SPDX-License-Identifier: Apache-2.0 */
/* lane.h - the plugins of one group of steps on one device, with slots: the thread that runs
 * batches.
 *
 * A group is a step and those that run in its batches (on_device in the menu): they take what the
 * earlier ones of the group made where it lies on the device.  Most groups are a step alone.
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

#include "base/ring.h"
#include "base/stats.h"
#include "memory/pool.h"
#include "menu/menu.h"

#define LANE_SLOTS_MAX TRG_SLOTS_MAX
#define LANE_ALIGN     128u /* what two threads write lies so far apart: processors fetch two lines */
/* Collections that are gathered for a group: the inputs of its head, and what the RoI holds. */
#define LANE_INPUTS_MAX (TRG_INPUTS_MAX + 3u)

struct lane_batch { /* followed by max_rois numbers of RoIs */
    uint32_t n;
    int32_t error;               /* 0, or the negative errno that failed the whole batch */
    uint64_t closed_ns;          /* of dispatch */
    uint64_t begun_ns, ended_ns; /* the time that it was in the lane, told when it comes back */
    uint32_t roi[];
};

struct lane_link { /* in the pool's mapping */
    struct ring in, out;
    _Atomic uint32_t begun; /* batches that the thread is through with: the device has them */
};

enum lane_sleep { /* the dispatcher, as lanes see it; who wakes it sets LANE_AWAKE and writes
                     done_fd */
                  LANE_AWAKE,
                  LANE_SLEEPS,   /* until a batch comes back */
                  LANE_SLEEPS_ON /* or until a lane can begin another one */
};

struct lane_input { /* a collection that is gathered from the pool and copied to the device */
    enum trg_kind kind;
    int32_t from;           /* step that made it; -1: the RoI came with it */
    uint32_t product;       /* which of that step's */
    uint32_t max_items;     /* in one batch */
    uint32_t max_items_roi; /* in one RoI */
};

/* Items of an input that an RoI holds. */
static inline uint32_t lane_items(const struct pool *pool, const struct lane_input *in,
                                  uint32_t roi)
{
    const struct roi *r = &pool->rois[roi];

    return in->from < 0 ? r->in[in->kind].n : pool_steps(pool, r)[in->from].product[in->product].n;
}
/* Whether the inputs of one more RoI fit a batch that holds `items`; if so adds them. */
bool lane_fits(const struct pool *pool, const struct lane_input *inputs, uint32_t n_inputs,
               uint32_t roi, uint64_t *items);

struct lane_setup {
    struct pool *pool;
    struct pool *warm; /* its RoIs are run before the lane is open; NULL: none */
    const struct menu *menu;
    uint32_t step;                   /* the head of the group */
    const struct lane_input *inputs; /* of the group; [0] is the head's first */
    uint32_t n_inputs;
    struct trg_device *device;
    const struct trg_host *host;
    uint32_t slots, max_rois;
    struct stats_lane *stats;
    struct latency *latency;         /* of this lane */
    int done_fd;                     /* eventfd to write when the dispatcher sleeps */
    _Atomic uint32_t *done_sleeping; /* enum lane_sleep */
    uint64_t spin_ns;                /* looking for work before sleeping */
};

struct lane;
/* Allocates buffers, creates the algo, warms it up, starts the thread.  Logs the cause of a
 * failure. */
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
/* Batches that its thread has still to begin: at 0 another one would be begun at once.  A lane of
 * the host is its own device: there it counts batches that are not finished. */
uint32_t lane_ahead(const struct lane *l);
/* Whether lane_begin would give a batch. */
bool lane_has_room(const struct lane *l);
/* Slots that are taken. */
uint32_t lane_outstanding(const struct lane *l);
#endif
