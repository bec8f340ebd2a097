/* SPDX-License-Identifier: Apache-2.0 */
/* parameters.h - the configuration of the vertexing plugin. */
#ifndef VX_PARAMETERS_H
#define VX_PARAMETERS_H
#include "trigd/plugin.h"
#include "vertexing.h"

struct vx_config {
    /* detector */
    uint32_t beam_line;
    float beam_x_mm, beam_y_mm, beam_sigma_mm, z_range_mm, chi2_prior;
    /* histogram */
    uint32_t histogram, bin_rule, weighted, smooth_bins;
    float bin_width_mm, sigma_z_max_mm;
    /* seeds */
    uint32_t seeding, min_height, seed_min_tracks;
    float prominence, pair_distance;
    /* fit */
    float window_mm, tukey_start, tukey_end, tolerance_mm;
    uint32_t max_rounds, passes, pv_min_tracks, pv_own_tracks, max_pv;
    float pv_max_radius_mm, pv_merge_sigmas, pv_own_sigmas, pv_sharp_mm, pv_decay;
    /* tracks of the graph */
    uint32_t secondaries;
    float ip_min_sigmas, ip_max_sigmas, ip_max_mm;
    uint32_t max_selected;
    /* adjacency */
    uint32_t layout;
    float doca_mm, doca_sigmas, parallel_sin;
    /* cuts */
    uint32_t origin_cut;
    float origin_sigmas, radial_sigmas, cylinder_mm, cylinder_max_mm, min_angle_rad, max_angle_rad;
    /* secondary vertices */
    uint32_t max_sv;
    float mass_gev;
    /* what the values count */
    uint32_t count_sv_min_tracks;
    float count_sv_significance, count_ip_mm, count_ip_sigmas;
};

enum { VX_BEAM_AUTO, VX_BEAM_FIXED };

extern const struct trg_param vx_params[];
extern const struct trg_preset vx_presets[];

/* Whether parameters that are right one by one are right together (struct trg_plugin). */
int vx_check(const void *config, char *why, size_t bytes);

/* What a configuration says, as the kernels want it: cuts, and room for each RoI. */
void vx_fill_par(const struct vx_config *c, struct vx_par *ret_par);
#endif
