/* SPDX-License-Identifier: Apache-2.0 */
/* Primary vertices: seeds from the histogram's peaks or by pairwise merging, an adaptive fit of
 * each seed, what is to be dropped, and what belongs to which vertex.
 *
 * histogram -> vx_seed_peaks or vx_seed_pairs -> (vx_fit_primary -> vx_prune) twice -> vx_associate
 */
#include "geometry.h"
#if !defined(__OPENCL_VERSION__) && !defined(__CUDACC__)
#include "sums.h"
#endif

TRG_FN struct vx_vertex vx_seed(float x, float y, float z, float weight)
{
    struct vx_vertex v = {0};

    v.x = x;
    v.y = y;
    v.z = z;
    v.weight = weight;
    v.alive = 1u;
    return v;
}

/* ---------------------------------------------------------------- peaks of the histogram */

/* A bin and its neighbours, the middle weighing most. */
TRG_FN trg_u32 vx_smooth(TRG_GLOBAL const trg_u32 *h, trg_u32 n, trg_u32 b, trg_u32 reach)
{
    trg_u32 sum = (reach + 1u) * h[b];

    for (trg_u32 k = 1u; k <= reach; k++) {
        sum += b >= k ? (reach + 1u - k) * h[b - k] : 0u;
        sum += b + k < n ? (reach + 1u - k) * h[b + k] : 0u;
    }
    return sum;
}

/* Whether the histogram falls below `valley` on both sides of b before it gets as high as at b
 * again: what makes b a peak of its own.  Of equal ones without a valley the first counts. */
TRG_FN trg_u32 vx_stands_out(TRG_LOCAL const trg_u32 *s, trg_u32 n, trg_u32 b, trg_u32 valley)
{
    trg_u32 k = b;

    while (k > 0u && s[k - 1u] > valley) {
        k--;
        if (s[k] >= s[b])
            return 0u;
    }
    k = b;
    while (k + 1u < n && s[k + 1u] > valley) {
        k++;
        if (s[k] > s[b])
            return 0u;
    }
    return 1u;
}

/* Mean z of the entries around bin b. */
TRG_FN float vx_peak_z(TRG_GLOBAL const trg_u32 *h, struct vx_grid g, trg_u32 b, trg_u32 reach)
{
    const trg_u32 low = b > reach ? b - reach : 0u;
    trg_u32 sum = 0u, places = 0u;

    for (trg_u32 k = low; k <= b + reach && k < g.n_bins; k++) {
        sum += h[k];
        places += h[k] * (k - low);
    }
    return g.first + g.width * ((float)low + 0.5f + (float)places / (float)(sum ? sum : 1u));
}

/* Keeps (height, bin) in a list ordered by falling height, then rising bin. */
TRG_FN trg_u32 vx_keep_highest(TRG_LOCAL trg_u32 *bin, TRG_LOCAL const trg_u32 *height, trg_u32 n,
                               trg_u32 room, trg_u32 b)
{
    trg_u32 at = n;

    while (at > 0u && height[bin[at - 1u]] < height[b])
        at--;
    if (at >= room)
        return n;
    n = n < room ? n + 1u : room;
    for (trg_u32 k = n - 1u; k > at; k--)
        bin[k] = bin[k - 1u];
    bin[at] = b;
    return n;
}

TRG_FN void vx_sort_bins(TRG_LOCAL trg_u32 *bin, trg_u32 n)
{
    for (trg_u32 i = 1u; i < n; i++) {
        const trg_u32 b = bin[i];
        trg_u32 k = i;

        for (; k > 0u && bin[k - 1u] > b; k--)
            bin[k] = bin[k - 1u];
        bin[k] = b;
    }
}

/* One group an RoI: the smoothed histogram's peaks, in order of z; if there is no room for all, the
 * highest. */
