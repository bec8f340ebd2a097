/* SPDX-License-Identifier: Apache-2.0 */
/* triplet_warp.h - the search by triplet in CUDA: a warp looks for the hits of 32 roads, or for the
 * triplets of 32 first hits, together.  Their windows differ in size and few hits in them are near
 * enough, so work-items with one road or first hit each would wait for each other most of the time.
 * Instead the windows of all lanes are gone through as one, 32 hits at a time, and what is near is
 * listed.
 *
 * A station has few first hits that find a triplet in the wide pass, and all others wait at its
 * barriers. So the best triplets of all hits are found before; a first hit looks again where
 * another road has one of the others by then.
 *
 * The answers are those of ht_want and ht_find_triplet.  Included by triplet.kernel.c. */
#ifndef HOUGH_TRIPLET_WARP_H
#define HOUGH_TRIPLET_WARP_H
#include "trigd/common/group.h"
#include "triplet_search.h"

#define HT_WARP     32u
#define HT_ALL      0xffffffffu
#define HT_PAIRS    96u            /* that are listed at a time */
#define HT_FOUND    (2u * HT_WARP) /* the same of triplets */
#define HT_NOTHING  0xffffffffffffffffull
#define HT_LANE     (TRG_LID & (HT_WARP - 1u))
#define HT_LOWER(m) ((trg_u32)__popc((m) & ((1u << HT_LANE) - 1u))) /* lanes below this one */

/* Of a warp, in shared memory.  A pair is the lane of its first hit << HT_ITEM_BITS | the place of
 * its second one. */
struct ht_desk {
    trg_u64 best[2u * HT_WARP];
    trg_u32 first[2u * HT_WARP]; /* hits that wait to be looked at */
    trg_u32 pair[HT_PAIRS];
    trg_u32 found[HT_FOUND], third[HT_FOUND]; /* triplets: pair, third hit and how near that is */
    float share[HT_FOUND];
    trg_u8 owner[2][HT_WARP]; /* lanes that have a window: of pairs or roads, of third hits */
};

struct ht_warp { /* what a warp works on: an RoI, and its desk */
    struct ht_view v;
    struct ht_par par;
    TRG_GLOBAL const struct ht_stations *all;
    struct ht_desk *d;
};

struct ht_start { /* what a lane looks at */
    float x, y, z;
    float window; /* for second hits */
    trg_u32 first, layer, station, is_sought;
};

struct ht_pair { /* of a lane */
    struct hg_line l;
    trg_u32 hits;  /* as on the desk */
    trg_u32 layer; /* of the second one */
};

/* ---------------------------------------------------------------- windows of all lanes as one */

struct ht_part {          /* a lane's window among the windows of all lanes, one behind the other */
    trg_u32 n, end, turn; /* its n hits have numbers up to `end` */
    trg_u32 first, second; /* to add to a number below `turn`; to others, for the place */
    trg_u8 *owner;         /* of the warp: lanes that have hits */
};

TRG_FN struct ht_part ht_warp_join(const struct ht_window w, trg_u8 *owner)
{
    const trg_u32 lanes = __ballot_sync(HT_ALL, w.n > 0u);
    struct ht_part part;

    if (w.n)
        owner[HT_LOWER(lanes)] = (trg_u8)HT_LANE;
    __syncwarp();
    part.owner = owner;
    part.n = w.n;
    part.end = trg_warp_scan_(HT_ALL, HT_LANE, w.n);
    part.turn = part.end - w.n + w.n_first;
    part.first = w.first + w.n - part.end;
    part.second = w.second - part.turn;
    return part;
}

/* The lane that has number base + HT_LANE; the last of them behind all numbers.  `before`: parts
 * that begin before `base`, and then before the next 32. */
TRG_FN trg_u32 ht_warp_owner(const struct ht_part part, trg_u32 base, trg_u32 *before)
{
    const trg_u32 at = part.end - part.n - base;
    const trg_u32 begin = trg_warp_or_(part.n && at < HT_WARP ? 1u << at : 0u);
    const trg_u32 rank = *before + (trg_u32)__popc(begin & ((2u << HT_LANE) - 1u)) - 1u;

    *before += (trg_u32)__popc(begin);
    return part.owner[rank];
}

