/* SPDX-License-Identifier: Apache-2.0 */
/* tut_steps_count - counts slopes that an earlier step left on the device. */
#include "trigd/common/lane.h"
#include "tut_steps_count.program.h"

#include <stdlib.h>

#include "tut_steps_count.collections.h"
#include "tut_steps_count.h"

struct trg_algo {
    struct tut_steps_count_config config;
    struct trg_device_info device;
    struct trg_module *module;
    struct trg_kernel *run;
    struct buffers buffers; /* all that follow */
    struct trg_buffer *sums[TRG_SLOTS_MAX], *sums_host[TRG_SLOTS_MAX];
};

static void tut_steps_count_destroy(struct trg_algo *a)
{
    if (!a)
        return;
    buffers_free(&a->buffers);
    trg_module_free(a->module);
    free(a);
}

static int tut_steps_count_create(const struct trg_host *host, const void *config,
                                  struct trg_device *device, const struct trg_limits *limits,
                                  struct trg_algo **ret_algo)
{
    const size_t bytes = 1 * sizeof(uint32_t) * limits->max_rois;
    struct trg_algo *a = calloc(1, sizeof *a);
    int r;

    (void)host;
    if (!a)
        return -ENOMEM;
    a->config = *(const struct tut_steps_count_config *)config;
    trg_device_info(device, &a->device);
    r = trg_module_new(device, &tut_steps_count_program, NULL, &a->module);
    if (r == 0)
        r = trg_kernel_get(a->module, "tut_steps_count_run", &a->run);
    for (uint32_t s = 0; r == 0 && s < limits->slots; s++) {
        const struct buffer_wish list[] = {{TRG_MEM_DEVICE, bytes, &a->sums[s]},
                                           {TRG_MEM_PINNED, bytes, &a->sums_host[s]}};

        r = buffers_new(&a->buffers, device, list, 2);
    }
    if (r == 0)
        *ret_algo = a;
    else
        tut_steps_count_destroy(a);
    return r;
}

static int tut_steps_count_submit(struct trg_algo *a, const struct trg_batch *b,
                                  struct trg_queue *q)
{
    const size_t bytes = 1 * sizeof(uint32_t) * b->n_rois;
    const struct tut_steps_count_par par = {b->in[0].span, a->config.cot_max};
    struct launcher l = launcher_on(q, &a->device);

    launcher_clear(&l, a->sums[b->slot], bytes);
    LAUNCH(&l, a->run, b->n_rois, 64, par, b->in[0].dev, a->sums[b->slot]);
    launcher_read(&l, a->sums_host[b->slot], a->sums[b->slot], bytes);
    return l.result;
}

static int tut_steps_count_collect(struct trg_algo *a, struct trg_batch *b)
{
    const uint32_t *counts = trg_buffer_host(a->sums_host[b->slot]);

    for (uint32_t r = 0; r < b->n_rois; r++)
        b->results[r].value[0] = (float)counts[r];
    return 0;
}

static const struct trg_param params[] = {{"cot_max", TRG_PARAM_F32,
                                           offsetof(struct tut_steps_count_config, cot_max), "1", 0,
                                           100, "", NULL, "largest slope that counts"},
                                          {0}};
static const struct trg_value values[] = {{"n_central", "", "slopes that count"}, {0}};
TRG_PLUGIN_EXPORT const struct trg_plugin trg_plugin;
const struct trg_plugin trg_plugin = {TRG_PLUGIN_INIT,
                                      .name = "tut_steps_count",
                                      .version = "1.0.0",
                                      .summary = "counts slopes",
                                      .consumes = {&trg_slopes},
                                      .backends = "cpu opencl cuda",
                                      .params = params,
                                      .values = values,
                                      .config_size = sizeof(struct tut_steps_count_config),
                                      .flags = TRG_PLUGIN_DEVICE_INPUT,
                                      .create = tut_steps_count_create,
                                      .destroy = tut_steps_count_destroy,
                                      .submit = tut_steps_count_submit,
                                      .collect = tut_steps_count_collect};
