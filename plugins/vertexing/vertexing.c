/* SPDX-License-Identifier: Apache-2.0 */
/* vertexing - primary vertices and secondary-vertex candidates from tracks.
 * Heit, Groningen 2017; LHCb-PUB-2014-044.  See README.md. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "graph.program.h"
#include "histogram.program.h"
#include "launch.h"
#include "memory.h"
#include "parameters.h"
#include "prepare.program.h"
#include "primary.program.h"
#include "seeds.program.h"

#define MODULES 5u

enum {
    VALUE_N_PV,
    VALUE_N_SV,
    VALUE_N_SV_SELECTED,
    VALUE_N_DISPLACED,
    VALUE_SV_SIGNIFICANCE,
    VALUE_SV_MASS,
    VALUE_SV_TRACKS,
    VALUE_PV_Z,
    VALUE_IP_SIGNIFICANCE,
    VALUE_N_TRACKS,
    VALUE_N_CROSSINGS,
    VALUE_REMOVED_ORIGIN,
    VALUE_REMOVED_RADIAL,
    VALUE_REMOVED_CYLINDER,
    VALUE_REMOVED_ANGLE,
    VALUE_N_EDGES
};
static const struct trg_value values[] = {
    {"n_pv", "", "primary vertices"},
    {"n_sv", "", "secondary-vertex candidates"},
    {"n_sv_selected", "", "those with count_sv_min_tracks and count_sv_significance"},
    {"n_displaced", "", "tracks with impact parameters of count_ip_mm and count_ip_sigmas"},
    {"sv_significance", "", "largest flight significance of a candidate"},
    {"sv_mass_gev", "GeV", "mass of that candidate; 0 without momenta"},
    {"sv_n_tracks", "", "tracks of that candidate"},
    {"pv_z_mm", "mm", "z of the primary vertex with most tracks"},
    {"ip_significance", "", "largest impact parameter of a track to its primary vertex, in sigmas"},
    {"n_tracks", "", "tracks in the graph"},
    {"n_crossings", "", "pairs of tracks that are adjacent"},
    {"removed_origin", "", "of these, taken away: tracks of different primary vertices"},
    {"removed_radial", "", "then: near a primary vertex"},
    {"removed_cylinder", "", "then: near the beam line"},
    {"removed_angle", "", "then: at a small angle"},
    {"n_edges", "", "pairs that are left"},
    {0},
};

struct trg_algo {
    const struct vx_config *config;
    struct trg_device_info device;
    struct trg_limits limits;
    struct trg_module *module[MODULES];
    struct trg_kernel *prepare, *peaks, *pairs, *fit_primary, *prune, *associate;
    struct trg_kernel *adjacency[3], *cuts, *components, *fit_secondary;
    struct vx_histogram_kernels histogram;
    struct vx_par par;
    uint32_t group;
    struct buffers buffers;
    struct vx_slot slot[TRG_SLOTS_MAX];
};

/* ---------------------------------------------------------------- opening and closing */

static void set_par(struct trg_algo *a)
{
    const struct vx_config *c = a->config;
    struct vx_par *p = &a->par;
    uint32_t bins = (uint32_t)ceil(2.0 * (double)c->z_range_mm / (double)c->bin_width_mm) + 1;

    p->items_room = a->limits.max_items;
    p->bins_room = bins < 3 ? 3 : bins;
    p->max_selected = c->max_selected;
    p->words_room = (c->max_selected + 31) / 32;
    p->pv_room = c->max_pv;
    p->sv_room = c->max_sv;
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
    p->ip_min = c->ip_min_sigmas;
    p->ip_max = c->ip_max_sigmas;
    p->displaced_ip = c->count_ip_mm;
    p->displaced_significance = c->count_ip_sigmas;
    p->doca_max = c->doca_mm;
    p->doca_sigmas = c->doca_sigmas;
    p->parallel_sin2 = c->parallel_sin * c->parallel_sin;
    p->origin_cut = c->origin_cut;
    p->radial_sigmas = c->radial_sigmas;
    p->cylinder = c->cylinder_mm;
    p->cylinder_max = c->cylinder_max_mm;
    p->ip_limit = c->ip_max_mm;
    p->min_sin2 = sinf(c->min_angle_rad) * sinf(c->min_angle_rad);
    p->mass = c->mass_gev;
    p->layout = c->layout;
}

