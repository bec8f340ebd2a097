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
#include "kdbuild.h"
#include "layout.h"
#include "trigd/common/group.h"

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

struct kd_stretch {         /* of positions in a tree */
    trg_u32 n;              /* points of the tree */
    trg_u32 l;              /* depth of the subtrees that are made */
    trg_u32 begin, end;     /* positions */
    trg_u32 lefts, medians; /* before it: points that go left, and roots of that depth */
};

/* The roots of the subtrees get their places; the other points of the stretch learn their side. */
TRG_GROUP_FN void kd_place_roots(const struct kd_arrays a, const struct kd_build_par par,
                                 trg_u32 which, const struct kd_stretch s)
{
    TRG_GLOBAL const trg_u32 *order = kd_order(a, par, which, s.l % par.k);

    for (trg_u32 p = s.begin + TRG_LID; p < s.end; p += TRG_LSIZE) {
        const struct kd_subtree t = kd_subtree(s.n, s.l, kd_subtree_at(s.n, s.l, p));
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

/* Stable partition of the order of dimension d within the subtrees. */
TRG_GROUP_FN void kd_partition(TRG_LOCAL trg_u32 *scratch, const struct kd_arrays a,
                               const struct kd_build_par par, trg_u32 which, trg_u32 d,
                               const struct kd_stretch s)
{
    TRG_GLOBAL const trg_u32 *from = kd_order(a, par, which, d);
    TRG_GLOBAL trg_u32 *to = kd_order(a, par, which ^ (1u << d), d);
    trg_u32 lefts = s.lefts, medians = s.medians;

    for (trg_u32 at = s.begin; at < s.end; at += TRG_LSIZE) {
        const trg_u32 p = at + TRG_LID, j = p < s.end ? kd_subtree_at(s.n, s.l, p) : 0u;
        const struct kd_subtree t = kd_subtree(s.n, s.l, j);
        const trg_u32 off = p - t.begin;
        const trg_u32 inside = p < s.end && off < t.size ? 1u : 0u;
        const trg_u32 point = p < s.end ? from[p] : a.base;
        const trg_u32 code = inside ? a.side[point - a.base] : 0u;
        trg_u32 total;
        const trg_u32 before = trg_group_scan(scratch, code, &total);
        /* points of this subtree, before this one, that go left; whether its root is before */
        const trg_u32 left = lefts + (before & 0xffffu) - kd_lefts_before(s.n, s.l, j);
        const trg_u32 median = medians + (before >> 16) - j;
        trg_u32 place = p;

        if (inside)
            place = t.begin + (code == KD_LEFT     ? left
                               : code == KD_MEDIAN ? t.left
                                                   : t.left + 1u + off - left - median);
        if (p < s.end)
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
    const trg_u32 bottom = kd_levels(n) - 1u;
    struct kd_stretch s = {n, from, top.begin, top.begin + top.size, 0u, 0u};

    for (; s.l < bottom; s.l++) {
        const trg_u32 split = s.l % par.k;

        s.medians = j << (s.l - from);
        s.lefts = kd_lefts_before(n, s.l, s.medians);
        kd_place_roots(a, par, which, s);
        TRG_BARRIER();
        for (trg_u32 i = 1u; i < par.k; i++)
            kd_partition(scratch, a, par, which, (split + i) % par.k, s);
        which ^= ((1u << par.k) - 1u) ^ (1u << split);
        TRG_BARRIER();
    }
    kd_place_roots(a, par, which, s);
}
#endif
