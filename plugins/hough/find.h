/* SPDX-License-Identifier: Apache-2.0 */
/* find.h - the peaks of one window.  A work-group shares a `desk` of local memory; all of its
 * work-items go through all functions together, since they meet at barriers. */
#ifndef HOUGH_FIND_H
#define HOUGH_FIND_H
#include "hashed.h"
#include "vote.h"

struct hg_desk {
    TRG_LOCAL trg_u32 *words; /* the cells */
    trg_u32 n_words;
    TRG_LOCAL trg_u32 *list; /* [HG_LIST]: peaks, see hg_note */
    TRG_LOCAL trg_u32 *n_list, *digest;
    trg_u32 lid, size; /* place of the work-item in its group, and the group's size */
};

/* A peak as one number, the stronger the larger: its count, then the lower place. */
TRG_FN void hg_note(const struct hg_desk d, trg_u32 count, trg_u32 place)
{
    const trg_u32 to = TRG_ATOMIC_ADD_LOCAL(d.n_list, 1u);

    if (to < HG_LIST)
        d.list[to] = (count < 16383u ? count : 16383u) << 18 | (262143u - place);
}

TRG_FN trg_u32 hg_place(trg_u32 noted)
{
    return 262143u - (noted & 262143u);
}

/* Writes the hits of the window in its projection to `z` and `u`. */
TRG_FN void hg_project(const struct hg_desk d, const struct hg_view v, const struct hg_grid g,
                       TRG_GLOBAL float *z, TRG_GLOBAL float *u)
{
    for (trg_u32 i = d.lid; i < v.in.n; i += d.size) {
        const trg_u32 at = hg_at(v.in, i);

        z[i] = (v.z[at] - g.z0) * g.inv_z_scale;
        u[i] = v.x[at] * v.cos_axis + v.y[at] * v.sin_axis;
    }
}

/* Fills the cells of a strip. */
TRG_FN void hg_fill(const struct hg_desk d, const struct hg_strip s, const struct hg_par par,
                    const struct hg_hits h)
{
    for (trg_u32 i = d.lid; i < (s.end - s.first) * par.grid.stride >> !s.wide; i += d.size)
        d.words[i] = 0u;
    TRG_BARRIER();
    if (par.method == HG_ANALYTIC) {
        for (trg_u32 p = d.lid; p < h.n * (h.n - 1u) / 2u; p += d.size) {
            const trg_u32 i = p % h.n, j = i + 1u + p / h.n; /* each pair once, around the circle */

            hg_pair(s, par.grid, h, i, j < h.n ? j : j - h.n);
        }
    } else if (par.method == HG_BRUTE) {
        for (trg_u32 t = s.first + d.lid; t < s.end; t += d.size)
            hg_brute(s, par.grid, h, t);
    } else {
        for (trg_u32 t = s.first + d.lid; t < s.end; t += d.size)
            hg_paint(s, par.grid, h, t);
    }
    TRG_BARRIER();
}

/* Adds the peaks among the columns [first, end) of a filled strip to the list. */
TRG_FN void hg_scan(const struct hg_desk d, const struct hg_strip s, const struct hg_par par,
                    trg_u32 first, trg_u32 end, trg_u32 threshold)
{
    const struct hg_grid g = par.grid;
    trg_u32 digest = 0u;

    for (trg_u32 i = d.lid; i < (end - first) * g.stride; i += d.size) {
        const trg_u32 t = first - s.first + i / g.stride, k = i % g.stride;
        const trg_u32 n = hg_count(s, t * g.stride + k);

        digest += ((s.first + t) * HG_SIDE + k + 1u) * 2654435761u * n;
        if (n >= threshold && hg_is_peak(s, g, t, k, par.distance))
            hg_note(d, n, (s.first + t) * HG_SIDE + k);
    }
    if (digest)
        TRG_ATOMIC_ADD_LOCAL(d.digest, digest);
    TRG_BARRIER();
}

