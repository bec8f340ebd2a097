/* SPDX-License-Identifier: Apache-2.0 */
#include "parameters.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#define PI 3.14159265358979323846

#define AT(member) offsetof(struct hough_config, member)
const struct trg_param hough_params[] = {
    {"method", TRG_PARAM_CHOICE, AT(method), "triplet", 0, 0, "",
     "brute|paint|analytic|hashed|triplet",
     "how tracks are found: every cell for every hit; along each hit's curve; the line of every "
     "pair; the line of every pair in four parameters; from station to station"},
    {"n_theta", TRG_PARAM_U32, AT(n_theta), "32", 8, HG_SIDE, "", NULL,
     "cells from 0 to pi in theta"},
    {"n_r", TRG_PARAM_U32, AT(n_r), "32", 8, HG_SIDE, "", NULL, "cells from -r_max to r_max"},
    {"threshold", TRG_PARAM_U32, AT(threshold), "3", 1, 10000, "", NULL,
     "least count of a peak: hits, with analytic pairs of hits"},
    {"distance_cells", TRG_PARAM_U32, AT(distance_cells), "1", 1, 8, "", NULL,
     "of two peaks within so many cells the stronger survives"},
    {"distance_norm", TRG_PARAM_CHOICE, AT(distance_norm), "each", 0, 0, "", "each|euclidean",
     "how that distance is measured: in theta and in r each, or as the root of the squares"},
    {"weight", TRG_PARAM_CHOICE, AT(weight), "step", 0, 0, "", "step|gauss",
     "brute, paint: what a hit counts in a cell: one within epsilon; dr A exp(-alpha d^2)"},
    {"gauss_sigma", TRG_PARAM_F32, AT(gauss_sigma), "0.5", 0.05, 4, "", NULL,
     "gauss: sigma of the weight in epsilons; alpha is half of one over its square, the error of a "
     "hit added in squares"},
    {"gauss_threshold", TRG_PARAM_F32, AT(gauss_threshold), "1", 0.05, 10000, "", NULL,
     "gauss: least sum of weights of a peak"},
    {"pair_cells", TRG_PARAM_CHOICE, AT(pair_cells), "four", 0, 0, "", "four|one",
     "analytic: cells that a pair votes for: those around its line, or the one it is in"},
    {"max_peaks", TRG_PARAM_U32, AT(max_peaks), "8192", 1, HG_CANDS, "", NULL,
     "peaks of an RoI that are looked at in one pass; where there are more, each window keeps its "
     "strongest, all windows as many"},
    {"max_bin_hits", TRG_PARAM_U32, AT(max_bin_hits), "256", 8, 32767, "", NULL,
     "hits of a bin of phi that are used, in the order of the input"},
    {"passes", TRG_PARAM_U32, AT(passes), "3", 1, HG_PASSES, "", NULL,
     "searches: windows of one bin; the same turned by half a bin; wide windows that overlap; with "
     "triplet two at most: tracks that point to the beam line; all others"},
    {"phi_bins", TRG_PARAM_U32, AT(phi_bins), "80", 1, HG_BINS, "", NULL,
     "bins of phi about the beam line in the first two passes"},
    {"phi_bins_wide", TRG_PARAM_U32, AT(phi_bins_wide), "8", 2, HG_BINS, "", NULL,
     "bins of phi in the third pass; a window is two of them"},
    {"r_max_mm", TRG_PARAM_F32, AT(r_max_mm), "11", 0.1, 10000, "mm", NULL,
     "largest |r| of a line in the first two passes, in the plane of (z / z_scale, u)"},
    {"r_max_wide_mm", TRG_PARAM_F32, AT(r_max_wide_mm), "25", 0.1, 10000, "mm", NULL,
     "the same in the third pass"},
    {"z_centre_mm", TRG_PARAM_F32, AT(z_centre_mm), "0", -10000, 10000, "mm", NULL,
     "z of the point that r is measured from"},
    {"z_scale", TRG_PARAM_F32, AT(z_scale), "20", 0.01, 1000, "", NULL,
     "z is divided by this, so that slopes become comfortable angles"},
    {"hash_mm", TRG_PARAM_F32, AT(hash_mm), "3", 0.01, 100, "mm", NULL,
     "hashed: width of a cell in a and c, the positions at z_centre"},
    {"hash_slope", TRG_PARAM_F32, AT(hash_slope), "0.02", 0.0001, 1, "", NULL,
     "hashed: width of a cell in b and d, the slopes"},
    {"beam_x_mm", TRG_PARAM_F32, AT(beam_x_mm), "0", -100, 100, "mm", NULL, "x of the beam line"},
    {"beam_y_mm", TRG_PARAM_F32, AT(beam_y_mm), "0", -100, 100, "mm", NULL, "y of the beam line"},
    {"band", TRG_PARAM_F32, AT(band), "1", 0.1, 10, "", NULL,
     "hits within so many epsilons of a peak's line are tried for it"},
    {"ip_max_mm", TRG_PARAM_F32, AT(ip_max_mm), "1.5", 0.001, 10000, "mm", NULL,
     "largest distance of a first line to the beam line in the first two passes"},
    {"ip_max_wide_mm", TRG_PARAM_F32, AT(ip_max_wide_mm), "40", 0.001, 10000, "mm", NULL,
     "the same in the third pass"},
    {"z_beam_max_mm", TRG_PARAM_F32, AT(z_beam_max_mm), "250", 0.1, 1e6, "mm", NULL,
     "largest distance along z from z_centre to where a first line is closest to the beam line, in "
     "the first two passes"},
    {"z_beam_max_wide_mm", TRG_PARAM_F32, AT(z_beam_max_wide_mm), "1e6", 0.1, 1e6, "mm", NULL,
     "the same in the third pass"},
    {"slope_max", TRG_PARAM_F32, AT(slope_max), "1.5", 0.001, 1000, "", NULL,
     "largest |tx| and |ty|"},
    {"tolerance_mm", TRG_PARAM_F32, AT(tolerance_mm), "0.2", 0.001, 100, "mm", NULL,
     "largest distance of a hit to a line between the hits that define it"},
    {"tolerance_rad", TRG_PARAM_F32, AT(tolerance_rad), "0.003", 0, 1, "rad", NULL,
     "added for each mm in z outside them"},
    {"tolerance_max_mm", TRG_PARAM_F32, AT(tolerance_max_mm), "1", 0.001, 100, "mm", NULL,
     "most that it grows to"},
    {"residual_max_mm", TRG_PARAM_F32, AT(residual_max_mm), "0.3", 0.001, 100, "mm", NULL,
     "largest distance of a hit to the fitted line"},
    {"residual3_max_mm", TRG_PARAM_F32, AT(residual3_max_mm), "0.1", 0.001, 100, "mm", NULL,
     "the same with three hits"},
    {"chi2_3_max", TRG_PARAM_F32, AT(chi2_3_max), "16", 0.01, 1e6, "", NULL,
     "largest chi2, of two degrees of freedom, with three hits"},
    {"ip3_mm", TRG_PARAM_F32, AT(ip3_mm), "20", 0.001, 1e6, "mm", NULL,
     "distance of a line of three hits to the beam line at which its chi2 counts twice"},
    {"rare3", TRG_PARAM_F32, AT(rare3), "3", 1, 1e6, "", NULL,
     "how often the chi2 of three hits counts where they pass over a station or change the side of "
     "the beam"},
    {"chance3_max", TRG_PARAM_F32, AT(chance3_max), "0.055", 1e-9, 1e30, "", NULL,
     "three hits are no track where hits of a busy RoI make such lines by chance: its hits "
     "/ 10,000, squared, times sqrt((chi2 + 0.5) slope) / r, times the distance to the beam line"},
    {"chance4_max", TRG_PARAM_F32, AT(chance4_max), "0.85", 1e-9, 1e30, "", NULL,
     "the same for four: the hits, squared, times the larger chi2 of its turns / r^2, times the "
     "root of the distance to the beam line"},
    {"z_made_mm", TRG_PARAM_F32, AT(z_made_mm), "70", -1e6, 1e6, "mm", NULL,
     "three hits from there on may be a particle made in the material, and count less by chance"},
    {"min_hits", TRG_PARAM_U32, AT(min_hits), "3", 3, HG_TRACK_HITS, "", NULL,
     "least hits of a track, on as many layers"},
    {"max_gap", TRG_PARAM_U32, AT(max_gap), "5", 1, 65535, "", NULL,
     "largest step in layer numbers from one hit of a track to the next"},
    {"max_gap3", TRG_PARAM_U32, AT(max_gap3), "5", 1, 65535, "", NULL, "the same with three hits"},
    {"shared_max", TRG_PARAM_F32, AT(shared_max), "0.34", 0, 1, "", NULL,
     "largest part of its hits that a candidate may lose to better ones"},
    {"sigma_mm", TRG_PARAM_F32, AT(sigma_mm), "0.0125", 0.0001, 10, "mm", NULL,
     "error of x and of y of a hit"},
    {"scatter_rad", TRG_PARAM_F32, AT(scatter_rad), "0.0001", 0, 0.1, "rad", NULL,
     "multiple scattering in a plane, per projection, of tracks along the beam"},
    {"scatter_slope_rad", TRG_PARAM_F32, AT(scatter_slope_rad), "0.0026", 0, 0.1, "rad", NULL,
     "added to it in squares, times the slope: tracks at large angles are soft"},
    {"layers_per_station", TRG_PARAM_U32, AT(layers_per_station), "2", 1, 2, "", NULL,
     "triplet: neighbouring layers that are searched together"},
    {"window_wide_mm", TRG_PARAM_F32, AT(window_wide_mm), "10", 0.001, 1000, "mm", NULL,
     "triplet: largest distance from a first hit to a second one, across the line to the beam, in "
     "the wide pass if the three are on neighbouring stations; else ip_max_mm"},
    {"crowd", TRG_PARAM_F32, AT(crowd), "8", 1, 1e6, "", NULL,
     "triplet: a window for second hits is narrower where it would hold more hits than this, were "
     "those of the station even in angle"},
    {"third_mm", TRG_PARAM_F32, AT(third_mm), "0.1", 0.001, 100, "mm", NULL,
     "triplet: largest distance of a third hit to the line of two"},
    {"third_rad", TRG_PARAM_F32, AT(third_rad), "0.008", 0, 1, "rad", NULL,
     "triplet: added for each mm in z behind them, up to tolerance_max_mm"},
    {"max_work", TRG_PARAM_U32, AT(max_work), "100000", 1, HT_WORK_MOST, "", NULL,
     "triplet: most hits times 16ths of the hits in their bucket of angle, squared, of an RoI; "
     "beyond, it is TRUNCATED and has no tracks"},
    {0},
};

