/* SPDX-License-Identifier: Apache-2.0 */
/* flows.h - what the tests of lattice share: devices, simulations that must open, and grids.
 * Include after cmocka.h. */
#ifndef LATTICE_FLOWS_H
#define LATTICE_FLOWS_H
#include <stdlib.h>
#include <string.h>

#include "devices.h"
#include "seed.h"
#include "simulation.h"

struct flow { /* a simulation on a device */
    struct lattice *l;
    struct trg_queue *q;
};

/* Opens the CPU, device 0, and the devices of a backend, and runs the tests on them: the exit code
 * of main. */
int flows_main(int argc, char **argv, const struct CMUnitTest *tests, size_t n_tests);

/* All of these fail the test on any error. */
struct flow flow_open(const struct device *device, const struct lattice_setup *setup,
                      const unsigned char *kind, const struct lattice_tuning *tuning);
void flow_close(struct flow *f);
void flow_run(struct flow *f, uint32_t steps, double *ret_mean);
/* Distributions as they are stored, and how many bytes; the caller frees them. */
void *flow_get(struct flow *f, size_t *ret_bytes);

/* Kinds [ny][nx], which the caller frees: walls all around; and `part` of the cells at random. */
unsigned char *grid_box(uint32_t nx, uint32_t ny);
unsigned char *grid_random(uint32_t nx, uint32_t ny, double part, uint64_t *seed);
/* The setup of the exercise. */
struct lattice_setup grid_setup(uint32_t nx, uint32_t ny);
#endif
