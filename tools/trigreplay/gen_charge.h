/* SPDX-License-Identifier: Apache-2.0 */
/* gen_charge.h - the charge that a particle leaves in the pixels about the place where it crosses a
 * sensor: freed along its way through the silicon, it drifts to the pixels and spreads a little.
 * Sometimes an electron is knocked out and takes charge to neighbouring pixels. */
#ifndef TRIGD_GEN_CHARGE_H
#define TRIGD_GEN_CHARGE_H
#include "geometry.h"
#include "random.h"

#define CHARGE_SIDE 24 /* pixels about the crossing that charge is looked for in */

struct charge_model {
    double thickness;   /* mm, of the sensor */
    double spread;      /* mm: sigma of the charge of one step where it is collected */
    double knocked;     /* part of the particles that knock out an electron */
    double knocked_far; /* mm: mean way of it */
};

struct charge_way { /* in the plane of the sensor, mm from its corner */
    double a, b;    /* along columns and rows, in the middle of the silicon */
    double da, db;  /* by which it, and the drift of the charge aside, move through the silicon */
    double length;  /* of its way, in thicknesses */
    uint32_t steps; /* that the way is cut to */
};

struct charge {      /* in parts of the mean of a particle at a right angle */
    int column, row; /* of the first */
    double in[CHARGE_SIDE][CHARGE_SIDE];
};

/* The column or row at a place along them; -1: beside the sensor. */
int charge_column(const struct geometry *g, double a);
int charge_row(const struct geometry *g, double b);

void charge_collect(struct random *r, const struct charge_model *m, const struct geometry *g,
                    const struct charge_way *way, struct charge *ret);
#endif