static const char *const velo[] = {NULL};
static const char *const hashed[] = {"method", "hashed", NULL};
static const char *const hashed_dense[] = {
    "method", "hashed", "phi_bins", "192", "phi_bins_wide", "24", "max_peaks", "32768", NULL};
/* Cells of one projection tell less than hashed ones: wide windows must be narrower.
 * Peaks that touch at a corner may both be lines. */
#define NARROW "phi_bins_wide", "12", "distance_norm", "euclidean"
static const char *const paint[] = {"method", "paint", NARROW, NULL};
static const char *const brute[] = {"method", "brute", NARROW, NULL};
static const char *const analytic[] = {"method", "analytic", "n_theta", "48",
                                       "n_r",    "48",       NARROW,    NULL};
const struct trg_preset hough_presets[] = {
    {"velo", "the defaults: from station to station", velo},
    {"hashed", "voting in four parameters", hashed},
    {"hashed_dense", "the same for events of 13,000 hits", hashed_dense},
    {"paint", "cells of (theta, r), along the curve of each hit", paint},
    {"brute", "the same cells, every cell for every hit", brute},
    {"analytic", "cells of (theta, r), by the line of every pair", analytic},
    {0},
};

static uint32_t stride(const struct hough_config *c)
{
    return (c->n_r + 1u) & ~1u;
}

