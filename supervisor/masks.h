/* SPDX-License-Identifier: Apache-2.0 */
/* masks.h - a set of the RoIs of one batch. */
#ifndef TRIGSUP_MASKS_H
#define TRIGSUP_MASKS_H
#include <stdbool.h>
#include <stdint.h>

#include "route.h"

struct mask {
    uint64_t word[ROUTE_WORDS];
};

/* The first n. */
static inline struct mask mask_first(uint32_t n)
{
    struct mask m = {{0}};

    for (uint32_t i = 0; i < ROUTE_WORDS && n > 64 * i; i++)
        m.word[i] = n >= 64 * (i + 1) ? ~UINT64_C(0) : (UINT64_C(1) << (n - 64 * i)) - 1;
    return m;
}
static inline bool mask_has(const struct mask *m, uint32_t i)
{
    return m->word[i / 64] >> i % 64 & 1;
}
static inline void mask_add(struct mask *m, uint32_t i)
{
    m->word[i / 64] |= UINT64_C(1) << i % 64;
}
static inline void mask_drop(struct mask *m, uint32_t i)
{
    m->word[i / 64] &= ~(UINT64_C(1) << i % 64);
}
static inline uint32_t mask_count(const struct mask *m)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < ROUTE_WORDS; i++)
        n += (uint32_t)__builtin_popcountll(m->word[i]);
    return n;
}
static inline bool mask_is_empty(const struct mask *m)
{
    uint64_t any = 0;

    for (uint32_t i = 0; i < ROUTE_WORDS; i++)
        any |= m->word[i];
    return !any;
}
static inline struct mask mask_and(const struct mask *a, const struct mask *b)
{
    struct mask m;

    for (uint32_t i = 0; i < ROUTE_WORDS; i++)
        m.word[i] = a->word[i] & b->word[i];
    return m;
}
static inline struct mask mask_or(const struct mask *a, const struct mask *b)
{
    struct mask m;

    for (uint32_t i = 0; i < ROUTE_WORDS; i++)
        m.word[i] = a->word[i] | b->word[i];
    return m;
}
static inline struct mask mask_without(const struct mask *a, const struct mask *b)
{
    struct mask m;

    for (uint32_t i = 0; i < ROUTE_WORDS; i++)
        m.word[i] = a->word[i] & ~b->word[i];
    return m;
}
/* The first RoI from `from` on; ROUTE_ROIS: there is none. */
static inline uint32_t mask_next(const struct mask *m, uint32_t from)
{
    for (uint32_t i = from / 64; i < ROUTE_WORDS; i++) {
        const uint64_t left =
            i == from / 64 ? m->word[i] & (~UINT64_C(0) << from % 64) : m->word[i];

        if (left)
            return 64 * i + (uint32_t)__builtin_ctzll(left);
    }
    return ROUTE_ROIS;
}
#endif
