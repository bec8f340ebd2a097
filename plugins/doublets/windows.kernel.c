/* SPDX-License-Identifier: Apache-2.0 */
/* Doublets on a GPU without trees: hits are put into cells of layer and phi, so that those of a
 * window in phi lie behind one another, and a gang of work-items holds them against the cuts.
 * Twice: the first time counts, sums of the counts say where each hit's doublets go, the second
 * time writes them, and each finds its place in its row by counting the smaller ones.
 *
 * dbw_clear -> dbw_cells -> dbw_starts -> dbw_place -> dbw_count -> dbt_sum -> dbt_offsets ->
 * dbw_fill -> dbw_order
 *
 * The order within a cell is chance; the result is that of doublets.kernel.c, to the bit. */
#include "../kdtree/layout.h"
#include "doublets.h"
#include "insert.h"
#include "trigd/common/group.h"
#include "trigd/kernel.h"

/* The bin of an angle: no angle is in a lower bin than a smaller one. */
TRG_FN trg_u32 dbw_bin(float phi)
{
    const float at = (phi + DBT_PI) * ((float)DBW_BINS / DBT_TURN);

    if (!(at > 0.0f))
        return 0u;
    return at < (float)(DBW_BINS - 1u) ? (trg_u32)at : DBW_BINS - 1u;
}

TRG_KERNEL2(dbw_clear, (trg_u32, cells), (trg_u32, trees), (struct dbt_par, par))
{
    TRG_GLOBAL trg_u32 *extents = trees + par.n_rois * 2u * DBT_LAYERS;

    for (trg_u32 i = TRG_GID * TRG_LSIZE + TRG_LID; i < par.n_rois * DBW_ROOM;
         i += TRG_GROUPS * TRG_LSIZE) {
        cells[i] = 0u;
        if (i < par.n_rois * 4u * DBT_LAYERS)
            extents[i] = i & 1u ? 0u : 0xffffffffu;
    }
}

/* `parts` groups an RoI: the cell of each hit and its number in it, and where the hits of each
 * layer are. */
TRG_KERNEL5(dbw_cells, (const trg_u8, data), (trg_u32, numbers), (trg_u32, cells), (trg_u32, trees),
            (trg_u32, counts), (struct dbt_par, par))
{
    TRG_SHARED trg_u32 extent[DBT_LAYERS * 4u];
    const trg_u32 roi = TRG_GID / par.parts, part = TRG_GID % par.parts;
    const trg_u32 base = TRG_BEGIN(data, par.in, roi);
    const trg_u32 n = TRG_END(data, par.in, roi) - base;
    TRG_GLOBAL const float *x = TRG_HITS_X(data, par.in) + base;
    TRG_GLOBAL const float *y = TRG_HITS_Y(data, par.in) + base;
    TRG_GLOBAL const float *z = TRG_HITS_Z(data, par.in) + base;
    TRG_GLOBAL const trg_u16 *layer = TRG_HITS_LAYER(data, par.in) + base;
    TRG_GLOBAL trg_u32 *extents = trees + (par.n_rois * 2u + roi * 4u) * DBT_LAYERS;

    for (trg_u32 l = TRG_LID; l < DBT_LAYERS * 4u; l += TRG_LSIZE)
        extent[l] = l & 1u ? 0u : 0xffffffffu;
    TRG_BARRIER();
    for (trg_u32 i = part * TRG_LSIZE + TRG_LID; i < n; i += par.parts * TRG_LSIZE) {
        const struct dbt_hit h = dbt_about_beam(par.cuts, x[i], y[i], z[i]);
        const trg_u32 l = layer[i] < DBT_LAYERS && dbt_is_good(h) ? layer[i] : DBT_LAYERS;
        const trg_u32 cell = l * DBW_BINS + (l < DBT_LAYERS ? dbw_bin(dbt_phi(h.x, h.y)) : 0u);

        numbers[2u * par.room + base + i] = cell;
        numbers[3u * par.room + base + i] =
            TRG_ATOMIC_ADD_GLOBAL(&cells[roi * DBW_ROOM + cell], 1u);
        counts[base + i] = counts[par.room + base + i] = 0u;
        if (l < DBT_LAYERS) {
            TRG_ATOMIC_MIN_LOCAL(&extent[4u * l], kd_key(h.r));
            TRG_ATOMIC_MAX_LOCAL(&extent[4u * l + 1u], kd_key(h.r));
            TRG_ATOMIC_MIN_LOCAL(&extent[4u * l + 2u], kd_key(h.z));
            TRG_ATOMIC_MAX_LOCAL(&extent[4u * l + 3u], kd_key(h.z));
        }
    }
    TRG_BARRIER();
    for (trg_u32 l = TRG_LID; l < DBT_LAYERS * 4u; l += TRG_LSIZE) {
        if (l & 1u)
            TRG_ATOMIC_MAX_GLOBAL(&extents[l], extent[l]);
        else
            TRG_ATOMIC_MIN_GLOBAL(&extents[l], extent[l]);
    }
}

