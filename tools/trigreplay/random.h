/* SPDX-License-Identifier: Apache-2.0 */
/* random.h - random numbers that are the same on every machine: SplitMix64 (Steele, Lea, Flood,
 * OOPSLA 2014), begun anew for every RoI; no function of the C library but sqrt, which IEEE
 * defines to the last bit. */
#ifndef TRIGD_RANDOM_H
#define TRIGD_RANDOM_H
#include <math.h>
#include <stdbool.h>
#include <stdint.h>

#include "exact.h"

struct random {
    uint64_t state;
    double spare; /* the second of a pair of normal numbers */
    bool has_spare;
};

static inline uint64_t random_u64(struct random *r)
{
    uint64_t x = (r->state += 0x9e3779b97f4a7c15u);

    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

static inline void random_seed(struct random *r, uint64_t seed, uint64_t stream)
{
    struct random a = {.state = seed}, b = {.state = stream ^ 0xd1b54a32d192ed03u};

    *r = (struct random){.state = random_u64(&a) ^ random_u64(&b)};
}

/* In [0, 1). */
static inline double random_unit(struct random *r)
{
    return (double)(random_u64(r) >> 11) * 0x1p-53;
}

static inline double random_range(struct random *r, double low, double high)
{
    return low + (high - low) * random_unit(r);
}

static inline double random_exponential(struct random *r, double mean)
{
    return -mean * exact_log(1.0 - random_unit(r));
}

/* Mean 0, sigma 1: pairs by Marsaglia's polar method. */
static inline double random_normal(struct random *r)
{
    double x, y, square, scale;

    if (r->has_spare) {
        r->has_spare = false;
        return r->spare;
    }
    do {
        x = random_range(r, -1, 1);
        y = random_range(r, -1, 1);
        square = x * x + y * y;
    } while (square >= 1 || square < 1e-300);
    scale = sqrt(-2 * exact_log(square) / square);
    r->spare = y * scale;
    r->has_spare = true;
    return x * scale;
}

/* A Poisson number: how many uniform numbers can be multiplied before their product is below
 * e^-mean (Knuth), in parts so that this stays a normal number. */
static inline uint32_t random_poisson(struct random *r, double mean)
{
    uint32_t n = 0;

    while (mean > 0) {
        double part = mean < 500 ? mean : 500, limit = exact_exp(-part);

        for (double product = random_unit(r); product > limit; product *= random_unit(r))
            n++;
        mean -= part;
    }
    return n;
}
#endif
