/* SPDX-License-Identifier: Apache-2.0 */
/* Straight tracks by the Hough transform: hits are put into bins of phi about the beam line; in
 * each window of one or two, lines of the (z, u) plane are sought as peaks in cells of (theta, r);
 * the hits of a peak are fitted in the second projection as well; candidates then compete for hits.
 * What is left goes through it again, in windows that are turned by half a bin, and in wide ones
 * for tracks that do not point to the beam line.
 *
 * Counts are integers, every choice between candidates is one of a total order, and sums of floats
 * run over a track's hits along z: so all devices give the same bits.
 *
 * hg_clear -> (hg_sort -> hg_find -> hg_refine -> hg_compete) a pass -> hg_offsets -> hg_write
 */
#include "compete.h"
#include "filter.h"
#include "find.h"

/* ---------------------------------------------------------------- bins of phi */

TRG_FN trg_u32 hg_bin_of(const struct hg_par par, float x, float y)
{
    const float turn = hg_atan2(y - par.beam_y, x - par.beam_x) * 0.15915494f + 0.5f;
    const float b = turn * (float)par.n_bins - par.phase;
    const trg_u32 bin = b < 0.0f ? par.n_bins - 1u : (trg_u32)b;

    return bin < par.n_bins ? bin : par.n_bins - 1u;
}

/* One group an RoI. */
TRG_KERNEL4(hg_clear, const trg_u8, data, trg_u32, used, struct hg_summary, summaries, trg_u32,
            best, struct hg_par, par)
{
    TRG_GLOBAL const trg_u32 *offsets = TRG_OFFSETS(data, par.in);
    const trg_u32 first = offsets[TRG_GID], end = offsets[TRG_GID + 1u];

    for (trg_u32 i = first + TRG_LID; i < end; i += TRG_LSIZE) {
        used[i] = 0u;
        best[i] = 0u;
    }
    if (TRG_LID == 0u) {
        summaries[TRG_GID].n_hits = end - first;
        summaries[TRG_GID].n_on_tracks = 0u;
        summaries[TRG_GID].n_tracks = 0u;
        summaries[TRG_GID].n_cands = 0u;
        summaries[TRG_GID].n_peaks = 0u;
        summaries[TRG_GID].wanted = 0u;
        summaries[TRG_GID].kept = 0u;
        summaries[TRG_GID].digest = 0u;
    }
}

/* Where a bin is full: the item below which there are at most `room` of its hits. */
TRG_FN trg_u32 hg_limit(TRG_GLOBAL const float *x, TRG_GLOBAL const float *y,
                        TRG_GLOBAL const trg_u32 *used, const struct hg_par par, trg_u32 first,
                        trg_u32 end, trg_u32 bin)
{
    trg_u32 n = 0u, i = first;

    for (; i < end && n < par.bin_room; i++)
        n += !used[i] && hg_bin_of(par, x[i], y[i]) == bin;
    return i;
}

/* One group an RoI: puts the hits that are free into bins, those of a bin in the order of the
 * input.  What a bin has no room for is left out, and counted. */
