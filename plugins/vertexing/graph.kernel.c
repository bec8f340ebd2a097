/* SPDX-License-Identifier: Apache-2.0 */
/* Secondary vertices as components of a graph: tracks that come close to each other are adjacent,
 * cuts take edges away, what hangs together is fitted.
 *
 * vx_adjacency_full | _compute | _memory -> vx_cuts -> vx_components -> vx_fit_secondary -> vx_pack
 *
 * The matrix is of bits, in words of 32 columns.  With the tracks of an RoI numbered as in its
 * list:
 *
 *     full, compute   word [column / 32] [row], rows next to one another, n rows for each word
 * column memory          tiles of 32 x 32 with row / 32 <= column / 32 only, one behind the other
 *
 * Only bits with row < column are read behind the adjacency; where a pair is stored twice, cuts
 * change that half alone. */
#include "fit.h"

#include "adjacency.h"
#include "cuts.h"

#define VX_TEAMS (VX_GROUP_MAX / VX_TILE)

TRG_FN trg_u32 vx_word_at(trg_u32 layout, trg_u32 n, trg_u32 row, trg_u32 tile)
{
    if (layout == VX_LAYOUT_MEMORY)
        return (tile * (tile + 1u) / 2u + row / VX_TILE) * VX_TILE + row % VX_TILE;
    return tile * n + row;
}

/* What one group does of an RoI's matrix: panels of columns first, first + step, ...; and of the
 * rows of each, in tiles, every `row_parts`-th from row_part on. */
struct vx_share {
    trg_u32 panels, first, step, row_part, row_parts;
};

TRG_FN struct vx_share vx_share_of(trg_u32 n, trg_u32 part, trg_u32 parts)
{
    struct vx_share s;

    s.panels = (n + VX_PANEL - 1u) / VX_PANEL;
    s.row_parts = s.panels && parts > s.panels ? parts / s.panels : 1u;
    s.first = part / s.row_parts;
    s.step = parts / s.row_parts;
    s.row_part = part % s.row_parts;
    return s;
}

TRG_FN trg_u32 vx_at_most(trg_u32 n, trg_u32 limit)
{
    return n < limit ? n : limit;
}

/* A word of a row without the track itself, which is number `self` of the word, or VX_TILE. */
TRG_FN trg_u32 vx_others(TRG_LOCAL const struct vx_four *stage, trg_u32 at, trg_u32 m,
                         const struct vx_line a, trg_u32 self, const struct vx_par par)
{
    const trg_u32 word = vx_row_word(stage, at, m, a, self, par);

    return self < VX_TILE ? word & ~(1u << self) : word;
}

/* Full: every pair is computed twice, once from each side; no work-item needs another's result. */
TRG_KERNEL5(vx_adjacency_full, (const trg_u8, data), (const float, tracks),
            (const trg_u32, selected), (const struct vx_counts, counts), (trg_u32, matrix),
            (struct vx_par, par))
{
    TRG_SHARED struct vx_four stage[VX_STAGE_COLUMNS * VX_FOURS];
    const trg_u32 roi = TRG_GID / par.parts, part = TRG_GID % par.parts;
    const trg_u32 first = TRG_BEGIN(data, par.in, roi), n = counts[roi].n_selected;
    const struct vx_share share = vx_share_of(n, part, par.parts);
    TRG_GLOBAL const trg_u32 *list = selected + first;
    TRG_GLOBAL trg_u32 *out = matrix + first * par.words_room;

    for (trg_u32 panel = share.first; panel < share.panels; panel += share.step) {
        const trg_u32 low = panel * VX_PANEL, end = low + vx_at_most(n - low, VX_PANEL);

        vx_stage(tracks, par.items_room, list + low, end - low, par.doca_sigmas > 0.0f, stage);
        TRG_BARRIER();
        for (trg_u32 i = share.row_part * TRG_LSIZE + TRG_LID; i < n;
             i += share.row_parts * TRG_LSIZE) {
            const struct vx_line a = vx_load(tracks, par.items_room, list[i]);

            for (trg_u32 at = low; at < end; at += VX_TILE) {
                const trg_u32 m = vx_at_most(end - at, VX_TILE);
                const trg_u32 self = i >= at && i - at < VX_TILE ? i - at : VX_TILE;

                out[vx_word_at(VX_LAYOUT_FULL, n, i, at / VX_TILE)] =
                    vx_others(stage, at - low, m, a, self, par);
            }
        }
        TRG_BARRIER();
    }
}

