/* SPDX-License-Identifier: Apache-2.0 */
/* Doublets: hits are put in order of their layers, each layer of each RoI becomes a tree in (phi,
 * z) or (phi, r), and for each hit the trees of the layers further out are searched in a box.
 * Twice: the first time counts, sums of the counts say where each hit's doublets go, the second
 * time writes them.
 *
 * dbt_layers -> kd_build_trees -> dbt_count -> dbt_sum -> dbt_offsets -> dbt_fill
 *
 * Order of the result: by RoI, then number of the inner hit, then number of the outer hit. */
#include "doublets.h"
#include "../kdtree/layout.h"
#include "insert.h"
#include "trigd/common/group.h"
#include "trigd/kernel.h"

#if !defined(__OPENCL_VERSION__) && !defined(__CUDACC__)
#include "windows_host.h"
#endif

#define DBT_UNUSED 15u /* digit of hits on no layer */

/* One group an RoI: hits in order of layers, and for each layer the stretch of its hits and where
 * they are. hits: [6][room]: x, y, z, r about the beam line, phi, and z or r.  numbers: [4][room]:
 * layer, number in the RoI, and the same before sorting.  trees: begin and size for each layer of
 * each RoI; after those of all RoIs there are, its extent. */
TRG_KERNEL5(dbt_layers, (const trg_u8, data), (trg_u32, numbers), (float, hits), (trg_u32, trees),
            (trg_u32, counts), (struct dbt_par, par))
{
    TRG_SHARED trg_u32 scratch[TRG_GROUP_SORT_SCRATCH];
    TRG_SHARED trg_u32 count[TRG_GROUP_DIGITS];
    TRG_SHARED trg_u32 extent[DBT_LAYERS * 4u];
    const trg_u32 base = TRG_BEGIN(data, par.in, TRG_GID);
    const trg_u32 n = TRG_END(data, par.in, TRG_GID) - base;
    TRG_GLOBAL const float *x = TRG_HITS_X(data, par.in) + base;
    TRG_GLOBAL const float *y = TRG_HITS_Y(data, par.in) + base;
    TRG_GLOBAL const float *z = TRG_HITS_Z(data, par.in) + base;
    TRG_GLOBAL const trg_u16 *layer = TRG_HITS_LAYER(data, par.in) + base;
    TRG_GLOBAL trg_u32 *key = numbers + base, *origin = key + par.room;
    TRG_GLOBAL trg_u32 *key2 = origin + par.room, *origin2 = key2 + par.room;
    TRG_GLOBAL float *to = hits + base;

#if !defined(__OPENCL_VERSION__) && !defined(__CUDACC__)
    if (par.windows) {
        const struct dbt_input in = {x, y, z, layer, n};
        const struct dbt_layout sorted = {
            numbers, counts, hits, trees + TRG_GID * DBT_LAYERS * 2u,
            (struct dbt_extent *)(void *)(trees + par.n_rois * DBT_LAYERS * 2u) +
                TRG_GID * DBT_LAYERS};

        dbt_host_layers(&in, base, &par, &sorted);
        return;
    }
#endif
    for (trg_u32 l = TRG_LID; l < DBT_LAYERS * 4u; l += TRG_LSIZE)
        extent[l] = l & 1u ? 0u : 0xffffffffu;
    for (trg_u32 l = TRG_LID; l < TRG_GROUP_DIGITS; l += TRG_LSIZE)
        count[l] = 0u;
    TRG_BARRIER();
    for (trg_u32 i = TRG_LID; i < n; i += TRG_LSIZE) {
        const struct dbt_hit h = dbt_about_beam(par.cuts, x[i], y[i], z[i]);
        const trg_u32 digit = layer[i] < DBT_LAYERS && dbt_is_good(h) ? layer[i] : DBT_UNUSED;

        key2[i] = digit;
        origin2[i] = i;
        counts[base + i] = 0u;
        TRG_ATOMIC_ADD_LOCAL(&count[digit], 1u);
        if (digit != DBT_UNUSED) {
            TRG_ATOMIC_MIN_LOCAL(&extent[4u * digit], kd_key(h.r));
            TRG_ATOMIC_MAX_LOCAL(&extent[4u * digit + 1u], kd_key(h.r));
            TRG_ATOMIC_MIN_LOCAL(&extent[4u * digit + 2u], kd_key(h.z));
            TRG_ATOMIC_MAX_LOCAL(&extent[4u * digit + 3u], kd_key(h.z));
        }
    }
    trg_group_radix_pass(scratch, key2, origin2, n, 0u, key, origin);
    for (trg_u32 p = TRG_LID; p < n; p += TRG_LSIZE) {
        const trg_u32 i = origin[p];
        const struct dbt_hit h = dbt_about_beam(par.cuts, x[i], y[i], z[i]);

        to[p] = h.x;
        to[par.room + p] = h.y;
        to[2u * par.room + p] = h.z;
        to[3u * par.room + p] = h.r;
        to[4u * par.room + p] = dbt_phi(h.x, h.y);
        to[5u * par.room + p] = key[p] < DBT_BARREL ? h.z : h.r;
    }
    if (TRG_LID == 0u) {
        TRG_GLOBAL trg_u32 *tree = trees + TRG_GID * DBT_LAYERS * 2u;
        trg_u32 at = base;

        for (trg_u32 l = 0u; l < DBT_LAYERS; l++) {
            tree[2u * l] = at;
            tree[2u * l + 1u] = count[l];
            at += count[l];
        }
    }
    for (trg_u32 l = TRG_LID; l < DBT_LAYERS * 4u; l += TRG_LSIZE)
        trees[(par.n_rois * 2u + TRG_GID * 4u) * DBT_LAYERS + l] = extent[l];
}

