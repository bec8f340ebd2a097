/* SPDX-License-Identifier: Apache-2.0 */
/* The z-finder: spacepoints are sorted by phi slice; pairs (or triplets) of points in
 * neighbouring slices are extrapolated to the beam line and counted in bins of z; the vertex is
 * where three adjacent bins hold most.
 *
 * Bins are chosen by float32 arithmetic without contraction, and all sums are of integers (entries,
 * and places within a bin in units of 1/4096), so that every device counts the same, in any order.
 *
 * zf_sort -> zf_pairs -> zf_peaks        one histogram (two with charges) for an RoI; near.kernel.c
 *                                        has quicker ones in the place of zf_pairs
 * zf_sort -> zf_slices -> zf_merge       one for each phi slice
 */
#include "trigd/common/group.h"

#include "peaks.h"
#include "search.h"
#include "trigd/kernel.h"
#include "zfinder.h"

/* ---------------------------------------------------------------- sorting by slice */

#if !defined(ZF_DOUBLE)
/* The slice of a point, or n_slices when it is outside the RoI or its layer is not used. */
TRG_FN trg_u32 zf_slice_of(const struct zf_roi roi, float phi, trg_u32 layer, trg_u32 layers_used)
{
    float d = phi - roi.phi_min;
    trg_u32 s;

    if (d < 0.0f)
        d = d + 6.2831855f;
    if (!(d < roi.phi_width) || layer >= ZF_LAYERS || !(layers_used >> layer & 1u))
        return roi.n_slices;
    s = (trg_u32)(d * roi.inv_slice);
    return s < roi.n_slices ? s : roi.n_slices - 1u; /* rounding at the upper edge */
}
#endif

/* Points that a work-item of zf_sort has under way: GPUs wait long for memory. */
#if defined(__OPENCL_VERSION__) || defined(__CUDACC__)
#define ZF_AT_ONCE 4u
#else
#define ZF_AT_ONCE 1u
#endif

TRG_FN trg_u32 zf_inside(trg_u32 i, trg_u32 end, trg_u32 otherwise)
{
    return i < end ? i : otherwise;
}

/* Where the sorted points of an RoI begin, whose first point is `first`: behind each RoI is a gap
 * with points that are near to nothing. */
TRG_FN trg_u32 zf_first(trg_u32 first, trg_u32 roi)
{
    return first + roi * ZF_GAP;
}

/* What the pairs or triplets of the points of one slice cost, of which there are n between those of
 * two others: points times points near by, in units; for triplets times those near by once more.
 * Collisions stay far below max_work; points at one place cost their number to the second or third
 * power. */
TRG_FN trg_u32 zf_work(const struct zf_par *par, trg_u32 before, trg_u32 n, trg_u32 after)
{
    const trg_u32 near = before + n + after;
    trg_u32 units;

    if (near > 8192u)
        return ZF_WORK_MOST;
    units = near * par->reach / (3u * ZF_WORK_UNIT);
    if (units > 512u)
        return ZF_WORK_MOST;
    units = n * (par->triplet_mode ? units * units : units);
    return units < ZF_WORK_MOST ? units : ZF_WORK_MOST;
}

/* That of all slices; a work-item adds up those from `from` to `to`.  Few points in each are no
 * unit anywhere: then it is the quick look at the fullest. */
TRG_GROUP_FN trg_u32 zf_all_work(TRG_LOCAL trg_u32 *scratch, const struct zf_par *par,
                                 TRG_LOCAL const trg_u32 *count, trg_u32 from, trg_u32 to,
                                 trg_u32 n_slices)
{
    trg_u32 work = 0u, most = 0u, all;

    for (trg_u32 s = from ? from - 1u : 0u; s < n_slices && s <= to; s++)
        most = most > count[s] ? most : count[s];
    for (trg_u32 s = from; most * par->reach >= ZF_WORK_UNIT && s < to; s++) {
        work +=
            zf_work(par, s ? count[s - 1u] : 0u, count[s], s + 1u < n_slices ? count[s + 1u] : 0u);
        work = work < ZF_WORK_MOST ? work : ZF_WORK_MOST;
    }
    trg_group_scan(scratch, work, &all);
    return all;
}

TRG_FN void zf_begin_summary(TRG_GLOBAL struct zf_summary *s, trg_u32 layers, trg_u32 n_used,
                             trg_u32 is_full)
{
    s->layers = layers;
    s->n_used = n_used;
    s->n_entries = s->n_triples = s->sum_low = s->sum_high = s->digest = 0u;
    s->flags = is_full ? ZF_FULL : 0u;
}

