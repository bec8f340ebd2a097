/* SPDX-License-Identifier: Apache-2.0 */
/* Histograms of z, one for each RoI, by eight algorithms with one interface:
 *
 *     (data: offsets of the RoIs, z of the entries, weights, grids, bins, par)
 *
 * bins[r * bins_room + b] becomes the sum of the weights of RoI r's entries in bin b.  The kernels
 * that add to bins in global memory (data_global, and the others where an RoI has several groups)
 * want them zeroed before; vx_histogram_launch in vertexing.c does that. */
#include "histogram.h"
#include "../common/group.h"

/* The bin of an entry; n_bins when it is outside. */
TRG_FN trg_u32 vx_bin(struct vx_grid g, float z)
{
    const float b = (z - g.first) * g.inv_width;

    return b >= 0.0f && b < (float)g.n_bins ? (trg_u32)b : g.n_bins;
}

#define VX_WEIGHT(par, weights, i) ((par).weighted ? (weights)[i] : 1u)

/* A.1 data-parallel, global: a work-item for an entry, an atomic add to global memory. */
TRG_KERNEL5(vx_hist_data_global, (const trg_u8, data), (const float, z), (const trg_u32, weights),
            (const struct vx_grid, grids), (trg_u32, bins), (struct vx_hist_par, par))
{
    const trg_u32 roi = TRG_GID / par.parts, part = TRG_GID % par.parts;
    TRG_GLOBAL const trg_u32 *offsets = TRG_OFFSETS(data, par.in);
    TRG_GLOBAL trg_u32 *out = bins + roi * par.bins_room;
    const struct vx_grid g = grids[roi];
    const trg_u32 end = offsets[roi + 1u];

    for (trg_u32 i = offsets[roi] + part * TRG_LSIZE + TRG_LID; i < end;
         i += par.parts * TRG_LSIZE) {
        const trg_u32 b = vx_bin(g, z[i]);

        if (b < g.n_bins)
            TRG_ATOMIC_ADD_GLOBAL(&out[b], VX_WEIGHT(par, weights, i));
    }
}

/* A.2 data-parallel, shared: each group counts into its own bins and adds them up at the end. */
TRG_KERNEL5(vx_hist_data_shared, (const trg_u8, data), (const float, z), (const trg_u32, weights),
            (const struct vx_grid, grids), (trg_u32, bins), (struct vx_hist_par, par))
{
    TRG_SHARED trg_u32 mine[VX_HIST_LOCAL];
    const trg_u32 roi = TRG_GID / par.parts, part = TRG_GID % par.parts;
    TRG_GLOBAL const trg_u32 *offsets = TRG_OFFSETS(data, par.in);
    TRG_GLOBAL trg_u32 *out = bins + roi * par.bins_room;
    const struct vx_grid g = grids[roi];
    const trg_u32 end = offsets[roi + 1u];

    for (trg_u32 b = TRG_LID; b < g.n_bins; b += TRG_LSIZE)
        mine[b] = 0u;
    TRG_BARRIER();
    for (trg_u32 i = offsets[roi] + part * TRG_LSIZE + TRG_LID; i < end;
         i += par.parts * TRG_LSIZE) {
        const trg_u32 b = vx_bin(g, z[i]);

        if (b < g.n_bins)
            TRG_ATOMIC_ADD_LOCAL(&mine[b], VX_WEIGHT(par, weights, i));
    }
    TRG_BARRIER();
    for (trg_u32 b = TRG_LID; b < g.n_bins; b += TRG_LSIZE) {
        if (par.parts == 1u)
            out[b] = mine[b];
        else if (mine[b])
            TRG_ATOMIC_ADD_GLOBAL(&out[b], mine[b]);
    }
}

/* A.3 bin-parallel, thread: a work-item owns a bin and looks at every entry; no atomics. */
TRG_KERNEL5(vx_hist_bin_thread, (const trg_u8, data), (const float, z), (const trg_u32, weights),
            (const struct vx_grid, grids), (trg_u32, bins), (struct vx_hist_par, par))
{
    const trg_u32 roi = TRG_GID / par.parts, part = TRG_GID % par.parts;
    TRG_GLOBAL const trg_u32 *offsets = TRG_OFFSETS(data, par.in);
    const struct vx_grid g = grids[roi];
    const trg_u32 first = offsets[roi], end = offsets[roi + 1u];

    for (trg_u32 b = part * TRG_LSIZE + TRG_LID; b < g.n_bins; b += par.parts * TRG_LSIZE) {
        trg_u32 sum = 0u;

        for (trg_u32 i = first; i < end; i++)
            sum += vx_bin(g, z[i]) == b ? VX_WEIGHT(par, weights, i) : 0u;
        bins[roi * par.bins_room + b] = sum;
    }
}

