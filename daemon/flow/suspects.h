/* SPDX-License-Identifier: Apache-2.0 */
/* suspects.h - RoIs whose batch failed, or whose worker ended under them: they run again apart from
 * all others, one batch at a time, in eighths down to single ones.  An RoI that fails alone is the
 * culprit; the others cost one more run.  A failure costs the start of a process, and of one that
 * hangs `hang_ms` too, a run that succeeds far less: so few failures matter more than few runs.
 *
 * On the I/O thread only.  A suspect counts as pending, as if it waited in a batcher. */
#ifndef TRIGD_SUSPECTS_H
#define TRIGD_SUSPECTS_H
#include <stdbool.h>
#include <stdint.h>

struct suspects;
/* For at most `most` RoIs; those that come when it is full are refused. */
int suspects_new(uint32_t most, struct suspects **ret_suspects);
void suspects_free(struct suspects *s); /* NULL is fine */

/* Adds the RoIs of a batch of a step of the engine in place `engine`.  false: no room. */
bool suspects_add(struct suspects *s, uint32_t engine, uint32_t step, const uint32_t *roi,
                  uint32_t n);
/* Adds a batch that failed again in eight parts, or single RoIs, to run next.  n > 1; it came from
 * here, and was settled. */
void suspects_split(struct suspects *s, uint32_t engine, uint32_t step, const uint32_t *roi,
                    uint32_t n);

/* The next group of one step of an engine: its RoIs, valid until the next call; 0 with none. */
uint32_t suspects_next(const struct suspects *s, uint32_t engine, uint32_t step,
                       const uint32_t **ret_roi);
/* Takes the first n of that group out: they run now, and their room is kept.  Each batch that does
 * ends in suspects_settle. */
void suspects_take(struct suspects *s, uint32_t engine, uint32_t step, uint32_t n);
void suspects_settle(struct suspects *s, uint32_t n);
/* Takes out an RoI that was decided meanwhile; false when it is not here. */
bool suspects_remove(struct suspects *s, uint32_t roi);
uint32_t suspects_count(const struct suspects *s);
#endif
