/* SPDX-License-Identifier: Apache-2.0 */
#include "parameters.h"

#include <errno.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>

/* mm deg: at pile-up 200 the fullest bin then holds some hundred thousand pairs */
#define SLICE_BIN_MOST 2.001
#define AT(member)     offsetof(struct zf_config, member)
const struct trg_param zf_params[] = {
    {"phi_slice_deg", TRG_PARAM_F32, AT(phi_slice_deg), "0.2", 0.1, 10, "deg", NULL,
     "width of a phi slice"},
    {"phi_range", TRG_PARAM_CHOICE, AT(phi_range), "roi", 0, 0, "", "roi|width|full|points",
     "phi range: the RoI's window, roi_phi_width_rad about its centre, the full circle, or what "
     "the "
     "points span (with as_original)"},
    {"roi_phi_width_rad", TRG_PARAM_F32, AT(roi_phi_width_rad), "0.2", 0.01, 6.28, "rad", NULL,
     "full width of the RoI in phi, with phi_range: width"},
    {"z_max_mm", TRG_PARAM_F32, AT(z_max_mm), "200", 1, 1000, "mm", NULL,
     "vertices are sought at |z| below this"},
    {"z_bin_mm", TRG_PARAM_F32, AT(z_bin_mm), "0.2", 0.01, 50, "mm", NULL,
     "width of a z bin at eta 0"},
    {"z_bin_eta_mm", TRG_PARAM_F32, AT(z_bin_eta_mm), "0", 0, 10, "mm", NULL,
     "added to it for each unit of |eta| of the RoI"},
    {"n_peaks", TRG_PARAM_U32, AT(n_peaks), "1", 1, ZF_PEAKS_MAX, "", NULL,
     "vertices to find at most"},
    {"charge_aware", TRG_PARAM_BOOL, AT(charge_aware), "false", 0, 0, "", NULL,
     "a histogram for each sign of the bending"},
    {"histogram_per_slice", TRG_PARAM_BOOL, AT(histogram_per_slice), "false", 0, 0, "", NULL,
     "a histogram for each phi slice"},
    {"first_layers", TRG_PARAM_U32, AT(first_layers), "3", 1, ZF_LAYERS, "", NULL,
     "the inner point comes from the first this many filled layers"},
    {"neighbours", TRG_PARAM_CHOICE, AT(neighbours), "one", 0, 0, "", "bending|one",
     "phi slices to look at on each side: by the bending between the layers, or one"},
    {"neighbour_pt_gev", TRG_PARAM_F32, AT(neighbour_pt_gev), "6", 0.1, 100, "GeV", NULL,
     "the track whose bending in 2 T the neighbours cover"},
    {"neighbour_multiplier", TRG_PARAM_F32, AT(neighbour_multiplier), "1", 0, 100, "", NULL,
     "factor on the bending"},
    {"neighbour_eta_slope_rad", TRG_PARAM_F32, AT(neighbour_eta_slope_rad), "-0.02", -1, 0, "rad",
     NULL, "change of the bending to end-cap layers for each unit of |eta| from 0.9"},
    {"triplet_mode", TRG_PARAM_U32, AT(triplet_mode), "1", 0, 2, "", NULL,
     "a pair counts: 0 always, 1 if a third point agrees, 2 once for each that does"},
    {"triplet_dz_mm", TRG_PARAM_F32, AT(triplet_dz_mm), "1", 0, 1000, "mm", NULL,
     "largest difference in z on the beam line"},
    {"triplet_dk", TRG_PARAM_F32, AT(triplet_dk), "0.0001", 0, 1, "rad/mm", NULL,
     "largest difference in curvature"},
    {"triplet_dphi_rad", TRG_PARAM_F32, AT(triplet_dphi_rad), "0.002", 0, 3.2, "rad", NULL,
     "largest difference in phi on the beam line"},
    {"min_separation_bins", TRG_PARAM_U32, AT(min_separation_bins), "0", 0, 4096, "", NULL,
     "vertices closer than this many bins are one"},
    {"min_distance_fraction", TRG_PARAM_F32, AT(min_distance_fraction), "0", 0, 1, "", NULL,
     "vertices closer than this fraction of |z| are one"},
    {"mixing", TRG_PARAM_F32, AT(mixing), "0", 0, 1, "", NULL,
     "weight of the lower of two vertices that are one"},
    {"prefer_central", TRG_PARAM_BOOL, AT(prefer_central), "false", 0, 0, "", NULL,
     "of equal peaks, the one nearer to z = 0 comes first"},
    {"weight_threshold", TRG_PARAM_F32, AT(weight_threshold), "0", 0, 1e9, "", NULL,
     "vertices of less weight are not reported"},
    {"min_significance", TRG_PARAM_F32, AT(min_significance), "0", 0, 1e6, "", NULL,
     "least (height - background) / sqrt(background) of a vertex; 0: no cut"},
    {"background_fraction", TRG_PARAM_F32, AT(background_fraction), "1", 0.01, 1, "", NULL,
     "the background is this fraction of the mean content of three bins"},
    {"pedestal", TRG_PARAM_BOOL, AT(pedestal), "false", 0, 0, "", NULL,
     "the mean content of three bins is taken off the weights (dense events)"},
    {"pixel_only", TRG_PARAM_BOOL, AT(pixel_only), "true", 0, 0, "", NULL,
     "use layers 0-3 and 8-10 only"},
    {"max_layers", TRG_PARAM_U32, AT(max_layers), "20", 2, ZF_LAYERS, "", NULL,
     "points on layers from this number on are not used"},
    {"last_barrel", TRG_PARAM_U32, AT(last_barrel), "7", 0, ZF_LAYERS - 1, "", NULL,
     "number of the outermost barrel layer"},
    {"as_original", TRG_PARAM_BOOL, AT(as_original), "false", 0, 0, "", NULL,
     "count as the ATLAS original: double precision, bins around multiples of their width, "
     "vertices "
     "within the RoI's z range (and z_max_mm)"},
    {"max_work", TRG_PARAM_U32, AT(max_work), "1000000", 1, ZF_WORK_MOST, "", NULL,
     "most points times 64ths of the points in slices near by, of an RoI; with triplets times "
     "those "
     "64ths once more; beyond, it is TRUNCATED and has no vertices"},
    {0},
};

