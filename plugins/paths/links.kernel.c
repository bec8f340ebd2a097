/* SPDX-License-Identifier: Apache-2.0 */
/* Phase 2: per doublet, the doublets that it goes on in.
 *
 * pa_links_count -> scan -> pa_links_fill -> pa_links_sum     a gang, a work-item for each doublet
 * pa_links_once                                               one for each RoI
 */
#include "graph.h"
#include "scan.h"

#if defined(__AVX512F__) && !defined(__OPENCL_VERSION__) && !defined(__CUDACC__)
#define PA_HAS_VECTORS 1
#include "linkhand.h"
#else
#define PA_HAS_VECTORS 0
#endif

#define PA_AHEAD 4u /* candidates that a work-item reads at once */

/* Which of the PA_AHEAD candidates e, e + gang .. before `end` are in line with a doublet: a bit
 * each.  They are read without waiting for one another. */
TRG_FN trg_u32 pa_in_line(TRG_GLOBAL const trg_u32 *work, const struct pa_par *par,
                          const struct pa_line s, trg_u32 e, trg_u32 end)
{
    trg_u32 ok = 0u;

    for (trg_u32 k = 0; k < PA_AHEAD; k++) {
        const trg_u32 at = e + k * par->gang, is = (trg_u32)(at < end);

        ok |= (is & pa_is_in_line(work, par, s, is ? at : e)) << k;
    }
    return ok;
}

/* Counts the links of doublet d among every gang'th candidate from the lane'th on; `low` and `high`
 * become the first and the last one. */
TRG_FN trg_u32 pa_count_links(TRG_GLOBAL const trg_u32 *work, const struct pa_par *par, trg_u32 d,
                              const struct pa_next next, trg_u32 lane, trg_u32 *low, trg_u32 *high)
{
    struct pa_line s;
    struct pa_side side;
    trg_u32 n = 0u, has_side = 0u; /* most need none */

    if (next.first + lane >= next.end)
        return 0u;
    s = pa_line_of(work, par, d);
    for (trg_u32 e = next.first + lane; e < next.end; e += PA_AHEAD * par->gang) {
        trg_u32 ok = pa_in_line(work, par, s, e, next.end);

        for (trg_u32 at = e; ok; ok >>= 1u, at += par->gang) {
            if (!(ok & 1u))
                continue;
            if (!has_side)
                side = pa_side_of(work, par, d);
            has_side = 1u;
            if (!pa_links_to(work, par, side, at))
                continue;
            *low = n ? *low : at;
            *high = at;
            n++;
        }
    }
    return n;
}

/* A gang of work-items for each doublet.  Candidates of one lie behind one another, so a gang reads
 * what lies together; that more than one of a gang finds links is rare. */
TRG_KERNEL1(pa_links_count, trg_u32, work, struct pa_par, par)
{
    TRG_GLOBAL trg_u32 *n_links = PA_U32(work, par.at.n_links);
    TRG_GLOBAL trg_u32 *link_low = PA_U32(work, par.at.link_low);
    TRG_GLOBAL trg_u32 *link_high = PA_U32(work, par.at.link_high);

    PA_EACH(i, work[par.at.totals + PA_TOTAL_DOUBLETS] * par.gang)
    {
        const trg_u32 d = i / par.gang;
        trg_u32 low = PA_NONE, high = 0u;
        const trg_u32 n = pa_count_links(work, &par, d, pa_candidates(work, &par, d),
                                         i & (par.gang - 1u), &low, &high);

        if (par.gang == 1u) {
            n_links[d] = n;
            link_low[d] = low;
            link_high[d] = high;
        } else if (n) {
            TRG_ATOMIC_ADD_GLOBAL(&n_links[d], n);
            TRG_ATOMIC_MIN_GLOBAL(&link_low[d], low);
            TRG_ATOMIC_MAX_GLOBAL(&link_high[d], high);
        }
    }
}

/* Writes the links of doublet d, of which n are wanted; the first and the last one are known. */
TRG_FN void pa_write_links(TRG_GLOBAL trg_u32 *work, const struct pa_par *par, trg_u32 d, trg_u32 n,
                           TRG_GLOBAL trg_u32 *link)
{
    const trg_u32 low = PA_U32(work, par->at.link_low)[d];
    const trg_u32 high = PA_U32(work, par->at.link_high)[d];
    const trg_u32 all = PA_U32(work, par->at.n_links)[d];
    trg_u32 at = 1u;

    link[0] = low;
    if (n > 1u && all > 2u) {
        const struct pa_side s = pa_side_of(work, par, d);

        for (trg_u32 e = low + 1u; e < high && at < n; e++)
            if (pa_is_in_line(work, par, s.line, e) && pa_links_to(work, par, s, e))
                link[at++] = e;
    }
    if (at < n)
        link[at] = high;
    for (trg_u32 k = 0; k < n && par->longest; k++)
        PA_U32(work, par->at.has_in)[link[k]] = 1u;
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
        const trg_u32 wanted = PA_U32(work, par.at.n_links)[d];

        if (wanted) {
            const trg_u32 r = pa_roi_of(h_first, par.n_rois, 0u, PA_U32(work, par.at.inner)[d]);
            const trg_u64 at = rank[d] - rank[start[h_first[r]]];
            const trg_u32 most = pa_links_most(d_first, &par, r);
            const trg_u32 first = at < most ? (trg_u32)at : most;
            const trg_u32 n = wanted < most - first ? wanted : most - first;
            const trg_u32 base = pa_links_base(d_first, &par, r) + first;

            if (n)
                pa_write_links(work, &par, d, n, PA_U32(work, par.at.links) + base);
            PA_U32(work, par.at.link_first)[d] = base;
            PA_U32(work, par.at.n_links)[d] = n;
        }
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
TRG_FN trg_u32 pa_flag_aligned(const struct pa_line s, TRG_GLOBAL const float *TRG_RESTRICT z,
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

/* Whether alignment, pT and the beam spot are asked for. */
TRG_FN trg_u32 pa_has_defaults(const struct pa_par *par)
{
    return (trg_u32)(par->align == PA_ALIGN_CMS && par->curvature == PA_CURVE_PT && par->beam_spot);
}

/* Links of one doublet among candidates first .. first + n - 1, n <= PA_CHUNK, into ok[]; returns
 * how many.  With the default criteria alignment, which few pass, is asked first. */
TRG_FN trg_u32 pa_test(TRG_GLOBAL const trg_u32 *work, const struct pa_par *par,
                       const struct pa_side s, trg_u32 first, trg_u32 n, trg_u32 *ok)
{
    trg_u32 sum = 0u;

    if (pa_has_defaults(par)) {
        sum = pa_flag_aligned(s.line, PA_CF32(work, par->at.outer_z) + first,
                              PA_CF32(work, par->at.outer_r) + first, n, ok);
        if (sum)
            sum = pa_flag_circles(s, par->min_radius, PA_CF32(work, par->at.outer_x) + first,
                                  PA_CF32(work, par->at.outer_y) + first, ok);
        return sum;
    }
    for (trg_u32 k = 0; k < n; k++) {
        ok[k] = pa_is_in_line(work, par, s.line, first + k) && pa_links_to(work, par, s, first + k);
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

#if PA_HAS_VECTORS
    if (pa_has_defaults(par))
        return pa_link_vector(work, par, &s, next, base, at, most, wanted);
#endif
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
