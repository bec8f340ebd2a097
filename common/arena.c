/* SPDX-License-Identifier: Apache-2.0 */
#include "arena.h"

#include <errno.h>
#include <stdlib.h>

int arena_reset(struct arena *a, size_t limit)
{
    a->used = 0;
    a->limit = limit;
    if (limit <= a->size)
        return 0;
    free(a->base);
    a->size = 0;
    a->base = malloc(limit); /* grows to the largest message ever seen, then stands still */
    if (!a->base)
        return -ENOMEM;
    a->size = limit;
    a->n_mallocs++;
    return 0;
}

void *arena_take(struct arena *a, size_t bytes)
{
    size_t rounded = (bytes + 15) & ~(size_t)15;
    void *p;

    if (rounded < bytes || rounded > a->limit - a->used)
        return NULL;
    p = a->base + a->used;
    a->used += rounded;
    return p;
}

void arena_free(struct arena *a)
{
    free(a->base);
    a->base = NULL;
    a->size = a->used = 0;
}
