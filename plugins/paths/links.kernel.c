/* SPDX-License-Identifier: Apache-2.0 */
/* Phase 2: per doublet, the doublets that it goes on in.
 *
 * pa_links_count -> scan -> pa_links_fill -> pa_links_sum     a work-item for each doublet
 * pa_links_once                                               one for each RoI
 */
#include "graph.h"
#include "scan.h"

TRG_KERNEL2(pa_links_count, const trg_u8, hits, trg_u32, work, struct pa_par, par)
{
    PA_EACH(d, work[par.at.totals + PA_TOTAL_DOUBLETS])
    {
        const struct pa_side s = pa_side_of(work, &par, hits, d);
        const struct pa_next next = pa_candidates(work, &par, d);
        trg_u32 n = 0u;

        for (trg_u32 e = next.first; e < next.end; e++)
            n += pa_links_to(work, &par, s, e);
        PA_U32(work, par.at.n_links)[d] = n;
    }
}

/* After the scan of n_links into rank: the first links of an RoI are written, up to its limit. */
TRG_KERNEL3(pa_links_fill, const trg_u8, hits, const trg_u8, doublets, trg_u32, work, struct pa_par,
            par)
{
    TRG_GLOBAL const trg_u32 *h_first = TRG_OFFSETS(hits, par.hits);
    TRG_GLOBAL const trg_u32 *d_first = TRG_OFFSETS(doublets, par.doublets);
    TRG_GLOBAL const trg_u32 *start = PA_U32(work, par.at.start);
    TRG_GLOBAL const trg_u64 *rank = PA_U64(work, par.at.rank);

    PA_EACH(d, work[par.at.totals + PA_TOTAL_DOUBLETS])
    {
        const struct pa_side s = pa_side_of(work, &par, hits, d);
        const struct pa_next next = pa_candidates(work, &par, d);
        const trg_u32 r = pa_roi_of(h_first, par.n_rois, 0u, PA_U32(work, par.at.inner)[d]);
        const trg_u64 at = rank[d] - rank[start[h_first[r]]];
        const trg_u32 most = pa_links_most(d_first, &par, r);
        const trg_u32 first = at < most ? (trg_u32)at : most;
        const trg_u32 base = pa_links_base(d_first, &par, r) + first;
        trg_u32 n = 0u;

        for (trg_u32 e = next.first; e < next.end && first + n < most; e++) {
            if (!pa_links_to(work, &par, s, e))
                continue;
            PA_U32(work, par.at.links)[base + n] = e;
            PA_U32(work, par.at.has_in)[e] = 1u;
            n++;
        }
        PA_U32(work, par.at.link_first)[d] = base;
        PA_U32(work, par.at.n_links)[d] = n;
    }
}

/* Counts of each RoI's links and doublets, for the summary. */
TRG_KERNEL3(pa_links_sum, const trg_u8, hits, const trg_u8, doublets, trg_u32, work, struct pa_par,
            par)
{
    TRG_GLOBAL const trg_u32 *h_first = TRG_OFFSETS(hits, par.hits);
    TRG_GLOBAL const trg_u32 *start = PA_U32(work, par.at.start);
    TRG_GLOBAL const trg_u64 *rank = PA_U64(work, par.at.rank);
    TRG_GLOBAL struct pa_summary *sum = (TRG_GLOBAL struct pa_summary *)(work + par.at.summary);

    PA_EACH(r, par.n_rois)
    {
        const trg_u32 first = start[h_first[r]], end = start[h_first[r + 1u]];
        const trg_u64 n = rank[end] - rank[first];
        const trg_u32 most = pa_links_most(TRG_OFFSETS(doublets, par.doublets), &par, r);

        sum[r].n_doublets = end - first;
        sum[r].n_links = n < 0xffffffffu ? (trg_u32)n : 0xffffffffu;
        sum[r].n_links_kept = n < most ? (trg_u32)n : most;
    }
}

/* Whether the candidates that begin at `x` .. `r` go on from `s`, with the default criteria.  A
 * loop without branches, which compilers turn into vector instructions. */
