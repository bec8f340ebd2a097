/* SPDX-License-Identifier: Apache-2.0 */
/* pixels - hits from single pixels with charge: sets of pixels that touch.  See README.md. */
#include <stdlib.h>

#include "alignment.collections.h"
#include "host.h"
#include "parameters.h"
#include "pixels.collections.h"
#include "pixels.h"
#include "pixels.program.h"

static const struct trg_value values[] = {
    {"n_hits", "", "clusters found"},
    {"n_items", "", "pixels of the RoI, as sent"},
    {"n_bad", "", "pixels that cannot be: left out"},
    {"n_pixels", "", "pixels that fired"},
    {0},
};

static const struct trg_room product_room[] = {{"hits", .in = {{.factor = {.number = 1}}}},
                                               {"clusters", .in = {{.factor = {.number = 1}}}},
                                               {0}};

struct trg_algo {
    struct cl_host h;
    struct px_par par; /* what does not change */
};

static uint32_t bits_for(uint32_t n)
{
    uint32_t bits = 0;

    while ((n - 1) >> bits)
        bits++;
    return bits;
}

static int load_geometry(struct trg_algo *a, const struct trg_host *host, const char *name,
                         struct trg_device *d)
{
    struct geometry g = {0};
    char why[256];
    int r = geometry_open(name, &g, why, sizeof why);

    if (r == 0) {
        a->par.n_modules = g.n_sensors;
        a->par.n_columns = g.n_columns;
        a->par.n_rows = g.n_rows;
        a->par.column_bits = bits_for(g.n_columns);
        a->par.row_bits = bits_for(g.n_rows);
        a->par.row_pitch = g.row_pitch;
        if (bits_for(g.n_sensors + 1) + a->par.column_bits + a->par.row_bits > 32) {
            snprintf(why, sizeof why,
                     "%u modules of %u x %u pixels do not fit into numbers of 32 bits", g.n_sensors,
                     g.n_columns, g.n_rows);
            r = -EINVAL;
        }
    }
    if (r < 0)
        trg_log(host, TRG_ERROR, why);
    else
        r = cl_host_geometry(&a->h, d, &g);
    geometry_fini(&g);
    return r;
}

static void pixels_destroy(struct trg_algo *a)
{
    if (a)
        cl_host_close(&a->h);
    free(a);
}

static int pixels_create(const struct trg_host *host, const void *config, struct trg_device *device,
                         const struct trg_limits *limits, struct trg_algo **ret_algo)
{
    const struct pixels_config *c = config;
    const struct cl_host_setup setup = {.program = &pixels_program,
                                        .kernel = "px_pixels",
                                        .hits = &trg_hits,
                                        .clusters = &trg_clusters,
                                        .arrays = PX_ARRAYS,
                                        .hits_per_item = 1};
    struct trg_algo *a = calloc(1, sizeof *a);
    int r;

    if (!a)
        return -ENOMEM;
    r = cl_host_open(&a->h, device, limits, &setup);
    if (r == 0)
        r = load_geometry(a, host, geometry_texts[c->geometry].name, device);
    if (r < 0) {
        pixels_destroy(a);
        return r;
    }
    a->par.hits = a->h.out[CL_HITS].span;
    a->par.clusters = a->h.out[CL_CLUSTERS].span;
    a->par.room = a->h.room;
    a->par.sigma[0] = c->sigma_one;
    a->par.sigma[1] = c->sigma_two;
    a->par.sigma[2] = c->sigma_more;
    *ret_algo = a;
    return 0;
}

static int pixels_device_output(struct trg_algo *a, uint32_t slot, uint32_t k,
                                struct trg_input *ret)
{
    return cl_host_device_output(&a->h, slot, k, ret);
}

static int pixels_submit(struct trg_algo *a, const struct trg_batch *b, struct trg_queue *q)
{
    struct px_par par = a->par;

    par.in = b->in[0].span;
    par.n_rois = b->n_rois;
    return cl_host_submit(&a->h, b, q, TRG_VAL(par));
}

static int pixels_collect(struct trg_algo *a, struct trg_batch *b)
{
    return cl_host_collect(&a->h, b);
}

static const struct trg_condition conditions[] = {{"module_alignment",
                                                   "where the modules are, against the geometry",
                                                   &trg_alignment, TRG_CONDITION_OPTIONAL},
                                                  {0}};

TRG_PLUGIN_EXPORT const struct trg_plugin trg_plugin;
const struct trg_plugin trg_plugin = {
    TRG_PLUGIN_INIT,
    .name = "pixels",
    .version = "1.0.0",
    .summary = "hits from single pixels with charge: sets of pixels that touch",
    .consumes = {&trg_pixels},
    .produces = {&trg_hits, &trg_clusters},
    .backends = "cpu opencl cuda",
    .cost = {.batch_us = 100000, .item_ns = 10000},
    .params = pixels_params,
    .values = values,
    .conditions = conditions,
    .config_size = sizeof(struct pixels_config),
    .room = product_room,
    .create = pixels_create,
    .destroy = pixels_destroy,
    .submit = pixels_submit,
    .collect = pixels_collect,
    .flags = TRG_PLUGIN_DEVICE_INPUT | TRG_PLUGIN_DEVICE_COLUMNS,
    .device_output = pixels_device_output,
};
