/* SPDX-License-Identifier: Apache-2.0 */
/* triplet_warp.h - the first three hits of roads in CUDA: a warp looks for those of 32 first hits
 * together.  First hits have windows of different sizes and few pairs in them, and few pairs have a
 * third hit near their line, so work-items with one first hit each would wait for each other most
 * of the time.  Instead the free ones among the hits are listed, their windows are gone through as
 * one, the pairs that may be on a track are listed, and each work-item takes one of these.  The
 * answer is that of ht_find_triplet.  Included by triplet.kernel.c. */
#ifndef HOUGH_TRIPLET_WARP_H
#define HOUGH_TRIPLET_WARP_H
#include "triplet_search.h"

#define HT_WARP     32u
#define HT_ALL      0xffffffffu
#define HT_PAIRS    96u /* that are listed at a time */
#define HT_NOTHING  0xffffffffffffffffull
#define HT_LANE     (TRG_LID & (HT_WARP - 1u))
#define HT_LOWER(m) ((trg_u32)__popc((m) & ((1u << HT_LANE) - 1u))) /* lanes below this one */

struct ht_desk { /* of a warp, in shared memory */
    trg_u64 best[HT_WARP];
    trg_u32 first[2u * HT_WARP]; /* free hits that wait to be looked at */
    trg_u32 pair[HT_PAIRS];      /* lane of the first hit << HT_ITEM_BITS | place of the second */
};

struct ht_start { /* what a lane looks at */
    float x, y, z;
    trg_u32 first, is_sought;
};

/* Of the lanes with a triplet those whose first hit is that of lane `owner` vote for the best. */
TRG_FN void ht_warp_vote(const struct ht_view v, struct ht_desk *d, const struct ht_triplet mine,
                         trg_u32 owner, struct ht_triplet *best)
{
    const trg_u32 has = mine.second != HT_NONE;
    const trg_u64 key = has ? (trg_u64)trg_as_u32(mine.share) << 32 | v.id[mine.third] : HT_NOTHING;
    struct ht_triplet t;
    trg_u64 from;
    trg_u32 wins;

    d->best[HT_LANE] = HT_NOTHING;
    __syncwarp();
    if (has)
        atomicMin(&d->best[owner], key);
    __syncwarp();
    wins = has && d->best[owner] == key;
    __syncwarp();
    d->best[HT_LANE] = HT_NOTHING;
    __syncwarp();
    if (wins) /* more than one: with the same third hit, equally near */
        atomicMin(&d->best[owner], (trg_u64)v.id[mine.second] << 5 | HT_LANE);
    __syncwarp();
    from = d->best[HT_LANE];
    t.share = __shfl_sync(HT_ALL, mine.share, (trg_u32)from & (HT_WARP - 1u));
    t.second = __shfl_sync(HT_ALL, mine.second, (trg_u32)from & (HT_WARP - 1u));
    t.third = __shfl_sync(HT_ALL, mine.third, (trg_u32)from & (HT_WARP - 1u));
    if (from != HT_NOTHING && ht_is_better(v, best, t.share, t.second, t.third))
        *best = t;
    __syncwarp();
}

/* Looks for the third hits of the n pairs that are listed. */
TRG_FN void ht_warp_thirds(const struct ht_view v, const struct ht_par par, struct ht_desk *d,
                           const struct ht_start start, trg_u32 n, trg_u32 station,
                           const struct ht_station s, struct ht_triplet *best)
{
    for (trg_u32 base = 0; base < n; base += HT_WARP) {
        const trg_u32 has = base + HT_LANE < n, pair = has ? d->pair[base + HT_LANE] : 0u;
        const trg_u32 owner = pair >> HT_ITEM_BITS, second = pair & HT_ITEM;
        const float x0 = __shfl_sync(HT_ALL, start.x, owner);
        const float y0 = __shfl_sync(HT_ALL, start.y, owner);
        const float z0 = __shfl_sync(HT_ALL, start.z, owner);
        struct ht_triplet mine;

        mine.share = 1.0f;
        mine.second = mine.third = HT_NONE;
        if (has)
            ht_find_third(v, par, hg_through(v.x[second], v.y[second], v.z[second], x0, y0, z0),
                          second, station, s, &mine);
        ht_warp_vote(v, d, mine, owner, best);
    }
}

