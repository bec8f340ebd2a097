/* SPDX-License-Identifier: Apache-2.0 */
/* clusters - hits from the raw banks of a pixel detector: sets of pixels that touch.  See
 * README.md.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "clusters.collections.h"
#include "clusters.h"
#include "clusters.program.h"
#include "geometry.h"
#include "parameters.h"
#include "trigd/common/lane.h"

enum { HITS, CLUSTERS, PRODUCTS };

enum { VALUE_HITS, VALUE_SUPER_PIXELS, VALUE_BAD, VALUE_PIXELS };
static const struct trg_value values[] = {
    {"n_hits", "", "clusters found"},
    {"n_super_pixels", "", "super-pixels of the RoI"},
    {"n_bad", "", "super-pixels that cannot be: left out"},
    {"n_pixels", "", "pixels that fired"},
    {0},
};

struct slot {
    struct trg_buffer *work, *state, *summaries, *out[PRODUCTS];
    struct trg_buffer *summaries_host, *out_host[PRODUCTS];
    bool is_read[PRODUCTS]; /* the columns of this batch came to the host */
};

struct trg_algo {
    const struct clusters_config *config;
    struct trg_limits limits;
    struct trg_device_info device;
    struct trg_module *module;
    struct trg_kernel *find;
    struct trg_buffer *sensors, *centres;
    struct cl_par par; /* what does not change */
    struct block out[PRODUCTS];
    struct buffers buffers;
    struct slot slot[TRG_SLOTS_MAX];
};

/* ---------------------------------------------------------------- set-up */

static const struct trg_collection *const products[PRODUCTS] = {&trg_hits, &trg_clusters};

/* A super-pixel has two sets of pixels at most; `room` says so, too. */
static uint32_t most_hits(uint32_t n_items)
{
    return CL_NODES * n_items;
}

static const struct trg_room product_room[] = {
    {"hits", .in = {{.factor = {.number = CL_NODES}}}},
    {"clusters", .in = {{.factor = {.number = CL_NODES}}}},
    {0}};

static int open_slot(struct trg_algo *a, struct trg_device *d, struct slot *s)
{
    const size_t n = a->limits.max_rois, room = a->par.room;
    const struct buffer_wish list[] = {
        {TRG_MEM_DEVICE, CL_ARRAYS * room * 4, &s->work},
        {TRG_MEM_DEVICE, CL_STATE_WORDS(n) * 4, &s->state},
        {TRG_MEM_DEVICE, n * sizeof(struct cl_summary), &s->summaries},
        {TRG_MEM_DEVICE, a->out[HITS].bytes, &s->out[HITS]},
        {TRG_MEM_DEVICE, a->out[CLUSTERS].bytes, &s->out[CLUSTERS]},
        {TRG_MEM_PINNED, n * sizeof(struct cl_summary), &s->summaries_host},
        {TRG_MEM_PINNED, a->out[HITS].bytes, &s->out_host[HITS]},
        {TRG_MEM_PINNED, a->out[CLUSTERS].bytes, &s->out_host[CLUSTERS]},
    };

    return buffers_new(&a->buffers, d, list, sizeof list / sizeof *list);
}

static int upload(struct trg_algo *a, struct trg_device *d, const struct geometry *g)
{
    struct cl_sensor *sensors = calloc(g->n_sensors, sizeof *sensors);
    int r = sensors ? 0 : -ENOMEM;

    for (uint32_t i = 0; r == 0 && i < g->n_sensors; i++) {
        const struct geometry_sensor *s = &g->sensor[i];

        sensors[i].layer = s->layer;
        memcpy(sensors[i].column, s->column, sizeof s->column);
        memcpy(sensors[i].row, s->row, sizeof s->row);
        memcpy(sensors[i].corner, s->corner, sizeof s->corner);
    }
    if (r == 0)
        r = buffers_upload(&a->buffers, d, sensors, g->n_sensors * sizeof *sensors, &a->sensors);
    if (r == 0)
        r = buffers_upload(&a->buffers, d, g->centre, (g->n_columns + 1u) * sizeof *g->centre,
                           &a->centres);
    free(sensors);
    return r;
}

/* Super-pixels of such sensors have numbers that fit into a word. */
static bool fits_words(const struct geometry *g)
{
    return g->n_columns <= CL_COLUMNS << CL_COLUMN_BITS && g->n_rows <= CL_ROWS << CL_ROW_BITS &&
           g->n_columns % CL_COLUMNS == 0 && g->n_rows % CL_ROWS == 0;
}

static int load_geometry(struct trg_algo *a, const struct trg_host *host, struct trg_device *d)
{
    struct geometry g = {0};
    char why[256];
    int r = geometry_open(geometry_texts[a->config->geometry].name, &g, why, sizeof why);

    if (r == 0 && !fits_words(&g)) {
        snprintf(why, sizeof why, "a matrix of %u x %u pixels is not one of super-pixels",
                 g.n_columns, g.n_rows);
        r = -EINVAL;
    }
    if (r < 0) {
        trg_log(host, TRG_ERROR, why);
    } else {
        a->par.n_sensors = g.n_sensors;
        a->par.n_columns = g.n_columns;
        a->par.n_rows = g.n_rows;
        a->par.row_pitch = g.row_pitch;
        r = upload(a, d, &g);
    }
    geometry_fini(&g);
    return r;
}