TRG_KERNEL4(vx_seed_peaks, const trg_u32, bins, const struct vx_grid, grids, struct vx_vertex,
            seeds, struct vx_counts, counts, struct vx_par, par)
{
    TRG_SHARED trg_u32 s[VX_BINS_MAX];
    TRG_SHARED trg_u32 is_peak[VX_BINS_MAX / 32u];
    TRG_SHARED trg_u32 list[VX_PV_MAX];
    TRG_SHARED trg_u32 n_seeds;
    TRG_GLOBAL const trg_u32 *h = bins + TRG_GID * par.bins_room;
    TRG_GLOBAL struct vx_vertex *out = seeds + TRG_GID * par.pv_room;
    const struct vx_grid g = grids[TRG_GID];

    for (trg_u32 b = TRG_LID; b < g.n_bins; b += TRG_LSIZE)
        s[b] = vx_smooth(h, g.n_bins, b, par.smooth);
    for (trg_u32 w = TRG_LID; w * 32u < g.n_bins; w += TRG_LSIZE)
        is_peak[w] = 0u;
    TRG_BARRIER();
    for (trg_u32 b = TRG_LID; b < g.n_bins; b += TRG_LSIZE) {
        const trg_u32 height = s[b];
        trg_u32 need;

        if (height < par.min_height || (b > 0u && s[b - 1u] >= height) ||
            (b + 1u < g.n_bins && s[b + 1u] > height))
            continue;
        need = (trg_u32)(par.prominence * (float)height);
        need = need < 1u ? 1u : need > height ? height : need;
        if (vx_stands_out(s, g.n_bins, b, height - need))
            TRG_ATOMIC_OR_LOCAL(&is_peak[b / 32u], 1u << (b % 32u));
    }
    TRG_BARRIER();
    if (TRG_LID == 0u) {
        trg_u32 n = 0u, all = 0u;

        for (trg_u32 w = 0u; w * 32u < g.n_bins; w++)
            for (trg_u32 left = is_peak[w]; left; left &= left - 1u) {
                n = vx_keep_highest(list, s, n, par.pv_room,
                                    w * 32u + 31u - trg_clz(left & (0u - left)));
                all++;
            }
        vx_sort_bins(list, n);
        n_seeds = n;
        counts[TRG_GID].n_seeds = n;
        counts[TRG_GID].seeds_kept = n;
        counts[TRG_GID].seeds_all = all;
    }
    TRG_BARRIER();
    for (trg_u32 k = TRG_LID; k < n_seeds; k += TRG_LSIZE)
        out[k] = vx_seed(par.beam_x, par.beam_y, vx_peak_z(h, g, list[k], par.smooth),
                         (float)s[list[k]]);
}

/* ---------------------------------------------------------------- pairwise seeding */

/* Squared distance of neighbouring clusters in units of its variance. */
TRG_FN float vx_pair_distance2(TRG_LOCAL const float *z, TRG_LOCAL const float *v, trg_u32 k)
{
    const float d = z[k + 1u] - z[k];

    return d * d / (v[k] + v[k + 1u]);
}

/* Whether clusters k and k + 1 are nearer to each other than to their other neighbours (of equal
 * ones the first): then no other merge touches them in this round. */
TRG_FN trg_u32 vx_merges(TRG_LOCAL const float *z, TRG_LOCAL const float *v, trg_u32 n, trg_u32 k,
                         float limit2)
{
    float d;

    if (k + 1u >= n)
        return 0u;
    d = vx_pair_distance2(z, v, k);
    return d < limit2 && (k == 0u || vx_pair_distance2(z, v, k - 1u) > d) &&
           (k + 2u >= n || vx_pair_distance2(z, v, k + 1u) >= d);
}

/* One group an RoI.  LHCb-PUB-2014-044: tracks begin as clusters of their own; the pairs that are
 * nearest, D = |z1 - z2| / sqrt(v1 + v2) below a limit, become one, at the weighted mean, until no
 * such pair is left.  All pairs that are each other's nearest merge at a time. */
