/* SPDX-License-Identifier: Apache-2.0 */
/* Algorithms of the histograms that are kept for study, with the interface of
 * ../histogram.kernel.c.  Numbers are those of Heit, Groningen 2017, appendix A. */
#include "../bins.h"
#include "trigd/common/group.h"

/* A.1 data-parallel, global: a work-item for an entry, an atomic add to global memory. */
TRG_KERNEL5(vx_hist_data_global, (const trg_u8, data), (const float, z), (const trg_u32, weights),
            (const struct vx_grid, grids), (trg_u32, bins), (struct vx_hist_par, par))
{
    const trg_u32 roi = TRG_GID / par.parts, part = TRG_GID % par.parts;
    TRG_GLOBAL trg_u32 *out = bins + roi * par.bins_room;
    const struct vx_grid g = grids[roi];
    const trg_u32 first = TRG_BEGIN(data, par.in, roi), end = TRG_END(data, par.in, roi);

    for (trg_u32 i = first + part * TRG_LSIZE + TRG_LID; i < end; i += par.parts * TRG_LSIZE) {
        const trg_u32 b = vx_bin(g, z[i]);

        if (b < g.n_bins)
            TRG_ATOMIC_ADD_GLOBAL(&out[b], VX_WEIGHT(par, weights, i));
    }
}

/* A.3 bin-parallel, thread: a work-item owns a bin and looks at every entry; no atomics. */
TRG_KERNEL5(vx_hist_bin_thread, (const trg_u8, data), (const float, z), (const trg_u32, weights),
            (const struct vx_grid, grids), (trg_u32, bins), (struct vx_hist_par, par))
{
    const trg_u32 roi = TRG_GID / par.parts, part = TRG_GID % par.parts;
    const struct vx_grid g = grids[roi];
    const trg_u32 first = TRG_BEGIN(data, par.in, roi), end = TRG_END(data, par.in, roi);

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
    const struct vx_grid g = grids[roi];
    const trg_u32 first = TRG_BEGIN(data, par.in, roi), end = TRG_END(data, par.in, roi);

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
    const struct vx_grid g = grids[roi];
    const trg_u32 first = TRG_BEGIN(data, par.in, roi), end = TRG_END(data, par.in, roi);

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

/* How many of this work-item's warp have an entry of the bin, or the sum of their weights, in the
 * work-item that is first in it; others may be given anything.  In CUDA counts are votes. */
TRG_GROUP_FN trg_u32 vx_warp_count(TRG_LOCAL trg_u32 *team, trg_u32 lane, trg_u32 is_in,
                                   trg_u32 weight, trg_u32 weighted)
{
#if defined(__CUDACC__)
    if (!weighted)
        return (trg_u32)__popc(__ballot_sync(0xffffffffu, is_in));
#endif
    (void)weighted;
    if (lane == 0u)
        *team = 0u;
    TRG_BARRIER();
    if (is_in)
        TRG_ATOMIC_ADD_LOCAL(team, weight);
    TRG_BARRIER();
    return *team;
}

/* A.6 bin-parallel, warps and block: a group handles a bin at a time, its warps share the entries,
 * the first work-item of each counts for its warp and adds that to the group's count. */
TRG_KERNEL5(vx_hist_bin_warp_block, (const trg_u8, data), (const float, z),
            (const trg_u32, weights), (const struct vx_grid, grids), (trg_u32, bins),
            (struct vx_hist_par, par))
{
    TRG_SHARED trg_u32 team[VX_GROUP_MAX / VX_WARP];
    TRG_SHARED trg_u32 total;
    const trg_u32 size = TRG_LSIZE < VX_WARP ? TRG_LSIZE : VX_WARP;
    const trg_u32 warp = TRG_LID / size, lane = TRG_LID % size;
    const trg_u32 roi = TRG_GID / par.parts, part = TRG_GID % par.parts;
    const struct vx_grid g = grids[roi];
    const trg_u32 first = TRG_BEGIN(data, par.in, roi), end = TRG_END(data, par.in, roi);

    for (trg_u32 b = part; b < g.n_bins; b += par.parts) {
        trg_u32 sum = 0u;

        if (TRG_LID == 0u)
            total = 0u;
        TRG_BARRIER();
        for (trg_u32 at = first; at < end; at += TRG_LSIZE) {
            const trg_u32 i = at + TRG_LID;
            const trg_u32 is_in = i < end && vx_bin(g, z[i < end ? i : at]) == b ? 1u : 0u;

            sum += vx_warp_count(&team[warp], lane, is_in,
                                 VX_WEIGHT(par, weights, i < end ? i : at), par.weighted);
        }
        if (lane == 0u)
            TRG_ATOMIC_ADD_LOCAL(&total, sum);
        TRG_BARRIER();
        if (TRG_LID == 0u)
            bins[roi * par.bins_room + b] = total;
        TRG_BARRIER();
    }
}

/* A.7 hybrid as the thesis has it: every group owns each `parts`-th bin and goes through all
 * entries in parallel; an entry is held against the borders of each of the group's bins. */
TRG_KERNEL5(vx_hist_hybrid_scan, (const trg_u8, data), (const float, z), (const trg_u32, weights),
            (const struct vx_grid, grids), (trg_u32, bins), (struct vx_hist_par, par))
{
    TRG_SHARED trg_u32 mine[VX_HYBRID_BINS];
    const trg_u32 roi = TRG_GID / par.parts, part = TRG_GID % par.parts;
    TRG_GLOBAL trg_u32 *out = bins + roi * par.bins_room;
    const struct vx_grid g = grids[roi];
    const trg_u32 first = TRG_BEGIN(data, par.in, roi), end = TRG_END(data, par.in, roi);
    const trg_u32 own = part < g.n_bins ? (g.n_bins - part + par.parts - 1u) / par.parts : 0u;

    for (trg_u32 low = 0u; low < own; low += VX_HYBRID_BINS) { /* once, with groups enough */
        const trg_u32 n = own - low < VX_HYBRID_BINS ? own - low : VX_HYBRID_BINS;

        for (trg_u32 k = TRG_LID; k < n; k += TRG_LSIZE)
            mine[k] = 0u;
        TRG_BARRIER();
        for (trg_u32 i = first + TRG_LID; i < end; i += TRG_LSIZE) {
            const float at = (z[i] - g.first) * g.inv_width; /* as vx_bin does, so the same bins */

            for (trg_u32 k = 0u; k < n; k++) {
                const float left = (float)(part + (low + k) * par.parts);

                if (at >= left && at < left + 1.0f)
                    TRG_ATOMIC_ADD_LOCAL(&mine[k], VX_WEIGHT(par, weights, i));
            }
        }
        TRG_BARRIER();
        for (trg_u32 k = TRG_LID; k < n; k += TRG_LSIZE)
            out[part + (low + k) * par.parts] = mine[k];
        TRG_BARRIER();
    }
}