static bool has_gauss(const struct hough_config *c)
{
    return c->weight && (c->method == HG_BRUTE || c->method == HG_PAINT);
}

/* A cell is a word and not half of one. */
static bool has_wide_cells(const struct hough_config *c)
{
    return c->method == HG_ANALYTIC || has_gauss(c);
}

int hough_check(const void *config, char *why, size_t bytes)
{
    const struct hough_config *c = config;
    const uint32_t columns = HG_WORDS / stride(c);

    if (has_wide_cells(c) && columns < c->n_theta && columns <= 2u * c->distance_cells) {
        snprintf(why, bytes,
                 "n_r %u leaves room for %u columns of theta at a time; distance_cells %u needs %u",
                 c->n_r, columns, c->distance_cells, 2u * c->distance_cells + 1u);
        return -EINVAL;
    }
    if (c->method == HG_HASHED && c->max_bin_hits > HG_HASHED_BIN) {
        snprintf(why, bytes, "max_bin_hits %u: with method hashed at most %u are allowed",
                 c->max_bin_hits, HG_HASHED_BIN);
        return -EINVAL;
    }
    if (c->phi_bins == 1 && c->passes > 1) {
        snprintf(why, bytes, "phi_bins 1 is the whole plane; passes must then be 1, not %u",
                 c->passes);
        return -EINVAL;
    }
    return 0;
}

