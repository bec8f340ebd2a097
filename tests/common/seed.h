/* SPDX-License-Identifier: Apache-2.0 */
/* seed.h - the seed of a random test, and numbers that follow from it. */
#ifndef TRIGD_TEST_SEED_H
#define TRIGD_TEST_SEED_H
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>

/* A fresh seed, or the one in TRIGD_SEED; printed, so that a failure can be had again. */
static inline uint64_t fresh_seed(void)
{
    const char *given = getenv("TRIGD_SEED");
    uint64_t seed = 0;

    if (given) {
        seed = strtoull(given, NULL, 0);
    } else if (getrandom(&seed, sizeof seed, 0) != sizeof seed) {
        fprintf(stderr, "no random seed\n");
        exit(1);
    }
    printf("TRIGD_SEED=%llu\n", (unsigned long long)seed);
    fflush(stdout);
    return seed;
}

/* The next number between low and high, neither of them. */
static inline double seed_uniform(uint64_t *state, double low, double high)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return low + (high - low) * ((double)(*state >> 40) + 0.5) / 16777216.0;
}
#endif
