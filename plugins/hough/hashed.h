/* SPDX-License-Identifier: Apache-2.0 */
/* hashed.h - voting in all four parameters of x = a + b z, y = c + d z at once: the line through
 * each pair of hits that a third lies on votes for its cell (a, b, c, d) in two grids that are
 * shifted by half a cell.
 * Places of a table, chosen by a hash, stand for the cells.  A place counts votes and keeps two
 * pairs: that of the cell with the lowest tag (more bits of the hash) and that of the highest, so
 * that both are known where two cells meet.  The result does not depend on the order of work. */
#ifndef HOUGH_HASHED_H
#define HOUGH_HASHED_H
#include "refine.h"

/* A cell's number along one axis, also for numbers that no detector gives. */
TRG_FN trg_u32 hg_cell(float f)
{
    return (trg_u32)(trg_i32)trg_floor(f > -1e9f ? f < 1e9f ? f : 1e9f : -1e9f);
}

struct hg_place { /* of a line among the cells, in units of their width */
    float a, b, c, d;
};

TRG_FN struct hg_place hg_place_of(const struct hg_par par, const struct hg_line l)
{
    const float dz = l.z - par.grid.z0;
    struct hg_place p;

    p.a = (l.x - l.tx * dz) * par.hash_inv_mm;
    p.b = l.tx * par.hash_inv_slope;
    p.c = (l.y - l.ty * dz) * par.hash_inv_mm;
    p.d = l.ty * par.hash_inv_slope;
    return p;
}

/* A hash of the cell that a line falls into, in one of the two grids. */
TRG_FN trg_u32 hg_hash(const struct hg_place p, trg_u32 grid)
{
    const float shift = grid ? 0.5f : 0.0f;
    trg_u32 h = hg_cell(p.a + shift) * 2654435761u + (grid ? 0x9e3779b9u : 0u);

    h = (h ^ h >> 15) * 2246822519u + hg_cell(p.b + shift) * 3266489917u;
    h = (h ^ h >> 13) * 668265263u + hg_cell(p.c + shift) * 374761393u;
    h = (h ^ h >> 16) * 2654435761u + hg_cell(p.d + shift) * 2246822519u;
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

/* The line through the two hits of a pair of a window. */
TRG_FN struct hg_line hg_line_of(const struct hg_view v, trg_u32 pair)
{
    const trg_u32 a = hg_at(v.in, pair / HG_SIDE), b = hg_at(v.in, pair % HG_SIDE);

    return hg_through(v.x[a], v.y[a], v.z[a], v.x[b], v.y[b], v.z[b]);
}

/* Whether the line through two hits of a window is worth a vote. */
TRG_FN trg_u32 hg_may_vote(const struct hg_view v, const struct hg_par par, trg_u32 i, trg_u32 j)
{
    const trg_u32 p = hg_at(v.in, i), q = hg_at(v.in, j), back = v.z[q] < v.z[p];

    return hg_may_pair(v, par, back ? q : p, back ? p : q);
}

/* The first hit from place `from` of a window on, up to `end`, whose layer is not below `layer`. */
TRG_FN trg_u32 hg_from_layer(const struct hg_view v, trg_u32 from, trg_u32 end, trg_u32 layer)
{
    while (from < end) {
        const trg_u32 middle = (from + end) / 2u;

        if (v.layer[hg_at(v.in, middle)] < layer)
            from = middle + 1u;
        else
            end = middle;
    }
    return from;
}

/* Whether a pair that a place keeps is kept in the other grid as well, and that place tells of it:
 * the one with more votes, the first of equals. */
TRG_FN trg_u32 hg_told_elsewhere(const struct hg_table t, const struct hg_view v,
                                 const struct hg_par par, trg_u32 at, trg_u32 pair)
{
    const struct hg_place p = hg_place_of(par, hg_line_of(v, pair));
    const trg_u32 one = hg_hash(p, 0u) & (t.places - 1u);
    const trg_u32 other = one == at ? hg_hash(p, 1u) & (t.places - 1u) : one;

    if (hg_pair_of(t.low[other]) != pair && hg_pair_of(t.high[other]) != pair)
        return 0u;
    return t.counts[other] > t.counts[at] || (t.counts[other] == t.counts[at] && other < at);
}

/* Whether a hit among places `from` to `end` lies on a line, on a layer behind `last` and near it.
 */
TRG_FN trg_u32 hg_goes_on(const struct hg_view v, const struct hg_par par, const struct hg_line l,
                          trg_u32 last, trg_u32 from, trg_u32 end)
{
    for (; from < end; from++) {
        const trg_u32 h = hg_at(v.in, from), layer = v.layer[h];
        const float tol = hg_tolerance(par, v.z[h], l.z, l.z);

        if (layer > last + par.max_gap)
            break;
        if (layer > last && hg_off2(l, v.x[h], v.y[h], v.z[h]) <= tol * tol)
            return 1u;
    }
    return 0u;
}

/* Whether a third hit of the window lies on the line of a pair, behind it: most pairs have nothing
 * in common, and would fill the table. */
TRG_FN trg_u32 hg_is_line(const struct hg_view v, const struct hg_par par, trg_u32 pair)
{
    const trg_u32 i = pair / HG_SIDE, j = pair % HG_SIDE, n = v.n_first_bin;
    const trg_u32 swap = v.layer[hg_at(v.in, i)] > v.layer[hg_at(v.in, j)];
    const trg_u32 behind = swap ? i : j, last = v.layer[hg_at(v.in, behind)];
    const struct hg_line l = hg_line_of(v, pair);

    if (behind < n)
        return hg_goes_on(v, par, l, last, behind + 1u, n) ||
               hg_goes_on(v, par, l, last, hg_from_layer(v, n, v.in.n, last + 1u), v.in.n);
    return hg_goes_on(v, par, l, last, behind + 1u, v.in.n) ||
           hg_goes_on(v, par, l, last, hg_from_layer(v, 0u, n, last + 1u), n);
}

/* PoCL, where it does not take in a function, copies all structures that this is given, for every
 * pair, and loses a third of its speed. */
#ifdef __OPENCL_VERSION__
#define HG_TAKEN_IN __attribute__((always_inline))
#else
#define HG_TAKEN_IN
#endif

/* Votes for the line of a pair, if it is one. */
TRG_FN HG_TAKEN_IN void hg_vote_hashed(const struct hg_table t, const struct hg_view v,
                                       const struct hg_par par, trg_u32 pair)
{
    const struct hg_place place = hg_place_of(par, hg_line_of(v, pair));

    if (!hg_is_line(v, par, pair))
        return;
    for (trg_u32 grid = 0; grid < 2u; grid++) {
        const trg_u32 h = hg_hash(place, grid), at = h & (t.places - 1u);

        TRG_ATOMIC_ADD_LOCAL(&t.counts[at], 1u);
        TRG_ATOMIC_MIN_LOCAL(&t.low[at], (h >> 18) << 18 | pair);
        TRG_ATOMIC_MAX_LOCAL(&t.high[at], (h >> 18) << 18 | pair);
    }
}
#endif
