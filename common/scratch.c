/* SPDX-License-Identifier: Apache-2.0 */
#include "scratch.h"

#include <errno.h>
#include <stdlib.h>

/* Under the address sanitizer, what was not taken is as forbidden as what was freed. */
#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define __SANITIZE_ADDRESS__ 1
#endif
#endif
#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>
#define FORBID(p, n) ASAN_POISON_MEMORY_REGION(p, n)
#define ALLOW(p, n)  ASAN_UNPOISON_MEMORY_REGION(p, n)
#else
#define FORBID(p, n) ((void)(p), (void)(n))
#define ALLOW(p, n)  ((void)(p), (void)(n))
#endif

#define LEAST_BYTES ((size_t)65536)

int scratch_reset(struct scratch *a, size_t limit)
{
    size_t size = LEAST_BYTES;

    a->used = 0;
    a->limit = limit;
    a->is_overrun = false;
    FORBID(a->base, a->size);
    if (limit <= a->size)
        return 0;
    if (limit > SIZE_MAX / 2)
        return -ENOMEM;
    while (size < limit)
        size *= 2; /* so that few messages ever make it grow */
    scratch_free(a);
    a->base = malloc(size);
    if (!a->base)
        return -ENOMEM;
    a->size = size;
    FORBID(a->base, a->size);
    a->n_mallocs++;
    return 0;
}

void *scratch_take(struct scratch *a, size_t bytes)
{
    size_t rounded = (bytes + 15) & ~(size_t)15;
    void *p;

    if (rounded < bytes || rounded > a->limit - a->used) {
        a->is_overrun = true;
        return NULL;
    }
    p = a->base + a->used;
    a->used += rounded;
    ALLOW(p, bytes);
    return p;
}

void scratch_free(struct scratch *a)
{
    ALLOW(a->base, a->size);
    free(a->base);
    a->base = NULL;
    a->size = a->used = 0;
}
