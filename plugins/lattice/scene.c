/* SPDX-License-Identifier: Apache-2.0 */
#include "scene.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "inner.h"
#include "parameters.h"

static struct lattice_setup setup_of(const struct lattice_config *c)
{
    struct lattice_setup s = {.nx = c->nx,
                              .ny = c->ny,
                              .density = (double)c->density,
                              .omega = (double)c->omega,
                              .storage = c->storage};

    if (c->scene == LATTICE_SCENE_CAVITY)
        s.lid = (double)c->lid;
    else if (c->scene == LATTICE_SCENE_CHANNEL)
        s.force_x = (double)c->force;
    else
        s.accel = (double)c->accel;
    return s;
}

static void put_walls(const struct lattice_config *c, unsigned char *kind)
{
    const size_t last = (size_t)(c->ny - 1) * c->nx;

    memset(kind, LATTICE_SOLID, c->nx);
    memset(kind + last, c->scene == LATTICE_SCENE_CAVITY ? LATTICE_LID : LATTICE_SOLID, c->nx);
    for (uint32_t y = 0; c->scene == LATTICE_SCENE_CAVITY && y < c->ny - 1; y++)
        kind[(size_t)y * c->nx] = kind[(size_t)y * c->nx + c->nx - 1] = LATTICE_SOLID;
}

int lattice_scene(const struct lattice_config *c, const char *folder,
                  struct lattice_setup *ret_setup, unsigned char **ret_kind,
                  struct lattice_why *why)
{
    const struct lattice_setup setup = setup_of(c);
    char path[4096];
    unsigned char *kind;
    int r = 0;

    if (setup.nx < 3 || setup.ny < 3 || (uint64_t)setup.nx * setup.ny > LT_CELLS_MAX)
        return lattice_refuse(why,
                              "a grid of %u x %u cells: 3 to 65536 each way and at most 2^28 "
                              "together are allowed",
                              setup.nx, setup.ny);
    kind = calloc(setup.nx, setup.ny);
    if (!kind)
        return -ENOMEM;
    if (c->scene == LATTICE_SCENE_CAVITY || c->scene == LATTICE_SCENE_CHANNEL)
        put_walls(c, kind);
    if (c->scene == LATTICE_SCENE_OBSTACLES && folder) {
        snprintf(path, sizeof path, "%.4000s/obstacles.txt", folder);
        r = lattice_read_obstacles(path, setup.nx, setup.ny, kind, why);
    }
    if (r == 0)
        r = lattice_check(&setup, kind, why);
    if (r < 0) {
        free(kind);
        return r;
    }
    *ret_setup = setup;
    *ret_kind = kind;
    return 0;
}
