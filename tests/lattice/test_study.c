/* SPDX-License-Identifier: Apache-2.0 */
/* Every step of the report gives the oracle's mean speeds. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "flows.h"
#include "naive.h"
#include "study.h"

#define STEPS 70u

static void variants(void **state)
{
    uint64_t seed = fresh_seed();
    unsigned char *kind = grid_random(50, 37, 0.3, &seed);
    const struct naive_setup n = {
        .nx = 50, .ny = 37, .density = 0.1, .accel = 0.005, .omega = 1.2, .kind = kind};
    struct naive_double_grid *g;
    double want[STEPS], mean[STEPS];

    (void)state;
    assert_int_equal(naive_double_new(&n, &g), 0);
    for (uint32_t i = 0; i < STEPS; i++)
        want[i] = naive_double_step(g);
    naive_double_free(g);
    for (uint32_t d = 0; d < devices_count(); d++)
        for (int v = 0; v < STUDY_VARIANTS; v++) {
            const struct study_setup setup = {50, 37, 0.1, 0.005, 1.2, kind, (enum study_variant)v,
                                              64};
            struct study *s;
            struct trg_queue *q;

            assert_int_equal(study_open(devices_get(d)->d, &setup, &s), 0);
            assert_int_equal(trg_queue_new(devices_get(d)->d, &q), 0);
            assert_int_equal(study_run(s, q, STEPS, mean), 0);
            for (uint32_t i = 0; i < STEPS; i++)
                if (!(fabs(mean[i] / want[i] - 1) < 3e-4))
                    fail_msg("%s, step %u: mean speed %.9g, not %.9g", study_name(setup.variant), i,
                             mean[i], want[i]);
            trg_queue_free(q);
            study_close(s);
        }
    free(kind);
}

static void wrong_group(void **state)
{
    static const unsigned char kind[9] = {0};
    struct study_setup setup = {3, 3, 0.1, 0.005, 1.2, kind, STUDY_TREE, 48};
    struct study *s;

    (void)state;
    assert_int_equal(study_open(devices_get(0)->d, &setup, &s), -EINVAL);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(variants), cmocka_unit_test(wrong_group)};

    return flows_main(argc, argv, tests, sizeof tests / sizeof tests[0]);
}
