/* SPDX-License-Identifier: Apache-2.0 */
/* Phase 2: per doublet, the doublets that it goes on in.
 *
 * pa_links_count -> scan -> pa_list -> scan -> pa_links_fill -> pa_links_sum
 *                 a work-item for each doublet, or more; from pa_list on, for each that is listed
 * pa_links_once   one for each RoI
 */
#include "follow.h"
#include "scan.h"
#include "trigd/common/group.h"
#include "trigd/common/portions.h"

/* Doublet d has n links.  Only what is listed is looked at again: with which paths can begin. */
TRG_FN void pa_mark(TRG_GLOBAL trg_u32 *work, const struct pa_par *par, trg_u32 d, trg_u32 n)
{
    if (n || par->min_doublets < 2u)
        TRG_ATOMIC_OR_GLOBAL(&PA_U32(work, par->at.mask)[d / 32u], 1u << (d & 31u));
}

#if defined(__CUDACC__)
#include "links_warp.h"
#else
struct pa_tile { /* what a group knows of its doublets */
    trg_u32 scratch[TRG_GROUP_SCAN_SCRATCH],
        begin[PA_GROUP_MAX];                        /* portions before those of each */
    trg_u32 first[PA_GROUP_MAX], end[PA_GROUP_MAX]; /* candidates */
    float z1[PA_GROUP_MAX], r1[PA_GROUP_MAX], z2[PA_GROUP_MAX], r2[PA_GROUP_MAX]; /* the line */
    float theta_cut[PA_GROUP_MAX];
    trg_u32 n[PA_GROUP_MAX], low[PA_GROUP_MAX], high[PA_GROUP_MAX]; /* links: how many; the ends */
};

/* Doublet d is number k of the group; returns how many candidates it has. */
TRG_FN trg_u32 pa_open_doublet(TRG_GLOBAL const trg_u32 *work, const struct pa_par *par, trg_u32 d,
                               trg_u32 k, TRG_LOCAL struct pa_tile *t)
{
    const struct pa_next next = pa_candidates(work, par, d);
    const struct pa_line s = pa_line_of(work, par, d);

    t->n[k] = t->high[k] = 0u;
    t->low[k] = PA_NONE;
    t->first[k] = next.first;
    t->end[k] = next.end;
    t->z1[k] = s.z1;
    t->r1[k] = s.r1;
    t->z2[k] = s.z2;
    t->r2[k] = s.r2;
    t->theta_cut[k] = s.theta_cut;
    return next.end - next.first;
}

TRG_FN struct pa_line pa_line_in(TRG_GLOBAL const trg_u32 *work, const struct pa_par *par,
                                 trg_u32 d, trg_u32 k, TRG_LOCAL struct pa_tile *t)
{
    struct pa_line s;

    s.z1 = t->z1[k];
    s.r1 = t->r1[k];
    s.z2 = t->z2[k];
    s.r2 = t->r2[k];
    s.theta_cut = t->theta_cut[k];
    s.slope = par->align == PA_ALIGN_SLOPE ? PA_CF32(work, par->at.slope)[d] : 0.0f;
    return s;
}

/* Counts the links of doublet d, number k of the group, among one portion of its candidates, and
 * finds the first and the last one.  Others may do so with other portions. */
TRG_FN void pa_count_links(TRG_GLOBAL const trg_u32 *work, const struct pa_par *par, trg_u32 d,
                           trg_u32 portion, trg_u32 k, TRG_LOCAL struct pa_tile *t)
{
    const struct pa_line s = pa_line_in(work, par, d, k, t);
    const trg_u32 first = t->first[k] + portion * par->portion, all = t->end[k];
    const trg_u32 end = all - first < par->portion ? all : first + par->portion;
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
        TRG_ATOMIC_ADD_LOCAL(&t->n[k], n);
        TRG_ATOMIC_MIN_LOCAL(&t->low[k], low);
        TRG_ATOMIC_MAX_LOCAL(&t->high[k], high);
    }
}