TRG_KERNEL4(vx_seed_pairs, const trg_u8, data, const float, entry_z, struct vx_vertex, seeds,
            struct vx_counts, counts, struct vx_par, par)
{
    TRG_SHARED float z[2u * VX_PAIRS_MAX];
    TRG_SHARED float v[2u * VX_PAIRS_MAX];
    TRG_SHARED trg_u32 size[2u * VX_PAIRS_MAX];
    TRG_SHARED trg_u32 part[VX_GROUP_MAX];
    TRG_SHARED trg_u32 filled, left;
    TRG_GLOBAL const trg_u32 *offsets = TRG_OFFSETS(data, par.in);
    TRG_GLOBAL struct vx_vertex *out = seeds + TRG_GID * par.pv_room;
    const trg_u32 first = offsets[TRG_GID], end = offsets[TRG_GID + 1u];
    const float limit2 = par.pair_distance * par.pair_distance;
    trg_u32 n, padded = 1u, now = 0u;

    if (TRG_LID == 0u) { /* the first tracks, so that those that are left out are known */
        trg_u32 k = 0u, more = 0u;

        for (trg_u32 i = first; i < end; i++) {
            if (entry_z[i] == VX_NOWHERE)
                continue;
            if (k < VX_PAIRS_MAX)
                size[k++] = i;
            else
                more++;
        }
        filled = k;
        counts[TRG_GID].pairs_left_out = more;
    }
    TRG_BARRIER();
    n = filled;
    while (padded < n)
        padded *= 2u;
    for (trg_u32 k = TRG_LID; k < padded; k += TRG_LSIZE) {
        z[k] = k < n ? entry_z[size[k]] : VX_NOWHERE;
        size[k] = k < n ? size[k] : VX_NONE;
    }
    TRG_BARRIER();
    for (trg_u32 run = 2u; run <= padded; run *= 2u) /* bitonic, by z, then by number */
        for (trg_u32 step = run / 2u; step > 0u; step /= 2u) {
            for (trg_u32 k = TRG_LID; k < padded; k += TRG_LSIZE) {
                const trg_u32 o = k ^ step;

                if (o > k) {
                    const trg_u32 after = z[k] > z[o] || (z[k] == z[o] && size[k] > size[o]);

                    if (after == ((k & run) == 0u)) {
                        const float swap_z = z[k];
                        const trg_u32 swap = size[k];

                        z[k] = z[o];
                        z[o] = swap_z;
                        size[k] = size[o];
                        size[o] = swap;
                    }
                }
            }
            TRG_BARRIER();
        }
    for (trg_u32 k = TRG_LID; k < n; k += TRG_LSIZE) {
        v[k] = entry_z[par.items_room + size[k]];
        size[k] = 1u;
    }
    TRG_BARRIER();
    for (;;) {
        TRG_LOCAL const float *cz = z + now, *cv = v + now;
        const trg_u32 chunk = (n + TRG_LSIZE - 1u) / TRG_LSIZE, next = VX_PAIRS_MAX - now;
        const trg_u32 from = TRG_LID * chunk < n ? TRG_LID * chunk : n;
        const trg_u32 to = from + chunk < n ? from + chunk : n;
        trg_u32 keep = 0u;

        for (trg_u32 k = from; k < to; k++) /* the right one of a pair goes */
            keep += k == 0u || !vx_merges(cz, cv, n, k - 1u, limit2);
        part[TRG_LID] = keep;
        TRG_BARRIER();
        if (TRG_LID == 0u) {
            trg_u32 total = 0u;

            for (trg_u32 k = 0u; k < TRG_LSIZE; k++) {
                const trg_u32 p = part[k];

                part[k] = total;
                total += p;
            }
            left = total;
        }
        TRG_BARRIER();
        keep = next + part[TRG_LID];
        for (trg_u32 k = from; k < to; k++) {
            float mz = cz[k], mv = cv[k];
            trg_u32 ms = size[now + k];

            if (k > 0u && vx_merges(cz, cv, n, k - 1u, limit2))
                continue;
            if (vx_merges(cz, cv, n, k, limit2)) {
                const float sum = cv[k] + cv[k + 1u];

                mz = (cz[k] * cv[k + 1u] + cz[k + 1u] * cv[k]) / sum;
                mv = cv[k] * cv[k + 1u] / sum;
                ms += size[now + k + 1u];
            }
            z[keep] = mz;
            v[keep] = mv;
            size[keep] = ms;
            keep++;
        }
        TRG_BARRIER();
        if (left == n)
            break;
        n = left;
        now = next;
        TRG_BARRIER();
    }
    if (TRG_LID == 0u) {
        trg_u32 k = 0u, all = 0u;

        for (trg_u32 i = 0u; i < n; i++) {
            if (size[now + i] < par.seed_min_tracks)
                continue;
            if (k < par.pv_room)
                out[k++] = vx_seed(par.beam_x, par.beam_y, z[now + i], (float)size[now + i]);
            all++;
        }
        counts[TRG_GID].n_seeds = k;
        counts[TRG_GID].seeds_kept = k;
        counts[TRG_GID].seeds_all = all;
    }
}

