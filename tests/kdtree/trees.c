/* SPDX-License-Identifier: Apache-2.0 */
#include "trees.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

float random_float(uint64_t *seed, double low, double high)
{
    return (float)(low + (high - low) * devices_random(seed) / 4294967296.0);
}

static float random_value(enum kind kind, uint64_t *seed)
{
    static const float few[] = {-2, -1, -0.0f, 0, 1, 2, 3};

    switch (kind) {
    case FEW_VALUES:
        return few[devices_random(seed) % 7];
    case ALL_EQUAL:
        return 1.5f;
    case WITH_NAN:
        if (devices_random(seed) % 16 == 0)
            return devices_random(seed) % 2 ? NAN : -NAN;
        if (devices_random(seed) % 16 == 0)
            return devices_random(seed) % 2 ? INFINITY : -INFINITY;
        break;
    default:
        break;
    }
    return random_float(seed, -3, 3);
}

float *make_points(enum kind kind, uint32_t k, uint32_t n, uint64_t *seed)
{
    float *p = malloc(((size_t)k * n + 1) * sizeof *p);

    assert_non_null(p);
    for (size_t i = 0; i < (size_t)k * n; i++)
        p[i] = random_value(kind, seed);
    return p;
}

/* ---------------------------------------------------------------- a tree */

struct item {
    float x;
    uint32_t number;
};

/* NaN after everything, then by number. */
static int compare(const void *a, const void *b)
{
    const struct item *p = a, *q = b;
    const int np = isnan(p->x) != 0, nq = isnan(q->x) != 0;

    if (np != nq)
        return np - nq;
    if (!np && p->x != q->x)
        return p->x < q->x ? -1 : 1;
    return (p->number > q->number) - (p->number < q->number);
}

/* Nodes below node i of an array of n. */
static uint32_t below(uint32_t i, uint32_t n)
{
    uint32_t count = 0;

    for (uint64_t first = i, last = i; first < n; first = 2 * first + 1, last = 2 * last + 2)
        count += (uint32_t)((last < n ? last : n - 1) - first + 1);
    return count;
}

static void grow(const float *points, uint32_t k, uint32_t n, uint32_t node, uint32_t level,
                 struct item *items, uint32_t *tree)
{
    const uint32_t size = below(node, n), left = below(2 * node + 1, n);

    if (!size)
        return;
    for (uint32_t i = 0; i < size; i++)
        items[i].x = points[(size_t)(level % k) * n + items[i].number];
    qsort(items, size, sizeof *items, compare);
    tree[node] = items[left].number;
    grow(points, k, n, 2 * node + 1, level + 1, items, tree);
    grow(points, k, n, 2 * node + 2, level + 1, items + left + 1, tree);
}

uint32_t *slow_tree(const float *points, uint32_t k, uint32_t n)
{
    struct item *items = malloc((n + 1) * sizeof *items);
    uint32_t *tree = malloc((n + 1) * sizeof *tree);

    assert_true(items && tree);
    for (uint32_t i = 0; i < n; i++)
        items[i].number = i;
    grow(points, k, n, 0, 0, items, tree);
    free(items);
    return tree;
}

/* ---------------------------------------------------------------- a search */

int slow_inside(const float *points, uint32_t k, uint32_t n, uint32_t i, const struct slow_box *box,
                uint32_t period_dim, float period)
{
    for (uint32_t d = 0; d < k; d++) {
        const float x = points[(size_t)d * n + i];
        int in = x >= box->low[d] && x <= box->high[d];

        if (d == period_dim) {
            in |= x >= box->low[d] - period && x <= box->high[d] - period;
            in |= x >= box->low[d] + period && x <= box->high[d] + period;
        }
        if (!in)
            return 0;
    }
    return 1;
}
