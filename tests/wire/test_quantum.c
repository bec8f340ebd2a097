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

#include "quantum.h"
#include "sample.h"
#include "seed.h"

#define N      1000u
#define ROUNDS 300u

static float from[N], back[N];
static unsigned char raw[2 * N + 1];

/* Fits, converts there and back from an odd address, and compares with `most_error`. */
static void there_and_back(size_t n, uint32_t c, double most_error)
{
    float least = n ? from[0] : 0, most = least;
    struct quantum q = {.offset = {0}};

    assert_int_equal(quantum_fit(from, n, c, &q), 0);
    quantum_numbers(&q, c, from, n, raw + 1);
    quantum_values(&q, c, raw + 1, n, back);
    for (size_t i = 0; i < n; i++) {
        least = fminf(least, from[i]);
        most = fmaxf(most, from[i]);
    }
    for (size_t i = 0; i < n; i++) {
        assert_true(fabs((double)back[i] - (double)from[i]) <= most_error);
        assert_true(back[i] >= least && back[i] <= most);
    }
    assert_true(quantum_value(&q, c, 0) == least);
    assert_true(quantum_value(&q, c, QUANTUM_MOST) <= most);
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
        there_and_back(n, round % 3, width / 65535 * 0.51 + width * 0x1p-23 + largest * 0x1p-22);
    }
}

static void by_hand(void **state)
{
    struct quantum q = {.offset = {0, 25, 0}, .step = {0, 0.5f, 0}};
    const unsigned char numbers[8] = {0, 0, 1, 0, 0, 1, 0xff, 0xff};
    float v[4];

    (void)state;
    quantum_values(&q, 1, numbers, 4, v);
    assert_memory_equal(v, ((float[]){25, 25.5f, 153, 32792.5f}), sizeof v);
    from[0] = from[1] = 7.25f; /* one value: a step of 0 */
    there_and_back(2, 2, 0);
    from[0] = -0x1p-14f;
    from[1] = 65535 * 0x1p-14f - 0x1p-14f;
    from[2] = 3 * 0x1p-14f;
    there_and_back(3, 0, 0); /* multiples of a step are kept as they are */
    there_and_back(0, 0, 0);
}

static void what_cannot_be_told(void **state)
{
    struct quantum q = {.offset = {1, 2, 3}, .step = {4, 5, 6}}, same = q;

    (void)state;
    from[0] = 0;
    from[1] = NAN;
    assert_int_equal(quantum_fit(from, 2, 0, &q), -EINVAL);
    from[1] = -INFINITY;
    assert_int_equal(quantum_fit(from, 2, 0, &q), -EINVAL);
    from[0] = -FLT_MAX;
    from[1] = FLT_MAX;
    assert_int_equal(quantum_fit(from, 2, 0, &q), -ERANGE);
    assert_memory_equal(&q, &same, sizeof q);
}

/* Vectors or not: as quantum_value says, with each of the two roundings. */
static void every_number(void **state)
{
    uint64_t seed = fresh_seed();
    unsigned char *all = malloc(2 * (QUANTUM_MOST + 1u) + 1);
    float *v = malloc((QUANTUM_MOST + 1u) * sizeof *v);
    struct quantum q;

    (void)state;
    assert_true(all && v);
    for (uint32_t i = 0; i <= QUANTUM_MOST; i++)
        memcpy(all + 1 + 2 * (size_t)i, &(uint16_t){(uint16_t)i}, 2);
    for (uint32_t c = 0; c < QUANTUM_COLUMNS; c++) {
        q.offset[c] = (float)(uniform(&seed) * 2000 - 1000);
        q.step[c] = (float)(uniform(&seed) * 0.1);
        quantum_values(&q, c, all + 1, QUANTUM_MOST + 1u, v);
        for (uint32_t i = 0; i <= QUANTUM_MOST; i++) {
            volatile float product = q.step[c] * (float)i; /* rounded before the sum */

            assert_true(v[i] == q.offset[c] + product);
            assert_true(v[i] == quantum_value(&q, c, (uint16_t)i));
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
        cmocka_unit_test(what_cannot_be_told),
        cmocka_unit_test(every_number),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
