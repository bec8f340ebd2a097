/* SPDX-License-Identifier: Apache-2.0 */
/* histogram_host.h - the replicated histogram on the host: bins of sixteen entries at a time, which
 * compilers vectorize, then counting without branches; entries outside go to a bin that nobody
 * reads.  Included by histogram.kernel.c only. */
#ifndef VX_HISTOGRAM_HOST_H
#define VX_HISTOGRAM_HOST_H
#define VX_LANES       16u
#define VX_ROOM(words) (VX_HIST_LOCAL + 1u) /* memory is no matter here */

/* Bins of 16 entries; n_bins for those that are outside. */
static inline void vx_bins_of(const float *z, struct vx_grid g, trg_i32 *bin)
{
    const float outside = (float)g.n_bins;

    for (trg_u32 k = 0u; k < VX_LANES; k++) {
        const float b = (z[k] - g.first) * g.inv_width;
        const float in_range = (b >= 0.0f ? 1 : 0) & (b < outside ? 1 : 0) ? b : outside;

        bin[k] = (trg_i32)in_range;
    }
}

/* The histogram of an RoI.  With many entries to a bin, even and odd
 * ones count in copies of their own, so that one entry seldom waits for the one before.  `mine` has
 * room for VX_HIST_LOCAL + 1 words. */
static inline void vx_host_histogram(struct vx_entries e, struct vx_grid g, trg_u32 *mine,
                                     trg_u32 *out)
{
    const float *z = e.z;
    const trg_u32 *w = e.weighted ? e.weights : NULL;
    const trg_u32 n = e.n, stride = g.n_bins + 1u;
    const trg_u32 two = n >= 4u * stride && 2u * stride <= VX_HIST_LOCAL ? 1u : 0u;
    const trg_u32 odd = two ? stride : 0u;
    trg_i32 bin[VX_LANES];
    trg_u32 i = 0u;

    memset(mine, 0, (1u + two) * stride * sizeof *mine);
    for (; i + VX_LANES <= n; i += VX_LANES) {
        vx_bins_of(z + i, g, bin);
        for (trg_u32 k = 0u; k < VX_LANES; k += 2u) {
            mine[bin[k]] += w ? w[i + k] : 1u;
            mine[odd + (trg_u32)bin[k + 1u]] += w ? w[i + k + 1u] : 1u;
        }
    }
    for (; i < n; i++)
        mine[vx_bin(g, z[i])] += w ? w[i] : 1u;
    for (trg_u32 b = 0u; b < g.n_bins; b++)
        out[b] = mine[b] + (two ? mine[stride + b] : 0u);
}

/* What the kernels call: the host has one group for an RoI. */
static inline void vx_replicate(struct vx_entries e, struct vx_grid g, struct vx_share share,
                                trg_u32 *mine, trg_u32 room, trg_u32 *out)
{
    (void)share, (void)room;
    vx_host_histogram(e, g, mine, out);
}
#endif
