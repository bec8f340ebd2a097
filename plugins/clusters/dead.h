/* SPDX-License-Identifier: Apache-2.0 */
/* dead.h - pixels that are dead or noisy: rectangles, by sensor and first column. */
#ifndef CLUSTERS_DEAD_H
#define CLUSTERS_DEAD_H
#include "clusters.h"

#define CL_DEAD_ROWS 8192u /* as dead_channels.yaml allows */

struct cl_dead { /* places of pixels; the last ones belong to it */
    trg_u32 first_column, last_column, first_row, last_row;
    trg_u32 reach; /* the highest last_column up to here, of this sensor */
};

/* The map has a bit for two columns of a sensor: whether some of their pixels are dead. */
#define CL_MAP_WORDS(n_columns) (((n_columns) + 63u) / 64u)
#define CL_MAP_WORD(column)     ((column) / 64u)
#define CL_MAP_BIT(column)      ((column) / 2u % 32u)

struct cl_mask_par {
    struct cl_par common;
    struct trg_span masked;
};

struct cl_dead_view {
    TRG_GLOBAL const trg_u32 *first; /* [n_sensors + 1] where the rectangles of each begin */
    TRG_GLOBAL const trg_u32 *map;   /* [n_sensors][CL_MAP_WORDS] */
    TRG_GLOBAL const struct cl_dead *dead;
};

/* The first of [from, to) that reaches a column. */
TRG_FN trg_u32 cl_dead_from(TRG_GLOBAL const struct cl_dead *dead, trg_u32 from, trg_u32 to,
                            trg_u32 column)
{
    while (from < to) {
        const trg_u32 middle = (from + to) / 2u;

        if (dead[middle].reach < column)
            from = middle + 1u;
        else
            to = middle;
    }
    return from;
}

/* Rows from `row` on that a rectangle has, a bit each. */
TRG_FN trg_u32 cl_dead_rows(TRG_GLOBAL const struct cl_dead *d, trg_u32 row, trg_u32 n_rows)
{
    trg_u32 rows = 0u;

    for (trg_u32 k = 0u; k < n_rows; k++)
        rows |= (row + k >= d->first_row && row + k <= d->last_row ? 1u : 0u) << k;
    return rows;
}

/* The dead pixels of n_columns x n_rows, in bits, column after column.  No two columns of the map
 * are touched. */
TRG_FN trg_u32 cl_dead_pixels(const struct cl_dead_view v, const struct cl_par par, trg_u32 sensor,
                              trg_u32 column, trg_u32 row, trg_u32 n_columns, trg_u32 n_rows)
{
    const trg_u32 words = CL_MAP_WORDS(par.n_columns), to = v.first[sensor + 1u];
    trg_u32 pixels = 0u;

    if (!(v.map[sensor * words + CL_MAP_WORD(column)] >> CL_MAP_BIT(column) & 1u))
        return 0u;
    for (trg_u32 i = cl_dead_from(v.dead, v.first[sensor], to, column);
         i < to && v.dead[i].first_column < column + n_columns; i++)
        for (trg_u32 c = 0u; c < n_columns; c++)
            if (v.dead[i].first_column <= column + c && v.dead[i].last_column >= column + c)
                pixels |= cl_dead_rows(&v.dead[i], row, n_rows) << c * n_rows;
    return pixels;
}
#endif
