/* SPDX-License-Identifier: Apache-2.0 */
/* doublets - pairs of hits on layers that a track may cross one after the other.  See README.md. */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../kdtree/kdbuild.h"
#include "doublets.program.h"
#include "kdbuild.program.h"
#include "parameters.h"
#include "trigd/common/lane.h"
#include "windows.program.h"

#define DIMS 2u /* phi, and z or r */

enum { CLEAR, CELLS, STARTS, PLACE, FIND, FILL, ORDER, N_WINDOW };
static const char *const window_names[N_WINDOW] = {
    "dbw_clear", "dbw_cells", "dbw_starts", "dbw_place", "dbw_find", "dbw_fill", "dbw_order"};

enum { VALUE_DOUBLETS, VALUE_HITS, VALUE_PER_HIT };
static const struct trg_value values[] = {
    {"n_doublets", "", "doublets made"},
    {"n_hits", "", "hits on the layers that are used"},
    {"doublets_per_hit", "", "their ratio; 0 without hits"},
    {0},
};

/* The names of the kernels' arguments; twins in host memory end in _host. */
struct slot {
    struct trg_buffer *numbers, *hits, *nodes, *ids, *orders, *keys, *side;
    struct trg_buffer *trees, *counts, *summaries, *out;
    struct trg_buffer *cells, *loose; /* NULL where there are trees, and on the CPU */
    struct trg_buffer *summaries_host,
        *out_host; /* NULL on the CPU, where all memory is the host's */
    bool to_host;  /* somebody wants the doublets of this batch on the host */
};

struct trg_algo {
    const struct doublets_config *config;
    struct trg_limits limits;
    struct trg_device_info device;
    struct trg_module *module, *more; /* more: of trees, or of windows */
    struct trg_kernel *build, *layers, *count, *sum, *offsets, *fill, *one_core;
    struct trg_kernel *window[N_WINDOW];
    struct buffers buffers;
    struct slot slot[TRG_SLOTS_MAX];
    struct dbt_par par; /* what does not change */
    struct block out;
    uint32_t group;
};

/* ---------------------------------------------------------------- one lane */

/* Places and limits that hold for all batches.  -E2BIG: the doublets would not fit a buffer. */
static int set_par(struct trg_algo *a, const struct trg_host *host)
{
    const struct trg_limits *l = &a->limits;
    const uint64_t by_roi = (uint64_t)l->max_rois * a->config->max_doublets;
    const uint64_t by_hit = (uint64_t)l->max_items * a->config->max_per_hit;
    const uint64_t room = by_roi < by_hit ? by_roi : by_hit;

    if (room > UINT32_MAX / 8 - (1u << 20)) {
        char text[200];

        snprintf(text, sizeof text,
                 "doublets: batches of %u RoIs and %u hits may have %llu doublets, which do not "
                 "fit into 4 GiB: lower max_doublets or max_per_hit",
                 l->max_rois, l->max_items, (unsigned long long)room);
        trg_log(host, TRG_ERROR, text);
        return -E2BIG;
    }
    doublets_fill_par(a->config, &a->par);
    a->par.room = (l->max_items + 63u) & ~63u;
    a->par.out_room = (uint32_t)room;
    a->out = block_place(&trg_doublets, l->max_rois, (uint32_t)room);
    a->par.out = a->out.span;
    a->group = a->device.group_max < DBT_GROUP ? a->device.group_max : DBT_GROUP;
    a->par.gang = a->device.pci[0] ? DBT_GANG : 1; /* what is plugged in is a GPU */
    return 0;
}

/* On a GPU windows need other memory than trees. */
static bool has_windows(const struct trg_algo *a)
{
    return a->par.windows && !a->device.is_host;
}

