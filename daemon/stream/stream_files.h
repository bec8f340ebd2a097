/* SPDX-License-Identifier: Apache-2.0 */
/* stream_files.h - the files of one stream: when one ends and the next begins, their names, room on
 * the disk, and what an earlier daemon left.  On the stream's writer thread.
 *
 * A file is called STREAM-rRUN-bLUMIBLOCK-mMENUKEY-TIME-PID-NUMBER.roi, with .part behind it until
 * it is complete.  It holds RoIs of one run and one menu, with by_lumi_block of one lumi block; the
 * block in its name is that of its first RoI.  Up to four are open, because RoIs of two lumi blocks
 * or menus come in any order for a while. */
#ifndef TRIGD_STREAM_FILES_H
#define TRIGD_STREAM_FILES_H
#include <stdbool.h>
#include <stdint.h>

#include "base/shards.h"
#include "stream/roi_message.h"

struct stream_files_setup {
    const char *name, *folder; /* kept */
    uint32_t level;
    uint64_t file_bytes;
    uint64_t quota_bytes; /* of all files of the stream in the folder; 0: none */
    uint64_t run_bytes;   /* of this process; UINT64_MAX: no limit */
    uint64_t free_bytes;  /* left on the disk */
    uint64_t age_ns;      /* of a file; 0: any */
    uint64_t flush_ns, sync_ns;
    bool by_lumi_block;
    bool is_debug; /* one file for RoIs of all runs and menus */
    /* What became of gathered RoIs, by shard: 0, or the errno that lost them; and of a file. */
    void (*settle)(void *ctx, const uint32_t *n_by_shard, int error, uint64_t bytes);
    void (*complete)(void *ctx);
    void *ctx;
};

struct stream_files;
int stream_files_new(const struct stream_files_setup *setup, struct stream_files **ret_files);
/* Makes files whole that no daemon writes to any more. */
void stream_files_recover(struct stream_files *f);
/* Gathers an RoI for its file, which may write the block before it.  -ENOSPC, -EDQUOT, -EFBIG (is
 * full, see below) and others: it was not taken. */
int stream_files_add(struct stream_files *f, const struct roi_message *m);
/* Writes the blocks that are full or have waited for flush_ms, with `all` every one; completes
 * files that are old.  The first error; what it concerns stays gathered. */
int stream_files_flush(struct stream_files *f, bool all);
/* Gives up the gathered blocks. */
void stream_files_drop(struct stream_files *f, int error);
/* When the next flush, sync or completion is due; UINT64_MAX: none is. */
uint64_t stream_files_due_ns(const struct stream_files *f);
/* Completes all files, which have no gathered blocks.  NULL is fine. */
void stream_files_close(struct stream_files *f);

/* Whether an error says that there is no room. */
bool stream_files_is_full(int error);
#endif
