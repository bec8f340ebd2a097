/* SPDX-License-Identifier: Apache-2.0 */
/* Phase 1: per hit, the doublets that start there; and the sums over a batch that all phases use.
 *
 * pa_hits -> pa_in_order -> pa_count -> scan -> pa_scatter -> pa_order -> pa_gather
 *
 * Where doublets are in order of their inner hit and all are used, as the plugin doublets makes
 * them, pa_in_order does it, pa_order finds where those of each hit begin, and the others have
 * nothing to do: no counter is shared.  On the CPU pa_starts_once is in the place of pa_in_order.
 */
#include "links.h"
#include "scan.h"

/* ---------------------------------------------------------------- sums over the batch */

/* The part of n items that a group has. */
TRG_FN trg_u32 pa_part(trg_u32 n, trg_u32 group, trg_u32 groups)
{
    const trg_u32 each = (n + groups - 1u) / groups;

    return each * group < n ? each * group : n;
}

/* How many items a scan has, and what item i counts. */
TRG_FN trg_u32 pa_scan_items(TRG_GLOBAL const trg_u32 *work, const struct pa_par *par)
{
    return par->scan_bits ? (work[par->scan_n] + 31u) / 32u : work[par->scan_n];
}

TRG_FN trg_u32 pa_scan_value(TRG_GLOBAL const trg_u32 *work, const struct pa_par *par, trg_u32 i)
{
    const trg_u32 value = PA_U32(work, par->scan_src)[i];

    return par->scan_bits ? trg_popcount(value) : value;
}

/* Each group adds up its part. */
TRG_KERNEL1(pa_scan_sums, (trg_u32, work), (struct pa_par, par))
{
    TRG_SHARED trg_u64 buffer[PA_GROUP_MAX];
    const trg_u32 n = pa_scan_items(work, &par);
    const trg_u32 end = pa_part(n, TRG_GID + 1u, TRG_GROUPS);
    trg_u64 mine = 0, total = 0;

    for (trg_u32 i = pa_part(n, TRG_GID, TRG_GROUPS) + TRG_LID; i < end; i += TRG_LSIZE)
        mine += pa_scan_value(work, &par, i);
    pa_group_sum(buffer, mine, &total);
    if (TRG_LID == 0u)
        PA_U64(work, par.at.part)[TRG_GID] = total;
}

/* Each group adds what the groups before it have, and writes its part. */
TRG_KERNEL1(pa_scan_apply, (trg_u32, work), (struct pa_par, par))
{
    TRG_SHARED trg_u64 buffer[PA_GROUP_MAX];
    TRG_GLOBAL trg_u32 *out = PA_U32(work, par.scan_dst);
    TRG_GLOBAL trg_u64 *wide = PA_U64(work, par.scan_dst);
    const trg_u32 n = pa_scan_items(work, &par);
    const trg_u32 first = pa_part(n, TRG_GID, TRG_GROUPS);
    const trg_u32 end = pa_part(n, TRG_GID + 1u, TRG_GROUPS);
    trg_u64 mine = 0, before = 0, total = 0;

    for (trg_u32 k = TRG_LID; k < TRG_GID; k += TRG_LSIZE)
        mine += PA_U64(work, par.at.part)[k];
    pa_group_sum(buffer, mine, &before);
    for (trg_u32 tile = first; tile < end; tile += TRG_LSIZE) {
        const trg_u32 i = tile + TRG_LID;

        mine = i < end ? pa_scan_value(work, &par, i) : 0u;
        mine = pa_group_sum(buffer, mine, &total);
        if (i < end && par.scan_wide)
            wide[i] = before + mine;
        else if (i < end)
            out[i] = (trg_u32)(before + mine);
        before += total;
    }
    if (TRG_LID == 0u && TRG_GID + 1u == TRG_GROUPS) {
        if (par.scan_wide)
            wide[n] = before;
        else
            out[n] = (trg_u32)before;
    }
}

/* ---------------------------------------------------------------- 1: where doublets start */