static int open_slot(struct trg_algo *a, struct trg_device *d, struct slot *s)
{
    const size_t column = (size_t)a->par.room * sizeof(uint32_t), rois = a->limits.max_rois;
    const bool windows = has_windows(a);
    const size_t twin = a->device.is_host ? 0 : 1, tree = windows ? 0 : 1, window = windows ? 1 : 0;
    const struct buffer_wish list[] = {
        {TRG_MEM_DEVICE, 4 * column, &s->numbers},
        {TRG_MEM_DEVICE, 6 * column, &s->hits},
        {TRG_MEM_DEVICE, tree * DIMS * column, &s->nodes},
        {TRG_MEM_DEVICE, tree * column, &s->ids},
        {TRG_MEM_DEVICE, tree * 2 * column * DIMS, &s->orders},
        {TRG_MEM_DEVICE, tree * (2 * column + 64), &s->keys},
        {TRG_MEM_DEVICE, tree * column, &s->side},
        {TRG_MEM_DEVICE, window * rois * DBW_ROOM * sizeof(uint32_t), &s->cells},
        {TRG_MEM_DEVICE, window * (a->par.out_room + 1u) * sizeof(uint32_t), &s->loose},
        {TRG_MEM_DEVICE, rois * DBT_LAYERS * 6 * sizeof(uint32_t), &s->trees},
        {TRG_MEM_DEVICE, 2 * column, &s->counts},
        {TRG_MEM_DEVICE, rois * sizeof(struct dbt_summary), &s->summaries},
        {TRG_MEM_DEVICE, a->out.bytes, &s->out},
        {TRG_MEM_PINNED, twin * rois * sizeof(struct dbt_summary), &s->summaries_host},
        {TRG_MEM_PINNED, twin * a->out.bytes, &s->out_host},
    };

    return buffers_new(&a->buffers, d, list, sizeof list / sizeof *list);
}

static int load_kernels(struct trg_algo *a, struct trg_device *d)
{
    const struct kernel_wish list[] = {{"dbt_layers", &a->layers}, {"dbt_count", &a->count},
                                       {"dbt_sum", &a->sum},       {"dbt_offsets", &a->offsets},
                                       {"dbt_fill", &a->fill},     {"dbt_one_core", &a->one_core}};
    int r = trg_module_new(d, &doublets_program, NULL, &a->module);

    if (r == 0)
        r = kernels_get(a->module, list, sizeof list / sizeof *list);
    if (r < 0)
        return r;
    if (!has_windows(a)) {
        r = trg_module_new(d, &kdbuild_program, NULL, &a->more);
        return r < 0 ? r : trg_kernel_get(a->more, "kd_build_trees", &a->build);
    }
    r = trg_module_new(d, &windows_program, NULL, &a->more);
    for (size_t i = 0; r == 0 && i < N_WINDOW; i++)
        r = trg_kernel_get(a->more, window_names[i], &a->window[i]);
    return r;
}

static void doublets_destroy(struct trg_algo *a)
{
    if (!a)
        return;
    buffers_free(&a->buffers);
    trg_module_free(a->module);
    trg_module_free(a->more);
    free(a);
}

static int doublets_create(const struct trg_host *host, const void *config,
                           struct trg_device *device, const struct trg_limits *limits,
                           struct trg_algo **ret_algo)
{
    struct trg_algo *a;
    int r;

    a = calloc(1, sizeof *a);
    if (!a)
        return -ENOMEM;
    a->config = config;
    a->limits = *limits;
    trg_device_info(device, &a->device);
    r = set_par(a, host);
    if (r == 0)
        r = load_kernels(a, device);
    for (uint32_t i = 0; r == 0 && i < limits->slots; i++)
        r = open_slot(a, device, &a->slot[i]);
    if (r < 0) {
        doublets_destroy(a);
        return r;
    }
    *ret_algo = a;
    return 0;
}

/* ---------------------------------------------------------------- one batch */

/* Groups for one RoI in the searches, a work-item for each hit; on the CPU one. */
static uint32_t parts_for(const struct trg_algo *a, const struct trg_batch *b)
{
    const uint32_t mean = b->in[0].span.n_items / b->n_rois, parts = mean / a->group + 1;

    return a->device.is_host ? 1 : parts > 256 ? 256 : parts;
}

