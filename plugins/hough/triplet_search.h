/* SPDX-License-Identifier: Apache-2.0 */
/* triplet_search.h - what is done for one road and for one first hit. */
#ifndef HOUGH_TRIPLET_SEARCH_H
#define HOUGH_TRIPLET_SEARCH_H
#include "triplet_scan.h"

/* On words that only this group writes; a group of the host is one work-item. */
#if defined(__OPENCL_VERSION__) || defined(__CUDACC__)
#define HT_ADD(p, v) TRG_ATOMIC_ADD_GLOBAL(p, v)
#define HT_MIN(p, v) TRG_ATOMIC_MIN_GLOBAL(p, v)
#else
static inline trg_u32 ht_add(trg_u32 *p, trg_u32 v)
{
    return (*p += v) - v;
}
static inline void ht_min(trg_u32 *p, trg_u32 v)
{
    *p = *p < v ? *p : v;
}
#define HT_ADD(p, v) ht_add(p, v)
#define HT_MIN(p, v) ht_min(p, v)
#endif

/* ---------------------------------------------------------------- roads */

/* Whether its first three hits have gone to another road. */
TRG_FN trg_u32 ht_is_robbed(const struct ht_view v, const struct ht_road *r)
{
    return r->n == 3u &&
           (ht_is_used(v, r->first[0]) || ht_is_used(v, r->first[1]) || ht_is_used(v, r->first[2]));
}

TRG_FN void ht_claim(const struct ht_view v, const struct ht_road *r, trg_u32 at)
{
    HT_MIN(&v.claim[at], r->key);
    if (r->n == 3u)
        for (trg_u32 k = 0; k < 3u; k++)
            HT_MIN(&v.claim[r->first[k]], r->key);
}

struct ht_look { /* of a road, at a station */
    struct hg_line l;
    struct ht_window w;
    float most; /* how far from the line, squared */
};

TRG_FN struct ht_look ht_look_nowhere(void)
{
    struct ht_look look;

    look.l.x = look.l.y = look.l.z = look.l.tx = look.l.ty = look.most = 0.0f;
    look.w = ht_window_nowhere();
    return look;
}

/* Where a road looks for hits on a station; nowhere if it has ended. */
TRG_FN struct ht_look ht_look_from(const struct ht_view v, const struct ht_par par,
                                   struct ht_road *r, trg_u32 station, const struct ht_station s)
{
    struct ht_look look = ht_look_nowhere();
    float dz, tol;

    r->near[0] = r->near[1] = HT_NONE;
    if (ht_is_robbed(v, r)) {
        r->n = 0u;
        return look;
    }
    if (!s.has_hits || r->layer >> par.station_shift <= station || r->n == HG_TRACK_HITS)
        return look;
    look.l.x = r->x;
    look.l.y = r->y;
    look.l.z = r->z;
    look.l.tx = r->tx;
    look.l.ty = r->ty;
    dz = s.middle - r->z;
    tol = par.common.tol_mm + par.common.tol_rad * trg_fabs(dz);
    tol = tol < par.common.tol_max_mm ? tol : par.common.tol_max_mm;
    look.most = tol * tol;
    look.w =
        ht_window_of(v, station, r->x + r->tx * dz, r->y + r->ty * dz,
                     tol + ht_drift(r->x + r->tx * dz, r->y + r->ty * dz, r->tx, r->ty, s.depth));
    return look;
}

/* A road claims the hits that are nearest.  One of three hits claims these as well. */
TRG_FN void ht_claim_nearest(const struct ht_view v, const struct ht_par par, struct ht_road *r,
                             const struct ht_near near, float most)
{
    const float least = near.off0 < near.off1 ? near.off0 : near.off1, share = least / most;

    r->key = (trg_u32)((r->n == 3u ? 0.5f * (share + r->share) : share) * 2047.0f) << HT_ITEM_BITS |
             r->item;
    if (near.at0 != HT_NONE && r->layer - ht_layer(v, near.at0) <= par.common.max_gap)
        ht_claim(v, r, r->near[0] = near.at0);
    if (near.at1 != HT_NONE && r->layer - ht_layer(v, near.at1) <= par.common.max_gap)
        ht_claim(v, r, r->near[1] = near.at1);
}

