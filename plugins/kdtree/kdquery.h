/* SPDX-License-Identifier: Apache-2.0 */
/* kdquery.h - what the kernels that search boxes and their host side share.  4-byte members only.
 */
#ifndef KD_QUERY_H
#define KD_QUERY_H
#include "layout.h"
#include "trigd/kernel.h"

#define KDQ_GROUP    128u
#define KDQ_GANG_MAX 32u
#define KDQ_TILE     4096u /* queries whose counts a group adds up */
/* Loops over KD_DIMS_MAX with the number of dimensions tested inside: unrolled, a box stays in
 * registers. */
#if defined(__CUDACC__)
#define KDQ_UNROLL _Pragma("unroll")
#else
#define KDQ_UNROLL
#endif

struct kdq_par {
    trg_u32 k;          /* dimensions */
    trg_u32 room;       /* places for points: the stride of the nodes' coordinates */
    trg_u32 query_room; /* places for queries, and one more: the stride of boxes and counts */
    trg_u32 n_queries;
    trg_u32 levels;       /* of the largest tree */
    trg_u32 gang;         /* work-items that share a query: 1, 2, 4 ... 32 */
    trg_u32 front_room;   /* nodes in one swap buffer */
    trg_u32 results_room; /* by hand: results that may be written */
    trg_u32 by_hand;      /* 1: on the CPU, the version written for it */
    trg_u32 fill;         /* breadth first: 0 counts, 1 writes */
    trg_u32 period_dim;   /* KD_NO_PERIOD: none */
    float period;         /* coordinates there are in [-period / 2, period / 2] */
};

struct kdq_box {
    float low[KD_DIMS_MAX], high[KD_DIMS_MAX];
    float low2, high2; /* the part of a periodic dimension on the other side; empty: low2 > high2 */
    float least, most; /* the ends of both parts */
};

struct kdq_tree {
    TRG_GLOBAL const float *nodes;
    trg_u32 base, n;
};

/* Tree t of a forest. */
TRG_FN struct kdq_tree kdq_tree_of(TRG_GLOBAL const float *nodes, TRG_GLOBAL const trg_u32 *trees,
                                   trg_u32 t)
{
    struct kdq_tree tree;

    tree.nodes = nodes;
    trees += 2u * (trg_u64)t;
    tree.base = trees[0];
    tree.n = trees[1];
    return tree;
}

TRG_FN struct kdq_box kdq_load(TRG_GLOBAL const float *boxes, const struct kdq_par par, trg_u32 q)
{
    struct kdq_box b;

    b.low2 = 3e38f;
    b.high2 = -3e38f;
    b.least = b.most = 0.0f;
    KDQ_UNROLL
    for (trg_u32 d = 0u; d < KD_DIMS_MAX; d++) {
        b.low[d] = b.high[d] = 0.0f;
        if (d >= par.k)
            continue;
        b.low[d] = boxes[d * par.query_room + q];
        b.high[d] = boxes[(par.k + d) * par.query_room + q];
        if (d != par.period_dim)
            continue;
        if (b.high[d] > 0.5f * par.period) {
            b.low2 = b.low[d] - par.period;
            b.high2 = b.high[d] - par.period;
        } else if (b.low[d] < -0.5f * par.period) {
            b.low2 = b.low[d] + par.period;
            b.high2 = b.high[d] + par.period;
        }
        b.least = b.low2 < b.low[d] ? b.low2 : b.low[d];
        b.most = b.high2 > b.high[d] ? b.high2 : b.high[d];
    }
    return b;
}

#define KDQ_INSIDE 1u
#define KDQ_LEFT   2u
#define KDQ_RIGHT  4u

/* Whether a coordinate is in the box's range, and which children may have points there if it
 * splits.  Comparisons are the way round that lets points with NaN be passed by and never be found.
 */
TRG_FN trg_u32 kdq_test_one(const struct kdq_box b, trg_u32 d, trg_u32 wraps, float x)
{
    const float least = wraps ? b.least : b.low[d], most = wraps ? b.most : b.high[d];
    const trg_u32 other = wraps && x >= b.low2 && x <= b.high2;

    return (other || (x >= b.low[d] && x <= b.high[d]) ? KDQ_INSIDE : 0u) |
           (!(x < least) ? KDQ_LEFT : 0u) | (!(x > most) ? KDQ_RIGHT : 0u);
}

/* Whether the point of a node is in the box, and which children there are that may have points in
 * it. */
TRG_FN trg_u32 kdq_test(const struct kdq_tree t, const struct kdq_box b, const struct kdq_par par,
                        trg_u32 node)
{
    const trg_u32 split = (kd_levels(node + 1u) - 1u) % par.k;
    trg_u32 inside = KDQ_INSIDE, children = 0u;

    KDQ_UNROLL
    for (trg_u32 d = 0u; d < KD_DIMS_MAX; d++)
        if (d < par.k) {
            const trg_u32 what = kdq_test_one(b, d, d == par.period_dim ? 1u : 0u,
                                              t.nodes[d * par.room + t.base + node]);

            inside &= what;
            children = d == split ? what : children;
        }
    if (2u * node + 2u >= t.n)
        children &= 2u * node + 1u < t.n ? KDQ_LEFT : 0u;
    return inside | (children & (KDQ_LEFT | KDQ_RIGHT));
}

/* Depth first: adds the points in the box to the counts of their levels or, where `results` is to
 * be written, writes their numbers to the places that stand there and moves these on. */
TRG_FN void kdq_depth_first(const struct kdq_tree t, const struct kdq_box b,
                            const struct kdq_par par, trg_u32 *at, trg_u32 fill,
                            TRG_GLOBAL const trg_u32 *ids, TRG_GLOBAL trg_u32 *results)
{
    trg_u32 stack[KD_LEVELS_MAX];
    trg_u32 depth = 0u, node = 0u, more = t.n > 0u ? 1u : 0u;

    while (more) {
        const trg_u32 what = kdq_test(t, b, par, node);

        if (what & KDQ_INSIDE) {
            const trg_u32 place = at[kd_levels(node + 1u) - 1u]++;

            if (fill)
                results[place] = ids[t.base + node];
        }
        if ((what & (KDQ_LEFT | KDQ_RIGHT)) == (KDQ_LEFT | KDQ_RIGHT))
            stack[depth++] = 2u * node + 2u;
        if (what & (KDQ_LEFT | KDQ_RIGHT))
            node = what & KDQ_LEFT ? 2u * node + 1u : 2u * node + 2u;
        else if (depth)
            node = stack[--depth];
        else
            more = 0u;
    }
}
#endif