TRG_KERNEL6(hg_sort, const trg_u8, data, const trg_u32, used, trg_u32, starts, float, points,
            trg_u32, items, struct hg_summary, summaries, struct hg_par, par)
{
    TRG_SHARED trg_u32 count[HG_BINS], limit[HG_BINS];
    TRG_GLOBAL const trg_u32 *offsets = TRG_OFFSETS(data, par.in);
    TRG_GLOBAL const float *x = TRG_COLUMN(float, data, par.in, 0);
    TRG_GLOBAL const float *y = TRG_COLUMN(float, data, par.in, 1);
    TRG_GLOBAL const float *z = TRG_COLUMN(float, data, par.in, 2);
    TRG_GLOBAL const trg_u16 *layer = TRG_COLUMN(trg_u16, data, par.in, 3);
    TRG_GLOBAL trg_u32 *start = starts + TRG_GID * (par.bins_room + 1u);
    TRG_GLOBAL trg_u32 *raw = items + 2u * par.items_room;
    const trg_u32 first = offsets[TRG_GID], end = offsets[TRG_GID + 1u];

    for (trg_u32 b = TRG_LID; b < par.n_bins; b += TRG_LSIZE)
        count[b] = 0u;
    TRG_BARRIER();
    for (trg_u32 i = first + TRG_LID; i < end; i += TRG_LSIZE)
        if (!used[i])
            TRG_ATOMIC_ADD_LOCAL(&count[hg_bin_of(par, x[i], y[i])], 1u);
    TRG_BARRIER();
    for (trg_u32 b = TRG_LID; b < par.n_bins; b += TRG_LSIZE) {
        limit[b] = end;
        if (count[b] > par.bin_room) {
            limit[b] = hg_limit(x, y, used, par, first, end, b);
            TRG_ATOMIC_ADD_GLOBAL(&summaries[TRG_GID].wanted, count[b]);
            TRG_ATOMIC_ADD_GLOBAL(&summaries[TRG_GID].kept, par.bin_room);
            count[b] = par.bin_room;
        }
    }
    TRG_BARRIER();
    if (TRG_LID == 0u) {
        trg_u32 at = first;

        for (trg_u32 b = 0; b < par.n_bins; b++) {
            const trg_u32 n = count[b];

            start[b] = at;
            count[b] = at; /* from now on: where the next hit goes */
            at += n;
        }
        start[par.n_bins] = at;
    }
    TRG_BARRIER();
    for (trg_u32 i = first + TRG_LID; i < end; i += TRG_LSIZE) {
        const trg_u32 b = hg_bin_of(par, x[i], y[i]);

        if (!used[i] && i < limit[b])
            raw[TRG_ATOMIC_ADD_LOCAL(&count[b], 1u)] = i;
    }
    TRG_BARRIER();
    for (trg_u32 k = first + TRG_LID; k < start[par.n_bins]; k += TRG_LSIZE) {
        const trg_u32 i = raw[k];
        trg_u32 at = k;

        if (TRG_LSIZE > 1u) { /* one work-item alone has put them in order already */
            const trg_u32 b = hg_bin_of(par, x[i], y[i]);

            at = start[b];
            for (trg_u32 j = start[b]; j < start[b + 1u]; j++)
                at += raw[j] < i;
        }
        points[at] = x[i] - par.beam_x;
        points[par.items_room + at] = y[i] - par.beam_y;
        points[2u * par.items_room + at] = z[i];
        items[at] = i;
        items[par.items_room + at] = layer[i];
    }
}

/* ---------------------------------------------------------------- windows */

TRG_FN struct hg_view hg_look(TRG_GLOBAL const trg_u32 *starts, TRG_GLOBAL const float *points,
                              TRG_GLOBAL const trg_u32 *items, TRG_GLOBAL const float *trig,
                              const struct hg_par par, trg_u32 roi, trg_u32 w)
{
    TRG_GLOBAL const trg_u32 *start = starts + roi * (par.bins_room + 1u);
    struct hg_view v;

    v.x = points;
    v.y = points + par.items_room;
    v.z = points + 2u * par.items_room;
    v.item = items;
    v.layer = items + par.items_room;
    v.in = hg_window(start, par.n_bins, w, par.span);
    v.wide = hg_window(start, par.n_bins, w ? w - 1u : par.n_bins - 1u,
                       par.span + 2u < par.n_bins ? par.span + 2u : par.n_bins);
    v.cos_axis = trig[par.trig + w];
    v.sin_axis = trig[par.trig + par.n_bins + w];
    return v;
}

/* Where the directions of the cells are in the table: cosines, then sines. */
TRG_FN trg_u32 hg_angles(const struct hg_par par)
{
    return par.pass * 2u * HG_SIDE;
}

