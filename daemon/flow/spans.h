/* SPDX-License-Identifier: Apache-2.0 */
/* spans.h - remembers the last batches of a shard, so that the slowest RoI of each second can be
 * shown with where its time went (base/slow.h).
 *
 * For each batch: 32 bytes, and 4 for each of its RoIs.  An RoI costs two comparisons; some ten a
 * second are slower by an eighth than all that were kept in their second, and are looked up.
 */
#ifndef TRIGD_SPANS_H
#define TRIGD_SPANS_H
#include "base/stats.h"
#include "exec/lane.h"
#include "memory/pool.h"

struct spans;
int spans_new(struct spans **ret_spans); /* -ENOMEM */
void spans_free(struct spans *s);        /* NULL is fine */
/* A batch came back; `lane` stays. */
void spans_batch(struct spans *s, const struct stats_lane *lane, const struct lane_done *b);
/* An RoI is decided at `now`; if it is the slowest of its second, *to keeps it.  `client` may be
 * NULL. */
void spans_decided(struct spans *s, struct slow *to, const struct roi *r, uint32_t roi,
                   const char *client, uint64_t now);
#endif
