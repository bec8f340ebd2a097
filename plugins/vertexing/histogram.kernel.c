/* SPDX-License-Identifier: Apache-2.0 */
/* Histograms of z, one for each RoI, by the algorithms that `auto` chooses among; those that are
 * kept to be compared with them are in study/.  All have one interface:
 *
 *     (data: offsets of the RoIs, z of the entries, weights, grids, bins, par)
 *
 * bins[r * bins_room + b] becomes the sum of the weights of RoI r's entries in bin b.  The kernels
 * that add to bins in global memory (data_global, and the others where an RoI has several groups)
 * want them zeroed before; vx_histogram_launch does that. */
#include "bins.h"
#include "trigd/common/group.h"

/* A.2 data-parallel, shared: each group counts into its own bins and adds them up at the end. */
TRG_KERNEL5(vx_hist_data_shared, (const trg_u8, data), (const float, z), (const trg_u32, weights),
            (const struct vx_grid, grids), (trg_u32, bins), (struct vx_hist_par, par))
{
    TRG_SHARED trg_u32 mine[VX_HIST_LOCAL];
    const trg_u32 roi = TRG_GID / par.parts, part = TRG_GID % par.parts;
    TRG_GLOBAL trg_u32 *out = bins + roi * par.bins_room;
    const struct vx_grid g = grids[roi];
    const trg_u32 first = TRG_BEGIN(data, par.in, roi), end = TRG_END(data, par.in, roi);

    for (trg_u32 b = TRG_LID; b < g.n_bins; b += TRG_LSIZE)
        mine[b] = 0u;
    TRG_BARRIER();
    for (trg_u32 i = first + part * TRG_LSIZE + TRG_LID; i < end; i += par.parts * TRG_LSIZE) {
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

/* Hybrid, after A.7: a group owns a range of bins and goes through all entries in parallel,
 * counting those of its range in shared memory; no group adds to another's bins.  An entry's bin is
 * computed; the thesis holds it against the borders of every bin (study/, hybrid_scan). */
TRG_KERNEL5(vx_hist_hybrid, (const trg_u8, data), (const float, z), (const trg_u32, weights),
            (const struct vx_grid, grids), (trg_u32, bins), (struct vx_hist_par, par))
{
    TRG_SHARED trg_u32 mine[VX_HYBRID_BINS];
    const trg_u32 roi = TRG_GID / par.parts, part = TRG_GID % par.parts;
    TRG_GLOBAL trg_u32 *out = bins + roi * par.bins_room;
    const struct vx_grid g = grids[roi];
    const trg_u32 first = TRG_BEGIN(data, par.in, roi), end = TRG_END(data, par.in, roi);

    for (trg_u32 low = part * VX_HYBRID_BINS; low < g.n_bins; low += par.parts * VX_HYBRID_BINS) {
        const trg_u32 n = g.n_bins - low < VX_HYBRID_BINS ? g.n_bins - low : VX_HYBRID_BINS;

        for (trg_u32 b = TRG_LID; b < n; b += TRG_LSIZE)
            mine[b] = 0u;
        TRG_BARRIER();
        for (trg_u32 i = first + TRG_LID; i < end; i += TRG_LSIZE) {
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
#include "histogram_host.h"
#else
#define VX_ROOM(words) (words)

/* Entries i, i + step, ... to the bins `mine`; with `weighted` 0 each counts 1. */
TRG_GROUP_FN void vx_add_entries(const struct vx_entries e, trg_u32 weighted, trg_u32 i,
                                 trg_u32 step, struct vx_grid g, TRG_LOCAL trg_u32 *mine)
{
    for (; i < e.n && e.n - i > 3u * step; i += 4u * step) {
        trg_u32 b[4];

        for (trg_u32 k = 0u; k < 4u; k++)
            b[k] = vx_bin(g, e.z[i + k * step]);
        for (trg_u32 k = 0u; k < 4u; k++)
            if (b[k] < g.n_bins && weighted)
                TRG_ATOMIC_ADD_LOCAL(&mine[b[k]], e.weights[i + k * step]);
            else if (b[k] < g.n_bins)
                TRG_ATOMIC_ADD_LOCAL(&mine[b[k]], 1u);
    }
    for (; i < e.n; i += step) {
        const trg_u32 b = vx_bin(g, e.z[i]);

        if (b < g.n_bins && weighted)
            TRG_ATOMIC_ADD_LOCAL(&mine[b], e.weights[i]);
        else if (b < g.n_bins)
            TRG_ATOMIC_ADD_LOCAL(&mine[b], 1u);
    }
}

/* The share of one group, with `room` words for bins: copies of a bin lie in different banks. */
TRG_GROUP_FN void vx_replicate(const struct vx_entries e, struct vx_grid g,
                               const struct vx_share share, TRG_LOCAL trg_u32 *mine, trg_u32 room,
                               TRG_GLOBAL trg_u32 *out)
{
    const trg_u32 pad = g.n_bins | 1u;
    /* copies cost a pass over all bins: no more of them than entries pay for */
    const trg_u32 paid = e.n / (share.parts * g.n_bins) + 1u, fit = room / pad;
    const trg_u32 i = share.part * TRG_LSIZE + TRG_LID, step = share.parts * TRG_LSIZE;
    trg_u32 copies = paid < fit ? paid : fit;

    copies = copies < VX_COPIES_MAX ? copies : VX_COPIES_MAX;
    copies = copies ? copies : 1u;
    for (trg_u32 b = TRG_LID; b < copies * pad && b < room; b += TRG_LSIZE)
        mine[b] = 0u;
    TRG_BARRIER();
    if (e.weighted)
        vx_add_entries(e, 1u, i, step, g, mine + (TRG_LID % copies) * pad);
    else
        vx_add_entries(e, 0u, i, step, g, mine + (TRG_LID % copies) * pad);
    TRG_BARRIER();
    for (trg_u32 b = TRG_LID; b < g.n_bins; b += TRG_LSIZE) {
        trg_u32 sum = mine[b];

        for (trg_u32 c = 1u; c < copies; c++)
            sum += mine[c * pad + b];
        if (share.parts == 1u)
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
    const trg_u32 roi = TRG_GID / par.parts;
    const struct vx_share share = {TRG_GID % par.parts, par.parts};
    const trg_u32 first = TRG_BEGIN(data, par.in, roi);
    const struct vx_entries e = {z + first, weights + first, par.weighted,
                                 TRG_END(data, par.in, roi) - first};

    vx_replicate(e, grids[roi], share, mine, VX_HIST_LOCAL, bins + roi * par.bins_room);
}

TRG_KERNEL5(vx_hist_replicated_few, (const trg_u8, data), (const float, z),
            (const trg_u32, weights), (const struct vx_grid, grids), (trg_u32, bins),
            (struct vx_hist_par, par))
{
    TRG_SHARED trg_u32 mine[VX_ROOM(VX_HIST_FEW)];
    const trg_u32 roi = TRG_GID / par.parts;
    const struct vx_share share = {TRG_GID % par.parts, par.parts};
    const trg_u32 first = TRG_BEGIN(data, par.in, roi);
    const struct vx_entries e = {z + first, weights + first, par.weighted,
                                 TRG_END(data, par.in, roi) - first};

    vx_replicate(e, grids[roi], share, mine, VX_HIST_FEW, bins + roi * par.bins_room);
}
