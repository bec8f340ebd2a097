/* SPDX-License-Identifier: Apache-2.0 */
/* gather.h - the front's own gathering: a batch with columns in memory of this process alone, such
 * as messages of sockets, is laid out in the arena here; the runner finds it ready.
 *
 * The I/O thread of the lane notes where the columns lie.  It copies and checks them itself, or a
 * gather thread does, which serves the lanes of all shards: then the I/O thread goes on meanwhile.
 */
#ifndef TRIGD_GATHER_H
#define TRIGD_GATHER_H
#include "exec/lane.h"

/* Threads that gather, where the calling thread is bound to; n is 1 or more.  They look for work
 * for `spin_ns` before they sleep.  Negative errno. */
int gather_threads_start(uint32_t n, uint64_t spin_ns, struct gather_threads **ret_threads);
/* Ends them.  No lane may have a batch with them.  NULL is fine. */
void gather_threads_stop(struct gather_threads *t);

/* Gathers all inputs of the batch of a slot that was just submitted, and passes it to the runner;
 * or lets a gather thread do so.  Reads nothing back from the arena.  On the lane's thread. */
void gather_batch(struct lane *l, uint32_t slot);
/* A submitted batch is complete: its runner gets it after those that were submitted before it.  On
 * any thread. */
void gather_pass(struct lane *l, uint32_t slot);
/* Waits until no gather thread has the batch of a slot, or a use for the lane's arena; the lane's
 * runner is gone. */
void gather_await(struct lane *l, uint32_t slot);
#endif
