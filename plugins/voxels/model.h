/* SPDX-License-Identifier: Apache-2.0 */
/* model.h - a voxel model: a weighted sum of stumps over integer features, from its text form
 * (docs/voxels.md), and what it collapses to. */
#ifndef VOXELS_MODEL_H
#define VOXELS_MODEL_H
#include <stddef.h>
#include <stdint.h>

enum vox_feature { VOX_X, VOX_Y, VOX_Z, VOX_V, VOX_DX, VOX_DY, VOX_DZ, VOX_S, VOX_FEATURES };

struct vox_stump { /* adds `left` where the feature is at most `at_most`, else `right` */
    enum vox_feature feature;
    int32_t at_most, left, right;
};

struct vox_model {
    char name[64];
    uint64_t hash; /* FNV-1a of the text, for decisions to name the model */
    int32_t bias;
    uint32_t n_stumps;
    struct vox_stump *stumps; /* owned */
};

/* Reads a model from text of `bytes` bytes.  -EINVAL with one sentence in `why`; -ENOMEM.  The hash
 * in the text must be that of the text. */
int vox_model_parse(const char *text, size_t bytes, struct vox_model *ret_model, char *why,
                    size_t why_bytes);
/* The same from a file, whose name begins the sentence. */
int vox_model_read(const char *path, struct vox_model *ret_model, char *why, size_t why_bytes);
void vox_model_fini(struct vox_model *m);

/* The larger weight of each stump and the bias, added up; a model's sums fit 32 bits if that is at
 * most the other number. */
int64_t vox_model_weights(const struct vox_model *m);
int64_t vox_model_weights_max(const struct vox_model *m);
#endif
