/* SPDX-License-Identifier: Apache-2.0 */
/* The methods that are kept for study: lines of the (z, u) plane are peaks among cells of (theta,
 * r), filled by every cell for every hit (brute), along each hit's curve (paint), or by the line of
 * every pair (analytic).  hg_find_... and hg_refine_cells stand in for hg_find_hashed and hg_refine
 * of ../hough.kernel.c. */
#include "cells.h"
#include "band.h"

/* Where the directions of the cells are in the table: cosines, then sines. */
TRG_FN trg_u32 hg_angles(const struct hg_par par)
{
    return par.pass * 2u * HG_SIDE;
}

/* Where a window's hits are in the plane: windows of two bins hold every hit twice. */
TRG_FN trg_u32 hg_plane(TRG_GLOBAL const trg_u32 *start, const struct hg_par par, trg_u32 w)
{
    return start[0] + start[w] + (par.span > 1u ? start[w + 1u] - start[1] : 0u);
}

/* What a group does with window `at` of the batch, on a desk of its own. */
TRG_FN void hg_find_in(const struct hg_desk d, const struct hg_sorted sorted,
                       const struct hg_par par, TRG_GLOBAL float *plane, const struct hg_found f,
                       trg_u32 at)
{
    const trg_u32 roi = at / par.n_bins, w = at % par.n_bins;
    TRG_GLOBAL float *z = plane + hg_plane(sorted.starts + roi * (par.bins_room + 1u), par, w);
    const struct hg_view v = hg_look(sorted, par, roi, w);
    struct hg_strip s;
    struct hg_hits h;

    s.words = d.words;
    s.wide = par.method == HG_ANALYTIC || par.grid.gauss > 0.0f;
    s.cosines = sorted.trig + hg_angles(par);
    s.sines = s.cosines + HG_SIDE;
    s.first = s.end = 0u;
    h.z = z;
    h.u = z + 2u * par.items_room;
    h.n = v.in.n;
    hg_project(d, v, par.grid, z, z + 2u * par.items_room);
    hg_find_cell_peaks(d, s, par, h, f);
}

/* Each group takes windows in turn: fills the cells and leaves the strongest peaks, in falling
 * order.  A kernel for each method, and for small grids, which need less local memory, so that more
 * groups fit. */
#define HG_FIND(room, how)                                                     \
    HG_DESK(d, room);                                                          \
    const struct hg_sorted sorted = hg_sorted_in(starts, points, items, trig); \
    struct hg_par one = par;                                                   \
    one.method = how;                                                          \
    for (trg_u32 at = TRG_GID; at < par.n_rois * par.n_bins; at += TRG_GROUPS) \
        hg_find_in(d, sorted, one, plane, hg_found_in(peaks, n_peaks, summaries, par, at), at);

TRG_KERNEL8(hg_find_brute, (const trg_u32, starts), (const float, points), (const trg_u32, items),
            (const float, trig), (float, plane), (trg_u32, peaks), (trg_u32, n_peaks),
            (struct hg_summary, summaries), (struct hg_par, par))
{
    HG_FIND(HG_WORDS, HG_BRUTE);
}

TRG_KERNEL8(hg_find_paint, (const trg_u32, starts), (const float, points), (const trg_u32, items),
            (const float, trig), (float, plane), (trg_u32, peaks), (trg_u32, n_peaks),
            (struct hg_summary, summaries), (struct hg_par, par))
{
    HG_FIND(HG_WORDS, HG_PAINT);
}

TRG_KERNEL8(hg_find_paint_few, (const trg_u32, starts), (const float, points),
            (const trg_u32, items), (const float, trig), (float, plane), (trg_u32, peaks),
            (trg_u32, n_peaks), (struct hg_summary, summaries), (struct hg_par, par))
{
    HG_FIND(HG_WORDS_FEW, HG_PAINT);
}

TRG_KERNEL8(hg_find_analytic, (const trg_u32, starts), (const float, points),
            (const trg_u32, items), (const float, trig), (float, plane), (trg_u32, peaks),
            (trg_u32, n_peaks), (struct hg_summary, summaries), (struct hg_par, par))
{
    HG_FIND(HG_WORDS, HG_ANALYTIC);
}

TRG_KERNEL8(hg_find_analytic_few, (const trg_u32, starts), (const float, points),
            (const trg_u32, items), (const float, trig), (float, plane), (trg_u32, peaks),
            (trg_u32, n_peaks), (struct hg_summary, summaries), (struct hg_par, par))
{
    HG_FIND(HG_WORDS_FEW, HG_ANALYTIC);
}

/* The first line of a peak: that of the best pair of its band. */
TRG_FN trg_u32 hg_first_line(const struct hg_view v, const struct hg_par par,
                             TRG_GLOBAL const float *trig, trg_u32 place, struct hg_line *ret_line)
{
    TRG_GLOBAL const float *angles = trig + hg_angles(par);
    struct hg_list list;
    struct hg_peak p;

    p.c = angles[place / HG_SIDE];
    p.s = angles[HG_SIDE + place / HG_SIDE];
    p.r = par.grid.r_min + ((float)(place % HG_SIDE) + 0.5f) * par.grid.dr;
    list = hg_band(v, par, p);
    return list.n >= par.min_hits && hg_best_pair(v, par, &list, ret_line);
}

/* `parts` groups an RoI share its peaks; each peak is one work-item's. */
TRG_KERNEL7(hg_refine_cells, (const trg_u32, starts), (const float, points), (const trg_u32, items),
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
        struct hg_line line = {0.0f, 0.0f, 0.0f, 0.0f, 0.0f};

        hg_set(mine, q, HG_NOW, 0u);
        if (hg_first_line(v, par, trig, peaks[at], &line) && hg_collect(v, par, line, &list))
            hg_store(v, &list, mine, q, par);
    }
}