/* What a group does with its window, on a desk of its own. */
TRG_FN void hg_find_in(const struct hg_desk d, const struct hg_view v, const struct hg_par par,
                       TRG_GLOBAL const float *trig, TRG_GLOBAL float *plane,
                       TRG_GLOBAL trg_u32 *peaks, TRG_GLOBAL trg_u32 *n_peaks,
                       TRG_GLOBAL struct hg_summary *summary)
{
    struct hg_strip s;
    struct hg_hits h;
    trg_u32 all, kept;

    s.words = d.words;
    s.wide = par.method == HG_ANALYTIC;
    s.cosines = trig + hg_angles(par);
    s.sines = s.cosines + HG_SIDE;
    s.first = s.end = 0u;
    h.z = plane;
    h.u = plane + 2u * par.items_room;
    h.n = v.in.n;
    hg_project(d, v, par.grid, plane, plane + 2u * par.items_room);
    kept = hg_find_peaks(d, s, v, par, h, peaks, &all);
    if (d.lid == 0u) {
        *n_peaks = kept;
        TRG_ATOMIC_ADD_GLOBAL(&summary->n_peaks, all);
        TRG_ATOMIC_ADD_GLOBAL(&summary->digest, *d.digest * (par.pass + 1u));
        if (all > kept) {
            TRG_ATOMIC_ADD_GLOBAL(&summary->wanted, all);
            TRG_ATOMIC_ADD_GLOBAL(&summary->kept, kept);
        }
    }
}

/* Where a window's hits are in the plane: windows of two bins hold every hit twice. */
TRG_FN trg_u32 hg_plane(TRG_GLOBAL const trg_u32 *start, const struct hg_par par, trg_u32 w)
{
    return start[0] + start[w] + (par.span > 1u ? start[w + 1u] - start[1] : 0u);
}

/* One group a window: fills the cells and leaves the strongest peaks, in falling order.  A kernel
 * for each method, and for small grids, which need less local memory, so that more groups fit. */
#define HG_FIND(n, how)                                                         \
    TRG_SHARED trg_u32 words[n], list[HG_LIST], n_list, digest;                 \
    const trg_u32 roi = TRG_GID / par.n_bins, w = TRG_GID % par.n_bins;         \
    struct hg_par one = par;                                                    \
    struct hg_desk d;                                                           \
    one.method = how;                                                           \
    d.words = words;                                                            \
    d.n_words = n;                                                              \
    d.list = list;                                                              \
    d.n_list = &n_list;                                                         \
    d.digest = &digest;                                                         \
    d.lid = TRG_LID;                                                            \
    d.size = TRG_LSIZE;                                                         \
    hg_find_in(d, hg_look(starts, points, items, trig, par, roi, w), one, trig, \
               plane + hg_plane(starts + roi * (par.bins_room + 1u), par, w),   \
               peaks + TRG_GID * par.peaks_room, n_peaks + TRG_GID, summaries + roi)

TRG_KERNEL8(hg_find_brute, const trg_u32, starts, const float, points, const trg_u32, items,
            const float, trig, float, plane, trg_u32, peaks, trg_u32, n_peaks, struct hg_summary,
            summaries, struct hg_par, par)
{
    HG_FIND(HG_WORDS, HG_BRUTE);
}

TRG_KERNEL8(hg_find_paint, const trg_u32, starts, const float, points, const trg_u32, items,
            const float, trig, float, plane, trg_u32, peaks, trg_u32, n_peaks, struct hg_summary,
            summaries, struct hg_par, par)
{
    HG_FIND(HG_WORDS, HG_PAINT);
}

TRG_KERNEL8(hg_find_paint_few, const trg_u32, starts, const float, points, const trg_u32, items,
            const float, trig, float, plane, trg_u32, peaks, trg_u32, n_peaks, struct hg_summary,
            summaries, struct hg_par, par)
{
    HG_FIND(HG_WORDS_FEW, HG_PAINT);
}

TRG_KERNEL8(hg_find_analytic, const trg_u32, starts, const float, points, const trg_u32, items,
            const float, trig, float, plane, trg_u32, peaks, trg_u32, n_peaks, struct hg_summary,
            summaries, struct hg_par, par)
{
    HG_FIND(HG_WORDS, HG_ANALYTIC);
}

TRG_KERNEL8(hg_find_analytic_few, const trg_u32, starts, const float, points, const trg_u32, items,
            const float, trig, float, plane, trg_u32, peaks, trg_u32, n_peaks, struct hg_summary,
            summaries, struct hg_par, par)
{
    HG_FIND(HG_WORDS_FEW, HG_ANALYTIC);
}

