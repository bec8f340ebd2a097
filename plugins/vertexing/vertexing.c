/* SPDX-License-Identifier: Apache-2.0 */
/* vertexing - primary vertices and secondary-vertex candidates from tracks.
 * Heit, Groningen 2017; LHCb-PUB-2014-044.  See README.md. */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "beauty.h"
#include "graph.program.h"
#include "histogram_launch.h"
#include "memory.h"
#include "parameters.h"
#include "prepare.program.h"
#include "primary.program.h"
#include "seeds.program.h"
#include "vertexing.collections.h"

#define MODULES         4u
#define OFF_BEAM_ROIS   20u  /* and half of all, before the log tells of a beam line elsewhere */
#define OFF_BEAM_TRACKS 20u  /* of an RoI that is asked */
#define GROUP           128u /* an RoI's tracks come by the hundred: larger groups would idle */

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
    VALUE_BEAUTY
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
    {"b_score", "", "how much it looks like a b decay: logarithm of the odds in simulated events"},
    {0},
};

struct trg_algo {
    const struct trg_host *host;
    const struct vx_config *config;
    struct trg_device_info device;
    struct trg_limits limits;
    struct trg_module *module[MODULES];
    struct trg_kernel *find_beam, *prepare, *peaks, *pairs, *fit_primary, *prune, *associate;
    struct trg_kernel *adjacency[3], *cuts, *components, *fit_secondary, *pack;
    struct vx_histogram_kernels histogram;
    struct vx_par par;
    struct buffers buffers;
    struct vx_slot slot[TRG_SLOTS_MAX];
    struct trg_queue *queue;      /* for what collect still has to copy */
    uint32_t beam_rois, off_rois; /* in which tracks tell of the beam line; where it is elsewhere */
    double off_x, off_y;          /* mm: how far, added up */
    bool told_of_beam;
};

/* ---------------------------------------------------------------- opening and closing */

static int load_kernels(struct trg_algo *a, struct trg_device *d)
{
    static const struct trg_program *const program[] = {&prepare_program, &primary_program,
                                                        &graph_program, &seeds_program};
    const struct {
        uint32_t module;
        const char *name;
        struct trg_kernel **kernel;
    } list[] = {
        {0, "vx_find_beam", &a->find_beam},
        {0, "vx_prepare", &a->prepare},
        {3, a->par.bins_room <= VX_BINS_FEW ? "vx_seed_peaks_few" : "vx_seed_peaks", &a->peaks},
        {3, "vx_seed_pairs", &a->pairs},
        {1, "vx_fit_primary", &a->fit_primary},
        {1, "vx_prune", &a->prune},
        {1, "vx_associate", &a->associate},
        {2, "vx_adjacency_full", &a->adjacency[VX_LAYOUT_FULL]},
        {2, "vx_adjacency_compute", &a->adjacency[VX_LAYOUT_COMPUTE]},
        {2, "vx_adjacency_memory", &a->adjacency[VX_LAYOUT_MEMORY]},
        {2, "vx_cuts", &a->cuts},
        {2, "vx_components", &a->components},
        {2, "vx_fit_secondary", &a->fit_secondary},
        {2, "vx_pack", &a->pack},
    };
    int r = 0;

    for (size_t i = 0; r == 0 && i < MODULES; i++)
        r = trg_module_new(d, program[i], NULL, &a->module[i]);
    for (size_t i = 0; r == 0 && i < sizeof list / sizeof *list; i++)
        r = trg_kernel_get(a->module[list[i].module], list[i].name, list[i].kernel);
    if (r == 0)
        r = vx_histogram_open(d, (enum vx_histogram)a->config->histogram, &a->histogram);
    return r;
}

static void vertexing_destroy(struct trg_algo *a)
{
    if (!a)
        return;
    trg_queue_free(a->queue);
    buffers_free(&a->buffers);
    for (uint32_t i = 0; i < MODULES; i++)
        trg_module_free(a->module[i]);
    vx_histogram_close(&a->histogram);
    free(a);
}

