/* SPDX-License-Identifier: Apache-2.0 */
/* Doublets on a GPU without trees: hits are put into cells of layer and phi, so that those of a
 * window in phi lie behind one another, and gangs of work-items hold them against the cuts.  A
 * group keeps what it finds until it knows how many there are, and puts each hit's row in order: a
 * doublet goes behind the smaller ones.  Sums of the counts say where the rows go.
 *
 * dbw_clear -> dbw_cells -> dbw_starts -> dbw_place -> dbw_find -> dbt_sum -> dbt_offsets ->
 * dbw_fill -> dbw_order
 *
 * The order within a cell is chance; the result is that of doublets.kernel.c, to the bit. */
#include "../kdtree/layout.h"
#include "doublets.h"
#include "insert.h"
#include "trigd/common/group.h"
#include "trigd/common/portions.h"
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

    trg_group_scan_global(scratch, cell, DBW_CELLS + 2u);
    for (trg_u32 l = TRG_LID; l < DBT_LAYERS; l += TRG_LSIZE) {
        tree[2u * l] = TRG_BEGIN(data, par.in, TRG_GID) + cell[l * DBW_BINS];
        tree[2u * l + 1u] = cell[(l + 1u) * DBW_BINS] - cell[l * DBW_BINS];
    }
}

struct dbw_spot { /* of a hit, read as a whole */
    float x, y, z, r;
} __attribute__((aligned(16)));
struct dbw_mark { /* the rest of it */
    float phi;
    trg_u32 number;
} __attribute__((aligned(8)));

/* All of one, then all of the other. */
#define DBW_SPOTS(hits)  ((TRG_GLOBAL struct dbw_spot *)(TRG_GLOBAL void *)(hits))
#define DBW_CSPOTS(hits) ((TRG_GLOBAL const struct dbw_spot *)(TRG_GLOBAL const void *)(hits))
#define DBW_CMARKS(hits, room) \
    ((TRG_GLOBAL const struct dbw_mark *)(TRG_GLOBAL const void *)((hits) + 4u * (room)))
#define DBW_MARKS(hits, room) \
    ((TRG_GLOBAL struct dbw_mark *)(TRG_GLOBAL void *)((hits) + 4u * (room)))

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

        const struct dbw_spot spot = {h.x, h.y, h.z, h.r};
        const struct dbw_mark mark = {dbt_phi(h.x, h.y), i};

        numbers[p] = cell / DBW_BINS;
        DBW_SPOTS(hits)[p] = spot;
        DBW_MARKS(hits, par.room)[p] = mark;
    }
}

struct dbw_view { /* one RoI */
    TRG_GLOBAL const struct dbw_spot *spot;
    TRG_GLOBAL const struct dbw_mark *mark;
    TRG_GLOBAL const trg_u32 *layer, *cell, *extents;
};

TRG_FN struct dbw_view dbw_view_of(TRG_GLOBAL const float *hits, TRG_GLOBAL const trg_u32 *numbers,
                                   TRG_GLOBAL const trg_u32 *cells, TRG_GLOBAL const trg_u32 *trees,
                                   const struct dbt_par par, trg_u32 roi)
{
    const trg_u32 base = trees[2u * roi * DBT_LAYERS];
    struct dbw_view v;

    v.spot = DBW_CSPOTS(hits) + base;
    v.mark = DBW_CMARKS(hits, par.room) + base;
    v.layer = numbers + base;
    v.cell = cells + roi * DBW_ROOM;
    v.extents = trees + (par.n_rois * 2u + roi * 4u) * DBT_LAYERS;
    return v;
}

TRG_FN struct dbt_hit dbw_hit_of(const struct dbw_spot spot, const struct dbw_mark mark)
{
    struct dbt_hit h;

    h.x = spot.x;
    h.y = spot.y;
    h.z = spot.z;
    h.r = spot.r;
    h.phi = mark.phi;
    return h;
}

TRG_FN struct dbt_hit dbw_hit(const struct dbw_view v, trg_u32 p)
{
    return dbw_hit_of(v.spot[p], v.mark[p]);
}