static int load_kernels(struct trg_algo *a, struct trg_device *d)
{
    static const struct trg_program *const program[] = {
        &prepare_program, &histogram_program, &primary_program, &graph_program, &seeds_program};
    const struct {
        uint32_t module;
        const char *name;
        struct trg_kernel **kernel;
    } list[] = {
        {0, "vx_prepare", &a->prepare},
        {4, "vx_seed_peaks", &a->peaks},
        {4, "vx_seed_pairs", &a->pairs},
        {2, "vx_fit_primary", &a->fit_primary},
        {2, "vx_prune", &a->prune},
        {2, "vx_associate", &a->associate},
        {3, "vx_adjacency_full", &a->adjacency[VX_LAYOUT_FULL]},
        {3, "vx_adjacency_compute", &a->adjacency[VX_LAYOUT_COMPUTE]},
        {3, "vx_adjacency_memory", &a->adjacency[VX_LAYOUT_MEMORY]},
        {3, "vx_cuts", &a->cuts},
        {3, "vx_components", &a->components},
        {3, "vx_fit_secondary", &a->fit_secondary},
    };
    int r = 0;

    for (size_t i = 0; r == 0 && i < MODULES; i++)
        r = trg_module_new(d, program[i], NULL, &a->module[i]);
    for (size_t i = 0; r == 0 && i < sizeof list / sizeof *list; i++)
        r = trg_kernel_get(a->module[list[i].module], list[i].name, list[i].kernel);
    return r ? r : vx_histogram_kernels(a->module[1], &a->histogram);
}

static void destroy(struct trg_algo *a)
{
    if (!a)
        return;
    buffers_free(&a->buffers);
    for (uint32_t i = 0; i < MODULES; i++)
        trg_module_free(a->module[i]);
    free(a);
}

static int create(const struct trg_host *host, const void *config, struct trg_device *device,
                  const struct trg_limits *limits, struct trg_algo **ret_algo)
{
    struct trg_algo *a;
    int r;

    (void)host;
    a = calloc(1, sizeof *a);
    if (!a)
        return -ENOMEM;
    a->config = config;
    a->limits = *limits;
    trg_device_info(device, &a->device);
    /* an RoI's tracks come by the hundred: larger groups would idle */
    a->group = a->device.group_max < 128 ? a->device.group_max : 128;
    set_par(a);
    r = load_kernels(a, device);
    for (uint32_t i = 0; r == 0 && i < limits->slots; i++)
        r = vx_slot_open(&a->buffers, device, &a->par, limits->max_rois, &a->slot[i]);
    if (r < 0) {
        destroy(a);
        return r;
    }
    *ret_algo = a;
    return 0;
}

/* ---------------------------------------------------------------- one batch */

/* What the launches of one batch share. */
struct run {
    struct trg_algo *a;
    struct vx_slot *s;
    struct trg_queue *q;
    struct trg_buffer *data;
    struct vx_par par;
};

#define RANGE(g, size) ((struct trg_range){(g), (size)})
#define N_ARGS(args)   (sizeof(args) / sizeof *(args))

static int make_histogram(struct run *b)
{
    const struct vx_slot *s = b->s;
    const struct trg_arg prepare[] = {
        TRG_BUF(b->data),    TRG_BUF(s->tracks),       TRG_BUF(s->sorted),
        TRG_BUF(s->entry_z), TRG_BUF(s->entry_weight), TRG_BUF(s->cells),
        TRG_BUF(s->grids),   TRG_BUF(s->counts),       TRG_VAL(b->par)};
    const struct vx_histogram_job job = {.kernels = &b->a->histogram,
                                         .device = &b->a->device,
                                         .data = b->data,
                                         .z = s->entry_z,
                                         .weights = s->entry_weight,
                                         .grids = s->grids,
                                         .bins = s->bins,
                                         .par = {.in = b->par.in,
                                                 .n_rois = b->par.n_rois,
                                                 .bins_room = b->par.bins_room,
                                                 .weighted = b->par.weighted},
                                         .algorithm = (enum vx_histogram)b->a->config->histogram,
                                         .n_entries = b->par.in.n_items,
                                         .n_bins = b->par.bins_room};
    int r = trg_launch(b->q, b->a->prepare, RANGE(b->par.n_rois, b->a->group), prepare,
                       N_ARGS(prepare));

    if (r == 0 && b->a->config->seeding == VX_METHOD_PEAKS)
        r = vx_histogram_launch(b->q, &job);
    return r;
}