/* The place of number p; that is in the part of this lane. */
TRG_FN trg_u32 ht_warp_place(const struct ht_part part, trg_u32 p, trg_u32 owner)
{
    const trg_u32 turn = __shfl_sync(HT_ALL, part.turn, owner);
    const trg_u32 first = __shfl_sync(HT_ALL, part.first, owner);
    const trg_u32 second = __shfl_sync(HT_ALL, part.second, owner);

    return p + (p < turn ? first : second);
}

/* The line of a lane. */
TRG_FN struct hg_line ht_warp_line(const struct hg_line l, trg_u32 lane)
{
    struct hg_line its;

    its.x = __shfl_sync(HT_ALL, l.x, lane);
    its.y = __shfl_sync(HT_ALL, l.y, lane);
    its.z = __shfl_sync(HT_ALL, l.z, lane);
    its.tx = __shfl_sync(HT_ALL, l.tx, lane);
    its.ty = __shfl_sync(HT_ALL, l.ty, lane);
    return its;
}

/* ---------------------------------------------------------------- triplets */

/* Of the n triplets that are listed the first 32 vote for the best ones of their first hits; the
 * others move up.  Returns how many are left. */
TRG_FN trg_u32 ht_warp_vote(const struct ht_warp w, trg_u32 n, struct ht_triplet *best)
{
    struct ht_desk *d = w.d;
    const trg_u32 has = HT_LANE < n, pair = d->found[HT_LANE], third = d->third[HT_LANE];
    const trg_u32 owner = has ? pair >> HT_ITEM_BITS : 0u, second = pair & HT_ITEM;
    const float share = d->share[HT_LANE];
    const trg_u64 key = has ? (trg_u64)trg_as_u32(share) << 32 | ht_id(w.v, third) : HT_NOTHING;
    struct ht_triplet t;
    trg_u64 from;
    trg_u32 wins;

    d->best[HT_LANE] = HT_NOTHING;
    __syncwarp();
    d->found[HT_LANE] = d->found[HT_WARP + HT_LANE];
    d->third[HT_LANE] = d->third[HT_WARP + HT_LANE];
    d->share[HT_LANE] = d->share[HT_WARP + HT_LANE];
    if (has)
        atomicMin(&d->best[owner], key);
    __syncwarp();
    wins = has && d->best[owner] == key;
    __syncwarp();
    d->best[HT_LANE] = HT_NOTHING;
    __syncwarp();
    if (wins) /* more than one: with the same third hit, equally near */
        atomicMin(&d->best[owner], (trg_u64)ht_id(w.v, second) << 5 | HT_LANE);
    __syncwarp();
    from = d->best[HT_LANE];
    t.share = __shfl_sync(HT_ALL, share, (trg_u32)from & (HT_WARP - 1u));
    t.second = __shfl_sync(HT_ALL, second, (trg_u32)from & (HT_WARP - 1u));
    t.third = __shfl_sync(HT_ALL, third, (trg_u32)from & (HT_WARP - 1u));
    if (from != HT_NOTHING && ht_is_better(w.v, best, t.share, t.second, t.third))
        *best = t;
    __syncwarp();
    return n > HT_WARP ? n - HT_WARP : 0u;
}

/* Lists those of 32 hits, from number `base` of all windows on, that are near to the line of their
 * lane's pair.  Returns how many triplets are listed then. */
