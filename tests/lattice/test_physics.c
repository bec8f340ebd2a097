/* SPDX-License-Identifier: Apache-2.0 */
/* Flows with known answers, and what a flow conserves. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "flows.h"
#include "truth.h"

static struct truth_run here(void)
{
    return (struct truth_run){.device = devices_get(devices_count() - 1)->d};
}

/* On 64 x 64 cells, so that it is quick: finer ones come closer (docs/lattice.md). */
static void cavity(void **state)
{
    static const struct {
        uint32_t reynolds;
        double turns, worst, rms, extremes; /* the floors, of the lid's speed */
    } cases[] = {
        {100, 15, 0.01, 0.005, 0}, {400, 40, 0.01, 0.005, 0}, {1000, 60, 0.02, 0.01, 0.04}};
    const struct truth_run run = here();
    struct truth_cavity c;

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_int_equal(truth_cavity(&run, 64, cases[i].reynolds, cases[i].turns, &c), 0);
        print_message(
            "cavity, Re %u, 64 x 64: at most %.4f of the lid's speed from Ghia, rms %.4f, "
            "extremes %.4f\n",
            cases[i].reynolds, c.worst, c.rms, c.extremes);
        assert_true(c.worst < cases[i].worst && c.rms < cases[i].rms);
        assert_true(c.extremes <= cases[i].extremes);
    }
    assert_int_equal(truth_cavity(&run, 64, 120, 15, &c), -EINVAL);
}

static void poiseuille(void **state)
{
    const struct truth_run run = here();
    double coarse, fine, exact, two;

    (void)state;
    assert_int_equal(truth_poiseuille(&run, 8, 1.4, 0, &coarse), 0);
    assert_int_equal(truth_poiseuille(&run, 16, 1.4, 0, &fine), 0);
    assert_int_equal(truth_poiseuille(&run, 16, 0.5 + sqrt(3.0 / 16), 0, &exact), 0);
    assert_int_equal(truth_poiseuille(&run, 16, 1.4, 3.0 / 16, &two), 0);
    print_message("channel: %.3g with 8 cells, %.3g with 16; BGK at its exact tau %.3g, two times "
                  "%.3g\n",
                  coarse, fine, exact, two);
    assert_true(fine < 0.02);
    assert_true(coarse / fine > 3.8 && coarse / fine < 4.2); /* second order */
    assert_true(exact < 2e-5 && two < 2e-5);
}

static void taylor_green(void **state)
{
    const struct truth_run run = here();
    double coarse, fine;

    (void)state;
    assert_int_equal(truth_taylor_green(&run, 16, &coarse), 0);
    assert_int_equal(truth_taylor_green(&run, 32, &fine), 0);
    print_message("Taylor-Green: %.3g on 16 x 16, %.3g on 32 x 32\n", coarse, fine);
    assert_true(fine < 0.01);
    assert_true(coarse / fine > 3.6 && coarse / fine < 4.4);
}

/* Mass of a flow that starts with density 0.1: the acceleration and obstacles keep it. */
static void mass(void **state)
{
    const struct lattice_setup s = grid_setup(64, 48);
    unsigned char *kind = grid_box(s.nx, s.ny);
    double sum[2] = {0, 0}, all = 0;
    struct flow f = flow_open(devices_get(devices_count() - 1), &s, kind, NULL);

    (void)state;
    for (int part = 0; part < 2; part++) {
        float *g;
        size_t bytes;

        flow_run(&f, part ? 9000 : 1000, NULL);
        g = flow_get(&f, &bytes);
        for (size_t i = 0; i < bytes / sizeof *g; i++)
            sum[part] += (double)g[i];
        free(g);
    }
    for (size_t i = 0; i < (size_t)s.nx * s.ny; i++)
        all += kind[i] == LATTICE_FREE ? s.density : 0;
    print_message("mass after 10,000 steps: %.3g of it gained\n", sum[1] / all);
    assert_true(fabs(sum[1] / all) < 1e-6 && fabs(sum[0] / all) < 1e-6);
    free(kind);
    flow_close(&f);
}

/* A flow driven along y gives the transposed flow of one driven along x, but for the rounding of
 * sums in another order. */
static void transposed(void **state)
{
    uint64_t seed = fresh_seed();
    const uint32_t n = 33;
    struct lattice_setup s = {.nx = n, .ny = n, .density = 1, .omega = 1.7, .force_x = 1e-4};
    unsigned char *kind = grid_random(n, n, 0.1, &seed), *turned = malloc((size_t)n * n);
    double *flow = malloc(6 * sizeof *flow * n * n);
    struct flow f;

    (void)state;
    assert_true(turned && flow);
    for (uint32_t i = 0; i < n * n; i++)
        turned[i % n * n + i / n] = kind[i];
    f = flow_open(devices_get(devices_count() - 1), &s, kind, NULL);
    flow_run(&f, 100, NULL);
    assert_int_equal(lattice_get_flow(f.l, f.q, flow, flow + n * n, flow + 2 * n * n), 0);
    flow_close(&f);
    s.force_y = s.force_x;
    s.force_x = 0;
    f = flow_open(devices_get(devices_count() - 1), &s, turned, NULL);
    flow_run(&f, 100, NULL);
    assert_int_equal(
        lattice_get_flow(f.l, f.q, flow + 3 * n * n, flow + 4 * n * n, flow + 5 * n * n), 0);
    flow_close(&f);
    for (uint32_t i = 0; i < n * n; i++) {
        const uint32_t t = i % n * n + i / n;

        if (fabs(flow[n * n + i] - flow[5 * n * n + t]) > 1e-6 ||
            fabs(flow[2 * n * n + i] - flow[4 * n * n + t]) > 1e-6)
            fail_msg("cell %u: (%.9g, %.9g), transposed (%.9g, %.9g)", i, flow[n * n + i],
                     flow[2 * n * n + i], flow[4 * n * n + t], flow[5 * n * n + t]);
    }
    free(kind);
    free(turned);
    free(flow);
}

/* Two rows of the exercise's 128 x 128 run, and the density that it ends with. */
static void reference(void **state)
{
    const struct lattice_setup s = grid_setup(128, 128);
    unsigned char *kind = grid_box(s.nx, s.ny);
    struct flow f = flow_open(devices_get(devices_count() - 1), &s, kind, NULL);
    double *mean = malloc(1000 * sizeof *mean);

    (void)state;
    assert_non_null(mean);
    flow_run(&f, 1000, mean);
    print_message("step 0: %.12e, step 999: %.12e\n", mean[0], mean[999]);
    assert_true(fabs(mean[0] / 1.094269153342e-05 - 1) < 3e-4);
    assert_true(fabs(mean[999] / 2.914442536012e-03 - 1) < 3e-4);
    free(mean);
    free(kind);
    flow_close(&f);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cavity), cmocka_unit_test(poiseuille), cmocka_unit_test(taylor_green),
        cmocka_unit_test(mass),   cmocka_unit_test(transposed), cmocka_unit_test(reference),
    };

    return flows_main(argc, argv, tests, sizeof tests / sizeof tests[0]);
}