TRG_KERNEL8(hg_find_hashed, const trg_u32, starts, const float, points, const trg_u32, items,
            const float, trig, float, plane, trg_u32, peaks, trg_u32, n_peaks, struct hg_summary,
            summaries, struct hg_par, par)
{
    HG_FIND(HG_WORDS, HG_HASHED);
}

TRG_KERNEL8(hg_find_hashed_few, const trg_u32, starts, const float, points, const trg_u32, items,
            const float, trig, float, plane, trg_u32, peaks, trg_u32, n_peaks, struct hg_summary,
            summaries, struct hg_par, par)
{
    HG_FIND(HG_WORDS_FEW, HG_HASHED);
}

/* ---------------------------------------------------------------- peaks to candidates */

/* The first line of a peak: the best pair of its band, or the pair that the hashed cell names. */
TRG_FN trg_u32 hg_first_line(const struct hg_view v, const struct hg_par par,
                             TRG_GLOBAL const float *trig, trg_u32 place, struct hg_line *ret_line)
{
    TRG_GLOBAL const float *angles = trig + hg_angles(par);
    struct hg_list list;
    struct hg_peak p;

    if (par.method == HG_HASHED) {
        const trg_u32 i = hg_at(v.in, place / HG_SIDE), j = hg_at(v.in, place % HG_SIDE);

        *ret_line = hg_through(v.x[i], v.y[i], v.z[i], v.x[j], v.y[j], v.z[j]);
        return 1u;
    }
    p.c = angles[place / HG_SIDE];
    p.s = angles[HG_SIDE + place / HG_SIDE];
    p.r = par.grid.r_min + ((float)(place % HG_SIDE) + 0.5f) * par.grid.dr;
    list = hg_band(v, par, p);
    return list.n >= par.min_hits && hg_best_pair(v, par, &list, ret_line);
}

/* The last window whose peaks begin at or before peak q of all of an RoI. */
TRG_FN trg_u32 hg_window_of(TRG_LOCAL const trg_u32 *first, trg_u32 n_bins, trg_u32 q)
{
    trg_u32 low = 0u, high = n_bins;

    while (high - low > 1u) {
        const trg_u32 middle = (low + high) / 2u;

        if (first[middle] <= q)
            low = middle;
        else
            high = middle;
    }
    return low;
}

/* `parts` groups an RoI share its peaks; each peak is one work-item's. */
TRG_KERNEL7(hg_refine, const trg_u32, starts, const float, points, const trg_u32, items,
            const float, trig, const trg_u32, peaks, const trg_u32, n_peaks, struct hg_cand, cands,
            struct hg_par, par)
{
    TRG_SHARED trg_u32 first[HG_BINS + 1u];
    const trg_u32 roi = TRG_GID / par.parts, part = TRG_GID % par.parts;

    if (TRG_LID == 0u) {
        trg_u32 sum = 0u;

        for (trg_u32 w = 0; w < par.n_bins; w++) {
            first[w] = sum;
            sum += n_peaks[roi * par.n_bins + w];
        }
        first[par.n_bins] = sum;
    }
    TRG_BARRIER();
    for (trg_u32 q = part * TRG_LSIZE + TRG_LID; q < first[par.n_bins];
         q += par.parts * TRG_LSIZE) {
        const trg_u32 w = hg_window_of(first, par.n_bins, q), p = q - first[w];
        const trg_u32 at = (roi * par.n_bins + w) * par.peaks_room + p;
        const struct hg_view v = hg_look(starts, points, items, trig, par, roi, w);
        struct hg_list list;
        struct hg_line line = {0.0f, 0.0f, 0.0f, 0.0f, 0.0f};

        cands[at].n = 0u;
        if (hg_first_line(v, par, trig, peaks[at], &line) && hg_collect(v, par, line, &list))
            hg_store(v, &list, w * par.peaks_room + p, &cands[at]);
    }
}

/* ---------------------------------------------------------------- candidates to tracks */

