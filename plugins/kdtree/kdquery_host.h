/* SPDX-License-Identifier: Apache-2.0 */
/* kdquery_host.h - boxes searched on one core of the CPU.  Going down stops where the blocks begin
 * (blocks.h): their 31 nodes lie in one piece and are tested at once, sixteen in a vector.  What is
 * found on a level goes to a list of that level, and in the end the lists to the results, which are
 * in the order of nodes then. */
#ifndef KDQUERY_HOST_H
#define KDQUERY_HOST_H
#include <stddef.h>
#if defined(__AVX512F__)
#include <immintrin.h>
#endif

#include "blocks.h"
#include "kdquery.h"

#define KDQ_LIST   1024u /* points found on one level; with more, the query goes the portable way */
#define KDQ_VECTOR 16u

struct kdq_forest {
    const float *nodes;
    const trg_u32 *ids, *trees;
    const float *blocks;
};

struct kdq_lists {
    trg_u32 n[KD_LEVELS_MAX];
    trg_u32 point[KD_LEVELS_MAX][KDQ_LIST + KDQ_VECTOR];
};

struct kdq_search { /* one query */
    struct kdq_tree t;
    struct kdq_box b;
    const trg_u32 *ids;
    const float *blocks; /* of the tree */
    trg_u32 room, k, levels, wraps, period_dim;
};

/* Bit i: value i of 16 of each dimension, KD_BLOCK from one to the next, is in the box. */
#if defined(__AVX512F__)
__attribute__((always_inline)) static inline trg_u32
kdq_test_vector(const struct kdq_search *s, trg_u32 k, trg_u32 wraps, const float *x)
{
    __mmask16 in = 0xffff;

    for (trg_u32 d = 0; d < k; d++, x += KD_BLOCK) {
        const __m512 v = _mm512_loadu_ps(x);
        const __mmask16 main = _mm512_mask_cmp_ps_mask(
            _mm512_mask_cmp_ps_mask(in, v, _mm512_set1_ps(s->b.low[d]), _CMP_GE_OQ), v,
            _mm512_set1_ps(s->b.high[d]), _CMP_LE_OQ);
        __mmask16 other = 0;

        if (wraps && d == s->period_dim)
            other = _mm512_mask_cmp_ps_mask(
                _mm512_mask_cmp_ps_mask(in, v, _mm512_set1_ps(s->b.low2), _CMP_GE_OQ), v,
                _mm512_set1_ps(s->b.high2), _CMP_LE_OQ);
        in = main | other;
    }
    return in;
}

/* Appends the numbers whose bits are set to a list of n, which has room for 16 more; returns the
 * new n. */
static inline trg_u32 kdq_append(trg_u32 in, const float *numbers, trg_u32 *list, trg_u32 n)
{
    const __m512i all = _mm512_loadu_si512(numbers);

    _mm512_storeu_si512(list + n, _mm512_maskz_compress_epi32((__mmask16)in, all));
    return n + (trg_u32)__builtin_popcount(in);
}
#else
__attribute__((always_inline)) static inline trg_u32
kdq_test_vector(const struct kdq_search *s, trg_u32 k, trg_u32 wraps, const float *x)
{
    trg_u32 in[KDQ_VECTOR], bits = 0u;

    for (trg_u32 i = 0; i < KDQ_VECTOR; i++)
        in[i] = 1u << i;
    for (trg_u32 d = 0; d < k; d++, x += KD_BLOCK) {
        const float low = s->b.low[d], high = s->b.high[d];

        if (wraps && d == s->period_dim)
            for (trg_u32 i = 0; i < KDQ_VECTOR; i++)
                in[i] &= 0u - (trg_u32)(((x[i] >= low) & (x[i] <= high)) |
                                        ((x[i] >= s->b.low2) & (x[i] <= s->b.high2)));
        else
            for (trg_u32 i = 0; i < KDQ_VECTOR; i++)
                in[i] &= 0u - (trg_u32)((x[i] >= low) & (x[i] <= high));
    }
    for (trg_u32 i = 0; i < KDQ_VECTOR; i++)
        bits |= in[i];
    return bits;
}

static inline trg_u32 kdq_append(trg_u32 in, const float *numbers, trg_u32 *list, trg_u32 n)
{
    for (; in; in &= in - 1u)
        list[n++] = trg_as_u32(numbers[__builtin_ctz(in)]);
    return n;
}
#endif

/* Appends what is found in block b, whose root is on level l.  0 when a list is full. */
__attribute__((always_inline)) static inline int kdq_test_block(const struct kdq_search *s,
                                                                trg_u32 k, trg_u32 wraps, trg_u32 b,
                                                                trg_u32 l, struct kdq_lists *lists)
{
    const float *x = s->blocks + (size_t)b * (k + 1u) * KD_BLOCK, *numbers = x + k * KD_BLOCK;
    const trg_u32 last = kdq_test_vector(s, k, wraps, x);
    trg_u32 above = kdq_test_vector(s, k, wraps, x + 16), width = 8u;

    if (lists->n[l + 4u] > KDQ_LIST)
        return 0;
    lists->n[l + 4u] = kdq_append(last, numbers, lists->point[l + 4u], lists->n[l + 4u]);
    numbers += 16;
    for (trg_u32 up = l + 3u; above; up--) {
        const trg_u32 here = above & ((1u << width) - 1u);

        if (here) {
            if (lists->n[up] > KDQ_LIST)
                return 0;
            lists->n[up] = kdq_append(here, numbers, lists->point[up], lists->n[up]);
        }
        above >>= width;
        numbers += width;
        width >>= 1;
    }
    return 1;
}

