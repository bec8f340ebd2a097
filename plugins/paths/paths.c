/* SPDX-License-Identifier: Apache-2.0 */
/* paths - track candidates from linked doublets: doublets that begin where others end and fit to
 * them are joined to paths, paths are fitted, and those that share hits compete.  See README.md. */
#include <errno.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pipeline.h"

/* ---------------------------------------------------------------- parameters */

#define AT(member) offsetof(struct pa_config, member)
static const struct trg_param params[] = {
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
     "an RoI may have so many links for each of its doublets, and 1024 more"},
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
static const struct trg_preset presets[] = {
    {"quadruplets", "three doublets, four hits, CMS's criterion: the defaults", quadruplets},
    {"triplets", "two doublets, three hits", triplets},
    {"open", "every chain of doublets: no criterion but the shared hit", open_cuts},
    {0},
};

enum {
    VALUE_CANDIDATES,
    VALUE_ABOVE_PT,
    VALUE_LONG,
    VALUE_LEADING_PT,
    VALUE_SAME_VERTEX,
    VALUE_VERTEX_Z,
    VALUE_DOUBLETS,
    VALUE_LINKS,
    VALUE_PATHS
};
static const struct trg_value values[] = {
    {"n_candidates", "", "track candidates"},
    {"n_above_pt", "", "candidates of at least count_pt_gev"},
    {"n_long", "", "candidates of at least count_hits hits"},
    {"leading_pt_gev", "GeV", "largest pT of a candidate"},
    {"n_same_vertex", "", "most candidates with z0 in two neighbouring bins of vertex_window_mm"},
    {"vertex_z_mm", "mm", "z between these two bins"},
    {"n_doublets", "", "doublets that were used"},
    {"n_links", "", "links between them"},
    {"n_paths", "", "paths, before fit and cuts"},
    {0},
};

static int check(const void *config, char *why, size_t bytes)
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

static void output_items(const void *config, const uint32_t *n_in, uint32_t *n_out)
{
    n_out[0] = n_out[1] = pa_most_candidates(config, n_in[0], n_in[1]);
}

/* ---------------------------------------------------------------- one lane */

struct trg_algo {
    struct pa_pipeline pipeline;
};

static void destroy(struct trg_algo *a)
{
    if (a)
        pa_close(&a->pipeline);
    free(a);
}

static int create(const struct trg_host *host, const void *config, struct trg_device *device,
                  const struct trg_limits *limits, struct trg_algo **ret_algo)
{
    struct trg_algo *a = calloc(1, sizeof *a);
    int r;

    if (!a)
        return -ENOMEM;
    r = pa_open(&a->pipeline, host, config, device, limits);
    if (r < 0) {
        free(a);
        return r;
    }
    *ret_algo = a;
    return 0;
}

static int device_output(struct trg_algo *a, uint32_t slot, uint32_t k, struct trg_input *ret)
{
    const struct pa_pipeline *p = &a->pipeline;

    if (slot >= p->limits.slots || k > 1)
        return -EINVAL;
    *ret = (struct trg_input){
        .kind = p->product[k].kind, .span = p->product[k].span, .dev = p->slot[slot].product[k]};
    return 0;
}

/* ---------------------------------------------------------------- one batch */

static int submit(struct trg_algo *a, const struct trg_batch *b, struct trg_queue *q)
{
    return pa_enqueue(&a->pipeline, b, q, NULL);
}

/* The first limit that stopped anything. */
static void set_status(const struct pa_summary *s, struct trg_result *r)
{
    const uint32_t wanted[] = {s->n_links, s->n_paths, s->n_candidates};
    const uint32_t kept[] = {s->n_links_kept, s->n_paths_kept, s->n_candidates_kept};

    for (int i = 0; i < 3; i++) {
        if (kept[i] < wanted[i]) {
            r->status = TRG_TRUNCATED;
            r->wanted = wanted[i];
            r->kept = kept[i];
            return;
        }
    }
}

static void set_values(const struct pa_par *par, const struct pa_summary *s, struct trg_result *r)
{
    float leading;

    memcpy(&leading, &s->leading_pt, sizeof leading);
    r->value[VALUE_CANDIDATES] = (float)s->n_candidates_kept;
    r->value[VALUE_ABOVE_PT] = (float)s->n_above_pt;
    r->value[VALUE_LONG] = (float)s->n_long;
    r->value[VALUE_LEADING_PT] = leading;
    r->value[VALUE_SAME_VERTEX] = (float)s->n_same_vertex;
    r->value[VALUE_VERTEX_Z] =
        s->n_same_vertex ? par->z_low + par->z_bin * ((float)s->vertex_bin + 1.0f) : 0;
    r->value[VALUE_DOUBLETS] = (float)s->n_doublets;
    r->value[VALUE_LINKS] = (float)s->n_links;
    r->value[VALUE_PATHS] = (float)s->n_paths;
}

static int collect(struct trg_algo *a, struct trg_batch *b)
{
    const struct pa_pipeline *p = &a->pipeline;
    const struct pa_slot *s = &p->slot[b->slot];
    const struct pa_summary *sum = trg_buffer_host(s->summary_host);

    for (uint32_t i = 0; i < b->n_rois; i++) {
        set_status(&sum[i], &b->results[i]);
        set_values(&p->par, &sum[i], &b->results[i]);
        for (uint32_t k = 0; k < 2; k++)
            if (s->is_wanted[k])
                block_store(&p->product[k], pa_product(p, s, k), i, &b->outputs[k][i]);
    }
    return 0;
}

TRG_PLUGIN_EXPORT const struct trg_plugin trg_plugin;
const struct trg_plugin trg_plugin = {
    TRG_PLUGIN_INIT,
    .name = "paths",
    .version = "1.0.0",
    .summary = "track candidates from paths of linked doublets",
    .consumes = {TRG_HITS, TRG_DOUBLETS},
    .produces = {TRG_PATHS, TRG_TRACKS},
    .backends = "cpu opencl cuda",
    .params = params,
    .presets = presets,
    .values = values,
    .config_size = sizeof(struct pa_config),
    .check = check,
    .output_items = output_items,
    .create = create,
    .destroy = destroy,
    .submit = submit,
    .collect = collect,
    .flags = TRG_PLUGIN_DEVICE_INPUT,
    .device_output = device_output,
};