/* Stores what ht_look_from and ht_claim_nearest changed. */
TRG_FN void ht_store_wish(TRG_GLOBAL struct ht_road *to, const struct ht_road *r)
{
    to->n = r->n;
    to->near[0] = r->near[0];
    to->near[1] = r->near[1];
    to->key = r->key;
}

/* A road claims the hits of a station that are near to where it goes. */
TRG_FN void ht_want(const struct ht_view v, const struct ht_par par, TRG_GLOBAL struct ht_road *to,
                    trg_u32 station, const struct ht_station s)
{
    struct ht_road r = *to;
    const struct ht_look look = ht_look_from(v, par, &r, station, s);
    struct ht_near near;

    if (look.w.n) {
        near.off0 = near.off1 = look.most;
        near.at0 = near.at1 = HT_NONE;
        ht_find_nearest(v, look.w, look.l, &near);
        ht_claim_nearest(v, par, &r, near, look.most);
    }
    ht_store_wish(to, &r);
}

TRG_FN void ht_use(const struct ht_view v, trg_u32 at)
{
    ht_set_used(v, at);
    v.taken[ht_taken_at(v, at)] = 1u;
}

/* Puts a hit behind the road's last one. */
TRG_FN void ht_append(const struct ht_view v, TRG_GLOBAL struct ht_road *r, trg_u32 at)
{
    struct ht_hit h;

    if (at == HT_NONE || r->n == HG_TRACK_HITS)
        return;
    h = ht_hit_at(v, at);
    v.link[at] = r->last;
    r->last = at;
    r->n++;
    r->x = h.x;
    r->y = h.y;
    r->z = h.z;
    r->layer = h.id >> HT_ITEM_BITS;
    ht_use(v, at);
}

/* Whether hits on stations before this one may belong to it. */
TRG_FN trg_u32 ht_goes_on(TRG_GLOBAL const struct ht_road *r, const struct ht_par par,
                          trg_u32 station)
{
    const trg_u32 lowest = station << par.station_shift;

    return r->n && (r->layer < lowest || r->layer - lowest < par.common.max_gap);
}

/* A road takes the hits that no road has claimed with a better key.  Returns whether it has changed
 * otherwise than ht_store_wish knows. */
TRG_FN trg_u32 ht_take(const struct ht_view v, TRG_GLOBAL struct ht_road *r)
{
    const float x = r->x, y = r->y, z = r->z;
    trg_u32 a = r->near[0], b = r->near[1], is_lost;
    float inv;

    if (a != HT_NONE && v.claim[a] != r->key)
        a = HT_NONE;
    if (b != HT_NONE && v.claim[b] != r->key)
        b = HT_NONE;
    if (a == HT_NONE && b == HT_NONE)
        return 0u;
    if (r->n == 3u && (v.claim[r->first[0]] != r->key || v.claim[r->first[1]] != r->key ||
                       v.claim[r->first[2]] != r->key))
        return 0u;
    is_lost = a != r->near[0] || b != r->near[1];
    if (r->n == 3u)
        for (trg_u32 k = 0; k < 3u; k++)
            ht_use(v, r->first[k]);
    if (a != HT_NONE && b != HT_NONE && ht_hit_at(v, a).z < ht_hit_at(v, b).z) {
        const trg_u32 lower = a;

        a = b;
        b = lower;
    }
    for (trg_u32 k = 0; k < 2u; k++)
        ht_append(v, r, k ? b : a);
    inv = 1.0f / (z - r->z);
    r->tx = (x - r->x) * inv;
    r->ty = (y - r->y) * inv;
    if (!is_lost)
        r->near[0] = r->near[1] = HT_NONE;
    return 1u;
}

