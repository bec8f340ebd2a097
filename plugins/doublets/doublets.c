/* SPDX-License-Identifier: Apache-2.0 */
/* doublets - pairs of hits on layers that a track may cross one after the other.  See README.md. */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../common/lane.h"
#include "../kdtree/kdbuild.h"
#include "doublets.program.h"
#include "kdbuild.program.h"
#include "parameters.h"
#include "windows.program.h"

#define DIMS 2u /* phi, and z or r */

enum { CLEAR, CELLS, STARTS, PLACE, COUNT, FILL, ORDER, N_WINDOW };
static const char *const window_names[N_WINDOW] = {
    "dbw_clear", "dbw_cells", "dbw_starts", "dbw_place", "dbw_count", "dbw_fill", "dbw_order"};

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
    uint32_t group, group_large;
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
                 "fit into "
                 "4 GiB: lower max_doublets or max_per_hit",
                 l->max_rois, l->max_items, (unsigned long long)room);
        trg_log(host, TRG_ERROR, text);
        return -E2BIG;
    }
    doublets_fill_par(a->config, &a->par);
    a->par.room = (l->max_items + 63u) & ~63u;
    a->par.out_room = (uint32_t)room;
    a->out = block_place(TRG_DOUBLETS, l->max_rois, (uint32_t)room);
    a->par.out = a->out.span;
    a->group = a->device.group_max < DBT_GROUP ? a->device.group_max : DBT_GROUP;
    a->group_large = a->device.group_max < DBT_GROUP_LARGE ? a->device.group_max : DBT_GROUP_LARGE;
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
static int launch_one_core(struct trg_algo *a, const struct trg_batch *b, const struct dbt_par *par,
                           struct trg_queue *q)
{
    struct slot *s = &a->slot[b->slot];
    const struct trg_arg in = TRG_BUF(b->in[0].dev), value = TRG_VAL(*par);
    const struct trg_arg layers[] = {
        in, TRG_BUF(s->numbers), TRG_BUF(s->hits), TRG_BUF(s->trees), TRG_BUF(s->counts), value};
    const struct trg_arg rest[] = {in,
                                   TRG_BUF(s->hits),
                                   TRG_BUF(s->numbers),
                                   TRG_BUF(s->trees),
                                   TRG_BUF(s->counts),
                                   TRG_BUF(s->keys),
                                   TRG_BUF(s->summaries),
                                   TRG_BUF(s->out),
                                   value};
    int r = trg_launch(q, a->layers, (struct trg_range){b->n_rois, 1}, layers, 6);

    return r < 0 ? r : trg_launch(q, a->one_core, (struct trg_range){1, 1}, rest, 9);
}

/* Sums of the counts: where each hit's doublets go, and each RoI's. */
static int launch_sums(struct trg_algo *a, const struct trg_batch *b, const struct dbt_par *par,
                       struct trg_queue *q)
{
    struct slot *s = &a->slot[b->slot];
    const struct trg_arg value = TRG_VAL(*par);
    const struct trg_arg sum[] = {TRG_BUF(b->in[0].dev), TRG_BUF(s->trees), TRG_BUF(s->counts),
                                  TRG_BUF(s->summaries), value};
    const struct trg_arg offsets[] = {TRG_BUF(s->summaries), TRG_BUF(s->out), value};
    int r = trg_launch(q, a->sum, (struct trg_range){b->n_rois, a->group_large}, sum, 5);

    return r < 0 ? r : trg_launch(q, a->offsets, (struct trg_range){1, a->group}, offsets, 3);
}

static int launch(struct trg_algo *a, const struct trg_batch *b, const struct dbt_par *par,
                  struct trg_queue *q)
{
    struct slot *s = &a->slot[b->slot];
    const struct kd_build_par build_par = {
        .k = DIMS, .room = par->room, .at = 4 * par->room, .by_hand = 1};
    const struct trg_arg in = TRG_BUF(b->in[0].dev), value = TRG_VAL(*par);
    const struct trg_arg layers[] = {
        in, TRG_BUF(s->numbers), TRG_BUF(s->hits), TRG_BUF(s->trees), TRG_BUF(s->counts), value};
    const struct trg_arg build[] = {TRG_BUF(s->trees), TRG_BUF(s->hits),   TRG_BUF(s->nodes),
                                    TRG_BUF(s->ids),   TRG_BUF(s->orders), TRG_BUF(s->keys),
                                    TRG_BUF(s->side),  TRG_VAL(build_par)};
    const struct trg_arg count[] = {TRG_BUF(s->hits),
                                    TRG_BUF(s->nodes),
                                    TRG_BUF(s->ids),
                                    TRG_BUF(s->numbers),
                                    TRG_BUF(s->trees),
                                    TRG_BUF(s->counts),
                                    value};
    const struct trg_arg fill[] = {TRG_BUF(s->hits),      TRG_BUF(s->nodes), TRG_BUF(s->ids),
                                   TRG_BUF(s->numbers),   TRG_BUF(s->trees), TRG_BUF(s->counts),
                                   TRG_BUF(s->summaries), TRG_BUF(s->out),   value};
    const struct trg_range rois = {b->n_rois, a->group};
    const struct trg_range parts = {b->n_rois * par->parts, a->group};
    int r = trg_launch(q, a->layers, rois, layers, 6);

