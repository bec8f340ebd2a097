/* SPDX-License-Identifier: Apache-2.0 */
/* hashed.h - voting in all four parameters of x = a + b z, y = c + d z at once: the line through
 * each pair of hits votes for its cell (a, b, c, d) in two grids that are shifted by half a cell.
 * A table of counts by hash stands for the cells; two cells that meet there look like one, which
 * costs a look by the refinement and nothing else.  Counts add up, and a place keeps the first pair
 * that voted for it: the order of work does not matter. */
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

/* The places of the two cells, one in each grid, of the line through the hits i and j of a window.
 */
struct hg_cells {
    trg_u32 at[2];
};

TRG_FN struct hg_cells hg_cells_of(const struct hg_view v, const struct hg_par par, trg_u32 i,
                                   trg_u32 j, trg_u32 places)
{
    const trg_u32 a = hg_at(v.in, i), b = hg_at(v.in, j);
    const struct hg_line l = hg_through(v.x[a], v.y[a], v.z[a], v.x[b], v.y[b], v.z[b]);
    struct hg_cells c;

    c.at[0] = hg_hash(par, l.x, l.y, l.z, l.tx, l.ty, 0.0f) & (places - 1u);
    c.at[1] = hg_hash(par, l.x, l.y, l.z, l.tx, l.ty, 0.5f) & (places - 1u);
    return c;
}

/* Votes for the line through the hits i < j of a window: `counts` and `pairs` have `places` words
 * each, a power of two. */
TRG_FN void hg_vote_hashed(TRG_LOCAL trg_u32 *counts, TRG_LOCAL trg_u32 *pairs, trg_u32 places,
                           const struct hg_view v, const struct hg_par par, trg_u32 i, trg_u32 j)
{
    const trg_u32 p = hg_at(v.in, i), q = hg_at(v.in, j);
    struct hg_cells c;

    if (!(v.z[p] < v.z[q] ? hg_may_pair(v, par, p, q) : hg_may_pair(v, par, q, p)))
        return;
    c = hg_cells_of(v, par, i, j, places);
    for (trg_u32 g = 0; g < 2u; g++) {
        TRG_ATOMIC_ADD_LOCAL(&counts[c.at[g]], 1u);
        TRG_ATOMIC_MIN_LOCAL(&pairs[c.at[g]], i * HG_SIDE + j);
    }
}

/* Whether the pair that a place keeps is kept in the other grid as well, and that place tells of
 * it: the one with more votes, the first of equals. */
TRG_FN trg_u32 hg_told_elsewhere(TRG_LOCAL const trg_u32 *counts, TRG_LOCAL const trg_u32 *pairs,
                                 trg_u32 places, const struct hg_view v, const struct hg_par par,
                                 trg_u32 at)
{
    const struct hg_cells c = hg_cells_of(v, par, pairs[at] / HG_SIDE, pairs[at] % HG_SIDE, places);
    const trg_u32 other = c.at[0] == at ? c.at[1] : c.at[0];

    return pairs[other] == pairs[at] &&
           (counts[other] > counts[at] || (counts[other] == counts[at] && other < at));
}
#endif
