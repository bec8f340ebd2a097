/* SPDX-License-Identifier: Apache-2.0 */
/* gen_charge.h - the charge that a particle leaves in the pixels about the place where it crosses a
 * sensor: freed along its track through the silicon, it drifts to the pixels and diffuses a little.
 * Sometimes a delta electron takes charge to neighbouring pixels.
 *
 * Pixels are collected while particles are followed, and are stored in order at the end. */
#ifndef TRIGD_GEN_CHARGE_H
#define TRIGD_GEN_CHARGE_H
#include "gen.h"
#include "geometry.h"

enum charge_detector { CHARGE_VELO, CHARGE_CMS, CHARGE_DETECTORS };

struct charge_model {
    enum charge_detector detector;
    double thickness;   /* mm, of the sensor */
    double spread;      /* mm: sigma of the charge of one step where it is collected */
    double delta_part;  /* part of the particles with a delta electron */
    double delta_range; /* mm: its mean range */
    double threshold;   /* pixels with more charge fire, in parts of the mean of a particle */
    double noise;       /* mean charge of noise over the threshold; 0: items hold no charge */
    uint32_t column_bits, row_bits; /* low ones in which the pixels of one item differ */
};

struct charge_track { /* in the plane of the sensor, mm from its corner */
    double a, b;      /* along columns and rows, in the middle of the silicon */
    double da, db;    /* by which it and the Lorentz drift of the charge move through the silicon */
    double length;    /* of the track, in thicknesses */
    uint32_t steps;   /* that the track is cut into */
};

struct charge_pixel {
    uint64_t item; /* sensor, and column and row but for the model's bits: the order */
    uint32_t sensor, column, row;
    uint32_t particle; /* or GENERATOR_NOISE */
    double charge;     /* in parts of the mean of a particle at a right angle */
};

struct charge_maker { /* pixels of an event that is being made; zero at first but for `random` */
    struct random random;
    uint32_t n, room;
    struct charge_pixel *pixel;
};

void charge_maker_free(struct charge_maker *m);

/* The geometry of the plugins `clusters` and `pixels`, read once; without sensors where there was
 * no memory for it. */
const struct geometry *charge_geometry(enum charge_detector detector);

/* The column or row at a place along them; -1: beside the sensor. */
int charge_column(const struct geometry *g, double a);
int charge_row(const struct geometry *g, double b);

/* Adds the pixels that fire about a crossing.  -ENOMEM. */
int charge_cross(struct charge_maker *m, const struct charge_model *model, uint32_t sensor,
                 const struct charge_track *track, uint32_t particle);
/* One pixel somewhere in a sensor, over the threshold.  -ENOMEM. */
int charge_noise(struct charge_maker *m, const struct charge_model *model, uint32_t sensor);

/* Gives the pixels of each item to `store`, in the order of items, and its particles to the
 * RoI's truth.  -ENOMEM. */
int charge_store(struct charge_maker *m, struct generated *g,
                 int (*store)(struct generated *g, const struct charge_pixel *pixel, uint32_t n));
#endif
