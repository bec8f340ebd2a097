/* SPDX-License-Identifier: Apache-2.0 */
/* The fit against weighted least squares in double precision, written as one linear problem: the
 * errors of all hits and all scattering angles in one covariance matrix.  And its pulls on the
 * truth. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "filter.h"
#include "seed.h"

#define N 12u

static uint64_t state_;

static double normal(void)
{
    return sqrt(-2 * log(seed_uniform(&state_, 0, 1))) *
           cos(6.283185307179586 * seed_uniform(&state_, 0, 1));
}

static int seed(void **state)
{
    (void)state;
    state_ = fresh_seed();
    return 0;
}

struct track {
    uint32_t n;
    float x[N], y[N], z[N];
    double tx, ty, z0; /* true, at the beam line */
    struct hg_cand c;
};

/* A track from (0, 0, z0) that is scattered by `angle` in each plane. */
static void make(struct track *t, uint32_t n, bool backward, double angle, double sigma)
{
    double x = 0, y = 0, z, tx = seed_uniform(&state_, -0.2, 0.2),
           ty = seed_uniform(&state_, 0.02, 0.2);

    *t = (struct track){.n = n, .tx = tx, .ty = ty, .z0 = seed_uniform(&state_, -50, 50)};
    z = t->z0;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t at = backward ? n - 1 - i : i;
        double next = t->z0 + (backward ? -1 : 1) * (60 + 25.0 * i);

        x += tx * (next - z);
        y += ty * (next - z);
        z = next;
        t->x[at] = (float)(x + sigma * normal());
        t->y[at] = (float)(y + sigma * normal());
        t->z[at] = (float)z;
        tx += angle * normal();
        ty += angle * normal();
        t->c.hit[at] = at;
    }
    t->c.n = n;
}

static struct hg_par parameters(double angle, double sigma)
{
    return (struct hg_par){.sigma_mm = (float)sigma, .scatter = (float)angle};
}

/* The weighted mean of a straight line through n places with the covariance matrix v, at z0: x, tx
 * and their covariance. */
static double least_squares(uint32_t n, const double *z, const double *x, double v[N][N], double z0,
                            double *ret_state, double cov[2][2])
{
    double inv[N][N] = {{0}}, a[2][2] = {{0}}, b[2] = {0}, chi2 = 0, det;

    for (uint32_t i = 0; i < n; i++)
        inv[i][i] = 1;
    for (uint32_t i = 0; i < n; i++) { /* Gauss and Jordan: v is positive definite */
        double pivot = v[i][i];

        for (uint32_t k = 0; k < n; k++) {
            v[i][k] /= pivot;
            inv[i][k] /= pivot;
        }
        for (uint32_t j = 0; j < n; j++) {
            double f = v[j][i];

            for (uint32_t k = 0; k < n && j != i; k++) {
                v[j][k] -= f * v[i][k];
                inv[j][k] -= f * inv[i][k];
            }
        }
    }
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t k = 0; k < n; k++) {
            a[0][0] += inv[i][k];
            a[0][1] += inv[i][k] * (z[k] - z0);
            a[1][1] += inv[i][k] * (z[i] - z0) * (z[k] - z0);
            b[0] += inv[i][k] * x[k];
            b[1] += inv[i][k] * (z[i] - z0) * x[k];
        }
    det = a[0][0] * a[1][1] - a[0][1] * a[0][1];
    cov[0][0] = a[1][1] / det;
    cov[1][1] = a[0][0] / det;
    cov[0][1] = cov[1][0] = -a[0][1] / det;
    ret_state[0] = cov[0][0] * b[0] + cov[0][1] * b[1];
    ret_state[1] = cov[1][0] * b[0] + cov[1][1] * b[1];
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t k = 0; k < n; k++)
            chi2 += (x[i] - ret_state[0] - ret_state[1] * (z[i] - z0)) * inv[i][k] *
                    (x[k] - ret_state[0] - ret_state[1] * (z[k] - z0));
    return chi2;
}

/* Covariance of the places: the error of each, and what each plane's scattering does beyond it. */
static void covariance(const struct track *t, bool backward, double angle, double sigma,
                       double v[N][N])
{
    for (uint32_t i = 0; i < t->n; i++)
        for (uint32_t k = 0; k < t->n; k++) {
            v[i][k] = i == k ? sigma * sigma : 0;
            for (uint32_t p = 0; p < t->n; p++) {
                double a = (double)t->z[i] - (double)t->z[p], b = (double)t->z[k] - (double)t->z[p];

                if (backward ? a < 0 && b < 0 : a > 0 && b > 0)
                    v[i][k] += angle * angle * a * b;
            }
        }
}

