/* SPDX-License-Identifier: Apache-2.0 */
/* Components on each device of a backend, and plane by plane on the host, against flooding. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "devices.h"
#include "driver.h"
#include "reference.h"
#include "seed.h"
#include "stream.h"

/* The label of a voxel is its value: 1 where v > 0. */
static struct vox_stump is_positive = {VOX_V, 0, -1000, 1000};
static const struct vox_model threshold = {
    .name = "positive", .n_stumps = 1, .stumps = &is_positive};

static uint32_t random_below(uint64_t *seed, uint32_t n)
{
    return (uint32_t)seed_uniform(seed, 0, n);
}

/* `percent` of the voxels are labelled. */
static uint8_t *scatter(const uint32_t *n, uint32_t percent, uint64_t *seed)
{
    const size_t all = (size_t)n[0] * n[1] * n[2];
    uint8_t *values = malloc(all);

    assert_non_null(values);
    for (size_t i = 0; i < all; i++)
        values[i] = random_below(seed, 100) < percent;
    return values;
}

static void expect_stream(const uint8_t *labels, const uint32_t *n,
                          const struct reference_sums *expected)
{
    const uint32_t row_bytes = (n[0] + 7) / 8 + 1; /* rows may be longer */
    unsigned char *bits = calloc(n[1], row_bytes);
    struct vox_stream_sums sums;
    struct vox_stream *s;

    assert_non_null(bits);
    assert_int_equal(vox_stream_open(n[0], n[1], &s), 0);
    for (uint32_t z = 0; z < n[2]; z++) {
        memset(bits, 0, (size_t)n[1] * row_bytes);
        for (uint32_t y = 0; y < n[1]; y++)
            for (uint32_t x = 0; x < n[0]; x++)
                if (labels[((size_t)z * n[1] + y) * n[0] + x])
                    bits[y * row_bytes + x / 8] |= (unsigned char)(1u << x % 8);
        assert_int_equal(vox_stream_plane(s, bits, row_bytes), 0);
    }
    vox_stream_sums(s, &sums);
    vox_stream_close(s);
    free(bits);
    assert_int_equal(sums.count, expected->count);
    assert_int_equal(sums.components, expected->components);
    assert_int_equal(sums.largest, expected->largest);
}

static void expect_components(const uint8_t *values, const uint32_t *n)
{
    static const uint32_t origin[3];
    const struct vox_setup setup = {.labels = VOX_LABELS_BITS, .components = true};
    const struct volume v = {values, {n[0], n[1], n[2]}, {0, 0, 0}};
    struct labelled l = {.labels = malloc((size_t)n[0] * n[1] * n[2])};
    struct reference_sums expected;

    assert_non_null(l.labels);
    assert_int_equal(reference_sums(values, n, origin, &expected), 0);
    for (uint32_t i = 0; i < devices_count(); i++) {
        label_volume(devices_get(i)->d, &threshold, &setup, &v, NULL, 1, &l);
        assert_int_equal(l.count, expected.count);
        assert_int_equal(l.components, expected.components);
        assert_int_equal(l.largest, expected.largest);
    }
    expect_stream(values, n, &expected);
    free(l.labels);
}

/* From scattered voxels through the threshold of percolation, 31 %, to a few holes.  A group has
 * room for the runs of 64^3 voxels at 2 % alone, and the last size is not for a group. */
static void test_random(void **state)
{
    static const uint32_t sizes[][3] = {
        {33, 20, 15}, {7, 9, 40}, {100, 30, 6}, {64, 64, 64}, {65, 66, 60}};
    static const uint32_t percents[] = {2, 31, 40, 97};
    uint64_t seed = fresh_seed();

    (void)state;
    for (uint32_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        for (uint32_t k = 0; k < sizeof percents / sizeof *percents; k++) {
            uint8_t *values = scatter(sizes[i], percents[k], &seed);

            expect_components(values, sizes[i]);
            free(values);
        }
}

/* By hand: nothing; all; two voxels that touch at an edge are two components; a snake is one. */
static void test_byhand(void **state)
{
    static const uint32_t n[] = {40, 8, 6};
    uint8_t values[40 * 8 * 6] = {0};

    (void)state;
    expect_components(values, n);
    values[0] = values[1 + 40] = 1;
    expect_components(values, n);
    memset(values, 1, sizeof values);
    expect_components(values, n);
    /* rows 0, 2, 4, 6 of a plane, joined at alternating ends, and planes 0, 2, 4 at one voxel */
    memset(values, 0, sizeof values);
    for (uint32_t z = 0; z < 6; z += 2)
        for (uint32_t y = 0; y < 8; y++)
            for (uint32_t x = 0; x < 40; x++)
                values[(z * 8 + y) * 40 + x] = y % 2 == 0 || x == (y % 4 == 1 ? 39 : 0);
    values[8 * 40 + 20] = values[3 * 8 * 40 + 7] = 1;
    expect_components(values, n);
}

/* Several bricks of a batch do not see each other. */
static void test_bricks(void **state)
{
    static const uint32_t n[] = {16, 8, 8}, brick[] = {8, 8, 8};
    const struct vox_setup setup = {.labels = VOX_LABELS_BITS, .components = true};
    uint8_t values[16 * 8 * 8], labels[16 * 8 * 8];
    const struct volume v = {values, {n[0], n[1], n[2]}, {0, 0, 0}};

    (void)state;
    memset(values, 1, sizeof values);
    for (uint32_t i = 0; i < devices_count(); i++) {
        struct labelled l = {.labels = labels};

        label_volume(devices_get(i)->d, &threshold, &setup, &v, brick, 2, &l);
        assert_int_equal(l.components, 2);
        assert_int_equal(l.largest, 512);
    }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_byhand), cmocka_unit_test(test_random),
                                       cmocka_unit_test(test_bricks)};

    return devices_main(argc, argv, tests, sizeof tests / sizeof *tests);
}