/* One group an RoI: where each cell begins, and each layer. */
TRG_KERNEL3(dbw_starts, (const trg_u8, data), (trg_u32, cells), (trg_u32, trees),
            (struct dbt_par, par))
{
    TRG_SHARED trg_u32 scratch[TRG_GROUP_SCRATCH];
    TRG_GLOBAL trg_u32 *cell = cells + TRG_GID * DBW_ROOM;
    TRG_GLOBAL trg_u32 *tree = trees + TRG_GID * DBT_LAYERS * 2u;

    trg_group_scan_global(scratch, cell, DBW_ROOM);
    for (trg_u32 l = TRG_LID; l < DBT_LAYERS; l += TRG_LSIZE) {
        tree[2u * l] = TRG_BEGIN(data, par.in, TRG_GID) + cell[l * DBW_BINS];
        tree[2u * l + 1u] = cell[(l + 1u) * DBW_BINS] - cell[l * DBW_BINS];
    }
}

/* `parts` groups an RoI: hits go to their places. */
TRG_KERNEL4(dbw_place, (const trg_u8, data), (trg_u32, numbers), (const trg_u32, cells),
            (float, hits), (struct dbt_par, par))
{
    const trg_u32 roi = TRG_GID / par.parts, part = TRG_GID % par.parts;
    const trg_u32 base = TRG_BEGIN(data, par.in, roi);
    const trg_u32 n = TRG_END(data, par.in, roi) - base;
    TRG_GLOBAL const float *x = TRG_HITS_X(data, par.in) + base;
    TRG_GLOBAL const float *y = TRG_HITS_Y(data, par.in) + base;
    TRG_GLOBAL const float *z = TRG_HITS_Z(data, par.in) + base;

    for (trg_u32 i = part * TRG_LSIZE + TRG_LID; i < n; i += par.parts * TRG_LSIZE) {
        const struct dbt_hit h = dbt_about_beam(par.cuts, x[i], y[i], z[i]);
        const trg_u32 cell = numbers[2u * par.room + base + i];
        const trg_u32 p = base + cells[roi * DBW_ROOM + cell] + numbers[3u * par.room + base + i];

        numbers[p] = cell / DBW_BINS;
        numbers[par.room + p] = i;
        hits[p] = h.x;
        hits[par.room + p] = h.y;
        hits[2u * par.room + p] = h.z;
        hits[3u * par.room + p] = h.r;
        hits[4u * par.room + p] = dbt_phi(h.x, h.y);
    }
}

struct dbw_view { /* one RoI */
    TRG_GLOBAL const float *x, *y, *z, *r, *phi;
    TRG_GLOBAL const trg_u32 *layer, *number, *cell, *extents;
};

TRG_FN struct dbw_view dbw_view_of(TRG_GLOBAL const float *hits, TRG_GLOBAL const trg_u32 *numbers,
                                   TRG_GLOBAL const trg_u32 *cells, TRG_GLOBAL const trg_u32 *trees,
                                   const struct dbt_par par, trg_u32 roi)
{
    const trg_u32 base = trees[2u * roi * DBT_LAYERS];
    struct dbw_view v;

    v.x = hits + base;
    v.y = v.x + par.room;
    v.z = v.y + par.room;
    v.r = v.z + par.room;
    v.phi = v.r + par.room;
    v.layer = numbers + base;
    v.number = v.layer + par.room;
    v.cell = cells + roi * DBW_ROOM;
    v.extents = trees + (par.n_rois * 2u + roi * 4u) * DBT_LAYERS;
    return v;
}

TRG_FN struct dbt_hit dbw_hit(const struct dbw_view v, trg_u32 p)
{
    struct dbt_hit h;

    h.x = v.x[p];
    h.y = v.y[p];
    h.z = v.z[p];
    h.r = v.r[p];
    h.phi = v.phi[p];
    return h;
}

/* Whether the hit at place p is a doublet with i: what most fail is asked first. */
TRG_FN trg_u32 dbw_accepts(const struct dbw_view v, const struct dbt_cuts cuts,
                           const struct dbt_pair pair, const struct dbt_hit i, trg_u32 p)
{
    const float r = v.r[p], z = v.z[p];

    if (!(trg_fabs(i.z * r - z * i.r) <= cuts.beam_half * (r - i.r)))
        return 0u;
    return dbt_accepts(cuts, pair, i, dbw_hit(v, p));
}

