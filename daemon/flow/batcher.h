/* SPDX-License-Identifier: Apache-2.0 */
/* batcher.h - when the batch that grows in a step closes, and which lane gets it. */
#ifndef TRIGD_BATCHER_H
#define TRIGD_BATCHER_H
#include "exec/engine.h"

/* The lane that would begin a batch first, of equals the one with the most free slots; NULL when
 * all slots are taken. */
struct lane *batcher_lane(const struct engine_step *s);
/* Why the batch of RoIs that wait may close for this lane now; NULL when it may not. */
stats_u64 *batcher_closes(const struct engine_step *s, const struct lane *lane, uint64_t now_ns);
/* When it will close by itself; UINT64_MAX with no RoI, and while all slots are taken: the lane
 * that gives one back wakes the loop. */
uint64_t batcher_due_ns(const struct engine_step *s);
/* Whether there is something to do now: a batch came back, or one may close early. */
bool batcher_has_work(const struct engine_step *s, uint64_t now_ns);

/* Keep the books of a batch that is given to a lane, and of one that came back. */
void batcher_out(struct engine_step *s, struct lane_batch *b, uint64_t now_ns);
void batcher_back(struct engine_step *s, const struct lane_batch *b);
#endif
