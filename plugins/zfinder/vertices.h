/* SPDX-License-Identifier: Apache-2.0 */
/* vertices.h - parameters of the z-finder, and its last step on the host: peaks to vertices. */
#ifndef ZFINDER_VERTICES_H
#define ZFINDER_VERTICES_H
#include "zfinder.h"

#define ZF_PEAKS_MAX 64u /* vertices of one RoI */

struct zf_config { /* the parameters, as the table in zfinder.c explains them */
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
};

enum zf_phi_range { ZF_RANGE_ROI, ZF_RANGE_WIDTH, ZF_RANGE_FULL };
enum zf_neighbours { ZF_NEIGHBOURS_BENDING, ZF_NEIGHBOURS_ONE };

struct zf_vertex {
    float z_mm, weight, significance;
};

/* Vertices from the raw peaks of one RoI, highest first; returns how many (at most n_peaks of the
 * config).  *ret_truncated: the list ended before the search did. */
uint32_t zf_vertices(const struct zf_config *c, const struct zf_roi *roi,
                     const struct zf_peak *peaks, uint32_t n_peaks, const struct zf_summary *s,
                     double background, struct zf_vertex *ret_vertices, uint32_t *ret_truncated);
#endif