static void set_par(struct trg_algo *a)
{
    const struct clusters_config *c = a->config;

    a->par.room = (a->limits.max_items + 63u) & ~63u;
    a->par.hint = c->hint;
    a->par.sigma[0] = c->sigma_one;
    a->par.sigma[1] = c->sigma_two;
    a->par.sigma[2] = c->sigma_more;
    for (uint32_t k = 0; k < PRODUCTS; k++)
        a->out[k] = block_place(products[k], a->limits.max_rois, most_hits(a->limits.max_items));
    a->par.hits = a->out[HITS].span;
    a->par.clusters = a->out[CLUSTERS].span;
}

static void clusters_destroy(struct trg_algo *a)
{
    if (!a)
        return;
    buffers_free(&a->buffers);
    trg_module_free(a->module);
    free(a);
}

static int clusters_create(const struct trg_host *host, const void *config,
                           struct trg_device *device, const struct trg_limits *limits,
                           struct trg_algo **ret_algo)
{
    struct trg_algo *a = calloc(1, sizeof *a);
    int r;

    if (!a)
        return -ENOMEM;
    a->config = config;
    a->limits = *limits;
    trg_device_info(device, &a->device);
    set_par(a);
    r = trg_module_new(device, &clusters_program, NULL, &a->module);
    if (r == 0)
        r = trg_kernel_get(a->module, "cl_superpixels", &a->find);
    if (r == 0)
        r = load_geometry(a, host, device);
    for (uint32_t i = 0; r == 0 && i < limits->slots; i++)
        r = open_slot(a, device, &a->slot[i]);
    if (r < 0) {
        clusters_destroy(a);
        return r;
    }
    *ret_algo = a;
    return 0;
}

static int clusters_device_output(struct trg_algo *a, uint32_t slot, uint32_t k,
                                  struct trg_input *ret)
{
    if (k >= PRODUCTS)
        return -EINVAL;
    *ret = (struct trg_input){
        .collection = products[k], .span = a->out[k].span, .dev = a->slot[slot].out[k]};
    return 0;
}

/* ---------------------------------------------------------------- one batch */

static int clusters_submit(struct trg_algo *a, const struct trg_batch *b, struct trg_queue *q)
{
    struct slot *s = &a->slot[b->slot];
    struct launcher l = launcher_on(q, &a->device);
    struct cl_par par = a->par;

    par.in = b->in[0].span;
    par.n_rois = b->n_rois;
    for (uint32_t k = 0; k < PRODUCTS; k++)
        block_copy_rois(&a->out[k], &l, b, s->out[k]);
    launcher_clear(&l, s->state, CL_STATE_WORDS(b->n_rois) * 4);
    LAUNCH(&l, a->find, b->n_rois, CL_GROUP, par, b->in[0].dev, a->sensors, a->centres, s->work,
           s->state, s->summaries, s->out[HITS], s->out[CLUSTERS]);
    for (uint32_t k = 0; k < PRODUCTS; k++) {
        const uint32_t most = most_hits(b->in[0].span.n_items);

        s->is_read[k] = most && block_is_wanted(b, k);
        if (s->is_read[k])
            block_read(&a->out[k], &l, b->n_rois, most, s->out[k], s->out_host[k]);
    }
    launcher_read(&l, s->summaries_host, s->summaries, b->n_rois * sizeof(struct cl_summary));
    return l.result;
}

static int clusters_collect(struct trg_algo *a, struct trg_batch *b)
{
    const struct slot *s = &a->slot[b->slot];
    const struct cl_summary *sums = trg_buffer_host(s->summaries_host);

    for (uint32_t i = 0; i < b->n_rois; i++) {
        struct trg_result *r = &b->results[i];

        r->value[VALUE_HITS] = (float)sums[i].n_clusters;
        r->value[VALUE_SUPER_PIXELS] = (float)sums[i].n_items;
        r->value[VALUE_BAD] = (float)sums[i].n_bad;
        r->value[VALUE_PIXELS] = (float)sums[i].n_pixels;
        for (uint32_t k = 0; k < PRODUCTS; k++)
            if (s->is_read[k])
                block_store(&a->out[k], trg_buffer_host(s->out_host[k]), i, &b->outputs[k][i]);
            else if (b->outputs[k])
                b->outputs[k][i].n = 0;
    }
    return 0;
}

TRG_PLUGIN_EXPORT const struct trg_plugin trg_plugin;
const struct trg_plugin trg_plugin = {
    TRG_PLUGIN_INIT,
    .name = "clusters",
    .version = "1.0.0",
    .summary = "hits from the raw banks of a pixel detector: sets of pixels that touch",
    .consumes = {&trg_banks},
    .produces = {&trg_hits, &trg_clusters},
    .backends = "cpu opencl cuda",
    .cost = {.batch_us = 100000, .item_ns = 10000},
    .params = clusters_params,
    .values = values,
    .config_size = sizeof(struct clusters_config),
    .room = product_room,
    .create = clusters_create,
    .destroy = clusters_destroy,
    .submit = clusters_submit,
    .collect = clusters_collect,
    .flags = TRG_PLUGIN_DEVICE_INPUT,
    .device_output = clusters_device_output,
};
