/* SPDX-License-Identifier: Apache-2.0 */
/* driver.h - a volume through a lane, cut into bricks with halo; fails the test on any error. */
#ifndef TESTS_VOXELS_DRIVER_H
#define TESTS_VOXELS_DRIVER_H
#include "lane.h"

struct volume {
    const uint8_t *values; /* x fastest; 16 bits: little-endian */
    uint32_t n[3], origin[3];
};

struct labelled {    /* bytes, x fastest */
    uint8_t *labels; /* [n[2]][n[1]][n[0]], the caller's room */
    uint32_t count, low[3], high[3];
    uint32_t components, largest; /* of all bricks; of the largest one in any brick */
};

/* Runs the volume in bricks of up to `brick` voxels (NULL: one brick), `batch` at a time.  `setup`
 * says which labels come back and how values are read; device, tables, slots and sizes are filled
 * in. */
void label_volume(struct trg_device *device, const struct vox_model *model,
                  const struct vox_setup *setup, const struct volume *v, const uint32_t *brick,
                  uint32_t batch, struct labelled *ret);
#endif
