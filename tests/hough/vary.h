/* SPDX-License-Identifier: Apache-2.0 */
/* vary.h - events of a vertex detector that is not as the simulation has it: busier or emptier, out
 * of place, with dead sensors. */
#ifndef HOUGH_VARY_H
#define HOUGH_VARY_H
#include "generator.h"

struct vary {
    double occupancy; /* collisions, in those of the preset */
    double
        misaligned; /* mm: each sensor is that far from where it is said to be, sigma in x, y, z */
    double dead;    /* part of the sensors that see nothing */
};

/* Moves and removes hits of RoI i of the preset `velo`: other sensors in each RoI. */
void vary_hits(const struct vary *v, uint64_t seed, uint64_t i, struct generated *g);
#endif
