/* SPDX-License-Identifier: Apache-2.0 */
/* gen_bricks.h - volumes cut to bricks with halo, an RoI each: of files and of a phantom. */
#ifndef TRIGD_GEN_BRICKS_H
#define TRIGD_GEN_BRICKS_H
#include "generator.h"

#define BRICKS_EDGE 64u /* voxels of a brick's edge, where nothing else is wanted */

/* Where voxels come from.  `row` writes those of a row from (x, y, z) on, as many as `count`, two
 * bytes each with the low one first where `type` is not 0. */
struct bricks_volume {
    uint32_t n[3];
    uint32_t type; /* the columns type, low and width of collections/bricks.yaml */
    int32_t low;
    uint32_t width;
    uint32_t edge; /* of a brick, without halo; those at the far sides may be smaller */
    void (*row)(const void *ctx, uint32_t x, uint32_t y, uint32_t z, uint32_t count, uint8_t *out);
    const void *ctx;
};

/* The declarations of the row of a brick and of its voxels. */
const struct trg_collection *generator_bricks(void);
const struct trg_collection *generator_brick_values(void);
/* Bricks of a volume, numbered along x, then y, then z. */
uint32_t bricks_count(const struct bricks_volume *v);
/* Makes the RoI hold brick `number`, which is its roi_id, of volume `l1id`.  -ENOMEM. */
int bricks_cut(const struct bricks_volume *v, uint32_t number, uint32_t l1id, struct generated *g);
#endif
