/* SPDX-License-Identifier: Apache-2.0 */
/* pixels - hits from single pixels with charge: sets of pixels that touch.  See README.md. */
#include "pixels.h"
#include "alignment.collections.h"
#include "dead_table.collections.h"
#include "host.h"
#include "parameters.h"
#include "pixels.collections.h"
#include "pixels.program.h"

static const struct trg_value values[] = {
    {"n_hits", "", "clusters found"},
    {"n_items", "", "pixels of the RoI, as sent"},
    {"n_bad", "", "pixels that cannot be: left out"},
    {"n_pixels", "", "pixels that fired"},
    {"n_masked", "", "pixels that fired and are dead channels: left out"},
    {0},
};

static const struct trg_room product_room[] = {{"hits", .in = {{.factor = {.number = 1}}}},
                                               {"clusters", .in = {{.factor = {.number = 1}}}},
                                               {0}};

static uint32_t bits_for(uint32_t n)
{
    uint32_t bits = 0;

    while ((n - 1) >> bits)
        bits++;
    return bits;
}

static bool fits_keys(struct cl_par *par, char *why, size_t bytes)
{
    par->column_bits = bits_for(par->n_columns);
    par->row_bits = bits_for(par->n_rows);
    snprintf(why, bytes, "%u modules of %u x %u pixels do not fit into numbers of 32 bits",
             par->n_sensors, par->n_columns, par->n_rows);
    return bits_for(par->n_sensors + 1) + par->column_bits + par->row_bits <= 32;
}

static int pixels_create(const struct trg_host *host, const void *config, struct trg_device *device,
                         const struct trg_limits *limits, struct trg_algo **ret_algo)
{
    const struct pixels_config *c = config;
    const struct cl_setup setup = {.program = &pixels_program,
                                   .kernel = "px_pixels",
                                   .mask = "px_mask",
                                   .items = &trg_pixels,
                                   .hits = &trg_hits,
                                   .clusters = &trg_clusters,
                                   .arrays = PX_ARRAYS,
                                   .hits_per_item = 1,
                                   .geometry = c->geometry,
                                   .sigma = {c->sigma_one, c->sigma_two, c->sigma_more},
                                   .fits = fits_keys};

    return cl_create(host, device, limits, &setup, ret_algo);
}

static const struct trg_condition conditions[] = {
    [CL_ALIGNMENT] = {"module_alignment", "where the modules are, against the geometry",
                      &trg_alignment, TRG_CONDITION_OPTIONAL},
    [CL_DEAD_CHANNELS] = {"dead_pixels", "pixels that are dead or noisy: they count as not fired",
                          &trg_dead_channels, TRG_CONDITION_OPTIONAL},
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
    .destroy = cl_destroy,
    .submit = cl_submit,
    .collect = cl_collect,
    .flags = TRG_PLUGIN_DEVICE_INPUT | TRG_PLUGIN_DEVICE_COLUMNS,
    .device_output = cl_device_output,
};
