/* SPDX-License-Identifier: Apache-2.0 */
/* debugstream.h - writes RoIs of the debug stream to RoI files, on a thread of its own, so that a
 * slow or full disk holds up nothing else.
 *
 * An RoI that cannot be written (disk or quota full, too many waiting) is counted debug_lost and
 * logged; its decision is not touched.
 */
#ifndef TRIGD_DEBUGSTREAM_H
#define TRIGD_DEBUGSTREAM_H
#include <stdbool.h>
#include <stdint.h>

#include "base/stats.h"
#include "memory/pool.h"

struct debugstream;
/* Files go to `folder`, made if it is not there: debug-TIME-PID.roi, or debug-TIME-PID-SHARD.roi of
 * shards from 1 on. */
int debugstream_open(const char *folder, uint32_t shard, uint64_t max_bytes, struct pool *pool,
                     struct stats *stats, struct debugstream **ret_debug);
/* Writes what waits, closes the file.  NULL is fine. */
void debugstream_close(struct debugstream *d);
/* Hands over an RoI; false when too many wait (the caller counts it lost). */
bool debugstream_write(struct debugstream *d, uint32_t roi);
/* An RoI that the thread is done with. */
bool debugstream_done(struct debugstream *d, uint32_t *ret_roi);
#endif
