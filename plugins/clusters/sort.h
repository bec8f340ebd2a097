/* SPDX-License-Identifier: Apache-2.0 */
/* sort.h - items by their keys, with a value each, within a group. */
#ifndef CLUSTERS_SORT_H
#define CLUSTERS_SORT_H
#include "trigd/common/group.h"

/* How many of n ascending keys are below `key`, or not above it. */
TRG_FN trg_u32 cl_rank(TRG_GLOBAL const trg_u32 *keys, trg_u32 n, trg_u32 key, trg_u32 or_equal)
{
    trg_u32 low = 0u, high = n;

    while (low < high) {
        const trg_u32 middle = (low + high) / 2u;

        if (keys[middle] < key || (or_equal && keys[middle] == key))
            low = middle + 1u;
        else
            high = middle;
    }
    return low;
}

/* Sorts n keys with their values, stable, by merging neighbouring runs: an item's place is its own
 * in its run and its rank in the other.  One barrier a pass.  `key` has room for two arrays of
 * keys, then two of values, each `room` words from the one before; returns 1 when the result is in
 * the second of each. */
TRG_GROUP_FN trg_u32 cl_sort_items(TRG_GLOBAL trg_u32 *key, trg_u32 n, trg_u32 room)
{
    trg_u32 is_second = 0u;

    for (trg_u32 run = 1u; run < n; run *= 2u) {
        TRG_GLOBAL const trg_u32 *from = key + is_second * room;
        TRG_GLOBAL trg_u32 *to = key + (1u - is_second) * room;

        for (trg_u32 i = TRG_LID; i < n; i += TRG_LSIZE) {
            const trg_u32 begin = i & ~(run - 1u), is_right = begin & run ? 1u : 0u;
            const trg_u32 other = is_right ? begin - run : begin + run;
            const trg_u32 n_other = other >= n ? 0u : other + run <= n ? run : n - other;
            const trg_u32 rank = cl_rank(from + other, n_other, from[i], is_right);
            const trg_u32 place = (is_right ? other : begin) + (i - begin) + rank;

            to[place] = from[i];
            to[place + 2u * room] = from[i + 2u * room];
        }
        is_second ^= 1u;
        TRG_BARRIER();
    }
    return is_second;
}
#endif