struct dbt_view { /* what a search reads */
    TRG_GLOBAL const float *hits, *nodes;
    TRG_GLOBAL const trg_u32 *ids, *numbers, *trees, *extents;
    trg_u32 room;
};

TRG_FN struct dbt_hit dbt_load(const struct dbt_view v, trg_u32 point)
{
    struct dbt_hit h;

    h.x = v.hits[point];
    h.y = v.hits[v.room + point];
    h.z = v.hits[2u * v.room + point];
    h.r = v.hits[3u * v.room + point];
    h.phi = v.hits[4u * v.room + point];
    return h;
}

TRG_FN struct dbt_extent dbt_extent_of(const struct dbt_view v, trg_u32 t)
{
    struct dbt_extent e;

    e.r_low = kd_unkey(v.extents[4u * t]);
    e.r_high = kd_unkey(v.extents[4u * t + 1u]);
    e.z_low = kd_unkey(v.extents[4u * t + 2u]);
    e.z_high = kd_unkey(v.extents[4u * t + 3u]);
    return e;
}

struct dbt_reach { /* a box, and its image where it crosses phi = +-pi */
    struct dbt_box box;
    float low2, high2; /* in phi: of the image; nothing is within 1e30, -1e30 */
    float least, most; /* in phi: of both */
};

TRG_FN struct dbt_reach dbt_reach_of(const struct dbt_box box)
{
    const float turn = box.high[0] > DBT_PI ? -DBT_TURN : DBT_TURN;
    const trg_u32 wraps = box.high[0] > DBT_PI || box.low[0] < -DBT_PI;
    struct dbt_reach r;

    r.box = box;
    r.low2 = wraps ? box.low[0] + turn : 1e30f;
    r.high2 = wraps ? box.high[0] + turn : -1e30f;
    r.least = r.low2 < box.low[0] ? r.low2 : box.low[0];
    r.most = r.high2 > box.high[0] ? r.high2 : box.high[0];
    return r;
}

TRG_FN trg_u32 dbt_is_within(const struct dbt_reach r, float phi, float s)
{
    return s >= r.box.low[1] && s <= r.box.high[1] &&
           ((phi >= r.box.low[0] && phi <= r.box.high[0]) || (phi >= r.low2 && phi <= r.high2));
}

/* Hits of tree t that are a doublet with hit i; their numbers go to `row`, behind the `found` that
 * are there. Returns how many have been found then. */