static int find_primaries(struct run *b)
{
    const struct vx_slot *s = b->s;
    const uint32_t n = b->par.n_rois;
    const struct trg_arg peaks[] = {TRG_BUF(s->bins), TRG_BUF(s->grids), TRG_BUF(s->seeds),
                                    TRG_BUF(s->counts), TRG_VAL(b->par)};
    const struct trg_arg pairs[] = {TRG_BUF(b->data), TRG_BUF(s->entry_z), TRG_BUF(s->seeds),
                                    TRG_BUF(s->counts), TRG_VAL(b->par)};
    struct vx_par par = b->par;
    const struct trg_arg fit[] = {TRG_BUF(s->sorted), TRG_BUF(s->cells), TRG_BUF(s->grids),
                                  TRG_BUF(s->seeds),  TRG_BUF(s->fits),  TRG_BUF(s->counts),
                                  TRG_VAL(par)};
    const struct trg_arg prune[] = {TRG_BUF(s->fits), TRG_BUF(s->seeds), TRG_BUF(s->counts),
                                    TRG_VAL(b->par)};
    int r = b->a->config->seeding == VX_METHOD_PEAKS
                ? trg_launch(b->q, b->a->peaks, RANGE(n, b->a->group), peaks, N_ARGS(peaks))
                : trg_launch(b->q, b->a->pairs, RANGE(n, b->a->group), pairs, N_ARGS(pairs));

    /* again: what a dropped vertex had taken goes to those that stay, which begin near the end */
    par.fresh = 1;
    for (uint32_t k = 0; r == 0 && k < b->a->config->passes; k++) {
        r = trg_launch(b->q, b->a->fit_primary, RANGE(n * b->par.pv_room, VX_FIT_GROUP), fit,
                       N_ARGS(fit));
        if (r == 0)
            r = trg_launch(b->q, b->a->prune, RANGE(n, VX_FIT_GROUP), prune, N_ARGS(prune));
        par.fresh = 0;
        par.tukey_start = par.tukey_end;
    }
    return r;
}

static int build_graph(struct run *b)
{
    const struct vx_slot *s = b->s;
    const struct trg_arg associate[] = {TRG_BUF(b->data),  TRG_BUF(s->tracks),   TRG_BUF(s->seeds),
                                        TRG_BUF(s->pv_of), TRG_BUF(s->selected), TRG_BUF(s->counts),
                                        TRG_VAL(b->par)};
    const struct trg_arg adjacency[] = {TRG_BUF(b->data),     TRG_BUF(s->tracks),
                                        TRG_BUF(s->selected), TRG_BUF(s->counts),
                                        TRG_BUF(s->matrix),   TRG_VAL(b->par)};
    const struct trg_arg cuts[] = {TRG_BUF(b->data),   TRG_BUF(s->tracks), TRG_BUF(s->selected),
                                   TRG_BUF(s->pv_of),  TRG_BUF(s->seeds),  TRG_BUF(s->counts),
                                   TRG_BUF(s->matrix), TRG_VAL(b->par)};
    const uint32_t n = b->par.n_rois, parts = b->par.parts;
    int r = trg_launch(b->q, b->a->associate, RANGE(n, b->a->group), associate, N_ARGS(associate));

    if (r == 0)
        r = trg_launch(b->q, b->a->adjacency[b->par.layout], RANGE(n * parts, b->a->group),
                       adjacency, N_ARGS(adjacency));
    if (r == 0)
        r = trg_launch(b->q, b->a->cuts, RANGE(n * parts, b->a->group), cuts, N_ARGS(cuts));
    return r;
}

