/* SPDX-License-Identifier: Apache-2.0 */
/* tut_two - counts doublets that point to the beam spot: two inputs. */
#include "trigd/common/lane.h"
#include "tut_two.program.h"

#include <stdlib.h>

#include "tut_two.h"

struct trg_algo {
    struct tut_two_config config;
    struct trg_device_info device;
    struct trg_module *module;
    struct trg_kernel *run;
    struct buffers buffers; /* all that follow */
    struct trg_buffer *sums[TRG_SLOTS_MAX], *sums_host[TRG_SLOTS_MAX];
};

static void tut_two_destroy(struct trg_algo *a)
{
    if (!a)
        return;
    buffers_free(&a->buffers);
    trg_module_free(a->module);
    free(a);
}

static int tut_two_create(const struct trg_host *host, const void *config,
                          struct trg_device *device, const struct trg_limits *limits,
                          struct trg_algo **ret_algo)
{
    const size_t bytes = 2 * sizeof(uint32_t) * limits->max_rois;
    struct trg_algo *a = calloc(1, sizeof *a);
    int r;

    (void)host;
    if (!a)
        return -ENOMEM;
    a->config = *(const struct tut_two_config *)config;
    trg_device_info(device, &a->device);
    r = trg_module_new(device, &tut_two_program, NULL, &a->module);
    if (r == 0)
        r = trg_kernel_get(a->module, "tut_two_count", &a->run);
    for (uint32_t s = 0; r == 0 && s < limits->slots; s++) {
        const struct buffer_wish list[] = {{TRG_MEM_DEVICE, bytes, &a->sums[s]},
                                           {TRG_MEM_PINNED, bytes, &a->sums_host[s]}};

        r = buffers_new(&a->buffers, device, list, 2);
    }
    if (r == 0)
        *ret_algo = a;
    else
        tut_two_destroy(a);
    return r;
}

static int tut_two_submit(struct trg_algo *a, const struct trg_batch *b, struct trg_queue *q)
{
    const size_t bytes = 2 * sizeof(uint32_t) * b->n_rois;
    const struct tut_two_par par = {b->in[0].span, b->in[1].span, a->config.z_max_mm};
    struct launcher l = launcher_on(q, &a->device);

    launcher_clear(&l, a->sums[b->slot], bytes);
    LAUNCH(&l, a->run, b->n_rois, 64, par, b->in[0].dev, b->in[1].dev, a->sums[b->slot]);
    launcher_read(&l, a->sums_host[b->slot], a->sums[b->slot], bytes);
    return l.result;
}

static int tut_two_collect(struct trg_algo *a, struct trg_batch *b)
{
    const uint32_t *counts = trg_buffer_host(a->sums_host[b->slot]);

    for (uint32_t r = 0; r < b->n_rois; r++) {
        b->results[r].value[0] = (float)counts[2 * r];
        b->results[r].value[1] = (float)counts[2 * r + 1];
    }
    return 0;
}

static const struct trg_param params[] = {
    {"z_max_mm", TRG_PARAM_F32, offsetof(struct tut_two_config, z_max_mm), "150", 0, 5000, "mm",
     NULL, "how far from z = 0 a doublet may point"},
    {0}};
static const struct trg_value values[] = {
    {"n_pointing", "", "doublets that point to the beam spot"},
    {"n_bad", "", "doublets of hits that are not there"},
    {0}};
TRG_PLUGIN_EXPORT const struct trg_plugin trg_plugin;
const struct trg_plugin trg_plugin = {TRG_PLUGIN_INIT,
                                      .name = "tut_two",
                                      .version = "1.0.0",
                                      .summary = "counts doublets that point to the beam spot",
                                      .consumes = {&trg_hits, &trg_doublets},
                                      .backends = "cpu opencl cuda",
                                      .params = params,
                                      .values = values,
                                      .config_size = sizeof(struct tut_two_config),
                                      .create = tut_two_create,
                                      .destroy = tut_two_destroy,
                                      .submit = tut_two_submit,
                                      .collect = tut_two_collect};
