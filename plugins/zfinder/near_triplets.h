/* SPDX-License-Identifier: Apache-2.0 */
/* near_triplets.h - how GPUs find the triplets of one RoI, for one neighbour on each side and one
 * histogram.  Part of near.kernel.c.
 *
 * A group takes a chunk of slices at a time into shared memory, sorted by slice and layer: then the
 * points further out of one in the middle, and those further in, are a run in each of three slices.
 * First z on the beam line of all outer pairs is listed; work-items take middle points with about
 * as many outer ones as those of their neighbours.  Then inner pairs, a few at a time, are held
 * against the list of their middle point, those with long lists first, and what agrees in z counts.
 *
 * Curvature and phi decide almost never: pairs of neighbouring slices cannot bend much.  A bound
 * tells which inner pairs agree in both with all outer ones of the list; the others are held
 * against each outer point in full (zf_exactly). */
#ifndef ZFINDER_NEAR_TRIPLETS_H
#define ZFINDER_NEAR_TRIPLETS_H
#include "near_chunk.h"

/* ---------------------------------------------------------------- a chunk */

/* Replaces a[0 .. n) by its exclusive sums. */
TRG_GROUP_FN void zf_add_up(TRG_LOCAL trg_u32 *a, trg_u32 n, TRG_LOCAL trg_u32 *scratch)
{
    trg_u32 each = 1u, from, to, sum = 0u, total;

    TRG_BARRIER();
    while (each * TRG_LSIZE < n)
        each++;
    from = TRG_LID * each;
    to = from + each < n ? from + each : n;
    for (trg_u32 i = from; i < to; i++)
        sum += a[i];
    sum = trg_group_scan(scratch, sum, &total);
    for (trg_u32 i = from; i < to; i++) {
        const trg_u32 here = a[i];

        a[i] = sum;
        sum += here;
    }
    TRG_BARRIER();
}

/* The same for the few buckets: where each begins, and behind the last the sum of all.  A few
 * work-items do it, which costs less than a scan by all. */
TRG_GROUP_FN void zf_place_buckets(TRG_LOCAL struct zf_desk *desk)
{
    TRG_BARRIER();
    for (trg_u32 b = TRG_LID; b < ZF_BUCKETS; b += TRG_LSIZE) {
        trg_u32 before = 0u, all = 0u;

        for (trg_u32 k = 0u; k < ZF_BUCKETS; k++) {
            before = k == b ? all : before;
            all += desk->bucket[k];
        }
        desk->place[b] = before;
        if (b + 1u == ZF_BUCKETS)
            desk->place[ZF_BUCKETS] = all;
    }
    TRG_BARRIER();
}

/* Brings the points [from, end), which lie sorted by slice, into the chunk. */
TRG_GROUP_FN void zf_fill_chunk(TRG_LOCAL struct zf_desk *desk, const struct zf_chunk c,
                                const struct zf_view v, trg_u32 from, trg_u32 end)
{
    const trg_u32 n = c.slices * c.n_layers;

    for (trg_u32 k = TRG_LID; k <= n; k += TRG_LSIZE)
        desk->start[k] = 0u;
    for (trg_u32 b = TRG_LID; b < ZF_BUCKETS; b += TRG_LSIZE)
        desk->bucket[b] = 0u;
    TRG_BARRIER();
    for (trg_u32 i = from + TRG_LID; i < end; i += TRG_LSIZE)
        TRG_ATOMIC_ADD_LOCAL(&desk->start[zf_run_of(zf_local_tag(c, zf_tag(v, i))) + 1u], 1u);
    zf_add_up(desk->start + 1, n, (TRG_LOCAL trg_u32 *)desk->listed);
    for (trg_u32 i = from + TRG_LID; i < end; i += TRG_LSIZE) {
        zf_packed p = v.point[i];

        p.w = zf_local_tag(c, p.w);
        /* what was the start of this run becomes that of the next */
        desk->point[TRG_ATOMIC_ADD_LOCAL(&desk->start[zf_run_of(p.w) + 1u], 1u)] = p;
    }
    TRG_BARRIER();
}

/* Point i of the chunk, how many tiles of points further in it has, and from bit 16 on how many
 * points are further out; 0 if it is in the middle of no triplet, or was done by a work-item
 * alone. */
