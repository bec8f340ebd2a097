/* SPDX-License-Identifier: Apache-2.0 */
/* cells.h - the peaks of one window among the cells of (theta, r): strip by strip, filled in one of
 * three ways (vote.h). */
#ifndef HOUGH_CELLS_H
#define HOUGH_CELLS_H
#include "../desk.h"
#include "vote.h"

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

/* The strongest peaks of a window.  Where a list cannot hold them all the threshold rises until it
 * can. */
TRG_FN void hg_find_cell_peaks(const struct hg_desk d, const struct hg_strip s,
                               const struct hg_par par, const struct hg_hits h,
                               const struct hg_found f)
{
    trg_u32 n = 0u, all = 0u;

    for (trg_u32 threshold = par.threshold; threshold == par.threshold || n > HG_LIST;
         threshold += par.threshold_step) {
        hg_begin_list(d);
        hg_search(d, s, par, h, threshold);
        n = *d.n_list;
        all = threshold == par.threshold ? n : all;
    }
    hg_hand_out(d, f, par.pass, n, all);
}
#endif
