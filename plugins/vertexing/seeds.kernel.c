/* SPDX-License-Identifier: Apache-2.0 */
/* Seeds of primary vertices: peaks of the histogram, or clusters of tracks merged pair by pair. */
#include "bins.h"
#include "geometry.h"
#include "trigd/common/group.h"

TRG_FN struct vx_vertex vx_seed_at(float x, float y, float z, float weight)
{
    struct vx_vertex v = {0};

    v.x = x;
    v.y = y;
    v.z = z;
    v.weight = weight;
    v.alive = 1u;
    v.todo = 1u;
    return v;
}

/* ---------------------------------------------------------------- peaks of the histogram */

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

/* Whether bin b, above its neighbours, is a peak of its own. */
TRG_FN trg_u32 vx_is_peak(TRG_LOCAL const trg_u32 *s, trg_u32 n, trg_u32 b, float prominence)
{
    const trg_u32 height = s[b];
    trg_u32 need = (trg_u32)(prominence * (float)height);

    need = need < 1u ? 1u : need > height ? height : need;
    return vx_stands_out(s, n, b, height - need);
}

#if defined(__OPENCL_VERSION__) || defined(__CUDACC__)
#define VX_MARGIN 0u

/* Adds an entry to the smoothed histogram: to its own bin most, to others by their distance. */
TRG_FN void vx_add_tent(TRG_LOCAL trg_u32 *s, trg_u32 n, trg_u32 b, trg_u32 weight, trg_u32 reach)
{
    const trg_u32 low = b < reach ? 0u : b - reach, high = b + reach < n ? b + reach : n - 1u;

    for (trg_u32 k = low; k <= high; k++)
        TRG_ATOMIC_ADD_LOCAL(&s[k], weight * (reach + 1u - (k < b ? b - k : k - b)));
}

/* The smoothed histogram: entries are fewer than bins. */
TRG_GROUP_FN void vx_smooth_all(struct vx_entries e, struct vx_grid g, trg_u32 reach,
                                TRG_LOCAL trg_u32 *s)
{
    for (trg_u32 b = TRG_LID; b < g.n_bins; b += TRG_LSIZE)
        s[b] = 0u;
    TRG_BARRIER();
    for (trg_u32 i = TRG_LID; i < e.n; i += TRG_LSIZE) {
        const trg_u32 b = vx_bin(g, e.z[i]);

        if (b < g.n_bins)
            vx_add_tent(s, g.n_bins, b, e.weighted ? e.weights[i] : 1u, reach);
    }
}

/* Smooths n bins to `s` and sets the bits of those that are peaks. */
TRG_GROUP_FN void vx_find_peaks(TRG_GLOBAL const trg_u32 *h, struct vx_entries e, struct vx_grid g,
                                struct vx_par par, TRG_LOCAL trg_u32 *s, TRG_LOCAL trg_u32 *is_peak)
{
    const trg_u32 n = g.n_bins;

    vx_smooth_all(e, g, par.smooth, s);
    for (trg_u32 w = TRG_LID; w * 32u < n; w += TRG_LSIZE)
        is_peak[w] = 0u;
    TRG_BARRIER();
    for (trg_u32 b = TRG_LID; b < n; b += TRG_LSIZE) {
        const trg_u32 height = s[b];

        if (height < par.min_height || (b > 0u && s[b - 1u] >= height) ||
            (b + 1u < n && s[b + 1u] > height))
            continue;
        if (vx_is_peak(s, n, b, par.prominence))
            TRG_ATOMIC_OR_LOCAL(&is_peak[b / 32u], 1u << (b % 32u));
    }
}
#else
#include "peaks.h"
#endif

/* A group's desk `d` for so many bins.  In a kernel's body, where alone shared memory is declared.
 */
#define VX_DESK(d, most)                                                        \
    TRG_SHARED trg_u32 heights[(most) + 2u * VX_MARGIN], is_peak[(most) / 32u]; \
    TRG_SHARED trg_u32 list[VX_PV_MAX], scratch[TRG_GROUP_SCAN_SCRATCH];        \
    const struct vx_desk d = {heights, is_peak, list, scratch}