/* Of the lanes: the sum of `mine` up to each, its own included. */
TRG_FN trg_u32 ht_warp_scan(trg_u32 mine)
{
    for (trg_u32 step = 1u; step < HT_WARP; step *= 2u) {
        const trg_u32 before = __shfl_up_sync(HT_ALL, mine, step);

        mine += HT_LANE >= step ? before : 0u;
    }
    return mine;
}

/* The lane whose part has number p, of parts that end where `end` says; the last one behind all. */
TRG_FN trg_u32 ht_warp_owner(trg_u32 end, trg_u32 p)
{
    trg_u32 owner = 0u;

    for (trg_u32 step = HT_WARP / 2u; step; step /= 2u)
        owner += p >= __shfl_sync(HT_ALL, end, owner + step - 1u) ? step : 0u;
    return owner;
}

struct ht_part {       /* a lane's window among the windows of all lanes, one behind the other */
    trg_u32 end, turn; /* hits have numbers up to `end` */
    trg_u32 first, second; /* to add to a number below `turn`; to others, for the place */
    float window;          /* for second hits of this lane's first hit */
    trg_u32 layer;         /* of that */
};

TRG_FN struct ht_part ht_warp_part(const struct ht_view v, const struct ht_par par,
                                   const struct ht_start start, trg_u32 station, float widest)
{
    struct ht_part part;
    struct ht_window w;

    w.n = w.n_first = w.first = w.second = 0u;
    part.window = 0.0f;
    part.layer = 0u;
    if (start.is_sought) {
        part.window = ht_window_in_crowd(v, par, start.first, station, widest);
        part.layer = ht_layer(v, start.first);
        w = ht_window_of(v, station, start.x, start.y, part.window);
    }
    part.end = ht_warp_scan(w.n);
    part.turn = part.end - w.n + w.n_first;
    part.first = w.first + w.n - part.end;
    part.second = w.second - part.turn;
    return part;
}

/* Lists those of 32 hits, from number `base` of all windows on, that may be the second one of a
 * pair.  Returns how many are listed then. */
TRG_FN trg_u32 ht_warp_list_pairs(const struct ht_view v, const struct ht_par par,
                                  struct ht_desk *d, const struct ht_start start,
                                  const struct ht_part part, trg_u32 base, trg_u32 total, trg_u32 n)
{
    const trg_u32 p = base + HT_LANE, owner = ht_warp_owner(part.end, p);
    const trg_u32 turn = __shfl_sync(HT_ALL, part.turn, owner);
    const trg_u32 first = __shfl_sync(HT_ALL, part.first, owner);
    const trg_u32 second = __shfl_sync(HT_ALL, part.second, owner);
    const trg_u32 at = p < total ? p + (p < turn ? first : second) : 0u;
    const float x = v.x[at], y = v.y[at], z = v.z[at];
    const float dx = __shfl_sync(HT_ALL, start.x, owner) - x;
    const float dy = __shfl_sync(HT_ALL, start.y, owner) - y;
    const float dz = __shfl_sync(HT_ALL, start.z, owner) - z;
    const float window = __shfl_sync(HT_ALL, part.window, owner);
    const trg_u32 layer = __shfl_sync(HT_ALL, part.layer, owner);
    const trg_u32 may = p < total && ht_may_pair(par.common, window, dx, dy, dz, x, y, z) &&
                        ht_layer(v, at) != layer;
    const trg_u32 lanes = __ballot_sync(HT_ALL, may);

    if (may)
        d->pair[n + HT_LOWER(lanes)] = owner << HT_ITEM_BITS | at;
    return n + (trg_u32)__popc(lanes);
}

/* ht_find_on. */
TRG_FN void ht_warp_find_on(const struct ht_view v, const struct ht_par par,
                            TRG_GLOBAL const struct ht_stations *all, struct ht_desk *d,
                            const struct ht_start start, trg_u32 station1, trg_u32 station2,
                            float widest, struct ht_triplet *best)
{
    const struct ht_station s = ht_station_of(all, station2);
    struct ht_part part;
    trg_u32 total;

    if (!s.has_hits)
        return;
    part = ht_warp_part(v, par, start, station1, widest);
    total = __shfl_sync(HT_ALL, part.end, HT_WARP - 1u);
    for (trg_u32 base = 0u; base < total;) {
        trg_u32 n = 0u;

        for (; n + HT_WARP <= HT_PAIRS && base < total; base += HT_WARP)
            n = ht_warp_list_pairs(v, par, d, start, part, base, total, n);
        __syncwarp();
        ht_warp_thirds(v, par, d, start, n, station2, s, best);
    }
}

