/* SPDX-License-Identifier: Apache-2.0 */
/* A binary heap; each RoI's record has its place, so that it leaves from anywhere. */
#include "flow/deadlines.h"

#include <errno.h>
#include <stdlib.h>

struct deadlines {
    struct pool *pool;
    uint32_t n;
    uint32_t *roi; /* [n_rois of the pool] */
};

int deadlines_new(struct pool *pool, struct deadlines **ret_deadlines)
{
    struct deadlines *d = calloc(1, sizeof *d);

    if (!d)
        return -ENOMEM;
    d->pool = pool;
    d->roi = calloc(pool->n_rois, sizeof *d->roi);
    if (!d->roi) {
        free(d);
        return -ENOMEM;
    }
    *ret_deadlines = d;
    return 0;
}

void deadlines_free(struct deadlines *d)
{
    if (!d)
        return;
    free(d->roi);
    free(d);
}

static uint64_t due(const struct deadlines *d, uint32_t at)
{
    return d->pool->rois[d->roi[at]].deadline_ns;
}

static void place(struct deadlines *d, uint32_t at, uint32_t roi)
{
    d->roi[at] = roi;
    d->pool->rois[roi].deadline_at = at;
}

static void swap(struct deadlines *d, uint32_t a, uint32_t b)
{
    const uint32_t roi = d->roi[a];

    place(d, a, d->roi[b]);
    place(d, b, roi);
}

static void rise(struct deadlines *d, uint32_t at)
{
    for (; at && due(d, at) < due(d, (at - 1) / 2); at = (at - 1) / 2)
        swap(d, at, (at - 1) / 2);
}

static void sink(struct deadlines *d, uint32_t at)
{
    for (uint32_t child = 2 * at + 1; child < d->n; child = 2 * at + 1) {
        if (child + 1 < d->n && due(d, child + 1) < due(d, child))
            child++;
        if (due(d, at) <= due(d, child))
            return;
        swap(d, at, child);
        at = child;
    }
}

void deadlines_put(struct deadlines *d, uint32_t roi)
{
    place(d, d->n++, roi);
    rise(d, d->n - 1);
}

void deadlines_remove(struct deadlines *d, uint32_t roi)
{
    const uint32_t at = d->pool->rois[roi].deadline_at;

    d->n--;
    if (at == d->n)
        return;
    place(d, at, d->roi[d->n]);
    rise(d, at);
    sink(d, at);
}

uint32_t deadlines_first(const struct deadlines *d)
{
    return d->n ? d->roi[0] : POOL_NONE;
}