/* All peaks of at least `threshold`, strip by strip.  A strip is filled with as many more columns
 * on both sides as peaks are compared across. */
TRG_FN void hg_search(const struct hg_desk d, struct hg_strip s, const struct hg_par par,
                      const struct hg_hits h, trg_u32 threshold)
{
    const trg_u32 n = h.n < par.min_hits ? 0u : par.grid.n_theta;

    for (trg_u32 first = 0u; first < n; first += par.grid.strip) {
        const trg_u32 end = first + par.grid.strip < n ? first + par.grid.strip : n;

        s.first = first < par.distance ? 0u : first - par.distance;
        s.end = end + par.distance < n ? end + par.distance : n;
        hg_fill(d, s, par, h);
        hg_scan(d, s, par, first, end, threshold);
    }
}

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

/* The same with the table of hashed cells. */
TRG_FN void hg_search_hashed(const struct hg_desk d, const struct hg_view v,
                             const struct hg_par par, trg_u32 threshold)
{
    const trg_u32 n = v.in.n;
    const struct hg_table t = hg_table_for(d, n);
    trg_u32 digest = 0u;

    for (trg_u32 i = d.lid; i < t.places; i += d.size) {
        t.counts[i] = 0u;
        t.low[i] = 0xffffffffu;
        t.high[i] = 0u;
    }
    TRG_BARRIER();
    for (trg_u32 p = d.lid; p < n * (n - 1u) / 2u; p += d.size) {
        const trg_u32 i = p % n, k = i + 1u + p / n, j = k < n ? k : k - n;

        hg_vote_hashed(t, v, par, i < j ? i : j, i < j ? j : i);
    }
    TRG_BARRIER();
    for (trg_u32 i = d.lid; i < t.places; i += d.size) {
        const trg_u32 low = t.low[i], high = t.high[i];

        if (!t.counts[i])
            continue;
        digest += (i + 1u) * 2654435761u * (t.counts[i] * 40503u + low + 3u * high);
        if (t.counts[i] < threshold)
            continue;
        if (!hg_told_elsewhere(t, v, par, i, hg_pair_of(low)))
            hg_note(d, t.counts[i], hg_pair_of(low));
        if (high >> 18 != low >> 18 && !hg_told_elsewhere(t, v, par, i, hg_pair_of(high)))
            hg_note(d, t.counts[i], hg_pair_of(high));
    }
    TRG_ATOMIC_ADD_LOCAL(d.digest, digest);
    TRG_BARRIER();
}

/* Leaves the strongest peaks of a window in `out`, in falling order, and returns how many;
 * *ret_all: how many there were.  Where a list cannot hold them all the threshold rises until it
 * can. */
TRG_FN trg_u32 hg_find_peaks(const struct hg_desk d, const struct hg_strip s,
                             const struct hg_view v, const struct hg_par par,
                             const struct hg_hits h, TRG_GLOBAL trg_u32 *out, trg_u32 *ret_all)
{
    trg_u32 n = 0u, kept, all = 0u;

    for (trg_u32 threshold = par.threshold; threshold == par.threshold || n > HG_LIST;
         threshold++) {
        TRG_BARRIER();
        if (d.lid == 0u) {
            *d.n_list = 0u;
            *d.digest = 0u;
        }
        TRG_BARRIER();
        if (par.method == HG_HASHED)
            hg_search_hashed(d, v, par, threshold);
        else
            hg_search(d, s, par, h, threshold);
        n = *d.n_list;
        all = threshold == par.threshold ? n : all;
    }
    kept = n < par.peaks_room ? n : par.peaks_room;
    for (trg_u32 i = d.lid; i < n; i += d.size) {
        trg_u32 rank = 0u;

        for (trg_u32 j = 0; j < n; j++)
            rank += d.list[j] > d.list[i] || (d.list[j] == d.list[i] && j < i);
        if (rank < kept)
            out[rank] = hg_place(d.list[i]);
    }
    *ret_all = all;
    return kept;
}
#endif