/* ---------------------------------------------------------------- adaptive fit */

/* Of a track that fits vertex v: 1 if it does not fit the one below, + 2 the one above. */
#if defined(__OPENCL_VERSION__) || defined(__CUDACC__)
TRG_FN trg_u32 vx_is_own(struct vx_line l, struct vx_vertex below, struct vx_vertex above,
                         float fits2)
{
    return (vx_from(l, below.x, below.y, below.z).chi2 < fits2 ? 0u : 1u) |
           (vx_from(l, above.x, above.y, above.z).chi2 < fits2 ? 0u : 2u);
}
#endif

/* 32 work-items a seed.  Tracks whose z at the beam is nearer to this seed than to the next ones,
 * and within the window, are weighted by Tukey's biweight with a constant that shrinks from round
 * to round; the vertex moves to the minimum until it rests. */
TRG_KERNEL6(vx_fit_primary, const float, sorted, const trg_u32, cells, const struct vx_grid, grids,
            const struct vx_vertex, seeds, struct vx_vertex, fits, const struct vx_counts, counts,
            struct vx_par, par)
{
    TRG_SHARED trg_i64 sums[VX_FIT_GROUP * VX_SUMS];
    TRG_SHARED trg_i64 total[VX_SUMS];
    TRG_SHARED struct vx_vertex v;
    TRG_SHARED trg_u32 done, own_below, own_above;
    const trg_u32 roi = TRG_GID / par.pv_room, k = TRG_GID % par.pv_room;
    const trg_u32 n_seeds = counts[roi].n_seeds, room = par.items_room;
    TRG_GLOBAL const trg_u32 *cell = cells + roi * (VX_CELLS + 1u);
    const float scale = 0.5f * (float)VX_CELLS / par.z_range;
    /* a group without a seed goes the same way through no rounds: all meet at every barrier */
    const trg_u32 settled = counts[roi].settled;
    const trg_u32 rounds = k < n_seeds && !settled ? par.rounds : 0u;
    /* at first a seed is known to a bin, later to its fit */
    const float seed_var = par.fresh ? 0.25f * grids[roi].width * grids[roi].width : 0.0f;
    float z, low, high, c = par.tukey_start;
    trg_u32 from, to;

