/* SPDX-License-Identifier: Apache-2.0 */
/* truth.h - flows with known answers, for tests and measurements: how far a simulation is from
 * them.  All return 0 or a negative errno. */
#ifndef LATTICE_TRUTH_H
#define LATTICE_TRUTH_H
#include "simulation.h"

struct truth_run { /* how to simulate */
    struct trg_device *device;
    uint32_t storage; /* enum lattice_storage */
};

struct truth_cavity {  /* in units of the lid's speed */
    double worst, rms; /* distance from Ghia's points: the largest, root mean square */
    double extremes; /* Re 1000: of u on x = 1/2 and v on y = 1/2, the largest relative distance of
                      * the minimum of u, the maximum and the minimum of v; else 0 */
};

/* Lid-driven cavity of n x n cells, Re 100, 400 or 1000 (-EINVAL: another), after `turns` times the
 * time in which the lid passes it.  Points: U. Ghia, K. N. Ghia, C. T. Shin, "High-Re solutions for
 * incompressible flow using the Navier-Stokes equations and a multigrid method", J. Comput. Phys.
 * 48 (1982), tables I and II, without the one of Re 400 that is misprinted.  Extremes: O. Botella,
 * R. Peyret, "Benchmark spectral results on the lid-driven cavity flow", Comput. Fluids 27 (1998).
 */
int truth_cavity(const struct truth_run *run, uint32_t n, uint32_t reynolds, double turns,
                 struct truth_cavity *ret_cavity);

/* Channel of n cells between resting walls, driven by a force, relaxation time tau; magic: the
 * product (tau - 1/2)(tau_odd - 1/2), 0: BGK.  The largest distance from the parabola, in units of
 * its maximum. */
int truth_poiseuille(const struct truth_run *run, uint32_t n, double tau, double magic,
                     double *ret_error);

/* Taylor-Green vortices on n x n periodic cells when they have decayed by e: the distance of the
 * velocities from theirs, root mean square over that of the exact ones. */
int truth_taylor_green(const struct truth_run *run, uint32_t n, double *ret_error);
#endif