static int find_secondaries(struct run *b)
{
    const struct vx_slot *s = b->s;
    const struct trg_arg components[] = {TRG_BUF(b->data), TRG_BUF(s->matrix), TRG_BUF(s->labels),
                                         TRG_BUF(s->svs),  TRG_BUF(s->counts), TRG_VAL(b->par)};
    const struct trg_arg fit[] = {TRG_BUF(b->data),   TRG_BUF(s->tracks), TRG_BUF(s->selected),
                                  TRG_BUF(s->labels), TRG_BUF(s->pv_of),  TRG_BUF(s->seeds),
                                  TRG_BUF(s->svs),    TRG_BUF(s->counts), TRG_VAL(b->par)};
    const uint32_t n = b->par.n_rois;
    int r =
        trg_launch(b->q, b->a->components, RANGE(n, b->a->group), components, N_ARGS(components));

    if (r == 0)
        r = trg_launch(b->q, b->a->fit_secondary, RANGE(n * b->par.sv_room, VX_FIT_GROUP), fit,
                       N_ARGS(fit));
    return r;
}

static int read_back(struct run *b)
{
    const struct vx_slot *s = b->s;
    const size_t n = b->par.n_rois;
    int r = trg_read(b->q, s->counts_host, 0, s->counts, 0, n * sizeof(struct vx_counts));

    if (r == 0)
        r = trg_read(b->q, s->pvs_host, 0, s->seeds, 0,
                     n * b->par.pv_room * sizeof(struct vx_vertex));
    if (r == 0)
        r = trg_read(b->q, s->svs_host, 0, s->svs, 0,
                     n * b->par.sv_room * sizeof(struct vx_vertex));
    return r;
}

/* Groups that share the graph of an RoI, so that a batch of few fills the device as well. */
static uint32_t parts_for(const struct trg_algo *a, uint32_t n_rois)
{
    uint32_t parts = 4 * a->device.units / n_rois;

    return a->device.is_host || parts < 1 ? 1 : parts > 32 ? 32 : parts;
}

static int submit(struct trg_algo *a, const struct trg_batch *batch, struct trg_queue *q)
{
    struct run b = {
        .a = a, .s = &a->slot[batch->slot], .q = q, .data = batch->in[0].dev, .par = a->par};
    int r;

    b.par.in = batch->in[0].span;
    b.par.n_rois = batch->n_rois;
    b.par.parts = parts_for(a, batch->n_rois);
    r = make_histogram(&b);
    if (r == 0)
        r = find_primaries(&b);
    if (r == 0 && a->config->secondaries)
        r = build_graph(&b);
    if (r == 0 && a->config->secondaries)
        r = find_secondaries(&b);
    return r ? r : read_back(&b);
}

/* ---------------------------------------------------------------- results */

static void store_vertex(struct trg_output *out, const struct vx_vertex *v, uint32_t type)
{
    const float f[] = {v->x,      v->y,      v->z,      v->weight, v->cov[0], v->cov[1],
                       v->cov[2], v->cov[3], v->cov[4], v->cov[5], v->chi2};
    const float secondary[] = {v->flight, v->significance, v->mass};
    const uint32_t n = out->n;

    if (n >= out->capacity)
        return;
    for (uint32_t c = 0; c < 11; c++)
        ((float *)out->column[c])[n] = f[c];
    ((uint32_t *)out->column[11])[n] = v->n_tracks;
    ((uint32_t *)out->column[12])[n] = type;
    for (uint32_t c = 0; c < 3; c++)
        ((float *)out->column[13 + c])[n] = type == TRG_SECONDARY ? secondary[c] : 0;
    out->n++;
}

static void take_primaries(const struct vx_vertex *pvs, uint32_t n, struct trg_output *out,
                           struct trg_result *r)
{
    uint32_t most = 0;

    for (uint32_t k = 0; k < n; k++) {
        store_vertex(out, &pvs[k], TRG_PRIMARY);
        if (pvs[k].n_tracks > most) {
            most = pvs[k].n_tracks;
            r->value[VALUE_PV_Z] = pvs[k].z;
        }
    }
    r->value[VALUE_N_PV] = (float)n;
}

