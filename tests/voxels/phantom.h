/* SPDX-License-Identifier: Apache-2.0 */
/* phantom.h - volumes and models from a seed, for tests and measurements. */
#ifndef TESTS_VOXELS_PHANTOM_H
#define TESTS_VOXELS_PHANTOM_H
#include <stdint.h>

#include "model.h"

/* A head of three nested, folded ellipsoids on a dark ground, with noise: skin, grey, white.  x
 * fastest. */
void phantom_head(const uint32_t *n, uint64_t seed, uint8_t *volume);
/* Every voxel a number of its own. */
void phantom_noise(const uint32_t *n, uint64_t seed, uint8_t *volume);
/* A model of n stumps over all features with thresholds that volumes of size `size` reach; about
 * half of the sums are above 0.  The stumps are the caller's: vox_model_fini.  -ENOMEM. */
int phantom_model(const uint32_t *size, uint32_t n, uint64_t seed, struct vox_model *ret_model);
#endif
