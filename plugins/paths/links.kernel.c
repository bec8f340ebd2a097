/* SPDX-License-Identifier: Apache-2.0 */
/* Phase 2: per doublet, the doublets that it goes on in.
 *
 * pa_links_count -> scan -> pa_links_fill -> pa_links_sum     a work-item for each doublet
 * pa_links_once                                               one for each RoI
 */
#include "graph.h"
#include "scan.h"

TRG_KERNEL1(pa_links_count, trg_u32, work, struct pa_par, par)
{
    PA_EACH(d, work[par.at.totals + PA_TOTAL_DOUBLETS])
    {
        const struct pa_side s = pa_side_of(work, &par, d);
        const struct pa_next next = pa_candidates(work, &par, d);
        trg_u32 n = 0u;

        for (trg_u32 e = next.first; e < next.end; e++)
            n += pa_links_to(work, &par, s, e);
        PA_U32(work, par.at.n_links)[d] = n;
    }
}

/* After the scan of n_links into rank: the first links of an RoI are written, up to its limit. */
TRG_KERNEL1(pa_links_fill, trg_u32, work, struct pa_par, par)
{
    TRG_GLOBAL const trg_u32 *h_first = PA_U32(work, par.at.h_first);
    TRG_GLOBAL const trg_u32 *d_first = PA_U32(work, par.at.d_first);
    TRG_GLOBAL const trg_u32 *start = PA_U32(work, par.at.start);
    TRG_GLOBAL const trg_u64 *rank = PA_U64(work, par.at.rank);

    PA_EACH(d, work[par.at.totals + PA_TOTAL_DOUBLETS])
    {
        const struct pa_side s = pa_side_of(work, &par, d);
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
            if (par.longest)
                PA_U32(work, par.at.has_in)[e] = 1u;
            n++;
        }
        PA_U32(work, par.at.link_first)[d] = base;
        PA_U32(work, par.at.n_links)[d] = n;
    }
}

/* Counts of each RoI's links and doublets, for the summary. */
TRG_KERNEL1(pa_links_sum, trg_u32, work, struct pa_par, par)
{
    TRG_GLOBAL const trg_u32 *h_first = PA_U32(work, par.at.h_first);
    TRG_GLOBAL const trg_u32 *start = PA_U32(work, par.at.start);
    TRG_GLOBAL const trg_u64 *rank = PA_U64(work, par.at.rank);
    TRG_GLOBAL struct pa_summary *sum = (TRG_GLOBAL struct pa_summary *)(work + par.at.summary);

    PA_EACH(r, par.n_rois)
    {
        const trg_u32 first = start[h_first[r]], end = start[h_first[r + 1u]];
        const trg_u64 n = rank[end] - rank[first];
        const trg_u32 most = pa_links_most(PA_U32(work, par.at.d_first), &par, r);

        sum[r].n_doublets = end - first;
        sum[r].n_links = n < 0xffffffffu ? (trg_u32)n : 0xffffffffu;
        sum[r].n_links_kept = n < most ? (trg_u32)n : most;
    }
}

/* ---------------------------------------------------------------- a work-item for each RoI
 *
 * Written for processors with vectors: candidates of a doublet lie behind one another and are
 * tried 16 at a time in loops without branches.  The same criteria, and so the same links. */

#define PA_CHUNK 16u /* candidates at a time; those beyond the end are tried, and dropped */

/* Which candidates are aligned with s; returns how many of the n. */
TRG_FN trg_u32 pa_flag_aligned(const struct pa_side s, TRG_GLOBAL const float *TRG_RESTRICT z,
                               TRG_GLOBAL const float *TRG_RESTRICT r, trg_u32 n,
                               trg_u32 *TRG_RESTRICT ok)
{
    trg_u32 sum = 0u;

    for (trg_u32 k = 0; k < PA_CHUNK; k++) {
        const trg_u32 is = pa_is_aligned(s, z[k], r[k]) & (trg_u32)(k < n);

        ok[k] = is;
        sum += is;
    }
    return sum;
}

/* Which of those that are flagged fit on a circle with s; returns how many. */
TRG_FN trg_u32 pa_flag_circles(const struct pa_side s, float min_radius,
                               TRG_GLOBAL const float *TRG_RESTRICT x,
                               TRG_GLOBAL const float *TRG_RESTRICT y, trg_u32 *TRG_RESTRICT ok)
{
    trg_u32 sum = 0u;

    for (trg_u32 k = 0; k < PA_CHUNK; k++) {
        const trg_u32 is = ok[k] & pa_fits_circle(s, min_radius, x[k], y[k], 0u, 0u);

        ok[k] = is;
        sum += is;
    }
    return sum;
}

