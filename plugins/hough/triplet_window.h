/* SPDX-License-Identifier: Apache-2.0 */
/* triplet_window.h - the hits of an RoI in order of station and angle, and windows of them.  Order
 * within a bucket may differ between devices: nothing depends on it. */
#ifndef HOUGH_TRIPLET_WINDOW_H
#define HOUGH_TRIPLET_WINDOW_H
#include "line.h"
#include "triplet.h"

struct ht_hit { /* x and y from the beam line */
    float x, y, z;
    trg_u32 id; /* layer << HT_ITEM_BITS | number in the RoI */
};

struct ht_view { /* an RoI's columns */
#if defined(__CUDACC__)
    TRG_GLOBAL float4 *hit; /* HT_X to HT_ID, hit after hit: one access where hits are far apart */
#else
    TRG_GLOBAL float *x, *y, *z;
    TRG_GLOBAL trg_u32 *id;
#endif
    TRG_GLOBAL float *share;
    TRG_GLOBAL trg_u32 *claim, *link, *taken, *head, *second, *third;
    TRG_GLOBAL trg_u32 *begin; /* of each bucket, station after station; and the end */
    trg_u32 buckets;           /* of a station, a power of two */
    float per_angle;           /* buckets in a unit of the angle */
};

struct ht_window { /* places: n_first from `first` on, the others from `second` on */
    trg_u32 first, n_first, second, n;
};

TRG_FN struct ht_window ht_window_nowhere(void)
{
    struct ht_window w;

    w.first = w.n_first = w.second = w.n = 0u;
    return w;
}

struct ht_station {      /* the z of its hits */
    float middle, depth; /* depth: half of it */
    trg_u32 has_hits;
};

/* Floats in their order as integers. */
TRG_FN trg_u32 ht_order_of_float(float z)
{
    const trg_u32 bits = trg_as_u32(z);

    return bits & 0x80000000u ? ~bits : bits | 0x80000000u;
}

TRG_FN float ht_float_of_order(trg_u32 order)
{
    return trg_as_f32(order & 0x80000000u ? order & 0x7fffffffu : ~order);
}

TRG_FN struct ht_view ht_look_at(TRG_GLOBAL float *hits, TRG_GLOBAL trg_u32 *tables,
                                 const struct hg_par par, trg_u32 first, trg_u32 roi)
{
    TRG_GLOBAL trg_u32 *words = (TRG_GLOBAL trg_u32 *)hits;
    const trg_u32 at = HT_AT(first);
    struct ht_view v;

#if defined(__CUDACC__)
    v.hit = (TRG_GLOBAL float4 *)hits + first;
#else
    v.x = hits + HT_X * par.items_room + at;
    v.y = hits + HT_Y * par.items_room + at;
    v.z = hits + HT_Z * par.items_room + at;
    v.id = words + HT_ID * par.items_room + at;
#endif
    v.claim = words + HT_CLAIM * par.items_room + at;
    v.link = words + HT_LINK * par.items_room + at;
    v.taken = words + HT_TAKEN * par.items_room + at;
    v.head = words + HT_HEAD * par.items_room + first;
    v.second = words + HT_SECOND * par.items_room + at;
    v.third = words + HT_THIRD * par.items_room + at;
    v.share = hits + HT_SHARE * par.items_room + at;
    v.begin = tables + 2u * at + HT_AT(roi) * HT_TABLE;
    v.buckets = HT_BUCKETS;
    v.per_angle = 0.0f;
    return v;
}

/* The same once its hits are in order. */
TRG_FN struct ht_view ht_look_at_sorted(TRG_GLOBAL float *hits, TRG_GLOBAL trg_u32 *tables,
                                        const struct hg_par par, trg_u32 first, trg_u32 roi,
                                        trg_u32 buckets)
{
    struct ht_view v = ht_look_at(hits, tables, par, first, roi);

    v.buckets = buckets;
    v.per_angle = 0.25f * (float)buckets;
    return v;
}

TRG_FN struct ht_station ht_station_of(TRG_GLOBAL const struct ht_stations *all, trg_u32 station)
{
    struct ht_station s;

    s.has_hits = all->low[station] <= all->high[station];
    s.middle = s.depth = 0.0f;
    if (s.has_hits) {
        const float low = ht_float_of_order(all->low[station]);
        const float high = ht_float_of_order(all->high[station]);

        s.middle = 0.5f * (low + high);
        s.depth = 0.5f * (high - low);
    }
    return s;
}

