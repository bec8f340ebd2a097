/* SPDX-License-Identifier: Apache-2.0 */
/* The oracle in double against the public exercise UoB-HPC/advanced-hpc-lbm: on each of its four
 * grids the mean speeds after the first step, the 5th and, but for the largest grid, the 101st; on
 * the smallest the 1001st as well.  `bench_lattice --only oracle` compares all rows, where the
 * exercise's files are there. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "naive.h"

#define MOST 1e-9 /* relative */

enum { LEFT = 1, RIGHT = 2, BELOW = 4, ABOVE = 8, BOX = 15 };

static const struct exercise {
    uint32_t nx, ny;
    double accel;
    uint32_t walls, column, row; /* column or row 0: no further wall */
    double mean[4];              /* 0: not compared */
} exercises[] = {
    {128,
     128,
     0.005,
     BOX,
     0,
     0,
     {1.094269153342e-05, 4.408825033112e-05, 6.909458443410e-04, 2.917401861763e-03}},
    {128,
     256,
     0.005,
     LEFT | RIGHT,
     0,
     127,
     {6.491237234274e-06, 3.821295501749e-05, 9.641939363082e-04}},
    {256, 256, 0.005, BOX, 0, 0, {5.448322099360e-06, 2.206541650168e-05, 2.808205259864e-04}},
    {1024, 1024, 0.01, BOX, 341, 0, {2.713099085980e-06, 1.101584537915e-05}},
};
static const uint32_t steps[4] = {0, 4, 100, 1000};

static unsigned char *walls(const struct exercise *e)
{
    unsigned char *kind = calloc(e->nx, e->ny);

    assert_non_null(kind);
    for (uint32_t y = 0; y < e->ny; y++)
        for (uint32_t x = 0; x < e->nx; x++)
            if ((x == 0 && e->walls & LEFT) || (x == e->nx - 1 && e->walls & RIGHT) ||
                (y == 0 && e->walls & BELOW) || (y == e->ny - 1 && e->walls & ABOVE) ||
                (e->column && x == e->column) || (e->row && y == e->row))
                kind[(size_t)y * e->nx + x] = NAIVE_SOLID;
    return kind;
}

static void test_exercise(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof exercises / sizeof *exercises; i++) {
        const struct exercise *e = &exercises[i];
        unsigned char *kind = walls(e);
        const struct naive_setup setup = {.nx = e->nx,
                                          .ny = e->ny,
                                          .density = 0.1,
                                          .accel = e->accel,
                                          .omega = 1.85,
                                          .kind = kind};
        struct naive_double_grid *g;
        double mean = 0;

        assert_int_equal(naive_double_new(&setup, &g), 0);
        for (uint32_t step = 0, k = 0; k < 4 && e->mean[k] > 0; step++) {
            mean = naive_double_step(g);
            if (step != steps[k])
                continue;
            print_message("%u x %u, step %u: %.3g off\n", e->nx, e->ny, step,
                          fabs(mean / e->mean[k] - 1));
            assert_true(fabs(mean / e->mean[k] - 1) < MOST);
            k++;
        }
        naive_double_free(g);
        free(kind);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_exercise)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
