/* SPDX-License-Identifier: Apache-2.0 */
/* buddy.h - a buddy allocator over offsets: blocks of a power of two, split and merged again, so
 * that any mix of small and large RoIs finds room.  One thread; keeps its books outside the
 * memory that it hands out. */
#ifndef TRIGD_BUDDY_H
#define TRIGD_BUDDY_H
#include <stddef.h>
#include <stdint.h>

#define BUDDY_UNIT 1024u /* smallest block, bytes */
#define BUDDY_NONE UINT64_MAX

struct buddy;
/* Manages `bytes`, a power of two >= BUDDY_UNIT.  -ENOMEM, -EINVAL. */
int buddy_new(uint64_t bytes, struct buddy **ret_buddy);
void buddy_free(struct buddy *b);
/* Offset of a block of at least `bytes` (> 0), aligned to its size; BUDDY_NONE when there is none.
 */
uint64_t buddy_take(struct buddy *b, uint64_t bytes);
/* Gives back a block of buddy_take. */
void buddy_put(struct buddy *b, uint64_t at);
uint64_t buddy_used(const struct buddy *b); /* bytes handed out, rounded up to blocks */
#endif
