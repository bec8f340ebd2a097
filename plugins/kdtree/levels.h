/* SPDX-License-Identifier: Apache-2.0 */
/* levels.h - one level of a tree after the other, from points that are sorted by each dimension:
 * what a group does.
 *
 * The order of the dimension that splits holds the roots in the middle of the subtrees' stretches,
 * and the orders of the other dimensions are partitioned, stably, into what is left and right of
 * them (R. A. Brown, Building a balanced k-d tree in O(kn log n) time, JCGT 4 (2015) 50; the
 * left-balanced places after Wald, arXiv 2211.00120).  All of it is scans, so that a group of any
 * size works on all subtrees of a level at once. */
#ifndef KD_LEVELS_H
#define KD_LEVELS_H
#include "../common/group.h"
#include "kdbuild.h"
#include "layout.h"

#define KD_LEFT   1u
#define KD_MEDIAN 0x10000u

struct kd_arrays { /* of one tree: all begin at its first point */
    TRG_GLOBAL const float *points;
    TRG_GLOBAL float *nodes;
    TRG_GLOBAL trg_u32 *ids;
    TRG_GLOBAL trg_u32 *orders; /* [2][k]: numbers of points, counted from `base` */
    TRG_GLOBAL trg_u32 *side;   /* of each point, at the level that is made */
    trg_u32 base;               /* number of the tree's first point */
};

TRG_GROUP_FN TRG_GLOBAL trg_u32 *kd_order(const struct kd_arrays a, const struct kd_build_par par,
                                          trg_u32 which, trg_u32 d)
{
    return a.orders + ((which >> d & 1u) * par.k + d) * par.room;
}

/* The roots of the subtrees below depth l get their places; the other points of the stretch [begin,
 * end) are told their side. */
TRG_GROUP_FN void kd_place_roots(const struct kd_arrays a, const struct kd_build_par par,
                                 trg_u32 which, trg_u32 n, trg_u32 l, trg_u32 begin, trg_u32 end)
{
    TRG_GLOBAL const trg_u32 *order = kd_order(a, par, which, l % par.k);

    for (trg_u32 p = begin + TRG_LID; p < end; p += TRG_LSIZE) {
        const struct kd_subtree t = kd_subtree(n, l, kd_subtree_at(n, l, p));
        const trg_u32 off = p - t.begin, point = order[p] - a.base;

        if (off >= t.size)
            continue; /* an ancestor */
        a.side[point] = off < t.left ? KD_LEFT : off == t.left ? KD_MEDIAN : 0u;
        if (off == t.left) {
            a.ids[t.node] = point + a.base;
            for (trg_u32 d = 0u; d < par.k; d++)
                a.nodes[d * par.room + t.node] = a.points[d * par.room + point];
        }
    }
}

/* Stable partition of the order of dimension d within the subtrees below depth l, over the stretch
 * [begin, end) of positions; before it there are so many that go left and so many roots of that
 * depth. */
TRG_GROUP_FN void kd_partition(TRG_LOCAL trg_u32 *scratch, const struct kd_arrays a,
                               const struct kd_build_par par, trg_u32 which, trg_u32 d, trg_u32 n,
                               trg_u32 l, trg_u32 begin, trg_u32 end, trg_u32 lefts,
                               trg_u32 medians)
{
    TRG_GLOBAL const trg_u32 *from = kd_order(a, par, which, d);
    TRG_GLOBAL trg_u32 *to = kd_order(a, par, which ^ (1u << d), d);

    for (trg_u32 at = begin; at < end; at += TRG_LSIZE) {
        const trg_u32 p = at + TRG_LID, j = p < end ? kd_subtree_at(n, l, p) : 0u;
        const struct kd_subtree t = kd_subtree(n, l, j);
        const trg_u32 off = p - t.begin;
        const trg_u32 inside = p < end && off < t.size ? 1u : 0u;
        const trg_u32 point = p < end ? from[p] : a.base;
        const trg_u32 code = inside ? a.side[point - a.base] : 0u;
        trg_u32 total;
        const trg_u32 before = trg_group_scan(scratch, code, &total);
        /* points of this subtree, before this one, that go left; whether its root is before */
        const trg_u32 left = lefts + (before & 0xffffu) - kd_lefts_before(n, l, j);
        const trg_u32 median = medians + (before >> 16) - j;
        trg_u32 place = p;

        if (inside)
            place = t.begin + (code == KD_LEFT     ? left
                               : code == KD_MEDIAN ? t.left
                                                   : t.left + 1u + off - left - median);
        if (p < end)
            to[place] = point;
        lefts += total & 0xffffu;
        medians += total >> 16;
    }
}

/* All levels of subtree j below depth `from` of a tree of n points. */
TRG_GROUP_FN void kd_levels_of(TRG_LOCAL trg_u32 *scratch, const struct kd_arrays a,
                               const struct kd_build_par par, trg_u32 n, trg_u32 from, trg_u32 j,
                               trg_u32 which)
{
    const struct kd_subtree top = kd_subtree(n, from, j);
    const trg_u32 end = top.begin + top.size, bottom = kd_levels(n) - 1u;

    for (trg_u32 l = from; l < bottom; l++) {
        const trg_u32 split = l % par.k;

        kd_place_roots(a, par, which, n, l, top.begin, end);
        TRG_BARRIER();
        for (trg_u32 i = 1u; i < par.k; i++)
            kd_partition(scratch, a, par, which, (split + i) % par.k, n, l, top.begin, end,
                         kd_lefts_before(n, l, j << (l - from)), j << (l - from));
        which ^= ((1u << par.k) - 1u) ^ (1u << split);
        TRG_BARRIER();
    }
    kd_place_roots(a, par, which, n, bottom, top.begin, end);
}
#endif
