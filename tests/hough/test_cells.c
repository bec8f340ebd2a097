/* SPDX-License-Identifier: Apache-2.0 */
/* The cells of (theta, r) against counts in double precision, one method against the other, and the
 * parts of the kernels that can be asked alone. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "parameters.h"
#include "seed.h"
#include "study/vote.h"

#define PI      3.14159265358979323846
#define SIDE    48u
#define HITS    60u
#define RANDOMS 20u

struct plane {
    struct hg_grid g;
    float cosines[SIDE], sines[SIDE], z[HITS], u[HITS];
    uint32_t words[SIDE * SIDE];
    struct hg_strip s;
    struct hg_hits h;
};

static uint64_t state_;

static int seed(void **state)
{
    (void)state;
    state_ = fresh_seed();
    return 0;
}

static void begin(struct plane *p, uint32_t n, bool wide)
{
    struct hough_config c = {.method = wide ? HG_ANALYTIC : HG_BRUTE,
                             .n_theta = SIDE,
                             .n_r = SIDE,
                             .r_max_mm = 11,
                             .z_scale = 20,
                             .distance_cells = 1,
                             .phi_bins = 64,
                             .phi_bins_wide = 16};

    memset(p, 0, sizeof *p);
    p->g = hough_par(&c, 0).grid;
    for (uint32_t t = 0; t < SIDE; t++) {
        p->cosines[t] = (float)cos((t + 0.5) * PI / SIDE);
        p->sines[t] = (float)sin((t + 0.5) * PI / SIDE);
    }
    p->s = (struct hg_strip){p->words, wide, p->cosines, p->sines, 0, SIDE};
    p->h = (struct hg_hits){p->z, p->u, n};
    for (uint32_t i = 0; i < n; i++) {
        p->z[i] = (float)seed_uniform(&state_, -15, 38);
        p->u[i] = (float)seed_uniform(&state_, 5, 50);
    }
}

static uint32_t count(const struct plane *p, uint32_t t, uint32_t k)
{
    return hg_count(p->s, t * p->g.stride + k);
}

/* Every cell is right, but where a curve passes within rounding of a cell's edge. */
static void brute_against_double(void **state)
{
    (void)state;
    for (uint32_t round = 0; round < RANDOMS; round++) {
        struct plane p;

        begin(&p, HITS, false);
        for (uint32_t t = 0; t < SIDE; t++)
            hg_brute(p.s, p.g, p.h, t);
        for (uint32_t t = 0; t < SIDE; t++)
            for (uint32_t k = 0; k < SIDE; k++) {
                double theta = (t + 0.5) * PI / SIDE, dr = 22.0 / SIDE, cell = -11 + (k + 0.5) * dr;
                uint32_t sure = 0, perhaps = 0;

                for (uint32_t i = 0; i < HITS; i++) {
                    double rho = hypot((double)p.z[i], (double)p.u[i]);
                    double phi = atan2((double)p.u[i], (double)p.z[i]);
                    double epsilon = (rho * (PI / SIDE) * fabs(sin(theta - phi)) + dr) / 2;
                    double off = fabs(rho * cos(theta - phi) - cell) - epsilon;

                    sure += off < -1e-4;
                    perhaps += off < 1e-4;
                }
                assert_in_range(count(&p, t, k), sure, perhaps);
            }
    }
}

static void paint_is_brute(void **state)
{
    (void)state;
    for (uint32_t round = 0; round < RANDOMS; round++) {
        struct plane p, q;

        begin(&p, HITS, false);
        q = p;
        q.s.words = q.words;
        q.s.cosines = q.cosines;
        q.s.sines = q.sines;
        q.h.z = q.z;
        q.h.u = q.u;
        for (uint32_t t = 0; t < SIDE; t++) {
            hg_brute(p.s, p.g, p.h, t);
            hg_paint(q.s, q.g, q.h, t);
        }
        assert_memory_equal(p.words, q.words, sizeof p.words);
    }
}

/* A pair votes for the four cells around its line, and they are those of its line in double. */
static void a_pair_votes_for_its_line(void **state)
{
    (void)state;
    for (uint32_t round = 0; round < 1000; round++) {
        struct plane p;
        double theta, r, t, k;
        uint32_t total = 0;

        begin(&p, 2, true);
        hg_pair(p.s, p.g, p.h, 0, 1);
        theta = atan2((double)p.z[1] - (double)p.z[0], (double)p.u[0] - (double)p.u[1]);
        if (theta < 0)
            theta += PI;
        r = (double)p.z[0] * cos(theta) + (double)p.u[0] * sin(theta);
        t = theta * SIDE / PI - 0.5;
        k = (r + 11) * SIDE / 22 - 0.5;
        for (uint32_t a = 0; a < SIDE; a++)
            for (uint32_t b = 0; b < SIDE; b++) {
                bool near = fabs(a - t) < 1.001 && fabs(b - k) < 1.001;
                bool sure = fabs(a - t) < 0.999 && fabs(b - k) < 0.999;

                total += count(&p, a, b);
                assert_true(count(&p, a, b) <= (near ? 1u : 0u));
                assert_true(count(&p, a, b) >= (sure ? 1u : 0u));
            }
        assert_true(total <= 4);
        if (t > 0.01 && t < SIDE - 1.01 && k > 0.01 && k < SIDE - 1.01)
            assert_int_equal(total, 4);
    }
}