/* Whether the point of one node is in the box. */
__attribute__((always_inline)) static inline int
kdq_test_node(const struct kdq_search *s, trg_u32 k, trg_u32 wraps, trg_u32 node)
{
    const float *x = s->t.nodes + s->t.base + node;
    int in = 1;

    for (trg_u32 d = 0; d < k; d++, x += s->room) {
        int here = *x >= s->b.low[d] && *x <= s->b.high[d];

        if (wraps && d == s->period_dim)
            here |= *x >= s->b.low2 && *x <= s->b.high2;
        in &= here;
    }
    return in;
}

/* Fills the lists.  0 when one is full. */
__attribute__((always_inline)) static inline int
kdq_search_tree(const struct kdq_search *s, trg_u32 k, trg_u32 wraps, struct kdq_lists *lists)
{
    const trg_u32 bottom = kd_block_level(s->t.n);
    struct {
        trg_u32 node, l;
    } stack[KD_LEVELS_MAX + 1u];
    trg_u32 depth = s->t.n ? 1u : 0u;

    stack[0].node = stack[0].l = 0;
    while (depth) {
        trg_u32 node = stack[--depth].node, l = stack[depth].l;

        for (; l < bottom; l++) {
            const trg_u32 split = l % k;
            const float at = s->t.nodes[split * s->room + s->t.base + node];
            trg_u32 left = !(at < s->b.low[split]), right = !(at > s->b.high[split]);

            if (wraps && split == s->period_dim) {
                left = !(at < s->b.least);
                right = !(at > s->b.most);
            }
            if (left & right) { /* else its own point is outside as well */
                if (lists->n[l] > KDQ_LIST)
                    return 0;
                if (kdq_test_node(s, k, wraps, node))
                    lists->point[l][lists->n[l]++] = s->ids[s->t.base + node];
                stack[depth].node = 2u * node + 2u;
                stack[depth++].l = l + 1u;
            } else if (!left && !right) {
                break;
            }
            node = 2u * node + (left ? 1u : 2u);
        }
        if (l == bottom && !kdq_test_block(s, k, wraps, node + 1u - (1u << bottom), bottom, lists))
            return 0;
    }
    return 1;
}

/* With the usual numbers of dimensions known to the compiler. */
static inline int kdq_search_any(const struct kdq_search *s, struct kdq_lists *lists)
{
    for (trg_u32 l = 0; l < s->levels + KD_BLOCK_LEVELS; l++)
        lists->n[l] = 0;
    if (s->wraps)
        return kdq_search_tree(s, s->k, 1u, lists);
    switch (s->k) {
    case 2:
        return kdq_search_tree(s, 2u, 0u, lists);
    case 3:
        return kdq_search_tree(s, 3u, 0u, lists);
    case 5:
        return kdq_search_tree(s, 5u, 0u, lists);
    default:
        return kdq_search_tree(s, s->k, 0u, lists);
    }
}

/* The portable way: returns how many there are, and writes them if they are no more than `room`. */
static inline trg_u64 kdq_search_portable(const struct kdq_search *s, const struct kdq_par *par,
                                          trg_u32 *results, trg_u64 room)
{
    trg_u32 at[KD_LEVELS_MAX] = {0}, sum = 0;

    kdq_depth_first(s->t, s->b, *par, at, 0u, s->ids, results);
    for (trg_u32 l = 0; l < s->levels; l++) {
        const trg_u32 here = at[l];

        at[l] = sum;
        sum += here;
    }
    if (sum <= room)
        kdq_depth_first(s->t, s->b, *par, at, 1u, s->ids, results);
    return sum;
}

/* All queries: offsets [n_queries + 2]: where the results of each begin, then the number of all of
 * them and 1 when that has more than 32 bits.  Results are written while there is room for all of a
 * query. */
static inline void kdq_host_search(const struct kdq_forest *f, const float *boxes,
                                   const trg_u32 *tree_of, trg_u32 *offsets, trg_u32 *results,
                                   const struct kdq_par *par)
{
    struct kdq_lists lists;
    trg_u64 sum = 0;

    for (trg_u32 q = 0; q < par->n_queries; q++) {
        const trg_u32 t = tree_of[q];
        struct kdq_search s = {.ids = f->ids, .room = par->room, .k = par->k};
        trg_u64 found = 0, room = sum < par->results_room ? par->results_room - sum : 0;

        offsets[q] = (trg_u32)sum;
        s.t.nodes = f->nodes;
        s.t.base = f->trees[2u * t];
        s.t.n = f->trees[2u * t + 1u];
        s.blocks = f->blocks + kd_blocks_at(par->k, s.t.base, t);
        s.b = kdq_load(boxes, *par, q);
        s.levels = kd_levels(s.t.n);
        s.period_dim = par->period_dim;
        s.wraps = s.b.low2 <= s.b.high2;
        if (kdq_search_any(&s, &lists)) {
            for (trg_u32 l = 0; l < s.levels; l++)
                found += lists.n[l];
            for (trg_u32 l = 0, at = 0; l < s.levels && found <= room; at += lists.n[l++])
                memcpy(results + sum + at, lists.point[l], lists.n[l] * sizeof(trg_u32));
        } else {
            found = kdq_search_portable(&s, par, results + sum, room);
        }
        sum += found;
    }
    offsets[par->n_queries] = (trg_u32)sum;
    offsets[par->n_queries + 1u] = sum > 0xfffffffeu;
}
#endif
