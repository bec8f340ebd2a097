/* SPDX-License-Identifier: Apache-2.0 */
/* runcontrol.h - the states of the daemon, and the requests of an operator.
 *
 *     STARTING -> READY <-> DRAINING -> DRAINED      any of them -> STOPPING
 */
#ifndef TRIGD_RUNCONTROL_H
#define TRIGD_RUNCONTROL_H
#include "keeper.h"
#include "monitor/view.h"
#include "runs.h"
#include "shard.h"

struct runcontrol {
    const struct config *config;
    struct keeper *keeper;
    struct shard *const *shard;
    struct change_book *book;
    struct runs *runs;
    uint32_t n_shards;
    _Atomic int state;
    _Atomic uint64_t stop_by_ns;
    _Atomic bool is_over; /* all shards are done: their threads end */
};

/* The requests of `trigctl` and HTTP; from any thread. */
void runcontrol_hooks(struct runcontrol *r, struct control_hooks *ret_hooks);
/* For keeper_start: makes a generation the running one in all shards, or closes it.  -EBUSY: a
 * shard has two older ones that are not empty; -ENOMEM; -ETIMEDOUT. */
int runcontrol_swap(void *runcontrol, struct generation *g);

/* All stages are open. */
void runcontrol_ready(struct runcontrol *r);
/* Ends the daemon as SIGTERM does: RoIs in flight finish; asked again, they are forced. */
void runcontrol_stop(struct runcontrol *r, const char *why);
/* What a shard has to do now, with `fd` to wait for as well (-1: none). */
void runcontrol_order(const struct runcontrol *r, int fd, struct shard_order *ret_order);
/* Whether all shards turned within the last second.  Any thread. */
bool runcontrol_is_live(const struct runcontrol *r);
/* Run control looks at its clock and at what is in flight.  The main thread, now and then. */
void runcontrol_tick(struct runcontrol *r);
/* All shards know of what run control published.  Not on the thread of a shard. */
void runcontrol_tell(const struct runcontrol *r);
/* Looks whether a state has come to its end.  The main thread, between turns of its shard. */
void runcontrol_look(struct runcontrol *r);
#endif