#define PA_CHUNK 64u
TRG_FN void pa_flags(const struct pa_side s, float min_radius,
                     TRG_GLOBAL const float *TRG_RESTRICT x, TRG_GLOBAL const float *TRG_RESTRICT y,
                     TRG_GLOBAL const float *TRG_RESTRICT z, TRG_GLOBAL const float *TRG_RESTRICT r,
                     trg_u32 n, trg_u32 *TRG_RESTRICT ok)
{
    for (trg_u32 k = 0; k < n; k++)
        ok[k] = pa_is_link(s, min_radius, 0.0f, 0.0f, PA_ALIGN_CMS, PA_CURVE_PT, 1u, x[k], y[k],
                           z[k], r[k], 0.0f, 0.0f);
}

/* Links of one doublet among candidates first .. first + n - 1, n <= PA_CHUNK, into ok[]. */
TRG_FN void pa_test(TRG_GLOBAL const trg_u32 *work, const struct pa_par *par,
                    const struct pa_side s, trg_u32 first, trg_u32 n, trg_u32 *ok)
{
    if (par->align == PA_ALIGN_CMS && par->curvature == PA_CURVE_PT && par->beam_spot) {
        pa_flags(s, par->min_radius, PA_CF32(work, par->at.outer_x) + first,
                 PA_CF32(work, par->at.outer_y) + first, PA_CF32(work, par->at.outer_z) + first,
                 PA_CF32(work, par->at.outer_r) + first, n, ok);
        return;
    }
    for (trg_u32 k = 0; k < n; k++)
        ok[k] = pa_links_to(work, par, s, first + k);
}

/* One work-item an RoI finds and writes the links at once.  Same links, same places. */
TRG_KERNEL3(pa_links_once, const trg_u8, hits, const trg_u8, doublets, trg_u32, work, struct pa_par,
            par)
{
    TRG_GLOBAL const trg_u32 *h_first = TRG_OFFSETS(hits, par.hits);
    TRG_GLOBAL const trg_u32 *d_first = TRG_OFFSETS(doublets, par.doublets);
    TRG_GLOBAL const trg_u32 *start = PA_U32(work, par.at.start);
    TRG_GLOBAL struct pa_summary *sum = (TRG_GLOBAL struct pa_summary *)(work + par.at.summary);
    TRG_GLOBAL trg_u32 *links = PA_U32(work, par.at.links);
    TRG_GLOBAL trg_u32 *has_in = PA_U32(work, par.at.has_in);

    PA_EACH(r, par.n_rois)
    {
        const trg_u32 base = pa_links_base(d_first, &par, r);
        const trg_u32 most = pa_links_most(d_first, &par, r);
        const trg_u32 d_end = start[h_first[r + 1u]];
        trg_u64 wanted = 0;
        trg_u32 at = 0u;

        for (trg_u32 d = start[h_first[r]]; d < d_end; d++) {
            const struct pa_next next = pa_candidates(work, &par, d);
            const trg_u32 before = at;

            if (next.first < next.end) {
                const struct pa_side s = pa_side_of(work, &par, hits, d);

                for (trg_u32 c = next.first; c < next.end; c += PA_CHUNK) {
                    const trg_u32 n = next.end - c < PA_CHUNK ? next.end - c : PA_CHUNK;
                    trg_u32 ok[PA_CHUNK];

                    pa_test(work, &par, s, c, n, ok);
                    for (trg_u32 k = 0; k < n; k++) {
                        wanted += ok[k];
                        if (ok[k] && at < most) {
                            links[base + at++] = c + k;
                            has_in[c + k] = 1u;
                        }
                    }
                }
            }
            PA_U32(work, par.at.link_first)[d] = base + before;
            PA_U32(work, par.at.n_links)[d] = at - before;
        }
        sum[r].n_doublets = d_end - start[h_first[r]];
        sum[r].n_links = wanted < 0xffffffffu ? (trg_u32)wanted : 0xffffffffu;
        sum[r].n_links_kept = at;
    }
}