    z = k < n_seeds ? seeds[roi * par.pv_room + k].z : 0.0f;
    low = k > 0u && k < n_seeds ? 0.5f * (seeds[roi * par.pv_room + k - 1u].z + z) : z - par.window;
    high = k + 1u < n_seeds ? 0.5f * (seeds[roi * par.pv_room + k + 1u].z + z) : z + par.window;
    low = low > z - par.window ? low : z - par.window;
    high = high < z + par.window ? high : z + par.window;
    from = low > -par.z_range ? (trg_u32)((low + par.z_range) * scale) : 0u;
    to = high > -par.z_range ? (trg_u32)((high + par.z_range) * scale) : 0u;
    from = cell[from < VX_CELLS ? from : VX_CELLS];
    to = cell[to + 1u < VX_CELLS ? to + 1u : VX_CELLS];
    if (TRG_LID == 0u) {
        if (rounds)
            v = seeds[roi * par.pv_room + k];
        done = own_below = own_above = 0u;
    }
    TRG_BARRIER();
    for (trg_u32 round = 0u; round < rounds && !done; round++) {
        const float inv_c2 = 1.0f / (c * c);
        const float var_z = round ? 0.0f : seed_var;
        trg_i64 own[VX_SUMS] = {0};

#if !defined(__OPENCL_VERSION__) && !defined(__CUDACC__)
        vx_host_sums(sorted, room, from, to, (struct vx_bounds){low, high, var_z}, v, inv_c2, own);
#else
        for (trg_u32 i = from + TRG_LID; i < to; i += TRG_LSIZE) {
            const struct vx_line l = vx_load(sorted, room, i);
            const struct vx_miss m = vx_from_about(l, v.x, v.y, v.z, var_z);
            const float w = l.z >= low && l.z < high ? vx_tukey(m.chi2, inv_c2) : 0.0f;

            if (w > 0.0f)
                VX_ADD(own, l, m, w);
        }
#endif
        for (trg_u32 j = 0u; j < VX_SUMS; j++)
            sums[TRG_LID * VX_SUMS + j] = own[j];
        TRG_BARRIER();
        for (trg_u32 j = TRG_LID; j < VX_SUMS; j += TRG_LSIZE) {
            trg_i64 sum = 0;

            for (trg_u32 i = 0u; i < TRG_LSIZE; i++)
                sum += sums[i * VX_SUMS + j];
            total[j] = sum;
        }
        TRG_BARRIER();
        if (TRG_LID == 0u) {
            const struct vx_step s = vx_solve(total);

            v.n_tracks = (trg_u32)total[VX_S_N];
            v.weight = (float)total[VX_S_WEIGHT] * (1.0f / 65536.0f);
            v.chi2 = (float)total[VX_S_CHI2] * (1.0f / 65536.0f);
            if (s.good) {
                for (trg_u32 j = 0u; j < 6u; j++)
                    v.cov[j] = s.cov[j];
                v.x += s.x;
                v.y += s.y;
                v.z += s.z;
            } else {
                v.alive = 0u;
            }
            done = !s.good || (c <= par.tukey_end &&
                               s.x * s.x + s.y * s.y + s.z * s.z < par.tolerance * par.tolerance);
        }
        c *= 0.5f;
        c = c > par.tukey_end ? c : par.tukey_end;
        TRG_BARRIER();
    }
    if (rounds) {
        const trg_u32 at = TRG_GID;
        const struct vx_vertex below = seeds[k > 0u ? at - 1u : at];
        const struct vx_vertex above = seeds[k + 1u < n_seeds ? at + 1u : at];
        const float end2 = par.tukey_end * par.tukey_end;
        const float fits2 = par.pv_own_sigmas * par.pv_own_sigmas;
        trg_u32 n_below = 0u, n_above = 0u;

#if !defined(__OPENCL_VERSION__) && !defined(__CUDACC__)
        const struct vx_vertex three[3] = {v, below, above};
        trg_u32 own[2] = {0u, 0u};

        vx_host_own(sorted, room, from, to, (struct vx_bounds){low, high, 0.0f}, three, end2, fits2,
                    own);
        n_below = own[0];
        n_above = own[1];
#else
        for (trg_u32 i = from + TRG_LID; i < to; i += TRG_LSIZE) {
            const struct vx_line l = vx_load(sorted, room, i);
            const trg_u32 own = vx_is_own(l, below, above, fits2);
            const trg_u32 fits_v =
                l.z >= low && l.z < high && vx_from(l, v.x, v.y, v.z).chi2 < end2;

            n_below += fits_v ? own & 1u : 0u;
            n_above += fits_v ? own >> 1 : 0u;
        }
#endif
        TRG_ATOMIC_ADD_LOCAL(&own_below, n_below);
        TRG_ATOMIC_ADD_LOCAL(&own_above, n_above);
    }
    TRG_BARRIER();
    if (TRG_LID == 0u && rounds) {
        v.own[0] = k > 0u ? own_below : v.n_tracks;
        v.own[1] = k + 1u < n_seeds ? own_above : v.n_tracks;
        fits[TRG_GID] = v;
    }
    if (TRG_LID == 0u && settled && k < n_seeds)
        fits[TRG_GID] = seeds[TRG_GID];
}

