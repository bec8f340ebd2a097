/* SPDX-License-Identifier: Apache-2.0 */
/* debugstream.h - writes RoIs of the debug stream to RoI files, on a thread of its own, so that a
 * slow, full or hanging disk holds up nothing else.
 *
 * An RoI is copied when it is handed over: its record, its memory and its decision do not wait for
 * the disk.  What bounds it are debug_stream.wait_mbytes (memory), debug_stream.max_mbytes and
 * debug_stream.free_mbytes (disk).  Counters keep the books:
 *   debug_rois = debug_written + debug_waiting + debug_lost_memory + debug_lost_disk +
 * debug_lost_error */
#ifndef TRIGD_DEBUGSTREAM_H
#define TRIGD_DEBUGSTREAM_H
#include <stdint.h>

#include "base/stats.h"
#include "config/config.h"
#include "memory/pool.h"
#include "menu/menu.h"

struct debugstream;
/* Files go to debug_stream.folder, made with its parents if it is not there: debug-TIME-PID.roi, or
 * debug-TIME-PID-SHARD.roi of shards from 1 on.  `config`: a shard's part, kept. */
int debugstream_open(const struct config *config, uint32_t shard, struct stats *stats,
                     struct debugstream **ret_debug);
/* Writes the waiting RoIs, at most limits.drain_ms long, and closes the file.  NULL is fine. */
void debugstream_close(struct debugstream *d);
/* Hands over a copy of a decided RoI.  One thread. */
void debugstream_write(struct debugstream *d, const struct pool *pool, const struct roi *r,
                       const struct menu *menu);
#endif
