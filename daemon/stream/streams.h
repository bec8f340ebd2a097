/* SPDX-License-Identifier: Apache-2.0 */
/* streams.h - RoIs of accepted events to the files of their streams: the parts of an RoI in a file,
 * and a writer for each stream of the configuration and for the debug stream.
 *
 * Shards share the writers.  The counters account for every RoI of a stream:
 * rois = written + waiting + lost_memory + lost_disk + lost_error (stats.h). */
#ifndef TRIGD_STREAMS_H
#define TRIGD_STREAMS_H
#include <stdbool.h>
#include <stdint.h>

#include "base/stats.h"
#include "config/config.h"
#include "memory/pool.h"
#include "menu/menu.h"
#include "trigd.pb-c.h"

struct streams;
/* Makes the folders, and completes files that an earlier daemon left.  Logs failures.  `config` is
 * kept. */
int streams_open(const struct config *config, struct streams **ret_streams);
/* The counters of a shard, before its first RoI.  -ENOSPC: too many streams. */
int streams_join(struct streams *s, uint32_t shard, struct stats *stats);
/* Writes the waiting RoIs, at most limits.drain_ms long, and completes the files; shards put no
 * more RoIs.  NULL is fine. */
void streams_close(struct streams *s);

/* Hands over copies of a decided RoI to the streams of menu->filed that it goes to.  On the shard's
 * thread; `decision` is borrowed. */
void streams_put(struct streams *s, uint32_t shard, const struct pool *pool, const struct roi *r,
                 const struct menu *menu, uint32_t generation, Trigd__V1__Decision *decision);
/* Whether the daemon must take no RoIs now, because a stream with `when_full: stop` has no room.
 * Any thread. */
bool streams_are_stopping(const struct streams *s);
#endif
