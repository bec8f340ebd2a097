/* SPDX-License-Identifier: Apache-2.0 */
/* Pairs and triplets of the z-finder when one slice on each side is looked at and an RoI has one
 * histogram: quicker than zf_pairs of zfinder.kernel.c, whose place they take, with the same bits.
 *
 * zf_sort -> zf_near_pairs, zf_near_triplets or zf_sparse_triplets -> zf_peaks */
#if defined(__CUDACC__)
/* five groups on a multiprocessor: more registers cost more than they save; Turing has room for
 * four */
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 800
#define TRG_BOUNDS __launch_bounds__(ZF_GROUP_MAX, 4)
#else
#define TRG_BOUNDS __launch_bounds__(ZF_GROUP_MAX, 5)
#endif
#endif
#include "trigd/common/group.h"

#include "near_gpu.h"
#if !defined(__OPENCL_VERSION__) && !defined(__CUDACC__)
#include "near_host.h"
#else
#include "near_triplets.h"
#endif

/* The CPU goes its own way; the portable one is there for all others. */
#if !defined(__OPENCL_VERSION__) && !defined(__CUDACC__)
#define ZF_ON_THE_HOST(v, roi, par, last, out)         \
    if ((par).parts == 1u) {                           \
        zf_host_near(&(v), &(roi), &(par), last, out); \
        return;                                        \
    }
#else
#define ZF_ON_THE_HOST(v, roi, par, last, out)
#endif

/* Adds the group's histogram to that of the RoI; of neighbours, either charge may be right.  What
 * zf_count left behind the last bin belongs to it. */
TRG_FN void zf_put_out(TRG_GLOBAL trg_u32 *out, TRG_LOCAL const trg_u32 *bins, trg_u32 n_bins,
                       trg_u32 charges, trg_u32 parts)
{
    for (trg_u32 b = TRG_LID; b < n_bins; b += TRG_LSIZE) {
        const trg_u32 end = b + 1u == n_bins ? b + 1u : b;
        const trg_u32 n = bins[b] + (end > b ? bins[end] : 0u);
        const trg_u32 p = bins[ZF_PLACES_AT + b] + (end > b ? bins[ZF_PLACES_AT + end] : 0u) -
                          n * (b * ZF_QUANTA);

        for (trg_u32 c = 0; c < charges; c++) {
            const trg_u32 at = c * n_bins + b;

            if (parts == 1u) {
                out[at] = n;
                out[ZF_ENTRIES + at] = p;
            } else if (n) {
                TRG_ATOMIC_ADD_GLOBAL(&out[at], n);
                TRG_ATOMIC_ADD_GLOBAL(&out[ZF_ENTRIES + at], p);
            }
        }
    }
}

/* `parts` groups an RoI.  Each point is paired with those that come after it in its own slice and
 * the next, which lie in a row.  The rows of four points differ in length: a work-item takes four
 * points against four others at a time, from a list of all that there is to do. */
TRG_KERNEL7(zf_near_pairs, (const struct zf_roi, rois), (const trg_u32, starts),
            (const float, points), (const trg_u32, tags), (const struct zf_summary, summaries),
            (const trg_u8, neighbours), (trg_u32, hist), (struct zf_par, par))
{
    TRG_SHARED trg_u32 bins[ZF_HIST_WORDS];
    TRG_SHARED trg_u32 scratch[TRG_GROUP_SCRATCH];
    TRG_SHARED trg_u32 list[ZF_BITES], n_bites[ZF_GROUP_MAX];
    const trg_u32 r = TRG_GID / par.parts, part = TRG_GID % par.parts;
    const struct zf_roi roi = rois[r];
    const trg_u32 last = zf_last_begin(summaries[r].layers, par.first_layers);
    const struct zf_pairing pairing = {bins, par.z_max, roi.inv_bin * (float)ZF_QUANTA, last + 1u};
    const trg_u32 wild = summaries[r].flags & ZF_WILD;
    TRG_GLOBAL trg_u32 *out = hist + r * 2u * ZF_ENTRIES;
    const struct zf_view v = ZF_VIEW(points, tags, starts, neighbours, r, par);
    const trg_u32 end = v.start[roi.n_slices], tile = ZF_BITE * TRG_LSIZE;

    ZF_ON_THE_HOST(v, roi, par, last, out);
    for (trg_u32 b = TRG_LID; b <= roi.n_bins; b += TRG_LSIZE)
        bins[b] = bins[ZF_PLACES_AT + b] = 0u;
    TRG_BARRIER();
    for (trg_u32 at = v.start[0] + part * tile; at < end; at += par.parts * tile) {
        const trg_u32 mine = at + ZF_BITE * TRG_LID;
        const trg_u32 bites = zf_bites(v, roi, mine, end);
        trg_u32 total, before;

        TRG_BARRIER();
        n_bites[TRG_LID] = bites;
        if (mine < end)
            zf_among(pairing, v, mine, wild);
        before = trg_group_scan(scratch, bites, &total);
        for (trg_u32 from = 0; from < total; from += ZF_BITES) {
            TRG_BARRIER();
            for (trg_u32 k = from > before ? from - before : 0u;
                 k < bites && before + k < from + ZF_BITES; k++)
                list[before + k - from] = TRG_LID << 20 | k;
            TRG_BARRIER();
            for (trg_u32 x = TRG_LID; x < ZF_BITES && from + x < total; x += TRG_LSIZE) {
                const trg_u32 row = list[x] >> 20, a = at + ZF_BITE * row;

                zf_bite(pairing, v, a, a + ZF_BITE + (list[x] & 0xfffffu), n_bites[row], wild);
            }
        }
    }
    TRG_BARRIER();
    zf_put_out(out, bins, roi.n_bins, par.charges, par.parts);
}

