/* SPDX-License-Identifier: Apache-2.0 */
/* gen.h - what the simulated detectors give to generator.c, and what they share. */
#ifndef TRIGD_GEN_H
#define TRIGD_GEN_H
#include "generator.h"
#include "random.h"

#define PDG_PION     211
#define PDG_KAON     321
#define MASS_PION    0.13957 /* GeV */
#define MASS_PI_ZERO 0.13498
#define MASS_KAON    0.49368

/* Make RoI number i of a preset of their detector, as generator_make.  -ENOMEM. */
int gen_toy_make(const struct generator_preset *preset, uint64_t seed, uint64_t i,
                 struct generated *ret_roi);
int gen_velo_make(const struct generator_preset *preset, uint64_t seed, uint64_t i,
                  struct generated *ret_roi);
int gen_helix_make(const struct generator_preset *preset, uint64_t seed, uint64_t i,
                   struct generated *ret_roi);

int gen_phantom_make(const struct generator_preset *preset, uint64_t seed, uint64_t i,
                     struct generated *ret_roi);

struct gen_particle;
/* Adds to the vertices of an RoI what charged particles that were made there leave in a preset's
 * detector, and its noise; i makes it another event.  -EINVAL: the preset's detector is the toy,
 * which takes none. */
int gen_detect(const struct generator_preset *preset, uint64_t seed, uint64_t i,
               const struct gen_particle *list, uint32_t n, struct generated *g);
int gen_velo_detect(const struct generator_preset *preset, uint64_t seed, uint64_t i,
                    const struct gen_particle *list, uint32_t n, struct generated *g);
int gen_helix_detect(const struct generator_preset *preset, uint64_t seed, uint64_t i,
                     const struct gen_particle *list, uint32_t n, struct generated *g);

/* A particle at the place where it was made. */
struct gen_particle {
    double x, y, z;    /* mm */
    double px, py, pz; /* GeV */
    double mass;
    int charge, pdg;
    uint32_t vertex, flags;
};

/* The same, as the truth tells it; `bend` is the radius of its helix in mm, infinite (0 given) for
 * a straight line. */
struct store_particle;
void gen_truth(const struct gen_particle *p, double bend, struct store_particle *ret_truth);

/* Transverse momentum of a particle of a soft collision: (1 + pT / 1.5 GeV)^-6 above 0.1 GeV, mean
 * 0.48 GeV. */
double gen_pt(struct random *r);

/* Root mean square of the angle by which a particle is scattered in `x0` radiation lengths, in a
 * plane: Highland's formula as the Review of Particle Physics gives it, its logarithm left
 * out (that of 1 %). */
double gen_scatter(const struct gen_particle *p, double x0);

/* Called for each product of a decay. */
typedef int gen_sink(void *ctx, const struct gen_particle *p);

/* Lets a hadron fly from where `p` says and decay, and its decay products likewise; makes a vertex
 * of each decay and gives the charged products that last to `sink`. */
int gen_decay_beauty(struct random *r, struct generated *g, const struct gen_particle *p,
                     gen_sink *sink, void *ctx);
int gen_decay_strange(struct random *r, struct generated *g, const struct gen_particle *p,
                      gen_sink *sink, void *ctx);
#define MASS_BEAUTY  5.28 /* GeV */
#define MASS_STRANGE 0.49761
#endif
