/* SPDX-License-Identifier: Apache-2.0 */
/* kdcount_host.h - points counted in boxes and balls on one core of the CPU: down to the blocks, of
 * which sixteen nodes are tested at once. */
#ifndef KDCOUNT_HOST_H
#define KDCOUNT_HOST_H
#include "kdcount.h"
#include "kdquery_host.h"

/* Bit i: value i of 16 of each dimension is in the ball. */
#if defined(__AVX512F__)
__attribute__((always_inline)) static inline trg_u32 kdc_test_vector(const struct kdc_region *r,
                                                                     trg_u32 k, const float *x)
{
    __m512 sum = _mm512_setzero_ps();

    for (trg_u32 d = 0; d < k; d++, x += KD_BLOCK) {
        const __m512 away = _mm512_sub_ps(_mm512_loadu_ps(x), _mm512_set1_ps(r->centre[d]));

        sum = _mm512_add_ps(sum, _mm512_mul_ps(away, away));
    }
    return _mm512_cmp_ps_mask(sum, _mm512_set1_ps(r->square), _CMP_LE_OQ);
}
#else
__attribute__((always_inline)) static inline trg_u32 kdc_test_vector(const struct kdc_region *r,
                                                                     trg_u32 k, const float *x)
{
    float sum[KDQ_VECTOR] = {0};
    trg_u32 bits = 0u;

    for (trg_u32 d = 0; d < k; d++, x += KD_BLOCK)
        for (trg_u32 i = 0; i < KDQ_VECTOR; i++)
            sum[i] += (x[i] - r->centre[d]) * (x[i] - r->centre[d]);
    for (trg_u32 i = 0; i < KDQ_VECTOR; i++)
        bits |= (trg_u32)(sum[i] <= r->square) << i;
    return bits;
}
#endif

struct kdc_search { /* one query */
    struct kdq_search s;
    struct kdc_region r;
    const struct kdq_par *par;
};

__attribute__((always_inline)) static inline trg_u32
kdc_search_tree(const struct kdc_search *c, trg_u32 k, trg_u32 wraps, trg_u32 is_ball)
{
    const trg_u32 bottom = kd_block_level(c->s.t.n), first = (1u << bottom) - 1u;
    trg_u32 stack[KD_LEVELS_MAX + 1u], depth = c->s.t.n ? 1u : 0u, found = 0u;

    stack[0] = 0u;
    while (depth) {
        const trg_u32 node = stack[--depth];

        if (node >= first) {
            const float *x = c->s.blocks + (size_t)(node - first) * (k + 1u) * KD_BLOCK;

            for (trg_u32 half = 0; half < KD_BLOCK; half += KDQ_VECTOR)
                found += trg_popcount(is_ball ? kdc_test_vector(&c->r, k, x + half)
                                              : kdq_test_vector(&c->s, k, wraps, x + half));
            continue;
        }
        const trg_u32 what = kdc_test(c->s.t, c->r, *c->par, is_ball, node);

        found += what & KDQ_INSIDE;
        if (what & KDQ_RIGHT)
            stack[depth++] = 2u * node + 2u;
        if (what & KDQ_LEFT)
            stack[depth++] = 2u * node + 1u;
    }
    return found;
}

/* With the usual number of dimensions known to the compiler. */
static inline trg_u32 kdc_search_any(const struct kdc_search *c, trg_u32 is_ball)
{
    if (is_ball)
        return c->s.k == 3u ? kdc_search_tree(c, 3u, 0u, 1u) : kdc_search_tree(c, c->s.k, 0u, 1u);
    if (c->s.wraps)
        return kdc_search_tree(c, c->s.k, 1u, 0u);
    return c->s.k == 3u ? kdc_search_tree(c, 3u, 0u, 0u) : kdc_search_tree(c, c->s.k, 0u, 0u);
}

/* All queries. */
static inline void kdc_host_count(const struct kdq_forest *f, const float *regions,
                                  const trg_u32 *tree_of, trg_u32 *counts,
                                  const struct kdq_par *par, trg_u32 is_ball)
{
    for (trg_u32 q = 0; q < par->n_queries; q++) {
        const trg_u32 t = tree_of[q];
        struct kdc_search c = {.s = {.room = par->room, .k = par->k}, .par = par};

        c.s.t.nodes = f->nodes;
        c.s.t.base = f->trees[2u * t];
        c.s.t.n = f->trees[2u * t + 1u];
        c.s.blocks = f->blocks + kd_blocks_at(par->k, c.s.t.base, t);
        c.s.period_dim = par->period_dim;
        c.r = kdc_load(regions, *par, is_ball, q);
        c.s.b = c.r.box;
        c.s.wraps = !is_ball && c.r.box.low2 <= c.r.box.high2;
        counts[q] = kdc_search_any(&c, is_ball);
    }
}
#endif