/* Gives up what it has claimed and not got. */
TRG_FN void ht_release(const struct ht_view v, TRG_GLOBAL const struct ht_road *r)
{
    if (r->near[0] == HT_NONE && r->near[1] == HT_NONE)
        return;
    for (trg_u32 k = 0; k < 2u; k++)
        if (r->near[k] != HT_NONE)
            v.claim[r->near[k]] = HT_NONE;
    for (trg_u32 k = 0; r->n == 3u && k < 3u; k++)
        v.claim[r->first[k]] = HT_NONE;
}

/* ---------------------------------------------------------------- the first three hits */

/* A window for second hits on a station, narrower where it would hold more than `crowd` hits, were
 * they even in angle: so time grows with the hits, not with their pairs. */
TRG_FN float ht_window_in_crowd(const struct ht_view v, const struct ht_par par, trg_u32 first,
                                trg_u32 station, float window)
{
    TRG_GLOBAL const trg_u32 *begin = v.begin + station * v.buckets;
    const float n = (float)(begin[v.buckets] - begin[0]);
    const struct ht_hit h = ht_hit_at(v, first);
    const float most = par.crowd_pi * trg_sqrt(h.x * h.x + h.y * h.y);

    return window * n > most ? most / n : window;
}

/* The best second and third hit for a first one: on the next two stations; in the wide pass, where
 * there are none, two of the three on one station, or one station passed over. */
TRG_FN struct ht_triplet ht_find_triplet(const struct ht_view v, const struct ht_par par,
                                         TRG_GLOBAL const struct ht_stations *all, trg_u32 first,
                                         trg_u32 station)
{
    struct ht_triplet best;

    best.share = 1.0f;
    best.second = best.third = HT_NONE;
    if (ht_is_used(v, first))
        return best;
    for (trg_u32 way = 0; way < (par.is_wide ? 5u : 1u); way++) {
        const trg_u32 back1 = way == 1u ? 0u : way == 4u ? 2u : 1u;
        const trg_u32 back2 = way == 0u ? 2u : way < 3u ? 1u : 3u;

        if ((way == 1u || way == 3u) && best.second != HT_NONE)
            break;
        if (station >= back2)
            ht_find_on(v, par, all, first, station - back1, station - back2,
                       ht_window_in_crowd(v, par, first, station - back1,
                                          way ? par.narrow_mm : par.window_mm),
                       &best);
    }
    return best;
}

TRG_FN void ht_begin_road(const struct ht_view v, trg_u32 first, const struct ht_triplet t,
                          TRG_GLOBAL struct ht_road *to)
{
    const struct ht_hit second = ht_hit_at(v, t.second), third = ht_hit_at(v, t.third);
    const float inv = 1.0f / (second.z - third.z);
    struct ht_road r;

    r.x = third.x;
    r.y = third.y;
    r.z = third.z;
    r.tx = (second.x - r.x) * inv;
    r.ty = (second.y - r.y) * inv;
    r.share = t.share;
    r.n = 3u;
    r.layer = third.id >> HT_ITEM_BITS;
    r.first[0] = first;
    r.first[1] = t.second;
    r.first[2] = r.last = t.third;
    r.item = ht_item(v, first);
    r.near[0] = r.near[1] = HT_NONE;
    r.key = HT_NONE;
    *to = r;
}

struct ht_begun { /* roads of an RoI, those that the next station sees, and their counts in shared
                     memory */
    TRG_GLOBAL struct ht_road *road;
    TRG_GLOBAL trg_u32 *next;
    TRG_LOCAL trg_u32 *n_roads, *n_next;
};

TRG_FN void ht_add_road(const struct ht_view v, const struct ht_begun begun, trg_u32 first,
                        const struct ht_triplet t)
{
    const trg_u32 at = TRG_ATOMIC_ADD_LOCAL(begun.n_roads, 1u);

    ht_begin_road(v, first, t, &begun.road[at]);
    begun.next[TRG_ATOMIC_ADD_LOCAL(begun.n_next, 1u)] = at;
}
#endif
