/* SPDX-License-Identifier: Apache-2.0 */
/* nothing - takes spacepoints and does nothing with them: what the daemon itself costs. */
#include <stdlib.h>

#include "trigd/plugin.h"

struct trg_algo {
    uint64_t batches; /* it has to have something */
};

static int nothing_create(const struct trg_host *host, const void *config,
                          struct trg_device *device, const struct trg_limits *limits,
                          struct trg_algo **ret_algo)
{
    struct trg_algo *a = calloc(1, sizeof *a);

    (void)host;
    (void)config;
    (void)device;
    (void)limits;
    if (!a)
        return -ENOMEM;
    *ret_algo = a;
    return 0;
}

static void nothing_destroy(struct trg_algo *a)
{
    free(a);
}

static int nothing_submit(struct trg_algo *a, const struct trg_batch *b, struct trg_queue *q)
{
    (void)b;
    (void)q;
    a->batches++;
    return 0;
}

/* Reports what came in, so that a test can see that it did. */
static int nothing_collect(struct trg_algo *a, struct trg_batch *b)
{
    const struct trg_input *in = &b->in[0];
    const uint32_t *first = (const uint32_t *)(const void *)(in->host + in->span.offsets);

    (void)a;
    for (uint32_t i = 0; i < b->n_rois; i++)
        b->results[i].value[0] = (float)(first[i + 1] - first[i]);
    return 0;
}

static const struct trg_value values[] = {{"n_points", "", "spacepoints of the RoI"}, {0}};

TRG_PLUGIN_EXPORT const struct trg_plugin trg_plugin;
const struct trg_plugin trg_plugin = {TRG_PLUGIN_INIT,
                                      .name = "nothing",
                                      .version = "1.0.0",
                                      .summary = "takes spacepoints and does nothing",
                                      .consumes = {&trg_spacepoints},
                                      .backends = "cpu opencl cuda",
                                      .flags = TRG_PLUGIN_DEVICE_COLUMNS,
                                      .cost = {.batch_us = 100000, .item_ns = 200},
                                      .values = values,
                                      .create = nothing_create,
                                      .destroy = nothing_destroy,
                                      .submit = nothing_submit,
                                      .collect = nothing_collect};
