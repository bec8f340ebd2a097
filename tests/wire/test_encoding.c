/* SPDX-License-Identifier: Apache-2.0 */
/* Values to numbers and back: within half a step, never outside, the same bits whatever the
 * vectors. */
#include <errno.h>
#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "encoding.h"
#include "sample.h"
#include "samples.collections.h"
#include "seed.h"

#define N      1000u
#define ROUNDS 300u

static float from[N], back[N];
static unsigned char raw[2 * N + 1];

/* Fits, converts there and back from an odd address, and compares with `most_error`. */
static void there_and_back(size_t n, double most_error)
{
    float least = n ? from[0] : 0, most = least;
    struct trg_encoding e;

    assert_int_equal(encoding_fit(from, n, &e), 0);
    assert_int_equal(encoding_numbers(e, from, n, raw + 1), n);
    encoding_values(e, raw + 1, n, back);
    for (size_t i = 0; i < n; i++) {
        least = fminf(least, from[i]);
        most = fmaxf(most, from[i]);
    }
    for (size_t i = 0; i < n; i++) {
        assert_true(fabs((double)back[i] - (double)from[i]) <= most_error);
        assert_true(back[i] >= least && back[i] <= most);
    }
    assert_true(encoding_value(e, 0) == least);
    assert_true(encoding_value(e, ENCODING_MOST) <= most);
}

static double uniform(uint64_t *state)
{
    return (double)(sample_random(state) >> 11) * 0x1p-53;
}

static void random_values(void **state)
{
    uint64_t seed = fresh_seed();

    (void)state;
    for (uint32_t round = 0; round < ROUNDS; round++) {
        size_t n = round < 10 ? round : (size_t)(sample_random(&seed) % (N + 1));
        double middle = (uniform(&seed) - 0.5) * 2000, width = pow(10, uniform(&seed) * 6 - 3);
        double largest = fabs(middle) + width;

        for (size_t i = 0; i < n; i++)
            from[i] = (float)(middle + (uniform(&seed) - 0.5) * width);
        /* half a step, what the step lost by rounding, two roundings of the value */
        there_and_back(n, width / 65535 * 0.51 + width * 0x1p-23 + largest * 0x1p-22);
    }
}

static void by_hand(void **state)
{
    const struct trg_encoding e = {25, 0.5f};
    const unsigned char numbers[8] = {0, 0, 1, 0, 0, 1, 0xff, 0xff};
    unsigned char again[8];
    float v[4];

    (void)state;
    encoding_values(e, numbers, 4, v);
    assert_memory_equal(v, ((float[]){25, 25.5f, 153, 32792.5f}), sizeof v);
    assert_int_equal(encoding_numbers(e, v, 4, again), 4);
    assert_memory_equal(again, numbers, sizeof again);
    from[0] = from[1] = 7.25f; /* one value: a step of 0 */
    there_and_back(2, 0);
    from[0] = -0x1p-14f;
    from[1] = 65535 * 0x1p-14f - 0x1p-14f;
    from[2] = 3 * 0x1p-14f;
    there_and_back(3, 0); /* multiples of a step are kept as they are */
    there_and_back(0, 0);
}

/* Half a step beyond the ends is still there; a value farther out, or NaN, stops. */
static void what_numbers_do_not_reach(void **state)
{
    const struct trg_encoding e = {-1.5f, 0.125f};
    const float reach[] = {-1.5f, -1.5625f, -1.5f + 65535 * 0.125f, 8190.43f};
    const float beyond[] = {-1.6f, 8190.5f, NAN, INFINITY, -INFINITY};
    unsigned char n[8];

    (void)state;
    assert_int_equal(encoding_numbers(e, reach, 4, n), 4);
    assert_memory_equal(n, ((unsigned char[]){0, 0, 0, 0, 255, 255, 255, 255}), sizeof n);
    for (size_t i = 0; i < sizeof beyond / sizeof *beyond; i++) {
        const float values[] = {0, beyond[i], 0};

        assert_int_equal(encoding_numbers(e, values, 3, n), 1);
    }
}

