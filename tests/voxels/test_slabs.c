/* SPDX-License-Identifier: Apache-2.0 */
/* Out of core: a volume in slabs, by several threads, labelled as it is in one piece. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "devices.h"
#include "phantom.h"
#include "reference.h"
#include "seed.h"
#include "slabs.h"

static void expect_slabs(struct vox_slabs *job, const uint8_t *expected,
                         const struct reference_sums *sums)
{
    const uint32_t *n = job->volume->n;
    const size_t row = vox_row_bytes(job->volume);
    struct vox_slabs_lanes *lanes;
    struct vox_slabs_sums got;

    assert_int_equal(vox_slabs_open(job, &lanes), 0);
    for (uint32_t run = 0; run < 2; run++) {
        memset(job->labels, 0xff, row * n[1] * n[2]);
        assert_int_equal(vox_slabs_run(lanes, &got), 0);
        assert_int_equal(got.count, sums->count);
        for (uint32_t a = 0; a < 3; a++) {
            assert_int_equal(got.low[a], sums->low[a]);
            assert_int_equal(got.high[a], sums->high[a]);
        }
        for (size_t i = 0; i < (size_t)n[0] * n[1] * n[2]; i++) {
            const size_t x = i % n[0];

            assert_int_equal(job->labels[i / n[0] * row + x / 8] >> x % 8 & 1, expected[i]);
        }
    }
    vox_slabs_close(lanes);
}

static void test_slabs(void **state)
{
    static const uint32_t n[] = {29, 22, 41}, origin[3], planes[] = {1, 8, 41, 100};
    static const size_t part_bytes[] = {0, 500, 1000, 20000}; /* a slab takes more than there are */
    const uint64_t seed = fresh_seed();
    uint8_t values[29 * 22 * 41], expected[29 * 22 * 41];
    unsigned char labels[4 * 22 * 41];
    const struct vox_volume v = {.n = {n[0], n[1], n[2]}, .value_bytes = 1, .values = values};
    struct vox_tables tables;
    struct vox_model model;
    struct reference_sums sums;
    char why[256] = "";

    (void)state;
    phantom_head(n, seed, values);
    assert_int_equal(phantom_model(n, 60, seed | 1, &model), 0);
    reference_labels(&model, values, n, origin, expected);
    assert_int_equal(reference_sums(expected, n, origin, &sums), 0);
    assert_int_equal(vox_tables_make(&model, &tables, why, sizeof why), 0);
    for (uint32_t i = 0; i < devices_count(); i++)
        for (uint32_t k = 0; k < 4; k++) {
            struct vox_slabs job = {.device = devices_get(i)->d,
                                    .tables = &tables,
                                    .volume = &v,
                                    .planes = planes[k],
                                    .threads = 1 + k,
                                    .part_bytes = part_bytes[k],
                                    .labels = labels};

            if (sums.count)
                expect_slabs(&job, expected, &sums);
        }
    vox_tables_fini(&tables);
    vox_model_fini(&model);
}

static void test_refused(void **state)
{
    const struct vox_volume v = {.n = {1, 1, 1}, .value_bytes = 1};
    const struct vox_slabs none = {.volume = &v, .threads = 1}, idle = {.volume = &v, .planes = 1};
    struct vox_slabs_lanes *lanes;

    (void)state;
    assert_int_equal(vox_slabs_open(&none, &lanes), -EINVAL);
    assert_int_equal(vox_slabs_open(&idle, &lanes), -EINVAL);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_slabs),
                                       cmocka_unit_test(test_refused)};

    return devices_main(argc, argv, tests, sizeof tests / sizeof *tests);
}
