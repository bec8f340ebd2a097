/* SPDX-License-Identifier: Apache-2.0 */
#include "mallocs.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "sanitized.h"

static _Atomic uint64_t count;

uint64_t mallocs(void)
{
    return atomic_load(&count);
}

#ifdef IS_SANITIZED
int __sanitizer_install_malloc_and_free_hooks(void (*on_malloc)(const volatile void *, size_t),
                                              void (*on_free)(const volatile void *));

static void on_malloc(const volatile void *p, size_t bytes)
{
    (void)p;
    (void)bytes;
    atomic_fetch_add(&count, 1);
}

static void on_free(const volatile void *p)
{
    (void)p;
}

__attribute__((constructor)) static void install(void)
{
    __sanitizer_install_malloc_and_free_hooks(on_malloc, on_free);
}
#else
/* glibc's own, under the names that it keeps for those who replace malloc */
void *__libc_malloc(size_t bytes);
void *__libc_calloc(size_t n, size_t bytes);
void *__libc_realloc(void *p, size_t bytes);

__attribute__((visibility("default"))) void *malloc(size_t bytes)
{
    atomic_fetch_add(&count, 1);
    return __libc_malloc(bytes);
}

__attribute__((visibility("default"))) void *calloc(size_t n, size_t bytes)
{
    atomic_fetch_add(&count, 1);
    return __libc_calloc(n, bytes);
}

__attribute__((visibility("default"))) void *realloc(void *p, size_t bytes)
{
    atomic_fetch_add(&count, 1);
    return __libc_realloc(p, bytes);
}
#endif
