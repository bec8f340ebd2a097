/* SPDX-License-Identifier: Apache-2.0 */
/* peaks.h - the highest groups of three bins in a histogram that a work-group has in shared memory,
 * two with charges, one behind the other. */
#ifndef ZFINDER_PEAKS_H
#define ZFINDER_PEAKS_H
#include "search.h"
#include "trigd/common/group.h"

/* The CPU counts no places in double precision but those of the peaks. */
#if defined(ZF_DOUBLE)
#define ZF_DIGEST_PLACE(place) 0u
#else
#define ZF_DIGEST_PLACE(place) (place)
#endif

struct zf_sums {         /* what the group shares while it looks for peaks */
    trg_u32 best, order; /* of the peak that is sought: its content, and which of equals it is */
    trg_u32 more;        /* whether a peak was left when the list was full */
    trg_u32 total;       /* content of all bins */
    trg_u32 low, high;   /* content of all groups of three bins, in two halves */
    trg_u32 digest;
};

/* Copies what a group found in RoI `roi`, a summary and a list of peaks, to the host's memory where
 * that is wanted: all work-items at once, so that the bus carries few pieces.  A barrier is before
 * it. */
TRG_FN void zf_hand_over(TRG_GLOBAL trg_u32 *to, TRG_GLOBAL const trg_u32 *from, trg_u32 roi,
                         const struct zf_par *par)
{
    const trg_u32 words = par->in_place ? sizeof(struct zf_peak) / 4u : 0u;
    const trg_u32 list = par->peaks_room * words;
    const trg_u32 summary = roi * words, peaks = par->n_rois * words + roi * list;

    for (trg_u32 i = TRG_LID; i < words; i += TRG_LSIZE)
        to[summary + i] = from[summary + i];
    for (trg_u32 i = TRG_LID; i < list; i += TRG_LSIZE)
        to[peaks + i] = from[peaks + i];
}

/* For one work-item. */
TRG_FN void zf_clear_sums(TRG_LOCAL struct zf_sums *s)
{
    s->more = s->total = s->low = s->high = s->digest = 0u;
}

/* Which of two equal peaks comes first: the more central one if that is wished, then the lower
 * charge, slice and bin. */
TRG_FN trg_u32 zf_order(trg_u32 prefer_central, trg_u32 n_bins, trg_u32 charge, trg_u32 bin)
{
    trg_u32 middle = n_bins / 2u, away = bin > middle ? bin - middle : middle - bin;

    return (prefer_central ? away << 14 : 0u) | charge << 13 | bin;
}

/* Adds up the histograms, and a checksum of every bin, which does not depend on the order.  Empty
 * bins add nothing. */
TRG_FN void zf_sum_up(const struct zf_histogram h, const struct zf_roi roi, trg_u32 charges,
                      trg_u32 slice, TRG_LOCAL struct zf_sums *s)
{
    trg_u32 total = 0u, low = 0u, high = 0u, digest = 0u;

    for (trg_u32 c = 0; c < charges; c++)
        for (trg_u32 b = TRG_LID; b < roi.n_bins; b += TRG_LSIZE) {
            const trg_u32 n = h.count[c * roi.n_bins + b];
            /* a bin is in three groups, at the edges in fewer */
            const trg_u32 in =
                3u - (b < 2u ? 2u - b : 0u) - (b + 2u >= roi.n_bins ? b + 3u - roi.n_bins : 0u);

            total += n;
            low += (n * in) & 0xffffu;
            high += (n * in) >> 16;
            digest += zf_digest(slice, c, b, n, ZF_DIGEST_PLACE(h.place[c * roi.n_bins + b]));
        }
    if (total) {
        TRG_ATOMIC_ADD_LOCAL(&s->total, total);
        TRG_ATOMIC_ADD_LOCAL(&s->low, low);
        TRG_ATOMIC_ADD_LOCAL(&s->high, high);
        TRG_ATOMIC_ADD_LOCAL(&s->digest, digest);
    }
}