/* Column k of a tile whose rows are in shared memory. */
TRG_FN trg_u32 vx_column_of(TRG_LOCAL const trg_u32 *bits, trg_u32 k)
{
    trg_u32 word = 0u;

    for (trg_u32 i = 0u; i < VX_TILE; i++)
        word |= (bits[i] >> k & 1u) << i;
    return word;
}

/* Compute-symmetric: a team of 32 work-items computes a tile on or above the diagonal and writes it
 * and its mirror image, which it turns over in shared memory. */
TRG_KERNEL5(vx_adjacency_compute, (const trg_u8, data), (const float, tracks),
            (const trg_u32, selected), (const struct vx_counts, counts), (trg_u32, matrix),
            (struct vx_par, par))
{
    TRG_SHARED struct vx_four stage[VX_STAGE_COLUMNS * VX_FOURS];
    TRG_SHARED trg_u32 turned[VX_TEAMS * VX_TILE];
    const trg_u32 size = vx_at_most(TRG_LSIZE, VX_TILE);
    const trg_u32 teams = TRG_LSIZE / size, team = TRG_LID / size, lane = TRG_LID % size;
    const trg_u32 roi = TRG_GID / par.parts, part = TRG_GID % par.parts;
    const trg_u32 first = TRG_BEGIN(data, par.in, roi), n = counts[roi].n_selected;
    const struct vx_share share = vx_share_of(n, part, par.parts);
    TRG_GLOBAL const trg_u32 *list = selected + first;
    TRG_GLOBAL trg_u32 *out = matrix + first * par.words_room;
    TRG_LOCAL trg_u32 *bits = turned + team * VX_TILE;

    for (trg_u32 panel = share.first; panel < share.panels; panel += share.step) {
        const trg_u32 low = panel * VX_PANEL, end = low + vx_at_most(n - low, VX_PANEL);

        vx_stage(tracks, par.items_room, list + low, end - low, par.doca_sigmas > 0.0f, stage);
        TRG_BARRIER();
        for (trg_u32 from = share.row_part * teams; from * VX_TILE < end;
             from += share.row_parts * teams)
            for (trg_u32 at = low; at < end; at += VX_TILE) {
                const trg_u32 top = (from + team) * VX_TILE, m = vx_at_most(end - at, VX_TILE);
                const trg_u32 above = top <= at ? 1u : 0u; /* or on the diagonal: to be done */

                for (trg_u32 i = lane; i < VX_TILE; i += size) {
                    const trg_u32 self = top == at ? i : VX_TILE;
                    trg_u32 word = 0u;

                    if (above && top + i < n) {
                        word = vx_others(stage, at - low, m,
                                         vx_load(tracks, par.items_room, list[top + i]), self, par);
                        out[vx_word_at(VX_LAYOUT_COMPUTE, n, top + i, at / VX_TILE)] = word;
                    }
                    bits[i] = word;
                }
                TRG_BARRIER();
                for (trg_u32 k = lane; k < m && above && top < at; k += size)
                    out[vx_word_at(VX_LAYOUT_COMPUTE, n, at + k, top / VX_TILE)] =
                        vx_column_of(bits, k);
                TRG_BARRIER();
            }
        TRG_BARRIER();
    }
}

