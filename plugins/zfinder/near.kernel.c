/* SPDX-License-Identifier: Apache-2.0 */
/* Pairs and triplets of the z-finder when one slice on each side is looked at and an RoI has one
 * histogram: quicker than zf_pairs of zfinder.kernel.c, whose place they take, with the same bits.
 *
 * zf_sort -> zf_near_pairs or zf_near_triplets -> zf_peaks */
#if defined(__CUDACC__)
/* five groups on a multiprocessor: more registers cost more than they save */
#define TRG_BOUNDS __launch_bounds__(ZF_GROUP_MAX, 5)
#endif
#include "../common/group.h"
#include "near_gpu.h"
#if !defined(__OPENCL_VERSION__) && !defined(__CUDACC__)
#include "near_host.h"
#endif

/* The CPU goes its own way; the portable one is there for all others. */
#if !defined(__OPENCL_VERSION__) && !defined(__CUDACC__)
#define ZF_ON_THE_HOST(v, roi, par, last, out)         \
    if ((par).parts == 1u) {                           \
        zf_host_near(&(v), &(roi), &(par), last, out); \
        return;                                        \
    }
#else
#define ZF_ON_THE_HOST(v, roi, par, last, out)
#endif

/* Adds the group's histogram to that of the RoI; of neighbours, either charge may be right.  What
 * zf_count left behind the last bin belongs to it. */
#define ZF_PUT_OUT(out, bins, roi, par)                                         \
    do {                                                                        \
        for (trg_u32 b_ = TRG_LID; b_ < (roi).n_bins; b_ += TRG_LSIZE) {        \
            const trg_u32 end_ = b_ + 1u == (roi).n_bins ? b_ + 1u : b_;        \
            const trg_u32 n_ = (bins)[b_] + (end_ > b_ ? (bins)[end_] : 0u);    \
            const trg_u32 p_ = (bins)[ZF_PLACES_AT + b_] +                      \
                               (end_ > b_ ? (bins)[ZF_PLACES_AT + end_] : 0u) - \
                               n_ * (b_ * ZF_QUANTA);                           \
            for (trg_u32 c_ = 0; c_ < (par).charges; c_++) {                    \
                const trg_u32 at_ = c_ * (roi).n_bins + b_;                     \
                if ((par).parts == 1u) {                                        \
                    (out)[at_] = n_;                                            \
                    (out)[ZF_ENTRIES + at_] = p_;                               \
                } else if (n_) {                                                \
                    TRG_ATOMIC_ADD_GLOBAL(&(out)[at_], n_);                     \
                    TRG_ATOMIC_ADD_GLOBAL(&(out)[ZF_ENTRIES + at_], p_);        \
                }                                                               \
            }                                                                   \
        }                                                                       \
    } while (0)

/* `parts` groups an RoI.  Each point is paired with those that come after it in its own slice and
 * the next, which lie in a row.  The rows of four points differ in length: a work-item takes four
 * points against four others at a time, from a list of all that there is to do. */
TRG_KERNEL7(zf_near_pairs, const struct zf_roi, rois, const trg_u32, starts, const float, points,
            const trg_u32, tags, const struct zf_summary, summaries, const trg_u8, neighbours,
            trg_u32, hist, struct zf_par, par)
{
    TRG_SHARED trg_u32 bins[ZF_HIST_WORDS];
    TRG_SHARED trg_u32 scratch[TRG_GROUP_SCRATCH];
    TRG_SHARED trg_u32 list[ZF_BITES], n_bites[ZF_GROUP_MAX];
    const trg_u32 r = TRG_GID / par.parts, part = TRG_GID % par.parts;
    const struct zf_roi roi = rois[r];
    const float quanta = roi.inv_bin * (float)ZF_QUANTA;
    const trg_u32 last = zf_last_begin(summaries[r].layers, par.first_layers);
    const trg_u32 wild = summaries[r].flags & ZF_WILD;
    TRG_GLOBAL trg_u32 *out = hist + r * 2u * ZF_ENTRIES;
    const struct zf_view v = ZF_VIEW(points, tags, starts, neighbours, r, par);
    const trg_u32 end = v.start[roi.n_slices], tile = ZF_BITE * TRG_LSIZE;

    ZF_ON_THE_HOST(v, roi, par, last, out);
    for (trg_u32 b = TRG_LID; b <= roi.n_bins; b += TRG_LSIZE)
        bins[b] = bins[ZF_PLACES_AT + b] = 0u;
    TRG_BARRIER();
    for (trg_u32 at = v.start[0] + part * tile; at < end; at += par.parts * tile) {
        const trg_u32 mine = at + ZF_BITE * TRG_LID;
        const trg_u32 bites = zf_bites(v, roi, mine, end);
        trg_u32 total, before;

        TRG_BARRIER();
        n_bites[TRG_LID] = bites;
        if (mine < end)
            zf_among(bins, v, par.z_max, quanta, last + 1u, mine, wild);
        before = trg_group_scan(scratch, bites, &total);
        for (trg_u32 from = 0; from < total; from += ZF_BITES) {
            TRG_BARRIER();
            for (trg_u32 k = from > before ? from - before : 0u;
                 k < bites && before + k < from + ZF_BITES; k++)
                list[before + k - from] = TRG_LID << 20 | k;
            TRG_BARRIER();
            for (trg_u32 x = TRG_LID; x < ZF_BITES && from + x < total; x += TRG_LSIZE) {
                const trg_u32 row = list[x] >> 20, a = at + ZF_BITE * row;

                zf_bite(bins, v, par.z_max, quanta, last + 1u, a,
                        a + ZF_BITE + (list[x] & 0xfffffu), n_bites[row], wild);
            }
        }
    }
    TRG_BARRIER();
    ZF_PUT_OUT(out, bins, roi, par);
}