/* clang-format off */
static const char *const atlas[] = {
    "as_original", "true",
    "phi_range", "points",
    "z_max_mm", "250",
    "z_bin_eta_mm", "0.1",
    "charge_aware", "true",
    "histogram_per_slice", "true",
    "neighbours", "bending",
    "triplet_mode", "0",
    "triplet_dz_mm", "25",
    "triplet_dk", "0.005",
    "triplet_dphi_rad", "0.05",
    "pixel_only", "false",
    NULL};
static const char *const pure[] = {
    "first_layers", "32",
    "triplet_mode", "0",
    "triplet_dz_mm", "25",
    "triplet_dk", "0.005",
    "triplet_dphi_rad", "0.05",
    "pixel_only", "false",
    NULL};
static const char *const dense[] = {NULL};
/* clang-format on */
const struct trg_preset zf_presets[] = {
    {"atlas", "the ATLAS original, event by event, with its defaults", atlas},
    {"pure", "the GPU version of 2010: all layers, one neighbour, one histogram", pure},
    {"dense", "the defaults: triplets of the pixel layers with tight tolerances, one histogram",
     dense},
    {0},
};

const struct trg_value zf_values[] = {
    {"n_vertices", "", "vertices found"},
    {"z_mm", "mm", "z of the first vertex"},
    {"weight", "", "entries of the first vertex"},
    {"significance", "", "its height over the background, in standard deviations"},
    {"n_entries", "", "pairs or triplets counted"},
    {"n_points", "", "spacepoints used"},
    {"digest_high", "", "upper 16 bits of a checksum of all histogram bins"},
    {"digest_low", "", "its lower 16 bits"},
    {0},
};

double zf_most_bins(const struct zf_config *c)
{
    double half = (double)c->z_max_mm / (double)c->z_bin_mm;

    return c->as_original ? 2.0 * ceil(half) + 1.0 : ceil(2.0 * half);
}

int zf_check(const void *config, char *why, size_t bytes)
{
    const struct zf_config *c = config;
    uint32_t charges = c->charge_aware ? 2 : 1,
             most = c->as_original ? ZF_ENTRIES_ROOM : ZF_ENTRIES;

    if (zf_most_bins(c) * charges > most) {
        snprintf(why, bytes,
                 "z_max_mm %g with z_bin_mm %g makes %.0f bins; at most %u are allowed "
                 "(half of it with charge_aware)",
                 (double)c->z_max_mm, (double)c->z_bin_mm, zf_most_bins(c) * charges, most);
        return -EINVAL;
    }
    if (zf_most_bins(c) < 3) {
        snprintf(why, bytes, "z_bin_mm %g leaves fewer than 3 bins below z_max_mm %g",
                 (double)c->z_bin_mm, (double)c->z_max_mm);
        return -EINVAL;
    }
    if ((double)c->z_bin_mm * (double)c->phi_slice_deg > SLICE_BIN_MOST) {
        snprintf(why, bytes,
                 "z_bin_mm %g times phi_slice_deg %g is above %g: a bin would hold more than the "
                 "2^20 entries whose places it can add up",
                 (double)c->z_bin_mm, (double)c->phi_slice_deg, SLICE_BIN_MOST);
        return -EINVAL;
    }
    if (c->phi_range == ZF_RANGE_POINTS && !c->as_original) {
        snprintf(why, bytes, "phi_range points needs as_original: true");
        return -EINVAL;
    }
    if (c->last_barrel >= c->max_layers) {
        snprintf(why, bytes, "last_barrel %u is not below max_layers %u", c->last_barrel,
                 c->max_layers);
        return -EINVAL;
    }
    return 0;
}
