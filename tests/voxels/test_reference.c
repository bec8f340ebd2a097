/* SPDX-License-Identifier: Apache-2.0 */
/* Labels, counts and boxes on each device of a backend against the slow and obvious way: random
 * volumes and models, whole and in bricks. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "devices.h"
#include "driver.h"
#include "phantom.h"
#include "reference.h"
#include "seed.h"

#define MODELS 12u

struct job {
    struct vox_model model;
    struct volume v;
    uint8_t *values, *expected, *labels;
    struct reference_sums sums;
};

static void open_job(struct job *j, const uint32_t *n, uint32_t stumps, uint64_t seed)
{
    const size_t all = (size_t)n[0] * n[1] * n[2];
    const uint32_t size[3] = {n[0] + 20, n[1] + 20, n[2] + 20};

    memset(j, 0, sizeof *j);
    j->v.values = j->values = malloc(all);
    j->expected = malloc(all);
    j->labels = malloc(all);
    assert_true(j->values && j->expected && j->labels);
    for (uint32_t a = 0; a < 3; a++) {
        j->v.n[a] = n[a];
        j->v.origin[a] = (uint32_t)(seed >> (8 * a) & 15);
    }
    if (seed & 1)
        phantom_head(n, seed, j->values);
    else
        phantom_noise(n, seed, j->values);
    assert_int_equal(phantom_model(size, stumps, seed, &j->model), 0);
    reference_labels(&j->model, j->values, n, j->v.origin, j->expected);
    assert_int_equal(reference_sums(j->expected, n, j->v.origin, &j->sums), 0);
}

static void close_job(struct job *j)
{
    vox_model_fini(&j->model);
    free(j->values);
    free(j->expected);
    free(j->labels);
}

static void expect(const struct job *j, const struct labelled *l)
{
    const size_t all = (size_t)j->v.n[0] * j->v.n[1] * j->v.n[2];

    for (size_t i = 0; i < all; i++)
        if (j->expected[i] != j->labels[i])
            fail_msg("voxel %zu of %u x %u x %u is %u, not %u", i, j->v.n[0], j->v.n[1], j->v.n[2],
                     j->labels[i], j->expected[i]);
    assert_int_equal(l->count, j->sums.count);
    for (uint32_t a = 0; l->count && a < 3; a++) {
        assert_int_equal(l->low[a], j->sums.low[a]);
        assert_int_equal(l->high[a], j->sums.high[a]);
    }
}

/* On all devices, with labels as bits and as bytes by turns. */
static void each_way(struct job *j, const uint32_t *brick, uint32_t batch)
{
    static uint32_t turn;

    for (uint32_t i = 0; i < devices_count(); i++) {
        const struct vox_setup setup = {.labels = turn++ % 2 ? VOX_LABELS_BYTES : VOX_LABELS_BITS};
        struct labelled l = {.labels = j->labels};

        memset(j->labels, 7, (size_t)j->v.n[0] * j->v.n[1] * j->v.n[2]);
        label_volume(devices_get(i)->d, &j->model, &setup, &j->v, brick, batch, &l);
        expect(j, &l);
    }
}

static void test_whole(void **state)
{
    static const uint32_t sizes[][3] = {{1, 1, 1},   {8, 8, 8},  {33, 7, 5},  {5, 1, 40},
                                        {64, 20, 9}, {1, 70, 3}, {130, 3, 2}, {47, 31, 21}};
    const uint64_t seed = fresh_seed();

    (void)state;
    for (uint32_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        struct job j;

        open_job(&j, sizes[i], 1 + (uint32_t)(seed + i) % 60, seed + i);
        each_way(&j, NULL, 1);
        close_job(&j);
    }
}

static void test_bricks(void **state)
{
    static const uint32_t n[] = {45, 37, 29}, bricks[][3] = {{16, 16, 16}, {45, 37, 3}, {7, 40, 1}};
    const uint64_t seed = fresh_seed();
    struct job j;

    (void)state;
    open_job(&j, n, 80, seed);
    for (uint32_t i = 0; i < 3; i++)
        each_way(&j, bricks[i], 5);
    close_job(&j);
}

/* From no stump to more than the CPU compares. */
static void test_models(void **state)
{
    static const uint32_t n[] = {40, 24, 10},
                          stumps[MODELS] = {0, 1, 2, 3, 5, 10, 20, 40, 100, 200, 400, 700};
    const uint64_t seed = fresh_seed();

    (void)state;
    for (uint32_t i = 0; i < MODELS; i++) {
        struct job j;

        open_job(&j, n, stumps[i], seed + i);
        each_way(&j, NULL, 1);
        close_job(&j);
    }
}

/* 16 bits through a window: the answer is that for the bytes which the window makes of them. */
static void test_window(void **state)
{
    static const uint32_t n[] = {21, 10, 6};
    uint64_t seed = fresh_seed();

    (void)state;
    for (uint32_t k = 0; k < 4; k++) {
        const struct vox_setup setup = {.labels = VOX_LABELS_BITS,
                                        .value_bytes = 2,
                                        .is_signed = k % 2,
                                        .low = k % 2 ? -1000 : 700,
                                        .width = 1 + (uint32_t)seed_uniform(&seed, 0, 5000)};
        unsigned char wide[21 * 10 * 6 * 2];
        struct job j;

        open_job(&j, n, 30, seed + k);
        for (uint32_t i = 0; i < sizeof wide / 2; i++) {
            const int32_t raw = (int32_t)seed_uniform(&seed, 0, 65536);
            const int32_t value = setup.is_signed && raw > 32767 ? raw - 65536 : raw;
            const int32_t step = (value - setup.low) * 256 / (int32_t)setup.width;

            wide[2 * i] = (unsigned char)(raw & 255);
            wide[2 * i + 1] = (unsigned char)(raw >> 8);
            j.values[i] = (uint8_t)(value < setup.low ? 0 : step > 255 ? 255 : step);
        }
        reference_labels(&j.model, j.values, n, j.v.origin, j.expected);
        assert_int_equal(reference_sums(j.expected, n, j.v.origin, &j.sums), 0);
        j.v.values = wide;
        for (uint32_t i = 0; i < devices_count(); i++) {
            struct labelled l = {.labels = j.labels};

            label_volume(devices_get(i)->d, &j.model, &setup, &j.v, (uint32_t[]){8, 10, 4}, 3, &l);
            expect(&j, &l);
        }
        close_job(&j);
    }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_whole), cmocka_unit_test(test_bricks),
                                       cmocka_unit_test(test_models),
                                       cmocka_unit_test(test_window)};

    return devices_main(argc, argv, tests, sizeof tests / sizeof *tests);
}