/* Memory-symmetric: the same tiles, kept once, one behind the other. */
TRG_KERNEL5(vx_adjacency_memory, (const trg_u8, data), (const float, tracks),
            (const trg_u32, selected), (const struct vx_counts, counts), (trg_u32, matrix),
            (struct vx_par, par))
{
    TRG_SHARED struct vx_four stage[VX_STAGE_COLUMNS * VX_FOURS];
    const trg_u32 roi = TRG_GID / par.parts, part = TRG_GID % par.parts;
    const trg_u32 first = TRG_BEGIN(data, par.in, roi), n = counts[roi].n_selected;
    const struct vx_share share = vx_share_of(n, part, par.parts);
    TRG_GLOBAL const trg_u32 *list = selected + first;
    TRG_GLOBAL trg_u32 *out = matrix + first * par.words_room;

    for (trg_u32 panel = share.first; panel < share.panels; panel += share.step) {
        const trg_u32 low = panel * VX_PANEL, end = low + vx_at_most(n - low, VX_PANEL);

        vx_stage(tracks, par.items_room, list + low, end - low, par.doca_sigmas > 0.0f, stage);
        TRG_BARRIER();
        /* 32 neighbouring work-items are in one tile of rows */
        for (trg_u32 i = share.row_part * TRG_LSIZE + TRG_LID; i < end;
             i += share.row_parts * TRG_LSIZE) {
            const struct vx_line a = vx_load(tracks, par.items_room, list[i]);
            const trg_u32 top = i & ~(VX_TILE - 1u);

            for (trg_u32 at = top > low ? top : low; at < end; at += VX_TILE) {
                const trg_u32 m = vx_at_most(end - at, VX_TILE);
                const trg_u32 self = at == top ? i - top : VX_TILE;
                const trg_u32 word = vx_row_word(stage, at - low, m, a, self, par);

                /* on the diagonal, bits up to its own are not there */
                out[vx_word_at(VX_LAYOUT_MEMORY, n, i, at / VX_TILE)] =
                    self < VX_TILE ? word & ~(0xffffffffu >> (31u - self)) : word;
            }
        }
        TRG_BARRIER();
    }
}

/* ---------------------------------------------------------------- cuts */

/* `parts` groups an RoI: takes away the edges that a cut removes, the first of the cuts that does
 * so counts it; those that are left get a score. */
TRG_KERNEL8(vx_cuts, (const trg_u8, data), (const float, tracks), (const trg_u32, selected),
            (const trg_u32, pv_of), (const struct vx_vertex, pvs), (const struct vx_grid, grids),
            (struct vx_counts, counts), (trg_u32, matrix), (struct vx_par, par))
{
    TRG_SHARED trg_u32 total[VX_SEEN_SUMS + 1u];
#if defined(__CUDACC__)
    TRG_SHARED trg_u32 gone_of[VX_GROUP_MAX];
#endif
    const trg_u32 roi = TRG_GID / par.parts, part = TRG_GID % par.parts;
    const trg_u32 first = TRG_BEGIN(data, par.in, roi), n = counts[roi].n_selected;
    TRG_GLOBAL trg_u32 *m = matrix + first * par.words_room;
    struct vx_surroundings around;
    trg_u32 seen[VX_SEEN_SUMS + 1u] = {0u, 0u, 0u, 0u, 0u, 0u, 0u, 0u, 0u};

    around.tracks = tracks;
    around.list = selected + first;
    around.pv_of = pv_of;
    around.pvs = pvs + vx_place(first, roi);
    around.n_pv = counts[roi].n_pv;
    around.beam_x = grids[roi].beam_x;
    around.beam_y = grids[roi].beam_y;
    for (trg_u32 k = TRG_LID; k <= VX_SEEN_BEST; k += TRG_LSIZE)
        total[k] = 0u;
    TRG_BARRIER();
    for (trg_u32 tile = 0u; tile * VX_TILE < n; tile++) {
        const trg_u32 low = tile * VX_TILE;
        const trg_u32 rows = low + VX_TILE < n ? low + VX_TILE : n;

        for (trg_u32 base = part * TRG_LSIZE; base < rows; base += par.parts * TRG_LSIZE) {
            const trg_u32 i = base + TRG_LID;
            const trg_u32 at = i < rows ? vx_word_at(par.layout, n, i, tile) : 0u;
            const trg_u32 lower = i < low || i >= rows ? 0u : 0xffffffffu >> (31u - (i - low));
            const trg_u32 word = i < rows ? m[at] & ~lower : 0u;
#if defined(__CUDACC__)
            const trg_u32 gone = vx_warp_cut(around, par, i, low, word, gone_of, seen);
#else
            const trg_u32 gone = vx_cut_row(around, par, i, low, word, seen);
#endif

            if (gone)
                m[at] &= ~gone;
        }
    }
    for (trg_u32 k = 0u; k < VX_SEEN_SUMS; k++)
        if (seen[k])
            TRG_ATOMIC_ADD_LOCAL(&total[k], seen[k]);
    if (seen[VX_SEEN_BEST])
        TRG_ATOMIC_MAX_LOCAL(&total[VX_SEEN_BEST], seen[VX_SEEN_BEST]);
    TRG_BARRIER();
    if (TRG_LID == 0u && total[VX_SEEN_ALL]) {
        TRG_ATOMIC_ADD_GLOBAL(&counts[roi].n_edges, total[0]);
        TRG_ATOMIC_ADD_GLOBAL(&counts[roi].removed_origin, total[1]);
        TRG_ATOMIC_ADD_GLOBAL(&counts[roi].removed_radial, total[2]);
        TRG_ATOMIC_ADD_GLOBAL(&counts[roi].removed_cylinder, total[3]);
        TRG_ATOMIC_ADD_GLOBAL(&counts[roi].removed_angle, total[4]);
        TRG_ATOMIC_ADD_GLOBAL(&counts[roi].n_crossings, total[VX_SEEN_ALL]);
        TRG_ATOMIC_ADD_GLOBAL(&counts[roi].score, total[VX_SEEN_SCORE]);
        TRG_ATOMIC_ADD_GLOBAL(&counts[roi].sure, total[VX_SEEN_SURE]);
        TRG_ATOMIC_MAX_GLOBAL(&counts[roi].best_score, total[VX_SEEN_BEST]);
    }
}

