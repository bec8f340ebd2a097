/* SPDX-License-Identifier: Apache-2.0 */
/* latency.h - histograms of durations in fixed log-spaced buckets (64 a factor of two, so
 * that a quantile is right to 0.8 %), single writer, read from any thread without a lock. */
#ifndef TRIGD_LATENCY_H
#define TRIGD_LATENCY_H
#include <stdatomic.h>
#include <stdint.h>

#define LATENCY_LOG     6u                                       /* log2 of LATENCY_SUB */
#define LATENCY_SUB     (1u << LATENCY_LOG)                      /* buckets in a factor of two */
#define LATENCY_BUCKETS ((43u - LATENCY_LOG + 1u) * LATENCY_SUB) /* up to 2^43 ns, 2.4 hours */

struct latency {
    _Atomic uint64_t bucket[LATENCY_BUCKETS];
    _Atomic uint64_t count, sum_ns, max_ns;
};

static inline uint32_t latency_bucket(uint64_t ns)
{
    uint32_t shift, b;

    if (ns < LATENCY_SUB)
        return (uint32_t)ns;
    shift = 63u - (uint32_t)__builtin_clzll(ns) - LATENCY_LOG;
    b = (shift + 1u) * LATENCY_SUB + (uint32_t)((ns >> shift) & (LATENCY_SUB - 1u));
    return b < LATENCY_BUCKETS ? b : LATENCY_BUCKETS - 1u;
}

/* The smallest duration of bucket b; the bucket ends where the next one begins. */
static inline uint64_t latency_bucket_ns(uint32_t b)
{
    if (b < LATENCY_SUB)
        return b;
    return (uint64_t)(LATENCY_SUB + b % LATENCY_SUB) << (b / LATENCY_SUB - 1u);
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
