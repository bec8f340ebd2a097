/* SPDX-License-Identifier: Apache-2.0 */
/* counting - reads seeds on the host: how many, and whether one is what no tower could have made.
 */
#include "trigd/plugin.h"
#include <stdlib.h>

#include "counting.collections.h"

struct trg_algo {
    uint32_t unused;
};

static int counting_create(const struct trg_host *host, const void *config,
                           struct trg_device *device, const struct trg_limits *limits,
                           struct trg_algo **ret_algo)
{
    (void)host, (void)config, (void)device, (void)limits;
    *ret_algo = calloc(1, sizeof **ret_algo);
    return *ret_algo ? 0 : -ENOMEM;
}

static void counting_destroy(struct trg_algo *a)
{
    free(a);
}

static int counting_submit(struct trg_algo *a, const struct trg_batch *b, struct trg_queue *q)
{
    (void)a, (void)b, (void)q;
    return 0;
}

static int counting_collect(struct trg_algo *a, struct trg_batch *b)
{
    const struct trg_input *in = &b->in[0];
    const uint32_t *first = (const void *)(in->host + in->span.offsets);
    const uint32_t *tower = (const void *)(in->host + in->span.column[TRG_SEEDS_TOWER_COLUMN]);
    const uint32_t *et = (const void *)(in->host + in->span.column[TRG_SEEDS_ET_MEV_COLUMN]);

    (void)a;
    for (uint32_t i = 0; i < b->n_rois; i++) {
        uint32_t wrong = 0;

        for (uint32_t s = first[i]; s < first[i + 1]; s++)
            wrong += et[s] > 50000 || (s > first[i] && tower[s] <= tower[s - 1]);
        b->results[i].value[0] = (float)(first[i + 1] - first[i]);
        b->results[i].value[1] = (float)wrong;
    }
    return 0;
}

static const struct trg_value values[] = {
    {"n_seeds", "", "seeds"}, {"n_wrong", "", "seeds that cannot be"}, {0}};
TRG_PLUGIN_EXPORT const struct trg_plugin trg_plugin;
const struct trg_plugin trg_plugin = {
    TRG_PLUGIN_INIT,           .name = "counting",         .version = "1.0.0",
    .summary = "counts seeds", .consumes = {&trg_seeds},   .backends = "cpu opencl cuda",
    .values = values,          .create = counting_create,  .destroy = counting_destroy,
    .submit = counting_submit, .collect = counting_collect};
