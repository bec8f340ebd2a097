/* SPDX-License-Identifier: Apache-2.0 */
/* The division of near_gpu.h, with a correctly rounded reciprocal, rounds as IEEE wants it: tried
 * for quotients that lie as near to the middle between two floats as quotients of floats can. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#define ZF_FAST_DIVISION 1
#include "near_gpu.h"
#include "testing.h"

#define LEAST        (1 << 23) /* of a float's 24 bits, as an integer */
#define NEAR         8         /* twice what the error of the last sum can be, in the units below */
#define DENOMINATORS 100000u

/* a^-1 modulo m, m odd and above 1, a a power of 2. */
static int64_t inverse_of(int64_t a, int64_t m)
{
    int64_t t = 0, next_t = 1, r = m, next_r = a % m;

    while (next_r) {
        const int64_t q = r / next_r, t0 = t - q * next_t, r0 = r - q * next_r;

        t = next_t;
        next_t = t0;
        r = next_r;
        next_r = r0;
    }
    return t < 0 ? t + m : t;
}

/* Tries all numerators n with 2^bits n = odd d + c, whose quotient is c / (2^bits d) off a middle;
 * returns how many there were. */
static uint32_t try_near(int64_t d, int64_t odd_part, int shift, int bits, int64_t c)
{
    const int64_t power = ((int64_t)1 << (bits - shift)) % odd_part;
    const int64_t rest = ((c >> shift) % odd_part + odd_part) % odd_part;
    const int64_t from = rest * inverse_of(power, odd_part) % odd_part;
    uint32_t tried = 0;

    for (int64_t n = from; n < 2 * LEAST; n += odd_part) {
        const int64_t multiple = ((int64_t)1 << bits) * n - c;

        /* quotients from 1 on have middles with 24 bits behind the point, those below with 25 */
        if (n < LEAST || (bits == 24) != (n >= d) || multiple % d || !(multiple / d & 1))
            continue;
        assert_true(zf_divide((float)n, (float)d, zf_inverse((float)d)) == (float)n / (float)d);
        tried++;
    }
    return tried;
}

static void quotients_near_the_middle(void **state)
{
    uint64_t seed = fresh_seed(), tried = 0;

    (void)state;
    for (uint32_t i = 0; i < DENOMINATORS; i++) {
        int64_t d;
        int shift;

        seed = seed * 6364136223846793005u + 1442695040888963407u;
        d = LEAST + (int64_t)(seed >> 41);
        shift = __builtin_ctzll((unsigned long long)d);
        for (int64_t c = -NEAR; c <= NEAR && d >> shift > 1; c++)
            if (c && c % ((int64_t)1 << shift) == 0)
                tried +=
                    try_near(d, d >> shift, shift, 24, c) + try_near(d, d >> shift, shift, 25, c);
    }
    print_message("%u quotients\n", (unsigned)tried);
    assert_true(tried > DENOMINATORS);
}

static void division_by_zero_is_no_number(void **state)
{
    (void)state;
    assert_true(isnan(zf_divide(1.0f, 0.0f, zf_inverse(0.0f))));
    assert_true(isnan(zf_divide(0.0f, 0.0f, zf_inverse(0.0f))));
}

static void wild_points_are_known(void **state)
{
    (void)state;
    assert_int_equal(zf_is_wild(33.25f, -200.0f), 0);
    assert_int_equal(zf_is_wild(0.0f, 0.0f), 0);
    assert_int_equal(zf_is_wild(1e-30f, 0.0f), 1);
    assert_int_equal(zf_is_wild(1e30f, 0.0f), 1);
    assert_int_equal(zf_is_wild(1.0f, 1e30f), 1);
    assert_int_equal(zf_is_wild(1.0f, -1e-30f), 1);
    assert_int_equal(zf_is_wild(NAN, 0.0f), 1);
    assert_int_equal(zf_is_wild(1.0f, NAN), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(quotients_near_the_middle),
        cmocka_unit_test(division_by_zero_is_no_number),
        cmocka_unit_test(wild_points_are_known),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