#if ZF_WARPS
/* `parts` groups an RoI, each with a stretch of points that are the middle ones of triplets; its
 * warps take 32 of them at a time.  Around points with few others near by, a work-item looks for
 * triplets by itself.  The others are taken by two at once: each half of the warp works out all
 * points around one of them (once a pair) and lists them as inner or outer ones, and then the warp
 * holds the inner ones of the first against its outer ones, and those of the second. */
TRG_KERNEL7(zf_near_triplets, const struct zf_roi, rois, const trg_u32, starts, const float, points,
            const trg_u32, tags, const struct zf_summary, summaries, const trg_u8, neighbours,
            trg_u32, hist, struct zf_par, par)
{
    TRG_SHARED trg_u32 bins[ZF_HIST_WORDS];
    TRG_SHARED zf_packed terms[ZF_WARPS * 2u * ZF_ROOM];
    TRG_SHARED trg_u32 todo[ZF_WARPS * 32u];
    TRG_SHARED trg_u32 next;
    const trg_u32 r = TRG_GID / par.parts, part = TRG_GID % par.parts;
    const struct zf_roi roi = rois[r];
    const trg_u32 layers = summaries[r].layers, wild = summaries[r].flags & ZF_WILD;
    const trg_u32 last = zf_last_begin(layers, par.first_layers);
    TRG_GLOBAL trg_u32 *out = hist + r * 2u * ZF_ENTRIES;
    const struct zf_view v = ZF_VIEW(points, tags, starts, neighbours, r, par);
    const trg_u32 first = v.start[0], n = v.start[roi.n_slices] - first;
    const trg_u32 share = (n + par.parts - 1u) / par.parts;
    const trg_u32 to = first + (part * share + share < n ? part * share + share : n);
    const trg_u32 lane = TRG_LID & 31u, warp = TRG_LID >> 5;

    for (trg_u32 b = TRG_LID; b <= roi.n_bins; b += TRG_LSIZE)
        bins[b] = bins[ZF_PLACES_AT + b] = 0u;
    if (TRG_LID == 0u)
        next = first + part * share;
    TRG_BARRIER();
    for (;;) {
        const trg_u32 o = zf_warp_at(lane ? 0u : TRG_ATOMIC_ADD_LOCAL(&next, 32u), 0u) + lane;
        struct zf_run near = {0u, 0u};
        trg_u32 some, n_todo;

        if (o - lane >= to)
            break;
        if (o < to)
            near = zf_run(v, roi, zf_tag(v, o) >> 8);
        if (near.n <= ZF_FEW && near.n > 2u)
            ZF_PLAIN_TRIPLETS(bins, v, roi, par, last, o, near.from, near.from + near.n, 1u);
        some = zf_warp_vote(near.n > ZF_FEW && zf_in_between(layers, zf_tag(v, o) & 255u));
        n_todo = trg_popcount(some);
        if (some >> lane & 1u)
            todo[warp * 32u + zf_rank(some, lane)] = o;
        zf_warp_sync();
        for (trg_u32 k = 0; k < n_todo; k += 2u)
            zf_two_middles(bins, v, roi, &par, last, wild, todo + warp * 32u + k, n_todo - k,
                           terms + warp * 2u * ZF_ROOM, lane);
        zf_warp_sync();
    }
    TRG_BARRIER();
    ZF_PUT_OUT(out, bins, roi, par);
}
#else
/* `parts` groups an RoI.  Around points with few others near by, a work-item looks for triplets by
 * itself.  The other slices are each taken by a whole group: as many points of one as the lists
 * hold; all points around each of them are worked out (once a pair), and then the inner ones are
 * held against the outer ones.  Needs n_bins <= ZF_NEAR_BINS. */
