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
    TRG_LOCAL trg_u32 *raw;  /* [HG_RAW]: work that is shared out, see hg_search_hashed */
    TRG_LOCAL trg_u32 *n_list, *n_raw, *digest;
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

/* The same with the table of hashed cells, where a line of n hits has n - 2 votes or more: places
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

/* Leaves the strongest peaks of a window in `out`, in falling order, and returns how many;
 * *ret_all: how many there were.  Where a list cannot hold them all the threshold rises until it
 * can. */
TRG_FN trg_u32 hg_find_peaks(const struct hg_desk d, const struct hg_strip s,
                             const struct hg_view v, const struct hg_par par,
                             const struct hg_hits h, TRG_GLOBAL trg_u32 *out, trg_u32 *ret_all)
{
    trg_u32 n = 0u, all = 0u;

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
    for (trg_u32 i = d.lid; i < n; i += d.size) {
        trg_u32 rank = 0u;

        for (trg_u32 j = 0; j < n; j++)
            rank += d.list[j] > d.list[i] || (d.list[j] == d.list[i] && j < i);
        out[rank] = hg_place(d.list[i]);
    }
    *ret_all = all;
    return n;
}
#endif
