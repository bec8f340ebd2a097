/* SPDX-License-Identifier: Apache-2.0 */
/* hashed.h - voting in all four parameters of x = a + b z, y = c + d z at once: the line through
 * each pair of hits votes for its cell (a, b, c, d) in two grids that are shifted by half a cell.
 * Places of a table, chosen by a hash, stand for the cells.  A place counts votes and keeps two
 * pairs: that of the cell with the lowest tag (more bits of the hash) and that of the highest, so
 * that where two cells meet both are told.  Nothing of it depends on the order of work. */
#ifndef HOUGH_HASHED_H
#define HOUGH_HASHED_H
#include "refine.h"

/* A cell's number along one axis, also for numbers that no detector gives. */
TRG_FN trg_u32 hg_cell(float f)
{
    return (trg_u32)(trg_i32)trg_floor(f > -1e9f ? f < 1e9f ? f : 1e9f : -1e9f);
}

/* A hash of the cell that a line falls into, `shift` cells along each axis. */
TRG_FN trg_u32 hg_hash(const struct hg_par par, float x, float y, float z, float tx, float ty,
                       float shift)
{
    const float dz = z - par.grid.z0;
    const trg_u32 a = hg_cell((x - tx * dz) * par.hash_inv_mm + shift);
    const trg_u32 b = hg_cell(tx * par.hash_inv_slope + shift);
    const trg_u32 c = hg_cell((y - ty * dz) * par.hash_inv_mm + shift);
    const trg_u32 d = hg_cell(ty * par.hash_inv_slope + shift);
    trg_u32 h = a * 2654435761u + (shift > 0.0f ? 0x9e3779b9u : 0u);

    h = (h ^ h >> 15) * 2246822519u + b * 3266489917u;
    h = (h ^ h >> 13) * 668265263u + c * 374761393u;
    h = (h ^ h >> 16) * 2654435761u + d * 2246822519u;
    h = (h ^ h >> 15) * 2246822519u;
    return h ^ h >> 13;
}

struct hg_table {                           /* [places] each */
    TRG_LOCAL trg_u32 *counts, *low, *high; /* pairs as tag << 18 | i << 9 | j */
    trg_u32 places;                         /* a power of two */
};

TRG_FN trg_u32 hg_pair_of(trg_u32 kept)
{
    return kept & 262143u;
}

/* The hash of the cell of the line through the hits i and j of a window in one of the two grids. */
TRG_FN trg_u32 hg_hash_pair(const struct hg_view v, const struct hg_par par, trg_u32 pair,
                            trg_u32 grid)
{
    const trg_u32 a = hg_at(v.in, pair / HG_SIDE), b = hg_at(v.in, pair % HG_SIDE);
    const struct hg_line l = hg_through(v.x[a], v.y[a], v.z[a], v.x[b], v.y[b], v.z[b]);

    return hg_hash(par, l.x, l.y, l.z, l.tx, l.ty, grid ? 0.5f : 0.0f);
}

/* Votes for the line through the hits i < j of a window. */
TRG_FN void hg_vote_hashed(const struct hg_table t, const struct hg_view v, const struct hg_par par,
                           trg_u32 i, trg_u32 j)
{
    const trg_u32 p = hg_at(v.in, i), q = hg_at(v.in, j), pair = i * HG_SIDE + j;

    if (!(v.z[p] < v.z[q] ? hg_may_pair(v, par, p, q) : hg_may_pair(v, par, q, p)))
        return;
    for (trg_u32 grid = 0; grid < 2u; grid++) {
        const trg_u32 h = hg_hash_pair(v, par, pair, grid), at = h & (t.places - 1u);

        TRG_ATOMIC_ADD_LOCAL(&t.counts[at], 1u);
        TRG_ATOMIC_MIN_LOCAL(&t.low[at], (h >> 18) << 18 | pair);
        TRG_ATOMIC_MAX_LOCAL(&t.high[at], (h >> 18) << 18 | pair);
    }
}

/* Whether a pair that a place keeps is kept in the other grid as well, and that place tells of it:
 * the one with more votes, the first of equals. */
TRG_FN trg_u32 hg_told_elsewhere(const struct hg_table t, const struct hg_view v,
                                 const struct hg_par par, trg_u32 at, trg_u32 pair)
{
    const trg_u32 one = hg_hash_pair(v, par, pair, 0u) & (t.places - 1u);
    const trg_u32 other = one == at ? hg_hash_pair(v, par, pair, 1u) & (t.places - 1u) : one;

    if (hg_pair_of(t.low[other]) != pair && hg_pair_of(t.high[other]) != pair)
        return 0u;
    return t.counts[other] > t.counts[at] || (t.counts[other] == t.counts[at] && other < at);
}
#endif