/* A.4 bin-parallel, block: a group owns a bin, its work-items share the entries. */
TRG_KERNEL5(vx_hist_bin_block, (const trg_u8, data), (const float, z), (const trg_u32, weights),
            (const struct vx_grid, grids), (trg_u32, bins), (struct vx_hist_par, par))
{
    TRG_SHARED trg_u32 total;
    const trg_u32 roi = TRG_GID / par.parts, part = TRG_GID % par.parts;
    TRG_GLOBAL const trg_u32 *offsets = TRG_OFFSETS(data, par.in);
    const struct vx_grid g = grids[roi];
    const trg_u32 first = offsets[roi], end = offsets[roi + 1u];

    for (trg_u32 b = part; b < g.n_bins; b += par.parts) {
        trg_u32 sum = 0u;

        if (TRG_LID == 0u)
            total = 0u;
        TRG_BARRIER();
        for (trg_u32 i = first + TRG_LID; i < end; i += TRG_LSIZE)
            sum += vx_bin(g, z[i]) == b ? VX_WEIGHT(par, weights, i) : 0u;
        if (sum)
            TRG_ATOMIC_ADD_LOCAL(&total, sum);
        TRG_BARRIER();
        if (TRG_LID == 0u)
            bins[roi * par.bins_room + b] = total;
        TRG_BARRIER();
    }
}

/* A.5 bin-parallel, warp: 32 work-items own a bin; their sums meet in shared memory. */
TRG_KERNEL5(vx_hist_bin_warp, (const trg_u8, data), (const float, z), (const trg_u32, weights),
            (const struct vx_grid, grids), (trg_u32, bins), (struct vx_hist_par, par))
{
    TRG_SHARED trg_u32 total[VX_GROUP_MAX / VX_WARP];
    const trg_u32 warps = TRG_LSIZE < VX_WARP ? 1u : TRG_LSIZE / VX_WARP;
    const trg_u32 size = TRG_LSIZE < VX_WARP ? TRG_LSIZE : VX_WARP;
    const trg_u32 warp = TRG_LID / size, lane = TRG_LID % size;
    const trg_u32 roi = TRG_GID / par.parts, part = TRG_GID % par.parts;
    TRG_GLOBAL const trg_u32 *offsets = TRG_OFFSETS(data, par.in);
    const struct vx_grid g = grids[roi];
    const trg_u32 first = offsets[roi], end = offsets[roi + 1u];

    for (trg_u32 from = part * warps; from < g.n_bins; from += par.parts * warps) {
        const trg_u32 b = from + warp;
        trg_u32 sum = 0u;

        if (lane == 0u)
            total[warp] = 0u;
        TRG_BARRIER();
        for (trg_u32 i = first + lane; i < end; i += size)
            sum += vx_bin(g, z[i]) == b ? VX_WEIGHT(par, weights, i) : 0u;
        if (sum)
            TRG_ATOMIC_ADD_LOCAL(&total[warp], sum);
        TRG_BARRIER();
        if (lane == 0u && b < g.n_bins)
            bins[roi * par.bins_room + b] = total[warp];
        TRG_BARRIER();
    }
}

/* A.6 bin-parallel, warp and block: the group brings entries, as numbers of bins, to shared memory
 * once, and each of its warps looks through them for each of its own bins. */
