/* SPDX-License-Identifier: Apache-2.0 */
#include "truth.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

/* ---------------------------------------------------------------- Ghia's tables */

#define GHIA_POINTS 12u
static const uint32_t ghia_reynolds[3] = {100, 400, 1000};
static const double ghia_y[GHIA_POINTS] = {.0547, .0625, .0703, .1016, .1719, .2813,
                                           .4531, .5000, .6172, .7344, .8516, .9531};
static const double ghia_u[3][GHIA_POINTS] = {{-.03717, -.04192, -.04775, -.06434, -.10150, -.15662,
                                               -.21090, -.20581, -.13641, .00332, .23151, .68717},
                                              {-.08186, -.09266, -.10338, -.14612, -.24299, -.32726,
                                               -.17119, -.11477, .02135, .16256, .29093, .55892},
                                              {-.18109, -.20196, -.22220, -.29730, -.38289, -.27805,
                                               -.10648, -.06080, .05702, .18719, .33304, .46604}};
static const double ghia_x[GHIA_POINTS] = {.0625, .0703, .0781, .0938, .1563, .2266,
                                           .2344, .5000, .8047, .8594, .9063, .9453};
static const double ghia_v[3][GHIA_POINTS] = {{.09233, .10091, .10890, .12317, .16077, .17507,
                                               .17527, .05454, -.24533, -.22445, -.16914, -.10313},
                                              {.18360, .19713, .20920, .22965, .28124, .30203,
                                               .30174, .05186, -.38598, -.44993, NAN, -.22847},
                                              {.27485, .29012, .30353, .32627, .37095, .33075,
                                               .32235, .02526, -.31966, -.42665, -.51550, -.39188}};

/* ---------------------------------------------------------------- running */

struct field { /* of a simulation with `nx` x `ny` cells */
    struct lattice *l;
    struct trg_queue *q;
    uint32_t nx, ny;
    unsigned char *kind;
    double *density, *ux, *uy;
};

static void field_fini(struct field *f)
{
    if (f->q)
        trg_queue_free(f->q);
    lattice_close(f->l);
    free(f->kind);
    free(f->density);
    free(f->ux);
    free(f->uy);
}

/* A grid of free cells, at rest. */
static int field_init(struct field *f, uint32_t nx, uint32_t ny)
{
    const size_t n = (size_t)nx * ny;

    *f = (struct field){.nx = nx, .ny = ny};
    f->kind = calloc(n, 1);
    f->density = malloc(n * sizeof *f->density);
    f->ux = calloc(n, sizeof *f->ux);
    f->uy = calloc(n, sizeof *f->uy);
    if (!f->kind || !f->density || !f->ux || !f->uy)
        return -ENOMEM;
    for (size_t i = 0; i < n; i++)
        f->density[i] = 1;
    return 0;
}

/* Starts with the field as it is, and has it there after `steps`. */
static int field_run(struct field *f, const struct truth_run *run,
                     const struct lattice_setup *setup, uint64_t steps)
{
    int r = lattice_open(run->device, setup, f->kind, NULL, &f->l, NULL);

    if (r == 0)
        r = trg_queue_new(run->device, &f->q);
    if (r == 0)
        r = lattice_set_flow(f->l, f->q, f->density, f->ux, f->uy);
    if (r == 0)
        r = lattice_run(f->l, f->q, steps, NULL);
    if (r == 0)
        r = lattice_get_flow(f->l, f->q, f->density, f->ux, f->uy);
    return r;
}

/* ---------------------------------------------------------------- the flows */

#define LID_SPEED 0.1

/* Between the cells' centres, which are at (i - 1/2) / n for i = 1 .. n; `wall` is the value at 1.
 */
static double between(const double *value, size_t step, uint32_t n, double at, double wall)
{
    const double place = at * n + 0.5, low = floor(place), part = place - low;
    const uint32_t i = (uint32_t)low;

    if (i < 1)
        return value[step] * 2 * at * n;
    if (i >= n)
        return value[step * n] + (wall - value[step * n]) * 2 * (place - n);
    return (1 - part) * value[step * i] + part * value[step * (i + 1)];
}

/* The mean of the two cells next to the middle. */
static void middle(const struct field *f, uint32_t n, double *u, double *v)
{
    for (uint32_t i = 0; i < n + 2; i++) {
        const size_t column = (size_t)i * f->nx + n / 2, row = (size_t)(n / 2) * f->nx + i;

        u[i] = 0.5 * (f->ux[column] + f->ux[column + 1]) / LID_SPEED;
        v[i] = 0.5 * (f->uy[row] + f->uy[row + f->nx]) / LID_SPEED;
    }
}

static void from_ghia(const double *u, const double *v, uint32_t n, uint32_t table,
                      struct truth_cavity *c)
{
    double squares = 0;
    uint32_t points = 0;

    for (uint32_t p = 0; p < 2 * GHIA_POINTS; p++) {
        const uint32_t i = p / 2;
        const double d = p % 2 ? between(v, 1, n, ghia_x[i], 0) - ghia_v[table][i]
                               : between(u, 1, n, ghia_y[i], 1) - ghia_u[table][i];

        if (isnan(d))
            continue; /* misprinted, or the flow is lost, which the number of points shows */
        c->worst = fabs(d) > c->worst ? fabs(d) : c->worst;
        squares += d * d;
        points++;
    }
    c->rms = points + 1 >= 2 * GHIA_POINTS ? sqrt(squares / points) : INFINITY;
}

