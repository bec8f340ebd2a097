/* SPDX-License-Identifier: Apache-2.0 */
#include "parameters.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>

#define AT(member) offsetof(struct pa_config, member)
const struct trg_param paths_params[] = {
    {"min_doublets", TRG_PARAM_U32, AT(min_doublets), "3", 2, PA_STEPS_MAX, "", NULL,
     "doublets of the shortest paths; a path has one hit more"},
    {"max_doublets", TRG_PARAM_U32, AT(max_doublets), "3", 2, PA_STEPS_MAX, "", NULL,
     "doublets of the longest paths"},
    {"keep", TRG_PARAM_CHOICE, AT(keep), "all", 0, 0, "", "all|longest",
     "paths to make: all, or those that begin where no doublet leads and cannot go on"},
    {"growth", TRG_PARAM_CHOICE, AT(growth), "auto", 0, 0, "", "auto|breadth|scan|depth",
     "how paths are made: breadth-first, each from its number, or depth-first; same paths"},
    {"layers_skipped", TRG_PARAM_U32, AT(layers_skipped), "1", 0, 31, "", NULL,
     "layers that a doublet may leave out"},
    {"last_barrel", TRG_PARAM_U32, AT(last_barrel), "3", 0, 65535, "", NULL,
     "number of the outermost barrel layer; discs follow, one side after the other"},
    {"discs", TRG_PARAM_U32, AT(discs), "3", 1, 32768, "", NULL, "discs of one side"},
    {"align", TRG_PARAM_CHOICE, AT(align), "cms", 0, 0, "", "off|cms|slope",
     "alignment in r-z: distance of the shared hit from the line, or difference in dz/dr"},
    {"theta_cut", TRG_PARAM_F32, AT(theta_cut), "0.0022", 0, 10, "", NULL,
     "align: cms: largest distance over the length in r (CMS: thetaCut / ptmin)"},
    {"theta_cut_forward", TRG_PARAM_F32, AT(theta_cut_forward), "0.0033", 0, 10, "", NULL,
     "the same where the shared hit is on a disc"},
    {"max_dslope", TRG_PARAM_F32, AT(max_dslope), "0.05", 0, 100, "", NULL,
     "align: slope: largest difference"},
    {"curvature", TRG_PARAM_CHOICE, AT(curvature), "pt", 0, 0, "", "off|pt|similar",
     "circle through the three hits has hard_pt_gev, or doublets curve alike with the beam spot"},
    {"hard_pt_gev", TRG_PARAM_F32, AT(hard_pt_gev), "0.35", 0, 100, "GeV", NULL,
     "curvature: pt: least pT"},
    {"max_dcurvature_per_m", TRG_PARAM_F32, AT(max_dcurvature_per_m), "0.5", 0, 1000, "1/m", NULL,
     "curvature: similar: largest difference"},
    {"beam_spot", TRG_PARAM_BOOL, AT(beam_spot), "true", 0, 0, "", NULL,
     "the circle through the three hits must pass the beam spot"},
    {"beam_x_mm", TRG_PARAM_F32, AT(beam_x_mm), "0", -100, 100, "mm", NULL, "beam spot"},
    {"beam_y_mm", TRG_PARAM_F32, AT(beam_y_mm), "0", -100, 100, "mm", NULL, "beam spot"},
    {"origin_tolerance_mm", TRG_PARAM_F32, AT(origin_tolerance_mm), "1.5", 0, 1000, "mm", NULL,
     "beam_spot: largest distance, where the first hit is on layer 0"},
    {"origin_tolerance_outer_mm", TRG_PARAM_F32, AT(origin_tolerance_outer_mm), "2.5", 0, 1000,
     "mm", NULL, "the same where it is further out"},
    {"field_t", TRG_PARAM_F32, AT(field_t), "3.8", 0.1, 20, "T", NULL, "magnetic field along z"},
    {"links_per_doublet", TRG_PARAM_U32, AT(links_per_doublet), "4", 1, 1024, "", NULL,
     "room for so many links for each of an RoI's doublets, and 1024 more; links beyond are found "
     "again when they are needed: same paths, more time"},
    {"paths_per_doublet", TRG_PARAM_U32, AT(paths_per_doublet), "1", 1, 1024, "", NULL,
     "an RoI may have so many paths for each of its doublets, and 1024 more"},
    {"max_paths", TRG_PARAM_U32, AT(max_paths), "262144", 1, 16777216, "", NULL,
     "but never more paths than this"},
    {"max_candidates", TRG_PARAM_U32, AT(max_candidates), "8192", 1, 16777216, "", NULL,
     "candidates of an RoI"},
    {"sigma_rphi_mm", TRG_PARAM_F32, AT(sigma_rphi_mm), "0.010", 1e-4, 10, "mm", NULL,
     "resolution of a hit across the track"},
    {"sigma_z_mm", TRG_PARAM_F32, AT(sigma_z_mm), "0.025", 1e-4, 100, "mm", NULL,
     "resolution in z of a barrel hit"},
    {"sigma_r_mm", TRG_PARAM_F32, AT(sigma_r_mm), "0.025", 1e-4, 100, "mm", NULL,
     "resolution in r of a disc hit"},
    {"scatter_mrad_gev", TRG_PARAM_F32, AT(scatter_mrad_gev), "2", 0, 100, "mrad GeV", NULL,
     "multiple scattering in one layer at 1 GeV, at right angles"},
    {"chi2_max", TRG_PARAM_F32, AT(chi2_max), "0", 0, 1e9, "", NULL,
     "candidates have at most this chi2 for each degree of freedom; 0: no cut"},
    {"pt_cut_gev", TRG_PARAM_F32, AT(pt_cut_gev), "0", 0, 1000, "GeV", NULL,
     "candidates have at least this pT"},
    {"d0_max_mm", TRG_PARAM_F32, AT(d0_max_mm), "0", 0, 1000, "mm", NULL,
     "candidates come as close to the beam spot; 0: no cut"},
    {"z0_max_mm", TRG_PARAM_F32, AT(z0_max_mm), "0", 0, 10000, "mm", NULL,
     "candidates come from |z| below this; 0: no cut"},
    {"duplicates", TRG_PARAM_CHOICE, AT(duplicates), "remove", 0, 0, "", "keep|remove",
     "of paths that share hits, keep all, or the longest with the best chi2"},
    {"choice", TRG_PARAM_CHOICE, AT(choice), "auto", 0, 0, "", "auto|group|device",
     "duplicates: remove: by a group of work-items an RoI, or the whole device first; same paths"},
    {"max_shared", TRG_PARAM_U32, AT(max_shared), "0", 0, PA_HITS_MAX, "", NULL,
     "duplicates: remove: hits that a path may share with better ones"},
    {"count_pt_gev", TRG_PARAM_F32, AT(count_pt_gev), "0.9", 0, 1000, "GeV", NULL,
     "for the value n_above_pt"},
    {"count_hits", TRG_PARAM_U32, AT(count_hits), "4", 3, PA_HITS_MAX, "", NULL,
     "for the value n_long"},
    {"vertex_window_mm", TRG_PARAM_F32, AT(vertex_window_mm), "0.5", 0.01, 100, "mm", NULL,
     "for the value n_same_vertex"},
    {0},
};

static const char *const quadruplets[] = {NULL};
static const char *const triplets[] = {"min_doublets", "2", "max_doublets", "2", NULL};
static const char *const open_cuts[] = {"align", "off",        "curvature", "off", "beam_spot",
                                        "false", "duplicates", "keep",      NULL};
const struct trg_preset paths_presets[] = {
    {"quadruplets", "three doublets, four hits, CMS's criterion: the defaults", quadruplets},
    {"triplets", "two doublets, three hits", triplets},
    {"open", "every chain of doublets: no criterion but the shared hit", open_cuts},
    {0},
};

int paths_check(const void *config, char *why, size_t bytes)
{
    const struct pa_config *c = config;

    if (c->max_doublets < c->min_doublets) {
        snprintf(why, bytes, "max_doublets %u is below min_doublets %u", c->max_doublets,
                 c->min_doublets);
        return -EINVAL;
    }
    if (c->duplicates && c->max_shared > c->max_doublets) {
        snprintf(why, bytes, "max_shared %u removes nothing: a path of max_doublets %u has %u hits",
                 c->max_shared, c->max_doublets, c->max_doublets + 1);
        return -EINVAL;
    }
    return 0;
}
