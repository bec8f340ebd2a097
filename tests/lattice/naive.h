/* SPDX-License-Identifier: Apache-2.0 */
/* naive.h - D2Q9 lattice Boltzmann with BGK, slow and obvious, in double and in float: the oracle
 * of the tests, and the course's program in measurements.
 *
 * A step is, in this order: acceleration of row ny - 2, propagation over the periodic grid,
 * bounce-back of all speeds in obstacles, collision of the other cells, mean speed over these.  The
 * numbers of the speeds: 0 rest, 1 E, 2 N, 3 W, 4 S, 5 NE, 6 NW, 7 SW, 8 SE.  A lid is an obstacle
 * that moves along x and gives momentum to what it sends south. */
#ifndef LATTICE_NAIVE_H
#define LATTICE_NAIVE_H
#include <stdint.h>

enum { NAIVE_FREE, NAIVE_SOLID, NAIVE_LID };

struct naive_setup {
    uint32_t nx, ny;
    double density, accel, omega;
    double force_x, force_y;   /* added to the momentum of every free cell, a step */
    double lid;                /* speed of the lid along x */
    const unsigned char *kind; /* [ny][nx]; outlives the grid */
};

extern const double naive_weight[9];
extern const int naive_cx[9], naive_cy[9];

struct naive_cell_double {
    double f[9];
};
struct naive_cell_float {
    float f[9];
};

struct naive_double_grid {
    struct naive_setup setup;
    uint32_t nx, ny;
    uint64_t free_cells;
    struct naive_cell_double *cells, *tmp; /* [ny][nx]; the caller may set cells at the start */
};
struct naive_float_grid {
    struct naive_setup setup;
    uint32_t nx, ny;
    uint64_t free_cells;
    struct naive_cell_float *cells, *tmp;
};

/* A grid at rest.  -ENOMEM. */
int naive_double_new(const struct naive_setup *s, struct naive_double_grid **ret_grid);
int naive_float_new(const struct naive_setup *s, struct naive_float_grid **ret_grid);
void naive_double_free(struct naive_double_grid *n); /* NULL is fine */
void naive_float_free(struct naive_float_grid *n);
/* One step; the mean speed after it, before the force. */
double naive_double_step(struct naive_double_grid *n);
double naive_float_step(struct naive_float_grid *n);
/* Density and velocity of one cell, before the force. */
void naive_double_flow(const struct naive_double_grid *n, uint32_t x, uint32_t y, double *ret_rho,
                       double *ret_ux, double *ret_uy);
void naive_float_flow(const struct naive_float_grid *n, uint32_t x, uint32_t y, double *ret_rho,
                      double *ret_ux, double *ret_uy);
#endif
