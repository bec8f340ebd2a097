/* SPDX-License-Identifier: Apache-2.0 */
/* find.h - the peaks of one window by voting in four parameters (hashed.h). */
#ifndef HOUGH_FIND_H
#define HOUGH_FIND_H
#include "desk.h"
#include "hashed.h"

/* A table for n hits that leaves most places empty. */
TRG_FN struct hg_table hg_table_for(const struct hg_desk d, trg_u32 n)
{
    struct hg_table t;

    t.places = 128u;
    while (t.places < HG_PLACES_PER_HIT * n && 6u * t.places <= d.n_words)
        t.places *= 2u;
    t.counts = d.words;
    t.low = t.counts + t.places;
    t.high = t.low + t.places;
    return t;
}

TRG_FN void hg_empty_raw(const struct hg_desk d)
{
    TRG_BARRIER();
    if (d.lid == 0u)
        *d.n_raw = 0u;
    TRG_BARRIER();
}

/* Lists the pairs of hit i and each `step`th of those behind it in the window that may vote.  One
 * that the list has no room for votes at once. */
TRG_FN void hg_list_pairs(const struct hg_desk d, const struct hg_table t, const struct hg_view v,
                          const struct hg_par par, trg_u32 i, trg_u32 skip, trg_u32 step)
{
    const trg_u32 layer = v.layer[hg_at(v.in, i)], last = layer + par.max_gap;
    trg_u32 from = i + 1u, end = i < v.n_first_bin ? v.n_first_bin : v.in.n;

    for (;;) {
        for (trg_u32 j = from + skip; j < end && v.layer[hg_at(v.in, j)] <= last; j += step)
            if (hg_may_vote(v, par, i, j)) {
                const trg_u32 to = TRG_ATOMIC_ADD_LOCAL(d.n_raw, 1u);

                if (to < HG_RAW)
                    d.raw[to] = i * HG_SIDE + j;
                else
                    hg_vote_hashed(t, v, par, i * HG_SIDE + j);
            }
        if (end == v.in.n)
            break;
        end = v.in.n; /* and those of the second bin */
        from = hg_from_layer(v, v.n_first_bin, end, layer > par.max_gap ? layer - par.max_gap : 0u);
    }
}

/* Fills the table of hashed cells.  Where there are fewer hits than work-items several share what a
 * hit has to do.  Few pairs may vote: they are listed first, so that all work-items vote side by
 * side. */
TRG_FN void hg_fill_hashed(const struct hg_desk d, const struct hg_table t, const struct hg_view v,
                           const struct hg_par par)
{
    const trg_u32 n = v.in.n, step = n && n < d.size ? d.size / n : 1u;
    trg_u32 n_raw;

    for (trg_u32 i = d.lid; i < t.places; i += d.size) {
        t.counts[i] = 0u;
        t.low[i] = 0xffffffffu;
        t.high[i] = 0u;
    }
    hg_empty_raw(d);
    for (trg_u32 p = d.lid; p < n * step; p += d.size)
        hg_list_pairs(d, t, v, par, p % n, p / n, step);
    TRG_BARRIER();
    n_raw = *d.n_raw < HG_RAW ? *d.n_raw : HG_RAW;
    for (trg_u32 k = d.lid; k < n_raw; k += d.size)
        hg_vote_hashed(t, v, par, d.raw[k]);
    TRG_BARRIER();
}

/* All peaks of at least `threshold`: a line of n hits has n - 2 votes or more.  Places
 * with enough are listed as place << 1, and place << 1 | 1 where they keep two pairs. */
TRG_FN void hg_search_hashed(const struct hg_desk d, const struct hg_view v,
                             const struct hg_par par, trg_u32 threshold)
{
    const struct hg_table t = hg_table_for(d, v.in.n);
    trg_u32 digest = 0u;

    hg_fill_hashed(d, t, v, par);
    for (trg_u32 first = 0u; first < t.places; first += HG_RAW / 2u) {
        const trg_u32 end = first + HG_RAW / 2u < t.places ? first + HG_RAW / 2u : t.places;

        hg_empty_raw(d);
        for (trg_u32 i = first + d.lid; i < end; i += d.size) {
            const trg_u32 low = t.low[i], high = t.high[i];

            if (!t.counts[i])
                continue;
            digest += (i + 1u) * 2654435761u * (t.counts[i] * 40503u + low + 3u * high);
            if (t.counts[i] + 2u < threshold)
                continue;
            d.raw[TRG_ATOMIC_ADD_LOCAL(d.n_raw, 1u)] = i << 1;
            if (high >> 18 != low >> 18)
                d.raw[TRG_ATOMIC_ADD_LOCAL(d.n_raw, 1u)] = i << 1 | 1u;
        }
        TRG_BARRIER();
        for (trg_u32 k = d.lid; k < *d.n_raw; k += d.size) {
            const trg_u32 at = d.raw[k] >> 1;
            const trg_u32 pair = hg_pair_of(d.raw[k] & 1u ? t.high[at] : t.low[at]);

            if (!hg_told_elsewhere(t, v, par, at, pair))
                hg_note(d, t.counts[at], pair);
        }
    }
    if (digest)
        TRG_ATOMIC_ADD_LOCAL(d.digest, digest);
    TRG_BARRIER();
}

/* The strongest peaks of a window.  Where a list cannot hold them all the threshold rises until it
 * can. */
TRG_FN void hg_find_hashed_peaks(const struct hg_desk d, const struct hg_view v,
                                 const struct hg_par par, const struct hg_found f)
{
    trg_u32 n = 0u, all = 0u;

    for (trg_u32 threshold = par.threshold; threshold == par.threshold || n > HG_LIST;
         threshold++) {
        hg_begin_list(d);
        hg_search_hashed(d, v, par, threshold);
        n = *d.n_list;
        all = threshold == par.threshold ? n : all;
    }
    hg_hand_out(d, f, par.pass, n, all);
}
#endif
