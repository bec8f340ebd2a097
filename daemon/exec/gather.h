/* SPDX-License-Identifier: Apache-2.0 */
/* gather.h - the front's own gathering: a batch with columns in memory of this process alone, such
 * as messages of sockets, is laid out in the arena here; the runner finds it ready. */
#ifndef TRIGD_GATHER_H
#define TRIGD_GATHER_H
#include "exec/lane.h"

/* Gathers all inputs of the batch of a slot that is about to be submitted.  Reads nothing back from
 * the arena.  On the lane's thread. */
void gather_batch(struct lane *l, uint32_t slot);
#endif
