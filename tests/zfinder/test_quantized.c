/* SPDX-License-Identifier: Apache-2.0 */
/* What quantized spacepoints do to the z-finder: against the truth, on the same RoIs, with bounds;
 * the figures of larger samples are in docs/protocol.md. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "testing.h"
#include "truth.h"

#define SEED 20260101u /* fixed: a bound is a statement about one sample */

/* The bounds: RoIs that may change sides, of `n`, and the change of mean |dz|. */
static const struct {
    const char *sample, *preset, *triplet_mode;
    uint32_t n, most_lost;
    double most_um;
} rows[] = {{"lowlum", "pure", "0", 1000, 8, 8},  {"lowlum", "pure", "2", 1000, 8, 8},
            {"highlum", "pure", "0", 60, 4, 60},  {"highlum", "pure", "2", 60, 3, 30},
            {"highlum", "dense", "1", 60, 2, 15}, {"phase2", "pure", "0", 10, 1, 20},
            {"phase2", "pure", "2", 10, 1, 15}};

static struct found run_and_count(const struct zf_config *c, const struct generated *g, uint32_t n)
{
    struct trg_result *r = calloc(n, sizeof *r);
    struct found f;

    assert_non_null(r);
    run_on(cpu(), c, g, n, 32, r);
    f = count_found(g, n, r);
    free(r);
    return f;
}

static void physics_stays(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const char *const settings[] = {"triplet_mode", rows[i].triplet_mode, NULL};
        const uint32_t n = rows[i].n;
        struct generated *g = make_rois(rows[i].sample, SEED, n);
        struct found floats, numbers;
        struct zf_config c;

        configure(&c, rows[i].preset, settings);
        floats = run_and_count(&c, g, n);
        for (uint32_t k = 0; k < n; k++)
            assert_int_equal(quantize(&g[k]), 0);
        numbers = run_and_count(&c, g, n);
        print_message("%s, %s, triplet_mode %s: within 1 mm %u -> %u of %u, their mean |dz| "
                      "%.1f -> %.1f um\n",
                      rows[i].sample, rows[i].preset, rows[i].triplet_mode, floats.good,
                      numbers.good, n, 1e3 * floats.mean_dz, 1e3 * numbers.mean_dz);
        assert_true(numbers.good + rows[i].most_lost >= floats.good);
        assert_true(1e3 * fabs(numbers.mean_dz - floats.mean_dz) <= rows[i].most_um);
        generated_free(g, n);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(physics_stays)};

    return cmocka_run_group_tests(tests, open_host, close_host);
}
