/* SPDX-License-Identifier: Apache-2.0 */
/* parameters.h - the two files of a flow, as the exercise has them.
 *
 * Parameters: seven numbers, one a line: nx, ny, steps, Reynolds dimension, density, accel, omega.
 * Obstacles: lines "x y 1"; also "x,y" with a line of names at the top.  Empty lines are skipped.
 */
#ifndef LATTICE_PARAMETERS_H
#define LATTICE_PARAMETERS_H
#include "simulation.h"

struct lattice_parameters {
    struct lattice_setup setup;
    uint32_t steps;
    double reynolds_dim; /* cells */
};

/* Reads and checks a file of parameters.  -EINVAL with one sentence: file, line, what is allowed.
 */
int lattice_read_parameters(const char *path, struct lattice_parameters *ret_parameters,
                            struct lattice_why *why);
/* Reads obstacles into `kind` [ny][nx], which is all free before.  The same errors. */
int lattice_read_obstacles(const char *path, uint32_t nx, uint32_t ny, unsigned char *kind,
                           struct lattice_why *why);
/* Reynolds number of a mean speed. */
double lattice_reynolds(const struct lattice_parameters *p, double mean_speed);
#endif