static int vertexing_create(const struct trg_host *host, const void *config,
                            struct trg_device *device, const struct trg_limits *limits,
                            struct trg_algo **ret_algo)
{
    struct trg_algo *a;
    int r;

    a = calloc(1, sizeof *a);
    if (!a)
        return -ENOMEM;
    a->host = host;
    a->config = config;
    a->limits = *limits;
    trg_device_info(device, &a->device);
    vx_fill_par(a->config, &a->par);
    a->par.items_room = limits->max_items;
    r = load_kernels(a, device);
    for (uint32_t i = 0; r == 0 && i < limits->slots; i++)
        r = vx_slot_open(&a->buffers, device, &a->par, limits->max_rois, &a->slot[i]);
    if (r == 0)
        r = trg_queue_new(device, &a->queue);
    if (r < 0) {
        vertexing_destroy(a);
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
    struct launcher l;
    struct trg_buffer *data;
    struct vx_par par;
};

static void make_histogram(struct run *b)
{
    const struct vx_slot *s = b->s;
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

    LAUNCH(&b->l, b->a->find_beam, b->par.n_rois, VX_FIT_GROUP, b->par, b->data, s->grids);
    LAUNCH(&b->l, b->a->prepare, b->par.n_rois, GROUP, b->par, b->data, s->tracks, s->sorted,
           s->entry_z, s->entry_weight, s->cells, s->grids, s->counts);
    if (b->a->config->seeding == VX_METHOD_PEAKS)
        vx_histogram_launch(&b->l, &job);
}

static void find_primaries(struct run *b)
{
    const struct vx_slot *s = b->s;
    const uint32_t n = b->par.n_rois;
    struct vx_par par = b->par;

    if (b->a->config->seeding == VX_METHOD_PEAKS)
        LAUNCH(&b->l, b->a->peaks, n, GROUP, par, b->data, s->entry_z, s->entry_weight, s->bins,
               s->grids, s->seeds, s->counts);
    else
        LAUNCH(&b->l, b->a->pairs, n, GROUP, par, b->data, s->entry_z, s->grids, s->seeds,
               s->counts);
    /* again: what a dropped vertex had taken goes to those that stay, which begin near the end */
    par.fresh = b->a->config->passes > 1 ? VX_AGAIN : 1;
    for (uint32_t k = 0; k < b->a->config->passes; k++) {
        LAUNCH(&b->l, b->a->fit_primary, n * par.fit_parts, VX_FIT_GROUP, par, b->data, s->sorted,
               s->cells, s->grids, s->seeds, s->fits, s->counts);
        LAUNCH(&b->l, b->a->prune, n, VX_FIT_GROUP, par, b->data, s->grids, s->fits, s->seeds,
               s->counts);
        par.fresh = 0;
        par.tukey_start = par.tukey_end;
    }
}

static void build_graph(struct run *b)
{
    const struct vx_slot *s = b->s;
    const uint32_t n = b->par.n_rois, parts = b->par.parts;

    LAUNCH(&b->l, b->a->associate, n, GROUP, b->par, b->data, s->tracks, s->seeds, s->pv_of,
           s->selected, s->counts);
    LAUNCH(&b->l, b->a->adjacency[b->par.layout], n * parts, GROUP, b->par, b->data, s->tracks,
           s->selected, s->counts, s->matrix);
    LAUNCH(&b->l, b->a->cuts, n * parts, GROUP, b->par, b->data, s->tracks, s->selected, s->pv_of,
           s->seeds, s->grids, s->counts, s->matrix);
}

static void find_secondaries(struct run *b)
{
    const struct vx_slot *s = b->s;
    const uint32_t n = b->par.n_rois;
    struct vx_par par = b->par;

    LAUNCH(&b->l, b->a->components, n, GROUP, par, b->data, s->matrix, s->labels, s->svs,
           s->counts);
    par.fit_parts = (par.fit_parts + 3) / 4; /* components are fewer than seeds */
    LAUNCH(&b->l, b->a->fit_secondary, n * par.fit_parts, VX_FIT_GROUP, par, b->data, s->tracks,
           s->selected, s->labels, s->pv_of, s->seeds, s->svs, s->counts);
}

/* Most RoIs have few vertices, however many tracks there is room for: see read_the_rest. */
static void read_back(struct run *b)
{
    struct vx_slot *s = b->s;
    const uint32_t n = b->par.n_rois, most = vx_place(b->par.in.n_items, n);
    const uint32_t some = VX_READ_ROWS * n + VX_READ_LEAST;

    s->rows_read = most < some ? most : some;
    launcher_clear(&b->l, s->n_rows, sizeof(uint32_t));
    LAUNCH(&b->l, b->a->pack, n, VX_FIT_GROUP, b->par, b->data, s->seeds, s->svs, s->answer,
           s->n_rows, s->counts);
    launcher_read(&b->l, s->counts_host, s->counts, n * sizeof(struct vx_counts));
    launcher_read(&b->l, s->answer_host, s->answer,
                  (size_t)s->rows_read * VX_OUT_WORDS * sizeof(uint32_t));
}

/* Groups that share the graph of an RoI, so that a batch of few fills the device as well. */
static uint32_t parts_for(const struct trg_algo *a, uint32_t n_rois)
{
    uint32_t parts = 4 * a->device.units / n_rois;

    return a->device.is_host || parts < 1 ? 1 : parts > 32 ? 32 : parts;
}

/* Groups that share the fits of an RoI; most have some ten seeds. */
static uint32_t fit_parts_for(const struct trg_algo *a, uint32_t n_rois)
{
    uint32_t parts = 64 * a->device.units / n_rois;

    return a->device.is_host ? 1 : parts < 16 ? 16 : parts > 128 ? 128 : parts;
}

/* The beam line of the batch's conditions, where there is one, stands before parameters. */
static void take_beam_line(const struct trg_input *table, struct vx_par *par)
{
    if (!table->collection || !table->span.n_items)
        return;
    par->find_beam = 0;
    par->beam_x = TRG_BEAM_LINE_X(table->host, table->span)[0];
    par->beam_y = TRG_BEAM_LINE_Y(table->host, table->span)[0];
    par->beam_var = TRG_BEAM_LINE_SIGMA(table->host, table->span)[0];
    par->beam_var *= par->beam_var;
}

static int vertexing_submit(struct trg_algo *a, const struct trg_batch *batch, struct trg_queue *q)
{
    struct run b = {.a = a,
                    .s = &a->slot[batch->slot],
                    .l = launcher_on(q, &a->device),
                    .data = batch->in[0].dev,
                    .par = a->par};

    b.par.in = batch->in[0].span;
    b.par.n_rois = batch->n_rois;
    take_beam_line(&batch->condition[0], &b.par);
    b.par.parts = parts_for(a, batch->n_rois);
    b.par.fit_parts = fit_parts_for(a, batch->n_rois);
    make_histogram(&b);
    find_primaries(&b);
    if (a->config->secondaries) {
        build_graph(&b);
        find_secondaries(&b);
    }
    read_back(&b);
    return b.l.result;
}

/* ---------------------------------------------------------------- results */

_Static_assert((int)VX_TYPE_PRIMARY == (int)TRG_PRIMARY &&
                   (int)VX_TYPE_SECONDARY == (int)TRG_SECONDARY,
               "kernels write the types of the table");

/* Rows of the answer to columns. */
static void store_vertices(const uint32_t *rows, uint32_t n, struct trg_output *out)
{
    out->n = n < out->capacity ? n : out->capacity;
    for (uint32_t c = 0; c < VX_OUT_WORDS && out->n; c++)
        for (uint32_t k = 0; k < out->n; k++)
            ((uint32_t *)out->column[c])[k] = rows[k * VX_OUT_WORDS + c];
}

static float number(const uint32_t *row, uint32_t column)
{
    float f;

    memcpy(&f, &row[column], sizeof f);
    return f;
}

static void take_primaries(const uint32_t *rows, uint32_t n, struct trg_result *r)
{
    uint32_t most = 0;

    for (uint32_t k = 0; k < n; k++, rows += VX_OUT_WORDS)
        if (rows[VX_OUT_TRACKS] > most) {
            most = rows[VX_OUT_TRACKS];
            r->value[VALUE_PV_Z] = number(rows, VX_OUT_Z);
        }
    r->value[VALUE_N_PV] = (float)n;
}

static void take_secondaries(const struct vx_config *c, const uint32_t *rows, uint32_t n,
                             struct trg_result *r)
{
    for (uint32_t k = 0; k < n; k++, rows += VX_OUT_WORDS) {
        const float significance = number(rows, VX_OUT_SIGNIFICANCE);

        r->value[VALUE_N_SV]++;
        r->value[VALUE_N_SV_SELECTED] += rows[VX_OUT_TRACKS] >= c->count_sv_min_tracks &&
                                         significance >= c->count_sv_significance;
        if (significance > r->value[VALUE_SV_SIGNIFICANCE]) {
            r->value[VALUE_SV_SIGNIFICANCE] = significance;
            r->value[VALUE_SV_MASS] = number(rows, VX_OUT_MASS);
            r->value[VALUE_SV_TRACKS] = (float)rows[VX_OUT_TRACKS];
        }
    }
}

static float beauty_of(const struct trg_input *trees, const uint32_t *rows,
                       const struct vx_counts *n)
{
    float features[VX_B_FEATURES];

    vx_beauty_features(rows, n->n_pv, n->n_out, n, features);
    return vx_beauty(trees, features);
}

static void take_counts(const struct vx_counts *n, struct trg_result *r)
{
    const uint32_t value[][2] = {
        {VALUE_N_DISPLACED, n->n_displaced},       {VALUE_N_TRACKS, n->n_selected},
        {VALUE_N_CROSSINGS, n->n_crossings},       {VALUE_REMOVED_ORIGIN, n->removed_origin},
        {VALUE_REMOVED_RADIAL, n->removed_radial}, {VALUE_REMOVED_CYLINDER, n->removed_cylinder},
        {VALUE_REMOVED_ANGLE, n->removed_angle}};
    /* limits in the order in which they act; the first that cut something is told */
    const uint32_t limit[][2] = {{n->n_used, n->n_used - n->pairs_left_out},
                                 {n->seeds_all, n->seeds_kept},
                                 {n->selected_all, n->n_selected},
                                 {n->components_all, n->n_components},
                                 {n->out_all, n->n_out}};

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

/* Tracks that say, RoI after RoI, that the beam line is not where it is configured: told once. */
static void mind_the_beam(struct trg_algo *a, const struct vx_counts *n)
{
    const double limit = (double)a->config->pv_max_radius_mm;
    const double dx = (double)(n->beam_x - a->par.beam_x), dy = (double)(n->beam_y - a->par.beam_y);
    char text[256];

    if (n->n_used < OFF_BEAM_TRACKS || a->told_of_beam)
        return;
    a->beam_rois++;
    if (dx * dx + dy * dy < limit * limit)
        return;
    a->off_x += dx;
    a->off_y += dy;
    if (++a->off_rois < OFF_BEAM_ROIS || 2 * a->off_rois < a->beam_rois)
        return;
    a->told_of_beam = true;
    snprintf(text, sizeof text,
             "the tracks of %u RoIs of %u point at a beam line at about (%.2f, %.2f) mm, but "
             "beam_x_mm is %g and beam_y_mm %g: primary vertices within pv_max_radius_mm %g only",
             a->off_rois, a->beam_rois, (double)a->par.beam_x + a->off_x / a->off_rois,
             (double)a->par.beam_y + a->off_y / a->off_rois, (double)a->par.beam_x,
             (double)a->par.beam_y, limit);
    trg_log(a->host, TRG_WARN, text);
}

/* Copies the rows of the answer that were not copied with the batch. */
static int read_the_rest(struct trg_algo *a, const struct vx_slot *s, uint32_t n_rois)
{
    const struct vx_counts *counts = trg_buffer_host(s->counts_host);
    const size_t row = VX_OUT_WORDS * sizeof(uint32_t), at = s->rows_read * row;
    uint32_t rows = 0;
    int r;

    for (uint32_t i = 0; i < n_rois; i++)
        rows += counts[i].n_out;
    if (rows <= s->rows_read)
        return 0;
    r = trg_read(a->queue, s->answer_host, at, s->answer, at, rows * row - at);
    return r < 0 ? r : trg_finish(a->queue);
}

static int vertexing_collect(struct trg_algo *a, struct trg_batch *batch)
{
    const struct vx_slot *s = &a->slot[batch->slot];
    const struct vx_counts *counts = trg_buffer_host(s->counts_host);
    const uint32_t *answer = trg_buffer_host(s->answer_host);
    const int r = read_the_rest(a, s, batch->n_rois);

    if (r < 0)
        return r;
    for (uint32_t i = 0; i < batch->n_rois; i++) {
        const struct vx_counts *n = &counts[i];
        const uint32_t *rows = answer + (size_t)n->place * VX_OUT_WORDS;
        struct trg_result *to = &batch->results[i];

        store_vertices(rows, n->n_out, &batch->outputs[0][i]);
        take_primaries(rows, n->n_pv, to);
        take_secondaries(a->config, rows + (size_t)n->n_pv * VX_OUT_WORDS, n->n_out - n->n_pv, to);
        take_counts(n, to);
        if (a->config->secondaries)
            to->value[VALUE_BEAUTY] = beauty_of(&batch->condition[1], rows, n);
        if (!a->par.find_beam && !batch->condition[0].collection)
            mind_the_beam(a, n);
    }
    return 0;
}

/* Vertices of both kinds: see vx_room. */
static const struct trg_room product_room[] = {
    {"vertices", .in = {{.factor = {.number = 1},
                         .divisor = {.number = VX_ROOM_TRACKS},
                         .constant = {.number = VX_ROOM_LEAST}}}},
    {0}};

static const struct trg_condition conditions[] = {
    {"beam_line", "where the beams meet, in place of beam_line, beam_x_mm and its fellows",
     &trg_beam_line, TRG_CONDITION_OPTIONAL},
    {"b_trees", "trees of b_score, in place of those that come with the plugin", &trg_b_trees,
     TRG_CONDITION_OPTIONAL},
    {0}};

TRG_PLUGIN_EXPORT const struct trg_plugin trg_plugin;
const struct trg_plugin trg_plugin = {
    TRG_PLUGIN_INIT,
    .name = "vertexing",
    .version = "1.0.0",
    .summary = "primary vertices and secondary-vertex candidates from tracks",
    .consumes = {&trg_tracks},
    .produces = {&trg_vertices},
    .backends = "cpu opencl cuda",
    .cost = {.batch_us = 100000, .roi_us = 500000, .item_ns = 50000},
    .params = vx_params,
    .presets = vx_presets,
    .values = values,
    .conditions = conditions,
    .config_size = sizeof(struct vx_config),
    .check = vx_check,
    .room = product_room,
    .create = vertexing_create,
    .destroy = vertexing_destroy,
    .submit = vertexing_submit,
    .collect = vertexing_collect,
    .flags = TRG_PLUGIN_DEVICE_INPUT | TRG_PLUGIN_DEVICE_COLUMNS,
};
