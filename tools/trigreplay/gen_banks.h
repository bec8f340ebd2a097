/* SPDX-License-Identifier: Apache-2.0 */
/* gen_banks.h - what particles leave in the pixels of the vertex detector, as raw banks.
 *
 * Pixels are collected while particles are followed, and become super-pixels at the end. */
#ifndef TRIGD_GEN_BANKS_H
#define TRIGD_GEN_BANKS_H
#include "gen.h"

struct banks_pixel {
    uint32_t sensor, column, row;
    uint32_t particle; /* or GENERATOR_NOISE */
};

struct banks_maker { /* pixels of an event that is being made; zero at first but for `random` */
    struct random random;
    uint32_t n, room;
    struct banks_pixel *pixel;
};

void banks_maker_free(struct banks_maker *b);

/* A particle crosses the middle plane of a sensor at (x, y) with the slopes (tx, ty).  -ENOMEM. */
int banks_cross(struct banks_maker *b, uint32_t sensor, double x, double y, double tx, double ty,
                uint32_t particle);
/* One pixel somewhere in a sensor.  -ENOMEM. */
int banks_noise(struct banks_maker *b, uint32_t sensor);

/* Makes super-pixels of all pixels, in the order of a readout, with the hint that one has no
 * neighbours, and stores them as the RoI's items.  -ENOMEM. */
int banks_store(struct banks_maker *b, struct generated *g);
#endif
