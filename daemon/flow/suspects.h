/* SPDX-License-Identifier: Apache-2.0 */
/* suspects.h - RoIs whose batch failed, whose worker ended under them, or of which it said what
 * cannot be: they run again apart from all others, one batch at a time, in eighths down to single
 * ones.  An RoI that fails alone is the culprit; the others cost one more run.  A failure costs the
 * start of a process, and of one that hangs `hang_ms` too, a run that succeeds far less: so few
 * failures matter more than few runs.
 *
 * On the I/O thread only.  A suspect counts as pending, as if it waited in a batcher.  There is
 * room for every RoI of the pool in every step, so that no RoI is refused, however many are in
 * flight when a worker ends. */
#ifndef TRIGD_SUSPECTS_H
#define TRIGD_SUSPECTS_H
#include <stdbool.h>
#include <stdint.h>

struct suspects;
/* Of one engine: for its steps with batches, as bits, and RoIs below `n_rois`.  -ENOMEM. */
int suspects_new(uint64_t steps, uint32_t n_rois, struct suspects **ret_suspects);
void suspects_free(struct suspects *s); /* NULL is fine */

/* Adds RoIs of a batch of a step as a group, to run last.  None of them may be there. */
void suspects_add(struct suspects *s, uint32_t step, const uint32_t *roi, uint32_t n);
/* Adds a batch that failed again in eight parts, or single RoIs, to run next.  n > 1. */
void suspects_split(struct suspects *s, uint32_t step, const uint32_t *roi, uint32_t n);

/* The first RoI of the next group of a step; POOL_NONE with none. */
uint32_t suspects_first(const struct suspects *s, uint32_t step);
/* The one behind an RoI in its group; POOL_NONE for the last one. */
uint32_t suspects_after(const struct suspects *s, uint32_t step, uint32_t roi);
/* Takes out an RoI that runs now, or was decided meanwhile; false when it is not here. */
bool suspects_remove(struct suspects *s, uint32_t step, uint32_t roi);
#endif
