/* SPDX-License-Identifier: Apache-2.0 */
/* windows.h - bins of phi about the beam line, and the windows that are made of them. */
#ifndef HOUGH_WINDOWS_H
#define HOUGH_WINDOWS_H
#include "refine.h"

TRG_FN trg_u32 hg_bin_of(const struct hg_par par, float x, float y)
{
    const float turn = hg_atan2(y - par.beam_y, x - par.beam_x) * 0.15915494f + 0.5f;
    const float b = turn * (float)par.n_bins - par.phase;
    const trg_u32 bin = b < 0.0f ? par.n_bins - 1u : (trg_u32)b;

    return bin < par.n_bins ? bin : par.n_bins - 1u;
}

/* Where a bin is full: the item below which there are at most `room` of its hits. */
TRG_FN trg_u32 hg_limit(TRG_GLOBAL const trg_u32 *bins, trg_u32 room, trg_u32 first, trg_u32 end,
                        trg_u32 bin)
{
    trg_u32 n = 0u, i = first;

    for (; i < end && n < room; i++)
        n += bins[i] == bin;
    return i;
}

struct hg_sorted { /* what hg_sort leaves of a batch */
    TRG_GLOBAL const trg_u32 *starts;
    TRG_GLOBAL const float *points;
    TRG_GLOBAL const trg_u32 *items;
    TRG_GLOBAL const float *trig; /* the table of all passes */
};

TRG_FN struct hg_sorted hg_sorted_in(TRG_GLOBAL const trg_u32 *starts,
                                     TRG_GLOBAL const float *points,
                                     TRG_GLOBAL const trg_u32 *items, TRG_GLOBAL const float *trig)
{
    struct hg_sorted s;

    s.starts = starts;
    s.points = points;
    s.items = items;
    s.trig = trig;
    return s;
}

/* Window w of an RoI. */
TRG_FN struct hg_view hg_look(const struct hg_sorted s, const struct hg_par par, trg_u32 roi,
                              trg_u32 w)
{
    TRG_GLOBAL const trg_u32 *start = s.starts + roi * (par.bins_room + 1u);
    struct hg_view v;

    v.x = s.points;
    v.y = s.points + par.items_room;
    v.z = s.points + 2u * par.items_room;
    v.item = s.items;
    v.layer = s.items + par.items_room;
    v.in = hg_window(start, par.n_bins, w, par.span);
    v.n_first_bin = start[w + 1u] - start[w];
    v.wide = hg_window(start, par.n_bins, w ? w - 1u : par.n_bins - 1u,
                       par.span + 2u < par.n_bins ? par.span + 2u : par.n_bins);
    v.cos_axis = s.trig[par.trig + w];
    v.sin_axis = s.trig[par.trig + par.n_bins + w];
    return v;
}

/* The first window from number `at` of the batch on, in steps of `step`, that has `least` hits to
 * `most`. */
TRG_FN trg_u32 hg_next(TRG_GLOBAL const trg_u32 *starts, const struct hg_par par, trg_u32 at,
                       trg_u32 step, trg_u32 least, trg_u32 most)
{
    for (; at < par.n_rois * par.n_bins; at += step) {
        TRG_GLOBAL const trg_u32 *start = starts + at / par.n_bins * (par.bins_room + 1u);
        const struct hg_range in = hg_window(start, par.n_bins, at % par.n_bins, par.span);

        if (in.n >= least && in.n <= most)
            break;
    }
    return at;
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
#endif