/* Whether the hit at place p is a doublet with i: what most fail is asked first. */
TRG_FN trg_u32 dbw_accepts(const struct dbw_view v, const struct dbt_cuts cuts,
                           const struct dbt_pair pair, const struct dbt_hit i, trg_u32 p)
{
    const struct dbw_spot spot = v.spot[p];

    if (!(trg_fabs(i.z * spot.r - spot.z * i.r) <= cuts.beam_half * (spot.r - i.r)))
        return 0u;
    return dbt_accepts(cuts, pair, i, dbw_hit_of(spot, v.mark[p]));
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

/* What a group knows while it searches the windows of a tile: of each window its pair, and that
 * hits first on, side of them, then hits past on, are in it, numbered from 0 on to all; portions of
 * those before it; doublets that were found, of the tile and of each hit, whose they are, and their
 * outer hits. */
struct dbw_group {
    TRG_LOCAL trg_u32 *scratch, *pair, *first, *side, *past, *all, *begin;
    TRG_LOCAL trg_u32 *n, *taken, *size, *outer;
    TRG_LOCAL trg_u8 *whose;
    trg_u32 tile, here, gang; /* place of its first hit; how many it has; lanes of a portion */
};

/* The pair of a layer that is number `slot`; n_pairs: there is none. */
TRG_FN trg_u32 dbw_pair_of(const struct dbt_par *par, trg_u32 layer, trg_u32 slot)
{
    const trg_u32 k = par->first[layer] + slot;

    return k < par->first[layer + 1u] ? k : par->n_pairs;
}

/* Looks for window w of the tile, that of hit w % par->tile and of pair w / par->tile of its layer,
 * and notes it as number `to`.  Returns how many hits are in it. */
TRG_FN trg_u32 dbw_open(const struct dbw_view v, const struct dbt_par *par,
                        const struct dbw_group g, trg_u32 w, trg_u32 to)
{
    const trg_u32 own = w & (par->tile - 1u), slot = w >> trg_popcount(par->tile - 1u);
    const trg_u32 at = g.tile + own;
    trg_u32 k = par->n_pairs, begin[2] = {0u, 0u}, end[2] = {0u, 0u};

    if (own < g.here && slot < par->slots)
        k = dbw_pair_of(par, v.layer[at], slot);
    if (k < par->n_pairs)
        dbw_window(v, par->cuts, par->pair[k], dbw_hit(v, at), begin, end);
    g.pair[to] = k;
    g.first[to] = begin[0];
    g.side[to] = end[0] - begin[0];
    g.past[to] = begin[1] - (end[0] - begin[0]);
    g.all[to] = end[0] - begin[0] + (end[1] - begin[1]);
    return g.all[to];
}

/* Where the rows of an RoI whose first hit is number `first` of the batch begin in `loose`: each
 * RoI has as much room as it may have doublets. */
TRG_FN trg_u32 dbw_loose_of(const struct dbt_par par, trg_u32 roi, trg_u32 first)
{
    const trg_u64 by_roi = (trg_u64)roi * par.max_roi;
    const trg_u64 by_hit = (trg_u64)first * par.max_per_hit;

    return (trg_u32)(by_roi < by_hit ? by_roi : by_hit);
}

/* Where the row of hit number i, of those that begin at `base`, is in `loose`. */
TRG_FN TRG_GLOBAL trg_u32 *dbw_row_at(TRG_GLOBAL trg_u32 *numbers, const struct dbt_par par,
                                      trg_u32 base, trg_u32 i)
{
    return &numbers[2u * par.room + base + i]; /* the cells are not needed any more */
}

/* Every gang-th of the hits from number c on to number `end` of window k, which is that of hit
 * `own` of the tile, is held against the cuts. */
TRG_FN void dbw_search(const struct dbw_view v, const struct dbt_par *par, const struct dbw_group g,
                       trg_u32 own, trg_u32 k, trg_u32 c, trg_u32 end)
{
    const struct dbt_hit i = dbw_hit(v, g.tile + own);
    const struct dbt_pair pair = par->pair[g.pair[k]];
    const trg_u32 side = g.side[k];
    trg_u32 n = 0u;

    for (; c < end; c += g.gang) {
        const trg_u32 p = c + (c < side ? g.first[k] : g.past[k]);

        if (dbw_accepts(v, par->cuts, pair, i, p)) {
            const trg_u32 place = TRG_ATOMIC_ADD_LOCAL(g.n, 1u);

            n++;
            if (place < DBW_LISTED) {
                g.outer[place] = v.mark[p].number;
                g.whose[place] = (trg_u8)own;
            }
        }
    }
    if (n)
        TRG_ATOMIC_ADD_LOCAL(&g.size[own], n);
}

/* Searches all windows of a tile, as many at a time as the group has work-items, and deals out what
 * is in them in portions. */
TRG_GROUP_FN void dbw_search_tile(const struct dbw_view v, const struct dbt_par *par,
                                  const struct dbw_group g)
{
    const trg_u32 most = g.gang == 1u ? par->room : DBW_PORTION;

    for (trg_u32 w = 0u; w < par->tile * par->slots; w += TRG_LSIZE) {
        const trg_u32 in = dbw_open(v, par, g, w + TRG_LID, TRG_LID);
        trg_u32 total;
        const trg_u32 before = trg_group_scan(g.scratch, (in + most - 1u) / most, &total);

        g.begin[TRG_LID] = before;
        TRG_BARRIER();
        for (trg_u32 i = TRG_LID / g.gang; i < total; i += TRG_LSIZE / g.gang) {
            const trg_u32 k = trg_portion_owner(g.begin, TRG_LSIZE, i);
            const trg_u32 from = (i - g.begin[k]) * most;
            const trg_u32 end = g.all[k] - from < most ? g.all[k] : from + most;

            dbw_search(v, par, g, (w + k) & (par->tile - 1u), k, from + TRG_LID % g.gang, end);
        }
        TRG_BARRIER();
    }
}

/* The n doublets of a tile go to `loose`, row by row, each behind the smaller ones of its row. Rows
 * begin at g.size; `row` has room for all. */
TRG_GROUP_FN void dbw_order_tile(const struct dbw_group g, TRG_LOCAL trg_u32 *row, trg_u32 n,
                                 TRG_GLOBAL trg_u32 *loose)
{
    for (trg_u32 e = TRG_LID; e < n; e += TRG_LSIZE)
        row[TRG_ATOMIC_ADD_LOCAL(&g.size[g.whose[e]], 1u)] = g.outer[e];
    TRG_BARRIER();
    for (trg_u32 e = TRG_LID; e < n; e += TRG_LSIZE) {
        const trg_u32 own = g.whose[e], from = own ? g.size[own - 1u] : 0u;
        trg_u32 place = from;

        for (trg_u32 k = from; k < g.size[own]; k++)
            place += (trg_u32)(row[k] < g.outer[e]);
        loose[place] = g.outer[e];
    }
    TRG_BARRIER();
}

/* `parts` groups an RoI: how many doublets begin with each of its hits, and which.  A group takes
 * par.tile hits at a time.  Their rows go to `loose` in order, behind those of the groups that came
 * before.  A group that finds more than it can note leaves its rows to dbw_fill. */
TRG_KERNEL6(dbw_find, (const float, hits), (trg_u32, numbers), (trg_u32, cells),
            (const trg_u32, trees), (trg_u32, counts), (trg_u32, loose), (struct dbt_par, par))
{
    TRG_SHARED trg_u32 scratch[TRG_GROUP_SCAN_SCRATCH], size[DBW_TILE], outer[DBW_LISTED];
    TRG_SHARED trg_u32 windows[DBW_LISTED]; /* of columns of DBT_GROUP; then what was found */
    TRG_SHARED trg_u8 whose[DBW_LISTED];
    TRG_SHARED trg_u32 n_found, taken;
    const trg_u32 roi = TRG_GID / par.parts, part = TRG_GID % par.parts;
    const struct dbw_view v = dbw_view_of(hits, numbers, cells, trees, par, roi);
    const trg_u32 base = trees[2u * roi * DBT_LAYERS], n = v.cell[DBW_CELLS];
    const trg_u32 limit = dbt_limit_of(par.max_roi, par.max_per_hit, v.cell[DBW_CELLS + 1u]);
    struct dbw_group g = {scratch,
                          windows,
                          windows + DBT_GROUP,
                          windows + 2u * DBT_GROUP,
                          windows + 3u * DBT_GROUP,
                          windows + 4u * DBT_GROUP,
                          windows + 5u * DBT_GROUP,
                          &n_found,
                          &taken,
                          size,
                          outer,
                          whose,
                          0u,
                          0u,
                          1u};

    if (par.gang > 1u) /* not those who are one thread */
        g.gang = DBW_GANG;
    for (g.tile = part * par.tile; g.tile < n; g.tile += par.parts * par.tile) {
        trg_u32 total, fits, to;

        g.here = n - g.tile < par.tile ? n - g.tile : par.tile;
        for (trg_u32 h = TRG_LID; h < DBW_TILE; h += TRG_LSIZE)
            size[h] = 0u;
        if (TRG_LID == 0u)
            n_found = 0u;
        dbw_search_tile(v, &par, g);
        if (TRG_LID == 0u)
            taken = TRG_ATOMIC_ADD_GLOBAL(&cells[roi * DBW_ROOM + DBW_TAKEN], n_found);
        for (trg_u32 h = TRG_LID; h < g.here; h += TRG_LSIZE)
            counts[base + v.mark[g.tile + h].number] = size[h];
        total = trg_group_scan_local(scratch, size, DBW_TILE);
        if (total > DBW_LISTED)
            cells[roi * DBW_ROOM + DBW_LEFT] = 1u;                  /* all say so */
        fits = (trg_u32)(total <= limit && taken <= limit - total); /* or the RoI is TRUNCATED */
        to = fits ? dbw_loose_of(par, roi, base) + taken : 0u;
        for (trg_u32 h = TRG_LID; h < g.here; h += TRG_LSIZE)
            *dbw_row_at(numbers, par, base, v.mark[g.tile + h].number) =
                (to + size[h]) | (total > DBW_LISTED ? DBW_UNLISTED : 0u);
        TRG_BARRIER();
        dbw_order_tile(g, windows, fits && total <= DBW_LISTED ? total : 0u, loose + to);
    }
}

/* The doublets of a whole row, in any order: `taken` counts those that have a place. */
TRG_FN void dbw_fill_row(const struct dbw_view v, const struct dbt_par par, trg_u32 at,
                         trg_u32 lane, TRG_GLOBAL trg_u32 *taken, TRG_GLOBAL trg_u32 *row)
{
    const struct dbt_hit i = dbw_hit(v, at);

    for (trg_u32 k = 0u; k < par.n_pairs; k++) {
        trg_u32 begin[2], end[2];

        if (par.pair[k].inner != v.layer[at])
            continue;
        dbw_window(v, par.cuts, par.pair[k], i, begin, end);
        for (trg_u32 side = 0u; side < 2u; side++)
            for (trg_u32 p = begin[side] + lane; p < end[side]; p += par.gang)
                if (dbw_accepts(v, par.cuts, par.pair[k], i, p))
                    row[TRG_ATOMIC_ADD_GLOBAL(taken, 1u)] = v.mark[p].number;
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
                    dbt_insert(row, cap, found++, v.mark[p].number);
    }
    for (trg_u32 k = 0u; k < cap; k++)
        inner[k] = v.mark[at].number;
}

/* Doublets of hit number i of an RoI of n hits, which begin at `at`. */
TRG_FN trg_u32 dbw_row_size(TRG_GLOBAL const trg_u32 *counts, trg_u32 n, trg_u32 wanted, trg_u32 i)
{
    return (i + 1u < n ? counts[i + 1u] : wanted) - counts[i];
}

/* Rows that dbw_find left: those of a group that found too many, and all of an RoI with more than
 * its limit, of which the row that the limit cuts goes to its place at once. */
TRG_KERNEL8(dbw_fill, (const float, hits), (trg_u32, numbers), (const trg_u32, cells),
            (const trg_u32, trees), (trg_u32, counts), (const struct dbt_summary, summaries),
            (trg_u32, loose), (trg_u8, out), (struct dbt_par, par))
{
    const trg_u32 roi = TRG_GID / par.parts, part = TRG_GID % par.parts;
    const struct dbw_view v = dbw_view_of(hits, numbers, cells, trees, par, roi);
    const trg_u32 base = trees[2u * roi * DBT_LAYERS], n = v.cell[DBW_CELLS + 1u];
    const trg_u32 wanted = summaries[roi].wanted, kept = summaries[roi].kept;
    const trg_u32 is_left = (trg_u32)(wanted > kept || v.cell[DBW_LEFT]);
    const trg_u32 items = is_left ? v.cell[DBW_CELLS] * par.gang : 0u;
    const trg_u32 to = TRG_BEGIN(out, par.out, roi);
    TRG_GLOBAL trg_u32 *inner = TRG_DOUBLETS_INNER_OUT(out, par.out) + to;
    TRG_GLOBAL trg_u32 *outer = TRG_DOUBLETS_OUTER_OUT(out, par.out) + to;

    for (trg_u32 w = part * TRG_LSIZE + TRG_LID; w < items; w += par.parts * TRG_LSIZE) {
        const trg_u32 at = w / par.gang, lane = w & (par.gang - 1u), number = v.mark[at].number;
        const trg_u32 row = counts[base + number];
        const trg_u32 size = dbw_row_size(counts + base, n, wanted, number);
        const trg_u32 row_at = *dbw_row_at(numbers, par, base, number);
        TRG_GLOBAL trg_u32 *from =
            loose + (wanted > kept ? dbw_loose_of(par, roi, base) + row : row_at & ~DBW_UNLISTED);

        if (!size || row >= kept || (wanted <= kept && !(row_at & DBW_UNLISTED)))
            continue;
        if (row + size <= kept)
            dbw_fill_row(v, par, at, lane, &counts[par.room + base + number], from);
        else if (lane == 0u)
            dbw_fill_some(v, par, at, outer + row, inner + row, kept - row);
    }
}

/* Lane `lane` of a gang: its doublets of a row, which is in order, or else each goes behind those
 * with a smaller number. */
TRG_FN void dbw_order_row(TRG_GLOBAL const trg_u32 *from, trg_u32 size, trg_u32 number,
                          trg_u32 in_order, trg_u32 lane, trg_u32 gang, TRG_GLOBAL trg_u32 *inner,
                          TRG_GLOBAL trg_u32 *outer)
{
    for (trg_u32 j = lane; j < size; j += gang) {
        const trg_u32 own = from[j];
        trg_u32 place = j;

        if (!in_order) {
            place = 0u;
            for (trg_u32 k = 0u; k < size; k++)
                place += (trg_u32)(from[k] < own);
        }
        outer[place] = own;
        inner[j] = number;
    }
}

struct dbw_rows { /* of one RoI */
    TRG_GLOBAL const trg_u32 *count, *loose, *row_at;
    TRG_GLOBAL trg_u32 *inner, *outer;
    trg_u32 n, wanted, kept, to;
};

/* The row of hit i, if it is whole and no longer than DBW_LONG, or in order; with `is_long`, longer
 * ones that are not.  Returns whether it is one of those. */
TRG_FN trg_u32 dbw_order_hit(const struct dbw_rows r, trg_u32 i, trg_u32 is_long, trg_u32 lane,
                             trg_u32 gang)
{
    const trg_u32 row = r.count[i], size = dbw_row_size(r.count, r.n, r.wanted, i);
    const trg_u32 in_order = (trg_u32)(r.wanted <= r.kept && !(r.row_at[i] & DBW_UNLISTED));
    const trg_u32 at = r.wanted > r.kept ? r.to + row : r.row_at[i] & ~DBW_UNLISTED;
    const trg_u32 whole = (trg_u32)(size && row < r.kept && row + size <= r.kept);
    const trg_u32 waits = (trg_u32)(whole && size > DBW_LONG && !in_order);

    if (whole && waits == is_long)
        dbw_order_row(r.loose + at, size, i, in_order, lane, gang, r.inner + row, r.outer + row);
    return waits;
}

/* Rows to their places, in order.  A gang takes one, and the whole group a long one. */
TRG_KERNEL6(dbw_order, (const trg_u8, data), (const trg_u32, numbers), (const trg_u32, counts),
            (const struct dbt_summary, summaries), (const trg_u32, loose), (trg_u8, out),
            (struct dbt_par, par))
{
    TRG_SHARED trg_u32 n_long;
    const trg_u32 roi = TRG_GID / par.parts, part = TRG_GID % par.parts;
    const trg_u32 base = TRG_BEGIN(data, par.in, roi), rows = TRG_LSIZE / par.gang;
    const trg_u32 to = TRG_BEGIN(out, par.out, roi);
    struct dbw_rows r;

    r.count = counts + base;
    r.loose = loose;
    r.row_at = numbers + 2u * par.room + base;
    r.inner = TRG_DOUBLETS_INNER_OUT(out, par.out) + to;
    r.outer = TRG_DOUBLETS_OUTER_OUT(out, par.out) + to;
    r.n = TRG_END(data, par.in, roi) - base;
    r.wanted = summaries[roi].wanted;
    r.kept = summaries[roi].kept;
    r.to = dbw_loose_of(par, roi, base);
    for (trg_u32 tile = part * rows; tile < r.n; tile += par.parts * rows) {
        const trg_u32 i = tile + TRG_LID / par.gang;

        if (TRG_LID == 0u)
            n_long = 0u;
        TRG_BARRIER();
        if (i < r.n && dbw_order_hit(r, i, 0u, TRG_LID & (par.gang - 1u), par.gang))
            TRG_ATOMIC_OR_LOCAL(&n_long, 1u);
        TRG_BARRIER();
        for (trg_u32 k = tile; n_long && k < r.n && k < tile + rows; k++)
            dbw_order_hit(r, k, 1u, TRG_LID, TRG_LSIZE);
        TRG_BARRIER();
    }
}
