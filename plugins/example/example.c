/* SPDX-License-Identifier: Apache-2.0 */
/* example - counts spacepoints inside a radius: the plugin to copy. */
#include "example.program.h"
#include "trigd/plugin.h"
#include <stdlib.h>

#include "example.h"

struct trg_algo {
    struct example_config config;
    struct trg_module *module;
    struct trg_kernel *count;
    struct trg_buffer *counts[TRG_SLOTS_MAX]; /* one a batch in flight */
    struct trg_buffer *counts_host[TRG_SLOTS_MAX];
};

static void example_destroy(struct trg_algo *a)
{
    if (!a)
        return;
    for (uint32_t s = 0; s < TRG_SLOTS_MAX; s++) {
        trg_buffer_free(a->counts[s]);
        trg_buffer_free(a->counts_host[s]);
    }
    trg_module_free(a->module);
    free(a);
}

static int example_create(const struct trg_host *host, const void *config,
                          struct trg_device *device, const struct trg_limits *limits,
                          struct trg_algo **ret_algo)
{
    const size_t bytes = limits->max_rois * sizeof(uint32_t);
    struct trg_algo *a = calloc(1, sizeof *a);
    int r;

    (void)host;
    if (!a)
        return -ENOMEM;
    a->config = *(const struct example_config *)config;
    r = trg_module_new(device, &example_program, NULL, &a->module);
    if (r == 0)
        r = trg_kernel_get(a->module, "example_count", &a->count);
    for (uint32_t s = 0; r == 0 && s < limits->slots; s++) {
        r = trg_buffer_new(device, TRG_MEM_DEVICE, bytes, &a->counts[s]);
        if (r == 0)
            r = trg_buffer_new(device, TRG_MEM_PINNED, bytes, &a->counts_host[s]);
    }
    if (r == 0)
        *ret_algo = a;
    else
        example_destroy(a); /* takes half-built objects */
    return r;
}

static int example_submit(struct trg_algo *a, const struct trg_batch *b, struct trg_queue *q)
{
    const size_t bytes = b->n_rois * sizeof(uint32_t);
    struct trg_buffer *counts = a->counts[b->slot];
    const struct example_par par = {b->in[0].span, a->config.rho_max_mm};
    const struct trg_arg args[] = {TRG_BUF(b->in[0].dev), TRG_BUF(counts), TRG_VAL(par)};
    int r = trg_fill(q, counts, 0, bytes, 0);

    if (r == 0)
        r = trg_launch(q, a->count, (struct trg_range){b->n_rois, 64}, args, 3);
    if (r == 0)
        r = trg_read(q, a->counts_host[b->slot], 0, counts, 0, bytes);
    return r;
}

static int example_collect(struct trg_algo *a, struct trg_batch *b)
{
    const uint32_t *counts = trg_buffer_host(a->counts_host[b->slot]);

    for (uint32_t i = 0; i < b->n_rois; i++)
        b->results[i].value[0] = (float)counts[i];
    return 0;
}

static const struct trg_param params[] = {
    {"rho_max_mm", TRG_PARAM_F32, offsetof(struct example_config, rho_max_mm), "100", 0, 2000, "mm",
     NULL, "spacepoints closer to the beam line than this are counted"},
    {0}};
static const struct trg_value values[] = {{"n_inner", "", "spacepoints inside the radius"}, {0}};
TRG_PLUGIN_EXPORT const struct trg_plugin trg_plugin;
const struct trg_plugin trg_plugin = {TRG_PLUGIN_INIT,
                                      .name = "example",
                                      .version = "1.0.0",
                                      .summary = "counts inner spacepoints",
                                      .consumes = {&trg_spacepoints},
                                      .backends = "cpu opencl cuda",
                                      .cost = {.batch_us = 100000, .item_ns = 200},
                                      .params = params,
                                      .values = values,
                                      .config_size = sizeof(struct example_config),
                                      .create = example_create,
                                      .destroy = example_destroy,
                                      .submit = example_submit,
                                      .collect = example_collect};