/* One group an RoI: in each round a candidate that is the best of all on each of its hits becomes a
 * track; the others lose the hits that are gone, and those that lost too much end. */
TRG_KERNEL7(hg_compete, const trg_u8, data, const trg_u32, n_peaks, trg_u32, used, trg_u32, best,
            struct hg_cand, cands, struct hg_cand, tracks, struct hg_summary, summaries,
            struct hg_par, par)
{
    TRG_SHARED trg_u16 list[HG_CANDS];
    TRG_SHARED trg_u32 n_list, alive, n_tracks, n_on_tracks;
    TRG_GLOBAL const trg_u32 *offsets = TRG_OFFSETS(data, par.in);
    TRG_GLOBAL struct hg_cand *c = cands + TRG_GID * par.n_bins * par.peaks_room;
    TRG_GLOBAL struct hg_cand *out = tracks + offsets[TRG_GID] / 3u + TRG_GID;

    if (TRG_LID == 0u) {
        n_tracks = summaries[TRG_GID].n_tracks;
        n_list = n_on_tracks = 0u;
    }
    TRG_BARRIER();
    for (trg_u32 i = TRG_LID; i < par.n_bins * par.peaks_room; i += TRG_LSIZE)
        if (i % par.peaks_room < n_peaks[TRG_GID * par.n_bins + i / par.peaks_room] && c[i].n)
            list[TRG_ATOMIC_ADD_LOCAL(&n_list, 1u)] = (trg_u16)i;
    for (;;) {
        TRG_BARRIER();
        if (TRG_LID == 0u)
            alive = 0u;
        for (trg_u32 i = TRG_LID; i < n_list; i += TRG_LSIZE)
            hg_claim(&c[list[i]], best);
        TRG_BARRIER();
        for (trg_u32 i = TRG_LID; i < n_list; i += TRG_LSIZE) {
            TRG_GLOBAL struct hg_cand *one = &c[list[i]];

            if (hg_wins(one, best)) {
                TRG_ATOMIC_ADD_LOCAL(&n_on_tracks, one->n);
                out[TRG_ATOMIC_ADD_LOCAL(&n_tracks, 1u)] = *one;
                hg_take(one, used);
            } else if (one->n) {
                alive = 1u;
            }
        }
        TRG_BARRIER();
        if (!alive)
            break;
        for (trg_u32 i = TRG_LID; i < n_list; i += TRG_LSIZE)
            hg_unclaim(&c[list[i]], best);
        TRG_BARRIER();
        for (trg_u32 i = TRG_LID; i < n_list; i += TRG_LSIZE)
            hg_give_up_hits(&c[list[i]], used, par);
    }
    if (TRG_LID == 0u) {
        summaries[TRG_GID].n_tracks = n_tracks;
        summaries[TRG_GID].n_on_tracks += n_on_tracks;
        summaries[TRG_GID].n_cands += n_list;
    }
}

/* ---------------------------------------------------------------- the product */

/* One group: where the tracks and the doublets of each RoI begin in the output. */
TRG_KERNEL3(hg_offsets, const struct hg_summary, summaries, trg_u8, tracks, trg_u8, doublets,
            struct hg_par, par)
{
    TRG_SHARED trg_u32 part[HG_GROUP_MAX], part2[HG_GROUP_MAX];
    TRG_GLOBAL trg_u32 *first = (TRG_GLOBAL trg_u32 *)(tracks + par.tracks.offsets);
    TRG_GLOBAL trg_u32 *first2 = (TRG_GLOBAL trg_u32 *)(doublets + par.doublets.offsets);
    const trg_u32 chunk = (par.n_rois + TRG_LSIZE - 1u) / TRG_LSIZE;
    const trg_u32 from = TRG_LID * chunk < par.n_rois ? TRG_LID * chunk : par.n_rois;
    const trg_u32 to = from + chunk < par.n_rois ? from + chunk : par.n_rois;
    trg_u32 sum = 0u, sum2 = 0u;

