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
 * hg_clear -> (hg_sort -> hg_find -> hg_share -> hg_refine -> hg_compete) a pass -> hg_offsets ->
 * hg_write
 */
#include "find.h"
#include "windows.h"
#include "write.h"

/* ---------------------------------------------------------------- bins of phi */

/* One group an RoI. */
TRG_KERNEL4(hg_clear, (const trg_u8, data), (trg_u32, used), (struct hg_summary, summaries),
            (trg_u32, best), (struct hg_par, par))
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

/* One group an RoI: puts the hits that are free into bins, those of a bin along layers, those of a
 * layer in the order of the input.  What a bin has no room for is left out, and counted. */
TRG_KERNEL7(hg_sort, (const trg_u8, data), (const trg_u32, used), (trg_u32, starts),
            (float, points), (trg_u32, items), (trg_u32, scratch), (struct hg_summary, summaries),
            (struct hg_par, par))
{
    TRG_SHARED trg_u32 count[HG_BINS], limit[HG_BINS];
    TRG_GLOBAL const trg_u32 *offsets = TRG_OFFSETS(data, par.in);
    TRG_GLOBAL const float *x = TRG_COLUMN(float, data, par.in, 0);
    TRG_GLOBAL const float *y = TRG_COLUMN(float, data, par.in, 1);
    TRG_GLOBAL const float *z = TRG_COLUMN(float, data, par.in, 2);
    TRG_GLOBAL const trg_u16 *layer = TRG_COLUMN(trg_u16, data, par.in, 3);
    TRG_GLOBAL trg_u32 *start = starts + TRG_GID * (par.bins_room + 1u);
    TRG_GLOBAL trg_u32 *bins = scratch; /* of each item; HG_BINS: it is not free */
    /* layer << 32 | item, bin after bin */
    TRG_GLOBAL trg_u64 *keys = (TRG_GLOBAL trg_u64 *)(scratch + par.items_room);
    const trg_u32 first = offsets[TRG_GID], end = offsets[TRG_GID + 1u];

    for (trg_u32 b = TRG_LID; b < par.n_bins; b += TRG_LSIZE)
        count[b] = 0u;
    TRG_BARRIER();
    for (trg_u32 i = first + TRG_LID; i < end; i += TRG_LSIZE) {
        bins[i] = used[i] ? HG_BINS : hg_bin_of(par, x[i], y[i]);
        if (bins[i] < HG_BINS)
            TRG_ATOMIC_ADD_LOCAL(&count[bins[i]], 1u);
    }
    TRG_BARRIER();
    for (trg_u32 b = TRG_LID; b < par.n_bins; b += TRG_LSIZE) {
        limit[b] = end;
        if (count[b] > par.bin_room) {
            limit[b] = hg_limit(bins, par.bin_room, first, end, b);
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
    for (trg_u32 i = first + TRG_LID; i < end; i += TRG_LSIZE)
        if (bins[i] < HG_BINS && i < limit[bins[i]])
            keys[TRG_ATOMIC_ADD_LOCAL(&count[bins[i]], 1u)] = (trg_u64)layer[i] << 32 | i;
    TRG_BARRIER();
    for (trg_u32 k = first + TRG_LID; k < start[par.n_bins]; k += TRG_LSIZE) {
        const trg_u64 mine = keys[k];
        const trg_u32 i = (trg_u32)mine, from = start[bins[i]], to = start[bins[i] + 1u];
        trg_u32 at = from;

        for (trg_u32 j = from; j < to; j++)
            at += keys[j] < mine;
        points[at] = x[i] - par.beam_x;
        points[par.items_room + at] = y[i] - par.beam_y;
        points[2u * par.items_room + at] = z[i];
        items[at] = i;
        items[par.items_room + at] = (trg_u32)(mine >> 32);
    }
}

/* ---------------------------------------------------------------- windows */

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
    if (par.method != HG_HASHED)
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

/* Each group takes windows in turn, those that its kernel is for: fills the cells and leaves the
 * strongest peaks, in falling order.  A kernel for each method, and for small grids or few hits,
 * which need less local memory, so that more groups fit. */
#define HG_FIND(room, how, least, most)                                                \
    TRG_SHARED trg_u32 words[room], list[HG_LIST], raw[HG_RAW], n_list, n_raw, digest; \
    struct hg_par one = par;                                                           \
    struct hg_desk d;                                                                  \
    one.method = how;                                                                  \
    d.words = words;                                                                   \
    d.n_words = room;                                                                  \
    d.list = list;                                                                     \
    d.raw = raw;                                                                       \
    d.n_list = &n_list;                                                                \
    d.n_raw = &n_raw;                                                                  \
    d.digest = &digest;                                                                \
    d.lid = TRG_LID;                                                                   \
    d.size = TRG_LSIZE;                                                                \
    for (trg_u32 at = hg_next(starts, par, TRG_GID, TRG_GROUPS, least, most);          \
         at < par.n_rois * par.n_bins;                                                 \
         at = hg_next(starts, par, at + TRG_GROUPS, TRG_GROUPS, least, most)) {        \
        const trg_u32 roi = at / par.n_bins, w = at % par.n_bins;                      \
                                                                                       \
        hg_find_in(d, hg_look(starts, points, items, trig, par, roi, w), one, trig,    \
                   plane + hg_plane(starts + roi * (par.bins_room + 1u), par, w),      \
                   peaks + at * HG_LIST, n_peaks + at, summaries + roi);               \
    }

TRG_KERNEL8(hg_find_brute, (const trg_u32, starts), (const float, points), (const trg_u32, items),
            (const float, trig), (float, plane), (trg_u32, peaks), (trg_u32, n_peaks),
            (struct hg_summary, summaries), (struct hg_par, par))
{
    HG_FIND(HG_WORDS, HG_BRUTE, 0u, 0xffffffffu);
}

TRG_KERNEL8(hg_find_paint, (const trg_u32, starts), (const float, points), (const trg_u32, items),
            (const float, trig), (float, plane), (trg_u32, peaks), (trg_u32, n_peaks),
            (struct hg_summary, summaries), (struct hg_par, par))
{
    HG_FIND(HG_WORDS, HG_PAINT, 0u, 0xffffffffu);
}

TRG_KERNEL8(hg_find_paint_few, (const trg_u32, starts), (const float, points),
            (const trg_u32, items), (const float, trig), (float, plane), (trg_u32, peaks),
            (trg_u32, n_peaks), (struct hg_summary, summaries), (struct hg_par, par))
{
    HG_FIND(HG_WORDS_FEW, HG_PAINT, 0u, 0xffffffffu);
}

TRG_KERNEL8(hg_find_analytic, (const trg_u32, starts), (const float, points),
            (const trg_u32, items), (const float, trig), (float, plane), (trg_u32, peaks),
            (trg_u32, n_peaks), (struct hg_summary, summaries), (struct hg_par, par))
{
    HG_FIND(HG_WORDS, HG_ANALYTIC, 0u, 0xffffffffu);
}

TRG_KERNEL8(hg_find_analytic_few, (const trg_u32, starts), (const float, points),
            (const trg_u32, items), (const float, trig), (float, plane), (trg_u32, peaks),
            (trg_u32, n_peaks), (struct hg_summary, summaries), (struct hg_par, par))
{
    HG_FIND(HG_WORDS_FEW, HG_ANALYTIC, 0u, 0xffffffffu);
}

TRG_KERNEL8(hg_find_hashed, (const trg_u32, starts), (const float, points), (const trg_u32, items),
            (const float, trig), (float, plane), (trg_u32, peaks), (trg_u32, n_peaks),
            (struct hg_summary, summaries), (struct hg_par, par))
{
    HG_FIND(HG_WORDS, HG_HASHED, HG_HASHED_FEW + 1u, 0xffffffffu);
}

TRG_KERNEL8(hg_find_hashed_few, (const trg_u32, starts), (const float, points),
            (const trg_u32, items), (const float, trig), (float, plane), (trg_u32, peaks),
            (trg_u32, n_peaks), (struct hg_summary, summaries), (struct hg_par, par))
{
    HG_FIND(HG_WORDS_HASHED, HG_HASHED, 0u, HG_HASHED_FEW);
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

/* How many peaks the first windows of an RoI keep when each may keep `most`, and the first `extra`
 * that have more one more. */
TRG_FN trg_u32 hg_kept(TRG_LOCAL const trg_u32 *n, trg_u32 windows, trg_u32 most, trg_u32 extra)
{
    trg_u32 sum = 0u, more = 0u;

    for (trg_u32 w = 0; w < windows; w++) {
        sum += n[w] < most ? n[w] : most;
        more += n[w] > most;
    }
    return sum + (more < extra ? more : extra);
}

/* One group an RoI: where each window's peaks begin among those that are refined.  Where there are
 * more than there is room for, no window keeps more than lets all fit. */
TRG_KERNEL3(hg_share, (const trg_u32, n_peaks), (trg_u32, shares), (struct hg_summary, summaries),
            (struct hg_par, par))
{
    TRG_SHARED trg_u32 n[HG_BINS];
    TRG_GLOBAL trg_u32 *share = shares + TRG_GID * (par.bins_room + 1u);
    trg_u32 all, most = HG_LIST, extra = 0u;

    for (trg_u32 w = TRG_LID; w < par.n_bins; w += TRG_LSIZE)
        n[w] = n_peaks[TRG_GID * par.n_bins + w];
    TRG_BARRIER();
    all = hg_kept(n, par.n_bins, most, 0u);
    if (all > par.cands_room) {
        while (hg_kept(n, par.n_bins, most, 0u) > par.cands_room)
            most--;
        extra = par.cands_room - hg_kept(n, par.n_bins, most, 0u);
        if (TRG_LID == 0u) {
            summaries[TRG_GID].wanted += all;
            summaries[TRG_GID].kept += par.cands_room;
        }
    }
    for (trg_u32 w = TRG_LID; w <= par.n_bins; w += TRG_LSIZE)
        share[w] = hg_kept(n, w, most, extra);
}

/* The last window whose peaks begin at or before peak q of all of an RoI. */
TRG_FN trg_u32 hg_window_of(TRG_GLOBAL const trg_u32 *share, trg_u32 n_bins, trg_u32 q)
{
    trg_u32 low = 0u, high = n_bins;

    while (high - low > 1u) {
        const trg_u32 middle = (low + high) / 2u;

        if (share[middle] <= q)
            low = middle;
        else
            high = middle;
    }
    return low;
}

TRG_FN struct hg_cands hg_cands_of(TRG_GLOBAL trg_u32 *cands, const struct hg_par par, trg_u32 roi)
{
    struct hg_cands c;

    c.at = cands + roi * par.cands_room * HG_CAND_WORDS;
    c.step = par.cand_step;
    c.stride = par.cand_stride;
    return c;
}

/* `parts` groups an RoI share its peaks; each peak is one work-item's. */
TRG_KERNEL7(hg_refine, (const trg_u32, starts), (const float, points), (const trg_u32, items),
            (const float, trig), (const trg_u32, peaks), (const trg_u32, shares), (trg_u32, cands),
            (struct hg_par, par))
{
    const trg_u32 roi = TRG_GID / par.parts, part = TRG_GID % par.parts;
    TRG_GLOBAL const trg_u32 *share = shares + roi * (par.bins_room + 1u);
    const struct hg_cands mine = hg_cands_of(cands, par, roi);

    for (trg_u32 q = part * TRG_LSIZE + TRG_LID; q < share[par.n_bins];
         q += par.parts * TRG_LSIZE) {
        const trg_u32 w = hg_window_of(share, par.n_bins, q);
        const trg_u32 at = (roi * par.n_bins + w) * HG_LIST + q - share[w];
        const struct hg_view v = hg_look(starts, points, items, trig, par, roi, w);
        struct hg_list list;
        struct hg_line line = {0.0f, 0.0f, 0.0f, 0.0f, 0.0f};

        hg_set(mine, q, HG_NOW, 0u);
        if (hg_first_line(v, par, trig, peaks[at], &line) && hg_collect(v, par, line, &list))
            hg_store(v, &list, mine, q, par);
    }
}

/* ---------------------------------------------------------------- candidates to tracks */

/* One group an RoI: in each round a candidate that is the best of all on each of its hits becomes a
 * track; the others lose the hits that are gone, and those that lost too much end. */
TRG_KERNEL7(hg_compete, (const trg_u8, data), (const trg_u32, shares), (trg_u32, used),
            (trg_u32, best), (trg_u32, cands), (struct hg_cand, tracks),
            (struct hg_summary, summaries), (struct hg_par, par))
{
    TRG_SHARED trg_u16 list[HG_CANDS];
    TRG_SHARED trg_u32 n_list, alive, n_tracks, n_on_tracks;
    TRG_GLOBAL const trg_u32 *offsets = TRG_OFFSETS(data, par.in);
    const struct hg_cands c = hg_cands_of(cands, par, TRG_GID);
    struct hg_input in;
    TRG_GLOBAL struct hg_cand *out = tracks + offsets[TRG_GID] / 3u + TRG_GID;
    const trg_u32 n = shares[TRG_GID * (par.bins_room + 1u) + par.n_bins];

    in.x = TRG_COLUMN(float, data, par.in, 0);
    in.y = TRG_COLUMN(float, data, par.in, 1);
    in.z = TRG_COLUMN(float, data, par.in, 2);
    in.layer = TRG_COLUMN(trg_u16, data, par.in, 3);
    if (TRG_LID == 0u) {
        n_tracks = summaries[TRG_GID].n_tracks;
        n_list = n_on_tracks = 0u;
    }
    TRG_BARRIER();
    for (trg_u32 i = TRG_LID; i < n; i += TRG_LSIZE)
        if (hg_get(c, i, HG_NOW))
            list[TRG_ATOMIC_ADD_LOCAL(&n_list, 1u)] = (trg_u16)i;
    for (;;) {
        TRG_BARRIER();
        if (TRG_LID == 0u)
            alive = 0u;
        for (trg_u32 i = TRG_LID; i < n_list; i += TRG_LSIZE)
            hg_claim(c, list[i], best);
        TRG_BARRIER();
        for (trg_u32 i = TRG_LID; i < n_list; i += TRG_LSIZE) {
            const trg_u32 n_hits = hg_get(c, list[i], HG_NOW);

            if (hg_wins(c, list[i], best)) {
                TRG_ATOMIC_ADD_LOCAL(&n_on_tracks, n_hits);
                hg_take(c, list[i], used, &out[TRG_ATOMIC_ADD_LOCAL(&n_tracks, 1u)]);
            } else if (n_hits) {
                alive = 1u;
            }
        }
        TRG_BARRIER();
        if (!alive)
            break;
        for (trg_u32 i = TRG_LID; i < n_list; i += TRG_LSIZE)
            hg_unclaim(c, list[i], best);
        TRG_BARRIER();
        for (trg_u32 i = TRG_LID; i < n_list; i += TRG_LSIZE)
            hg_give_up_hits(c, list[i], used, in, par);
    }
    if (TRG_LID == 0u) {
        summaries[TRG_GID].n_tracks = n_tracks;
        summaries[TRG_GID].n_on_tracks += n_on_tracks;
        summaries[TRG_GID].n_cands += n_list;
    }
}

/* ---------------------------------------------------------------- the product */

/* One group: where the tracks and the doublets of each RoI begin in the output. */
TRG_KERNEL3(hg_offsets, (const struct hg_summary, summaries), (trg_u8, tracks), (trg_u8, doublets),
            (struct hg_par, par))
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

/* One group an RoI: fits its tracks and writes them in the order of their first hits, and the hits
 * of each as doublets.  Tracks are put in order by comparing each with all others, many at a time.
 */
TRG_KERNEL5(hg_write, (const trg_u8, data), (const struct hg_cand, found),
            (const struct hg_summary, summaries), (trg_u8, tracks), (trg_u8, doublets),
            (struct hg_par, par))
{
    TRG_SHARED trg_u32 first[HG_GROUP_MAX], length[HG_GROUP_MAX];
    TRG_GLOBAL const trg_u32 *offsets = TRG_OFFSETS(data, par.in);
    TRG_GLOBAL const struct hg_cand *mine = found + offsets[TRG_GID] / 3u + TRG_GID;
    const trg_u32 begin = ((TRG_GLOBAL const trg_u32 *)(tracks + par.tracks.offsets))[TRG_GID];
    const trg_u32 begin2 = ((TRG_GLOBAL const trg_u32 *)(doublets + par.doublets.offsets))[TRG_GID];
    const trg_u32 n = summaries[TRG_GID].n_tracks;

    for (trg_u32 base = 0; base < n; base += TRG_LSIZE) {
        const trg_u32 i = base + TRG_LID, own = i < n ? mine[i].hit[0] : 0u;
        trg_u32 at = begin, at2 = begin2;

        for (trg_u32 from = 0; from < n; from += TRG_LSIZE) {
            TRG_BARRIER();
            if (from + TRG_LID < n) {
                first[TRG_LID] = mine[from + TRG_LID].hit[0];
                length[TRG_LID] = mine[from + TRG_LID].n - 1u;
            }
            TRG_BARRIER();
            for (trg_u32 k = 0; k < TRG_LSIZE && from + k < n; k++) {
                at += first[k] < own;
                at2 += first[k] < own ? length[k] : 0u;
            }
        }
        if (i < n)
            hg_put_one(data, par, tracks, doublets, &mine[i], TRG_GID, at, at2);
    }
}