/* ---------------------------------------------------------------- connected components */

/* The root of k; halves the path on the way (every other node then points to its grandparent, which
 * is never further from the root, so that it harms nobody who walks the same path). */
TRG_FN trg_u32 vx_root(TRG_LOCAL trg_u32 *parent, trg_u32 k)
{
    trg_u32 p = parent[k];

    while (p != k) {
        const trg_u32 up = parent[p];

        if (up != p)
            TRG_ATOMIC_MIN_LOCAL(&parent[k], up);
        k = p;
        p = up;
    }
    return k;
}

/* Hooks the larger root below the smaller one.  atomic_min tells whether the larger one was still a
 * root; if it was not, what it pointed to has to be joined as well. */
TRG_FN void vx_unite(TRG_LOCAL trg_u32 *parent, trg_u32 a, trg_u32 b)
{
    for (;;) {
        trg_u32 low, high, old;

        a = vx_root(parent, a);
        b = vx_root(parent, b);
        if (a == b)
            return;
        low = a < b ? a : b;
        high = a < b ? b : a;
        old = TRG_ATOMIC_MIN_LOCAL(&parent[high], low);
        if (old == high)
            return;
        a = old;
        b = low;
    }
}

/* One group an RoI: the components, after ECL-CC (Jaiganesh and Burtscher, HPDC 2018: hooking roots
 * without locks, paths halved on the way, one pass to flatten), in shared memory.  A label is the
 * smallest member, so that it does not depend on the order.  Lists those of two members and more;
 * if there is no room for all, those with the smallest labels. */
