/* SPDX-License-Identifier: Apache-2.0 */
/* clusters - hits from the raw banks of a pixel detector: sets of pixels that touch.  See
 * README.md.
 */
#include "alignment.collections.h"
#include "clusters.collections.h"
#include "clusters.program.h"
#include "dead_table.collections.h"
#include "host.h"
#include "parameters.h"

static const struct trg_value values[] = {
    {"n_hits", "", "clusters found"},
    {"n_super_pixels", "", "super-pixels of the RoI"},
    {"n_bad", "", "super-pixels that cannot be: left out"},
    {"n_pixels", "", "pixels that fired"},
    {"n_masked", "", "pixels that fired and are dead channels: left out"},
    {0},
};

/* A super-pixel has two sets of pixels at most. */
static const struct trg_room product_room[] = {
    {"hits", .in = {{.factor = {.number = CL_NODES}}}},
    {"clusters", .in = {{.factor = {.number = CL_NODES}}}},
    {0}};

/* Super-pixels of such sensors have numbers that fit into a word. */
static bool fits_words(struct cl_par *par, char *why, size_t bytes)
{
    snprintf(why, bytes, "a matrix of %u x %u pixels is not one of super-pixels", par->n_columns,
             par->n_rows);
    return par->n_columns <= CL_COLUMNS << CL_COLUMN_BITS &&
           par->n_rows <= CL_ROWS << CL_ROW_BITS && par->n_columns % CL_COLUMNS == 0 &&
           par->n_rows % CL_ROWS == 0;
}

static int clusters_create(const struct trg_host *host, const void *config,
                           struct trg_device *device, const struct trg_limits *limits,
                           struct trg_algo **ret_algo)
{
    const struct clusters_config *c = config;
    const struct cl_setup setup = {.program = &clusters_program,
                                   .kernel = "cl_superpixels",
                                   .mask = "cl_mask",
                                   .items = &trg_banks,
                                   .hits = &trg_hits,
                                   .clusters = &trg_clusters,
                                   .arrays = CL_ARRAYS,
                                   .hits_per_item = CL_NODES,
                                   .geometry = c->geometry,
                                   .sigma = {c->sigma_one, c->sigma_two, c->sigma_more},
                                   .fits = fits_words};
    int r = cl_create(host, device, limits, &setup, ret_algo);

    if (r == 0)
        (*ret_algo)->par.hint = c->hint;
    return r;
}

static const struct trg_condition conditions[] = {
    [CL_ALIGNMENT] = {"sensor_alignment", "where the sensors are, against the geometry",
                      &trg_alignment, TRG_CONDITION_OPTIONAL},
    [CL_DEAD_CHANNELS] = {"dead_channels", "pixels that are dead or noisy: they count as not fired",
                          &trg_dead_channels, TRG_CONDITION_OPTIONAL},
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
    .destroy = cl_destroy,
    .submit = cl_submit,
    .collect = cl_collect,
    .flags = TRG_PLUGIN_DEVICE_INPUT | TRG_PLUGIN_DEVICE_COLUMNS,
    .device_output = cl_device_output,
};
