/* SPDX-License-Identifier: Apache-2.0 */
/* block.h - the blocks of RoI files of version 2: compressed, with check sums.
 *
 * Such a file is 8 bytes "TRGROI2\n"; blocks; when closed cleanly 8 bytes little-endian offset of
 * the last block, and 8 bytes "TRGEND2\n".  The first block holds a FileHeader, the last a
 * FileIndex, those between records as in plain RoI files: each a varint length and a RoiBatch.  A
 * block is a head of BLOCK_HEAD bytes, little-endian, and its contents:
 *
 *     u32 mark "TRGB"; u8 kind; u8 codec; u16 0; u32 RoIs; u32 bytes of the contents; u32 the same
 *     when unpacked; u32 CRC-32 of the contents; u32 CRC-32 of the 24 bytes above
 */
#ifndef TRIGD_BLOCK_H
#define TRIGD_BLOCK_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define BLOCK_FILE_MAGIC "TRGROI2\n"
#define BLOCK_FILE_END   "TRGEND2\n"
#define BLOCK_HEAD       28u
#define BLOCK_MAX        (128u << 20) /* bytes of the contents, unpacked or not */

enum block_kind { BLOCK_HEADER, BLOCK_RECORDS, BLOCK_INDEX };
enum block_codec { BLOCK_PLAIN, BLOCK_ZSTD };

struct block {
    uint8_t kind, codec;
    uint32_t n_rois, bytes, unpacked, check;
};

/* Fills in check sum and head[BLOCK_HEAD] of a block whose contents are there. */
void block_seal(struct block *b, const void *contents, unsigned char *ret_head);
/* The opposite; false: these bytes are no head. */
bool block_parse(const unsigned char *head, struct block *ret_block);
/* Reads the head at a place of a file: 1; 0 when the file ends within it; -EBADMSG: there is none.
 */
int block_read_head(int fd, uint64_t at, struct block *ret_block);
/* Whether the contents are those that were written. */
bool block_is_whole(const struct block *b, const void *contents);
/* Unpacks them into dst[b->unpacked].  -EBADMSG. */
int block_unpack(const struct block *b, const void *contents, void *dst);
#endif