struct vx_desk { /* of a group, in shared memory */
    TRG_LOCAL trg_u32 *heights, *is_peak, *list, *scratch;
};

/* Lists the peaks among n bins in order, the first `room` of them.  Returns how many there are. */
TRG_GROUP_FN trg_u32 vx_list_peaks(struct vx_desk d, trg_u32 n, trg_u32 room)
{
    trg_u32 all = 0u;

    for (trg_u32 at = 0u; at * 32u < n; at += TRG_LSIZE) {
        const trg_u32 w = at + TRG_LID, peaks = w * 32u < n ? d.is_peak[w] : 0u;
        trg_u32 here, to = all + trg_group_scan(d.scratch, trg_popcount(peaks), &here);

        for (trg_u32 left = peaks; left && to < room; left &= left - 1u)
            d.list[to++] = w * 32u + 31u - trg_clz(left & (0u - left));
        all += here;
    }
    return all;
}

/* The highest `room` peaks among n bins, in order. */
TRG_FN void vx_list_highest(struct vx_desk d, trg_u32 n, trg_u32 room)
{
    trg_u32 kept = 0u;

    for (trg_u32 w = 0u; w * 32u < n; w++)
        for (trg_u32 left = d.is_peak[w]; left; left &= left - 1u)
            kept = vx_keep_highest(d.list, d.heights + VX_MARGIN, kept, room,
                                   w * 32u + 31u - trg_clz(left & (0u - left)));
    vx_sort_bins(d.list, kept);
}

/* The smoothed histogram's peaks, in order of z; if there is no room for all, the highest. */
TRG_GROUP_FN void vx_seed(struct vx_desk d, TRG_GLOBAL const trg_u32 *h, struct vx_entries e,
                          const struct vx_grid g, TRG_GLOBAL struct vx_vertex *out, trg_u32 room,
                          TRG_GLOBAL struct vx_counts *counts, struct vx_par par)
{
    TRG_LOCAL trg_u32 *s = d.heights + VX_MARGIN;
    trg_u32 all, n;

    vx_find_peaks(h, e, g, par, s, d.is_peak);
    TRG_BARRIER();
    all = vx_list_peaks(d, g.n_bins, room);
    n = all < room ? all : room;
    TRG_BARRIER();
    if (TRG_LID == 0u) {
        if (all > room)
            vx_list_highest(d, g.n_bins, room);
        counts->n_seeds = n;
        counts->seeds_kept = n;
        counts->seeds_all = all;
    }
    TRG_BARRIER();
    for (trg_u32 k = TRG_LID; k < n; k += TRG_LSIZE)
        out[k] = vx_seed_at(g.beam_x, g.beam_y, vx_peak_z(h, g, d.list[k], par.smooth),
                            (float)s[d.list[k]]);
}

/* One group an RoI: seeds from a histogram of as many bins as there may be. */
TRG_KERNEL7(vx_seed_peaks, (const trg_u8, data), (const float, entry_z), (const trg_u32, weights),
            (const trg_u32, bins), (const struct vx_grid, grids), (struct vx_vertex, seeds),
            (struct vx_counts, counts), (struct vx_par, par))
{
    VX_DESK(d, VX_BINS_MAX);
    const trg_u32 first = TRG_BEGIN(data, par.in, TRG_GID);
    const trg_u32 n = TRG_END(data, par.in, TRG_GID) - first;
    const struct vx_entries e = {entry_z + first, weights + first, par.weighted, n};

    vx_seed(d, bins + TRG_GID * par.bins_room, e, grids[TRG_GID], seeds + vx_place(first, TRG_GID),
            vx_room(n, par.max_pv), &counts[TRG_GID], par);
}

/* The same where there are few: more groups fit on a device. */
TRG_KERNEL7(vx_seed_peaks_few, (const trg_u8, data), (const float, entry_z),
            (const trg_u32, weights), (const trg_u32, bins), (const struct vx_grid, grids),
            (struct vx_vertex, seeds), (struct vx_counts, counts), (struct vx_par, par))
{
    VX_DESK(d, VX_BINS_FEW);
    const trg_u32 first = TRG_BEGIN(data, par.in, TRG_GID);
    const trg_u32 n = TRG_END(data, par.in, TRG_GID) - first;
    const struct vx_entries e = {entry_z + first, weights + first, par.weighted, n};

    vx_seed(d, bins + TRG_GID * par.bins_room, e, grids[TRG_GID], seeds + vx_place(first, TRG_GID),
            vx_room(n, par.max_pv), &counts[TRG_GID], par);
}