static void take_secondaries(const struct vx_config *c, const struct vx_vertex *svs, uint32_t n,
                             struct trg_output *out, struct trg_result *r)
{
    for (uint32_t k = 0; k < n; k++) {
        const struct vx_vertex *v = &svs[k];

        if (!v->alive || v->n_tracks < 2)
            continue;
        store_vertex(out, v, TRG_SECONDARY);
        r->value[VALUE_N_SV]++;
        r->value[VALUE_N_SV_SELECTED] +=
            v->n_tracks >= c->count_sv_min_tracks && v->significance >= c->count_sv_significance;
        if (v->significance > r->value[VALUE_SV_SIGNIFICANCE]) {
            r->value[VALUE_SV_SIGNIFICANCE] = v->significance;
            r->value[VALUE_SV_MASS] = v->mass;
            r->value[VALUE_SV_TRACKS] = (float)v->n_tracks;
        }
    }
}

static void take_counts(const struct vx_counts *n, struct trg_result *r)
{
    const uint32_t value[][2] = {
        {VALUE_N_DISPLACED, n->n_displaced},       {VALUE_N_TRACKS, n->n_selected},
        {VALUE_N_CROSSINGS, n->n_crossings},       {VALUE_REMOVED_ORIGIN, n->removed_origin},
        {VALUE_REMOVED_RADIAL, n->removed_radial}, {VALUE_REMOVED_CYLINDER, n->removed_cylinder},
        {VALUE_REMOVED_ANGLE, n->removed_angle},   {VALUE_N_EDGES, n->n_edges}};
    /* limits in the order in which they act; the first that cut something is told */
    const uint32_t limit[][2] = {{n->n_used, n->n_used - n->pairs_left_out},
                                 {n->seeds_all, n->seeds_kept},
                                 {n->selected_all, n->n_selected},
                                 {n->components_all, n->n_components}};

    for (size_t i = 0; i < sizeof value / sizeof *value; i++)
        r->value[value[i][0]] = (float)value[i][1];
    r->value[VALUE_IP_SIGNIFICANCE] = n->ip_significance;
    for (size_t i = 0; i < sizeof limit / sizeof *limit; i++)
        if (limit[i][1] < limit[i][0] && r->status == TRG_OK) {
            r->status = TRG_TRUNCATED;
            r->wanted = limit[i][0];
            r->kept = limit[i][1];
        }
}

static int collect(struct trg_algo *a, struct trg_batch *batch)
{
    const struct vx_slot *s = &a->slot[batch->slot];
    const struct vx_counts *counts = trg_buffer_host(s->counts_host);
    const struct vx_vertex *pvs = trg_buffer_host(s->pvs_host);
    const struct vx_vertex *svs = trg_buffer_host(s->svs_host);

    for (uint32_t i = 0; i < batch->n_rois; i++) {
        struct trg_output *out = &batch->outputs[0][i];
        struct trg_result *r = &batch->results[i];

        out->n = 0;
        take_primaries(pvs + (size_t)i * a->par.pv_room, counts[i].n_pv, out, r);
        take_secondaries(a->config, svs + (size_t)i * a->par.sv_room, counts[i].n_components, out,
                         r);
        take_counts(&counts[i], r);
    }
    return 0;
}

static void output_items(const void *config, const uint32_t *n_in, uint32_t *n_out)
{
    const struct vx_config *c = config;
    const uint32_t pvs = n_in[0] / 2, svs = n_in[0] / 2; /* two tracks make a vertex */

    n_out[0] = (pvs < c->max_pv ? pvs : c->max_pv) + (svs < c->max_sv ? svs : c->max_sv);
}

TRG_PLUGIN_EXPORT const struct trg_plugin trg_plugin;
const struct trg_plugin trg_plugin = {
    TRG_PLUGIN_INIT,
    .name = "vertexing",
    .version = "1.0.0",
    .summary = "primary vertices and secondary-vertex candidates from tracks",
    .consumes = {TRG_TRACKS},
    .produces = {TRG_VERTICES},
    .backends = "cpu opencl cuda",
    .params = vx_params,
    .presets = vx_presets,
    .values = values,
    .config_size = sizeof(struct vx_config),
    .check = vx_check,
    .output_items = output_items,
    .create = create,
    .destroy = destroy,
    .submit = submit,
    .collect = collect,
    .flags = TRG_PLUGIN_DEVICE_INPUT,
};