TRG_KERNEL5(vx_components, (const trg_u8, data), (const trg_u32, matrix), (trg_u32, labels),
            (struct vx_vertex, svs), (struct vx_counts, counts), (struct vx_par, par))
{
    TRG_SHARED trg_u32 parent[VX_SELECTED_MAX];
    TRG_SHARED trg_u32 is_listed[VX_SELECTED_MAX / 32u];
    const trg_u32 first = TRG_BEGIN(data, par.in, TRG_GID), n = counts[TRG_GID].n_selected;
    TRG_GLOBAL const trg_u32 *m = matrix + first * par.words_room;
    const trg_u32 room = vx_room(TRG_END(data, par.in, TRG_GID) - first, par.max_sv);
    TRG_GLOBAL struct vx_vertex *out = svs + vx_place(first, TRG_GID);

    for (trg_u32 i = TRG_LID; i < n; i += TRG_LSIZE)
        parent[i] = i;
    for (trg_u32 w = TRG_LID; w * 32u < n; w += TRG_LSIZE)
        is_listed[w] = 0u;
    TRG_BARRIER();
    for (trg_u32 tile = 0u; tile * VX_TILE < n; tile++) {
        const trg_u32 low = tile * VX_TILE;
        const trg_u32 rows = low + VX_TILE < n ? low + VX_TILE : n;

        for (trg_u32 i = TRG_LID; i < rows; i += TRG_LSIZE) {
            const trg_u32 lower = i < low || i >= rows ? 0u : 0xffffffffu >> (31u - (i - low));

            for (trg_u32 left = m[vx_word_at(par.layout, n, i, tile)] & ~lower; left;
                 left &= left - 1u)
                vx_unite(parent, i, low + 31u - trg_clz(left & (0u - left)));
        }
    }
    TRG_BARRIER();
    for (trg_u32 i = TRG_LID; i < n; i += TRG_LSIZE) {
        const trg_u32 root = vx_root(parent, i);

        labels[first + i] = root;
        if (root != i)
            TRG_ATOMIC_OR_LOCAL(&is_listed[root / 32u], 1u << (root % 32u));
    }
    TRG_BARRIER();
    if (TRG_LID == 0u) {
        trg_u32 all = 0u;

        for (trg_u32 w = 0u; w * 32u < n; w++)
            for (trg_u32 left = is_listed[w]; left; left &= left - 1u) {
                if (all < room)
                    out[all].root = w * 32u + 31u - trg_clz(left & (0u - left));
                all++;
            }
        counts[TRG_GID].components_all = all;
        counts[TRG_GID].n_components = all < room ? all : room;
    }
}

/* ---------------------------------------------------------------- fit of a component */

/* Momentum and energy in units of 2^-14 GeV: the mass comes out of integers. */
#define VX_MOMENTUM (1.0f / 16384.0f)

TRG_FN float vx_mass_of(TRG_LOCAL const trg_i64 *p)
{
    const trg_i64 m2 = p[3] * p[3] - p[0] * p[0] - p[1] * p[1] - p[2] * p[2];

    return m2 > 0 ? trg_sqrt((float)m2) * VX_MOMENTUM : 0.0f;
}

/* Flight from the primary vertex, and its significance with the errors of both. */
TRG_FN struct vx_vertex vx_flight(struct vx_vertex v, struct vx_vertex pv)
{
    const float dx = v.x - pv.x, dy = v.y - pv.y, dz = v.z - pv.z;
    const struct vx_cov cov = {v.cov[0] + pv.cov[0], v.cov[1] + pv.cov[1], v.cov[2] + pv.cov[2],
                               v.cov[3] + pv.cov[3], v.cov[4] + pv.cov[4], v.cov[5] + pv.cov[5]};

    v.flight = trg_sqrt(dx * dx + dy * dy + dz * dz);
    v.significance = trg_sqrt(vx_significance2(cov, dx, dy, dz));
    return v;
}

/* The tracks of a component. */
struct vx_members {
    TRG_GLOBAL const trg_u32 *list, *label;
    trg_u32 n, root; /* n: of the graph */
};

/* Adds this work-item's tracks of the component, weighted for a vertex at v, to `own`. */
TRG_GROUP_FN void vx_add_members(TRG_GLOBAL const float *tracks, trg_u32 room,
                                 struct vx_members all, struct vx_vertex v, float inv_c2,
                                 trg_i64 *own)
{
    for (trg_u32 i = TRG_LID; i < all.n; i += TRG_LSIZE) {
        if (all.label[i] == all.root) {
            const struct vx_line l = vx_load(tracks, room, all.list[i]);
            const struct vx_miss m = vx_from(l, v.x, v.y, v.z);
            const float w = vx_tukey(m.chi2, inv_c2);

            if (w > 0.0f)
                VX_ADD(own, l, m, w);
        }
    }
}

