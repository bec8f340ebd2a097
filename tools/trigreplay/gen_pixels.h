/* SPDX-License-Identifier: Apache-2.0 */
/* gen_pixels.h - what particles leave in the modules of the CMS-like pixel detector: pixels with
 * charge.  Modules are flat, those of the geometry "cms" of the plugin `pixels`; where two of a
 * layer overlap, the one whose middle is nearest sees the particle. */
#ifndef TRIGD_GEN_PIXELS_H
#define TRIGD_GEN_PIXELS_H
#include "gen_charge.h"

#define PIXELS_MIP 300.0 /* counts: mean charge of a particle at a right angle */

/* The module of a layer whose middle is nearest to a place; NULL: there is no such layer. */
const struct geometry_sensor *pixels_module(uint32_t layer, const double place[3]);

/* A particle crosses the middle plane of a module at `place` in the direction `to`.  1: there are
 * pixels at that place; 0: it is beside them; -ENOMEM. */
int pixels_cross(struct charge_maker *m, const struct geometry_sensor *module,
                 const double place[3], const double to[3], uint32_t particle);
/* One pixel somewhere, a little above the threshold.  -ENOMEM. */
int pixels_noise(struct charge_maker *m);

/* Stores the pixels as the RoI's items, by module, column and row; charges of one pixel add up.
 * -ENOMEM. */
int pixels_store(struct charge_maker *m, struct generated *g);
#endif