/* On the CPU: the keys have room for the row. */
static void launch_one_core(struct trg_algo *a, const struct slot *s, struct trg_buffer *in,
                            const struct dbt_par *par, struct launcher *l)
{
    LAUNCH(l, a->layers, par->n_rois, 1, *par, in, s->numbers, s->hits, s->trees, s->counts);
    LAUNCH(l, a->one_core, 1, 1, *par, in, s->hits, s->numbers, s->trees, s->counts, s->keys,
           s->summaries, s->out);
}

/* Sums of the counts: where each hit's doublets go, and each RoI's. */
static void launch_sums(struct trg_algo *a, const struct slot *s, struct trg_buffer *in,
                        const struct dbt_par *par, struct launcher *l)
{
    LAUNCH(l, a->sum, par->n_rois, DBT_GROUP_LARGE, *par, in, s->trees, s->counts, s->summaries);
    LAUNCH(l, a->offsets, 1, DBT_GROUP, *par, s->summaries, s->out);
}

static void launch_trees(struct trg_algo *a, const struct slot *s, struct trg_buffer *in,
                         const struct dbt_par *par, struct launcher *l)
{
    const struct kd_build_par build = {
        .k = DIMS, .room = par->room, .at = 4 * par->room, .by_hand = 1};
    const uint32_t parts = par->n_rois * par->parts;

    LAUNCH(l, a->layers, par->n_rois, DBT_GROUP, *par, in, s->numbers, s->hits, s->trees,
           s->counts);
    LAUNCH(l, a->build, par->n_rois * DBT_LAYERS, DBT_GROUP, build, s->trees, s->hits, s->nodes,
           s->ids, s->orders, s->keys, s->side);
    LAUNCH(l, a->count, parts, DBT_GROUP, *par, s->hits, s->nodes, s->ids, s->numbers, s->trees,
           s->counts);
    launch_sums(a, s, in, par, l);
    LAUNCH(l, a->fill, parts, DBT_GROUP, *par, s->hits, s->nodes, s->ids, s->numbers, s->trees,
           s->counts, s->summaries, s->out);
}

/* How many hits a group searches for, of RoIs of so many: as many as its list has room for. */
static uint32_t tile_for(uint32_t hits)
{
    uint32_t tile = DBW_TILE;

    while (tile > 1 && (uint64_t)tile * hits > DBW_DENSE)
        tile /= 2;
    return tile;
}

static void launch_windows(struct trg_algo *a, const struct slot *s, struct trg_buffer *in,
                           struct dbt_par par, struct launcher *l)
{
    const uint32_t n = par.n_rois, parts = par.parts, hits = n * parts;

    LAUNCH(l, a->window[CLEAR], n * (DBW_ROOM / a->group + 1u), DBT_GROUP, par, s->cells, s->trees);
    LAUNCH(l, a->window[CELLS], hits, DBT_GROUP, par, in, s->numbers, s->cells, s->trees,
           s->counts);
    LAUNCH(l, a->window[STARTS], n, DBT_GROUP_LARGE, par, in, s->cells, s->trees);
    LAUNCH(l, a->window[PLACE], hits, DBT_GROUP, par, in, s->numbers, s->cells, s->hits);
    par.tile = tile_for(par.in.n_items / n);
    par.parts = parts * a->group / par.tile;
    LAUNCH(l, a->window[FIND], n * par.parts, DBT_GROUP, par, s->hits, s->numbers, s->cells,
           s->trees, s->counts, s->loose);
    launch_sums(a, s, in, &par, l);
    par.parts = parts;
    LAUNCH(l, a->window[FILL], hits, DBT_GROUP, par, s->hits, s->numbers, s->cells, s->trees,
           s->counts, s->summaries, s->loose, s->out);
    par.gang = par.gang > 1 ? DBW_GANG : 1;
    par.parts = (parts * par.gang + 1) / 2; /* two turns each */
    LAUNCH(l, a->window[ORDER], n * par.parts, DBT_GROUP, par, in, s->numbers, s->counts,
           s->summaries, s->loose, s->out);
}

/* The most doublets that the batch can have. */
static uint32_t most_of(const struct trg_algo *a, const struct trg_batch *b)
{
    const struct trg_input *in = &b->in[0];
    const uint32_t *offsets;
    uint32_t n = 0;

    if (!in->host)
        return a->par.out_room;
    offsets = (const uint32_t *)(const void *)(in->host + in->span.offsets);
    for (uint32_t i = 0; i < b->n_rois; i++)
        n += doublets_limit(a->config, offsets[i + 1] - offsets[i]);
    return n;
}

