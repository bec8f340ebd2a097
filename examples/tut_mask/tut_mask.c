/* SPDX-License-Identifier: Apache-2.0 */
/* tut_mask - counts spacepoints outside of masked layers: a plugin with a condition. */
#include "tut_mask.collections.h"
#include "tut_mask.program.h"

#include "trigd/common/lane.h"

#include <stdlib.h>

#include "tut_mask.h"

struct trg_algo {
    struct trg_device_info device;
    struct trg_module *module;
    struct trg_kernel *count;
    struct buffers buffers; /* those that follow */
    struct trg_buffer *counts[TRG_SLOTS_MAX], *counts_host[TRG_SLOTS_MAX];
};

static void tut_mask_destroy(struct trg_algo *a)
{
    if (!a)
        return;
    buffers_free(&a->buffers);
    trg_module_free(a->module);
    free(a);
}

static int tut_mask_create(const struct trg_host *host, const void *config,
                           struct trg_device *device, const struct trg_limits *limits,
                           struct trg_algo **ret_algo)
{
    const size_t bytes = 4 * (size_t)limits->max_rois;
    struct trg_algo *a = calloc(1, sizeof *a);
    int r;

    (void)host;
    (void)config;
    if (!a)
        return -ENOMEM;
    trg_device_info(device, &a->device);
    r = trg_module_new(device, &tut_mask_program, NULL, &a->module);
    if (r == 0)
        r = trg_kernel_get(a->module, "tut_mask_count", &a->count);
    for (uint32_t s = 0; r == 0 && s < limits->slots; s++) {
        const struct buffer_wish list[] = {{TRG_MEM_DEVICE, bytes, &a->counts[s]},
                                           {TRG_MEM_PINNED, bytes, &a->counts_host[s]}};

        r = buffers_new(&a->buffers, device, list, 2);
    }
    if (r == 0)
        *ret_algo = a;
    else
        tut_mask_destroy(a);
    return r;
}

static int tut_mask_submit(struct trg_algo *a, const struct trg_batch *b, struct trg_queue *q)
{
    const struct trg_input *mask = &b->condition[0]; /* in force for all RoIs of the batch */
    const struct tut_mask_par par = {b->in[0].span, mask->span};
    const size_t bytes = 4 * (size_t)b->n_rois;
    struct launcher l = launcher_on(q, &a->device);

    launcher_clear(&l, a->counts[b->slot], bytes);
    LAUNCH(&l, a->count, b->n_rois, 64, par, b->in[0].dev, mask->dev, a->counts[b->slot]);
    launcher_read(&l, a->counts_host[b->slot], a->counts[b->slot], bytes);
    return l.result;
}

static int tut_mask_collect(struct trg_algo *a, struct trg_batch *b)
{
    const uint32_t *counts = trg_buffer_host(a->counts_host[b->slot]);

    for (uint32_t i = 0; i < b->n_rois; i++)
        b->results[i].value[0] = (float)counts[i];
    return 0;
}

static const struct trg_condition conditions[] = {
    {"mask", "layers that are not looked at", &trg_masked_layers, 0}, {0}};
static const struct trg_value values[] = {{"n_points", "", "spacepoints of other layers"}, {0}};
TRG_PLUGIN_EXPORT const struct trg_plugin trg_plugin;
const struct trg_plugin trg_plugin = {TRG_PLUGIN_INIT,
                                      .name = "tut_mask",
                                      .version = "1.0.0",
                                      .summary = "counts spacepoints outside of masked layers",
                                      .consumes = {&trg_spacepoints},
                                      .backends = "cpu opencl cuda",
                                      .values = values,
                                      .conditions = conditions,
                                      .create = tut_mask_create,
                                      .destroy = tut_mask_destroy,
                                      .submit = tut_mask_submit,
                                      .collect = tut_mask_collect};