/* ---------------------------------------------------------------- pairwise seeding */

/* How far neighbouring clusters are from each other in z, when they may merge: D^2 < limit2. */
TRG_FN float vx_pair_gap(TRG_LOCAL const float *z, TRG_LOCAL const float *v, trg_u32 k,
                         float limit2)
{
    const float d = z[k + 1u] - z[k];

    return d * d < limit2 * (v[k] + v[k + 1u]) ? d : VX_NOWHERE;
}

/* Whether clusters k and k + 1 may merge and are nearer to each other than to others with which
 * they may (of equal ones the first): then no other merge touches them in this round. */
TRG_FN trg_u32 vx_merges(TRG_LOCAL const float *z, TRG_LOCAL const float *v, trg_u32 n, trg_u32 k,
                         float limit2)
{
    float d;

    if (k + 1u >= n)
        return 0u;
    d = vx_pair_gap(z, v, k, limit2);
    return d < VX_NOWHERE && (k == 0u || vx_pair_gap(z, v, k - 1u, limit2) > d) &&
           (k + 2u >= n || vx_pair_gap(z, v, k + 1u, limit2) >= d);
}

/* The entries of the histogram, z and the place in the input, the first VX_PAIRS_MAX of them; the
 * number of all goes to `ret_all`. */
TRG_GROUP_FN trg_u32 vx_gather(TRG_GLOBAL const float *entry_z, trg_u32 first, trg_u32 end,
                               TRG_LOCAL float *z, TRG_LOCAL trg_u32 *place,
                               TRG_LOCAL trg_u32 *scratch, trg_u32 *ret_all)
{
    trg_u32 n = 0u;

    for (trg_u32 at = first; at < end; at += TRG_LSIZE) {
        const trg_u32 i = at + TRG_LID;
        const trg_u32 keep = i < end && entry_z[i < end ? i : at] != VX_NOWHERE ? 1u : 0u;
        const trg_u32 k = trg_group_place(scratch, keep, &n);

        if (keep && k < VX_PAIRS_MAX) {
            z[k] = entry_z[i];
            place[k] = i;
        }
    }
    *ret_all = n;
    TRG_BARRIER();
    return n < VX_PAIRS_MAX ? n : VX_PAIRS_MAX;
}

/* Bitonic sort by z, then by place; there is room up to the next power of two. */
TRG_GROUP_FN void vx_sort(TRG_LOCAL float *z, TRG_LOCAL trg_u32 *place, trg_u32 n)
{
    trg_u32 padded = 1u;

    while (padded < n)
        padded *= 2u;
    for (trg_u32 k = n + TRG_LID; k < padded; k += TRG_LSIZE) {
        z[k] = VX_NOWHERE;
        place[k] = VX_NONE;
    }
    TRG_BARRIER();
    for (trg_u32 run = 2u; run <= padded; run *= 2u)
        for (trg_u32 step = run / 2u; step > 0u; step /= 2u) {
            for (trg_u32 k = TRG_LID; k < padded; k += TRG_LSIZE) {
                const trg_u32 o = k ^ step;
                const trg_u32 after = z[k] > z[o] || (z[k] == z[o] && place[k] > place[o]);

                if (o > k && after == ((k & run) == 0u)) {
                    const float swap_z = z[k];
                    const trg_u32 swap = place[k];

                    z[k] = z[o];
                    z[o] = swap_z;
                    place[k] = place[o];
                    place[o] = swap;
                }
            }
            TRG_BARRIER();
        }
}

/* Clusters in order of z, as columns in shared memory. */
struct vx_clusters {
    TRG_LOCAL float *z, *v;
    TRG_LOCAL trg_u32 *size;
};