TRG_FN trg_u32 dbt_search(const struct dbt_view v, const struct dbt_cuts cuts,
                          const struct dbt_pair pair, const struct dbt_hit i, trg_u32 t,
                          trg_u32 found, TRG_GLOBAL trg_u32 *row, trg_u32 cap)
{
    const trg_u32 base = v.trees[2u * t], n = v.trees[2u * t + 1u];
    TRG_GLOBAL const float *phi_of = v.nodes + base, *s_of = phi_of + v.room;
    const struct dbt_reach r = dbt_reach_of(dbt_box_of(cuts, pair, i, dbt_extent_of(v, t)));
    trg_u32 stack[KD_LEVELS_MAX];
    trg_u32 depth = 0u, node = 0u;

    if (n == 0u || !(r.box.low[1] <= r.box.high[1]))
        return found;
    for (;;) {
        const float phi = phi_of[node], s = s_of[node];
        const trg_u32 by_phi = kd_levels(node + 1u) & 1u, l = 2u * node + 1u;
        const trg_u32 left = l < n && (by_phi ? !(phi < r.least) : !(s < r.box.low[1]));
        const trg_u32 right = l + 1u < n && (by_phi ? !(phi > r.most) : !(s > r.box.high[1]));

        if (dbt_is_within(r, phi, s)) {
            const trg_u32 o = v.ids[base + node];

            if (dbt_accepts(cuts, pair, i, dbt_load(v, o))) {
                dbt_insert(row, cap, found, v.numbers[v.room + o]);
                found++;
            }
        }
        if (left && right)
            stack[depth++] = l + 1u;
        if (left || right) {
            node = left ? l : l + 1u;
        } else {
            if (depth == 0u)
                return found;
            node = stack[--depth];
        }
    }
}

/* All doublets that begin with a point of RoI `roi`. */
TRG_FN trg_u32 dbt_search_all(const struct dbt_view v, const struct dbt_par par, trg_u32 roi,
                              trg_u32 point, TRG_GLOBAL trg_u32 *row, trg_u32 cap)
{
    const trg_u32 layer = v.numbers[point];
    const struct dbt_hit i = dbt_load(v, point);
    trg_u32 found = 0u;

    for (trg_u32 k = 0u; k < par.n_pairs; k++)
        if (par.pair[k].inner == layer)
            found = dbt_search(v, par.cuts, par.pair[k], i, roi * DBT_LAYERS + par.pair[k].outer,
                               found, row, cap);
    return found;
}

/* `parts` groups an RoI: how many doublets begin with each of its hits. */
TRG_KERNEL6(dbt_count, (const float, hits), (const float, nodes), (const trg_u32, ids),
            (const trg_u32, numbers), (const trg_u32, trees), (trg_u32, counts),
            (struct dbt_par, par))
{
    const trg_u32 roi = TRG_GID / par.parts, part = TRG_GID % par.parts;
    const trg_u32 first = trees[2u * roi * DBT_LAYERS];
    const trg_u32 last = 2u * (roi * DBT_LAYERS + DBT_LAYERS - 1u);
    const trg_u32 end = trees[last] + trees[last + 1u];
    struct dbt_view v;

    v.hits = hits;
    v.nodes = nodes;
    v.ids = ids;
    v.numbers = numbers;
    v.trees = trees;
    v.extents = trees + par.n_rois * 2u * DBT_LAYERS;
    v.room = par.room;
    /* in order of the trees' nodes, so that neighbours look at the same places */
    for (trg_u32 p = first + part * TRG_LSIZE + TRG_LID; p < end; p += par.parts * TRG_LSIZE) {
        const trg_u32 point = ids[p];

        counts[first + numbers[par.room + point]] = dbt_search_all(v, par, roi, point, counts, 0u);
    }
}

/* One group an RoI: counts become the places of each hit's doublets; what is over the limit is
 * told. */
TRG_KERNEL4(dbt_sum, (const trg_u8, data), (const trg_u32, trees), (trg_u32, counts),
            (struct dbt_summary, summaries), (struct dbt_par, par))
{
    TRG_SHARED trg_u32 scratch[TRG_GROUP_SCRATCH];
    const trg_u32 base = TRG_BEGIN(data, par.in, TRG_GID);
    const trg_u32 n = TRG_END(data, par.in, TRG_GID) - base;
    const trg_u32 last = 2u * (TRG_GID * DBT_LAYERS + DBT_LAYERS - 1u);
    const trg_u32 wanted = trg_group_scan_global(scratch, counts + base, n);
    const trg_u32 limit = dbt_limit_of(par.max_roi, par.max_per_hit, n);

    if (TRG_LID == 0u) {
        summaries[TRG_GID].n_used = trees[last] + trees[last + 1u] - base;
        summaries[TRG_GID].wanted = wanted;
        summaries[TRG_GID].kept = wanted < limit ? wanted : limit;
    }
}

