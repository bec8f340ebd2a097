/* SPDX-License-Identifier: Apache-2.0 */
/* parameters.h - the configuration of the plugin. */
#ifndef VOXELS_PARAMETERS_H
#define VOXELS_PARAMETERS_H
#include "trigd/plugin.h"

struct voxels_config {
    uint32_t model;
    uint32_t max_edge;
    uint32_t components;
};

extern const struct trg_param voxels_params[];
#endif
