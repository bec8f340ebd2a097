/* SPDX-License-Identifier: Apache-2.0 */
/* scene.h - what a guest simulates: its parameters, and the grid that they stand for. */
#ifndef LATTICE_SCENE_H
#define LATTICE_SCENE_H
#include "simulation.h"

enum lattice_scene {                         /* "cavity|channel|stream|obstacles" */
                     LATTICE_SCENE_CAVITY,   /* walls on all sides, of which the upper one slides */
                     LATTICE_SCENE_CHANNEL,  /* walls below and above, and a force along x */
                     LATTICE_SCENE_STREAM,   /* periodic; row ny - 2 is accelerated */
                     LATTICE_SCENE_OBSTACLES /* the same with obstacles of a file */
};

struct lattice_config { /* 4-byte members: parameters of the plugin */
    uint32_t scene, nx, ny, steps;
    float density, omega, accel, lid, force;
    uint32_t storage, mean_every, vtk;
};

/* Setup and kinds of cells; *ret_kind is freed by the caller.  Obstacles are those of
 * `folder`/obstacles.txt (NULL: none are read).  -EINVAL with a sentence, -ENOMEM. */
int lattice_scene(const struct lattice_config *c, const char *folder,
                  struct lattice_setup *ret_setup, unsigned char **ret_kind,
                  struct lattice_why *why);
#endif
