/* SPDX-License-Identifier: Apache-2.0 */
/* gen_pixels.h - what particles leave in the modules of the CMS-like pixel detector: pixels with
 * charge.  Modules are flat, those of the geometry "cms" of the plugin `pixels`; where two of a
 * layer overlap, the one whose middle is nearest sees the particle.
 *
 * Pixels are collected while particles are followed, and are put in order at the end. */
#ifndef TRIGD_GEN_PIXELS_H
#define TRIGD_GEN_PIXELS_H
#include "gen.h"
#include "geometry.h"

#define PIXELS_MIP 300.0 /* counts: mean charge of a particle at a right angle */

struct pixels_pixel {
    uint32_t key; /* module, column, row: the order */
    uint32_t charge, particle;
};

struct pixels_maker { /* pixels of an event that is being made; zero at first but for `random` */
    struct random random;
    uint32_t n, room;
    struct pixels_pixel *pixel;
};

void pixels_maker_free(struct pixels_maker *m);

/* The module of a layer whose middle is nearest to a place; NULL: there is no such layer. */
const struct geometry_sensor *pixels_module(uint32_t layer, const double place[3]);

/* A particle crosses the middle plane of a module at `place` in the direction `to`.  1: there are
 * pixels at that place; 0: it is beside them; -ENOMEM. */
int pixels_cross(struct pixels_maker *m, const struct geometry_sensor *module,
                 const double place[3], const double to[3], uint32_t particle);
/* One pixel somewhere, a little above the threshold.  -ENOMEM. */
int pixels_noise(struct pixels_maker *m);

/* Stores the pixels as the RoI's items, by module, column and row; charges of one pixel add up.
 * -ENOMEM. */
int pixels_store(struct pixels_maker *m, struct generated *g);
#endif