    for (trg_u32 i = from; i < to; i++) {
        sum += summaries[i].n_tracks;
        sum2 += summaries[i].n_on_tracks - summaries[i].n_tracks;
    }
    part[TRG_LID] = sum;
    part2[TRG_LID] = sum2;
    TRG_BARRIER();
    sum = sum2 = 0u;
    for (trg_u32 k = 0; k != TRG_LID; k++) {
        sum += part[k];
        sum2 += part2[k];
    }
    for (trg_u32 i = from; i < to; i++) {
        first[i] = sum;
        first2[i] = sum2;
        sum += summaries[i].n_tracks;
        sum2 += summaries[i].n_on_tracks - summaries[i].n_tracks;
    }
    if (TRG_LID + 1u == TRG_LSIZE) {
        first[par.n_rois] = sum;
        first2[par.n_rois] = sum2;
    }
}

TRG_FN void hg_put(TRG_GLOBAL trg_u8 *out, const struct trg_span span, trg_u32 c, trg_u32 i,
                   trg_u32 bits)
{
    ((TRG_GLOBAL trg_u32 *)(out + span.column[c]))[i] = bits;
}

/* Writes a track: a word in each column. */
TRG_FN void hg_put_track(TRG_GLOBAL trg_u8 *out, const struct trg_span span, trg_u32 i,
                         const struct hg_state s, trg_u32 n_hits)
{
    hg_put(out, span, 0u, i, trg_as_u32(s.l.x));
    hg_put(out, span, 1u, i, trg_as_u32(s.l.y));
    hg_put(out, span, 2u, i, trg_as_u32(s.l.z));
    hg_put(out, span, 3u, i, trg_as_u32(s.l.tx));
    hg_put(out, span, 4u, i, trg_as_u32(s.l.ty));
    hg_put(out, span, 5u, i, trg_as_u32(s.xx));
    hg_put(out, span, 6u, i, trg_as_u32(s.tt));
    hg_put(out, span, 7u, i, trg_as_u32(s.xt));
    hg_put(out, span, 8u, i, trg_as_u32(s.chi2));
    hg_put(out, span, 9u, i, 0u); /* no field, no momentum */
    hg_put(out, span, 10u, i, n_hits);
}

/* One group an RoI: fits its tracks and writes them in the order of their first hits, and the hits
 * of each as doublets. */
TRG_KERNEL5(hg_write, const trg_u8, data, const struct hg_cand, found, const struct hg_summary,
            summaries, trg_u8, tracks, trg_u8, doublets, struct hg_par, par)
{
    TRG_GLOBAL const trg_u32 *offsets = TRG_OFFSETS(data, par.in);
    TRG_GLOBAL const struct hg_cand *mine = found + offsets[TRG_GID] / 3u + TRG_GID;
    TRG_GLOBAL const float *x = TRG_COLUMN(float, data, par.in, 0);
    TRG_GLOBAL const float *y = TRG_COLUMN(float, data, par.in, 1);
    TRG_GLOBAL const float *z = TRG_COLUMN(float, data, par.in, 2);
    const trg_u32 n = summaries[TRG_GID].n_tracks;

    for (trg_u32 i = TRG_LID; i < n; i += TRG_LSIZE) {
        trg_u32 at = ((TRG_GLOBAL const trg_u32 *)(tracks + par.tracks.offsets))[TRG_GID];
        trg_u32 at2 = ((TRG_GLOBAL const trg_u32 *)(doublets + par.doublets.offsets))[TRG_GID];

        for (trg_u32 k = 0; k < n; k++) {
            const trg_u32 before = mine[k].hit[0] < mine[i].hit[0];

            at += before;
            at2 += before ? mine[k].n - 1u : 0u;
        }
        hg_put_track(tracks, par.tracks, at, hg_filter(x, y, z, par, &mine[i]), mine[i].n);
        for (trg_u32 k = 0; k + 1u < mine[i].n; k++) {
            hg_put(doublets, par.doublets, 0u, at2 + k, mine[i].hit[k] - offsets[TRG_GID]);
            hg_put(doublets, par.doublets, 1u, at2 + k, mine[i].hit[k + 1u] - offsets[TRG_GID]);
        }
    }
}