TRG_FN struct ht_hit ht_hit_at(const struct ht_view v, trg_u32 at)
{
    struct ht_hit h;
#if defined(__CUDACC__)
    const float4 all = v.hit[at];

    h.x = all.x;
    h.y = all.y;
    h.z = all.z;
    h.id = trg_as_u32(all.w);
#else
    h.x = v.x[at];
    h.y = v.y[at];
    h.z = v.z[at];
    h.id = v.id[at];
#endif
    return h;
}

TRG_FN void ht_put_hit(const struct ht_view v, trg_u32 at, const struct ht_hit h)
{
#if defined(__CUDACC__)
    v.hit[at] = make_float4(h.x, h.y, h.z, trg_as_f32(h.id));
#else
    v.x[at] = h.x;
    v.y[at] = h.y;
    v.z[at] = h.z;
    v.id[at] = h.id;
#endif
}

/* The x of a hit that a track has is HT_USED: nothing is near it. */
TRG_FN trg_u32 ht_is_used(const struct ht_view v, trg_u32 at)
{
#if defined(__CUDACC__)
    return v.hit[at].x >= HT_USED;
#else
    return v.x[at] >= HT_USED;
#endif
}

TRG_FN void ht_set_used(const struct ht_view v, trg_u32 at)
{
#if defined(__CUDACC__)
    v.hit[at].x = HT_USED;
#else
    v.x[at] = HT_USED;
#endif
}

TRG_FN trg_u32 ht_id(const struct ht_view v, trg_u32 at)
{
#if defined(__CUDACC__)
    return trg_as_u32(v.hit[at].w);
#else
    return v.id[at];
#endif
}

TRG_FN trg_u32 ht_layer(const struct ht_view v, trg_u32 at)
{
    return ht_id(v, at) >> HT_ITEM_BITS;
}

TRG_FN trg_u32 ht_item(const struct ht_view v, trg_u32 at)
{
    return ht_id(v, at) & HT_ITEM;
}

/* Index of a hit in HT_TAKEN: its place on a core with AVX-512. */
TRG_FN trg_u32 ht_taken_at(const struct ht_view v, trg_u32 at)
{
    return HT_VECTORS ? at : ht_item(v, at);
}

/* Where a direction is on a square about the beam line, from 0 to 4: it grows with phi, by half as
 * much at least and by no more. */
TRG_FN trg_u32 ht_bucket_of(float x, float y, trg_u32 buckets)
{
    const float sum = trg_fabs(x) + trg_fabs(y), part = sum > 0.0f ? y / sum : 0.0f;
    const float angle = x < 0.0f ? 2.0f - part : part < 0.0f ? 4.0f + part : part;
    const trg_u32 b = (trg_u32)(angle * (0.25f * (float)buckets));

    return b < buckets ? b : buckets - 1u;
}

/* How far across the line to the beam a track gets while z changes by `dz`. */
TRG_FN float ht_drift(float x, float y, float tx, float ty, float dz)
{
    const float sum = trg_fabs(x) + trg_fabs(y);

    return dz * trg_fabs(x * ty - y * tx) / (sum > 1.0f ? sum : 1.0f);
}

/* The hits of a station that may be within `reach` of (x, y), measured across the line from there
 * to the beam. */
TRG_FN struct ht_window ht_window_of(const struct ht_view v, trg_u32 station, float x, float y,
                                     float reach)
{
    TRG_GLOBAL const trg_u32 *begin = v.begin + station * v.buckets;
    const float sum = trg_fabs(x) + trg_fabs(y), inv = 1.0f / sum, part = y * inv;
    const float angle = x < 0.0f ? 2.0f - part : part, around = reach * inv;
    const trg_u32 mask = v.buckets - 1u;
    struct ht_window w;
    trg_u32 low, high;

    w.first = begin[0];
    w.n = w.n_first = begin[v.buckets] - begin[0];
    w.second = begin[0];
    if (!(around < 1.0f))
        return w;
    low = (trg_u32)((angle - around + 4.0f) * v.per_angle);
    high = (trg_u32)((angle + around + 4.0f) * v.per_angle);
    if (high - low >= mask)
        return w;
    low &= mask;
    high &= mask;
    w.first = begin[low];
    if (low <= high) {
        w.n = w.n_first = begin[high + 1u] - w.first;
    } else { /* past the end of the circle */
        w.n_first = begin[v.buckets] - w.first;
        w.n = w.n_first + begin[high + 1u] - begin[0];
    }
    return w;
}

TRG_FN trg_u32 ht_place(const struct ht_window w, trg_u32 k)
{
    return k < w.n_first ? w.first + k : w.second + k - w.n_first;
}
#endif
