/* SPDX-License-Identifier: Apache-2.0 */
/* Phase 2: per doublet, the doublets that it goes on in.
 *
 * pa_links_count -> scan -> pa_links_fill -> pa_links_sum     a work-item for each doublet, or more
 * pa_links_once                                               one for each RoI
 */
#include "../common/group.h"
#include "graph.h"
#include "scan.h"

#if defined(__AVX512F__) && !defined(__OPENCL_VERSION__) && !defined(__CUDACC__)
#define PA_HAS_VECTORS 1
#include "links_host.h"
#else
#define PA_HAS_VECTORS 0
#endif

/* Counts the links of doublet d among one portion of its candidates, and finds the first and the
 * last one.  Others may do so with other portions. */
TRG_FN void pa_count_links(TRG_GLOBAL trg_u32 *work, const struct pa_par *par, trg_u32 d,
                           trg_u32 portion)
{
    const struct pa_next next = pa_candidates(work, par, d);
    const struct pa_line s = pa_line_of(work, par, d);
    const trg_u32 first = next.first + portion * par->portion;
    const trg_u32 end = next.end - first < par->portion ? next.end : first + par->portion;
    struct pa_side side;
    trg_u32 n = 0u, low = 0u, high = 0u, has_side = 0u; /* most need none */

    for (trg_u32 e = first; e < end; e++) {
        if (!pa_is_in_line(work, par, s, e))
            continue;
        if (!has_side)
            side = pa_side_of(work, par, d);
        has_side = 1u;
        if (!pa_links_to(work, par, side, e))
            continue;
        low = n ? low : e;
        high = e;
        n++;
    }
    if (n) {
        TRG_ATOMIC_ADD_GLOBAL(&PA_U32(work, par->at.n_links)[d], n);
        TRG_ATOMIC_MIN_GLOBAL(&PA_U32(work, par->at.link_low)[d], low);
        TRG_ATOMIC_MAX_GLOBAL(&PA_U32(work, par->at.link_high)[d], high);
    }
}

/* Whose portion number i is: the last of n work-items whose portions begin at or before i. */
TRG_FN trg_u32 pa_whose(TRG_LOCAL const trg_u32 *begin, trg_u32 n, trg_u32 i)
{
    trg_u32 at = 0u;

    while (n > 1u) {
        const trg_u32 step = n / 2u;

        at += begin[at + step] <= i ? step : 0u;
        n -= step;
    }
    return at;
}

/* A group takes as many doublets as it has work-items, and deals out the candidates of all of them
 * in portions: lists are of very different lengths, and so nobody waits for who has a long one. */
TRG_KERNEL1(pa_links_count, (trg_u32, work), (struct pa_par, par))
{
    TRG_SHARED trg_u32 scratch[TRG_GROUP_SCRATCH];
    TRG_SHARED trg_u32 begin[PA_GROUP_MAX];
    const trg_u32 n = work[par.at.totals + PA_TOTAL_DOUBLETS];

    for (trg_u32 tile = TRG_GID * TRG_LSIZE; tile < n; tile += TRG_GROUPS * TRG_LSIZE) {
        trg_u32 portions = 0u, total = 0u;

        if (tile + TRG_LID < n) {
            const struct pa_next next = pa_candidates(work, &par, tile + TRG_LID);

            portions = (next.end - next.first + par.portion - 1u) / par.portion;
        }
        portions = trg_group_scan(scratch, portions, &total);
        begin[TRG_LID] = portions;
        TRG_BARRIER();
        for (trg_u32 i = TRG_LID; i < total; i += TRG_LSIZE) {
            const trg_u32 k = pa_whose(begin, TRG_LSIZE, i);

            pa_count_links(work, &par, tile + k, i - begin[k]);
        }
        TRG_BARRIER();
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
TRG_KERNEL1(pa_links_fill, (trg_u32, work), (struct pa_par, par))
{
    TRG_GLOBAL const trg_u32 *h_first = PA_U32(work, par.at.h_first);
    TRG_GLOBAL const trg_u32 *d_first = PA_U32(work, par.at.d_first);
    TRG_GLOBAL const trg_u32 *start = PA_U32(work, par.at.start);
    TRG_GLOBAL const trg_u64 *rank = PA_U64(work, par.at.rank);

    PA_EACH (d, work[par.at.totals + PA_TOTAL_DOUBLETS]) {
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
TRG_KERNEL1(pa_links_sum, (trg_u32, work), (struct pa_par, par))
{
    TRG_GLOBAL const trg_u32 *h_first = PA_U32(work, par.at.h_first);
    TRG_GLOBAL const trg_u32 *start = PA_U32(work, par.at.start);
    TRG_GLOBAL const trg_u64 *rank = PA_U64(work, par.at.rank);
    TRG_GLOBAL struct pa_summary *sum = (TRG_GLOBAL struct pa_summary *)(work + par.at.summary);

    PA_EACH (r, par.n_rois) {
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
TRG_KERNEL1(pa_links_once, (trg_u32, work), (struct pa_par, par))
{
    TRG_GLOBAL const trg_u32 *h_first = PA_U32(work, par.at.h_first);
    TRG_GLOBAL const trg_u32 *d_first = PA_U32(work, par.at.d_first);
    TRG_GLOBAL const trg_u32 *start = PA_U32(work, par.at.start);
    TRG_GLOBAL struct pa_summary *sum = (TRG_GLOBAL struct pa_summary *)(work + par.at.summary);

    PA_EACH (r, par.n_rois) {
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
