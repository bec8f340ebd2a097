/* SPDX-License-Identifier: Apache-2.0 */
/* tut_own - missing transverse energy of a collection of its own. */
#include "trigd/common/lane.h"
#include "tut_own.program.h"

#include <math.h>
#include <stdlib.h>

#include "tut_own.collections.h"
#include "tut_own.h"

struct trg_algo {
    struct tut_own_config config;
    struct trg_device_info device;
    struct trg_module *module;
    struct trg_kernel *run;
    struct buffers buffers; /* all that follow */
    struct trg_buffer *sums[TRG_SLOTS_MAX], *sums_host[TRG_SLOTS_MAX];
};

static void tut_own_destroy(struct trg_algo *a)
{
    if (!a)
        return;
    buffers_free(&a->buffers);
    trg_module_free(a->module);
    free(a);
}

static int tut_own_create(const struct trg_host *host, const void *config,
                          struct trg_device *device, const struct trg_limits *limits,
                          struct trg_algo **ret_algo)
{
    const size_t bytes = 3 * sizeof(uint32_t) * limits->max_rois;
    struct trg_algo *a = calloc(1, sizeof *a);
    int r;

    (void)host;
    if (!a)
        return -ENOMEM;
    a->config = *(const struct tut_own_config *)config;
    trg_device_info(device, &a->device);
    r = trg_module_new(device, &tut_own_program, NULL, &a->module);
    if (r == 0)
        r = trg_kernel_get(a->module, "tut_own_sum", &a->run);
    for (uint32_t s = 0; r == 0 && s < limits->slots; s++) {
        const struct buffer_wish list[] = {{TRG_MEM_DEVICE, bytes, &a->sums[s]},
                                           {TRG_MEM_PINNED, bytes, &a->sums_host[s]}};

        r = buffers_new(&a->buffers, device, list, 2);
    }
    if (r == 0)
        *ret_algo = a;
    else
        tut_own_destroy(a);
    return r;
}

static int tut_own_submit(struct trg_algo *a, const struct trg_batch *b, struct trg_queue *q)
{
    const size_t bytes = 3 * sizeof(uint32_t) * b->n_rois;
    const struct tut_own_par par = {b->in[0].span, a->config.quality_max};
    struct launcher l = launcher_on(q, &a->device);

    launcher_clear(&l, a->sums[b->slot], bytes);
    LAUNCH(&l, a->run, b->n_rois, 64, par, b->in[0].dev, a->sums[b->slot]);
    launcher_read(&l, a->sums_host[b->slot], a->sums[b->slot], bytes);
    return l.result;
}

static int tut_own_collect(struct trg_algo *a, struct trg_batch *b)
{
    const uint32_t *sums = trg_buffer_host(a->sums_host[b->slot]);

    for (uint32_t r = 0; r < b->n_rois; r++) {
        const double x = (int32_t)sums[3 * r], y = (int32_t)sums[3 * r + 1];

        b->results[r].value[0] = (float)(sqrt(x * x + y * y) * 0.001);
        b->results[r].value[1] = (float)sums[3 * r + 2];
    }
    return 0;
}

static const struct trg_param params[] = {{"quality_max", TRG_PARAM_U32,
                                           offsetof(struct tut_own_config, quality_max), "1", 0, 3,
                                           "", NULL, "cells with a larger number are left out"},
                                          {0}};
static const struct trg_value values[] = {
    {"met_gev", "GeV", "missing transverse energy"}, {"n_cells", "", "cells in it"}, {0}};
TRG_PLUGIN_EXPORT const struct trg_plugin trg_plugin;
const struct trg_plugin trg_plugin = {TRG_PLUGIN_INIT,
                                      .name = "tut_own",
                                      .version = "1.0.0",
                                      .summary = "missing transverse energy of cells",
                                      .consumes = {&trg_cells},
                                      .backends = "cpu opencl cuda",
                                      .params = params,
                                      .values = values,
                                      .config_size = sizeof(struct tut_own_config),
                                      .create = tut_own_create,
                                      .destroy = tut_own_destroy,
                                      .submit = tut_own_submit,
                                      .collect = tut_own_collect};
