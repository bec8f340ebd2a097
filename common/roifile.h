/* SPDX-License-Identifier: Apache-2.0 */
/* roifile.h - reads files of RoIs, plain ones and those in blocks (block.h); writes plain ones, for
 * tools.  The daemon writes blocks (blockfile.h).
 *
 * Layout of a plain file: 8 bytes "TRGROI1\n"; a varint length and a FileHeader; then records, each
 * a varint length and a RoiBatch; when closed cleanly a zero byte, a varint length and a FileIndex,
 * 8 bytes little-endian offset of that zero byte, and 8 bytes "TRGEND1\n".  A file without its end
 * is read by walking the records, so it can be read while it is being written and after a crash; a
 * half-written last record is the end.
 */
#ifndef TRIGD_ROIFILE_H
#define TRIGD_ROIFILE_H
#include <stddef.h>
#include <stdint.h>

#include "trigd.pb-c.h"

struct roifile_writer;
struct roifile_reader;

/* Creates `path`, which must not exist (-EEXIST).  Negative errno of the system otherwise. */
int roifile_create(const char *path, const Trigd__V1__FileHeader *header,
                   struct roifile_writer **ret_writer);
/* Appends one record of `n_rois` RoIs, given as packed RoiBatch bytes.  -ENOSPC and friends leave
 * the file as it was before the call.  Readers see the record at once. */
int roifile_append(struct roifile_writer *w, const void *packed, size_t bytes, uint32_t n_rois);
uint64_t roifile_bytes(const struct roifile_writer *w);
/* Writes index and end, closes.  NULL is fine. */
int roifile_finish(struct roifile_writer *w);

/* Opens for reading.  -EBADMSG: not an RoI file (one log line says what is wrong). */
int roifile_open(const char *path, struct roifile_reader **ret_reader);
const Trigd__V1__FileHeader *roifile_header(const struct roifile_reader *r);
/* The next record's RoiBatch bytes, borrowed until the next call; 1 record, 0 at the end,
 * -EBADMSG for a damaged file.  A damaged block is left out, with a line in the log. */
int roifile_next(struct roifile_reader *r, const void **ret_bytes, size_t *ret_n);
/* RoIs of blocks that were left out so far. */
uint64_t roifile_lost(const struct roifile_reader *r);
/* Back to the first record. */
void roifile_rewind(struct roifile_reader *r);
/* How many records (or blocks) and RoIs there are, from the index alone; does not move the reader,
 * but takes the memory of the record that roifile_next gave.  1; 0 when the file has no end (yet),
 * and the records have to be walked; -EBADMSG for a damaged index, which leaves the records
 * readable all the same. */
int roifile_totals(struct roifile_reader *r, uint64_t *ret_records, uint64_t *ret_rois);
void roifile_close(struct roifile_reader *r);

/* What an error of these functions, or of RoIs read from a file, says to a user; static. */
const char *roifile_why(int error);
#endif