static uint32_t gauss_units(const struct hough_config *c)
{
    const float units = c->gauss_threshold * (float)HG_UNIT;

    return units > 1 ? (uint32_t)units : 1u;
}

/* Cells of so many words. */
static uint32_t n_cells(bool is_wide, uint32_t words)
{
    return is_wide ? words : 2u * words;
}

const char *hough_find_kernel(const struct hg_par *par)
{
    static const char *const names[][2] = {{"hg_find_brute", "hg_find_brute"},
                                           {"hg_find_paint", "hg_find_paint_few"},
                                           {"hg_find_analytic", "hg_find_analytic_few"}};

    const bool is_wide = par->method == HG_ANALYTIC || par->grid.gauss > 0;

    return names[par->method]
                [par->grid.n_theta * par->grid.stride <= n_cells(is_wide, HG_WORDS_FEW)];
}

static struct hg_grid make_grid(const struct hough_config *c, const struct hg_par *par)
{
    double r_max = (double)(par->pass == 2 ? c->r_max_wide_mm : c->r_max_mm);
    const uint32_t cells = n_cells(has_wide_cells(c), HG_WORDS);
    struct hg_grid g = {.d_theta = (float)(PI / c->n_theta),
                        .inv_d_theta = (float)(c->n_theta / PI),
                        .r_min = (float)-r_max,
                        .dr = (float)(2 * r_max / c->n_r),
                        .inv_dr = (float)(c->n_r / (2 * r_max)),
                        .n_theta = c->n_theta,
                        .n_r = c->n_r,
                        .stride = stride(c),
                        .z0 = c->z_centre_mm,
                        .inv_z_scale = (float)(1 / (double)c->z_scale),
                        .gauss = has_gauss(c) ? c->gauss_sigma : 0,
                        .error = c->sigma_mm,
                        .one_cell = c->pair_cells,
                        .euclidean = c->distance_norm};

    if (c->n_theta * g.stride <= cells)
        g.strip = c->n_theta;
    else
        g.strip = cells / g.stride - 2 * c->distance_cells;
    return g;
}