/* The momenta of the component's tracks that fit the vertex, added up over the group. */
TRG_GROUP_FN void vx_add_momenta(TRG_GLOBAL const float *tracks, struct vx_members all,
                                 struct vx_vertex v, struct vx_par par, TRG_LOCAL trg_i64 *sums,
                                 TRG_LOCAL trg_i64 *total)
{
    trg_i64 own[4] = {0};

    for (trg_u32 i = TRG_LID; i < all.n; i += TRG_LSIZE) {
        const float p = trg_fabs((tracks + VX_P * par.items_room)[all.list[i]]);
        const struct vx_line l = vx_load(tracks, par.items_room, all.list[i]);

        if (all.label[i] != all.root || !(p > 0.0f) ||
            vx_from(l, v.x, v.y, v.z).chi2 >= par.tukey_end * par.tukey_end)
            continue;
        own[0] += vx_quanta(p * l.ux, 16384.0f);
        own[1] += vx_quanta(p * l.uy, 16384.0f);
        own[2] += vx_quanta(p * l.uz, 16384.0f);
        own[3] += vx_quanta(trg_sqrt(p * p + par.mass * par.mass), 16384.0f);
    }
    vx_sum_up(sums, own, 4u, total);
}

/* `fit_parts` groups of 32 work-items an RoI, a component at a time.  First all tracks count alike
 * (the minimum does not depend on where it is sought from), then those that miss it are weighted
 * down as for primary vertices. */
TRG_KERNEL8(vx_fit_secondary, (const trg_u8, data), (const float, tracks),
            (const trg_u32, selected), (const trg_u32, labels), (const trg_u32, pv_of),
            (const struct vx_vertex, pvs), (struct vx_vertex, svs),
            (const struct vx_counts, counts), (struct vx_par, par))
{
    VX_SAME trg_i64 sums[VX_ROOM_SUMS(VX_SUMS)];
    VX_SAME trg_i64 total[VX_SUMS];
    VX_SAME struct vx_vertex v;
    VX_SAME trg_u32 done;
    const trg_u32 roi = TRG_GID / par.fit_parts, part = TRG_GID % par.fit_parts;
    const trg_u32 first = TRG_BEGIN(data, par.in, roi), room = par.items_room;
    const trg_u32 n = counts[roi].n_selected, n_components = counts[roi].n_components;
    TRG_GLOBAL const trg_u32 *list = selected + first;
    TRG_GLOBAL const trg_u32 *label = labels + first;
    TRG_GLOBAL const struct vx_vertex *pv = pvs + vx_place(first, roi);
    TRG_GLOBAL struct vx_vertex *sv = svs + vx_place(first, roi);

    for (trg_u32 k = part; k < n_components; k += par.fit_parts) {
        const trg_u32 root = sv[k].root;
        const struct vx_members all = {list, label, n, root};
        float c = par.tukey_start;

        VX_BARRIER();
        if (VX_TELLS) {
            const struct vx_line l = vx_load(tracks, room, list[root]);
            struct vx_vertex zero = {0};

            v = zero;
            v.x = l.x;
            v.y = l.y;
            v.z = l.z;
            v.pv = VX_PV_OF(pv_of[list[root]]);
            v.root = list[root] - first;
            v.alive = 1u;
            done = 0u;
        }
        VX_BARRIER();
        for (trg_u32 round = 0u; round < par.rounds && !done; round++) {
            trg_i64 own[VX_SUMS] = {0};

            vx_add_members(tracks, room, all, v, round ? 1.0f / (c * c) : 0.0f, own);
            vx_sum_up(sums, own, VX_SUMS, total);
            if (VX_TELLS) {
                const struct vx_round r = vx_move(v, total);

                v = r.v;
                done = !r.v.alive || (round && vx_rests(r, c, par));
            }
            c = round ? vx_shrink(c, par.tukey_end) : c;
            VX_BARRIER();
        }
        vx_add_momenta(tracks, all, v, par, sums, total);
        if (TRG_LID == 0u) {
            v.mass = vx_mass_of(total);
            sv[k] = vx_flight(v, pv[v.pv]);
        }
    }
}

