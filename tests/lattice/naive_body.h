/* SPDX-License-Identifier: Apache-2.0 */
/* naive_body.h - the body of naive.c, for one type of numbers: NAIVE(name) names a function, `real`
 * is the type.  Five loops over an array of structures, as the exercise of the University of
 * Bristol has them.  */
#define CELL(x, y) ((size_t)(y)*n->nx + (x))

int NAIVE(new)(const struct naive_setup *s, grid_type **ret_grid)
{
    const size_t cells = (size_t)s->nx * s->ny;
    grid_type *n = calloc(1, sizeof *n);

    if (!n)
        return -ENOMEM;
    n->setup = *s;
    n->nx = s->nx;
    n->ny = s->ny;
    n->cells = calloc(cells, sizeof *n->cells);
    n->tmp = calloc(cells, sizeof *n->tmp);
    if (!n->cells || !n->tmp) {
        NAIVE(free)(n);
        return -ENOMEM;
    }
    for (size_t i = 0; i < cells; i++) {
        for (int k = 0; k < 9; k++)
            n->cells[i].f[k] = (real)(s->density * naive_weight[k]);
        n->free_cells += s->kind[i] == NAIVE_FREE;
    }
    *ret_grid = n;
    return 0;
}

void NAIVE(free)(grid_type *n)
{
    if (!n)
        return;
    free(n->cells);
    free(n->tmp);
    free(n);
}

static void NAIVE(accelerate)(grid_type *n)
{
    const real w1 = (real)(n->setup.density * n->setup.accel / 9.0);
    const real w2 = (real)(n->setup.density * n->setup.accel / 36.0);

    if (n->ny < 2)
        return;
    for (uint32_t x = 0; x < n->nx; x++) {
        real *f = n->cells[CELL(x, n->ny - 2)].f;

        if (n->setup.kind[CELL(x, n->ny - 2)] == NAIVE_FREE && f[3] - w1 > 0 && f[6] - w2 > 0 &&
            f[7] - w2 > 0) {
            f[1] += w1;
            f[5] += w2;
            f[8] += w2;
            f[3] -= w1;
            f[6] -= w2;
            f[7] -= w2;
        }
    }
}

static void NAIVE(propagate)(grid_type *n)
{
    for (uint32_t y = 0; y < n->ny; y++)
        for (uint32_t x = 0; x < n->nx; x++) {
            const uint32_t north = y + 1 < n->ny ? y + 1 : 0, south = y ? y - 1 : n->ny - 1;
            const uint32_t east = x + 1 < n->nx ? x + 1 : 0, west = x ? x - 1 : n->nx - 1;
            real *to = n->tmp[CELL(x, y)].f;

            to[0] = n->cells[CELL(x, y)].f[0];
            to[1] = n->cells[CELL(west, y)].f[1];
            to[2] = n->cells[CELL(x, south)].f[2];
            to[3] = n->cells[CELL(east, y)].f[3];
            to[4] = n->cells[CELL(x, north)].f[4];
            to[5] = n->cells[CELL(west, south)].f[5];
            to[6] = n->cells[CELL(east, south)].f[6];
            to[7] = n->cells[CELL(east, north)].f[7];
            to[8] = n->cells[CELL(west, north)].f[8];
        }
}

static void NAIVE(rebound)(grid_type *n)
{
    static const int opposite[9] = {0, 3, 4, 1, 2, 7, 8, 5, 6};
    const real push = (real)(n->setup.density * n->setup.lid / 6.0);

    for (size_t i = 0; i < (size_t)n->nx * n->ny; i++) {
        if (n->setup.kind[i] == NAIVE_FREE)
            continue;
        for (int k = 1; k < 9; k++)
            n->cells[i].f[k] = n->tmp[i].f[opposite[k]];
        if (n->setup.kind[i] == NAIVE_LID) {
            n->cells[i].f[7] -= push;
            n->cells[i].f[8] += push;
        }
    }
}

static void NAIVE(collide)(grid_type *n)
{
    const real omega = (real)n->setup.omega;

    for (size_t i = 0; i < (size_t)n->nx * n->ny; i++) {
        const real *t = n->tmp[i].f;
        real rho = 0, ux, uy, uu;

        if (n->setup.kind[i] != NAIVE_FREE)
            continue;
        for (int k = 0; k < 9; k++)
            rho += t[k];
        ux = (t[1] + t[5] + t[8] - (t[3] + t[6] + t[7])) / rho;
        uy = (t[2] + t[5] + t[6] - (t[4] + t[7] + t[8])) / rho;
        uu = ux * ux + uy * uy;
        for (int k = 0; k < 9; k++) {
            const real cu = (real)naive_cx[k] * ux + (real)naive_cy[k] * uy;
            const real force =
                (real)(3.0 * naive_weight[k] *
                       (naive_cx[k] * n->setup.force_x + naive_cy[k] * n->setup.force_y));
            const real equilibrium =
                (real)naive_weight[k] * rho *
                ((real)1 + cu * (real)3 + cu * cu * (real)4.5 - uu * (real)1.5);

            n->cells[i].f[k] = t[k] + omega * (equilibrium - t[k]) + force;
        }
    }
}

void NAIVE(flow)(const grid_type *n, uint32_t x, uint32_t y, double *ret_rho, double *ret_ux,
                 double *ret_uy)
{
    const real *f = n->cells[CELL(x, y)].f;
    real rho = 0;

    for (int k = 0; k < 9; k++)
        rho += f[k];
    *ret_rho = (double)rho;
    *ret_ux = (double)((f[1] + f[5] + f[8] - (f[3] + f[6] + f[7]) - (real)n->setup.force_x) / rho);
    *ret_uy = (double)((f[2] + f[5] + f[6] - (f[4] + f[7] + f[8]) - (real)n->setup.force_y) / rho);
}

static double NAIVE(mean_speed)(const grid_type *n)
{
    real sum = 0;

    for (uint32_t y = 0; y < n->ny; y++)
        for (uint32_t x = 0; x < n->nx; x++) {
            double rho, ux, uy;

            if (n->setup.kind[CELL(x, y)] != NAIVE_FREE)
                continue;
            NAIVE(flow)(n, x, y, &rho, &ux, &uy);
            sum += (real)sqrt(ux * ux + uy * uy);
        }
    return n->free_cells ? (double)sum / (double)n->free_cells : 0;
}

double NAIVE(step)(grid_type *n)
{
    NAIVE(accelerate)(n);
    NAIVE(propagate)(n);
    NAIVE(rebound)(n);
    NAIVE(collide)(n);
    return NAIVE(mean_speed)(n);
}
#undef CELL