/* Whichever of the two comes first. */
static void pairs_have_no_direction(void **state)
{
    (void)state;
    for (uint32_t round = 0; round < 200; round++) {
        struct plane p, q;

        begin(&p, 2, true);
        begin(&q, 2, true);
        q.z[0] = p.z[1];
        q.z[1] = p.z[0];
        q.u[0] = p.u[1];
        q.u[1] = p.u[0];
        hg_pair(p.s, p.g, p.h, 0, 1);
        hg_pair(q.s, q.g, q.h, 1, 0);
        assert_memory_equal(p.words, q.words, sizeof p.words);
    }
}

/* Two hits at one place vote for every line through it, as the hit itself does. */
static void the_degenerate_pair(void **state)
{
    struct plane p, q;

    (void)state;
    begin(&p, 2, true);
    begin(&q, 1, false);
    p.z[0] = p.z[1] = q.z[0] = 3.25f;
    p.u[0] = p.u[1] = q.u[0] = 7.5f;
    hg_pair(p.s, p.g, p.h, 0, 1);
    for (uint32_t t = 0; t < SIDE; t++)
        hg_brute(q.s, q.g, q.h, t);
    for (uint32_t t = 0; t < SIDE; t++)
        for (uint32_t k = 0; k < SIDE; k++)
            assert_int_equal(count(&p, t, k), count(&q, t, k));
}

/* Hits with one z, or one u, have a line like any others. */
static void lines_along_the_axes(void **state)
{
    struct plane p;
    uint32_t total = 0;

    (void)state;
    begin(&p, 2, true);
    p.z[0] = p.z[1] = 3; /* theta = 0, r = 3: at the edge of the grid */
    hg_pair(p.s, p.g, p.h, 0, 1);
    for (uint32_t k = 0; k < SIDE; k++)
        total += count(&p, 0, k);
    assert_int_equal(total, 2);
    begin(&p, 2, true);
    p.u[0] = p.u[1] = 7; /* theta = pi / 2, r = 7 */
    hg_pair(p.s, p.g, p.h, 0, 1);
    total = 0;
    for (uint32_t k = 0; k < SIDE; k++)
        total += count(&p, SIDE / 2, k) + count(&p, SIDE / 2 - 1, k);
    assert_int_equal(total, 4);
}

/* No two peaks are close, and every cell that is none has a stronger one near it. */
static void peaks_are_apart(void **state)
{
    (void)state;
    for (uint32_t round = 0; round < RANDOMS; round++) {
        struct plane p;
        uint32_t distance = 1 + round % 3;

        begin(&p, HITS, false);
        for (uint32_t t = 0; t < SIDE; t++)
            hg_paint(p.s, p.g, p.h, t);
        for (uint32_t a = 0; a < SIDE * SIDE; a++) {
            uint32_t t = a / SIDE, k = a % SIDE, stronger = 0, peaks = 0;

            for (uint32_t b = 0; b < SIDE * SIDE; b++) {
                uint32_t t2 = b / SIDE, k2 = b % SIDE;

                if (a == b || abs((int)t - (int)t2) > (int)distance ||
                    abs((int)k - (int)k2) > (int)distance)
                    continue;
                stronger += count(&p, t2, k2) > count(&p, t, k) ||
                            (count(&p, t2, k2) == count(&p, t, k) && b < a);
                peaks += hg_is_peak(p.s, p.g, t2, k2, distance);
            }
            assert_int_equal(hg_is_peak(p.s, p.g, t, k, distance), !stronger);
            if (!stronger)
                assert_int_equal(peaks, 0);
        }
    }
}

/* ---------------------------------------------------------------- the thesis's other choices */

/* Eq. 6.5 in double precision, in every cell; in each column a hit counts one in all. */
static void hits_count_by_their_distance(void **state)
{
    const double dr = 22.0 / SIDE, d_theta = PI / SIDE;
    struct plane p, q;

    (void)state;
    begin(&p, 1, true);
    p.g.gauss = 1;
    p.g.error = 0.01f;
    p.z[0] = 3;
    p.u[0] = 7;
    q = p;
    q.s.words = q.words;
    for (uint32_t t = 0; t < SIDE; t++) {
        const double theta = (t + 0.5) * d_theta, r = 3 * cos(theta) + 7 * sin(theta);
        const double epsilon = (fabs(7 * cos(theta) - 3 * sin(theta)) * d_theta + dr) / 2;
        const double sigma = hypot(epsilon, 0.01);
        double all = 0;

        hg_brute(p.s, p.g, p.h, t);
        hg_paint(q.s, q.g, p.h, t);
        for (uint32_t k = 0; k < SIDE; k++) {
            const double d = -11 + (k + 0.5) * dr - r;
            const double weight = dr / (sigma * sqrt(2 * PI)) * exp(-d * d / (2 * sigma * sigma));

            assert_true(fabs(count(&p, t, k) - HG_UNIT * weight) <= 0.51);
            all += count(&p, t, k);
        }
        if (fabs(r) < 11 - 4 * sigma)
            assert_true(fabs(all / HG_UNIT - 1) < 0.1);
    }
    assert_memory_equal(p.words, q.words, sizeof p.words);
}

