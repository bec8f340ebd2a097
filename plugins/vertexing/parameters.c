/* SPDX-License-Identifier: Apache-2.0 */
#include "parameters.h"

#include <errno.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>

#define AT(member) offsetof(struct vx_config, member)

const struct trg_param vx_params[] = {
    {"beam_line", TRG_PARAM_CHOICE, AT(beam_line), "auto", 0, 0, "", "auto|fixed",
     "auto: found from each RoI's tracks when beam_x_mm and beam_y_mm are 0; else it is there"},
    {"beam_x_mm", TRG_PARAM_F32, AT(beam_x_mm), "0", -50, 50, "mm", NULL, "x of the beam line"},
    {"beam_y_mm", TRG_PARAM_F32, AT(beam_y_mm), "0", -50, 50, "mm", NULL, "y of the beam line"},
    {"beam_sigma_mm", TRG_PARAM_F32, AT(beam_sigma_mm), "0.03", 0, 10, "mm", NULL,
     "width of the beam: adds to the error of a track's z at the beam"},
    {"z_range_mm", TRG_PARAM_F32, AT(z_range_mm), "250", 1, 10000, "mm", NULL,
     "primary vertices are sought at |z| below this"},
    {"chi2_prior", TRG_PARAM_F32, AT(chi2_prior), "2", 0, 1000, "", NULL,
     "errors grow with a track's chi2, (chi2 + this) / (2 hits - 4 + this), if above 1; 0: do not"},

    {"histogram", TRG_PARAM_CHOICE, AT(histogram), "auto", 0, 0, "",
     "auto|data_global|data_shared|bin_thread|bin_block|bin_warp|bin_warp_block|hybrid|replicated|"
     "hybrid_scan",
     "algorithm of the histogram; all give the same bins"},
    {"bin_rule", TRG_PARAM_CHOICE, AT(bin_rule), "fixed", 0, 0, "",
     "fixed|freedman_diaconis|optimum",
     "width of a bin: bin_width_mm; 2 IQR / n^(1/3) of the RoI's tracks; the thesis's optimum"},
    {"bin_width_mm", TRG_PARAM_F32, AT(bin_width_mm), "0.1", 0.01, 100, "mm", NULL,
     "width of a bin of the histogram of z"},
    {"weighted", TRG_PARAM_BOOL, AT(weighted), "true", 0, 0, "", NULL,
     "tracks weigh by bin width over error of z, 1 to 16; else 1"},
    {"smooth_bins", TRG_PARAM_U32, AT(smooth_bins), "2", 0, 16, "", NULL,
     "bins on each side that a triangular filter takes in"},
    {"sigma_z_max_mm", TRG_PARAM_F32, AT(sigma_z_max_mm), "1.5", 0.01, 1000, "mm", NULL,
     "tracks whose z at the beam is known worse make no seeds"},

    {"seeding", TRG_PARAM_CHOICE, AT(seeding), "peaks", 0, 0, "", "peaks|pairs",
     "seeds: peaks of the histogram, or clusters of tracks merged pair by pair"},
    {"min_height", TRG_PARAM_U32, AT(min_height), "8", 1, 1000000, "", NULL,
     "least height of a peak, after smoothing"},
    {"prominence", TRG_PARAM_F32, AT(prominence), "0.02", 0, 1, "", NULL,
     "part of its height by which a peak stands above the valleys to higher ones"},
    {"pair_distance", TRG_PARAM_F32, AT(pair_distance), "5", 0.1, 100, "sigma", NULL,
     "clusters nearer than this merge"},
    {"seed_min_tracks", TRG_PARAM_U32, AT(seed_min_tracks), "3", 1, 1000, "", NULL,
     "least tracks of a cluster that is a seed"},

    {"window_mm", TRG_PARAM_F32, AT(window_mm), "8", 0.1, 1000, "mm", NULL,
     "tracks whose z at the beam is further from the seed are not in its fit"},
    {"tukey_start", TRG_PARAM_F32, AT(tukey_start), "10", 1, VX_TUKEY_MAX, "sigma", NULL,
     "constant of the biweight in the first round"},
    {"tukey_end", TRG_PARAM_F32, AT(tukey_end), "3", 1, VX_TUKEY_MAX, "sigma", NULL,
     "and where it ends; it halves each round"},
    {"tolerance_mm", TRG_PARAM_F32, AT(tolerance_mm), "0.02", 1e-6, 10, "mm", NULL,
     "a fit ends when the vertex moves by less"},
    {"max_rounds", TRG_PARAM_U32, AT(max_rounds), "30", 1, 100, "", NULL,
     "rounds of a fit at most"},
    {"pv_min_tracks", TRG_PARAM_U32, AT(pv_min_tracks), "2", 2, 1000, "", NULL,
     "least tracks of a primary vertex"},
    {"passes", TRG_PARAM_U32, AT(passes), "3", 1, 8, "", NULL,
     "times that vertices are fitted and the wrong ones dropped"},
    {"pv_own_tracks", TRG_PARAM_U32, AT(pv_own_tracks), "3", 0, 1000, "", NULL,
     "least tracks of a primary vertex that do not fit a larger one next to it"},
    {"pv_own_sigmas", TRG_PARAM_F32, AT(pv_own_sigmas), "4.7", 0, 100, "sigma", NULL,
     "a track fits a vertex that it misses by less"},
    {"pv_sharp_mm", TRG_PARAM_F32, AT(pv_sharp_mm), "0.34", 0, 100, "mm", NULL,
     "sharp: the error of z is below this over (tracks - 1); of two tracks only sharp vertices are "
     "kept, and two own tracks at 3 sigmas are enough for them; 0: neither"},
    {"pv_decay", TRG_PARAM_F32, AT(pv_decay), "16", 0, 1000, "", NULL,
     "of a vertex s sigmas off the beam line, D from a larger one, least tracks are this s^2 / D: "
     "else it is a decay; 0: none is"},
    {"max_pv", TRG_PARAM_U32, AT(max_pv), "512", 1, VX_PV_MAX, "", NULL,
     "seeds of an RoI, 16 + tracks / 8 at most; the highest are kept (pairs: those of least z)"},
    {"pv_max_radius_mm", TRG_PARAM_F32, AT(pv_max_radius_mm), "0.15", 0.001, 100, "mm", NULL,
     "primary vertices lie closer to the beam line, beside three of their own errors"},
    {"pv_merge_sigmas", TRG_PARAM_F32, AT(pv_merge_sigmas), "4", 0, 100, "sigma", NULL,
     "of two primary vertices closer in z the one with more tracks is kept"},

    {"secondaries", TRG_PARAM_BOOL, AT(secondaries), "true", 0, 0, "", NULL,
     "whether displaced tracks and secondary vertices are looked for"},
    {"ip_min_sigmas", TRG_PARAM_F32, AT(ip_min_sigmas), "3.5", 0, 1000, "sigma", NULL,
     "tracks of the graph miss every primary vertex by as much; 0: all tracks"},
    {"ip_max_sigmas", TRG_PARAM_F32, AT(ip_max_sigmas), "1e6", 1, 1e9, "sigma", NULL,
     "and miss one of them by less"},
    {"ip_max_mm", TRG_PARAM_F32, AT(ip_max_mm), "1", 0.001, 1e6, "mm", NULL,
     "and miss it by less than this"},
    {"max_selected", TRG_PARAM_U32, AT(max_selected), "2048", 32, VX_SELECTED_MAX, "", NULL,
     "tracks of the graph; if there are more, the first are kept"},

    {"layout", TRG_PARAM_CHOICE, AT(layout), "memory_symmetric", 0, 0, "",
     "full|compute_symmetric|memory_symmetric",
     "adjacency: every pair twice; computed once, stored twice; computed and stored once"},
    {"doca_mm", TRG_PARAM_F32, AT(doca_mm), "0.1", 1e-4, 100, "mm", NULL,
     "tracks that come closer to each other are adjacent"},
    {"doca_sigmas", TRG_PARAM_F32, AT(doca_sigmas), "3", 0, 100, "sigma", NULL,
     "and closer than this in their errors; 0: not asked"},
    {"parallel_sin", TRG_PARAM_F32, AT(parallel_sin), "1e-4", 0, 0.1, "", NULL,
     "pairs at a smaller sine have no cross product to speak of: distance of parallel lines"},

    {"origin_cut", TRG_PARAM_BOOL, AT(origin_cut), "true", 0, 0, "", NULL,
     "drop crossings of tracks of different primary vertices"},
    {"origin_sigmas", TRG_PARAM_F32, AT(origin_sigmas), "1e9", 0, 1e9, "sigma", NULL,
     "a track has an origin when it misses its vertex by less; crossings of others are kept"},
    {"radial_sigmas", TRG_PARAM_F32, AT(radial_sigmas), "5", 0, 10000, "sigma", NULL,
     "drop crossings nearer to a primary vertex, in its errors"},
    {"cylinder_mm", TRG_PARAM_F32, AT(cylinder_mm), "0.15", 0, 100, "mm", NULL,
     "drop crossings nearer to the beam line"},
    {"cylinder_max_mm", TRG_PARAM_F32, AT(cylinder_max_mm), "3", 0.001, 1e6, "mm", NULL,
     "drop crossings further from the beam line, where material and long-lived particles are"},
    {"min_angle_rad", TRG_PARAM_F32, AT(min_angle_rad), "0", 0, 1.5, "rad", NULL,
     "drop crossings of tracks at a smaller angle; 0: no cut"},
    {"max_angle_rad", TRG_PARAM_F32, AT(max_angle_rad), "3.1416", 0.001, 3.1416, "rad", NULL,
     "drop crossings of tracks at a larger angle"},

    {"max_sv", TRG_PARAM_U32, AT(max_sv), "512", 1, VX_SV_MAX, "", NULL,
     "components that are fitted, 16 + tracks / 8 at most; those with the smallest members"},
    {"mass_gev", TRG_PARAM_F32, AT(mass_gev), "0.13957", 0, 100, "GeV", NULL,
     "mass that each track of a secondary vertex is taken to have"},

    {"count_sv_min_tracks", TRG_PARAM_U32, AT(count_sv_min_tracks), "2", 2, 1000, "", NULL,
     "value n_sv_selected: least tracks of a candidate"},
    {"count_sv_significance", TRG_PARAM_F32, AT(count_sv_significance), "5", 0, 1e6, "", NULL,
     "value n_sv_selected: least flight significance of a candidate"},
    {"count_ip_mm", TRG_PARAM_F32, AT(count_ip_mm), "0.1", 0, 1000, "mm", NULL,
     "value n_displaced: least impact parameter of a track"},
    {"count_ip_sigmas", TRG_PARAM_F32, AT(count_ip_sigmas), "4", 0, 1e6, "sigma", NULL,
     "value n_displaced: and its least significance"},
    {0},
};