TRG_KERNEL5(vx_hist_bin_warp_block, (const trg_u8, data), (const float, z),
            (const trg_u32, weights), (const struct vx_grid, grids), (trg_u32, bins),
            (struct vx_hist_par, par))
{
    TRG_SHARED trg_u32 number[VX_STAGE];
    TRG_SHARED trg_u32 weight[VX_STAGE];
    TRG_SHARED trg_u32 total[VX_GROUP_MAX / VX_WARP];
    const trg_u32 warps = TRG_LSIZE < VX_WARP ? 1u : TRG_LSIZE / VX_WARP;
    const trg_u32 size = TRG_LSIZE < VX_WARP ? TRG_LSIZE : VX_WARP;
    const trg_u32 warp = TRG_LID / size, lane = TRG_LID % size;
    const trg_u32 roi = TRG_GID / par.parts, part = TRG_GID % par.parts;
    TRG_GLOBAL const trg_u32 *offsets = TRG_OFFSETS(data, par.in);
    const struct vx_grid g = grids[roi];
    const trg_u32 first = offsets[roi], end = offsets[roi + 1u];

    for (trg_u32 from = part * warps; from < g.n_bins; from += par.parts * warps) {
        const trg_u32 b = from + warp;
        trg_u32 sum = 0u;

        if (lane == 0u)
            total[warp] = 0u;
        for (trg_u32 at = first; at < end; at += VX_STAGE) {
            const trg_u32 n = end - at < VX_STAGE ? end - at : VX_STAGE;

            TRG_BARRIER();
            for (trg_u32 k = TRG_LID; k < n; k += TRG_LSIZE) {
                number[k] = vx_bin(g, z[at + k]);
                weight[k] = VX_WEIGHT(par, weights, at + k);
            }
            TRG_BARRIER();
            for (trg_u32 k = lane; k < n; k += size)
                sum += number[k] == b ? weight[k] : 0u;
        }
        TRG_BARRIER();
        if (sum)
            TRG_ATOMIC_ADD_LOCAL(&total[warp], sum);
        TRG_BARRIER();
        if (lane == 0u && b < g.n_bins)
            bins[roi * par.bins_room + b] = total[warp];
        TRG_BARRIER();
    }
}

/* A.7 hybrid: a group owns a range of bins and goes through all entries in parallel, counting those
 * of its range in shared memory; no group adds to another's bins. */
TRG_KERNEL5(vx_hist_hybrid, (const trg_u8, data), (const float, z), (const trg_u32, weights),
            (const struct vx_grid, grids), (trg_u32, bins), (struct vx_hist_par, par))
{
    TRG_SHARED trg_u32 mine[VX_HYBRID_BINS];
    const trg_u32 roi = TRG_GID / par.parts, part = TRG_GID % par.parts;
    TRG_GLOBAL const trg_u32 *offsets = TRG_OFFSETS(data, par.in);
    TRG_GLOBAL trg_u32 *out = bins + roi * par.bins_room;
    const struct vx_grid g = grids[roi];
    const trg_u32 end = offsets[roi + 1u];

    for (trg_u32 low = part * VX_HYBRID_BINS; low < g.n_bins; low += par.parts * VX_HYBRID_BINS) {
        const trg_u32 n = g.n_bins - low < VX_HYBRID_BINS ? g.n_bins - low : VX_HYBRID_BINS;

        for (trg_u32 b = TRG_LID; b < n; b += TRG_LSIZE)
            mine[b] = 0u;
        TRG_BARRIER();
        for (trg_u32 i = offsets[roi] + TRG_LID; i < end; i += TRG_LSIZE) {
            const trg_u32 b = vx_bin(g, z[i]);

            if (b >= low && b - low < n)
                TRG_ATOMIC_ADD_LOCAL(&mine[b - low], VX_WEIGHT(par, weights, i));
        }
        TRG_BARRIER();
        for (trg_u32 b = TRG_LID; b < n; b += TRG_LSIZE)
            out[low + b] = mine[b];
        TRG_BARRIER();
    }
}

/* Replicated (ours): as data-parallel shared, but with as many copies of the bins as fit, at most
 * eight; neighbouring work-items use different ones, so that entries that crowd in a few bins do
 * not queue up, and four entries are in flight at a time for each work-item.  Counting and adding
 * weights are loops of their own: to add a 1 that the compiler knows is an instruction for all 32
 * work-items.  Where an RoI has several groups their bins are added in global memory.  With few
 * bins less shared memory is asked for, so that more groups are at work. */
#define VX_COPIES_MAX 8u

#if !defined(__OPENCL_VERSION__) && !defined(__CUDACC__)
#include "lanes.h"
#else
#define VX_ROOM(words) (words)