    if (r == 0)
        r = trg_launch(q, a->build, (struct trg_range){b->n_rois * DBT_LAYERS, a->group}, build, 8);
    if (r == 0)
        r = trg_launch(q, a->count, parts, count, 7);
    if (r == 0)
        r = launch_sums(a, b, par, q);
    if (r == 0)
        r = trg_launch(q, a->fill, parts, fill, 9);
    return r;
}

/* One kernel of the windows; `buffers` ends with NULL. */
static int launch_window(struct trg_algo *a, struct trg_queue *q, uint32_t kernel,
                         struct trg_range range, const struct dbt_par *par,
                         struct trg_buffer *const *buffers)
{
    struct trg_arg args[TRG_ARGS_MAX];
    uint32_t n = 0;

    for (; buffers[n]; n++)
        args[n] = TRG_BUF(buffers[n]);
    args[n++] = TRG_VAL(*par);
    return trg_launch(q, a->window[kernel], range, args, n);
}
#define WINDOW(kernel, range, ...) \
    launch_window(a, q, kernel, range, &par, (struct trg_buffer *const[]){__VA_ARGS__, NULL})

static int launch_windows(struct trg_algo *a, const struct trg_batch *b, struct dbt_par par,
                          struct trg_queue *q)
{
    struct slot *s = &a->slot[b->slot];
    struct trg_buffer *in = b->in[0].dev;
    const struct trg_range rois = {b->n_rois, a->group_large};
    const struct trg_range clear = {b->n_rois * (DBW_ROOM / a->group + 1u), a->group};
    const struct trg_range hits = {b->n_rois * par.parts, a->group};
    struct trg_range gangs = hits;
    int r = WINDOW(CLEAR, clear, s->cells, s->trees);

    if (r == 0)
        r = WINDOW(CELLS, hits, in, s->numbers, s->cells, s->trees, s->counts);
    if (r == 0)
        r = WINDOW(STARTS, rois, in, s->cells, s->trees);
    if (r == 0)
        r = WINDOW(PLACE, hits, in, s->numbers, s->cells, s->hits);
    par.parts *= par.gang;
    gangs.groups *= par.gang;
    if (r == 0)
        r = WINDOW(COUNT, gangs, s->hits, s->numbers, s->cells, s->trees, s->counts);
    if (r == 0)
        r = launch_sums(a, b, &par, q);
    if (r == 0)
        r = WINDOW(FILL, gangs, s->hits, s->numbers, s->cells, s->trees, s->counts, s->summaries,
                   s->loose, s->out);
    if (r == 0)
        r = WINDOW(ORDER, gangs, in, s->counts, s->summaries, s->loose, s->out);
    return r;
}

/* The most doublets that the batch can have. */
static uint32_t most_of(const struct trg_algo *a, const struct trg_batch *b)
{
    const struct trg_input *in = &b->in[0];
    const uint32_t *offsets = (const uint32_t *)(const void *)(in->host + in->span.offsets);
    uint32_t n = 0;

    if (!in->host)
        return a->par.out_room;
    for (uint32_t i = 0; i < b->n_rois; i++)
        n += doublets_limit(a->config, offsets[i + 1] - offsets[i]);
    return n;
}

static int read_back(struct trg_algo *a, const struct trg_batch *b, struct trg_queue *q)
{
    struct slot *s = &a->slot[b->slot];
    struct launcher l = launcher_on(q, &a->device);

    launcher_read(&l, s->summaries_host, s->summaries, b->n_rois * sizeof(struct dbt_summary));
    if (s->to_host)
        block_read(&a->out, &l, b->n_rois, most_of(a, b), s->out, s->out_host);
    return l.result;
}

static int doublets_submit(struct trg_algo *a, const struct trg_batch *b, struct trg_queue *q)
{
    struct slot *s = &a->slot[b->slot];
    struct dbt_par par = a->par;
    int r;

    par.in = b->in[0].span;
    par.n_rois = b->n_rois;
    par.parts = parts_for(a, b);
    s->to_host = block_is_wanted(b, 0);
    r = trg_copy(q, s->out, par.out.rois, b->in[0].dev, par.in.rois,
                 b->n_rois * sizeof(struct trg_roi_info));
    if (r == 0)
        r = !par.windows        ? launch(a, b, &par, q)
            : a->device.is_host ? launch_one_core(a, b, &par, q)
                                : launch_windows(a, b, par, q);
    return r < 0 || a->device.is_host ? r : read_back(a, b, q);
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
    *ret = (struct trg_input){.kind = TRG_DOUBLETS, .span = a->out.span, .dev = a->slot[slot].out};
    return 0;
}

TRG_PLUGIN_EXPORT const struct trg_plugin trg_plugin;
const struct trg_plugin trg_plugin = {
    TRG_PLUGIN_INIT,
    .name = "doublets",
    .version = "1.0.0",
    .summary = "doublets of hits on pairs of layers, by windows of phi or k-d trees",
    .consumes = {TRG_HITS},
    .produces = {TRG_DOUBLETS},
    .backends = "cpu opencl cuda",
    .params = doublets_params,
    .presets = doublets_presets,
    .values = values,
    .config_size = sizeof(struct doublets_config),
    .check = doublets_check,
    .output_items = doublets_output_items,
    .create = doublets_create,
    .destroy = doublets_destroy,
    .submit = doublets_submit,
    .collect = doublets_collect,
    .flags = TRG_PLUGIN_DEVICE_INPUT,
    .device_output = doublets_device_output,
};
