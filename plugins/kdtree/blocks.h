/* SPDX-License-Identifier: Apache-2.0 */
/* blocks.h - a copy of a tree for vectors: the last five levels in blocks, a subtree of 31 nodes
 * each, that lie in one piece.
 *
 * A block is 32 values of each dimension and then 32 numbers of points (their bits as floats):
 * first the 16 nodes of the last level, then the 8, 4, 2 and 1 above them, then one that is not
 * used.  What the tree has no node for is NaN, which no box holds.  Block b belongs to the b-th
 * node of the level where blocks begin. */
#ifndef KD_BLOCKS_H
#define KD_BLOCKS_H
#include "layout.h"

#define KD_BLOCK        32u
#define KD_BLOCK_LEVELS 5u

/* The level of the blocks' roots. */
TRG_FN trg_u32 kd_block_level(trg_u32 n)
{
    const trg_u32 h = n ? kd_levels(n) : 0u;

    return h > KD_BLOCK_LEVELS ? h - KD_BLOCK_LEVELS : 0u;
}

/* How many a tree of n nodes has: no more than n / 16 + 1. */
TRG_FN trg_u32 kd_blocks(trg_u32 n)
{
    return n ? 1u << kd_block_level(n) : 0u;
}

/* Where the blocks of tree t begin, whose first node is `base`, in floats. */
TRG_FN trg_u32 kd_blocks_at(trg_u32 k, trg_u32 base, trg_u32 t)
{
    return (k + 1u) * (base / 16u + t) * KD_BLOCK;
}

/* The most that a forest needs, in floats. */
#define KD_BLOCKS_ROOM(k, points, trees) \
    (((size_t)(k) + 1u) * ((size_t)(points) / 16u + (size_t)(trees) + 1u) * KD_BLOCK)

/* The node at place i of block b; 0xffffffff for none. */
TRG_FN trg_u32 kd_block_node(trg_u32 n, trg_u32 b, trg_u32 i)
{
    const trg_u32 root = (1u << kd_block_level(n)) - 1u + b;
    trg_u32 width = 16u, first = 16u * root + 15u;

    if (i == KD_BLOCK - 1u)
        return KD_NONE;
    while (i >= width) {
        i -= width;
        width >>= 1;
        first = (first - 1u) / 2u;
    }
    return first + i;
}
#endif