static const char *const reference[] = {
    "seeding",     "pairs", "pv_min_tracks",   "5", "pv_own_sigmas", "4.2",
    "pv_sharp_mm", "0",     "pv_merge_sigmas", "3", "pv_decay",      "0",
    NULL};
/* collisions of two tracks, tracks of a barrel: docs/vertexing.md, ACTS */
static const char *const barrel[] = {"seeding",
                                     "pairs",
                                     "seed_min_tracks",
                                     "2",
                                     "pv_own_tracks",
                                     "2",
                                     "pv_own_sigmas",
                                     "3",
                                     "pv_max_radius_mm",
                                     "0.5",
                                     "pv_sharp_mm",
                                     "0",
                                     "pv_merge_sigmas",
                                     "3",
                                     "pv_decay",
                                     "0",
                                     "sigma_z_max_mm",
                                     "3",
                                     NULL};
static const char *const crowded[] = {
    "bin_width_mm",  "0.065", "smooth_bins",      "1",   "min_height",  "6", "pv_own_tracks",   "2",
    "pv_own_sigmas", "3",     "pv_max_radius_mm", "0.5", "pv_sharp_mm", "0", "pv_merge_sigmas", "3",
    "pv_decay",      "0",     "sigma_z_max_mm",   "3",   NULL};
