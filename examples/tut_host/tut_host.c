/* SPDX-License-Identifier: Apache-2.0 */
/* tut_host - counts spacepoints inside a radius on the CPU: a plugin without kernels. */
#include "trigd/plugin.h"

#include <stdlib.h>

struct tut_host_config {
    float rho_max_mm;
};

struct trg_algo {
    struct tut_host_config config;
};

static int tut_host_create(const struct trg_host *host, const void *config,
                           struct trg_device *device, const struct trg_limits *limits,
                           struct trg_algo **ret_algo)
{
    struct trg_algo *a = calloc(1, sizeof *a);

    (void)host, (void)device, (void)limits;
    if (!a)
        return -ENOMEM;
    a->config = *(const struct tut_host_config *)config;
    *ret_algo = a;
    return 0;
}

static void tut_host_destroy(struct trg_algo *a)
{
    free(a);
}

static int tut_host_submit(struct trg_algo *a, const struct trg_batch *b, struct trg_queue *q)
{
    (void)a, (void)b, (void)q; /* no kernel: all is done in collect */
    return 0;
}

static int tut_host_collect(struct trg_algo *a, struct trg_batch *b)
{
    const struct trg_input *in = &b->in[0];
    const uint32_t *first = (const void *)(in->host + in->span.offsets);
    const float *rho = (const void *)(in->host + in->span.column[TRG_SPACEPOINTS_RHO_COLUMN]);

    for (uint32_t r = 0; r < b->n_rois; r++) {
        uint32_t n = 0;

        for (uint32_t i = first[r]; i < first[r + 1]; i++)
            n += rho[i] < a->config.rho_max_mm;
        b->results[r].value[0] = (float)n;
    }
    return 0;
}

static const struct trg_param params[] = {
    {"rho_max_mm", TRG_PARAM_F32, offsetof(struct tut_host_config, rho_max_mm), "100", 0, 2000,
     "mm", NULL, "spacepoints closer to the beam line than this are counted"},
    {0}};
static const struct trg_value values[] = {{"n_inner", "", "spacepoints inside the radius"}, {0}};
TRG_PLUGIN_EXPORT const struct trg_plugin trg_plugin;
const struct trg_plugin trg_plugin = {TRG_PLUGIN_INIT,
                                      .name = "tut_host",
                                      .version = "1.0.0",
                                      .summary = "counts inner spacepoints on the CPU",
                                      .consumes = {&trg_spacepoints},
                                      .backends = "cpu",
                                      .params = params,
                                      .values = values,
                                      .config_size = sizeof(struct tut_host_config),
                                      .create = tut_host_create,
                                      .destroy = tut_host_destroy,
                                      .submit = tut_host_submit,
                                      .collect = tut_host_collect};
