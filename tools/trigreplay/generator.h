/* SPDX-License-Identifier: Apache-2.0 */
/* generator.h - simulated RoIs of a toy ATLAS inner detector, with truth.
 *
 * Eight barrel layers (0-7: four of pixels, four of strips) and twelve discs a side (8-10 pixels,
 * 11-19 strips), helical tracks in 2 T, one hard-scatter vertex and Poisson pile-up along the beam
 * line (sigma 50 mm), resolution, inefficiency, noise.  RoI number i is a pure function of (preset,
 * seed, i), whoever asks for it in whatever order.
 */
#ifndef TRIGD_GENERATOR_H
#define TRIGD_GENERATOR_H
#include <stdint.h>

#include "trigd.pb-c.h"
#include "trigd/event.h"

#define GENERATOR_NOISE 0xffffffffu /* particle of a noise point */

struct generator_preset {
    const char *name, *help;
    double pileup;       /* mean number of other collisions */
    double tracks;       /* mean charged particles of a collision, |eta| < 2.7 */
    double hard_tracks;  /* of the hard scatter, more of them inside the RoI */
    double noise;        /* mean noise points in the RoI */
    double eta_max;      /* RoI centres lie within */
    double eta_half;     /* half width of the RoI */
    double phi_half_rad; /* >= pi: full circle */
};

/* The presets; the table ends with a NULL name. */
extern const struct generator_preset generator_presets[];
const struct generator_preset *generator_find(const char *name); /* NULL: there is none */

/* One RoI; its arrays belong to it and are used again for the next. */
struct generated {
    struct trg_roi_info info;
    uint32_t n, room; /* spacepoints */
    float *phi, *rho, *z;
    uint8_t *layer;
    uint32_t *particle; /* of each point, or GENERATOR_NOISE */
    uint32_t n_vertices, vertex_room;
    float *vertex_x, *vertex_y, *vertex_z; /* vertex 0 is the hard scatter */
    uint32_t *vertex_tracks;               /* charged particles of it that cross the RoI */
    uint32_t n_particles, particle_room;
    uint32_t *particle_vertex;
    float *pt, *eta, *phi0;
    int32_t *charge;
};

void generated_init(struct generated *g);
void generated_fini(struct generated *g);
/* Makes RoI number i.  -ENOMEM. */
int generator_make(const struct generator_preset *preset, uint64_t seed, uint64_t i,
                   struct generated *ret_roi);

/* The same as a message: the parts point into `g` and are borrowed until it changes. */
struct generated_message {
    Trigd__V1__Roi roi;
    Trigd__V1__Spacepoints spacepoints;
    Trigd__V1__Truth truth;
};
void generated_message(const struct generated *g, struct generated_message *ret_message);
#endif