/* ---------------------------------------------------------------- which of them stay */

/* One group an RoI: drops fits that failed, lie away from the beam line, have too few tracks, or
 * are the lesser of two that are one; the others go back to the list of seeds, in order of z. */
TRG_KERNEL3(vx_prune, const struct vx_vertex, fits, struct vx_vertex, seeds, struct vx_counts,
            counts, struct vx_par, par)
{
    TRG_SHARED float z[VX_PV_MAX];
    TRG_SHARED float var[VX_PV_MAX];
    TRG_SHARED trg_u32 tracks[VX_PV_MAX];
    TRG_SHARED trg_u32 order[VX_PV_MAX];
    TRG_SHARED trg_u32 kept;
    TRG_GLOBAL const struct vx_vertex *in = fits + TRG_GID * par.pv_room;
    TRG_GLOBAL struct vx_vertex *out = seeds + TRG_GID * par.pv_room;
    const trg_u32 n = counts[TRG_GID].n_seeds;

    for (trg_u32 k = TRG_LID; k < n; k += TRG_LSIZE) {
        const float dx = in[k].x - par.beam_x, dy = in[k].y - par.beam_y;
        const trg_u32 good = in[k].alive && in[k].n_tracks >= par.pv_min_tracks &&
                             dx * dx + dy * dy < par.pv_max_radius * par.pv_max_radius &&
                             trg_fabs(in[k].z) < par.z_range;

        z[k] = in[k].z;
        var[k] = in[k].cov[2];
        tracks[k] = good ? in[k].n_tracks : 0u;
    }
    TRG_BARRIER();
    for (trg_u32 k = TRG_LID; k < n; k += TRG_LSIZE) {
        /* of equals the first one stays */
        const trg_u32 below = k > 0u && tracks[k - 1u] >= tracks[k];
        const trg_u32 above = k + 1u < n && tracks[k + 1u] > tracks[k];

        order[k] = (below && in[k].own[0] < par.pv_own_tracks) ||
                   (above && in[k].own[1] < par.pv_own_tracks);
    }
    TRG_BARRIER();
    for (trg_u32 k = TRG_LID; k < n; k += TRG_LSIZE)
        tracks[k] = order[k] ? 0u : tracks[k];
    TRG_BARRIER();
    if (TRG_LID == 0u) {
        trg_u32 m = 0u;

        for (trg_u32 k = 0u; k < n; k++) { /* by z: fits may have passed each other */
            trg_u32 at = m;

            if (!tracks[k])
                continue;
            for (; at > 0u && z[order[at - 1u]] > z[k]; at--)
                order[at] = order[at - 1u];
            order[at] = k;
            m++;
        }
        kept = 0u;
        for (trg_u32 j = 0u; j < m; j++) {
            const trg_u32 k = order[j];

            if (kept > 0u) {
                const trg_u32 last = order[kept - 1u];
                const float d = z[k] - z[last];

                if (d * d < par.pv_merge * par.pv_merge * (var[k] + var[last])) {
                    if (tracks[k] > tracks[last])
                        order[kept - 1u] = k;
                    continue;
                }
            }
            order[kept++] = k;
        }
        /* where nothing goes, another fit would give the same */
        counts[TRG_GID].settled = kept == n && !par.fresh;
        counts[TRG_GID].n_seeds = kept;
        counts[TRG_GID].n_pv = kept;
    }
    TRG_BARRIER();
    for (trg_u32 j = TRG_LID; j < kept; j += TRG_LSIZE)
        out[j] = in[order[j]];
}

/* ---------------------------------------------------------------- what belongs to which */