struct hg_par hough_par(const struct hough_config *c, uint32_t pass)
{
    const uint32_t wide = pass == 2;
    const double ip = (double)(wide ? c->ip_max_wide_mm : c->ip_max_mm);
    struct hg_par par = {.pass = pass,
                         .n_bins = wide ? c->phi_bins_wide : c->phi_bins,
                         .span = wide ? 2 : 1,
                         .phase = pass == 1 ? 0.5f : 0,
                         .trig = HG_PASSES * 2u * HG_SIDE + pass * 2u * HG_BINS,
                         .method = c->method,
                         .threshold = has_gauss(c) ? gauss_units(c) : c->threshold,
                         .threshold_step = has_gauss(c) ? HG_UNIT / 4u : 1u,
                         .distance = c->distance_cells,
                         .bin_room = c->max_bin_hits,
                         .cands_room = c->max_peaks,
                         .beam_x = c->beam_x_mm,
                         .beam_y = c->beam_y_mm,
                         .ip_max2 = (float)(ip * ip),
                         .z_beam_max = wide ? c->z_beam_max_wide_mm : c->z_beam_max_mm,
                         .hash_inv_mm = (float)(1 / (double)c->hash_mm),
                         .hash_inv_slope = (float)(1 / (double)c->hash_slope),
                         /* the four cells that a pair votes for may be one off its line */
                         .band = c->method == HG_ANALYTIC ? 2 * c->band : c->band,
                         .tol_mm = c->tolerance_mm,
                         .tol_rad = c->tolerance_rad,
                         .tol_max_mm = c->tolerance_max_mm,
                         .residual_max_mm = c->residual_max_mm,
                         .residual3_max_mm = c->residual3_max_mm,
                         .chi2_3_max = c->chi2_3_max,
                         .rare3 = c->rare3,
                         .chance3_max = c->chance3_max,
                         .chance4_max = c->chance4_max,
                         .z_made = c->z_made_mm,
                         .station_layers = c->layers_per_station,
                         .inv_ip3 = c->ip3_mm > 0 ? 1 / c->ip3_mm : 0,
                         .slope_max = c->slope_max,
                         .min_hits = c->min_hits,
                         .max_gap = c->max_gap,
                         .max_gap3 = c->max_gap3,
                         .shared_max = c->shared_max,
                         .sigma_mm = c->sigma_mm,
                         .scatter = c->scatter_rad,
                         .scatter_slope = c->scatter_slope_rad};

    par.bins_room = c->phi_bins > c->phi_bins_wide ? c->phi_bins : c->phi_bins_wide;
    par.grid = make_grid(c, &par);
    return par;
}

struct ht_par hough_triplet_par(const struct hough_config *c, uint32_t pass)
{
    return (struct ht_par){.common = hough_par(c, pass ? HG_PASSES - 1 : 0),
                           .pass = pass,
                           .station_shift = c->layers_per_station - 1,
                           .is_wide = pass,
                           .window_mm = pass ? c->window_wide_mm : c->ip_max_mm,
                           .narrow_mm = c->ip_max_mm,
                           .crowd_pi = (float)(PI * (double)c->crowd),
                           .third_mm = c->third_mm,
                           .third_rad = c->third_rad,
                           .max_work = c->max_work};
}

void hough_fill_trig(const struct hough_config *c, float *trig)
{
    for (uint32_t pass = 0; pass < HG_PASSES; pass++) {
        const struct hg_par par = hough_par(c, pass);
        float *angles = trig + (size_t)pass * 2u * HG_SIDE, *axes = trig + par.trig;

        for (uint32_t t = 0; t < c->n_theta; t++) {
            angles[t] = (float)cos((t + 0.5) * PI / c->n_theta);
            angles[HG_SIDE + t] = (float)sin((t + 0.5) * PI / c->n_theta);
        }
        for (uint32_t w = 0; w < par.n_bins; w++) {
            const double turn = (w + 0.5 * par.span + (double)par.phase) / par.n_bins;

            axes[w] = (float)cos(2 * PI * turn - PI);
            axes[par.n_bins + w] = (float)sin(2 * PI * turn - PI);
        }
    }
}