/* All slices are empty. */
TRG_FN void zf_leave_out(TRG_GLOBAL trg_u32 *start, trg_u32 n_slices, trg_u32 first)
{
    for (trg_u32 s = TRG_LID; s < n_slices; s += TRG_LSIZE)
        start[s] = first;
}

/* Points that are near to nothing, behind those of an RoI. */
TRG_FN void zf_put_gap(TRG_GLOBAL float *points, TRG_GLOBAL trg_u32 *tags, trg_u32 room, trg_u32 at)
{
    const struct zf_point nothing = {0.0f, 0.0f, 0.0f, ZF_NOWHERE};

    for (trg_u32 k = TRG_LID; k < ZF_GAP; k += TRG_LSIZE)
        zf_store(points, tags, room, at + k, nothing);
}

struct zf_columns { /* points as they come */
    TRG_GLOBAL const float *phi, *rho, *z;
    TRG_GLOBAL const trg_u8 *layer;
};

/* Counts this work-item's points of each slice; returns their layers, a bit each. */
TRG_FN trg_u32 zf_count_points(const struct zf_columns c, trg_u32 first, trg_u32 end,
                               const struct zf_roi roi, trg_u32 layers_used,
                               TRG_LOCAL trg_u32 *count)
{
    trg_u32 layers = 0u;

    for (trg_u32 at = first + TRG_LID; at < end; at += ZF_AT_ONCE * TRG_LSIZE) {
        float p[ZF_AT_ONCE];
        trg_u32 l[ZF_AT_ONCE];

        for (trg_u32 k = 0; k < ZF_AT_ONCE; k++) {
            const trg_u32 i = zf_inside(at + k * TRG_LSIZE, end, at);

            p[k] = c.phi[i];
            l[k] = c.layer[i];
        }
        for (trg_u32 k = 0; k < ZF_AT_ONCE && at + k * TRG_LSIZE < end; k++) {
            trg_u32 s = zf_slice_of(roi, p[k], l[k], layers_used);

            if (s < roi.n_slices) {
                TRG_ATOMIC_ADD_LOCAL(&count[s], 1u);
                layers |= 1u << l[k];
            }
        }
    }
    return layers;
}

/* Puts this work-item's points to their slices, `next` says where; returns whether one is wild. */
TRG_FN trg_u32 zf_put_points(const struct zf_columns c, trg_u32 first, trg_u32 end,
                             const struct zf_roi roi, const struct zf_par par,
                             TRG_LOCAL trg_u32 *next, TRG_GLOBAL float *points,
                             TRG_GLOBAL trg_u32 *tags)
{
    trg_u32 wild = 0u;

    for (trg_u32 i = first + TRG_LID; i < end; i += ZF_AT_ONCE * TRG_LSIZE) {
        struct zf_point p[ZF_AT_ONCE];

        for (trg_u32 k = 0; k < ZF_AT_ONCE; k++) {
            const trg_u32 j = zf_inside(i + k * TRG_LSIZE, end, i);

            p[k].phi = c.phi[j];
            p[k].rho = c.rho[j];
            p[k].z = c.z[j];
            p[k].tag = c.layer[j];
        }
        for (trg_u32 k = 0; k < ZF_AT_ONCE && i + k * TRG_LSIZE < end; k++) {
            trg_u32 s = zf_slice_of(roi, p[k].phi, p[k].tag, par.layers_used);

            if (s < roi.n_slices) {
                trg_u32 at = TRG_ATOMIC_ADD_LOCAL(&next[s], 1u);

                p[k].tag |= s << 8;
                wild |= zf_is_wild(p[k].rho, p[k].z);
                zf_store(points, tags, par.items_room, at, p[k]);
            }
        }
    }
    return wild;
}

/* One group an RoI: counts, adds up, scatters.  The order within a slice is any.  An RoI over
 * max_work has no points from here on.  `rois` gets what the host wrote to `asked`. */