TRG_KERNEL7(zf_near_triplets, const struct zf_roi, rois, const trg_u32, starts, const float, points,
            const trg_u32, tags, const struct zf_summary, summaries, const trg_u8, neighbours,
            trg_u32, hist, struct zf_par, par)
{
    TRG_SHARED trg_u32 bins[ZF_HIST_WORDS];
    TRG_SHARED float in[4u * ZF_LISTS], out[3u * ZF_LISTS];
    TRG_SHARED trg_u32 middle[ZF_LISTS];
    TRG_SHARED trg_u32 n_out[ZF_MIDDLES];
    TRG_SHARED trg_u32 many[ZF_TILE];
    TRG_SHARED trg_u32 n_in, n_many;
    const trg_u32 r = TRG_GID / par.parts, part = TRG_GID % par.parts;
    const struct zf_roi roi = rois[r];
    const trg_u32 last = zf_last_begin(summaries[r].layers, par.first_layers);
    TRG_GLOBAL trg_u32 *to = hist + r * 2u * ZF_ENTRIES;
    const struct zf_view v = ZF_VIEW(points, tags, starts, neighbours, r, par);
    const trg_u32 end = v.start[roi.n_slices];

    ZF_ON_THE_HOST(v, roi, par, last, to);
    for (trg_u32 b = TRG_LID; b <= roi.n_bins; b += TRG_LSIZE)
        bins[b] = bins[ZF_PLACES_AT + b] = 0u;
    TRG_BARRIER();
    for (trg_u32 o = v.start[0] + part * TRG_LSIZE + TRG_LID; o < end; o += par.parts * TRG_LSIZE) {
        const struct zf_run near = zf_run(v, roi, zf_tag(v, o) >> 8);

        if (near.n <= ZF_FEW)
            ZF_PLAIN_TRIPLETS(bins, v, roi, par, last, o, near.from, near.from + near.n, 1u);
    }
    for (trg_u32 tile = part; tile < roi.n_slices; tile += ZF_TILE * par.parts) {
        TRG_BARRIER();
        if (TRG_LID == 0u)
            n_many = 0u;
        TRG_BARRIER();
        for (trg_u32 k = TRG_LID; k < ZF_TILE && tile + k * par.parts < roi.n_slices;
             k += TRG_LSIZE) {
            const trg_u32 s = tile + k * par.parts;

            if (v.start[s] < v.start[s + 1u] && zf_run(v, roi, s).n > ZF_FEW)
                many[TRG_ATOMIC_ADD_LOCAL(&n_many, 1u)] = s;
        }
        TRG_BARRIER();
        for (trg_u32 k = 0; k < n_many; k++) {
            const struct zf_run near = zf_run(v, roi, many[k]);
            const trg_u32 stop = v.start[many[k] + 1u], most = zf_most_middles(near.n);

            for (trg_u32 o = v.start[many[k]]; !most && o < stop; o++)
                ZF_PLAIN_TRIPLETS(bins, v, roi, par, last, o, near.from + TRG_LID,
                                  near.from + near.n, TRG_LSIZE);
            for (trg_u32 o = v.start[many[k]]; most && o < stop; o += most) {
                const trg_u32 middles = stop - o < most ? stop - o : most;

                for (trg_u32 m = TRG_LID; m < middles; m += TRG_LSIZE)
                    n_out[m] = 0u;
                if (TRG_LID == 0u)
                    n_in = 0u;
                TRG_BARRIER();
                zf_list(v, par, last, near.from, near.n, o, middles, TRG_LID, TRG_LSIZE, in, middle,
                        &n_in, out, n_out);
                TRG_BARRIER();
                for (trg_u32 j = TRG_LID; j < n_in; j += TRG_LSIZE) {
                    const trg_u32 agree =
                        zf_join(par, in, j, out + middle[j] * near.n, n_out[middle[j]]);

                    if (agree)
                        zf_count(bins, zf_place(roi, par.z_max, in[j]), agree);
                }
                TRG_BARRIER();
            }
        }
    }
    TRG_BARRIER();
    ZF_PUT_OUT(to, bins, roi, par);
}
#endif