TRG_FN trg_u32 ht_warp_list_thirds(const struct ht_warp w, const struct ht_pair pair,
                                   const struct ht_part part, trg_u32 base, trg_u32 total,
                                   trg_u32 n, trg_u32 *before)
{
    const trg_u32 p = base + HT_LANE, owner = ht_warp_owner(part, base, before);
    const trg_u32 place = ht_warp_place(part, p, owner), at = p < total ? place : 0u;
    const trg_u32 hits = __shfl_sync(HT_ALL, pair.hits, owner);
    const trg_u32 layer = __shfl_sync(HT_ALL, pair.layer, owner);
    const struct ht_hit h = ht_hit_at(w.v, at);
    const struct hg_line its = ht_warp_line(pair.l, owner);
    const float dz = its.z - h.z, tol = ht_third_tolerance(w.par, dz), most = tol * tol;
    const float off = hg_off2(its, h.x, h.y, h.z);
    const trg_u32 is_near = p < total && off <= most && dz > 0.0f &&
                            h.x * its.x + h.y * its.y > 0.0f && h.id >> HT_ITEM_BITS != layer;
    const trg_u32 lanes = __ballot_sync(HT_ALL, is_near);

    if (is_near) {
        const trg_u32 to = n + HT_LOWER(lanes);

        w.d->found[to] = hits;
        w.d->third[to] = at;
        w.d->share[to] = off / most;
    }
    __syncwarp();
    return n + (trg_u32)__popc(lanes);
}

/* Looks for the third hits of the n pairs that are listed, `back` stations before their first. */
TRG_FN void ht_warp_thirds(const struct ht_warp w, const struct ht_start start, trg_u32 n,
                           trg_u32 back, struct ht_triplet *best)
{
    trg_u32 n_found = 0u;

    for (trg_u32 base = 0; base < n; base += HT_WARP) {
        const trg_u32 has = base + HT_LANE < n, hits = has ? w.d->pair[base + HT_LANE] : 0u;
        const trg_u32 owner = hits >> HT_ITEM_BITS;
        const float x0 = __shfl_sync(HT_ALL, start.x, owner);
        const float y0 = __shfl_sync(HT_ALL, start.y, owner);
        const float z0 = __shfl_sync(HT_ALL, start.z, owner);
        const trg_u32 station = __shfl_sync(HT_ALL, start.station, owner) - back;
        struct ht_window window = ht_window_nowhere();
        struct ht_part part;
        struct ht_pair pair;
        trg_u32 total, before = 0u;

        pair.hits = hits;
        pair.layer = 0u;
        pair.l.x = pair.l.y = pair.l.z = pair.l.tx = pair.l.ty = 0.0f;
        if (has) {
            const struct ht_hit h = ht_hit_at(w.v, hits & HT_ITEM);

            pair.layer = h.id >> HT_ITEM_BITS;
            pair.l = hg_through(h.x, h.y, h.z, x0, y0, z0);
            window = ht_third_window(w.v, w.par, pair.l, station, ht_station_of(w.all, station));
        }
        part = ht_warp_join(window, w.d->owner[1]);
        total = __shfl_sync(HT_ALL, part.end, HT_WARP - 1u);
        for (trg_u32 p = 0u; p < total; p += HT_WARP) {
            n_found = ht_warp_list_thirds(w, pair, part, p, total, n_found, &before);
            if (n_found >= HT_WARP)
                n_found = ht_warp_vote(w, n_found, best);
        }
    }
    if (n_found)
        ht_warp_vote(w, n_found, best);
}

/* Lists those of 32 hits, from number `base` of all windows on, that may be the second one of a
 * pair.  Returns how many are listed then. */
TRG_FN trg_u32 ht_warp_list_pairs(const struct ht_warp w, const struct ht_start start,
                                  const struct ht_part part, trg_u32 base, trg_u32 total, trg_u32 n,
                                  trg_u32 *before)
{
    const trg_u32 p = base + HT_LANE, owner = ht_warp_owner(part, base, before);
    const trg_u32 place = ht_warp_place(part, p, owner), at = p < total ? place : 0u;
    const struct ht_hit h = ht_hit_at(w.v, at);
    const float dx = __shfl_sync(HT_ALL, start.x, owner) - h.x;
    const float dy = __shfl_sync(HT_ALL, start.y, owner) - h.y;
    const float dz = __shfl_sync(HT_ALL, start.z, owner) - h.z;
    const float window = __shfl_sync(HT_ALL, start.window, owner);
    const trg_u32 layer = __shfl_sync(HT_ALL, start.layer, owner);
    const trg_u32 may = p < total && ht_may_pair(w.par.common, window, dx, dy, dz, h.x, h.y, h.z) &&
                        h.id >> HT_ITEM_BITS != layer;
    const trg_u32 lanes = __ballot_sync(HT_ALL, may);

    if (may)
        w.d->pair[n + HT_LOWER(lanes)] = owner << HT_ITEM_BITS | at;
    return n + (trg_u32)__popc(lanes);
}

