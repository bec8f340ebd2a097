/* SPDX-License-Identifier: Apache-2.0 */
/* reference.h - labels and components in the slow and obvious way. */
#ifndef TESTS_VOXELS_REFERENCE_H
#define TESTS_VOXELS_REFERENCE_H
#include "model.h"

/* Labels (0 or 1) of a whole volume whose first voxel is at `origin`; stump by stump, the gradient
 * in double precision, edge values repeated. */
void reference_labels(const struct vox_model *m, const uint8_t *volume, const uint32_t *n,
                      const uint32_t *origin, uint8_t *labels);

struct reference_sums {
    uint32_t count, low[3], high[3], largest, components;
};
/* Count, box and the largest 6-connected component (by flooding); -ENOMEM. */
int reference_sums(const uint8_t *labels, const uint32_t *n, const uint32_t *origin,
                   struct reference_sums *ret_sums);
#endif