TRG_FN trg_u32 zf_around(TRG_LOCAL const struct zf_desk *desk, const struct zf_chunk c, trg_u32 i)
{
    const trg_u32 tag = desk->point[i].w;
    const trg_u32 outer = zf_in_runs(zf_outer_runs(desk, c, tag));
    const trg_u32 tiles = (zf_in_runs(zf_inner_runs(desk, c, tag)) + ZF_TILE - 1u) / ZF_TILE;
    const trg_u32 near =
        desk->start[(tag >> 8) + 2u * c.n_layers] - desk->start[(tag >> 8) - c.n_layers];

    return near > ZF_FEW && outer && tiles ? outer << 16 | tiles << 8 | i : 0u;
}

TRG_FN trg_u32 zf_bucket(trg_u32 length)
{
    return ZF_BUCKETS - 1u - (length < ZF_BUCKETS ? length : ZF_BUCKETS - 1u);
}

/* Words for a list: whole fours. */
TRG_FN trg_u32 zf_list_room(trg_u32 outer)
{
    return (outer + 3u) & ~3u;
}

/* Finds the middle points of all slices but the first and the last, which are neighbours.  Returns
 * how many there are.  Sums have entries in their lower half and words for lists in the upper. */
TRG_GROUP_FN trg_u32 zf_order_middles(TRG_LOCAL struct zf_desk *desk, const struct zf_chunk c)
{
    TRG_LOCAL trg_u32 *around = (TRG_LOCAL trg_u32 *)desk->listed;
    const trg_u32 from = desk->start[c.n_layers];
    const trg_u32 end = desk->start[(c.slices - 1u) * c.n_layers];

    for (trg_u32 i = from + TRG_LID; i < end; i += TRG_LSIZE) {
        const trg_u32 x = zf_around(desk, c, i);

        around[i] = x;
        if (x)
            TRG_ATOMIC_ADD_LOCAL(&desk->bucket[zf_bucket(x >> 17)],
                                 zf_list_room(x >> 16) << 16 | 1u);
    }
    zf_place_buckets(desk);
    for (trg_u32 i = from + TRG_LID; i < end; i += TRG_LSIZE) {
        const trg_u32 x = around[i], room = zf_list_room(x >> 16);

        if (x) {
            const trg_u32 at =
                TRG_ATOMIC_ADD_LOCAL(&desk->place[zf_bucket(x >> 17)], room << 16 | 1u);

            desk->order[at & 0xffffu] = x & 0xffffu;
            desk->list[at & 0xffffu] = at >> 16;
            desk->list[(at & 0xffffu) + 1u] = (at >> 16) + room; /* as the next one will say */
        }
    }
    TRG_BARRIER();
    return desk->place[ZF_BUCKETS] & 0xffffu;
}

/* The end of those middle points from `first` on for whose lists there is room together. */
TRG_FN trg_u32 zf_last_listed(TRG_LOCAL const struct zf_desk *desk, trg_u32 first, trg_u32 n)
{
    const trg_u32 room = desk->list[first] + ZF_LISTED - ZF_BELOW;
    trg_u32 low = first + 1u, high = n;

    if (desk->list[n] <= room)
        return n;
    while (low < high) {
        const trg_u32 middle = (low + high + 1u) / 2u;
        const trg_u32 fits = desk->list[middle] <= room;

        low = fits ? middle : low;
        high = fits ? high : middle - 1u;
    }
    return low;
}

/* Lists the outer pairs of middle points [first, end): two work-items take a point, and every
 * second time in the other direction, so that those who had much get little. */
TRG_FN void zf_list_all(TRG_LOCAL struct zf_desk *desk, const struct zf_chunk c, trg_u32 first,
                        trg_u32 end, const struct zf_par *par, trg_u32 lid, trg_u32 lsize,
                        trg_u32 wild)
{
    TRG_LOCAL float *listed = (TRG_LOCAL float *)desk->listed + ZF_BELOW - desk->list[first];
    const float far = zf_far(par->z_max, par->triplet_dz);
    trg_u32 at = lid, other = 2u * lsize - 1u - lid;

    while (first + at / 2u < end) {
        const trg_u32 k = first + at / 2u, next = other;
        const struct zf_point middle = zf_unpack(desk->point[desk->order[k] & 255u]);

        zf_list_outer(zf_outer_runs(desk, c, middle.tag), middle, far, at & 1u,
                      listed + desk->list[k], desk->length + k, desk->most + k, wild);
        other = at + 2u * lsize;
        at = next;
    }
}

/* Where the tiles of the middle points [first, end) are among all tiles, those with long lists
 * first.  Returns how many tiles there are. */
