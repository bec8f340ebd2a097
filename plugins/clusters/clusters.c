/* SPDX-License-Identifier: Apache-2.0 */
/* clusters - hits from the raw banks of a pixel detector: sets of pixels that touch.  See
 * README.md.
 */
#include <stdlib.h>

#include "alignment.collections.h"
#include "clusters.collections.h"
#include "clusters.program.h"
#include "host.h"
#include "parameters.h"

static const struct trg_value values[] = {
    {"n_hits", "", "clusters found"},
    {"n_super_pixels", "", "super-pixels of the RoI"},
    {"n_bad", "", "super-pixels that cannot be: left out"},
    {"n_pixels", "", "pixels that fired"},
    {0},
};

/* A super-pixel has two sets of pixels at most. */
static const struct trg_room product_room[] = {
    {"hits", .in = {{.factor = {.number = CL_NODES}}}},
    {"clusters", .in = {{.factor = {.number = CL_NODES}}}},
    {0}};

struct trg_algo {
    struct cl_host h;
    struct cl_par par; /* what does not change */
};

/* Super-pixels of such sensors have numbers that fit into a word. */
static bool fits_words(const struct geometry *g)
{
    return g->n_columns <= CL_COLUMNS << CL_COLUMN_BITS && g->n_rows <= CL_ROWS << CL_ROW_BITS &&
           g->n_columns % CL_COLUMNS == 0 && g->n_rows % CL_ROWS == 0;
}

static int load_geometry(struct trg_algo *a, const struct trg_host *host, const char *name,
                         struct trg_device *d)
{
    struct geometry g = {0};
    char why[256];
    int r = geometry_open(name, &g, why, sizeof why);

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
        r = cl_host_geometry(&a->h, d, &g);
    }
    geometry_fini(&g);
    return r;
}

static void clusters_destroy(struct trg_algo *a)
{
    if (a)
        cl_host_close(&a->h);
    free(a);
}

static int clusters_create(const struct trg_host *host, const void *config,
                           struct trg_device *device, const struct trg_limits *limits,
                           struct trg_algo **ret_algo)
{
    const struct clusters_config *c = config;
    const struct cl_host_setup setup = {.program = &clusters_program,
                                        .kernel = "cl_superpixels",
                                        .hits = &trg_hits,
                                        .clusters = &trg_clusters,
                                        .arrays = CL_ARRAYS,
                                        .hits_per_item = CL_NODES};
    struct trg_algo *a = calloc(1, sizeof *a);
    int r;

    if (!a)
        return -ENOMEM;
    r = cl_host_open(&a->h, device, limits, &setup);
    if (r == 0)
        r = load_geometry(a, host, geometry_texts[c->geometry].name, device);
    if (r < 0) {
        clusters_destroy(a);
        return r;
    }
    a->par.hits = a->h.out[CL_HITS].span;
    a->par.clusters = a->h.out[CL_CLUSTERS].span;
    a->par.room = a->h.room;
    a->par.hint = c->hint;
    a->par.sigma[0] = c->sigma_one;
    a->par.sigma[1] = c->sigma_two;
    a->par.sigma[2] = c->sigma_more;
    *ret_algo = a;
    return 0;
}

static int clusters_device_output(struct trg_algo *a, uint32_t slot, uint32_t k,
                                  struct trg_input *ret)
{
    return cl_host_device_output(&a->h, slot, k, ret);
}

static int clusters_submit(struct trg_algo *a, const struct trg_batch *b, struct trg_queue *q)
{
    struct cl_par par = a->par;

    par.in = b->in[0].span;
    par.n_rois = b->n_rois;
    return cl_host_submit(&a->h, b, q, TRG_VAL(par));
}

static int clusters_collect(struct trg_algo *a, struct trg_batch *b)
{
    return cl_host_collect(&a->h, b);
}

static const struct trg_condition conditions[] = {{"sensor_alignment",
                                                   "where the sensors are, against the geometry",
                                                   &trg_alignment, TRG_CONDITION_OPTIONAL},
                                                  {0}};

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
    .conditions = conditions,
    .config_size = sizeof(struct clusters_config),
    .room = product_room,
    .create = clusters_create,
    .destroy = clusters_destroy,
    .submit = clusters_submit,
    .collect = clusters_collect,
    .flags = TRG_PLUGIN_DEVICE_INPUT | TRG_PLUGIN_DEVICE_COLUMNS,
    .device_output = clusters_device_output,
};
