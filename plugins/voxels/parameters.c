/* SPDX-License-Identifier: Apache-2.0 */
#include "parameters.h"

#include <stddef.h>

#define AT(member) offsetof(struct voxels_config, member)
const struct trg_param voxels_params[] = {
    {"model", TRG_PARAM_U32, AT(model), "0", 0, 255, "", NULL,
     "number of the model in the condition voxel_models"},
    {"max_edge", TRG_PARAM_U32, AT(max_edge), "64", 8, 256, "voxels", NULL,
     "longest edge of a brick without halo; memory is for batches of such cubes"},
    {"components", TRG_PARAM_BOOL, AT(components), "true", 0, 0, "", NULL,
     "6-connected components and the largest of them; false: these values are 0"},
    {0},
};
