/* SPDX-License-Identifier: Apache-2.0 */
/* parameters.h - what users set and see of the z-finder: parameters, presets, values for
 * hypotheses. */
#ifndef ZFINDER_PARAMETERS_H
#define ZFINDER_PARAMETERS_H
#include "zfinder.h"

#define ZF_PEAKS_MAX 64u /* vertices of one RoI */

struct zf_config { /* the parameters, as the table in parameters.c explains them */
    float phi_slice_deg;
    uint32_t phi_range;
    float roi_phi_width_rad;
    float z_max_mm, z_bin_mm, z_bin_eta_mm;
    uint32_t n_peaks;
    uint32_t charge_aware, histogram_per_slice;
    uint32_t first_layers;
    uint32_t neighbours;
    float neighbour_pt_gev, neighbour_multiplier, neighbour_eta_slope_rad;
    uint32_t triplet_mode;
    float triplet_dz_mm, triplet_dk, triplet_dphi_rad;
    uint32_t min_separation_bins;
    float min_distance_fraction, mixing;
    uint32_t prefer_central;
    float weight_threshold, min_significance, background_fraction;
    uint32_t pedestal, pixel_only, max_layers, last_barrel;
    uint32_t as_original;
    uint32_t max_work;
};

enum zf_phi_range { ZF_RANGE_ROI, ZF_RANGE_WIDTH, ZF_RANGE_FULL, ZF_RANGE_POINTS };
enum zf_neighbours { ZF_NEIGHBOURS_BENDING, ZF_NEIGHBOURS_ONE };

enum { /* places in zf_values */
       VALUE_N,
       VALUE_Z,
       VALUE_WEIGHT,
       VALUE_SIGNIFICANCE,
       VALUE_ENTRIES,
       VALUE_POINTS,
       VALUE_DIGEST_HIGH,
       VALUE_DIGEST_LOW
};
extern const struct trg_param zf_params[];
extern const struct trg_preset zf_presets[];
extern const struct trg_value zf_values[];

/* Bins of one charge, at eta 0, where there are most. */
double zf_most_bins(const struct zf_config *c);
/* Whether the parameters are right together: -EINVAL with a sentence in `why`. */
int zf_check(const void *config, char *why, size_t bytes);
#endif