/* Of doublet d, number k of the group. */
TRG_FN void pa_note_links(TRG_GLOBAL trg_u32 *work, const struct pa_par *par, trg_u32 d, trg_u32 k,
                          TRG_LOCAL struct pa_tile *t)
{
    PA_U32(work, par->at.n_links)[d] = t->n[k];
    if (t->n[k]) {
        PA_U32(work, par->at.link_low)[d] = t->low[k];
        PA_U32(work, par->at.link_high)[d] = t->high[k];
    }
    pa_mark(work, par, d, t->n[k]);
}

/* A group takes as many doublets as it has work-items, and deals out the candidates of all of them
 * in portions: lists are of very different lengths, and so nobody waits for who has a long one. */
TRG_GROUP_FN void pa_count_tile(TRG_GLOBAL trg_u32 *work, const struct pa_par *par, trg_u32 tile,
                                trg_u32 n, TRG_LOCAL struct pa_tile *t)
{
    const trg_u32 d = tile + TRG_LID;
    const trg_u32 all = d < n ? pa_open_doublet(work, par, d, TRG_LID, t) : 0u;
    trg_u32 total = 0u;

    t->begin[TRG_LID] =
        trg_group_scan(t->scratch, (all + par->portion - 1u) / par->portion, &total);
    TRG_BARRIER();
    for (trg_u32 i = TRG_LID; i < total; i += TRG_LSIZE) {
        const trg_u32 k = trg_portion_owner(t->begin, TRG_LSIZE, i);

        pa_count_links(work, par, tile + k, i - t->begin[k], k, t);
    }
    TRG_BARRIER();
    if (d < n)
        pa_note_links(work, par, d, TRG_LID, t);
}
#endif

TRG_KERNEL1(pa_links_count, (trg_u32, work), (struct pa_par, par))
{
    TRG_SHARED struct pa_tile t;
    const trg_u32 n = work[par.at.totals + PA_TOTAL_DOUBLETS];

    for (trg_u32 tile = TRG_GID * TRG_LSIZE; tile < n; tile += TRG_GROUPS * TRG_LSIZE)
        pa_count_tile(work, &par, tile, n, &t);
}

/* After the scan of the mask's bits into `words`: lists the doublets of the mask in their order,
 * and their numbers of links. */
TRG_KERNEL1(pa_list, (trg_u32, work), (struct pa_par, par))
{
    const trg_u32 words = (work[par.at.totals + PA_TOTAL_DOUBLETS] + 31u) / 32u;

    PA_EACH (w, words) {
        trg_u32 at = PA_U32(work, par.at.words)[w];

        for (trg_u32 bits = PA_U32(work, par.at.mask)[w]; bits; bits &= bits - 1u) {
            const trg_u32 d = 32u * w + pa_lowest(bits);

            PA_U32(work, par.at.order)[at] = d;
            PA_U32(work, par.at.from)[at++] = PA_U32(work, par.at.n_links)[d];
        }
    }
    if (TRG_GID == 0u && TRG_LID == 0u)
        work[par.at.totals + PA_TOTAL_LISTED] = PA_U32(work, par.at.words)[words];
}

/* Writes all links of doublet d, which has some; the first and the last one are known. */
TRG_FN void pa_write_links(TRG_GLOBAL trg_u32 *work, const struct pa_par *par, trg_u32 d,
                           TRG_GLOBAL trg_u32 *link)
{
    const trg_u32 low = PA_U32(work, par->at.link_low)[d];
    const trg_u32 high = PA_U32(work, par->at.link_high)[d];
    const trg_u32 n = PA_U32(work, par->at.n_links)[d];
    trg_u32 at = 1u;

    link[0] = low;
    if (n > 2u) {
        const struct pa_side s = pa_side_of(work, par, d);

        for (trg_u32 e = low + 1u; at + 1u < n; e++)
            if (pa_is_in_line(work, par, s.line, e) && pa_links_to(work, par, s, e))
                link[at++] = e;
    }
    if (at < n)
        link[at] = high;
}

/* After the scan of their numbers into rank: links are written where there is room for all of a
 * doublet. */