/* Entries i, i + step, ... < n to the bins `mine`; `weights` or, where weighted is 0, ones. */
TRG_GROUP_FN void vx_add_entries(TRG_GLOBAL const float *z, TRG_GLOBAL const trg_u32 *weights,
                                 trg_u32 weighted, trg_u32 i, trg_u32 n, trg_u32 step,
                                 struct vx_grid g, TRG_LOCAL trg_u32 *mine)
{
    for (; i < n && n - i > 3u * step; i += 4u * step) {
        trg_u32 b[4];

        for (trg_u32 k = 0u; k < 4u; k++)
            b[k] = vx_bin(g, z[i + k * step]);
        for (trg_u32 k = 0u; k < 4u; k++)
            if (b[k] < g.n_bins && weighted)
                TRG_ATOMIC_ADD_LOCAL(&mine[b[k]], weights[i + k * step]);
            else if (b[k] < g.n_bins)
                TRG_ATOMIC_ADD_LOCAL(&mine[b[k]], 1u);
    }
    for (; i < n; i += step) {
        const trg_u32 b = vx_bin(g, z[i]);

        if (b < g.n_bins && weighted)
            TRG_ATOMIC_ADD_LOCAL(&mine[b], weights[i]);
        else if (b < g.n_bins)
            TRG_ATOMIC_ADD_LOCAL(&mine[b], 1u);
    }
}

/* The part of one group, with `room` words for bins: copies of a bin lie in different banks. */
TRG_GROUP_FN void vx_replicate(TRG_GLOBAL const float *z, TRG_GLOBAL const trg_u32 *weights,
                               trg_u32 weighted, trg_u32 n, struct vx_grid g, trg_u32 part,
                               trg_u32 parts, TRG_LOCAL trg_u32 *mine, trg_u32 room,
                               TRG_GLOBAL trg_u32 *out)
{
    const trg_u32 pad = g.n_bins | 1u;
    /* copies cost a pass over all bins: no more of them than entries pay for */
    const trg_u32 paid = n / (parts * g.n_bins) + 1u, fit = room / pad;
    const trg_u32 i = part * TRG_LSIZE + TRG_LID, step = parts * TRG_LSIZE;
    trg_u32 copies = paid < fit ? paid : fit;

    copies = copies < VX_COPIES_MAX ? copies : VX_COPIES_MAX;
    copies = copies ? copies : 1u;
    for (trg_u32 b = TRG_LID; b < copies * pad && b < room; b += TRG_LSIZE)
        mine[b] = 0u;
    TRG_BARRIER();
    if (weighted)
        vx_add_entries(z, weights, 1u, i, n, step, g, mine + (TRG_LID % copies) * pad);
    else
        vx_add_entries(z, weights, 0u, i, n, step, g, mine + (TRG_LID % copies) * pad);
    TRG_BARRIER();
    for (trg_u32 b = TRG_LID; b < g.n_bins; b += TRG_LSIZE) {
        trg_u32 sum = mine[b];

        for (trg_u32 c = 1u; c < copies; c++)
            sum += mine[c * pad + b];
        if (parts == 1u)
            out[b] = sum;
        else if (sum)
            TRG_ATOMIC_ADD_GLOBAL(&out[b], sum);
    }
}
#endif

TRG_KERNEL5(vx_hist_replicated, (const trg_u8, data), (const float, z), (const trg_u32, weights),
            (const struct vx_grid, grids), (trg_u32, bins), (struct vx_hist_par, par))
{
    TRG_SHARED trg_u32 mine[VX_ROOM(VX_HIST_LOCAL)];
    const trg_u32 roi = TRG_GID / par.parts, part = TRG_GID % par.parts;
    TRG_GLOBAL const trg_u32 *offsets = TRG_OFFSETS(data, par.in);
    const trg_u32 first = offsets[roi], n = offsets[roi + 1u] - first;

    vx_replicate(z + first, weights + first, par.weighted, n, grids[roi], part, par.parts, mine,
                 VX_HIST_LOCAL, bins + roi * par.bins_room);
}

TRG_KERNEL5(vx_hist_replicated_few, (const trg_u8, data), (const float, z),
            (const trg_u32, weights), (const struct vx_grid, grids), (trg_u32, bins),
            (struct vx_hist_par, par))
{
    TRG_SHARED trg_u32 mine[VX_ROOM(VX_HIST_FEW)];
    const trg_u32 roi = TRG_GID / par.parts, part = TRG_GID % par.parts;
    TRG_GLOBAL const trg_u32 *offsets = TRG_OFFSETS(data, par.in);
    const trg_u32 first = offsets[roi], n = offsets[roi + 1u] - first;

    vx_replicate(z + first, weights + first, par.weighted, n, grids[roi], part, par.parts, mine,
                 VX_HIST_FEW, bins + roi * par.bins_room);
}
