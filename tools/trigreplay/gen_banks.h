/* SPDX-License-Identifier: Apache-2.0 */
/* gen_banks.h - what particles leave in the pixels of the vertex detector, as raw banks. */
#ifndef TRIGD_GEN_BANKS_H
#define TRIGD_GEN_BANKS_H
#include "gen_charge.h"

/* A particle crosses the middle plane of a sensor at (x, y) with the slopes (tx, ty).  -ENOMEM. */
int banks_cross(struct charge_maker *b, uint32_t sensor, double x, double y, double tx, double ty,
                uint32_t particle);
/* One pixel somewhere in a sensor.  -ENOMEM. */
int banks_noise(struct charge_maker *b, uint32_t sensor);

/* Makes super-pixels of all pixels, in the order of a readout, with the hint that one has no
 * neighbours, and stores them as the RoI's items.  -ENOMEM. */
int banks_store(struct charge_maker *b, struct generated *g);
#endif