static const char *const thesis[] = {"bin_width_mm",
                                     "0.2",
                                     "weighted",
                                     "false",
                                     "smooth_bins",
                                     "0",
                                     "min_height",
                                     "4",
                                     "pv_min_tracks",
                                     "3",
                                     "pv_own_sigmas",
                                     "4.2",
                                     "pv_sharp_mm",
                                     "0",
                                     "pv_merge_sigmas",
                                     "3",
                                     "pv_decay",
                                     "0",
                                     "doca_sigmas",
                                     "0",
                                     "ip_min_sigmas",
                                     "0",
                                     "layout",
                                     "full",
                                     "ip_max_mm",
                                     "1e6",
                                     "cylinder_max_mm",
                                     "1e6",
                                     "origin_sigmas",
                                     "5",
                                     NULL};
const struct trg_preset vx_presets[] = {
    {"reference", "primary vertices as in LHCb-PUB-2014-044: pairwise seeding", reference},
    {"barrel", "tracks of a barrel, collisions of two tracks: pairwise seeding, up to 1024 tracks",
     barrel},
    {"crowded", "the same for 200 collisions and any number of tracks: a fine histogram", crowded},
    {"thesis", "plain histogram of counts; all tracks in the graph, full matrix, fixed distance",
     thesis},
    {0},
};