/* One group an RoI: for each track the primary vertex that it misses least, in its own errors; how
 * many are displaced; and the list, in order, of those that may come from a secondary vertex.  Two
 * or more groups for an RoI are not possible. */
TRG_KERNEL6(vx_associate, const trg_u8, data, const float, tracks, const struct vx_vertex, pvs,
            trg_u32, pv_of, trg_u32, selected, struct vx_counts, counts, struct vx_par, par)
{
    TRG_SHARED float px[VX_PV_MAX];
    TRG_SHARED float py[VX_PV_MAX];
    TRG_SHARED float pz[VX_PV_MAX];
    TRG_SHARED trg_u32 part[VX_GROUP_MAX];
    TRG_SHARED trg_u32 displaced, largest;
    TRG_GLOBAL const trg_u32 *offsets = TRG_OFFSETS(data, par.in);
    const trg_u32 first = offsets[TRG_GID], n = offsets[TRG_GID + 1u] - first;
    const trg_u32 n_pv = counts[TRG_GID].n_pv;
    const trg_u32 chunk = (n + TRG_LSIZE - 1u) / TRG_LSIZE;
    const trg_u32 from = TRG_LID * chunk < n ? TRG_LID * chunk : n;
    const trg_u32 to = from + chunk < n ? from + chunk : n;
    const float near2 = par.ip_min * par.ip_min, far2 = par.ip_max * par.ip_max;
    trg_u32 count = 0u, sum = 0u, most = 0u;

    for (trg_u32 k = TRG_LID; k < n_pv; k += TRG_LSIZE) {
        px[k] = pvs[TRG_GID * par.pv_room + k].x;
        py[k] = pvs[TRG_GID * par.pv_room + k].y;
        pz[k] = pvs[TRG_GID * par.pv_room + k].z;
    }
    if (TRG_LID == 0u)
        displaced = largest = 0u;
    TRG_BARRIER();
    for (trg_u32 i = TRG_LID; i < n; i += TRG_LSIZE) {
        const struct vx_line l = vx_load(tracks, par.items_room, first + i);
        float best = 3e38f, ip2 = 0.0f;
        trg_u32 pv = 0u, takes;

        for (trg_u32 k = 0u; k < n_pv; k++) {
            const struct vx_miss m = vx_from(l, px[k], py[k], pz[k]);

            if (m.chi2 < best) {
                best = m.chi2;
                ip2 = m.r2;
                pv = k;
            }
        }
        takes = n_pv && best >= near2 && best < far2 && ip2 < par.ip_limit * par.ip_limit;
        if (n_pv && best < 3e38f) {
            count += ip2 >= par.displaced_ip * par.displaced_ip &&
                     best >= par.displaced_significance * par.displaced_significance;
            most = trg_as_u32(best) > most ? trg_as_u32(best) : most; /* ordered as integers */
        }
        pv_of[first + i] = takes ? pv : VX_NONE;
    }
    if (count)
        TRG_ATOMIC_ADD_LOCAL(&displaced, count);
    TRG_ATOMIC_MAX_LOCAL(&largest, most);
    TRG_BARRIER();
    for (trg_u32 i = from; i < to; i++)
        sum += pv_of[first + i] != VX_NONE;
    part[TRG_LID] = sum;
    TRG_BARRIER();
    if (TRG_LID == 0u) {
        trg_u32 total = 0u;

        for (trg_u32 k = 0u; k < TRG_LSIZE; k++) {
            const trg_u32 m = part[k];

            part[k] = total;
            total += m;
        }
        counts[TRG_GID].n_displaced = displaced;
        counts[TRG_GID].selected_all = total;
        counts[TRG_GID].n_selected = total < par.max_selected ? total : par.max_selected;
        counts[TRG_GID].ip_significance = trg_sqrt(trg_as_f32(largest));
    }
    TRG_BARRIER();
    sum = part[TRG_LID];
    for (trg_u32 i = from; i < to; i++)
        if (pv_of[first + i] != VX_NONE) {
            if (sum < par.max_selected)
                selected[first + sum] = first + i;
            sum++;
        }
}