static void from_botella(const double *u, const double *v, uint32_t n, struct truth_cavity *c)
{
    const double want[3] = {-0.38857, 0.37694, -0.52708};
    double got[3] = {0, 0, 0};

    for (uint32_t i = 1; i <= n; i++) {
        got[0] = u[i] < got[0] ? u[i] : got[0];
        got[1] = v[i] > got[1] ? v[i] : got[1];
        got[2] = v[i] < got[2] ? v[i] : got[2];
    }
    for (int i = 0; i < 3; i++)
        c->extremes = fmax(c->extremes, fabs(got[i] / want[i] - 1));
}

static void walls(struct field *f)
{
    for (uint32_t i = 0; i < f->nx; i++) {
        f->kind[i] = LATTICE_SOLID;
        f->kind[(size_t)(f->ny - 1) * f->nx + i] = LATTICE_LID;
    }
    for (uint32_t i = 0; i < f->ny; i++)
        f->kind[(size_t)i * f->nx] = f->kind[(size_t)i * f->nx + f->nx - 1] = LATTICE_SOLID;
}

int truth_cavity(const struct truth_run *run, uint32_t n, uint32_t reynolds, double turns,
                 struct truth_cavity *ret_cavity)
{
    const double tau = 0.5 + 3 * LID_SPEED * n / reynolds;
    const struct lattice_setup setup = {.nx = n + 2,
                                        .ny = n + 2,
                                        .density = 1,
                                        .omega = 1 / tau,
                                        .omega_odd = 1 / (0.5 + 3.0 / 16 / (tau - 0.5)),
                                        .lid = LID_SPEED,
                                        .storage = run->storage};
    double *u = malloc((n + 2) * sizeof *u), *v = malloc((n + 2) * sizeof *v);
    struct field f;
    uint32_t table = 0;
    int r = field_init(&f, n + 2, n + 2);

    while (table < 3 && ghia_reynolds[table] != reynolds)
        table++;
    if (r == 0 && (!u || !v || table == 3))
        r = table == 3 ? -EINVAL : -ENOMEM;
    if (r == 0) {
        walls(&f);
        r = field_run(&f, run, &setup, (uint64_t)(turns * n / LID_SPEED));
    }
    if (r == 0) {
        middle(&f, n, u, v);
        *ret_cavity = (struct truth_cavity){0};
        from_ghia(u, v, n, table, ret_cavity);
        if (reynolds == 1000)
            from_botella(u, v, n, ret_cavity);
    }
    free(u);
    free(v);
    field_fini(&f);
    return r;
}

int truth_poiseuille(const struct truth_run *run, uint32_t n, double tau, double magic,
                     double *ret_error)
{
    const double nu = (tau - 0.5) / 3, most = 0.05;
    const struct lattice_setup setup = {.nx = 16,
                                        .ny = n + 2,
                                        .density = 1,
                                        .omega = 1 / tau,
                                        .omega_odd =
                                            magic > 0 ? 1 / (0.5 + magic / (tau - 0.5)) : 0,
                                        .force_x = 8 * nu * most / ((double)n * n),
                                        .storage = run->storage};
    struct field f;
    int r = field_init(&f, setup.nx, setup.ny);

    for (uint32_t x = 0; r == 0 && x < f.nx; x++)
        f.kind[x] = f.kind[(size_t)(f.ny - 1) * f.nx + x] = LATTICE_SOLID;
    if (r == 0) /* the slowest mode decays by e^20 */
        r = field_run(&f, run, &setup, (uint64_t)(2.0 * n * n / nu));
    *ret_error = 0;
    for (uint32_t i = 1; r == 0 && i <= n; i++) {
        const double at = (i - 0.5) / n,
                     error = f.ux[(size_t)i * f.nx + 3] / most - 4 * at * (1 - at);

        *ret_error = fabs(error) > *ret_error ? fabs(error) : *ret_error;
    }
    field_fini(&f);
    return r;
}

int truth_taylor_green(const struct truth_run *run, uint32_t n, double *ret_error)
{
    const double pi = acos(-1), k = 2 * pi / n, nu = 0.1, start = 1.0 / n;
    const uint64_t steps = (uint64_t)nearbyint(1 / (2 * nu * k * k));
    const struct lattice_setup setup = {
        .nx = n, .ny = n, .density = 1, .omega = 1 / (0.5 + 3 * nu), .storage = run->storage};
    double off = 0, all = 0;
    struct field f;
    int r = field_init(&f, n, n);

    for (uint32_t i = 0; r == 0 && i < n * n; i++) {
        const double x = k * (i % n), y = k * (i / n); /* NOLINT(bugprone-integer-division) */

        f.ux[i] = -start * cos(x) * sin(y);
        f.uy[i] = start * sin(x) * cos(y);
        f.density[i] = 1 - 0.75 * start * start * (cos(2 * x) + cos(2 * y));
    }
    if (r == 0)
        r = field_run(&f, run, &setup, steps);
    for (uint32_t i = 0; r == 0 && i < n * n; i++) {
        const double x = k * (i % n), y = k * (i / n); /* NOLINT(bugprone-integer-division) */
        const double now = start * exp(-2 * nu * k * k * (double)steps);
        const double u = -now * cos(x) * sin(y), v = now * sin(x) * cos(y);

        off += (f.ux[i] - u) * (f.ux[i] - u) + (f.uy[i] - v) * (f.uy[i] - v);
        all += u * u + v * v;
    }
    *ret_error = r == 0 ? sqrt(off / all) : 0;
    field_fini(&f);
    return r;
}
