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
    const trg_u32 first = TRG_BEGIN(data, par.in, TRG_GID), end = TRG_END(data, par.in, TRG_GID);

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
    TRG_GLOBAL const float *x = TRG_HITS_X(data, par.in);
    TRG_GLOBAL const float *y = TRG_HITS_Y(data, par.in);
    TRG_GLOBAL const float *z = TRG_HITS_Z(data, par.in);
    TRG_GLOBAL const trg_u16 *layer = TRG_HITS_LAYER(data, par.in);
    TRG_GLOBAL trg_u32 *start = starts + TRG_GID * (par.bins_room + 1u);
    TRG_GLOBAL trg_u32 *bins = scratch; /* of each item; HG_BINS: it is not free */
    /* layer << 32 | item, bin after bin */
    TRG_GLOBAL trg_u64 *keys = (TRG_GLOBAL trg_u64 *)(scratch + par.items_room);
    const trg_u32 first = TRG_BEGIN(data, par.in, TRG_GID), end = TRG_END(data, par.in, TRG_GID);

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

/* Each group takes windows in turn: fills the table of cells and leaves the strongest peaks, in
 * falling order.  One kernel for windows of few hits, which need less local memory, so that more
 * groups fit, and one for the others. */
TRG_KERNEL7(hg_find_hashed, (const trg_u32, starts), (const float, points), (const trg_u32, items),
            (const float, trig), (trg_u32, peaks), (trg_u32, n_peaks),
            (struct hg_summary, summaries), (struct hg_par, par))
{
    HG_DESK(d, HG_WORDS);
    const struct hg_sorted s = hg_sorted_in(starts, points, items, trig);
    trg_u32 at = hg_next(starts, par, TRG_GID, TRG_GROUPS, HG_HASHED_FEW + 1u, 0xffffffffu);

    while (at < par.n_rois * par.n_bins) {
        hg_find_hashed_peaks(d, hg_look(s, par, at / par.n_bins, at % par.n_bins), par,
                             hg_found_in(peaks, n_peaks, summaries, par, at));
        at = hg_next(starts, par, at + TRG_GROUPS, TRG_GROUPS, HG_HASHED_FEW + 1u, 0xffffffffu);
    }
}

TRG_KERNEL7(hg_find_hashed_few, (const trg_u32, starts), (const float, points),
            (const trg_u32, items), (const float, trig), (trg_u32, peaks), (trg_u32, n_peaks),
            (struct hg_summary, summaries), (struct hg_par, par))
{
    HG_DESK(d, HG_WORDS_HASHED);
    const struct hg_sorted s = hg_sorted_in(starts, points, items, trig);
    trg_u32 at = hg_next(starts, par, TRG_GID, TRG_GROUPS, 0u, HG_HASHED_FEW);

    while (at < par.n_rois * par.n_bins) {
        hg_find_hashed_peaks(d, hg_look(s, par, at / par.n_bins, at % par.n_bins), par,
                             hg_found_in(peaks, n_peaks, summaries, par, at));
        at = hg_next(starts, par, at + TRG_GROUPS, TRG_GROUPS, 0u, HG_HASHED_FEW);
    }
}

/* ---------------------------------------------------------------- peaks to candidates */

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

/* `parts` groups an RoI share its peaks; each peak is one work-item's. */
TRG_KERNEL7(hg_refine, (const trg_u32, starts), (const float, points), (const trg_u32, items),
            (const float, trig), (const trg_u32, peaks), (const trg_u32, shares), (trg_u32, cands),
            (struct hg_par, par))
{
    const trg_u32 roi = TRG_GID / par.parts, part = TRG_GID % par.parts;
    TRG_GLOBAL const trg_u32 *share = shares + roi * (par.bins_room + 1u);
    const struct hg_sorted s = hg_sorted_in(starts, points, items, trig);
    const struct hg_cands mine = hg_cands_of(cands, par, roi);

    for (trg_u32 q = part * TRG_LSIZE + TRG_LID; q < share[par.n_bins];
         q += par.parts * TRG_LSIZE) {
        const trg_u32 w = hg_window_of(share, par.n_bins, q);
        const trg_u32 at = (roi * par.n_bins + w) * HG_LIST + q - share[w];
        const struct hg_view v = hg_look(s, par, roi, w);
        struct hg_list list;

        hg_set(mine, q, HG_NOW, 0u);
        if (hg_collect(v, par, hg_line_of(v, peaks[at]), &list))
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
    TRG_SHARED trg_u32 n_list, alive, n_tracks, n_on_tracks;
    const struct hg_cands c = hg_cands_of(cands, par, TRG_GID);
    const struct hg_input in = hg_input_of(data, par.in, TRG_GID);
    TRG_GLOBAL struct hg_cand *out = tracks + in.first / 3u + TRG_GID;
    const trg_u32 n = shares[TRG_GID * (par.bins_room + 1u) + par.n_bins];

    if (TRG_LID == 0u) {
        n_tracks = summaries[TRG_GID].n_tracks;
        n_list = n_on_tracks = 0u;
    }
    TRG_BARRIER();
    for (trg_u32 i = TRG_LID; i < n; i += TRG_LSIZE)
        if (hg_get(c, i, HG_NOW) && !hg_is_chance(c, i, in, par, hg_get(c, i, HG_NOW)))
            hg_set(c, TRG_ATOMIC_ADD_LOCAL(&n_list, 1u), HG_ALIVE, i);
    for (;;) {
        TRG_BARRIER();
        if (TRG_LID == 0u)
            alive = 0u;
        for (trg_u32 i = TRG_LID; i < n_list; i += TRG_LSIZE)
            hg_claim(c, hg_nth(c, i), best);
        TRG_BARRIER();
        for (trg_u32 i = TRG_LID; i < n_list; i += TRG_LSIZE) {
            const trg_u32 n_hits = hg_get(c, hg_nth(c, i), HG_NOW);

            if (hg_wins(c, hg_nth(c, i), best)) {
                TRG_ATOMIC_ADD_LOCAL(&n_on_tracks, n_hits);
                hg_take(c, hg_nth(c, i), used, &out[TRG_ATOMIC_ADD_LOCAL(&n_tracks, 1u)]);
            } else if (n_hits) {
                alive = 1u;
            }
        }
        TRG_BARRIER();
        if (!alive)
            break;
        for (trg_u32 i = TRG_LID; i < n_list; i += TRG_LSIZE)
            hg_unclaim(c, hg_nth(c, i), best);
        TRG_BARRIER();
        for (trg_u32 i = TRG_LID; i < n_list; i += TRG_LSIZE)
            hg_give_up_hits(c, hg_nth(c, i), used, in, par);
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
    const struct hg_input in = hg_input_of(data, par.in, TRG_GID);
    TRG_GLOBAL const struct hg_cand *mine = found + in.first / 3u + TRG_GID;
    const trg_u32 begin = TRG_BEGIN(tracks, par.tracks, TRG_GID);
    const trg_u32 begin2 = TRG_BEGIN(doublets, par.doublets, TRG_GID);
    const trg_u32 n = summaries[TRG_GID].n_tracks;
    struct hg_products to;

    to.tracks = tracks;
    to.doublets = doublets;
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
            hg_put_one(to, in, par, &mine[i], at, at2);
    }
}
