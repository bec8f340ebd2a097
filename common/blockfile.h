/* SPDX-License-Identifier: Apache-2.0 */
/* blockfile.h - writes RoI files in blocks (block.h), and makes those whole that a writer left.
 *
 * A block goes to the file at once or not at all, so a file may be read while it grows and after a
 * crash: what follows its last whole block is no part of it.  One thread a writer. */
#ifndef TRIGD_BLOCKFILE_H
#define TRIGD_BLOCKFILE_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "trigd.pb-c.h"

#define BLOCKFILE_LEVEL_MAX 19u        /* of compression, as zstd has them; 0: none */
#define BLOCKFILE_BLOCK     (1u << 20) /* a block of so many bytes compresses well: flush it */

struct blockfile_writer;

/* Creates `path`, which must not exist (-EEXIST), and writes the header.  The file is locked
 * (flock) while it is written. */
int blockfile_create(const char *path, const Trigd__V1__FileHeader *header, uint32_t level,
                     struct blockfile_writer **ret_writer);
/* Adds a record of n_rois RoIs to the block that is gathered; nothing is written.  -EINVAL: it is
 * empty or larger than 64 MiB, or the block is; -ENOMEM. */
int blockfile_add(struct blockfile_writer *w, const void *packed, size_t bytes, uint32_t n_rois);
/* Bytes of the block that is gathered. */
size_t blockfile_gathered(const struct blockfile_writer *w);
/* Writes it.  -ENOSPC and friends leave the file as it was, and the block: write it later, or drop
 * it. */
int blockfile_flush(struct blockfile_writer *w);
void blockfile_drop(struct blockfile_writer *w);
/* Bytes and RoIs of the file, without what is gathered. */
uint64_t blockfile_bytes(const struct blockfile_writer *w);
uint64_t blockfile_rois(const struct blockfile_writer *w);
/* What was written is on the disk when this returns. */
int blockfile_sync(struct blockfile_writer *w);
/* Writes index and end, syncs, closes.  What is gathered and not written is gone.  NULL is fine. */
int blockfile_finish(struct blockfile_writer *w);

struct blockfile_recovery {
    uint64_t rois, cut_bytes;
    bool was_whole; /* nothing was to be done */
};
/* Cuts off what follows the last whole block, writes index and end, syncs.  -EBADMSG, and the file
 * is as it was: it is no such file, or damaged in front of whole blocks.  -EBUSY: its writer
 * lives. */
int blockfile_recover(const char *path, struct blockfile_recovery *ret_recovery);
#endif
