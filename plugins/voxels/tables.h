/* SPDX-License-Identifier: Apache-2.0 */
/* tables.h - a model as the kernels read it: for each feature a step function. */
#ifndef VOXELS_TABLES_H
#define VOXELS_TABLES_H
#include "model.h"
#include "trigd/kernel.h"
#include "voxels.h"

/* Words of the largest tables: those of positions end with the last threshold. */
#define VOX_TABLES_MAX ((size_t)VOX_TABLE_REST + (size_t)3 * 65537 + 8 + (size_t)2 * VOX_STEPS_MAX)

struct vox_tables {
    int32_t *words; /* owned */
    uint32_t n_words;
    uint32_t uses, s_steps, extent[3]; /* see struct vox_label_par */
    uint32_t steps;                    /* for the CPU; 0: more than it can compare */
    uint32_t thresholds;               /* distinct ones that change the sum */
    int32_t bias;                      /* with all constant stumps; part of the table of x */
};

/* Collapses a model: stumps of equal feature and threshold become one step, constant ones part of
 * the bias.  -EINVAL with a sentence in `why` where the kernels have no room for it; -ENOMEM. */
int vox_tables_make(const struct vox_model *m, struct vox_tables *ret_tables, char *why,
                    size_t why_bytes);
void vox_tables_fini(struct vox_tables *t);
#endif