/* Brings the hits of the batch to the work buffer, numbered from 0 on, and clears what counts. */
TRG_KERNEL3(pa_hits, (const trg_u8, hits), (const trg_u8, doublets), (trg_u32, work),
            (struct pa_par, par))
{
    TRG_GLOBAL const trg_u32 *h_first = TRG_OFFSETS(hits, par.hits);
    TRG_GLOBAL const trg_u32 *d_first = TRG_OFFSETS(doublets, par.doublets);
    TRG_GLOBAL const float *x = TRG_HITS_X(hits, par.hits) + h_first[0];
    TRG_GLOBAL const float *y = TRG_HITS_Y(hits, par.hits) + h_first[0];
    TRG_GLOBAL const float *z = TRG_HITS_Z(hits, par.hits) + h_first[0];
    TRG_GLOBAL const trg_u16 *layer = TRG_HITS_LAYER(hits, par.hits) + h_first[0];
    const trg_u32 n = h_first[par.n_rois] - h_first[0];

    PA_EACH (i, n) {
        const float dx = x[i] - par.origin_x, dy = y[i] - par.origin_y;

        PA_F32(work, par.at.hit_x)[i] = dx;
        PA_F32(work, par.at.hit_y)[i] = dy;
        PA_F32(work, par.at.hit_z)[i] = z[i];
        PA_F32(work, par.at.hit_r)[i] = trg_sqrt(dx * dx + dy * dy);
        PA_U32(work, par.at.hit_layer)[i] = layer[i];
        PA_U32(work, par.at.best[0])[i] = PA_U32(work, par.at.best[1])[i] = PA_NONE;
        PA_U32(work, par.at.owner)[i] = PA_NONE;
    }
    PA_EACH (k, n + 1u)
        PA_U32(work, par.at.count)[k] = 0u;
    PA_EACH (r, par.n_rois + 1u) {
        PA_U32(work, par.at.h_first)[r] = h_first[r] - h_first[0];
        PA_U32(work, par.at.d_first)[r] = d_first[r] - d_first[0];
    }
    PA_EACH (s, par.n_rois * (trg_u32)(sizeof(struct pa_summary) / 4u))
        PA_U32(work, par.at.summary)[s] = 0u;
    PA_EACH (o, par.n_rois)
        PA_U32(work, par.at.n_open)[o] = 0u;
    PA_EACH (w, par.lists ? (d_first[par.n_rois] - d_first[0]) / 32u + 1u : 0u)
        PA_U32(work, par.at.mask)[w] = 0u;
    PA_EACH (t, PA_TOTALS)
        work[par.at.totals + t] = t == PA_TOTAL_HITS ? n : 0u;
}

/* Says that all n doublets of the input are to be sorted.  Many may say it at once. */
TRG_FN void pa_must_sort(TRG_GLOBAL trg_u32 *work, const struct pa_par *par, trg_u32 n)
{
    work[par->at.totals + PA_TOTAL_UNSORTED] = n;
    work[par->at.totals + PA_TOTAL_UNSORTED_HITS] = work[par->at.totals + PA_TOTAL_HITS];
}

/* The hits of doublet number i of the input, in an RoI whose n hits begin at `first`; whether it
 * may be used. */
TRG_FN trg_u32 pa_hits_of(TRG_GLOBAL const trg_u8 *doublets, TRG_GLOBAL const trg_u32 *work,
                          const struct pa_par *par, trg_u32 first, trg_u32 n, trg_u32 i,
                          trg_u32 *from, trg_u32 *to)
{
    TRG_GLOBAL const trg_u32 *layer = PA_U32(work, par->at.hit_layer) + first;
    const trg_u32 inner = TRG_DOUBLETS_INNER(doublets, par->doublets)[i];
    const trg_u32 outer = TRG_DOUBLETS_OUTER(doublets, par->doublets)[i];

    *from = first + inner;
    *to = first + outer;
    return (trg_u32)(inner < n && outer < n &&
                     pa_may_use(layer[inner], layer[outer], par->last_barrel, par->discs,
                                par->layers_skipped));
}

/* What linking reads of a doublet, to place d of the sorted ones. */
TRG_FN void pa_store_doublet(TRG_GLOBAL trg_u32 *work, const struct pa_par *par, trg_u32 d,
                             trg_u32 from, trg_u32 to)
{
    TRG_GLOBAL const float *x = PA_CF32(work, par->at.hit_x);
    TRG_GLOBAL const float *y = PA_CF32(work, par->at.hit_y);
    TRG_GLOBAL const float *z = PA_CF32(work, par->at.hit_z);
    TRG_GLOBAL const float *hit_r = PA_CF32(work, par->at.hit_r);
    const float to_x = x[to], to_y = y[to], to_z = z[to], to_r = hit_r[to];

    PA_U32(work, par->at.inner)[d] = from;
    PA_U32(work, par->at.outer)[d] = to;
    if (PA_IS_HOST) {
        PA_F32(work, par->at.outer_x)[d] = to_x;
        PA_F32(work, par->at.outer_y)[d] = to_y;
    }
    PA_F32(work, par->at.outer_z)[d] = to_z;
    PA_F32(work, par->at.outer_r)[d] = to_r;
    if (par->longest)
        PA_U32(work, par->at.has_in)[d] = 0u;
    if (par->align == PA_ALIGN_SLOPE)
        PA_F32(work, par->at.slope)[d] = (z[to] - z[from]) / (hit_r[to] - hit_r[from]);
    if (par->curvature == PA_CURVE_SIMILAR)
        PA_F32(work, par->at.bend)[d] = pa_bend(x[from], y[from], x[to], y[to]);
}

