/* SPDX-License-Identifier: Apache-2.0 */
/* Shares of credits: cases with known answers, and the rule of max-min fairness on random ones. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <cmocka.h>

#include "config/weights.h"
#include "transport/shares.h"

#define MOST 300u

static void known_cases(void **state)
{
    struct share even[3] = {{1, 100, 100, 0}, {1, 100, 100, 0}, {1, 100, 100, 0}};
    struct share modest[3] = {{1, 10, 10, 0}, {1, 100, 100, 0}, {1, 100, 100, 0}};
    struct share heavy[3] = {{1, 100, 100, 0}, {2, 100, 100, 0}, {4, 100, 100, 0}};
    struct share idle[2] = {{1, 10, 60, 0}, {1, 60, 60, 0}};

    (void)state;
    shares_fill(even, 3, 91); /* one is left over by rounding */
    assert_int_equal(even[0].got + even[1].got + even[2].got, 91);
    assert_true(even[0].got >= 30 && even[1].got >= 30 && even[2].got >= 30);
    shares_fill(modest, 3, 90);
    assert_int_equal(modest[0].got, 10);
    assert_int_equal(modest[1].got, 40);
    assert_int_equal(modest[2].got, 40);
    shares_fill(heavy, 3, 70);
    assert_int_equal(heavy[0].got, 10);
    assert_int_equal(heavy[1].got, 20);
    assert_int_equal(heavy[2].got, 40);
    shares_fill(idle, 2, 100); /* what the second cannot use lies with the first */
    assert_int_equal(idle[0].got, 40);
    assert_int_equal(idle[1].got, 60);
}

static uint32_t draw(uint64_t *seed, uint32_t below)
{
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(*seed >> 33) % below;
}

/* Nobody below its limit has less for its weight than anybody, but for the one that rounding
 * leaves. */
static void check_fair(const struct share *s, uint32_t n, int is_rest)
{
    for (uint32_t i = 0; i < n; i++) {
        if (s[i].got >= (is_rest ? s[i].most : s[i].demand))
            continue;
        for (uint32_t k = 0; k < n; k++)
            if (!is_rest || s[k].got > s[k].demand)
                assert_true(is_rest || s[k].got == 0 ||
                            (s[k].got - 1) * (uint64_t)s[i].weight <=
                                (s[i].got + 1) * (uint64_t)s[k].weight);
    }
}

static void random_cases_are_fair(void **state)
{
    const char *text = getenv("TRIGD_SEED");
    struct timespec now;
    uint64_t seed;

    (void)state;
    clock_gettime(CLOCK_REALTIME, &now);
    seed = text ? strtoull(text, NULL, 10)
                : (uint64_t)now.tv_sec * 1000000007u + (uint64_t)now.tv_nsec;
    print_message("seed %llu\n", (unsigned long long)seed);
    for (uint32_t trial = 0; trial < 3000; trial++) {
        struct share s[MOST];
        uint32_t n = 1 + draw(&seed, MOST), total = draw(&seed, 20000);
        uint64_t demands = 0, mosts = 0, got = 0;

        for (uint32_t i = 0; i < n; i++) {
            uint32_t demand = draw(&seed, 200);

            s[i] = (struct share){1 + draw(&seed, 8), demand, demand + draw(&seed, 100), 7};
            demands += demand;
            mosts += s[i].most;
        }
        shares_fill(s, n, total);
        for (uint32_t i = 0; i < n; i++) {
            got += s[i].got;
            assert_true(s[i].got <= s[i].most);
            assert_true(demands > total || s[i].got >= s[i].demand);
            assert_true(demands < total || s[i].got <= s[i].demand);
        }
        assert_int_equal(got, mosts < total ? mosts : total);
        check_fair(s, n, demands < total);
    }
}

static void weights(void **state)
{
    (void)state;
    assert_true(weights_are_good(""));
    assert_true(weights_are_good("hlt-*=4, calib=1000"));
    assert_false(weights_are_good("hlt"));
    assert_false(weights_are_good("hlt="));
    assert_false(weights_are_good("=3"));
    assert_false(weights_are_good("a=0"));
    assert_false(weights_are_good("a=1001"));
    assert_false(weights_are_good("a=-1"));
    assert_false(weights_are_good("a=2 b=3"));
    assert_int_equal(weights_of("hlt-*=4, calib=2, *=3", "hlt-1"), 4);
    assert_int_equal(weights_of("hlt-*=4, calib=2, *=3", "calib"), 2);
    assert_int_equal(weights_of("hlt-*=4, calib=2, *=3", "other"), 3);
    assert_int_equal(weights_of("hlt-*=4", "other"), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(known_cases),
        cmocka_unit_test(random_cases_are_fair),
        cmocka_unit_test(weights),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