/* By hand: 100 units on the line are 60.65 at one sigma and 13.53 at two. */
static void the_weight_falls_as_it_should(void **state)
{
    const struct hg_curve c = {.r = 0, .epsilon = 4, .alpha = 0.5f, .high = 100};
    const struct hg_grid g = {.r_min = -0.5f, .dr = 1};

    (void)state;
    assert_int_equal(hg_weight(g, 0, c), 100);
    assert_int_equal(hg_weight(g, 1, c), 61);
    assert_int_equal(hg_weight(g, 2, c), 14);
    for (int i = 0; i <= 8000; i++)
        assert_true(fabs((double)hg_exp_of_minus((float)(i * 1e-3)) - exp(-i * 1e-3)) < 1e-5);
}

/* The line through (0, 4) and (8, 10) has theta = 126.87 degrees and r = 3.2: column 33 of 3.75
 * degrees, row (3.2 + 11) 48 / 22 = 30.98. */
static void a_pair_votes_for_one_cell(void **state)
{
    struct plane p;

    (void)state;
    begin(&p, 2, true);
    p.g.one_cell = 1;
    p.z[0] = 0;
    p.u[0] = 4;
    p.z[1] = 8;
    p.u[1] = 10;
    hg_pair(p.s, p.g, p.h, 0, 1);
    for (uint32_t t = 0; t < SIDE; t++)
        for (uint32_t k = 0; k < SIDE; k++)
            assert_int_equal(count(&p, t, k), t == 33 && k == 30);
    begin(&p, 2, true);
    p.g.one_cell = 1;
    p.z[0] = p.z[1];
    p.u[0] = p.u[1];
    hg_pair(p.s, p.g, p.h, 0, 1); /* at one place: left out, as in the thesis */
    for (uint32_t at = 0; at < SIDE * SIDE; at++)
        assert_int_equal(p.words[at], 0);
}

/* Two cells within 2 in theta and in r each are 2.83 apart. */
static void the_distance_of_peaks(void **state)
{
    struct plane p;

    (void)state;
    begin(&p, 0, true);
    p.words[10 * p.g.stride + 10] = 5;
    p.words[12 * p.g.stride + 12] = 4;
    p.words[10 * p.g.stride + 30] = 5;
    p.words[10 * p.g.stride + 32] = 4;
    for (uint32_t euclidean = 0; euclidean < 2; euclidean++) {
        p.g.euclidean = euclidean;
        assert_true(hg_is_peak(p.s, p.g, 10, 10, 2));
        assert_int_equal(hg_is_peak(p.s, p.g, 12, 12, 2), euclidean);
        assert_true(hg_is_peak(p.s, p.g, 10, 30, 2));
        assert_false(hg_is_peak(p.s, p.g, 10, 32, 2));
        assert_true(hg_is_peak(p.s, p.g, 12, 12, 1));
    }
}

static void angles(void **state)
{
    (void)state;
    for (uint32_t round = 0; round < 100000; round++) {
        double y = seed_uniform(&state_, -50, 50), x = seed_uniform(&state_, -50, 50);

        assert_true(fabs((double)hg_atan2((float)y, (float)x) -
                         atan2((double)(float)y, (double)(float)x)) < 2e-6);
    }
    assert_true(hg_atan2(0, 0) == 0.0f);
    assert_true(fabsf(hg_atan2(0, -1) - 3.1415927f) < 1e-6f);
    assert_true(fabsf(hg_atan2(1, 0) - 1.5707963f) < 1e-6f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(brute_against_double),
        cmocka_unit_test(paint_is_brute),
        cmocka_unit_test(a_pair_votes_for_its_line),
        cmocka_unit_test(pairs_have_no_direction),
        cmocka_unit_test(the_degenerate_pair),
        cmocka_unit_test(lines_along_the_axes),
        cmocka_unit_test(peaks_are_apart),
        cmocka_unit_test(angles),
        cmocka_unit_test(hits_count_by_their_distance),
        cmocka_unit_test(the_weight_falls_as_it_should),
        cmocka_unit_test(a_pair_votes_for_one_cell),
        cmocka_unit_test(the_distance_of_peaks),
    };

    return cmocka_run_group_tests(tests, seed, NULL);
}
