/* SPDX-License-Identifier: Apache-2.0 */
/* parameters.h - the parameters of the Hough transform, as the table in parameters.c explains them.
 */
#ifndef HOUGH_PARAMETERS_H
#define HOUGH_PARAMETERS_H
#include "triplet.h"

struct hough_config {
    uint32_t method;
    uint32_t n_theta, n_r, threshold, distance_cells, max_peaks, max_bin_hits;
    uint32_t passes, phi_bins, phi_bins_wide;
    float r_max_mm, r_max_wide_mm, z_centre_mm, z_scale;
    uint32_t weight, pair_cells, distance_norm;
    float gauss_sigma, gauss_threshold;
    float hash_mm, hash_slope;
    float beam_x_mm, beam_y_mm;
    float band, ip_max_mm, ip_max_wide_mm, z_beam_max_mm, z_beam_max_wide_mm, slope_max;
    float tolerance_mm, tolerance_rad, tolerance_max_mm, residual_max_mm, residual3_max_mm,
        chi2_3_max, ip3_mm, rare3, chance3_max, chance4_max, z_made_mm;
    uint32_t min_hits, max_gap, max_gap3;
    float shared_max;
    float sigma_mm, scatter_rad, scatter_slope_rad;
    uint32_t layers_per_station;
    float window_wide_mm, crowd, third_mm, third_rad;
    uint32_t max_work;
};

extern const struct trg_param hough_params[];
extern const struct trg_preset hough_presets[];

/* trg_plugin.check: whether the parameters are right together. */
int hough_check(const void *config, char *why, size_t bytes);

/* Parameters of the kernels in one pass, without the spans of a batch. */
struct hg_par hough_par(const struct hough_config *c, uint32_t pass);

/* The same for the method `triplet`, of which `pass` is below HT_PASSES. */
struct ht_par hough_triplet_par(const struct hough_config *c, uint32_t pass);

/* Fills the table of cosines and sines (HOUGH_TRIG floats) of all passes. */
#define HOUGH_TRIG ((size_t)HG_PASSES * (2u * HG_SIDE + 2u * HG_BINS))
void hough_fill_trig(const struct hough_config *c, float *trig);

/* The name of the kernel of study/ that finds the peaks of a pass: for brute, paint, analytic.
 */
const char *hough_find_kernel(const struct hg_par *par);
#endif