static void against_least_squares(void **state)
{
    (void)state;
    for (uint32_t round = 0; round < 500; round++) {
        bool backward = round % 2;
        double angle = round % 3 ? 0.0005 : 0.0001, sigma = 0.0125, chi2 = 0;
        double v[N][N], z[N], x[N], y[N], sx[2], sy[2], cov[2][2];
        struct track t;
        struct hg_state s;

        make(&t, 3 + round % (N - 2), backward, angle, sigma);
        s = hg_filter(t.x, t.y, t.z, parameters(angle, sigma), &t.c);
        for (uint32_t i = 0; i < t.n; i++) {
            z[i] = (double)t.z[i];
            x[i] = (double)t.x[i];
            y[i] = (double)t.y[i];
        }
        covariance(&t, backward, angle, sigma, v);
        chi2 += least_squares(t.n, z, x, v, (double)s.l.z, sx, cov);
        covariance(&t, backward, angle, sigma, v);
        chi2 += least_squares(t.n, z, y, v, (double)s.l.z, sy, cov);
        assert_true(fabs((double)s.l.x - sx[0]) < 0.02 * sqrt(cov[0][0]));
        assert_true(fabs((double)s.l.y - sy[0]) < 0.02 * sqrt(cov[0][0]));
        assert_true(fabs((double)s.l.tx - sx[1]) < 0.02 * sqrt(cov[1][1]));
        assert_true(fabs((double)s.l.ty - sy[1]) < 0.02 * sqrt(cov[1][1]));
        assert_true(fabs((double)s.xx / cov[0][0] - 1) < 0.01);
        assert_true(fabs((double)s.tt / cov[1][1] - 1) < 0.01);
        assert_true(fabs((double)s.xt - cov[0][1]) < 0.01 * sqrt(cov[0][0] * cov[1][1]));
        assert_true(fabs((double)s.chi2 - chi2) < 0.01 * (chi2 + 1));
        /* the state is where the line is closest to the beam line */
        assert_true(fabs((double)(s.l.x * s.l.tx + s.l.y * s.l.ty)) < 1e-4);
    }
}

/* Deviations from the truth in units of the errors: mean 0, width 1; chi2 as many as degrees of
 * freedom. */
static void pulls(void **state)
{
    const uint32_t n = 20000;
    double sum = 0, sum2 = 0, sum_t2 = 0, chi2 = 0, freedom = 0;

    (void)state;
    for (uint32_t i = 0; i < n; i++) {
        struct track t;
        struct hg_state s;
        double dx, dt;

        make(&t, 4 + i % 8, i % 2, 0.0004, 0.0125);
        s = hg_filter(t.x, t.y, t.z, parameters(0.0004, 0.0125), &t.c);
        dx = ((double)s.l.x - t.tx * ((double)s.l.z - t.z0)) / sqrt((double)s.xx);
        dt = ((double)s.l.tx - t.tx) / sqrt((double)s.tt);
        sum += dx;
        sum2 += dx * dx;
        sum_t2 += dt * dt;
        chi2 += (double)s.chi2;
        freedom += 2.0 * t.n - 4;
    }
    print_message("pull of x: mean %.3f, width %.3f; of tx: width %.3f; chi2 / ndf %.3f\n", sum / n,
                  sqrt(sum2 / n), sqrt(sum_t2 / n), chi2 / freedom);
    assert_true(fabs(sum / n) < 0.05);
    assert_true(fabs(sqrt(sum2 / n) - 1) < 0.05);
    assert_true(fabs(sqrt(sum_t2 / n) - 1) < 0.05);
    assert_true(fabs(chi2 / freedom - 1) < 0.05);
}

/* A track along the beam has no closest point: its state stays at its first hit. */
static void along_the_beam(void **state)
{
    struct track t = {.n = 3, .z = {100, 125, 150}, .x = {6, 6, 6}, .y = {0, 0, 0}};
    struct hg_state s;

    (void)state;
    t.c = (struct hg_cand){.n = 3, .hit = {0, 1, 2}};
    s = hg_filter(t.x, t.y, t.z, parameters(0.0001, 0.0125), &t.c);
    assert_true(s.l.z == 100.0f && fabsf(s.l.x - 6) < 1e-5f && s.l.tx == 0.0f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(against_least_squares),
        cmocka_unit_test(pulls),
        cmocka_unit_test(along_the_beam),
    };

    return cmocka_run_group_tests(tests, seed, NULL);
}
