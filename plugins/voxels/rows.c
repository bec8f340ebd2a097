/* SPDX-License-Identifier: Apache-2.0 */
#include "rows.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "trigd/kernel.h"
#include "voxels.collections.h"

static uint32_t count(const struct trg_input *rows, uint32_t number)
{
    const uint8_t *model = TRG_VOXEL_MODELS_MODEL(rows->host, rows->span);
    uint32_t n = 0;

    for (uint32_t i = 0; i < rows->span.n_items; i++)
        n += model[i] == number;
    return n;
}

static void copy(const struct trg_input *rows, uint32_t number, struct vox_model *m)
{
    const uint8_t *model = TRG_VOXEL_MODELS_MODEL(rows->host, rows->span);
    const uint8_t *feature = TRG_VOXEL_MODELS_FEATURE(rows->host, rows->span);
    const int32_t *at_most = TRG_VOXEL_MODELS_AT_MOST(rows->host, rows->span);
    const int32_t *left = TRG_VOXEL_MODELS_LEFT(rows->host, rows->span);
    const int32_t *right = TRG_VOXEL_MODELS_RIGHT(rows->host, rows->span);

    for (uint32_t i = 0; i < rows->span.n_items; i++)
        if (model[i] == number)
            m->stumps[m->n_stumps++] =
                (struct vox_stump){(enum vox_feature)feature[i], at_most[i], left[i], right[i]};
}

int vox_rows_model(const struct trg_input *rows, uint32_t number, struct vox_model *ret_model,
                   char *why, size_t why_bytes)
{
    struct vox_model m = {0};
    const uint32_t n = count(rows, number);

    if (!n) {
        snprintf(why, why_bytes, "the condition voxel_models has no row of model %" PRIu32, number);
        return -ENOENT;
    }
    m.stumps = calloc(n, sizeof *m.stumps);
    if (!m.stumps) {
        snprintf(why, why_bytes, "no memory for %" PRIu32 " stumps", n);
        return -ENOMEM;
    }
    copy(rows, number, &m);
    if (vox_model_weights(&m) > vox_model_weights_max(&m)) {
        snprintf(why, why_bytes,
                 "the larger weights of model %" PRIu32 " in voxel_models add up to %" PRId64
                 "; 2^29 is allowed",
                 number, vox_model_weights(&m));
        vox_model_fini(&m);
        return -EINVAL;
    }
    *ret_model = m;
    return 0;
}