/* Links of one doublet among candidates first .. first + n - 1, n <= PA_CHUNK, into ok[]; returns
 * how many.  With the default criteria alignment, which few pass, is asked first. */
TRG_FN trg_u32 pa_test(TRG_GLOBAL const trg_u32 *work, const struct pa_par *par,
                       const struct pa_side s, trg_u32 first, trg_u32 n, trg_u32 *ok)
{
    trg_u32 sum = 0u;

    if (par->align == PA_ALIGN_CMS && par->curvature == PA_CURVE_PT && par->beam_spot) {
        sum = pa_flag_aligned(s, PA_CF32(work, par->at.outer_z) + first,
                              PA_CF32(work, par->at.outer_r) + first, n, ok);
        if (sum)
            sum = pa_flag_circles(s, par->min_radius, PA_CF32(work, par->at.outer_x) + first,
                                  PA_CF32(work, par->at.outer_y) + first, ok);
        return sum;
    }
    for (trg_u32 k = 0; k < n; k++) {
        ok[k] = pa_links_to(work, par, s, first + k);
        sum += ok[k];
    }
    return sum;
}

/* Writes the links of doublet d, as long as there are fewer than `most` of the RoI; returns how
 * many the RoI has then.  `wanted` counts those that there are. */
TRG_FN trg_u32 pa_link(TRG_GLOBAL trg_u32 *work, const struct pa_par *par, const struct pa_side s,
                       const struct pa_next next, trg_u32 base, trg_u32 at, trg_u32 most,
                       trg_u64 *wanted)
{
    TRG_GLOBAL trg_u32 *links = PA_U32(work, par->at.links) + base;
    trg_u32 ok[PA_CHUNK];

    for (trg_u32 c = next.first; c < next.end; c += PA_CHUNK) {
        const trg_u32 n = next.end - c < PA_CHUNK ? next.end - c : PA_CHUNK;
        const trg_u32 sum = pa_test(work, par, s, c, n, ok);

        *wanted += sum;
        if (!sum)
            continue;
        for (trg_u32 k = 0; k < n; k++) {
            if (ok[k] && at < most) {
                links[at++] = c + k;
                if (par->longest)
                    PA_U32(work, par->at.has_in)[c + k] = 1u;
            }
        }
    }
    return at;
}

/* Finds and writes the links at once; leaves a list of the doublets that have some in `order`. */
TRG_KERNEL1(pa_links_once, trg_u32, work, struct pa_par, par)
{
    TRG_GLOBAL const trg_u32 *h_first = PA_U32(work, par.at.h_first);
    TRG_GLOBAL const trg_u32 *d_first = PA_U32(work, par.at.d_first);
    TRG_GLOBAL const trg_u32 *start = PA_U32(work, par.at.start);
    TRG_GLOBAL struct pa_summary *sum = (TRG_GLOBAL struct pa_summary *)(work + par.at.summary);

    PA_EACH(r, par.n_rois)
    {
        const trg_u32 base = pa_links_base(d_first, &par, r);
        const trg_u32 most = pa_links_most(d_first, &par, r);
        const trg_u32 first = start[h_first[r]], end = start[h_first[r + 1u]];
        TRG_GLOBAL trg_u32 *linked = PA_U32(work, par.at.order) + first;
        trg_u64 wanted = 0;
        trg_u32 at = 0u, n_linked = 0u;

        for (trg_u32 d = first; d < end; d++) {
            const struct pa_next next = pa_candidates(work, &par, d);
            const trg_u32 before = at;

            if (next.first < next.end)
                at = pa_link(work, &par, pa_side_of(work, &par, d), next, base, at, most, &wanted);
            PA_U32(work, par.at.link_first)[d] = base + before;
            PA_U32(work, par.at.n_links)[d] = at - before;
            if (at > before)
                linked[n_linked++] = d;
        }
        sum[r].n_doublets = end - first;
        sum[r].n_links = wanted < 0xffffffffu ? (trg_u32)wanted : 0xffffffffu;
        sum[r].n_links_kept = at;
        sum[r].n_linked = n_linked;
    }
}