/* One group for all: where each RoI's doublets begin. */
TRG_KERNEL2(dbt_offsets, (const struct dbt_summary, summaries), (trg_u8, out),
            (struct dbt_par, par))
{
    TRG_SHARED trg_u32 scratch[TRG_GROUP_SCRATCH];
    TRG_GLOBAL trg_u32 *offsets = (TRG_GLOBAL trg_u32 *)(out + par.out.offsets);
    trg_u32 sum = 0u;

    for (trg_u32 at = 0u; at < par.n_rois; at += TRG_LSIZE) {
        const trg_u32 i = at + TRG_LID;
        trg_u32 total;
        const trg_u32 before =
            trg_group_scan(scratch, i < par.n_rois ? summaries[i].kept : 0u, &total);

        if (i < par.n_rois)
            offsets[i] = sum + before;
        sum += total;
    }
    if (TRG_LID == 0u)
        offsets[par.n_rois] = sum;
}

/* The same as dbt_count, once more: writes the doublets. */
TRG_KERNEL8(dbt_fill, (const float, hits), (const float, nodes), (const trg_u32, ids),
            (const trg_u32, numbers), (const trg_u32, trees), (const trg_u32, counts),
            (const struct dbt_summary, summaries), (trg_u8, out), (struct dbt_par, par))
{
    const trg_u32 roi = TRG_GID / par.parts, part = TRG_GID % par.parts;
    const trg_u32 first = trees[2u * roi * DBT_LAYERS];
    const trg_u32 last = 2u * (roi * DBT_LAYERS + DBT_LAYERS - 1u);
    const trg_u32 end = trees[last] + trees[last + 1u], kept = summaries[roi].kept;
    const trg_u32 to = TRG_BEGIN(out, par.out, roi);
    TRG_GLOBAL trg_u32 *inner = TRG_DOUBLETS_INNER_OUT(out, par.out) + to;
    TRG_GLOBAL trg_u32 *outer = TRG_DOUBLETS_OUTER_OUT(out, par.out) + to;
    struct dbt_view v;

    v.hits = hits;
    v.nodes = nodes;
    v.ids = ids;
    v.numbers = numbers;
    v.trees = trees;
    v.extents = trees + par.n_rois * 2u * DBT_LAYERS;
    v.room = par.room;
    for (trg_u32 p = first + part * TRG_LSIZE + TRG_LID; p < end; p += par.parts * TRG_LSIZE) {
        const trg_u32 point = ids[p], number = numbers[par.room + point];
        const trg_u32 at = counts[first + number];
        trg_u32 n;

        if (at >= kept)
            continue;
        n = dbt_search_all(v, par, roi, point, outer + at, kept - at);
        for (trg_u32 k = 0u; k < n && at + k < kept; k++)
            inner[at + k] = number;
    }
}

/* On the CPU, by hand: all that follows dbt_layers, in one group.  `row` has a word more than any
 * RoI has hits. */
TRG_KERNEL8(dbt_one_core, (const trg_u8, data), (const float, hits), (const trg_u32, numbers),
            (const trg_u32, trees), (const trg_u32, counts), (trg_u32, row),
            (struct dbt_summary, summaries), (trg_u8, out), (struct dbt_par, par))
{
#if !defined(__OPENCL_VERSION__) && !defined(__CUDACC__)
    const struct dbt_sorted in = {hits, numbers, trees, counts, TRG_OFFSETS(data, par.in)};

    dbt_host_fill(&in, row, summaries, out, &par);
#else
    /* other devices have no use for it */
    (void)data;
    (void)hits;
    (void)numbers;
    (void)trees;
    (void)counts;
    (void)row;
    (void)summaries;
    (void)out;
#endif
}