TRG_KERNEL7(zf_sort, (const trg_u8, data), (const struct zf_roi, asked), (struct zf_roi, rois),
            (trg_u32, starts), (float, points), (trg_u32, tags), (struct zf_summary, summaries),
            (struct zf_par, par))
{
    TRG_SHARED trg_u32 count[ZF_SLICES];
    TRG_SHARED trg_u32 scratch[TRG_GROUP_SCRATCH];
    TRG_SHARED trg_u32 layers, any_wild;
    const struct zf_columns in = {
        TRG_SPACEPOINTS_PHI(data, par.in), TRG_SPACEPOINTS_RHO(data, par.in),
        TRG_SPACEPOINTS_Z(data, par.in), TRG_SPACEPOINTS_LAYER(data, par.in)};
    TRG_GLOBAL trg_u32 *start = starts + TRG_GID * (par.slices_room + 1u);
    const trg_u32 first = TRG_BEGIN(data, par.in, TRG_GID);
    trg_u32 end = TRG_END(data, par.in, TRG_GID);
    trg_u32 chunk, from, to, mine, sum = 0u, total, is_full;
    struct zf_roi roi = asked[TRG_GID];
#if defined(ZF_DOUBLE)
    TRG_SHARED struct zf_extremes extremes;

    roi = zf_take_range(&extremes, in.phi, first, end, roi);
#endif
    chunk = (roi.n_slices + TRG_LSIZE - 1u) / TRG_LSIZE;
    from = TRG_LID * chunk < roi.n_slices ? TRG_LID * chunk : roi.n_slices;
    to = from + chunk < roi.n_slices ? from + chunk : roi.n_slices;
    for (trg_u32 s = TRG_LID; s < roi.n_slices; s += TRG_LSIZE)
        count[s] = 0u;
    if (TRG_LID == 0u)
        layers = any_wild = 0u;
    TRG_BARRIER();
    if (TRG_LID == 0u)
        rois[TRG_GID] = roi;
    mine = zf_count_points(in, first, end, roi, par.layers_used, count);
    TRG_ATOMIC_OR_LOCAL(&layers, mine);
    TRG_BARRIER();
    for (trg_u32 s = from; s < to; s++)
        sum += count[s];
    is_full = (trg_u32)(zf_all_work(scratch, &par, count, from, to, roi.n_slices) > par.max_work);
    sum = zf_first(first, TRG_GID) + trg_group_scan(scratch, sum, &total);
    if (TRG_LID == 0u) {
        start[roi.n_slices] = zf_first(first, TRG_GID) + (is_full ? 0u : total);
        zf_begin_summary(&summaries[TRG_GID], layers, total, is_full);
    }
    if (is_full) { /* of the whole group */
        zf_leave_out(start, roi.n_slices, zf_first(first, TRG_GID));
        end = first;
        total = 0u;
        from = to;
    }
    for (trg_u32 s = from; s < to; s++) {
        trg_u32 n = count[s];

        start[s] = sum;
        count[s] = sum; /* from now on: where the next point of the slice goes */
        sum += n;
    }
    TRG_BARRIER();
    if (zf_put_points(in, first, end, roi, par, count, points, tags))
        any_wild = 1u;
    zf_put_gap(points, tags, par.items_room, zf_first(first, TRG_GID) + total);
    TRG_BARRIER();
    if (TRG_LID == 0u && any_wild)
        summaries[TRG_GID].flags |= ZF_WILD;
}

/* ---------------------------------------------------------------- one histogram */

/* `parts` groups an RoI, each with every parts-th inner point: one histogram for the RoI.  With
 * more than one part, `hist` must be zero before. */
TRG_KERNEL7(zf_pairs, (const struct zf_roi, rois), (const trg_u32, starts), (const float, points),
            (const trg_u32, tags), (const struct zf_summary, summaries), (const trg_u8, neighbours),
            (trg_u32, hist), (struct zf_par, par))
{
    TRG_SHARED trg_u32 count[ZF_ENTRIES];
    TRG_SHARED trg_u32 place[ZF_ENTRIES];
    const trg_u32 r = TRG_GID / par.parts, part = TRG_GID % par.parts;
    const struct zf_roi roi = rois[r];
    const trg_u32 entries = par.charges * roi.n_bins, layers = summaries[r].layers;
    TRG_GLOBAL trg_u32 *out = hist + r * 2u * ZF_ENTRIES;
    const struct zf_view v = ZF_VIEW(points, tags, starts, neighbours, r, par);
    const struct zf_histogram h = {count, place};
    trg_u32 first, end;

    first = v.start[0];
    end = v.start[roi.n_slices];
    for (trg_u32 b = TRG_LID; b < entries; b += TRG_LSIZE) {
        count[b] = 0u;
        place[b] = 0u;
    }
    TRG_BARRIER();
    for (trg_u32 i = first + part * TRG_LSIZE + TRG_LID; i < end; i += par.parts * TRG_LSIZE)
        if (zf_may_begin(layers, zf_tag(v, i) & 255u, par.first_layers))
            zf_from_point(h, v, roi, par, i);
    TRG_BARRIER();
    for (trg_u32 b = TRG_LID; b < entries; b += TRG_LSIZE) {
        if (par.parts == 1u) {
            out[b] = count[b];
            out[ZF_ENTRIES + b] = place[b];
        } else if (count[b]) {
            TRG_ATOMIC_ADD_GLOBAL(&out[b], count[b]);
            TRG_ATOMIC_ADD_GLOBAL(&out[ZF_ENTRIES + b], place[b]);
        }
    }
}

