/* SPDX-License-Identifier: Apache-2.0 */
/* kdbuild_host.h - one tree on one core of the CPU: depth first, each subtree split at its median
 * by selection among (key, number) in one word, so that what it works on stays in the cache. */
#ifndef KDBUILD_HOST_H
#define KDBUILD_HOST_H
#include <stddef.h>

#include "kdbuild.h"
#include "layout.h"

#define KD_SORTED_BELOW 24u /* words: shorter stretches are sorted by insertion */

static inline void kd_sort_words(trg_u64 *v, size_t n)
{
    for (size_t i = 1; i < n; i++) {
        const trg_u64 x = v[i];
        size_t k = i;

        for (; k > 0 && v[k - 1] > x; k--)
            v[k] = v[k - 1];
        v[k] = x;
    }
}

static inline trg_u64 kd_middle(trg_u64 a, trg_u64 b, trg_u64 c)
{
    const trg_u64 low = a < b ? a : b, high = a < b ? b : a;

    return c < low ? low : c > high ? high : c;
}

/* Near the median of a stretch. */
static inline trg_u64 kd_pivot(const trg_u64 *v, size_t n)
{
    const size_t s = n / 8;

    if (n < 512)
        return kd_middle(v[n / 4], v[n / 2], v[3 * n / 4]);
    return kd_middle(kd_middle(v[0], v[s], v[2 * s]), kd_middle(v[3 * s], v[4 * s], v[5 * s]),
                     kd_middle(v[6 * s], v[7 * s], v[n - 1]));
}

/* Puts the words smaller than the pivot first, without a branch for each; returns how many. */
static inline size_t kd_split_words(trg_u64 *v, size_t n, trg_u64 pivot)
{
    size_t m = 0;

    for (size_t i = 0; i < n; i++) {
        const trg_u64 x = v[i];

        v[i] = v[m];
        v[m] = x;
        m += x < pivot;
    }
    return m;
}

/* Orders v so that v[at] is what it would be if sorted, with smaller words before it.  All differ.
 */
static inline void kd_select_words(trg_u64 *v, size_t n, size_t at)
{
    while (n > KD_SORTED_BELOW) {
        const size_t m = kd_split_words(v, n, kd_pivot(v, n));

        /* the pivot itself is not smaller: it is found by the next round as the smallest */
        if (at < m) {
            n = m;
        } else if (m) {
            v += m;
            n -= m;
            at -= m;
        } else {
            size_t least = 0;

            for (size_t i = 1; i < n; i++)
                least = v[i] < v[least] ? i : least;
            const trg_u64 x = v[0];

            v[0] = v[least];
            v[least] = x;
            if (!at)
                return;
            v++;
            n--;
            at--;
        }
    }
    kd_sort_words(v, n);
}

/* Points [k][room] of one tree, the first being number `base`, to nodes and ids: as many levels as
 * `par` says of a subtree whose ancestors are done.  scratch: 2 n words. */
static inline void kd_host_build(const float *points, const struct kd_build_par *par, trg_u32 base,
                                 trg_u32 n, float *nodes, trg_u32 *ids, trg_u32 *scratch)
{
    trg_u64 *v = (trg_u64 *)(void *)scratch;
    struct {
        trg_u32 l, j;
    } stack[KD_LEVELS_MAX + 1u];
    const trg_u32 k = par->k, stride = par->room;
    trg_u32 depth = n ? 1u : 0u;

    for (trg_u32 i = 0; par->level == 0u && i < n; i++)
        v[i] = i;
    stack[0].l = par->level;
    stack[0].j = par->which;
    while (depth) {
        const trg_u32 l = stack[depth - 1u].l, j = stack[depth - 1u].j;
        const struct kd_subtree t = kd_subtree(n, l, j);
        const float *x = points + (size_t)(l % k) * stride;
        trg_u64 *s = v + t.begin;

        depth--;
        if (t.size > 1u) {
            for (trg_u32 i = 0; i < t.size; i++)
                s[i] = (trg_u64)kd_key(x[(trg_u32)s[i]]) << 32 | (trg_u32)s[i];
            kd_select_words(s, t.size, t.left);
        }
        ids[t.node] = base + (trg_u32)s[t.left];
        for (trg_u32 d = 0; d < k; d++)
            nodes[(size_t)d * stride + t.node] = points[(size_t)d * stride + (trg_u32)s[t.left]];
        if (l + 1u == par->level + par->levels)
            continue;
        if (t.size - t.left > 1u) {
            stack[depth].l = l + 1u;
            stack[depth++].j = 2u * j + 1u;
        }
        if (t.left) {
            stack[depth].l = l + 1u;
            stack[depth++].j = 2u * j;
        }
    }
}
#endif
