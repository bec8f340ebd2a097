/* SPDX-License-Identifier: Apache-2.0 */
/* stream_writer.h - the thread that writes the files of one stream, and the RoIs that wait for it.
 *
 * Decisions never wait for the disk: an RoI is a copy when it is handed over.  wait_bytes bounds
 * the memory of copies; beyond it RoIs are not written and counted, or, with `stops`, the daemon
 * accepts no RoIs until half of it is free again (RoIs in flight are still copied). */
#ifndef TRIGD_STREAM_WRITER_H
#define TRIGD_STREAM_WRITER_H
#include <stdatomic.h>

#include "base/stats.h"
#include "stream/stream_files.h"

struct stream_writer_setup {
    struct stream_files_setup files; /* its hooks are the writer's */
    uint64_t wait_bytes;
    bool stops;
    _Atomic uint32_t *n_stopping; /* writers because of which the daemon takes no RoIs */
    uint32_t close_ms;            /* for the disk to take the rest at the end */
};

struct stream_writer;
int stream_writer_open(const struct stream_writer_setup *setup, struct stream_writer **ret_writer);
/* Counters of a shard, before its first RoI. */
void stream_writer_join(struct stream_writer *w, uint32_t shard, struct stats_stream *stats);
/* Hands over a copy; shard and titles are filled.  A thread of each shard. */
void stream_writer_put(struct stream_writer *w, struct roi_message *m);
/* Counts an RoI that no copy could be made of. */
void stream_writer_no_memory(struct stream_writer *w, uint32_t shard);
/* Writes the rest, completes the files, logs the sums.  NULL is fine. */
void stream_writer_close(struct stream_writer *w);
#endif
