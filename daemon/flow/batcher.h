/* SPDX-License-Identifier: Apache-2.0 */
/* batcher.h - when the batch that grows in a step closes, and which lane gets it. */
#ifndef TRIGD_BATCHER_H
#define TRIGD_BATCHER_H
#include "exec/engine.h"

/* The lane that would end the waiting batch first, by what earlier batches took in each lane; of
 * equals the next in turn.  NULL: none is up, all slots are taken, or a lane whose slots are taken
 * is still expected to end it before those that have room.  A deep queue makes slow lanes worth it.
 */
struct lane *batcher_lane(const struct engine_step *s, uint64_t now_ns);
/* Why the batch of RoIs that wait may close for this lane now; NULL when it may not. */
stats_u64 *batcher_closes(const struct engine_step *s, const struct lane *lane, uint64_t now_ns);
/* When it will close by itself; UINT64_MAX with no RoI, and while no lane takes a batch: the lane
 * that gives one back, or begins one, wakes the loop. */
uint64_t batcher_due_ns(const struct engine_step *s, uint64_t now_ns);
/* Whether there is something to do now: a batch came back, or one may close. */
bool batcher_has_work(const struct engine_step *s, uint64_t now_ns);

/* ---- the RoIs that wait ---- */

/* Enters an RoI; a chain of the menu has that priority. */
void batcher_put(struct engine_step *s, uint32_t roi, enum menu_priority priority, uint32_t items,
                 uint64_t now_ns);
/* The RoI that is next; NULL with none.  By arrival, where those of a lower priority count as
 * having arrived overtake_ms later for each: it is overtaken by those alone that come within that
 * time, so none starves. */
const struct engine_entry *batcher_next(const struct engine_step *s);
/* Takes out an RoI with its items: it goes into a batch, or was decided; false when it does not
 * wait here. */
bool batcher_remove(struct engine_step *s, uint32_t roi, uint32_t items);

/* Whether an RoI of so many items would miss its deadline in every lane that is up, by what their
 * earlier batches took; false while that is not known. */
bool batcher_is_too_late(const struct engine_step *s, uint32_t items, uint64_t deadline_ns,
                         uint64_t now_ns);

/* Keep the books of a batch that is given to a lane, and of one that came back after so long. */
void batcher_out(struct engine_step *s, uint64_t now_ns);
void batcher_back(struct engine_step *s, uint64_t lane_ns);
#endif
