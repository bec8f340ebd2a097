/* SPDX-License-Identifier: Apache-2.0 */
/* gen_store.h - what a simulated RoI holds, put together item by item: shared by the simulated
 * detectors.  Everything that can fail is -ENOMEM, which leaves the RoI as it was.
 */
#ifndef TRIGD_GEN_STORE_H
#define TRIGD_GEN_STORE_H
#include "generator.h"

/* Forgets what the RoI held, keeps its memory. */
void store_begin(struct generated *g, uint32_t kind);

/* The window of RoI i of a preset whose collisions lie within `z_max` mm. */
void store_info(struct generated *g, const struct generator_preset *p, uint64_t i, uint32_t bcid,
                double z_max);

/* A vertex at (x, y, z) mm, of which no particle is known yet. */
int store_vertex(struct generated *g, double x, double y, double z, uint32_t kind, uint32_t parent,
                 uint32_t *ret_vertex);

struct store_particle {
    uint32_t vertex, flags;
    double pt, eta, phi, d0, z0; /* GeV, rad, mm */
    int charge, pdg;
};
/* Writes the next particle without counting it: what it is worth shows when its hits are made. */
int store_particle(struct generated *g, const struct store_particle *p);
/* Counts it; with `is_visible` also among its vertex's. */
void store_keep_particle(struct generated *g, bool is_visible);
/* Says that the particle made the item, which is known already; one after the other may.  -ENOMEM.
 */
int store_claim(struct generated *g, uint32_t item, uint32_t particle);

int store_spacepoint(struct generated *g, double phi, double rho, double z, uint32_t layer,
                     uint32_t particle);
int store_hit(struct generated *g, double x, double y, double z, uint32_t layer, uint32_t particle);
/* A super-pixel, by sensor and word. */
int store_bank(struct generated *g, uint32_t sensor, uint32_t word, uint32_t particle);
struct store_pixel {
    uint32_t module, column, row, charge;
};
int store_pixel(struct generated *g, const struct store_pixel *p, uint32_t particle);
/* Where a particle crossed a sensor whose pixels are what is stored. */
int store_crossing(struct generated *g, double x, double y, double z, uint32_t layer,
                   uint32_t particle);

struct store_track {
    double x, y, z, tx, ty, var_x, var_tx, cov_x_tx, chi2, qop;
    uint32_t n_hits;
};
int store_track(struct generated *g, const struct store_track *t, uint32_t particle);

/* Puts hits in order of layer, z, x and gives them their ids; tracks in order of tx.  So the order
 * says nothing of the truth. */
int store_sort(struct generated *g);

/* Of sorted hits makes one of two that are nearer to each other than `distance` in x and y, on one
 * layer at one z: in the middle, of both particles. */
int store_merge(struct generated *g, double distance);
#endif
