/* SPDX-License-Identifier: Apache-2.0 */
/* hash.h - a hash of bytes (FNV-1a, 64 bits); not secure against chosen collisions. */
#ifndef TRIGD_HASH_H
#define TRIGD_HASH_H
#include <stddef.h>
#include <stdint.h>

/* Continues from the hash of the bytes before. */
static inline uint64_t hash_more(uint64_t h, const void *bytes, size_t n)
{
    const unsigned char *b = bytes;

    for (size_t i = 0; i < n; i++)
        h = (h ^ b[i]) * UINT64_C(1099511628211);
    return h;
}

static inline uint64_t hash_bytes(const void *bytes, size_t n)
{
    return hash_more(UINT64_C(14695981039346656037), bytes, n);
}
#endif