/* ht_find_on, so many stations before the first hits. */
TRG_FN void ht_warp_find_on(const struct ht_warp w, struct ht_start start, trg_u32 back1,
                            trg_u32 back2, float widest, struct ht_triplet *best)
{
    const trg_u32 station = start.station - back1;
    struct ht_window window = ht_window_nowhere();
    struct ht_part part;
    trg_u32 total, before = 0u;

    start.window = 0.0f;
    if (start.is_sought) {
        start.window = ht_window_in_crowd(w.v, w.par, start.first, station, widest);
        window = ht_window_of(w.v, station, start.x, start.y, start.window);
    }
    part = ht_warp_join(window, w.d->owner[0]);
    total = __shfl_sync(HT_ALL, part.end, HT_WARP - 1u);
    for (trg_u32 base = 0u; base < total;) {
        trg_u32 n = 0u;

        for (; n + HT_WARP <= HT_PAIRS && base < total; base += HT_WARP)
            n = ht_warp_list_pairs(w, start, part, base, total, n, &before);
        __syncwarp();
        ht_warp_thirds(w, start, n, back2, best);
    }
}

/* ht_find_triplet, for the first hits of all lanes, on any stations; HT_NONE: a lane has none. */
TRG_FN struct ht_triplet ht_warp_find_triplets(const struct ht_warp w, trg_u32 first)
{
    const trg_u32 has = first != HT_NONE;
    const struct ht_hit h = ht_hit_at(w.v, has ? first : 0u);
    struct ht_triplet best;
    struct ht_start start;

    best.share = 1.0f;
    best.second = best.third = HT_NONE;
    start.first = first;
    start.layer = h.id >> HT_ITEM_BITS;
    start.station = start.layer >> w.par.station_shift;
    start.x = h.x;
    start.y = h.y;
    start.z = h.z;
    for (trg_u32 way = 0, is_over = !has; way < (w.par.is_wide ? 5u : 1u); way++) {
        const trg_u32 back1 = way == 1u ? 0u : way == 4u ? 2u : 1u;
        const trg_u32 back2 = way == 0u ? 2u : way < 3u ? 1u : 3u;

        is_over |= (way == 1u || way == 3u) && best.second != HT_NONE;
        start.is_sought = !is_over && start.station >= back2 &&
                          ht_station_of(w.all, start.station - back2).has_hits;
        if (__any_sync(HT_ALL, start.is_sought))
            ht_warp_find_on(w, start, back1, back2, way ? w.par.narrow_mm : w.par.window_mm, &best);
    }
    return best;
}

/* The best triplets of all n hits while none of them is used, a part of them for each warp;
 * n_seeds: how many there are, by station. */
TRG_FN void ht_warp_seed(const struct ht_warp w, trg_u32 n, TRG_LOCAL trg_u32 *n_seeds)
{
    for (trg_u32 base = TRG_LID - HT_LANE; base < n; base += TRG_LSIZE) {
        const trg_u32 at = base + HT_LANE, first = at < n ? at : HT_NONE;
        const struct ht_triplet t = ht_warp_find_triplets(w, first);

        if (at < n) {
            w.v.second[at] = t.second;
            w.v.third[at] = t.third;
            w.v.share[at] = t.share;
            if (t.second != HT_NONE)
                TRG_ATOMIC_ADD_LOCAL(&n_seeds[ht_layer(w.v, at) >> w.par.station_shift], 1u);
        }
    }
}

