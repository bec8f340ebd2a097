/* SPDX-License-Identifier: Apache-2.0 */
/* superpixel.h - super-pixels of 2 columns x 4 rows: their sets of pixels, and which touch.  Bit k
 * of a pattern is the pixel in column k / 4, row k % 4. */
#ifndef CLUSTERS_SUPERPIXEL_H
#define CLUSTERS_SUPERPIXEL_H
#include "clusters.h"
#include "join.h"

#define CL_COLUMN_STEP    (1u << CL_ROW_BITS) /* from a key to that of the next column */
#define CL_ROW_OF(key)    ((key) & ((1u << CL_ROW_BITS) - 1u))
#define CL_COLUMN_OF(key) ((key) >> CL_ROW_BITS & ((1u << CL_COLUMN_BITS) - 1u))
#define CL_SENSOR_OF(key) ((key) >> (CL_ROW_BITS + CL_COLUMN_BITS))

struct cl_view { /* the items of an RoI in the order of their keys, and their nodes */
    TRG_GLOBAL trg_u32 *key, *pattern;
    TRG_GLOBAL trg_u32 *list;         /* the items that may touch others: they alone have nodes */
    TRG_GLOBAL trg_u32 *slot;         /* of such an item, its place in the list */
    TRG_GLOBAL trg_u32 *parent, *sum; /* of the nodes of the first in the list, of the second .. */
    trg_u32 n, n_listed, stride;      /* stride: from one kind of sum to the next */
};

TRG_FN trg_u32 cl_key(trg_u32 sensor, trg_u32 word, const struct cl_par par)
{
    const trg_u32 row = word >> 8 & 63u, column = word >> 14 & 511u;

    if (sensor >= par.n_sensors || column * CL_COLUMNS >= par.n_columns ||
        row * CL_ROWS >= par.n_rows || (word & CL_RESERVED) || !(word & 255u))
        return CL_BAD;
    return sensor << (CL_ROW_BITS + CL_COLUMN_BITS) | column << CL_ROW_BITS | row;
}

/* The rows of the lowest pixels that touch: columns always do, so that a gap between rows is what
 * divides a pattern, in two at most. */
TRG_FN trg_u32 cl_lower(trg_u32 pattern)
{
    const trg_u32 rows = (pattern | pattern >> 4) & 15u, low = rows & (0u - rows);
    const trg_u32 run = rows & ~(rows + low);

    return pattern & (run | run << 4);
}

TRG_FN trg_u32 cl_upper(trg_u32 pattern)
{
    return pattern & 255u & ~cl_lower(pattern);
}

/* Whether pixels of the right column of one set touch those of the left column of another, in
 * super-pixels side by side. */
TRG_FN trg_u32 cl_touch(trg_u32 left, trg_u32 right)
{
    const trg_u32 rows = left >> 4;

    return ((rows | rows << 1 | rows >> 1) & right & 15u) ? 1u : 0u;
}

/* Which sets of an item touch which of a neighbour behind it, whose key is larger by `step`: bit
 * 2 a + b for set a of the one and set b of the other. */
TRG_FN trg_u32 cl_touching(trg_u32 p, trg_u32 q, trg_u32 step)
{
    const trg_u32 p1 = cl_upper(p), q1 = cl_upper(q);
    const trg_u32 highest = p1 ? 4u : 1u; /* set of p, and the first of q */

    if (step == 1u) /* above it */
        return (p & 0x88u) && (q & 0x11u) ? highest : 0u;
    if (step == CL_COLUMN_STEP + 1u)
        return (p & 0x80u) && (q & 0x01u) ? highest : 0u;
    if (step == CL_COLUMN_STEP - 1u)
        return (p & 0x10u) && (q & 0x08u) ? (q1 ? 2u : 1u) : 0u;
    if (step == CL_COLUMN_STEP) {
        const trg_u32 p0 = cl_lower(p & 255u), q0 = cl_lower(q & 255u);

        return cl_touch(p0, q0) | cl_touch(p0, q1) << 1 | cl_touch(p1, q0) << 2 |
               cl_touch(p1, q1) << 3;
    }
    return 0u;
}

/* The j-th item of the list with the neighbours behind it: above it, and in the next column, which
 * begins at *at or behind it.  Returns how many sets fewer there are. */
TRG_FN trg_u32 cl_join_item(const struct cl_view v, trg_u32 j, trg_u32 *at)
{
    const trg_u32 i = v.list[j], key = v.key[i], p = v.pattern[i], row = CL_ROW_OF(key);
    const trg_u32 is_top = row + 1u == CL_COLUMN_STEP, beside = key + CL_COLUMN_STEP;
    const trg_u32 from = row ? beside - 1u : beside;
    const trg_u32 goes_on = (p & 0xf0u) && CL_COLUMN_OF(key) + 1u < (1u << CL_COLUMN_BITS);
    const trg_u32 last = goes_on ? beside + 1u - is_top : key + 1u - is_top;
    trg_u32 joined = 0u, k = i + 1u;

    while (k < v.n && v.key[k] <= last) {
        const trg_u32 other = v.key[k], q = v.pattern[k];
        trg_u32 sets;

        if (other > key + 1u - is_top && other < from) { /* once at most */
            *at = cl_seek(v.key, *at > k ? *at : k, v.n, from);
            k = *at;
            continue;
        }
        sets = q & CL_ALONE ? 0u : cl_touching(p, q, other - key);
        for (trg_u32 pair = 0u; sets >> pair; pair++)
            if (sets >> pair & 1u)
                joined += cl_join(v.parent, j * CL_NODES + (pair >> 1),
                                  v.slot[k] * CL_NODES + (pair & 1u));
        k++;
    }
    return joined;
}

/* ---------------------------------------------------------------- sums */

struct cl_sums {
    trg_u32 of[CL_SUMS];
};

/* Of some pixels of an item. */
TRG_FN struct cl_sums cl_sums_of(trg_u32 key, trg_u32 pixels)
{
    const trg_u32 column = CL_COLUMN_OF(key) * CL_COLUMNS, row = CL_ROW_OF(key) * CL_ROWS;
    const trg_u32 n = trg_popcount(pixels), left = pixels & 15u, right = pixels >> 4;
    struct cl_sums s;

    s.of[CL_SIZE] = n;
    s.of[CL_SUM_COLUMN] = n * column + trg_popcount(right);
    s.of[CL_SUM_ROW] = n * row + trg_popcount(pixels & 0xaau) + 2u * trg_popcount(pixels & 0xccu);
    s.of[CL_COLUMN_BIT] = (left ? 1u : 0u) << (column & 31u) | (right ? 2u : 0u) << (column & 31u);
    s.of[CL_ROW_BIT] = (left | right) << (row & 31u);
    return s;
}

TRG_FN void cl_put_sums(const struct cl_view v, trg_u32 node, const struct cl_sums s)
{
    for (trg_u32 k = 0u; k < CL_SUMS; k++)
        v.sum[k * v.stride + node] = s.of[k];
}

/* Adds those of a node to its root's. */
TRG_FN void cl_give_sums(const struct cl_view v, trg_u32 node, trg_u32 root)
{
    for (trg_u32 k = 0u; k < CL_COLUMN_BIT; k++)
        CL_ADD(&v.sum[k * v.stride + root], v.sum[k * v.stride + node]);
    for (trg_u32 k = CL_COLUMN_BIT; k < CL_SUMS; k++)
        CL_OR(&v.sum[k * v.stride + root], v.sum[k * v.stride + node]);
}
#endif
