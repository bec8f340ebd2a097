/* SPDX-License-Identifier: Apache-2.0 */
/* The interval of a median: by hand for few runs, and for pairs of rounds with outliers as often
 * around the true median as it says. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "result.h"
#include "seed.h"

#define PAIRS 48u
#define TRIES 2000u

static void test_by_hand(void **state)
{
    struct result r = {0};

    (void)state;
    assert_true(result_median_error(&r) == 0);
    for (uint32_t i = 0; i < 5; i++)
        result_add(&r, i * i); /* 0, 1, 4, 9, 16 */
    assert_true(result_median_error(&r) == 8);
    r.n = 0;
    for (uint32_t i = 0; i < PAIRS; i++)
        result_add(&r, (i * 31) % PAIRS); /* 0 to 47 in another order */
    /* (48 - 1.96 sqrt 48) / 2 = 17.2: the 17th from below, 16, and from above, 31 */
    assert_true(result_median_error(&r) == 7.5);
    assert_true(result_median(&r) == 23.5);
}

/* Differences of 10 us with a spread of 40, one in eight of them off by up to 3 ms. */
static double difference(uint64_t *seed)
{
    const double u = seed_uniform(seed, -40, 40);

    return 10 + u + (seed_uniform(seed, 0, 8) < 1 ? 75 * u : 0);
}

static void test_coverage(void **state)
{
    uint64_t seed = fresh_seed();
    uint32_t inside = 0;

    (void)state;
    for (uint32_t t = 0; t < TRIES; t++) {
        struct result r = {0};

        for (uint32_t i = 0; i < PAIRS; i++)
            result_add(&r, difference(&seed));
        inside += fabs(result_median(&r) - 10) <= result_median_error(&r);
    }
    /* about the median of the runs instead of between two of them: a little wider or narrower */
    assert_in_range(inside, TRIES * 92 / 100, TRIES * 98 / 100);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_by_hand),
                                       cmocka_unit_test(test_coverage)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