/* The places of the outer layer whose phi is in the box: begin[0] .. end[0] - 1, and as many again
 * where it goes round.  Roads are at most 1.5 rad, so it never meets itself. */
TRG_FN void dbw_window(const struct dbw_view v, const struct dbt_cuts cuts,
                       const struct dbt_pair pair, const struct dbt_hit i, trg_u32 begin[2],
                       trg_u32 end[2])
{
    TRG_GLOBAL const trg_u32 *cell = v.cell + pair.outer * DBW_BINS;
    TRG_GLOBAL const trg_u32 *extent = v.extents + 4u * pair.outer;
    struct dbt_extent e;
    struct dbt_box box;

    begin[0] = end[0] = begin[1] = end[1] = 0u;
    if (cell[0] == cell[DBW_BINS])
        return;
    e.r_low = kd_unkey(extent[0]);
    e.r_high = kd_unkey(extent[1]);
    e.z_low = kd_unkey(extent[2]);
    e.z_high = kd_unkey(extent[3]);
    box = dbt_box_of(cuts, pair, i, e);
    if (!(box.low[1] <= box.high[1]))
        return;
    begin[0] = cell[box.low[0] < -DBT_PI ? 0u : dbw_bin(box.low[0])];
    end[0] = cell[box.high[0] > DBT_PI ? DBW_BINS : dbw_bin(box.high[0]) + 1u];
    if (box.low[0] < -DBT_PI) {
        begin[1] = cell[dbw_bin(box.low[0] + DBT_TURN)];
        end[1] = cell[DBW_BINS];
    } else if (box.high[0] > DBT_PI) {
        begin[1] = cell[0];
        end[1] = cell[dbw_bin(box.high[0] - DBT_TURN) + 1u];
    }
}

/* `parts` groups an RoI: how many doublets begin with each of its hits. */
TRG_KERNEL5(dbw_count, (const float, hits), (const trg_u32, numbers), (const trg_u32, cells),
            (const trg_u32, trees), (trg_u32, counts), (struct dbt_par, par))
{
    const trg_u32 roi = TRG_GID / par.parts, part = TRG_GID % par.parts;
    const struct dbw_view v = dbw_view_of(hits, numbers, cells, trees, par, roi);
    const trg_u32 base = trees[2u * roi * DBT_LAYERS], items = v.cell[DBW_CELLS] * par.gang;

    for (trg_u32 w = part * TRG_LSIZE + TRG_LID; w < items; w += par.parts * TRG_LSIZE) {
        const trg_u32 at = w / par.gang, lane = w & (par.gang - 1u), layer = v.layer[at];
        const struct dbt_hit i = dbw_hit(v, at);
        trg_u32 n = 0u;

        for (trg_u32 k = 0u; k < par.n_pairs; k++) {
            trg_u32 begin[2], end[2];

            if (par.pair[k].inner != layer)
                continue;
            dbw_window(v, par.cuts, par.pair[k], i, begin, end);
            for (trg_u32 side = 0u; side < 2u; side++)
                for (trg_u32 p = begin[side] + lane; p < end[side]; p += par.gang)
                    n += dbw_accepts(v, par.cuts, par.pair[k], i, p);
        }
        if (n)
            TRG_ATOMIC_ADD_GLOBAL(&counts[base + v.number[at]], n);
    }
}

/* The doublets of a whole row, in any order: `taken` counts those that have a place. */
TRG_FN void dbw_fill_row(const struct dbw_view v, const struct dbt_par par, trg_u32 at,
                         trg_u32 lane, TRG_GLOBAL trg_u32 *taken, TRG_GLOBAL trg_u32 *row,
                         TRG_GLOBAL trg_u32 *inner)
{
    const struct dbt_hit i = dbw_hit(v, at);

    for (trg_u32 k = 0u; k < par.n_pairs; k++) {
        trg_u32 begin[2], end[2];

        if (par.pair[k].inner != v.layer[at])
            continue;
        dbw_window(v, par.cuts, par.pair[k], i, begin, end);
        for (trg_u32 side = 0u; side < 2u; side++)
            for (trg_u32 p = begin[side] + lane; p < end[side]; p += par.gang)
                if (dbw_accepts(v, par.cuts, par.pair[k], i, p)) {
                    const trg_u32 place = TRG_ATOMIC_ADD_GLOBAL(taken, 1u);

                    row[place] = v.number[p];
                    inner[place] = v.number[at];
                }
    }
}