TRG_KERNEL1(pa_links_fill, (trg_u32, work), (struct pa_par, par))
{
    TRG_GLOBAL const trg_u32 *h_first = PA_U32(work, par.at.h_first);
    TRG_GLOBAL const trg_u32 *d_first = PA_U32(work, par.at.d_first);
    TRG_GLOBAL const trg_u32 *start = PA_U32(work, par.at.start);
    TRG_GLOBAL const trg_u64 *rank = PA_U64(work, par.at.rank);

    PA_EACH (k, work[par.at.totals + PA_TOTAL_LISTED]) {
        const trg_u32 d = PA_U32(work, par.at.order)[k], n = PA_U32(work, par.at.from)[k];

        if (n) {
            const trg_u32 r = pa_roi_of(h_first, par.n_rois, 0u, PA_U32(work, par.at.inner)[d]);
            const trg_u64 at = rank[k] - rank[pa_listed_before(work, &par, start[h_first[r]])];
            const trg_u32 is_kept = (trg_u32)(at + n <= pa_links_most(d_first, &par, r));
            const trg_u32 first = is_kept ? pa_links_base(d_first, &par, r) + (trg_u32)at : PA_NONE;
            struct pa_follow f;

            PA_U32(work, par.at.link_first)[d] = first;
            if (is_kept)
                pa_write_links(work, &par, d, PA_U32(work, par.at.links) + first);
            else
                work[par.at.totals + PA_TOTAL_UNKEPT] = 1u; /* many may say so */
            if (!par.longest)
                continue;
            f = pa_follow_links(work, &par, d);
            for (trg_u32 j = 0u; j < n; j++)
                PA_U32(work, par.at.has_in)[pa_next_link(work, &par, &f)] = 1u;
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
        const trg_u64 n =
            rank[pa_listed_before(work, &par, end)] - rank[pa_listed_before(work, &par, first)];

        sum[r].n_doublets = end - first;
        sum[r].n_links = n < 0xffffffffu ? (trg_u32)n : 0xffffffffu;
    }
}

/* ---------------------------------------------------------------- a work-item for each RoI
 *
 * Written for processors with vectors: candidates of a doublet lie behind one another and are
 * tried 16 at a time.  The same criteria, and so the same links. */

/* Finds the links of doublet d and writes them to `links`, as long as there are no more than
 * `room`; returns how many there are. */
TRG_FN trg_u32 pa_link(TRG_GLOBAL trg_u32 *work, const struct pa_par *par, trg_u32 d,
                       const struct pa_next next, TRG_GLOBAL trg_u32 *links, trg_u32 room)
{
    const struct pa_side s = pa_side_of(work, par, d);
    trg_u32 n = 0u;

    for (trg_u32 c = next.first; c < next.end; c += PA_CHUNK) {
        trg_u32 found = pa_try(work, par, &s, c, next.end - c < PA_CHUNK ? next.end - c : PA_CHUNK);
        const trg_u32 at = n;

        n += trg_popcount(found);
        if (n <= room)
            for (trg_u32 k = at, in = found; in; in &= in - 1u)
                links[k++] = c + pa_lowest(in);
        for (; found && par->longest; found &= found - 1u)
            PA_U32(work, par->at.has_in)[c + pa_lowest(found)] = 1u;
    }
    return n;
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
        trg_u64 all = 0;
        trg_u32 at = 0u, n_linked = 0u; /* links that are kept; doublets with some */

        for (trg_u32 d = first; d < end; d++) {
            const struct pa_next next = pa_candidates(work, &par, d);
            trg_u32 n = 0u, is_kept;

            if (next.first < next.end)
                n = pa_link(work, &par, d, next, PA_U32(work, par.at.links) + base + at, most - at);
            is_kept = (trg_u32)(n <= most - at);
            PA_U32(work, par.at.link_first)[d] = is_kept ? base + at : PA_NONE;
            PA_U32(work, par.at.n_links)[d] = n;
            at += is_kept ? n : 0u;
            all += n;
            if (n)
                linked[n_linked++] = d;
            if (par.lists)
                pa_mark(work, &par, d, n);
        }
        sum[r].n_doublets = end - first;
        sum[r].n_links = all < 0xffffffffu ? (trg_u32)all : 0xffffffffu;
        sum[r].n_linked = n_linked;
    }
}