TRG_GROUP_FN trg_u32 zf_sort_tiles(TRG_LOCAL struct zf_desk *desk, trg_u32 first, trg_u32 end)
{
    TRG_BARRIER();
    for (trg_u32 k = first + TRG_LID; k < end; k += TRG_LSIZE)
        if (desk->length[k])
            TRG_ATOMIC_ADD_LOCAL(&desk->bucket[zf_bucket((desk->length[k] + 3u) / 4u)],
                                 desk->order[k] >> 8);
    zf_place_buckets(desk);
    for (trg_u32 k = first + TRG_LID; k < end; k += TRG_LSIZE)
        if (desk->length[k])
            desk->order[k] |=
                TRG_ATOMIC_ADD_LOCAL(&desk->place[zf_bucket((desk->length[k] + 3u) / 4u)],
                                     desk->order[k] >> 8)
                << 16;
    return desk->place[ZF_BUCKETS];
}

/* Writes out the tiles [from, to) of those of middle points [first, end). */
TRG_FN void zf_hand_out(TRG_LOCAL struct zf_desk *desk, trg_u32 first, trg_u32 end, trg_u32 from,
                        trg_u32 to, trg_u32 lid, trg_u32 lsize)
{
    for (trg_u32 k = first + lid; k < end; k += lsize) {
        const trg_u32 at = desk->order[k] >> 16;
        const trg_u32 n = desk->length[k] ? desk->order[k] >> 8 & 255u : 0u;

#pragma unroll 1
        for (trg_u32 j = 0; j < n; j++)
            if (at + j - from < to - from)
                desk->tile[at + j - from] = j << 16 | k;
    }
}

/* Joins the `some` tiles that were handed out, in turns as zf_list_all. */
TRG_FN void zf_join_tiles(TRG_LOCAL struct zf_desk *desk, const struct zf_chunk c, trg_u32 first,
                          trg_u32 some, const struct zf_roi roi, const struct zf_par *par,
                          trg_u32 lid, trg_u32 lsize, trg_u32 wild)
{
    TRG_LOCAL const float *listed =
        (TRG_LOCAL const float *)desk->listed + ZF_BELOW - desk->list[first];
    trg_u32 t = lid, other = 2u * lsize - 1u - lid;

    while (t < some) {
        const trg_u32 k = desk->tile[t] & 0xffffu, skip = desk->tile[t] >> 16, next = other;
        const struct zf_point middle = zf_unpack(desk->point[desk->order[k] & 255u]);
        const struct zf_runs in = zf_inner_runs(desk, c, middle.tag);

        zf_join_inner(desk, c, middle, in, in.from + skip * ZF_TILE * (trg_u32)sizeof(zf_packed),
                      roi, par, zf_limits(par, trg_as_f32(desk->most[k]), middle.rho),
                      (TRG_LOCAL const zf_packed *)(listed + desk->list[k]),
                      (desk->length[k] + 3u) / 4u, wild);
        other = t + 2u * lsize;
        t = next;
    }
}

/* ---------------------------------------------------------------- a group */

/* The slice to which point number i of n belongs; beyond the ends, the first or the end. */
TRG_FN trg_u32 zf_slice_at(const struct zf_view v, const struct zf_roi roi, trg_u32 i, trg_u32 n)
{
    if (i >= n)
        return roi.n_slices;
    return i ? zf_tag(v, v.start[0] + i) >> 8 : 0u;
}

/* Sets the histogram to 0, and counts the triplets with few points near by in part number `part` of
 * an RoI. */
TRG_GROUP_FN void zf_few_triplets(TRG_LOCAL trg_u32 *bins, TRG_LOCAL struct zf_dense *dense,
                                  const struct zf_view v, const struct zf_roi roi,
                                  const struct zf_par *par, trg_u32 last, trg_u32 part)
{
    const trg_u32 n = v.start[roi.n_slices] - v.start[0];
    const trg_u32 share = (n + par->parts - 1u) / par->parts;
    const trg_u32 from = zf_slice_at(v, roi, part * share, n);
    const trg_u32 to = zf_slice_at(v, roi, part * share + share, n);
    trg_u32 slice = ZF_SLICES, end = 0u;

    for (trg_u32 b = TRG_LID; b <= roi.n_bins; b += TRG_LSIZE)
        bins[b] = bins[ZF_PLACES_AT + b] = 0u;
    if (TRG_LID == 0u) {
        dense->slice = ZF_SLICES;
        dense->end = 0u;
    }
    TRG_BARRIER();
    for (trg_u32 o = v.start[from] + TRG_LID; o < v.start[to]; o += TRG_LSIZE) {
        const trg_u32 s = zf_tag(v, o) >> 8;
        const struct zf_run near = zf_run(v, roi, s);

        if (near.n > ZF_FEW) {
            slice = s < slice ? s : slice;
            end = s + 1u;
        } else if (near.n > 2u) {
            ZF_PLAIN_TRIPLETS(bins, v, roi, *par, last, o, near.from, near.from + near.n, 1u);
        }
    }
    if (end) {
        TRG_ATOMIC_MIN_LOCAL(&dense->slice, slice);
        TRG_ATOMIC_MAX_LOCAL(&dense->end, end);
    }
    TRG_BARRIER();
}