int vx_check(const void *config, char *why, size_t bytes)
{
    const struct vx_config *c = config;
    double bins = ceil(2.0 * (double)c->z_range_mm / (double)c->bin_width_mm) + 1;

    if (bins > VX_BINS_MAX) {
        snprintf(why, bytes,
                 "z_range_mm %g with bin_width_mm %g makes %.0f bins; at most %u are allowed",
                 (double)c->z_range_mm, (double)c->bin_width_mm, bins, VX_BINS_MAX);
        return -EINVAL;
    }
    if (c->tukey_end > c->tukey_start) {
        snprintf(why, bytes, "tukey_end %g is above tukey_start %g; it may be at most that",
                 (double)c->tukey_end, (double)c->tukey_start);
        return -EINVAL;
    }
    if (c->max_angle_rad <= c->min_angle_rad) {
        snprintf(why, bytes, "max_angle_rad %g must be above min_angle_rad %g",
                 (double)c->max_angle_rad, (double)c->min_angle_rad);
        return -EINVAL;
    }
    if (c->ip_max_sigmas <= c->ip_min_sigmas) {
        snprintf(why, bytes, "ip_max_sigmas %g must be above ip_min_sigmas %g",
                 (double)c->ip_max_sigmas, (double)c->ip_min_sigmas);
        return -EINVAL;
    }
    return 0;
}

static void fill_primaries(const struct vx_config *c, struct vx_par *p)
{
    p->find_beam = c->beam_line == VX_BEAM_AUTO && c->beam_x_mm == 0 && c->beam_y_mm == 0;
    p->beam_x = c->beam_x_mm;
    p->beam_y = c->beam_y_mm;
    p->beam_var = c->beam_sigma_mm * c->beam_sigma_mm;
    p->z_range = c->z_range_mm;
    p->chi2_prior = c->chi2_prior;
    p->bin_width = c->bin_width_mm;
    p->width_rule = c->bin_rule;
    p->weighted = c->weighted;
    p->sigma_z_max = c->sigma_z_max_mm;
    p->smooth = c->smooth_bins;
    p->min_height = c->min_height;
    p->prominence = c->prominence;
    p->pair_distance = c->pair_distance;
    p->seed_min_tracks = c->seed_min_tracks;
    p->window = c->window_mm;
    p->tukey_start = c->tukey_start;
    p->tukey_end = c->tukey_end;
    p->tolerance = c->tolerance_mm;
    p->rounds = c->max_rounds;
    p->pv_min_tracks = c->pv_min_tracks;
    p->pv_max_radius = c->pv_max_radius_mm;
    p->pv_merge = c->pv_merge_sigmas;
    p->pv_own_tracks = c->pv_own_tracks;
    p->pv_own_sigmas = c->pv_own_sigmas;
    p->pv_sharp = c->pv_sharp_mm;
    p->pv_decay = c->pv_decay;
}

static void fill_secondaries(const struct vx_config *c, struct vx_par *p)
{
    p->ip_min = c->ip_min_sigmas;
    p->ip_max = c->ip_max_sigmas;
    p->displaced_ip = c->count_ip_mm;
    p->displaced_significance = c->count_ip_sigmas;
    p->doca_max = c->doca_mm;
    p->doca_sigmas = c->doca_sigmas;
    p->parallel_sin2 = c->parallel_sin * c->parallel_sin;
    p->origin_cut = c->origin_cut;
    p->origin_sigmas = c->origin_sigmas;
    p->radial_sigmas = c->radial_sigmas;
    p->cylinder = c->cylinder_mm;
    p->cylinder_max = c->cylinder_max_mm;
    p->ip_limit = c->ip_max_mm;
    p->min_sin2 = sinf(c->min_angle_rad) * sinf(c->min_angle_rad);
    p->max_cos = cosf(c->max_angle_rad);
    p->mass = c->mass_gev;
    p->layout = c->layout;
}

void vx_fill_par(const struct vx_config *c, struct vx_par *ret_par)
{
    const uint32_t bins = (uint32_t)ceil(2.0 * (double)c->z_range_mm / (double)c->bin_width_mm) + 1;

    ret_par->bins_room = bins < 3 ? 3 : bins;
    ret_par->max_selected = c->max_selected;
    ret_par->words_room = (c->max_selected + 31) / 32;
    ret_par->max_pv = c->max_pv;
    ret_par->max_sv = c->max_sv;
    fill_primaries(c, ret_par);
    fill_secondaries(c, ret_par);
}