/* One work-item.  When a doublet is met that is not in order, all of them are to be sorted. */
TRG_KERNEL2(pa_starts_once, (const trg_u8, doublets), (trg_u32, work), (struct pa_par, par))
{
    TRG_GLOBAL const trg_u32 *d_first = PA_U32(work, par.at.d_first);
    TRG_GLOBAL trg_u32 *start = PA_U32(work, par.at.start);
    const trg_u32 n_hits = work[par.at.totals + PA_TOTAL_HITS];
    const trg_u32 base = TRG_BEGIN(doublets, par.doublets, 0);
    trg_u32 n = 0u, h = 0u; /* doublets; hits whose start is known */

    if (TRG_GID || TRG_LID)
        return;
    for (trg_u32 r = 0; r < par.n_rois; r++) {
        const trg_u32 first = PA_U32(work, par.at.h_first)[r];
        const trg_u32 of_roi = PA_U32(work, par.at.h_first)[r + 1u] - first;
        const trg_u32 end = base + d_first[r + 1u];

        for (trg_u32 i = base + d_first[r]; i < end; i++) {
            trg_u32 from, to;

            if (!pa_hits_of(doublets, work, &par, first, of_roi, i, &from, &to))
                continue;
            if (from + 1u < h) {
                pa_must_sort(work, &par, d_first[par.n_rois]);
                return;
            }
            while (h <= from)
                start[h++] = n;
            pa_store_doublet(work, &par, n++, from, to);
        }
    }
    while (h <= n_hits)
        start[h++] = n;
    work[par.at.totals + PA_TOTAL_DOUBLETS] = n;
}

/* Takes the doublets as they come, in the hope that all are used and in order.  RoIs have the same
 * number of groups each. */
TRG_KERNEL2(pa_in_order, (const trg_u8, doublets), (trg_u32, work), (struct pa_par, par))
{
    TRG_SHARED trg_u32 disorder; /* one of a group tells it for all */
    TRG_GLOBAL const trg_u32 *h_first = PA_U32(work, par.at.h_first);
    TRG_GLOBAL const trg_u32 *d_first = PA_U32(work, par.at.d_first);
    const trg_u32 parts = TRG_GROUPS / par.n_rois, r = TRG_GID / parts;
    const trg_u32 base = TRG_BEGIN(doublets, par.doublets, 0), n = d_first[par.n_rois];
    const trg_u32 first = h_first[r], n_hits = h_first[r + 1u] - first, end = d_first[r + 1u];
    TRG_GLOBAL const trg_u32 *inner = TRG_DOUBLETS_INNER(doublets, par.doublets) + base;

    if (TRG_LID == 0u)
        disorder = 0u;
    TRG_BARRIER();
    for (trg_u32 i = d_first[r] + TRG_GID % parts * TRG_LSIZE + TRG_LID; i < end;
         i += parts * TRG_LSIZE) {
        trg_u32 from, to;

        if (work[par.at.totals + PA_TOTAL_UNSORTED])
            continue; /* somebody else has seen that there is no hope */
        if (pa_hits_of(doublets, work, &par, first, n_hits, base + i, &from, &to) &&
            (i == d_first[r] || inner[i - 1u] <= inner[i]))
            pa_store_doublet(work, &par, i, from, to);
        else
            TRG_ATOMIC_OR_LOCAL(&disorder, 1u);
    }
    TRG_BARRIER();
    if (TRG_LID == 0u && disorder)
        pa_must_sort(work, &par, n);
    if (TRG_LID == 0u && TRG_GID == 0u)
        work[par.at.totals + PA_TOTAL_DOUBLETS] = n;
}

/* Checks the doublets, and counts those of each inner hit; `n_links` takes the place of each among
 * them. */
TRG_KERNEL2(pa_count, (const trg_u8, doublets), (trg_u32, work), (struct pa_par, par))
{
    TRG_GLOBAL const trg_u32 *h_first = PA_U32(work, par.at.h_first);
    TRG_GLOBAL const trg_u32 *d_first = PA_U32(work, par.at.d_first);
    const trg_u32 base = TRG_BEGIN(doublets, par.doublets, 0);
    trg_u32 r = 0u;

    PA_EACH (i, work[par.at.totals + PA_TOTAL_UNSORTED]) {
        trg_u32 from, to, may_use, first;

        r = pa_roi_of(d_first, par.n_rois, r, i);
        first = h_first[r];
        may_use =
            pa_hits_of(doublets, work, &par, first, h_first[r + 1u] - first, base + i, &from, &to);
        PA_U32(work, par.at.from)[i] = may_use ? from : PA_NONE;
        PA_U32(work, par.at.to)[i] = to;
        if (may_use)
            PA_U32(work, par.at.n_links)[i] = PA_COUNT(&PA_U32(work, par.at.count)[from]);
    }
}