/* ---------------------------------------------------------------- peaks */

/* One group an RoI: the peaks of its histogram.  The histogram itself stays.  In `peaks`, which is
 * the same memory, the summaries come first. */
TRG_KERNEL5(zf_peaks, (const struct zf_roi, rois), (const trg_u32, hist), (struct zf_peak, peaks),
            (struct zf_summary, summaries), (trg_u32, host), (struct zf_par, par))
{
    TRG_SHARED trg_u32 count[ZF_ENTRIES];
    TRG_SHARED trg_u32 place[ZF_ENTRIES];
    TRG_SHARED struct zf_sums sums;
    const struct zf_roi roi = rois[TRG_GID];
    const trg_u32 entries = par.charges * roi.n_bins;
    TRG_GLOBAL const trg_u32 *in = hist + TRG_GID * 2u * ZF_ENTRIES;
    TRG_GLOBAL struct zf_peak *list = peaks + par.n_rois + TRG_GID * par.peaks_room;
    const struct zf_histogram h = {count, place};

    if (TRG_LID == 0u)
        zf_clear_sums(&sums);
    for (trg_u32 b = TRG_LID; b < entries; b += TRG_LSIZE) {
        count[b] = in[b];
        place[b] = in[ZF_ENTRIES + b];
    }
    TRG_BARRIER();
    zf_sum_up(h, roi, par.charges, 0u, &sums);
    TRG_BARRIER();
    zf_find_peaks(h, roi, &par, 0u, list, &sums);
    if (TRG_LID == 0u) {
        summaries[TRG_GID].n_entries = sums.total;
        summaries[TRG_GID].n_triples = sums.total ? par.charges * (roi.n_bins - 2u) : 0u;
        summaries[TRG_GID].sum_low = sums.low;
        summaries[TRG_GID].sum_high = sums.high;
        summaries[TRG_GID].flags |= sums.more;
        summaries[TRG_GID].digest = sums.digest;
    }
    TRG_BARRIER();
    zf_hand_over(host, (TRG_GLOBAL const trg_u32 *)peaks, TRG_GID, &par);
}

/* ---------------------------------------------------------------- a histogram for each slice */

/* How far the pairs of an inner layer reach into the histograms of neighbouring slices. */
TRG_FN trg_u32 zf_spread(const struct zf_view v, const struct zf_roi roi, trg_u32 last_barrel,
                         trg_u32 layer)
{
    return layer ? zf_reach(v, roi, last_barrel, 0u, layer) : 0u;
}

/* slices_room groups an RoI, one for each slice: fills the slice's histograms from the inner points
 * near by, and leaves their highest peaks.  A group without points near by goes the same way
 * through no bins, so that all of it meets at every barrier. */
