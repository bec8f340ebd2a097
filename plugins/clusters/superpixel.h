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
    TRG_GLOBAL trg_u32 *key, *pattern, *parent, *sum;
    trg_u32 n, stride; /* stride: from one kind of sum to the next */
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

/* Node of the lowest, of the highest row of an item. */
TRG_FN trg_u32 cl_low_node(trg_u32 i)
{
    return i * CL_NODES;
}

TRG_FN trg_u32 cl_high_node(trg_u32 i, trg_u32 pattern)
{
    return i * CL_NODES + (cl_upper(pattern) ? 1u : 0u);
}

/* Whether pixels of the right column of one set touch those of the left column of another, in
 * super-pixels side by side. */
TRG_FN trg_u32 cl_touch(trg_u32 left, trg_u32 right)
{
    const trg_u32 rows = left >> 4;

    return ((rows | rows << 1 | rows >> 1) & right & 15u) ? 1u : 0u;
}

/* Item i with item k, which is beside it, in the same row. */
TRG_FN trg_u32 cl_join_beside(const struct cl_view v, trg_u32 i, trg_u32 k)
{
    const trg_u32 p = v.pattern[i], q = v.pattern[k];
    const trg_u32 p0 = cl_lower(p & 255u), p1 = cl_upper(p), q0 = cl_lower(q & 255u),
                  q1 = cl_upper(q);
    trg_u32 joined = 0u;

    if (cl_touch(p0, q0))
        joined += cl_join(v.parent, i * CL_NODES, k * CL_NODES);
    if (cl_touch(p0, q1))
        joined += cl_join(v.parent, i * CL_NODES, k * CL_NODES + 1u);
    if (cl_touch(p1, q0))
        joined += cl_join(v.parent, i * CL_NODES + 1u, k * CL_NODES);
    if (cl_touch(p1, q1))
        joined += cl_join(v.parent, i * CL_NODES + 1u, k * CL_NODES + 1u);
    return joined;
}

/* Item i with those of the next column, which begin at *at or behind it. */
TRG_FN trg_u32 cl_join_column(const struct cl_view v, trg_u32 i, trg_u32 *at)
{
    const trg_u32 key = v.key[i], p = v.pattern[i], beside = key + CL_COLUMN_STEP;
    const trg_u32 from = CL_ROW_OF(key) ? beside - 1u : beside;
    const trg_u32 to = CL_ROW_OF(key) + 1u < CL_COLUMN_STEP ? beside + 1u : beside;
    trg_u32 joined = 0u, k = cl_seek(v.key, *at, v.n, from);

    *at = k;
    for (; k < v.n && v.key[k] <= to; k++) {
        const trg_u32 q = v.pattern[k];

        if (q & CL_ALONE)
            continue;
        if (v.key[k] == beside)
            joined += cl_join_beside(v, i, k);
        else if (v.key[k] > beside && (p & 0x80u) && (q & 0x01u))
            joined += cl_join(v.parent, cl_high_node(i, p), cl_low_node(k));
        else if (v.key[k] < beside && (p & 0x10u) && (q & 0x08u))
            joined += cl_join(v.parent, cl_low_node(i), cl_high_node(k, q));
    }
    return joined;
}

/* Item i with the neighbours behind it; returns how many sets fewer there are.  `at`: as in
 * cl_join_column. */
TRG_FN trg_u32 cl_join_item(const struct cl_view v, trg_u32 i, trg_u32 *at)
{
    const trg_u32 key = v.key[i], p = v.pattern[i];
    trg_u32 joined = 0u, k = i + 1u;

    while (k < v.n && v.key[k] == key) /* merged with this one */
        k++;
    if ((p & 0x88u) && CL_ROW_OF(key) + 1u < CL_COLUMN_STEP && k < v.n && v.key[k] == key + 1u &&
        (v.pattern[k] & 0x11u) && !(v.pattern[k] & CL_ALONE))
        joined = cl_join(v.parent, cl_high_node(i, p), cl_low_node(k));
    if ((p & 0xf0u) && CL_COLUMN_OF(key) + 1u < (1u << CL_COLUMN_BITS))
        joined += cl_join_column(v, i, at);
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