/* Counts those of one slice, by the whole group without lists. */
TRG_GROUP_FN void zf_slow_triplets(TRG_LOCAL trg_u32 *bins, const struct zf_view v,
                                   const struct zf_roi roi, const struct zf_par *par, trg_u32 last,
                                   trg_u32 slice)
{
    const struct zf_run near = zf_run(v, roi, slice);

    for (trg_u32 o = v.start[slice]; o < v.start[slice + 1u]; o++)
        ZF_PLAIN_TRIPLETS(bins, v, roi, *par, last, o, near.from + TRG_LID, near.from + near.n,
                          TRG_LSIZE);
}

/* Points before those of a slice, or of the end. */
TRG_FN trg_u32 zf_before(const struct zf_view v, const struct zf_roi roi, trg_u32 slice)
{
    return v.start[slice < roi.n_slices ? slice : roi.n_slices];
}

/* The end of the slices from `slice` on that a chunk has room for, of those up to `end`; `slice` if
 * there is none even for that one.  As many as usually fit are tried first. */
TRG_FN trg_u32 zf_last_that_fits(const struct zf_view v, const struct zf_roi roi, trg_u32 n_layers,
                                 trg_u32 slice, trg_u32 end)
{
    const trg_u32 n = zf_before(v, roi, roi.n_slices) - v.start[0];
    const trg_u32 usual = ZF_CHUNK * roi.n_slices / n;
    const trg_u32 most = usual < ZF_RUNS / n_layers ? usual : ZF_RUNS / n_layers;
    const trg_u32 first = v.start[slice ? slice - 1u : 0u];
    trg_u32 next = slice + (most > 3u ? most - 2u : 1u);

    next = next < end ? next : end;
    while (next > slice && zf_before(v, roi, next + 1u) - first > ZF_CHUNK)
        next--;
    return next;
}

/* The triplets of the points in the slices of a chunk but the first and the last; the points of
 * all are [from, end). */
TRG_GROUP_FN void zf_take_chunk(TRG_LOCAL struct zf_desk *desk, const struct zf_chunk c,
                                const struct zf_view v, const struct zf_roi roi,
                                const struct zf_par *par, trg_u32 from, trg_u32 end, trg_u32 wild)
{
    zf_packed nothing;
    trg_u32 n, first = 0u;

    nothing.x = nothing.y = nothing.z = nothing.w = ZF_NOTHING;
    zf_fill_chunk(desk, c, v, from, end);
    n = zf_order_middles(desk, c);
    while (first < n) {
        const trg_u32 last = zf_last_listed(desk, first, n);
        trg_u32 tiles;

        TRG_BARRIER();
        for (trg_u32 b = TRG_LID; b < ZF_BUCKETS; b += TRG_LSIZE)
            desk->bucket[b] = 0u;
        for (trg_u32 k = ZF_BELOW / 4u + TRG_LID; k < ZF_LISTED / 4u; k += TRG_LSIZE)
            desk->listed[k] = nothing;
        for (trg_u32 k = first + TRG_LID; k < last; k += TRG_LSIZE)
            desk->length[k] = desk->most[k] = 0u;
        TRG_BARRIER();
        ZF_EITHER(wild, zf_list_all(desk, c, first, last, par, TRG_LID, TRG_LSIZE, wild),
                  zf_list_all(desk, c, first, last, par, TRG_LID, TRG_LSIZE, 0u));
        tiles = zf_sort_tiles(desk, first, last);
        for (trg_u32 t = 0u; t < tiles; t += ZF_TILES) {
            const trg_u32 some = tiles - t < ZF_TILES ? tiles - t : ZF_TILES;

            TRG_BARRIER();
            zf_hand_out(desk, first, last, t, t + some, TRG_LID, TRG_LSIZE);
            TRG_BARRIER();
            ZF_EITHER(wild, zf_join_tiles(desk, c, first, some, roi, par, TRG_LID, TRG_LSIZE, wild),
                      zf_join_tiles(desk, c, first, some, roi, par, TRG_LID, TRG_LSIZE, 0u));
        }
        first = last;
    }
}
#endif
