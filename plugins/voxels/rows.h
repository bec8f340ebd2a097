/* SPDX-License-Identifier: Apache-2.0 */
/* rows.h - models as rows of the condition voxel_models. */
#ifndef VOXELS_ROWS_H
#define VOXELS_ROWS_H
#include "model.h"
#include "trigd/plugin.h"

/* The stumps of model `number`, in the order of the rows.  -ENOENT: no row is of it; -EINVAL: its
 * weights are larger than a model's may be; both with a sentence in `why`; -ENOMEM. */
int vox_rows_model(const struct trg_input *rows, uint32_t number, struct vox_model *ret_model,
                   char *why, size_t why_bytes);
#endif
