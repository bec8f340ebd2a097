/* SPDX-License-Identifier: Apache-2.0 */
/* tut_histogram - a histogram in shared memory. */
#include "trigd/common/lane.h"
#include "tut_histogram.program.h"

#include <stdlib.h>

#include "tut_histogram.h"

struct trg_algo {
    struct tut_histogram_config config;
    struct trg_device_info device;
    struct trg_module *module;
    struct trg_kernel *run;
    struct buffers buffers; /* all that follow */
    struct trg_buffer *sums[TRG_SLOTS_MAX], *sums_host[TRG_SLOTS_MAX];
};

static void tut_histogram_destroy(struct trg_algo *a)
{
    if (!a)
        return;
    buffers_free(&a->buffers);
    trg_module_free(a->module);
    free(a);
}

static int tut_histogram_create(const struct trg_host *host, const void *config,
                                struct trg_device *device, const struct trg_limits *limits,
                                struct trg_algo **ret_algo)
{
    const size_t bytes = 1 * sizeof(uint32_t) * limits->max_rois;
    struct trg_algo *a = calloc(1, sizeof *a);
    int r;

    (void)host;
    if (!a)
        return -ENOMEM;
    a->config = *(const struct tut_histogram_config *)config;
    trg_device_info(device, &a->device);
    r = trg_module_new(device, &tut_histogram_program, NULL, &a->module);
    if (r == 0)
        r = trg_kernel_get(a->module, "tut_histogram_peak", &a->run);
    for (uint32_t s = 0; r == 0 && s < limits->slots; s++) {
        const struct buffer_wish list[] = {{TRG_MEM_DEVICE, bytes, &a->sums[s]},
                                           {TRG_MEM_PINNED, bytes, &a->sums_host[s]}};

        r = buffers_new(&a->buffers, device, list, 2);
    }
    if (r == 0)
        *ret_algo = a;
    else
        tut_histogram_destroy(a);
    return r;
}

static int tut_histogram_submit(struct trg_algo *a, const struct trg_batch *b, struct trg_queue *q)
{
    const size_t bytes = 1 * sizeof(uint32_t) * b->n_rois;
    const struct tut_histogram_par par = {b->in[0].span, a->config.bin_mm};
    struct launcher l = launcher_on(q, &a->device);

    launcher_clear(&l, a->sums[b->slot], bytes);
    LAUNCH(&l, a->run, b->n_rois, 64, par, b->in[0].dev, a->sums[b->slot]);
    launcher_read(&l, a->sums_host[b->slot], a->sums[b->slot], bytes);
    return l.result;
}

static int tut_histogram_collect(struct trg_algo *a, struct trg_batch *b)
{
    const uint32_t *peaks = trg_buffer_host(a->sums_host[b->slot]);

    for (uint32_t r = 0; r < b->n_rois; r++) {
        const uint32_t n = peaks[r] >> 8, bin = 255u - (peaks[r] & 255u);

        b->results[r].value[0] = (float)n;
        b->results[r].value[1] = n ? ((float)bin - 127.5f) * a->config.bin_mm : 0.0f;
    }
    return 0;
}

static const struct trg_param params[] = {{"bin_mm", TRG_PARAM_F32,
                                           offsetof(struct tut_histogram_config, bin_mm), "10", 0.1,
                                           1000, "mm", NULL, "width of a bin"},
                                          {0}};
static const struct trg_value values[] = {{"n_peak", "", "spacepoints in the highest bin"},
                                          {"z_peak_mm", "mm", "middle of the highest bin"},
                                          {0}};
TRG_PLUGIN_EXPORT const struct trg_plugin trg_plugin;
const struct trg_plugin trg_plugin = {TRG_PLUGIN_INIT,
                                      .name = "tut_histogram",
                                      .version = "1.0.0",
                                      .summary = "highest bin of z",
                                      .consumes = {&trg_spacepoints},
                                      .backends = "cpu opencl cuda",
                                      .params = params,
                                      .values = values,
                                      .config_size = sizeof(struct tut_histogram_config),
                                      .create = tut_histogram_create,
                                      .destroy = tut_histogram_destroy,
                                      .submit = tut_histogram_submit,
                                      .collect = tut_histogram_collect};
