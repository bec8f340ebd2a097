/* SPDX-License-Identifier: Apache-2.0 */
/* parameters.h - the parameters of the path finder, as the table in parameters.c explains them. */
#ifndef PATHS_PARAMETERS_H
#define PATHS_PARAMETERS_H
#include "paths.h"
#include "trigd/plugin.h"

struct pa_config {
    trg_u32 min_doublets, max_doublets, keep, growth;
    trg_u32 layers_skipped, last_barrel, discs;
    trg_u32 align;
    float theta_cut, theta_cut_forward, max_dslope;
    trg_u32 curvature;
    float hard_pt_gev, max_dcurvature_per_m;
    trg_u32 beam_spot;
    float beam_x_mm, beam_y_mm, origin_tolerance_mm, origin_tolerance_outer_mm;
    float field_t;
    trg_u32 links_per_doublet, paths_per_doublet, max_paths, max_candidates;
    float sigma_rphi_mm, sigma_z_mm, sigma_r_mm, scatter_mrad_gev;
    float chi2_max, pt_cut_gev, d0_max_mm, z0_max_mm;
    trg_u32 duplicates, choice, max_shared;
    float count_pt_gev;
    trg_u32 count_hits;
    float vertex_window_mm;
};

extern const struct trg_param paths_params[];
extern const struct trg_preset paths_presets[];

/* The plugin's `check`. */
int paths_check(const void *config, char *why, size_t bytes);
#endif