/* The content of three bins. */
TRG_FN trg_u32 zf_three(TRG_LOCAL const trg_u32 *count, trg_u32 at)
{
    return count[at - 1u] + count[at] + count[at + 1u];
}

/* The most in three bins that this work-item looks at. */
TRG_FN trg_u32 zf_highest(TRG_LOCAL const trg_u32 *count, trg_u32 n_bins, trg_u32 charges)
{
    trg_u32 top = 0u;

    for (trg_u32 c = 0; c < charges; c++)
        for (trg_u32 b = 1u + TRG_LID; b + 1u < n_bins; b += TRG_LSIZE) {
            const trg_u32 sum = zf_three(count, c * n_bins + b);

            top = sum > top ? sum : top;
        }
    return top;
}

/* The first of those that hold `best`. */
TRG_FN trg_u32 zf_first_of(TRG_LOCAL const trg_u32 *count, trg_u32 n_bins, trg_u32 charges,
                           trg_u32 prefer_central, trg_u32 best)
{
    trg_u32 first = 0xffffffffu;

    for (trg_u32 c = 0; c < charges; c++)
        for (trg_u32 b = 1u + TRG_LID; b + 1u < n_bins; b += TRG_LSIZE)
            if (zf_three(count, c * n_bins + b) == best) {
                const trg_u32 order = zf_order(prefer_central, n_bins, c, b);

                first = order < first ? order : first;
                if (!prefer_central)
                    break; /* those that follow come later */
            }
    return first;
}

/* Takes a peak out of the histograms. */
TRG_FN struct zf_peak zf_take_out(const struct zf_histogram h, trg_u32 n_bins, trg_u32 slice,
                                  trg_u32 order, trg_u32 total)
{
    const trg_u32 at = (order >> 13 & 1u) * n_bins + (order & 8191u);
    struct zf_peak p;

    p.total = total;
    p.charge = order >> 13 & 1u;
    p.slice = slice;
    p.bin = order & 8191u;
    p.places = 0u;
    for (trg_u32 j = 0; j < 3u; j++) {
        p.count[j] = h.count[at + j - 1u];
        p.places += h.place[at + j - 1u];
        h.count[at + j - 1u] = 0u;
        h.place[at + j - 1u] = 0u;
    }
    return p;
}

/* Finds the highest three bins, takes them out, again and again: what remains is in the histogram.
 * Every work-item of the group goes through all of it, from a barrier on.  Unused places of the
 * list, which has peaks_room, get no entries; `more` tells whether a peak was left when it was
 * full. */
TRG_GROUP_FN void zf_find_peaks(const struct zf_histogram h, const struct zf_roi roi,
                                const struct zf_par *par, trg_u32 slice,
                                TRG_GLOBAL struct zf_peak *list, TRG_LOCAL struct zf_sums *s)
{
    for (trg_u32 k = 0; k < par->peaks_room + par->look_for_more; k++) {
        trg_u32 top;

        if (TRG_LID == 0u) {
            s->best = 0u;
            s->order = 0xffffffffu;
        }
        TRG_BARRIER();
        top = zf_highest(h.count, roi.n_bins, par->charges);
        TRG_ATOMIC_MAX_LOCAL(&s->best, top);
        TRG_BARRIER();
        if (top && top == s->best)
            TRG_ATOMIC_MIN_LOCAL(&s->order, zf_first_of(h.count, roi.n_bins, par->charges,
                                                        par->prefer_central, top));
        TRG_BARRIER();
        if (TRG_LID == 0u) { /* one choice of three: PoCL 5 compiles no deeper ones here */
            if (k == par->peaks_room)
                s->more = s->best >= par->min_total;
            else if (s->best < par->min_total)
                list[k].total = 0u;
            else
                list[k] = zf_take_out(h, roi.n_bins, slice, s->order, s->best);
        }
        TRG_BARRIER();
    }
}
#endif