/* One round of merging, to other columns; returns how many clusters are left. */
TRG_GROUP_FN trg_u32 vx_merge_round(struct vx_clusters in, trg_u32 n, float limit2,
                                    struct vx_clusters out, TRG_LOCAL trg_u32 *scratch)
{
    trg_u32 left = 0u;

    for (trg_u32 at = 0u; at < n; at += TRG_LSIZE) {
        const trg_u32 k = at + TRG_LID;
        /* of a pair that merges, the left one becomes both and the right one goes */
        const trg_u32 keep =
            k < n && !(k > 0u && vx_merges(in.z, in.v, n, k - 1u, limit2)) ? 1u : 0u;
        const trg_u32 to = trg_group_place(scratch, keep, &left);

        if (keep && vx_merges(in.z, in.v, n, k, limit2)) {
            const float sum = in.v[k] + in.v[k + 1u];

            out.z[to] = (in.z[k] * in.v[k + 1u] + in.z[k + 1u] * in.v[k]) / sum;
            out.v[to] = in.v[k] * in.v[k + 1u] / sum;
            out.size[to] = in.size[k] + in.size[k + 1u];
        } else if (keep) {
            out.z[to] = in.z[k];
            out.v[to] = in.v[k];
            out.size[to] = in.size[k];
        }
    }
    TRG_BARRIER();
    return left;
}

/* One group an RoI.  LHCb-PUB-2014-044: tracks begin as clusters of their own; of the pairs with
 * D = |z1 - z2| / sqrt(v1 + v2) below a limit the one with the least |z1 - z2| becomes one, at the
 * weighted mean, until no such pair is left.  All pairs that are each other's nearest merge at a
 * time. */
TRG_KERNEL5(vx_seed_pairs, (const trg_u8, data), (const float, entry_z),
            (const struct vx_grid, grids), (struct vx_vertex, seeds), (struct vx_counts, counts),
            (struct vx_par, par))
{
    TRG_SHARED float z[2u * VX_PAIRS_MAX];
    TRG_SHARED float v[2u * VX_PAIRS_MAX];
    TRG_SHARED trg_u32 size[2u * VX_PAIRS_MAX];
    TRG_SHARED trg_u32 scratch[TRG_GROUP_SCRATCH];
    const trg_u32 first = TRG_BEGIN(data, par.in, TRG_GID), end = TRG_END(data, par.in, TRG_GID);
    const trg_u32 room = vx_room(end - first, par.max_pv);
    TRG_GLOBAL struct vx_vertex *out = seeds + vx_place(first, TRG_GID);
    const float limit2 = par.pair_distance * par.pair_distance;
    trg_u32 all, before, now = 0u, seen = 0u;
    trg_u32 n = vx_gather(entry_z, first, end, z, size, scratch, &all);

    if (TRG_LID == 0u)
        counts[TRG_GID].pairs_left_out = all - n;
    vx_sort(z, size, n);
    for (trg_u32 k = TRG_LID; k < n; k += TRG_LSIZE) {
        v[k] = entry_z[par.items_room + size[k]];
        size[k] = 1u;
    }
    TRG_BARRIER();
    do {
        const trg_u32 next = VX_PAIRS_MAX - now;
        struct vx_clusters from, to;

        from.z = z + now;
        from.v = v + now;
        from.size = size + now;
        to.z = z + next;
        to.v = v + next;
        to.size = size + next;
        before = n;
        n = vx_merge_round(from, n, limit2, to, scratch);
        now = next;
    } while (n < before);
    for (trg_u32 at = 0u; at < n; at += TRG_LSIZE) {
        const trg_u32 k = at + TRG_LID;
        const trg_u32 keep = k < n && size[now + (k < n ? k : 0u)] >= par.seed_min_tracks ? 1u : 0u;
        const trg_u32 to = trg_group_place(scratch, keep, &seen);

        if (keep && to < room)
            out[to] = vx_seed_at(grids[TRG_GID].beam_x, grids[TRG_GID].beam_y, z[now + k],
                                 (float)size[now + k]);
    }
    if (TRG_LID == 0u) {
        const trg_u32 kept = seen < room ? seen : room;

        counts[TRG_GID].n_seeds = kept;
        counts[TRG_GID].seeds_kept = kept;
        counts[TRG_GID].seeds_all = seen;
    }
}
