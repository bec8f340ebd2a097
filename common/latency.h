/* SPDX-License-Identifier: Apache-2.0 */
/* latency.h - histograms of durations in fixed log-spaced buckets (8 a factor of two, so
 * that a quantile is right to 9 %), single writer, read from any thread without a lock. */
#ifndef TRIGD_LATENCY_H
#define TRIGD_LATENCY_H
#include <stdatomic.h>
#include <stdint.h>

#define LATENCY_SUB     8u                         /* buckets in a factor of two */
#define LATENCY_BUCKETS (8u + (40u * LATENCY_SUB)) /* up to 2^43 ns, 2.4 hours */

struct latency {
    _Atomic uint64_t bucket[LATENCY_BUCKETS];
    _Atomic uint64_t count, sum_ns, max_ns;
};

static inline uint32_t latency_bucket(uint64_t ns)
{
    uint32_t shift, b;

    if (ns < LATENCY_SUB)
        return (uint32_t)ns;
    shift = 63u - (uint32_t)__builtin_clzll(ns); /* >= 3 */
    b = (shift - 2u) * LATENCY_SUB + (uint32_t)((ns >> (shift - 3u)) & (LATENCY_SUB - 1u));
    return b < LATENCY_BUCKETS ? b : LATENCY_BUCKETS - 1u;
}

/* The smallest duration of bucket b; the bucket ends where the next one begins. */
static inline uint64_t latency_bucket_ns(uint32_t b)
{
    uint32_t shift;

    if (b < LATENCY_SUB)
        return b;
    shift = b / LATENCY_SUB + 2u;
    return (uint64_t)(LATENCY_SUB + b % LATENCY_SUB) << (shift - 3u);
}

static inline void latency_add_one_(_Atomic uint64_t *a, uint64_t n)
{
    atomic_store_explicit(a, atomic_load_explicit(a, memory_order_relaxed) + n,
                          memory_order_relaxed);
}

/* Adds one duration.  One thread only for each histogram. */
static inline void latency_add(struct latency *l, uint64_t ns)
{
    latency_add_one_(&l->bucket[latency_bucket(ns)], 1);
    latency_add_one_(&l->count, 1);
    latency_add_one_(&l->sum_ns, ns);
    if (ns > atomic_load_explicit(&l->max_ns, memory_order_relaxed))
        atomic_store_explicit(&l->max_ns, ns, memory_order_relaxed);
}

/* The duration below which a fraction q (0..1) of all lie (middle of its bucket); 0 if empty. */
static inline double latency_quantile_ns(const struct latency *l, double q)
{
    uint64_t total = 0, seen = 0;

    for (uint32_t b = 0; b < LATENCY_BUCKETS; b++)
        total += atomic_load_explicit(&l->bucket[b], memory_order_relaxed);
    if (!total)
        return 0;
    for (uint32_t b = 0; b < LATENCY_BUCKETS; b++) {
        seen += atomic_load_explicit(&l->bucket[b], memory_order_relaxed);
        if ((double)seen >= q * (double)total && seen)
            return 0.5 * (double)(latency_bucket_ns(b) + latency_bucket_ns(b + 1));
    }
    return (double)atomic_load_explicit(&l->max_ns, memory_order_relaxed);
}
#endif