/* ht_find_triplet, for the first hits of all lanes; HT_NONE: a lane has none. */
TRG_FN struct ht_triplet ht_warp_find_triplets(const struct ht_view v, const struct ht_par par,
                                               TRG_GLOBAL const struct ht_stations *all,
                                               struct ht_desk *d, trg_u32 first, trg_u32 station)
{
    struct ht_triplet best;
    struct ht_start start;

    best.share = 1.0f;
    best.second = best.third = HT_NONE;
    start.first = first;
    start.is_sought = first != HT_NONE;
    start.x = start.is_sought ? v.x[first] : 0.0f;
    start.y = start.is_sought ? v.y[first] : 0.0f;
    start.z = start.is_sought ? v.z[first] : 0.0f;
    for (trg_u32 way = 0; way < (par.is_wide ? 5u : 1u); way++) {
        const trg_u32 back1 = way == 1u ? 0u : way == 4u ? 2u : 1u;
        const trg_u32 back2 = way == 0u ? 2u : way < 3u ? 1u : 3u;

        if ((way == 1u || way == 3u) && best.second != HT_NONE)
            start.is_sought = 0u;
        if (station >= back2 && __any_sync(HT_ALL, start.is_sought))
            ht_warp_find_on(v, par, all, d, start, station - back1, station - back2,
                            way ? par.narrow_mm : par.window_mm, &best);
    }
    return best;
}

/* Lists free hits of *from .. to, a warp's width at a time, until the list is full or there are no
 * more; returns how many are listed. */
TRG_FN trg_u32 ht_warp_list(const struct ht_view v, struct ht_desk *d, trg_u32 *from, trg_u32 to,
                            trg_u32 n)
{
    for (; n < HT_WARP && *from < to; *from += HT_WARP) {
        const trg_u32 at = *from + HT_LANE, is_free = at < to && v.x[at] < HT_USED;
        const trg_u32 lanes = __ballot_sync(HT_ALL, is_free);

        if (is_free)
            d->first[n + HT_LOWER(lanes)] = at;
        n += (trg_u32)__popc(lanes);
    }
    __syncwarp();
    return n;
}

/* Takes up to 32 hits from the list of n, one for each lane; the others move up. */
TRG_FN trg_u32 ht_warp_next(struct ht_desk *d, trg_u32 n)
{
    const trg_u32 first = HT_LANE < n ? d->first[HT_LANE] : HT_NONE;
    const trg_u32 later = d->first[HT_WARP + HT_LANE];

    __syncwarp();
    d->first[HT_LANE] = later;
    __syncwarp();
    return first;
}

/* Begins the roads of this warp's part of the hits from .. to of a station. */
TRG_FN void ht_warp_begin_roads(const struct ht_view v, const struct ht_par par,
                                TRG_GLOBAL const struct ht_stations *all, struct ht_desk *d,
                                trg_u32 from, trg_u32 to, trg_u32 station,
                                TRG_GLOBAL struct ht_road *road, TRG_LOCAL trg_u32 *n_roads,
                                TRG_GLOBAL trg_u32 *next, TRG_LOCAL trg_u32 *n_next)
{
    const trg_u32 warps = TRG_LSIZE / HT_WARP, part = (to - from + warps - 1u) / warps;
    trg_u32 at = from + TRG_LID / HT_WARP * part, n = 0u;
    const trg_u32 end = at + part < to ? at + part : to;

    while ((n = ht_warp_list(v, d, &at, end, n)) > 0u) {
        const trg_u32 first = ht_warp_next(d, n);
        const struct ht_triplet t = ht_warp_find_triplets(v, par, all, d, first, station);

        n = n < HT_WARP ? 0u : n - HT_WARP;
        if (t.second != HT_NONE) {
            const trg_u32 to_road = TRG_ATOMIC_ADD_LOCAL(n_roads, 1u);

            ht_begin_road(v, first, t, &road[to_road]);
            next[TRG_ATOMIC_ADD_LOCAL(n_next, 1u)] = to_road;
        }
        __syncwarp();
    }
}
#endif
