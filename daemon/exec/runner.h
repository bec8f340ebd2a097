/* SPDX-License-Identifier: Apache-2.0 */
/* runner.h - the plugins of one group of steps on one device, with slots: the thread that runs the
 * batches of a lane.
 *
 * It lives in a worker process, or with `isolation: thread` in the daemon.  Each shard has an arena
 * with it: a lane hands over a batch through the ring `in` and sees in the batch that it is done,
 * in the same order; shards have their turns.  While the batch of one slot computes, the next one
 * is gathered and copied in another slot.
 */
#ifndef TRIGD_RUNNER_H
#define TRIGD_RUNNER_H
#include <stdbool.h>
#include <stdint.h>

#include "base/shards.h"
#include "exec/arena.h"
#include "exec/group.h"
#include "exec/pieces.h"

#define RUNNER_MADE_UP UINT32_MAX /* number in its event of an RoI that warms up a runner */

enum runner_wake { /* the dispatcher, as runners see it; who wakes it sets RUNNER_AWAKE and writes
                    * the eventfd */
                   RUNNER_AWAKE,
                   RUNNER_SLEEPS,   /* until a batch comes back */
                   RUNNER_SLEEPS_ON /* or until a runner can begin another one */
};

struct runner_memory {         /* where the columns of RoIs lie, as this process has it mapped */
    const unsigned char *base; /* offsets of arena_source count from here */
    _Atomic uint32_t *epoch;   /* by region number: which one is mapped; NULL: all that are named */
    uint32_t n_regions;
    uint32_t max_layer;    /* of values that are checked here */
    struct pieces *pieces; /* of regions that the device can read itself; NULL: none */
};

struct runner_shard { /* one shard, as a runner sees it */
    struct arena arena;
    const struct runner_memory *memory;
    int done_fd;                /* eventfd to write when its dispatcher sleeps */
    _Atomic uint32_t *sleeping; /* enum runner_wake */
};

struct runner_setup {
    uint32_t n_shards;
    const struct runner_shard *shard; /* arenas of one shape */
    const struct group *group;
    struct trg_device *device;
    const struct trg_host *host;
    const char *name;          /* of the lane, for the log */
    bool warm_up;              /* run synthetic RoIs before the first batch */
    uint32_t rank;             /* on the device: 0 goes first */
    uint64_t spin_ns;          /* looking for work before sleeping */
    _Atomic uint32_t *batches; /* that the runners of the process work on; NULL: nobody asks */
};

struct runner;
/* Allocates buffers, creates the algos, warms them up, starts the thread.  What the setup points to
 * must outlive the runner, but for itself.  Logs the cause of a failure. */
int runner_open(const struct runner_setup *setup, struct runner **ret_runner);
/* Stops the thread after the batches that it has, frees everything.  NULL is fine. */
void runner_close(struct runner *r);
#endif
