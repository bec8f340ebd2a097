/* SPDX-License-Identifier: Apache-2.0 */
/* peaks.h - vx_find_peaks on the host, without branches where all bins are looked at, so that
 * compilers vectorize it; the same integers.  Included by seeds.kernel.c only. */
#ifndef VX_PEAKS_H
#define VX_PEAKS_H
#define VX_MARGIN 32u /* bins on both sides that are 0: nobody asks where the histogram ends */

static inline void vx_host_smooth(const trg_u32 *h, trg_u32 n, trg_u32 reach, trg_u32 *restrict s)
{
    trg_u32 padded[VX_BINS_MAX + 2u * VX_MARGIN];
    const trg_u32 *middle = padded + VX_MARGIN;

    memset(padded, 0, VX_MARGIN * sizeof *padded);
    memcpy(padded + VX_MARGIN, h, n * sizeof *padded);
    memset(padded + VX_MARGIN + n, 0, VX_MARGIN * sizeof *padded);
    for (trg_u32 b = 0u; b < n; b++)
        s[b] = (reach + 1u) * middle[b];
    for (trg_u32 k = 1u; k <= reach; k++) {
        const trg_u32 *below = middle - k, *above = middle + k;
        const trg_u32 weight = reach + 1u - k;

        for (trg_u32 b = 0u; b < n; b++)
            s[b] += weight * (below[b] + above[b]);
    }
}

/* The bits of 32 bins from b on: `least` and more, above the one before, not below the next. */
static inline trg_u32 vx_host_maxima(const trg_u32 *s, trg_u32 least)
{
    const trg_u32 *before = s - 1, *next = s + 1;
    trg_u32 bits = 0u;

    for (trg_u32 k = 0u; k < 32u; k++) {
        const trg_u32 is_one =
            (s[k] >= least ? 1u : 0u) & (before[k] < s[k] ? 1u : 0u) & (next[k] <= s[k] ? 1u : 0u);

        bits |= is_one << k;
    }
    return bits;
}

/* `s` has VX_MARGIN places on both sides. */
static inline void vx_find_peaks(const trg_u32 *h, struct vx_entries e, struct vx_grid g,
                                 struct vx_par par, trg_u32 *s, trg_u32 *is_peak)
{
    const trg_u32 n = g.n_bins;

    (void)e;
    memset(s - VX_MARGIN, 0, VX_MARGIN * sizeof *s);
    memset(s + n, 0, VX_MARGIN * sizeof *s);
    vx_host_smooth(h, n, par.smooth, s);
    for (trg_u32 w = 0u; w * 32u < n; w++) {
        trg_u32 word = 0u;

        for (trg_u32 left = vx_host_maxima(s + w * 32u, par.min_height); left; left &= left - 1u) {
            const trg_u32 bit = left & (0u - left);

            word |= vx_is_peak(s, n, w * 32u + 31u - trg_clz(bit), par.prominence) ? bit : 0u;
        }
        is_peak[w] = word;
    }
}
#endif
