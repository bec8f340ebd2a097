/* SPDX-License-Identifier: Apache-2.0 */
/* gen_velo.h - what a particle meets on its way through the vertex detector. */
#ifndef TRIGD_GEN_VELO_H
#define TRIGD_GEN_VELO_H
#include "gen.h"

struct velo_ray { /* a particle on its way */
    double x, y, z, tx, ty;
    double scatter;         /* its angle in one radiation length along the beam */
    double momentum, mass;  /* GeV */
    int ahead, charge, pdg; /* ahead: 1 or -1, along z */
    bool is_outside;        /* of the foil */
};

/* What material makes of the particles of an RoI; what is made is followed later. */
struct velo_made {
    struct gen_particle *list;
    uint32_t n, room;
    int result; /* -ENOMEM: something is missing */
};
void velo_made_free(struct velo_made *made);

/* Kinks by multiple scattering in `x0` radiation lengths along z. */
void velo_kink(struct random *r, struct velo_ray *ray, double x0);

/* All that `x0` radiation lengths along z do: ionisation, scattering, electrons that are knocked
 * out, bremsstrahlung, pairs, nuclear interactions.  False: the particle ends there. */
bool velo_material(struct random *r, struct velo_ray *ray, double x0, struct velo_made *made);
#endif
