/* SPDX-License-Identifier: Apache-2.0 */
/* parameters.h - parameters of the plugin and the presets of its layer pairs. */
#ifndef DOUBLETS_PARAMETERS_H
#define DOUBLETS_PARAMETERS_H
#include "doublets.h"
#include "trigd/plugin.h"

enum doublets_search { DOUBLETS_WINDOWS, DOUBLETS_TREES };

struct doublets_config {
    float pt_min_gev, field_t;
    float beam_x_mm, beam_y_mm, beam_z_mm, beam_half_mm;
    float barrel_half_mm, layer_mm[DBT_BARREL]; /* radii; that of layer 0 is not used */
    uint32_t crossed;
    uint32_t search; /* enum doublets_search */
    uint32_t max_doublets, max_per_hit;
    float phi_rad[DBT_PAIRS_MAX]; /* 0: the pair is not used */
    float dz_mm[DBT_PAIRS_MAX];
};

extern const struct trg_param doublets_params[];
extern const struct trg_preset doublets_presets[];

/* The plugin's `check`. */
int doublets_check(const void *config, char *why, size_t bytes);

/* Most doublets of an RoI with n hits; the kernels have the same rule. */
uint32_t doublets_limit(const struct doublets_config *c, uint32_t n);

/* What a config says, as the kernels want it: cuts, pairs and limits; the rest of `ret` is left. */
void doublets_fill_par(const struct doublets_config *c, struct dbt_par *ret);
#endif
