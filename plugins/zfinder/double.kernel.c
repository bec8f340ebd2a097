/* SPDX-License-Identifier: Apache-2.0 */
/* The kernels of zfinder.kernel.c in double precision, as the ATLAS original counts: see double.h.
 * The build finds their names here: TRG_KERNEL7(zf_sort, TRG_KERNEL7(zf_pairs,
 * TRG_KERNEL5(zf_peaks, TRG_KERNEL7(zf_slices, TRG_KERNEL4(zf_merge.  The CPU goes its own way from
 * the sorted points on, with the same answers. */
#define ZF_DOUBLE
#include "zfinder.kernel.c"
#if !defined(__OPENCL_VERSION__) && !defined(__CUDACC__)
#include "triplets_host.h"

/* A histogram for each slice, in the general way. */
#define ZF_GENERAL_SLICES(r)                                                           \
    do {                                                                               \
        for (trg_u32 s_ = 0; s_ < par.slices_room; s_++) {                             \
            const struct trg_grid grid_ = {(r)*par.slices_room + s_,                   \
                                           par.n_rois * par.slices_room};              \
            zf_slices_body_(&grid_, rois, starts, points, tags, summaries, neighbours, \
                            (struct zf_peak *)(void *)out, par);                       \
        }                                                                              \
        zf_merge_body_(trg_grid_, rois, (struct zf_peak *)(void *)out,                 \
                       (struct zf_peak *)(void *)summaries, NULL, par);                \
    } while (0)

/* One RoI: what zf_pairs does, or zf_slices and zf_merge.  `out` has the RoIs' histograms, or
 * places for the peaks of slices; `desk` is memory as in desk.h. */
TRG_KERNEL8(zf_host, (const struct zf_roi, rois), (const trg_u32, starts), (const float, points),
            (const trg_u32, tags), (struct zf_summary, summaries), (const trg_u8, neighbours),
            (trg_u32, out), (trg_u8, desk), (struct zf_par, par))
{
    const trg_u32 r = TRG_GID;
    const struct zf_roi roi = rois[r];
    const struct zf_view v = ZF_VIEW(points, tags, starts, neighbours, r, par);
    struct zf_walk w;

    zf_set_out(&w, desk, v, &roi, &par, summaries[r].layers);
    if (!par.per_slice) {
        for (trg_u32 c = 0; c < 3u; c++)
            memset(w.desk->whole + c * ZF_CLASS_STEP, 0, roi.n_bins * sizeof *w.desk->whole);
        if (par.triplet_mode)
            zf_all_triplets(&w);
        for (trg_u32 s = 0; s < roi.n_slices && !par.triplet_mode; s++)
            zf_pairs_of(&w, s, zf_take_whole, NULL);
        if (w.failed)
            zf_pairs_body_(trg_grid_, rois, starts, points, tags, summaries, neighbours, out, par);
        else
            zf_put_whole(&w, out + r * 2u * ZF_ENTRIES);
        return;
    }
    memset(w.desk->cell, 0, roi.n_bins * sizeof *w.desk->cell);
    memset(w.desk->place, 0, sizeof w.desk->place);
    w.list = (struct zf_peak *)(void *)summaries + par.n_rois + r * par.peaks_room;
    zf_walk_slices(&w, (struct zf_peak *)(void *)out);
    if (w.failed) {
        ZF_GENERAL_SLICES(r);
        return;
    }
    summaries[r].n_entries = w.sum.n_entries;
    summaries[r].n_triples = w.n_triples;
    summaries[r].sum_low = (trg_u32)((3u * (trg_u64)w.sum.n_entries - w.lacking) & 0xffffu);
    summaries[r].sum_high = (trg_u32)((3u * (trg_u64)w.sum.n_entries - w.lacking) >> 16);
    summaries[r].flags |= w.sum.flags;
    summaries[r].digest = w.sum.digest * 2654435761u * 40503u;
}
#else
/* Every device has every kernel of a program; this one is only launched on the CPU. */
TRG_KERNEL8(zf_host, (const struct zf_roi, rois), (const trg_u32, starts), (const float, points),
            (const trg_u32, tags), (struct zf_summary, summaries), (const trg_u8, neighbours),
            (trg_u32, out), (trg_u8, desk), (struct zf_par, par))
{
}
#endif
