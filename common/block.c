/* SPDX-License-Identifier: Apache-2.0 */
#include "block.h"

#include <errno.h>
#include <string.h>
#include <zlib.h>
#include <zstd.h>

#include "fileio.h"

#define MARK 0x42475254u /* "TRGB" */

static void put_u32(unsigned char *dst, uint32_t v)
{
    for (uint32_t i = 0; i < 4; i++)
        dst[i] = (unsigned char)(v >> (8 * i));
}

static uint32_t get_u32(const unsigned char *from)
{
    return (uint32_t)from[0] | (uint32_t)from[1] << 8 | (uint32_t)from[2] << 16 |
           (uint32_t)from[3] << 24;
}

static uint32_t crc(const void *bytes, size_t n)
{
    return (uint32_t)crc32_z(0, bytes, n);
}

void block_seal(struct block *b, const void *contents, unsigned char *ret_head)
{
    b->check = crc(contents, b->bytes);
    put_u32(ret_head, MARK);
    ret_head[4] = b->kind;
    ret_head[5] = b->codec;
    ret_head[6] = ret_head[7] = 0;
    put_u32(ret_head + 8, b->n_rois);
    put_u32(ret_head + 12, b->bytes);
    put_u32(ret_head + 16, b->unpacked);
    put_u32(ret_head + 20, b->check);
    put_u32(ret_head + 24, crc(ret_head, 24));
}

bool block_parse(const unsigned char *head, struct block *ret_block)
{
    const struct block b = {.kind = head[4],
                            .codec = head[5],
                            .n_rois = get_u32(head + 8),
                            .bytes = get_u32(head + 12),
                            .unpacked = get_u32(head + 16),
                            .check = get_u32(head + 20)};

    if (get_u32(head) != MARK || get_u32(head + 24) != crc(head, 24) || b.kind > BLOCK_INDEX ||
        b.codec > BLOCK_ZSTD || b.bytes > BLOCK_MAX || b.unpacked > BLOCK_MAX)
        return false;
    if (b.codec == BLOCK_PLAIN && b.bytes != b.unpacked)
        return false;
    *ret_block = b;
    return true;
}

int block_read_head(int fd, uint64_t at, struct block *ret_block)
{
    unsigned char head[BLOCK_HEAD];
    ssize_t n = fileio_read_at(fd, head, sizeof head, at);

    if (n < 0)
        return (int)n;
    if (n < (ssize_t)sizeof head)
        return 0;
    return block_parse(head, ret_block) ? 1 : -EBADMSG;
}

bool block_is_whole(const struct block *b, const void *contents)
{
    return crc(contents, b->bytes) == b->check;
}

int block_unpack(const struct block *b, const void *contents, void *dst)
{
    if (b->codec == BLOCK_PLAIN) {
        memcpy(dst, contents, b->bytes);
        return 0;
    }
    return ZSTD_decompress(dst, b->unpacked, contents, b->bytes) == b->unpacked ? 0 : -EBADMSG;
}
