/* SPDX-License-Identifier: Apache-2.0 */
/* Histograms of z, one for each RoI, by eight algorithms with one interface:
 *
 *     (data: offsets of the RoIs, z of the entries, weights, grids, bins, par)
 *
 * bins[r * bins_room + b] becomes the sum of the weights of RoI r's entries in bin b.  The kernels
 * that add to bins in global memory (data_global, and the others where an RoI has several groups)
 * want them zeroed before; vx_histogram_launch in vertexing.c does that. */
#include "histogram.h"

/* The bin of an entry; n_bins when it is outside. */
TRG_FN trg_u32 vx_bin(struct vx_grid g, float z)
{
    const float b = (z - g.first) * g.inv_width;

    return b >= 0.0f && b < (float)g.n_bins ? (trg_u32)b : g.n_bins;
}

#define VX_WEIGHT(par, weights, i) ((par).weighted ? (weights)[i] : 1u)

/* A.1 data-parallel, global: a work-item for an entry, an atomic add to global memory. */
TRG_KERNEL5(vx_hist_data_global, const trg_u8, data, const float, z, const trg_u32, weights,
            const struct vx_grid, grids, trg_u32, bins, struct vx_hist_par, par)
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
TRG_KERNEL5(vx_hist_data_shared, const trg_u8, data, const float, z, const trg_u32, weights,
            const struct vx_grid, grids, trg_u32, bins, struct vx_hist_par, par)
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
TRG_KERNEL5(vx_hist_bin_thread, const trg_u8, data, const float, z, const trg_u32, weights,
            const struct vx_grid, grids, trg_u32, bins, struct vx_hist_par, par)
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
TRG_KERNEL5(vx_hist_bin_block, const trg_u8, data, const float, z, const trg_u32, weights,
            const struct vx_grid, grids, trg_u32, bins, struct vx_hist_par, par)
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
TRG_KERNEL5(vx_hist_bin_warp, const trg_u8, data, const float, z, const trg_u32, weights,
            const struct vx_grid, grids, trg_u32, bins, struct vx_hist_par, par)
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
TRG_KERNEL5(vx_hist_bin_warp_block, const trg_u8, data, const float, z, const trg_u32, weights,
            const struct vx_grid, grids, trg_u32, bins, struct vx_hist_par, par)
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
TRG_KERNEL5(vx_hist_hybrid, const trg_u8, data, const float, z, const trg_u32, weights,
            const struct vx_grid, grids, trg_u32, bins, struct vx_hist_par, par)
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
 * not queue up, and four entries are in flight at a time for each work-item.  Where an RoI has
 * several groups their bins are added in global memory. */
#define VX_COPIES_MAX 8u

#if !defined(__OPENCL_VERSION__) && !defined(__CUDACC__)
#include "lanes.h"
#endif

TRG_KERNEL5(vx_hist_replicated, const trg_u8, data, const float, z, const trg_u32, weights,
            const struct vx_grid, grids, trg_u32, bins, struct vx_hist_par, par)
{
    TRG_SHARED trg_u32 mine[VX_HIST_LOCAL + 1u];
    const trg_u32 roi = TRG_GID / par.parts, part = TRG_GID % par.parts;
    TRG_GLOBAL const trg_u32 *offsets = TRG_OFFSETS(data, par.in);
    TRG_GLOBAL trg_u32 *out = bins + roi * par.bins_room;
    const struct vx_grid g = grids[roi];
    const trg_u32 first = offsets[roi], n = offsets[roi + 1u] - first;
#if !defined(__OPENCL_VERSION__) && !defined(__CUDACC__)
    (void)part;
    vx_host_histogram(z + first, par.weighted ? weights + first : NULL, n, g, mine, out);
#else
    const trg_u32 pad = g.n_bins | 1u; /* odd: copies of a bin lie in different banks */
    /* copies cost a pass over all bins: no more of them than entries pay for */
    const trg_u32 paid = n / (par.parts * g.n_bins) + 1u, fit = VX_HIST_LOCAL / pad;
    trg_u32 copies = paid < fit ? paid : fit, most = VX_COPIES_MAX;
    const trg_u32 step = par.parts * TRG_LSIZE;
    trg_u32 i = part * TRG_LSIZE + TRG_LID, own;

    copies = copies < most ? copies : most;
    copies = copies ? copies : 1u;
    own = (TRG_LID % copies) * pad;
    for (trg_u32 b = TRG_LID; b < copies * pad && b < VX_HIST_LOCAL; b += TRG_LSIZE)
        mine[b] = 0u;
    TRG_BARRIER();
    for (; i < n && n - i > 3u * step; i += 4u * step) {
        const float z0 = z[first + i], z1 = z[first + i + step], z2 = z[first + i + 2u * step],
                    z3 = z[first + i + 3u * step];
        const trg_u32 b0 = vx_bin(g, z0), b1 = vx_bin(g, z1), b2 = vx_bin(g, z2),
                      b3 = vx_bin(g, z3);
        const trg_u32 w0 = VX_WEIGHT(par, weights, first + i);
        const trg_u32 w1 = VX_WEIGHT(par, weights, first + i + step);
        const trg_u32 w2 = VX_WEIGHT(par, weights, first + i + 2u * step);
        const trg_u32 w3 = VX_WEIGHT(par, weights, first + i + 3u * step);

        if (b0 < g.n_bins)
            TRG_ATOMIC_ADD_LOCAL(&mine[own + b0], w0);
        if (b1 < g.n_bins)
            TRG_ATOMIC_ADD_LOCAL(&mine[own + b1], w1);
        if (b2 < g.n_bins)
            TRG_ATOMIC_ADD_LOCAL(&mine[own + b2], w2);
        if (b3 < g.n_bins)
            TRG_ATOMIC_ADD_LOCAL(&mine[own + b3], w3);
    }
    for (; i < n; i += step) {
        const trg_u32 b = vx_bin(g, z[first + i]);

        if (b < g.n_bins)
            TRG_ATOMIC_ADD_LOCAL(&mine[own + b], VX_WEIGHT(par, weights, first + i));
    }
    TRG_BARRIER();
    for (trg_u32 b = TRG_LID; b < g.n_bins; b += TRG_LSIZE) {
        trg_u32 sum = mine[b];

        for (trg_u32 c = 1u; c < copies; c++)
            sum += mine[c * pad + b];
        if (par.parts == 1u)
            out[b] = sum;
        else if (sum)
            TRG_ATOMIC_ADD_GLOBAL(&out[b], sum);
    }
#endif
}