TRG_KERNEL7(zf_slices, (const struct zf_roi, rois), (const trg_u32, starts), (const float, points),
            (const trg_u32, tags), (struct zf_summary, summaries), (const trg_u8, neighbours),
            (struct zf_peak, peaks), (struct zf_par, par))
{
    TRG_SHARED trg_u32 count[ZF_ENTRIES];
    TRG_SHARED trg_u32 place[ZF_ENTRIES];
    TRG_SHARED struct zf_sums sums;
    const trg_u32 r = TRG_GID / par.slices_room, slice = TRG_GID % par.slices_room;
    const trg_u32 layers = summaries[r].layers;
    TRG_GLOBAL struct zf_peak *list = peaks + (r * par.slices_room + slice) * par.peaks_room;
    struct zf_roi roi = rois[r];
    const struct zf_view v = ZF_VIEW(points, tags, starts, neighbours, r, par);
    const struct zf_histogram h = {count, place};
    trg_u32 most, first = 0u, end = 0u;

    most = zf_reach_most(v, roi, 0u);
    if (slice < roi.n_slices) {
        first = v.start[slice > most ? slice - most : 0u];
        end = v.start[slice + most + 1u < roi.n_slices ? slice + most + 1u : roi.n_slices];
    }
    if (first == end)
        roi.n_bins = 0u;
    if (TRG_LID == 0u)
        zf_clear_sums(&sums);
    for (trg_u32 b = TRG_LID; b < par.charges * roi.n_bins; b += TRG_LSIZE) {
        count[b] = 0u;
        place[b] = 0u;
    }
    TRG_BARRIER();
    for (trg_u32 i = first + TRG_LID; i < end; i += TRG_LSIZE) {
        const trg_u32 layer = zf_tag(v, i) & 255u, s = zf_tag(v, i) >> 8;
        const trg_u32 far = zf_spread(v, roi, par.last_barrel, layer);
        const trg_u32 near = par.charges == 2u && layer ? 1u : far;
        const trg_u32 apart = s > slice ? s - slice : slice - s;
        struct zf_par one = par;

        if (!zf_may_begin(layers, layer, par.first_layers) || apart > far)
            continue;
        if (apart > near) /* far away only one charge can have bent this way */
            one.charges = slice > s ? ZF_ONLY_FIRST : ZF_ONLY_SECOND;
        zf_from_point(h, v, roi, one, i);
    }
    TRG_BARRIER();
    zf_sum_up(h, roi, par.charges, slice, &sums);
    TRG_BARRIER();
    zf_find_peaks(h, roi, &par, slice, list, &sums);
    if (TRG_LID == 0u && sums.total) {
        TRG_ATOMIC_ADD_GLOBAL(&summaries[r].n_entries, sums.total);
        TRG_ATOMIC_ADD_GLOBAL(&summaries[r].n_triples, par.charges * (roi.n_bins - 2u));
        TRG_ATOMIC_ADD_GLOBAL(&summaries[r].sum_low, sums.low & 0xffffu);
        TRG_ATOMIC_ADD_GLOBAL(&summaries[r].sum_high, sums.high + (sums.low >> 16));
        TRG_ATOMIC_OR_GLOBAL(&summaries[r].flags, sums.more);
        TRG_ATOMIC_ADD_GLOBAL(&summaries[r].digest, sums.digest);
    }
}

/* One group an RoI: merges the slices' lists, each in falling order, into one of peaks_room, behind
 * the summaries in `peaks`. */
TRG_KERNEL4(zf_merge, (const struct zf_roi, rois), (const struct zf_peak, lists),
            (struct zf_peak, peaks), (trg_u32, host), (struct zf_par, par))
{
    TRG_SHARED trg_u32 best, order, winner;
    TRG_SHARED trg_u16 taken[ZF_SLICES]; /* of each slice's list */
    const struct zf_roi roi = rois[TRG_GID];
    TRG_GLOBAL struct zf_peak *list = peaks + par.n_rois + TRG_GID * par.peaks_room;
    TRG_GLOBAL const struct zf_peak *in = lists + TRG_GID * par.slices_room * par.peaks_room;

    for (trg_u32 s = TRG_LID; s < roi.n_slices; s += TRG_LSIZE)
        taken[s] = 0;
    for (trg_u32 k = 0; k < par.peaks_room; k++) {
        trg_u32 top = 0u, first = 0xffffffffu, mine = 0u;

        TRG_BARRIER();
        if (TRG_LID == 0u) {
            best = 0u;
            order = winner = 0xffffffffu;
        }
        TRG_BARRIER();
        for (trg_u32 s = TRG_LID; s < roi.n_slices; s += TRG_LSIZE) {
            trg_u32 o;

            if (taken[s] >= par.peaks_room || !in[s * par.peaks_room + taken[s]].total)
                continue;
            /* before equals: charge, then slice; the bin only tells central ones */
            o = zf_order(par.prefer_central, roi.n_bins, in[s * par.peaks_room + taken[s]].charge,
                         par.prefer_central ? in[s * par.peaks_room + taken[s]].bin : 0u) &
                ~8191u;
            if (in[s * par.peaks_room + taken[s]].total > top ||
                (in[s * par.peaks_room + taken[s]].total == top && o < first)) {
                top = in[s * par.peaks_room + taken[s]].total;
                first = o;
                mine = s;
            }
        }
        TRG_ATOMIC_MAX_LOCAL(&best, top);
        TRG_BARRIER();
        if (top && top == best)
            TRG_ATOMIC_MIN_LOCAL(&order, first);
        TRG_BARRIER();
        if (top && top == best && first == order)
            TRG_ATOMIC_MIN_LOCAL(&winner, mine);
        TRG_BARRIER();
        if (TRG_LID == 0u) {
            if (best) {
                list[k] = in[winner * par.peaks_room + taken[winner]];
                taken[winner]++;
            } else {
                list[k].total = 0u;
            }
        }
    }
    TRG_BARRIER();
    zf_hand_over(host, (TRG_GLOBAL const trg_u32 *)peaks, TRG_GID, &par);
}