static void read_back(struct trg_algo *a, const struct trg_batch *b, struct launcher *l)
{
    struct slot *s = &a->slot[b->slot];

    launcher_read(l, s->summaries_host, s->summaries, b->n_rois * sizeof(struct dbt_summary));
    if (s->to_host)
        block_read(&a->out, l, b->n_rois, most_of(a, b), s->out, s->out_host);
}

static int doublets_submit(struct trg_algo *a, const struct trg_batch *b, struct trg_queue *q)
{
    struct slot *s = &a->slot[b->slot];
    struct launcher l = launcher_on(q, &a->device);
    struct trg_buffer *in = b->in[0].dev;
    struct dbt_par par = a->par;

    par.in = b->in[0].span;
    par.n_rois = b->n_rois;
    par.parts = parts_for(a, b);
    s->to_host = block_is_wanted(b, 0);
    block_copy_rois(&a->out, &l, b, s->out);
    if (!par.windows)
        launch_trees(a, s, in, &par, &l);
    else if (a->device.is_host)
        launch_one_core(a, s, in, &par, &l);
    else
        launch_windows(a, s, in, par, &l);
    if (!a->device.is_host)
        read_back(a, b, &l);
    return l.result;
}

static int doublets_collect(struct trg_algo *a, struct trg_batch *b)
{
    const struct slot *s = &a->slot[b->slot];
    const bool is_host = a->device.is_host;
    const struct dbt_summary *sums = trg_buffer_host(is_host ? s->summaries : s->summaries_host);
    const unsigned char *out = trg_buffer_host(is_host ? s->out : s->out_host);

    for (uint32_t i = 0; i < b->n_rois; i++) {
        struct trg_result *r = &b->results[i];

        r->value[VALUE_DOUBLETS] = (float)sums[i].kept;
        r->value[VALUE_HITS] = (float)sums[i].n_used;
        r->value[VALUE_PER_HIT] = sums[i].n_used ? (float)sums[i].kept / (float)sums[i].n_used : 0;
        if (sums[i].kept < sums[i].wanted) {
            r->status = TRG_TRUNCATED;
            r->wanted = sums[i].wanted;
            r->kept = sums[i].kept;
        }
        if (s->to_host)
            block_store(&a->out, out, i, &b->outputs[0][i]);
    }
    return 0;
}

static int doublets_device_output(struct trg_algo *a, uint32_t slot, uint32_t k,
                                  struct trg_input *ret)
{
    if (slot >= a->limits.slots || k > 0)
        return -EINVAL;
    *ret = (struct trg_input){
        .collection = &trg_doublets, .span = a->out.span, .dev = a->slot[slot].out};
    return 0;
}

static const struct trg_room product_room[] = {
    {"doublets", .cap = {.plus = "max_doublets"}, .in = {{.factor = {.plus = "max_per_hit"}}}},
    {0}};

TRG_PLUGIN_EXPORT const struct trg_plugin trg_plugin;
const struct trg_plugin trg_plugin = {
    TRG_PLUGIN_INIT,
    .name = "doublets",
    .version = "1.0.0",
    .summary = "doublets of hits on pairs of layers, by windows of phi or k-d trees",
    .consumes = {&trg_hits},
    .produces = {&trg_doublets},
    .backends = "cpu opencl cuda",
    .cost = {.batch_us = 100000, .roi_us = 200000, .item_ns = 20000},
    .params = doublets_params,
    .presets = doublets_presets,
    .values = values,
    .config_size = sizeof(struct doublets_config),
    .check = doublets_check,
    .room = product_room,
    .create = doublets_create,
    .destroy = doublets_destroy,
    .submit = doublets_submit,
    .collect = doublets_collect,
    .flags = TRG_PLUGIN_DEVICE_INPUT | TRG_PLUGIN_DEVICE_COLUMNS,
    .device_output = doublets_device_output,
};
