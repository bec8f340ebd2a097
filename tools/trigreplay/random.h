/* SPDX-License-Identifier: Apache-2.0 */
/* random.h - random numbers that are the same on every machine: SplitMix64 (Steele, Lea, Flood,
 * OOPSLA 2014), begun anew for every RoI. */
#ifndef TRIGD_RANDOM_H
#define TRIGD_RANDOM_H
#include <math.h>
#include <stdint.h>

struct random {
    uint64_t state;
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
    struct random a = {seed}, b = {stream ^ 0xd1b54a32d192ed03u};

    r->state = random_u64(&a) ^ random_u64(&b);
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
    return -mean * log1p(-random_unit(r));
}

/* Mean 0, sigma 1 (Box and Muller). */
static inline double random_normal(struct random *r)
{
    double radius = sqrt(random_exponential(r, 2.0));

    return radius * cos(2.0 * 3.14159265358979323846 * random_unit(r));
}

/* A Poisson number, by the times between its events. */
static inline uint32_t random_poisson(struct random *r, double mean)
{
    double t = random_exponential(r, 1.0);
    uint32_t n = 0;

    while (t < mean) {
        t += random_exponential(r, 1.0);
        n++;
    }
    return n;
}
#endif
