/* SPDX-License-Identifier: Apache-2.0 */
/* simulated.h - what tests of the simulated detectors share. */
#ifndef SIMULATED_H
#define SIMULATED_H
#include "generator.h"

const struct generator_preset *preset_of(const char *name); /* there is one, or the test fails */
/* Over the collection and all of the truth. */
uint64_t digest(const struct generated *g);
void assert_near(double value, double want, double tolerance);

/* That vertices, particles and items of the truth belong together; a vertex counts its particles
 * with at least `visible` items. */
void check_truth(const struct generated *g, uint32_t visible);
/* Items of each particle, to be freed. */
uint32_t *count_items(const struct generated *g, uint32_t visible);

struct spread { /* of residuals over their expected size */
    double n, sum, square;
};
void add_residual(struct spread *s, double pull);
#endif