/* ---------------------------------------------------------------- the answer */

TRG_FN void vx_write_vertex(TRG_GLOBAL trg_u32 *row, struct vx_vertex v, trg_u32 type)
{
    row[VX_OUT_X] = trg_as_u32(v.x);
    row[VX_OUT_Y] = trg_as_u32(v.y);
    row[VX_OUT_Z] = trg_as_u32(v.z);
    row[VX_OUT_WEIGHT] = trg_as_u32(v.weight);
    for (trg_u32 j = 0u; j < 6u; j++)
        row[VX_OUT_COV + j] = trg_as_u32(v.cov[j]);
    row[VX_OUT_CHI2] = trg_as_u32(v.chi2);
    row[VX_OUT_TRACKS] = v.n_tracks;
    row[VX_OUT_TYPE] = type;
    row[VX_OUT_FLIGHT] = trg_as_u32(type ? v.flight : 0.0f);
    row[VX_OUT_SIGNIFICANCE] = trg_as_u32(type ? v.significance : 0.0f);
    row[VX_OUT_MASS] = trg_as_u32(type ? v.mass : 0.0f);
}

TRG_FN trg_u32 vx_is_vertex(TRG_GLOBAL const struct vx_vertex *v)
{
    return v->alive && v->n_tracks >= 2u ? 1u : 0u;
}

/* One group an RoI: its vertices next to one another, the primary ones first, then the components
 * of which a fit made a vertex.  RoIs follow each other without gaps, in any order, so that few
 * rows have to be copied to the host. */
TRG_KERNEL6(vx_pack, (const trg_u8, data), (const struct vx_vertex, pvs),
            (const struct vx_vertex, svs), (trg_u32, answer), (trg_u32, n_rows),
            (struct vx_counts, counts), (struct vx_par, par))
{
    TRG_SHARED trg_u32 scratch[TRG_GROUP_SCRATCH];
    TRG_SHARED trg_u32 begin;
    const trg_u32 first = TRG_BEGIN(data, par.in, TRG_GID), place = vx_place(first, TRG_GID);
    const trg_u32 room = vx_room(TRG_END(data, par.in, TRG_GID) - first, VX_NONE);
    const trg_u32 n_pv = counts[TRG_GID].n_pv, n_sv = counts[TRG_GID].n_components;
    trg_u32 mine = 0u, to = n_pv, all, n;
    TRG_GLOBAL trg_u32 *out;

    for (trg_u32 k = TRG_LID; k < n_sv; k += TRG_LSIZE)
        mine += vx_is_vertex(&svs[place + k]);
    all = n_pv + trg_group_sum(scratch, mine);
    n = all < room ? all : room;
    if (TRG_LID == 0u) {
        begin = TRG_ATOMIC_ADD_GLOBAL(n_rows, n);
        counts[TRG_GID].place = begin;
        counts[TRG_GID].out_all = all;
        counts[TRG_GID].n_out = n;
    }
    TRG_BARRIER();
    out = answer + begin * VX_OUT_WORDS;
    for (trg_u32 k = TRG_LID; k < n_pv; k += TRG_LSIZE) /* no more than there is room for */
        vx_write_vertex(out + k * VX_OUT_WORDS, pvs[place + k], VX_TYPE_PRIMARY);
    for (trg_u32 at = 0u; at < n_sv; at += TRG_LSIZE) {
        const trg_u32 k = at + TRG_LID, i = place + (k < n_sv ? k : at);
        const trg_u32 is_one = k < n_sv ? vx_is_vertex(&svs[i]) : 0u;
        const trg_u32 row = trg_group_place(scratch, is_one, &to);

        if (is_one && row < room)
            vx_write_vertex(out + row * VX_OUT_WORDS, svs[i], VX_TYPE_SECONDARY);
    }
}