#if !defined(__OPENCL_VERSION__) && !defined(__CUDACC__)
TRG_KERNEL7(zf_near_triplets, (const struct zf_roi, rois), (const trg_u32, starts),
            (const float, points), (const trg_u32, tags), (const struct zf_summary, summaries),
            (const trg_u8, neighbours), (trg_u32, hist), (struct zf_par, par))
{
    const struct zf_roi roi = rois[TRG_GID];
    const struct zf_view v = ZF_VIEW(points, tags, starts, neighbours, TRG_GID, par);

    zf_host_near(&v, &roi, &par, zf_last_begin(summaries[TRG_GID].layers, par.first_layers),
                 hist + TRG_GID * 2u * ZF_ENTRIES);
}

TRG_KERNEL7(zf_sparse_triplets, (const struct zf_roi, rois), (const trg_u32, starts),
            (const float, points), (const trg_u32, tags), (const struct zf_summary, summaries),
            (const trg_u8, neighbours), (trg_u32, hist), (struct zf_par, par))
{
    zf_near_triplets_body_(trg_grid_, rois, starts, points, tags, summaries, neighbours, hist, par);
}
#else
/* `parts` groups an RoI, each with a stretch of slices.  Around points with few others near by, a
 * work-item looks for triplets by itself.  The kernel for RoIs in which others are rare: the group
 * takes one after the other. */
TRG_KERNEL7(zf_sparse_triplets, (const struct zf_roi, rois), (const trg_u32, starts),
            (const float, points), (const trg_u32, tags), (const struct zf_summary, summaries),
            (const trg_u8, neighbours), (trg_u32, hist), (struct zf_par, par))
{
    TRG_SHARED trg_u32 bins[ZF_HIST_WORDS];
    TRG_SHARED struct zf_dense dense;
    const trg_u32 r = TRG_GID / par.parts;
    const struct zf_roi roi = rois[r];
    const trg_u32 last = zf_last_begin(summaries[r].layers, par.first_layers);
    TRG_GLOBAL trg_u32 *out = hist + r * 2u * ZF_ENTRIES;
    const struct zf_view v = ZF_VIEW(points, tags, starts, neighbours, r, par);

    zf_few_triplets(bins, &dense, v, roi, &par, last, TRG_GID % par.parts);
    for (trg_u32 s = dense.slice; s < dense.end; s++)
        if (zf_run(v, roi, s).n > ZF_FEW)
            zf_slow_triplets(bins, v, roi, &par, last, s);
    TRG_BARRIER();
    zf_put_out(out, bins, roi.n_bins, par.charges, par.parts);
}

#if defined(__CUDACC__)
#undef TRG_BOUNDS
#define TRG_BOUNDS __launch_bounds__(ZF_GROUP_MAX, 4) /* more do not fit into shared memory */
#endif
/* The same for dense RoIs: a group takes the other points a chunk of slices at a time. */
TRG_KERNEL7(zf_near_triplets, (const struct zf_roi, rois), (const trg_u32, starts),
            (const float, points), (const trg_u32, tags), (const struct zf_summary, summaries),
            (const trg_u8, neighbours), (trg_u32, hist), (struct zf_par, par))
{
    TRG_SHARED struct zf_desk desk;
    const trg_u32 r = TRG_GID / par.parts;
    const struct zf_roi roi = rois[r];
    const trg_u32 layers = summaries[r].layers, wild = summaries[r].flags & ZF_WILD;
    const trg_u32 last = zf_last_begin(layers, par.first_layers);
    TRG_GLOBAL trg_u32 *out = hist + r * 2u * ZF_ENTRIES;
    const struct zf_view v = ZF_VIEW(points, tags, starts, neighbours, r, par);
    struct zf_chunk c = {0u, 0u, layers, trg_popcount(layers), 0u};
    trg_u32 slice, end;

    c.n_inner = last < 31u ? trg_popcount(layers & ((2u << last) - 1u)) : c.n_layers;
    zf_few_triplets(desk.bins, &desk.dense, v, roi, &par, last, TRG_GID % par.parts);
    slice = desk.dense.slice;
    end = desk.dense.end;
    while (slice < end) {
        trg_u32 next;

        TRG_BARRIER();
        next = zf_last_that_fits(v, roi, c.n_layers, slice, end);
        c.slice = slice - 1u;
        c.slices = next - slice + 2u;
        if (next > slice) {
            zf_take_chunk(&desk, c, v, roi, &par, v.start[slice ? slice - 1u : 0u],
                          zf_before(v, roi, next + 1u), wild);
        } else {
            zf_slow_triplets(desk.bins, v, roi, &par, last, slice);
            next = slice + 1u;
        }
        slice = next;
    }
    TRG_BARRIER();
    zf_put_out(out, desk.bins, roi.n_bins, par.charges, par.parts);
}
#endif