/* Lists the doublets of each inner hit.  With one work-item they stay in order; otherwise pa_order
 * and pa_gather put them in order. */
TRG_KERNEL1(pa_scatter, (trg_u32, work), (struct pa_par, par))
{
    TRG_GLOBAL const trg_u32 *from = PA_U32(work, par.at.from);

    PA_EACH (i, work[par.at.totals + PA_TOTAL_UNSORTED])
        if (from[i] != PA_NONE)
            PA_U32(work, par.at.order)
    [PA_U32(work, par.at.start)[from[i]] + PA_U32(work, par.at.n_links)[i]] = i;
}

/* Moves a[top] down until a[0 .. n - 1] is a heap again. */
TRG_FN void pa_sift(TRG_GLOBAL trg_u32 *a, trg_u32 top, trg_u32 n)
{
    const trg_u32 value = a[top];

    while (2u * top + 1u < n) {
        trg_u32 child = 2u * top + 1u;

        if (child + 1u < n && a[child + 1u] > a[child])
            child++;
        if (a[child] <= value)
            break;
        a[top] = a[child];
        top = child;
    }
    a[top] = value;
}

/* Sorts with a heap. */
TRG_FN void pa_sort(TRG_GLOBAL trg_u32 *a, trg_u32 n)
{
    for (trg_u32 i = n / 2u; i > 0u; i--)
        pa_sift(a, i - 1u, n);
    for (trg_u32 last = n - 1u; last > 0u; last--) {
        const trg_u32 value = a[last];

        a[last] = a[0];
        a[0] = value;
        pa_sift(a, 0u, last);
    }
}

/* The first of n sorted doublets whose inner hit is not before h. */
TRG_FN trg_u32 pa_first_from(TRG_GLOBAL const trg_u32 *inner, trg_u32 n, trg_u32 h)
{
    trg_u32 low = 0u, high = n;

    while (low < high) {
        const trg_u32 middle = low + (high - low) / 2u;

        if (inner[middle] < h)
            low = middle + 1u;
        else
            high = middle;
    }
    return low;
}

/* Puts the doublets of hits that have many in the order of the input; where all doublets came in
 * order, finds where those of each hit begin. */
TRG_KERNEL1(pa_order, (trg_u32, work), (struct pa_par, par))
{
    TRG_GLOBAL trg_u32 *start = PA_U32(work, par.at.start);
    const trg_u32 sorts = work[par.at.totals + PA_TOTAL_UNSORTED];
    const trg_u32 n_hits = work[par.at.totals + PA_TOTAL_HITS];

    PA_EACH (h, n_hits + 1u) {
        if (!sorts)
            start[h] = pa_first_from(PA_U32(work, par.at.inner),
                                     work[par.at.totals + PA_TOTAL_DOUBLETS], h);
        else if (h < n_hits && start[h + 1u] - start[h] > PA_RANK_MOST)
            pa_sort(PA_U32(work, par.at.order) + start[h], start[h + 1u] - start[h]);
    }
}

/* Brings together what linking reads of each sorted doublet.  What is not in order yet finds its
 * place by counting those of its hit that came before it. */
TRG_KERNEL1(pa_gather, (trg_u32, work), (struct pa_par, par))
{
    TRG_GLOBAL const trg_u32 *start = PA_U32(work, par.at.start);
    TRG_GLOBAL const trg_u32 *order = PA_U32(work, par.at.order);
    const trg_u32 n_hits = work[par.at.totals + PA_TOTAL_UNSORTED_HITS];
    const trg_u32 n = n_hits ? start[n_hits] : 0u;

    PA_EACH (d, n) {
        const trg_u32 i = order[d], from = PA_U32(work, par.at.from)[i];
        const trg_u32 first = start[from], end = start[from + 1u];
        trg_u32 to = d;

        if (TRG_GROUPS * TRG_LSIZE > 1u && end - first <= PA_RANK_MOST) {
            to = first;
            for (trg_u32 k = first; k < end; k++)
                to += (trg_u32)(order[k] < i);
        }
        pa_store_doublet(work, &par, to, from, PA_U32(work, par.at.to)[i]);
    }
    if (TRG_GID == 0u && TRG_LID == 0u && n_hits)
        work[par.at.totals + PA_TOTAL_DOUBLETS] = n;
}
