/* SPDX-License-Identifier: Apache-2.0 */
/* kdcount.h - regions whose points are counted: boxes as in kdquery.h, and balls.
 *
 * A point is in a ball when the sum of its squared distances, dimension after dimension in float32,
 * is at most the square of the radius.  A splitting plane further from the centre than that in its
 * own dimension has no such point behind it: rounding is monotonic, so no point of the ball is ever
 * behind. */
#ifndef KD_COUNT_H
#define KD_COUNT_H
#include "kdquery.h"

#define KDC_GROUP 32u /* work-items of a group */
#if defined(__CUDACC__)
#define KDC_UNROLL _Pragma("unroll 4")
#else
#define KDC_UNROLL
#endif

struct kdc_region {
    struct kdq_box box;
    float centre[KD_DIMS_MAX], square; /* of a ball; of its radius */
};

TRG_FN struct kdc_region kdc_load(TRG_GLOBAL const float *regions, const struct kdq_par par,
                                  trg_u32 is_ball, trg_u32 q)
{
    struct kdc_region r;
    float radius;

    r.box = kdq_load(regions, par, q); /* what of it a ball has not, it does not look at */
    radius = is_ball ? regions[par.k * par.query_room + q] : 0.0f;
    KDQ_UNROLL
    for (trg_u32 d = 0u; d < KD_DIMS_MAX; d++)
        r.centre[d] = r.box.low[d];
    r.square = radius < 0.0f ? -1.0f : radius * radius;
    return r;
}

/* As kdq_test, for a ball. */
TRG_FN trg_u32 kdc_test_ball(const struct kdq_tree t, const struct kdc_region r,
                             const struct kdq_par par, trg_u32 node)
{
    const trg_u32 split = (kd_levels(node + 1u) - 1u) % par.k;
    trg_u32 children = KDQ_LEFT | KDQ_RIGHT;
    float sum = 0.0f;

    KDQ_UNROLL
    for (trg_u32 d = 0u; d < KD_DIMS_MAX; d++)
        if (d < par.k) {
            const float away = t.nodes[d * par.room + t.base + node] - r.centre[d];
            const float square = away * away;

            sum += square;
            if (d == split && square > r.square)
                children = away < 0.0f ? KDQ_RIGHT : KDQ_LEFT;
        }
    if (2u * node + 2u >= t.n)
        children &= 2u * node + 1u < t.n ? KDQ_LEFT : 0u;
    return (sum <= r.square ? KDQ_INSIDE : 0u) | children;
}

TRG_FN trg_u32 kdc_test(const struct kdq_tree t, const struct kdc_region r,
                        const struct kdq_par par, trg_u32 is_ball, trg_u32 node)
{
    return is_ball ? kdc_test_ball(t, r, par, node) : kdq_test(t, r.box, par, node);
}

/* 1 when the point of a node is inside. */
TRG_FN trg_u32 kdc_is_inside(const struct kdq_tree t, const struct kdc_region r,
                             const struct kdq_par par, trg_u32 is_ball, trg_u32 node)
{
    trg_u32 inside = KDQ_INSIDE;
    float sum = 0.0f;

    KDQ_UNROLL
    for (trg_u32 d = 0u; d < KD_DIMS_MAX; d++)
        if (d < par.k) {
            const float x = t.nodes[d * par.room + t.base + node];
            const float away = x - r.centre[d];

            if (is_ball)
                sum += away * away;
            else
                inside &= kdq_test_one(r.box, d, d == par.period_dim ? 1u : 0u, x);
        }
    return is_ball ? (trg_u32)(sum <= r.square) : inside & KDQ_INSIDE;
}
#endif
