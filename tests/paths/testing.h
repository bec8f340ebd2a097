/* SPDX-License-Identifier: Apache-2.0 */
/* testing.h - what the tests of the path finder share; include after cmocka.h. */
#ifndef PATHS_TESTING_H
#define PATHS_TESTING_H
#include "algotest.h"
#include "driver.h"

static inline int open_host(void **state)
{
    (void)state;
    return algo_host_open(&host, "paths");
}

/* The answer of one RoI on the CPU; free with answers_free(&a, 1). */
static inline struct answer answer_of(const struct pa_config *c, const struct roi *r)
{
    struct answer a;

    assert_int_equal(paths_run(&host, cpu(), c, r, 1, 1, &a), 0);
    return a;
}

/* splitmix64 */
static inline uint64_t draw(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15u;

    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

static inline double uniform(uint64_t *state, double low, double high)
{
    return low + (high - low) * (double)(draw(state) >> 11) * 0x1p-53;
}

static inline uint32_t below(uint64_t *state, uint32_t n)
{
    return (uint32_t)((draw(state) >> 32) * n >> 32);
}
#endif