/* The `cap` smallest of a row, in order. */
TRG_FN void dbw_fill_some(const struct dbw_view v, const struct dbt_par par, trg_u32 at,
                          TRG_GLOBAL trg_u32 *row, TRG_GLOBAL trg_u32 *inner, trg_u32 cap)
{
    const struct dbt_hit i = dbw_hit(v, at);
    trg_u32 found = 0u;

    for (trg_u32 k = 0u; k < par.n_pairs; k++) {
        trg_u32 begin[2], end[2];

        if (par.pair[k].inner != v.layer[at])
            continue;
        dbw_window(v, par.cuts, par.pair[k], i, begin, end);
        for (trg_u32 side = 0u; side < 2u; side++)
            for (trg_u32 p = begin[side]; p < end[side]; p++)
                if (dbw_accepts(v, par.cuts, par.pair[k], i, p))
                    dbt_insert(row, cap, found++, v.number[p]);
    }
    for (trg_u32 k = 0u; k < cap; k++)
        inner[k] = v.number[at];
}

/* Doublets of hit number i of an RoI of n hits, which begin at `at`. */
TRG_FN trg_u32 dbw_row_size(TRG_GLOBAL const trg_u32 *counts, trg_u32 n, trg_u32 wanted, trg_u32 i)
{
    return (i + 1u < n ? counts[i + 1u] : wanted) - counts[i];
}

/* The same as dbw_count, once more: writes rows to `loose`; the row that the limit cuts goes to its
 * place at once. */
TRG_KERNEL8(dbw_fill, (const float, hits), (const trg_u32, numbers), (const trg_u32, cells),
            (const trg_u32, trees), (trg_u32, counts), (const struct dbt_summary, summaries),
            (trg_u32, loose), (trg_u8, out), (struct dbt_par, par))
{
    const trg_u32 roi = TRG_GID / par.parts, part = TRG_GID % par.parts;
    const struct dbw_view v = dbw_view_of(hits, numbers, cells, trees, par, roi);
    const trg_u32 base = trees[2u * roi * DBT_LAYERS], items = v.cell[DBW_CELLS] * par.gang;
    const trg_u32 n = v.cell[DBW_CELLS + 1u], kept = summaries[roi].kept;
    const trg_u32 to = TRG_BEGIN(out, par.out, roi);
    TRG_GLOBAL trg_u32 *inner = TRG_DOUBLETS_INNER_OUT(out, par.out) + to;
    TRG_GLOBAL trg_u32 *outer = TRG_DOUBLETS_OUTER_OUT(out, par.out) + to;

    for (trg_u32 w = part * TRG_LSIZE + TRG_LID; w < items; w += par.parts * TRG_LSIZE) {
        const trg_u32 at = w / par.gang, lane = w & (par.gang - 1u), number = v.number[at];
        const trg_u32 row = counts[base + number];
        const trg_u32 size = dbw_row_size(counts + base, n, summaries[roi].wanted, number);

        if (!size || row >= kept)
            continue;
        if (row + size <= kept)
            dbw_fill_row(v, par, at, lane, &counts[par.room + base + number], loose + to + row,
                         inner + row);
        else if (lane == 0u)
            dbw_fill_some(v, par, at, outer + row, inner + row, kept - row);
    }
}

/* Each doublet of a whole row goes behind those with a smaller number. */
TRG_KERNEL5(dbw_order, (const trg_u8, data), (const trg_u32, counts),
            (const struct dbt_summary, summaries), (const trg_u32, loose), (trg_u8, out),
            (struct dbt_par, par))
{
    const trg_u32 roi = TRG_GID / par.parts, part = TRG_GID % par.parts;
    const trg_u32 base = TRG_BEGIN(data, par.in, roi), kept = summaries[roi].kept;
    const trg_u32 n = TRG_END(data, par.in, roi) - base;
    const trg_u32 to = TRG_BEGIN(out, par.out, roi);
    TRG_GLOBAL const trg_u32 *inner = TRG_DOUBLETS_INNER(out, par.out) + to;
    TRG_GLOBAL trg_u32 *outer = TRG_DOUBLETS_OUTER_OUT(out, par.out) + to;

    for (trg_u32 j = part * TRG_LSIZE + TRG_LID; j < kept; j += par.parts * TRG_LSIZE) {
        const trg_u32 row = counts[base + inner[j]];
        const trg_u32 size = dbw_row_size(counts + base, n, summaries[roi].wanted, inner[j]);
        TRG_GLOBAL const trg_u32 *other = loose + to + row;
        trg_u32 place = row;

        if (row + size > kept)
            continue;
        for (trg_u32 k = 0u; k < size; k++)
            place += (trg_u32)(other[k] < loose[to + j]);
        outer[place] = loose[to + j];
    }
}