/* Lists the free hits from *from on that look for a triplet, until the list is full or there are no
 * more; returns how many are listed.  Where triplets were looked for before, a hit looks again if
 * another road has a hit of its triplet; otherwise that is the best one still, for no hit gets free
 * during a pass, and begins a road at once. */
TRG_FN trg_u32 ht_warp_list(const struct ht_warp w, trg_u32 *from, trg_u32 to, trg_u32 n,
                            const struct ht_begun begun)
{
    for (; n < HT_WARP && *from < to; *from += HT_WARP) {
        const trg_u32 at = *from + HT_LANE;
        trg_u32 looks = at < to && !ht_is_used(w.v, at), lanes;

        if (looks && w.par.is_wide) {
            struct ht_triplet t;

            t.second = w.v.second[at];
            looks = 0u;
            if (t.second != HT_NONE) {
                t.third = w.v.third[at];
                t.share = w.v.share[at];
                looks = ht_is_used(w.v, t.second) || ht_is_used(w.v, t.third);
                if (!looks)
                    ht_add_road(w.v, begun, at, t);
            }
        }
        lanes = __ballot_sync(HT_ALL, looks);
        if (looks)
            w.d->first[n + HT_LOWER(lanes)] = at;
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
TRG_FN void ht_warp_begin_roads(const struct ht_warp w, trg_u32 from, trg_u32 to,
                                const struct ht_begun begun)
{
    const trg_u32 warps = TRG_LSIZE / HT_WARP, part = (to - from + warps - 1u) / warps;
    trg_u32 at = from + TRG_LID / HT_WARP * part, n = 0u;
    const trg_u32 end = at + part < to ? at + part : to;

    while ((n = ht_warp_list(w, &at, end, n, begun)) > 0u) {
        const trg_u32 first = ht_warp_next(w.d, n);
        const struct ht_triplet t = ht_warp_find_triplets(w, first);

        n = n < HT_WARP ? 0u : n - HT_WARP;
        if (t.second != HT_NONE)
            ht_add_road(w.v, begun, first, t);
        __syncwarp();
    }
}

/* ---------------------------------------------------------------- roads */

/* Those of 32 hits, from number `base` of all windows on, that are near to the line of their lane's
 * road try to be the nearest one of their kind of layer: d->best, and their places in d->found. */
TRG_FN void ht_warp_nearest(const struct ht_warp w, const struct ht_look look,
                            const struct ht_part part, trg_u32 base, trg_u32 total, trg_u32 *before)
{
    const trg_u32 p = base + HT_LANE, owner = ht_warp_owner(part, base, before);
    const trg_u32 place = ht_warp_place(part, p, owner), at = p < total ? place : 0u;
    const float most = __shfl_sync(HT_ALL, look.most, owner);
    const struct ht_hit h = ht_hit_at(w.v, at);
    const struct hg_line its = ht_warp_line(look.l, owner);
    const float off = hg_off2(its, h.x, h.y, h.z);
    const trg_u32 is_near = p < total && off <= most && h.x * its.x + h.y * its.y > 0.0f;
    const trg_u32 to = owner + (h.id >> HT_ITEM_BITS & 1u) * HT_WARP;
    const trg_u64 key = (trg_u64)trg_as_u32(off) << 32 | h.id;

    if (is_near)
        atomicMin(&w.d->best[to], key);
    __syncwarp();
    if (is_near && w.d->best[to] == key)
        w.d->found[to] = at;
    __syncwarp();
}

/* The 32 roads of a warp look for hits of a station and claim them; a lane without one has 0. */
TRG_FN void ht_warp_want(const struct ht_warp w, trg_u32 has, struct ht_road *r, trg_u32 station,
                         const struct ht_station s)
{
    struct ht_desk *d = w.d;
    const struct ht_look look = has ? ht_look_from(w.v, w.par, r, station, s) : ht_look_nowhere();
    const struct ht_part part = ht_warp_join(look.w, d->owner[0]);
    const trg_u32 total = __shfl_sync(HT_ALL, part.end, HT_WARP - 1u);
    trg_u32 before = 0u;
    struct ht_near near;
    trg_u64 best0, best1;

    d->best[HT_LANE] = d->best[HT_WARP + HT_LANE] = HT_NOTHING;
    __syncwarp();
    for (trg_u32 p = 0u; p < total; p += HT_WARP)
        ht_warp_nearest(w, look, part, p, total, &before);
    best0 = d->best[HT_LANE];
    best1 = d->best[HT_WARP + HT_LANE];
    near.at0 = best0 != HT_NOTHING ? d->found[HT_LANE] : HT_NONE;
    near.at1 = best1 != HT_NOTHING ? d->found[HT_WARP + HT_LANE] : HT_NONE;
    near.off0 = best0 != HT_NOTHING ? trg_as_f32((trg_u32)(best0 >> 32)) : look.most;
    near.off1 = best1 != HT_NOTHING ? trg_as_f32((trg_u32)(best1 >> 32)) : look.most;
    if (look.w.n)
        ht_claim_nearest(w.v, w.par, r, near, look.most);
    __syncwarp();
}

/* ht_follow_on of as many roads as the group has work-items, at most: each keeps its own. */
TRG_FN void ht_warp_follow_few(const struct ht_warp w, struct ht_road *road, const trg_u32 *now,
                               trg_u32 n, trg_u32 station, const struct ht_station s, trg_u32 *next,
                               trg_u32 *n_next)
{
    const trg_u32 k = TRG_LID / HT_WARP + HT_LANE * (TRG_LSIZE / HT_WARP), has = k < n;
    const trg_u32 at = now[has ? k : 0u];
    struct ht_road r = road[at];
    const trg_u32 n_hits = r.n;

    if (TRG_LID / HT_WARP < n)
        ht_warp_want(w, has, &r, station, s);
    TRG_BARRIER();
    if (has) {
        if (ht_take(w.v, &r))
            road[at] = r;
        else if (r.n != n_hits)
            road[at].n = r.n;
        if (ht_goes_on(&r, w.par, station))
            next[atomicAdd(n_next, 1u)] = at;
    }
    TRG_BARRIER();
    if (has)
        ht_release(w.v, &r);
}

/* ht_follow_on, of more. */
TRG_FN void ht_warp_follow_many(const struct ht_warp w, struct ht_road *road, const trg_u32 *now,
                                trg_u32 n, trg_u32 station, const struct ht_station s,
                                trg_u32 *next, trg_u32 *n_next)
{
    const trg_u32 warps = TRG_LSIZE / HT_WARP;

    for (trg_u32 base = TRG_LID / HT_WARP; base < n; base += TRG_LSIZE) {
        const trg_u32 k = base + HT_LANE * warps, has = k < n;
        struct ht_road *to = &road[now[has ? k : base]];
        struct ht_road r = *to;

        ht_warp_want(w, has, &r, station, s);
        if (has)
            ht_store_wish(to, &r);
    }
    TRG_BARRIER();
    for (trg_u32 k = TRG_LID; k < n; k += TRG_LSIZE) {
        const trg_u32 at = now[k];
        struct ht_road r = road[at];

        if (ht_take(w.v, &r))
            road[at] = r;
        if (ht_goes_on(&r, w.par, station))
            next[atomicAdd(n_next, 1u)] = at;
    }
    TRG_BARRIER();
    for (trg_u32 k = TRG_LID; k < n; k += TRG_LSIZE)
        ht_release(w.v, &road[now[k]]);
}

/* Roads take hits of a station. */
TRG_FN void ht_warp_follow_on(const struct ht_warp w, struct ht_road *road, const trg_u32 *now,
                              trg_u32 n, trg_u32 station, const struct ht_station s, trg_u32 *next,
                              trg_u32 *n_next)
{
    if (!n)
        TRG_BARRIER(); /* stations that were passed over had none */
    else if (n <= TRG_LSIZE)
        ht_warp_follow_few(w, road, now, n, station, s, next, n_next);
    else
        ht_warp_follow_many(w, road, now, n, station, s, next, n_next);
}
#endif