/* The first number whose value is out of range, as a look at every value finds it. */
static void a_range(void **state)
{
    uint64_t seed = fresh_seed();

    (void)state;
    for (uint32_t round = 0; round < 20 * ROUNDS; round++) {
        const struct trg_encoding e = {(float)(uniform(&seed) * 20 - 10),
                                       (float)((uniform(&seed) - 0.2) * 0.001)};
        const struct values_range r = {uniform(&seed) * 80 - 40, 40};
        const size_t n = (size_t)(sample_random(&seed) % 50);
        size_t first = n, at = n;
        double value = 0;

        for (size_t i = 0; i < 2 * n; i++)
            raw[i] = (unsigned char)sample_random(&seed);
        for (size_t i = n; i--;) {
            volatile float product = e.step * (float)(raw[2 * i] | raw[2 * i + 1] << 8);
            const float v = e.offset + product;

            first = v < (float)r.least || v > (float)r.most ? i : first;
        }
        assert_int_equal(encoding_find(e, r, raw, n, &at, &value), first < n);
        assert_int_equal(at, first);
        if (encoding_is_within(e, r))
            assert_int_equal(first, n);
    }
}

static void a_declaration(void **state)
{
    const struct trg_encoding sent[] = {{1, 2}, {3, 4}, {5, 6}};
    const uint32_t momentum = TRG_SAMPLES_MOMENTUM_COLUMN;
    char why[256];
    uint32_t kind;

    (void)state;
    assert_int_equal(kind_add(&trg_samples, &kind, why, sizeof why), 0);
    assert_int_equal(encoding_count(&trg_spacepoints), 3);
    assert_int_equal(encoding_sent(&trg_spacepoints), 3);
    assert_true(encoding_of(&trg_spacepoints, sent, 2).step == 6);
    assert_int_equal(encoding_count(&trg_hits), 0);
    assert_int_equal(encoding_count(&trg_samples), 2);
    assert_int_equal(encoding_sent(&trg_samples), 1); /* e */
    assert_true(encoding_of(&trg_samples, sent, 0).offset == 1);
    assert_true(encoding_of(kind_info(kind), NULL, momentum).offset == -1.5f);
    assert_true(encoding_of(kind_info(kind), NULL, momentum).step == 0.0001f);
    assert_int_equal(encoding_item_bytes(TRG_SPACEPOINTS, true, 0), 2);
    assert_int_equal(encoding_item_bytes(TRG_SPACEPOINTS, true, 3), 1);
    assert_int_equal(encoding_item_bytes(TRG_SPACEPOINTS, false, 0), 4);
    assert_int_equal(encoding_item_bytes(kind, true, momentum), 6);
}

static void what_cannot_be_told(void **state)
{
    struct trg_encoding e = {1, 4}, same = e;

    (void)state;
    from[0] = 0;
    from[1] = NAN;
    assert_int_equal(encoding_fit(from, 2, &e), -EINVAL);
    from[1] = -INFINITY;
    assert_int_equal(encoding_fit(from, 2, &e), -EINVAL);
    from[0] = -FLT_MAX;
    from[1] = FLT_MAX;
    assert_int_equal(encoding_fit(from, 2, &e), -ERANGE);
    assert_memory_equal(&e, &same, sizeof e);
}

/* Vectors or not: as encoding_value says, with each of the two roundings. */
static void every_number(void **state)
{
    uint64_t seed = fresh_seed();
    unsigned char *all = malloc(2 * (ENCODING_MOST + 1u) + 1);
    float *v = malloc((ENCODING_MOST + 1u) * sizeof *v);

    (void)state;
    assert_true(all && v);
    for (uint32_t i = 0; i <= ENCODING_MOST; i++)
        memcpy(all + 1 + 2 * (size_t)i, &(uint16_t){(uint16_t)i}, 2);
    for (uint32_t round = 0; round < 3; round++) {
        const struct trg_encoding e = {(float)(uniform(&seed) * 2000 - 1000),
                                       (float)(uniform(&seed) * 0.1)};

        encoding_values(e, all + 1, ENCODING_MOST + 1u, v);
        for (uint32_t i = 0; i <= ENCODING_MOST; i++) {
            volatile float product = e.step * (float)i; /* rounded before the sum */

            assert_true(v[i] == e.offset + product);
            assert_true(v[i] == encoding_value(e, (uint16_t)i));
        }
    }
    free(all);
    free(v);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(by_hand),
        cmocka_unit_test(random_values),
        cmocka_unit_test(what_numbers_do_not_reach),
        cmocka_unit_test(a_range),
        cmocka_unit_test(a_declaration),
        cmocka_unit_test(what_cannot_be_told),
        cmocka_unit_test(every_number),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
