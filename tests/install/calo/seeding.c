/* SPDX-License-Identifier: Apache-2.0 */
/* seeding - sums towers on the device and on the host, and makes seeds of those above a threshold.
 */
#include "seeding.program.h"
#include "trigd/plugin.h"
#include <stdlib.h>

#include "seeding.collections.h"
#include "seeding.h"

#define FAILING 49999u /* a threshold with which every RoI fails and goes to the debug stream */

struct trg_algo {
    struct seeding_config config;
    struct trg_module *module;
    struct trg_kernel *sum;
    struct trg_buffer *sums[TRG_SLOTS_MAX], *sums_host[TRG_SLOTS_MAX];
};

static void seeding_destroy(struct trg_algo *a)
{
    if (!a)
        return;
    for (uint32_t s = 0; s < TRG_SLOTS_MAX; s++) {
        trg_buffer_free(a->sums[s]);
        trg_buffer_free(a->sums_host[s]);
    }
    trg_module_free(a->module);
    free(a);
}

static int seeding_create(const struct trg_host *host, const void *config,
                          struct trg_device *device, const struct trg_limits *limits,
                          struct trg_algo **ret_algo)
{
    const size_t bytes = limits->max_rois * sizeof(uint32_t);
    struct trg_algo *a = calloc(1, sizeof *a);
    int r;

    (void)host;
    if (!a)
        return -ENOMEM;
    a->config = *(const struct seeding_config *)config;
    r = trg_module_new(device, &seeding_program, NULL, &a->module);
    if (r == 0)
        r = trg_kernel_get(a->module, "seeding_sum", &a->sum);
    for (uint32_t s = 0; r == 0 && s < limits->slots; s++) {
        r = trg_buffer_new(device, TRG_MEM_DEVICE, bytes, &a->sums[s]);
        if (r == 0)
            r = trg_buffer_new(device, TRG_MEM_PINNED, bytes, &a->sums_host[s]);
    }
    if (r == 0)
        *ret_algo = a;
    else
        seeding_destroy(a);
    return r;
}

static int seeding_submit(struct trg_algo *a, const struct trg_batch *b, struct trg_queue *q)
{
    const size_t bytes = b->n_rois * sizeof(uint32_t);
    const struct seeding_par par = {b->in[0].span};
    const struct trg_arg args[] = {TRG_BUF(b->in[0].dev), TRG_BUF(a->sums[b->slot]), TRG_VAL(par)};
    int r = trg_fill(q, a->sums[b->slot], 0, bytes, 0);

    if (r == 0)
        r = trg_launch(q, a->sum, (struct trg_range){b->n_rois, 64}, args, 3);
    if (r == 0)
        r = trg_read(q, a->sums_host[b->slot], 0, a->sums[b->slot], 0, bytes);
    return r;
}

/* The same sum as the kernel's, over the towers of one RoI. */
static uint32_t host_sum(const struct trg_input *in, uint32_t from, uint32_t to)
{
    const uint16_t *et = (const void *)(in->host + in->span.column[TRG_TOWERS_ET_MEV_COLUMN]);
    const int8_t *eta = (const void *)(in->host + in->span.column[TRG_TOWERS_ETA_COLUMN]);
    const uint16_t *layers =
        (const void *)(in->host + in->span.column[TRG_TOWERS_SAMPLINGS_COLUMN]);
    uint32_t sum = 0;

    for (uint32_t i = from; i < to; i++) {
        sum += et[i] + (uint32_t)(eta[i] + 100);
        for (uint32_t k = 0; k < 3; k++)
            sum += (uint32_t)trg_f16_value(layers[3 * i + k]);
    }
    return sum;
}

static int seeding_collect(struct trg_algo *a, struct trg_batch *b)
{
    const struct trg_input *in = &b->in[0];
    const uint32_t *first = (const void *)(in->host + in->span.offsets);
    const uint16_t *et = (const void *)(in->host + in->span.column[TRG_TOWERS_ET_MEV_COLUMN]);
    const uint32_t *sums = trg_buffer_host(a->sums_host[b->slot]);

    for (uint32_t i = 0; i < b->n_rois; i++) {
        struct trg_output *out = &b->outputs[0][i];
        const uint32_t most = a->config.max_seeds;
        uint32_t n = 0;

        for (uint32_t t = first[i]; t < first[i + 1]; t++) {
            if (et[t] < a->config.threshold_mev || n == most)
                continue;
            if (n < out->capacity) {
                TRG_SEEDS_TOWER_OF(out)[n] = t - first[i];
                TRG_SEEDS_ET_MEV_OF(out)[n] = et[t];
            }
            n++;
        }
        out->n = n < out->capacity ? n : out->capacity;
        b->results[i].value[0] = (float)(sums[i] != host_sum(in, first[i], first[i + 1]));
        b->results[i].value[1] = (float)n;
        b->results[i].status = a->config.threshold_mev == FAILING ? TRG_FAILED : TRG_OK;
    }
    return 0;
}

static const struct trg_param params[] = {
    {"max_seeds", TRG_PARAM_U32, offsetof(struct seeding_config, max_seeds), "100", 1, 4096, "",
     NULL, "seeds of an RoI"},
    {"threshold_mev", TRG_PARAM_U32, offsetof(struct seeding_config, threshold_mev), "50", 0, 50000,
     "MeV", NULL, "least transverse energy of a seed"},
    {0}};
static const struct trg_value values[] = {
    {"mismatch", "", "1: device and host do not agree"}, {"n_seeds", "", "seeds"}, {0}};
static const struct trg_room room[] = {
    {"seeds", .cap = {.plus = "max_seeds"}, .in = {{.factor = {.number = 1}}}}, {0}};
TRG_PLUGIN_EXPORT const struct trg_plugin trg_plugin;
const struct trg_plugin trg_plugin = {TRG_PLUGIN_INIT,
                                      .name = "seeding",
                                      .version = "1.0.0",
                                      .summary = "seeds of towers",
                                      .consumes = {&trg_towers},
                                      .produces = {&trg_seeds},
                                      .room = room,
                                      .backends = "cpu opencl cuda",
                                      .params = params,
                                      .values = values,
                                      .config_size = sizeof(struct seeding_config),
                                      .create = seeding_create,
                                      .destroy = seeding_destroy,
                                      .submit = seeding_submit,
                                      .collect = seeding_collect};
