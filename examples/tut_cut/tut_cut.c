/* SPDX-License-Identifier: Apache-2.0 */
/* tut_cut - keeps spacepoints between two radii: a plugin with a product. */
#include "trigd/common/lane.h"
#include "tut_cut.program.h"

#include <stdio.h>
#include <stdlib.h>

#include "tut_cut.h"

struct trg_algo {
    struct tut_cut_config config;
    struct trg_device_info device;
    struct trg_module *module;
    struct trg_kernel *pick;
    struct buffers buffers; /* all that follow */
    struct trg_buffer *picked[TRG_SLOTS_MAX], *picked_host[TRG_SLOTS_MAX];
    struct trg_buffer *counts[TRG_SLOTS_MAX], *counts_host[TRG_SLOTS_MAX];
};

static int tut_cut_check(const void *config, char *why, size_t why_bytes)
{
    const struct tut_cut_config *c = config;

    if (c->rho_min_mm < c->rho_max_mm)
        return 0;
    snprintf(why, why_bytes, "rho_min_mm is %g; it must be below rho_max_mm, which is %g",
             (double)c->rho_min_mm, (double)c->rho_max_mm);
    return -EINVAL;
}

static void tut_cut_destroy(struct trg_algo *a)
{
    if (!a)
        return;
    buffers_free(&a->buffers);
    trg_module_free(a->module);
    free(a);
}

static int make_slot(struct trg_algo *a, struct trg_device *device, const struct trg_limits *limits,
                     uint32_t s)
{
    const size_t counts = 4 * (size_t)limits->max_rois, picked = 4 * (size_t)limits->max_items;
    const struct buffer_wish list[] = {{TRG_MEM_DEVICE, picked, &a->picked[s]},
                                       {TRG_MEM_PINNED, picked, &a->picked_host[s]},
                                       {TRG_MEM_DEVICE, counts, &a->counts[s]},
                                       {TRG_MEM_PINNED, counts, &a->counts_host[s]}};

    return buffers_new(&a->buffers, device, list, 4);
}

static int tut_cut_create(const struct trg_host *host, const void *config,
                          struct trg_device *device, const struct trg_limits *limits,
                          struct trg_algo **ret_algo)
{
    struct trg_algo *a = calloc(1, sizeof *a);
    int r;

    (void)host;
    if (!a)
        return -ENOMEM;
    a->config = *(const struct tut_cut_config *)config;
    trg_device_info(device, &a->device);
    r = trg_module_new(device, &tut_cut_program, NULL, &a->module);
    if (r == 0)
        r = trg_kernel_get(a->module, "tut_cut_pick", &a->pick);
    for (uint32_t s = 0; r == 0 && s < limits->slots; s++)
        r = make_slot(a, device, limits, s);
    if (r == 0)
        *ret_algo = a;
    else
        tut_cut_destroy(a);
    return r;
}

static int tut_cut_submit(struct trg_algo *a, const struct trg_batch *b, struct trg_queue *q)
{
    const struct tut_cut_par par = {b->in[0].span, a->config.rho_min_mm, a->config.rho_max_mm};
    struct launcher l = launcher_on(q, &a->device);

    LAUNCH(&l, a->pick, b->n_rois, 64, par, b->in[0].dev, a->picked[b->slot], a->counts[b->slot]);
    launcher_read(&l, a->counts_host[b->slot], a->counts[b->slot], 4 * (size_t)b->n_rois);
    if (b->in[0].span.n_items)
        launcher_read(&l, a->picked_host[b->slot], a->picked[b->slot],
                      4 * (size_t)b->in[0].span.n_items);
    return l.result;
}

/* Copies the spacepoints with the numbers picked[0 .. n - 1] to the product. */
static void store(const struct trg_input *in, const uint32_t *picked, uint32_t n,
                  struct trg_output *out)
{
    const unsigned char *layer = in->host + in->span.column[TRG_SPACEPOINTS_LAYER_COLUMN];

    for (uint32_t i = 0; i < n; i++)
        TRG_SPACEPOINTS_LAYER_OF(out)[i] = layer[picked[i]];
    for (uint32_t c = 0; c < TRG_SPACEPOINTS_LAYER_COLUMN; c++) { /* the others are floats */
        const float *from = (const void *)(in->host + in->span.column[c]);

        for (uint32_t i = 0; i < n; i++)
            ((float *)out->column[c])[i] = from[picked[i]];
    }
    out->n = n;
}

static int tut_cut_collect(struct trg_algo *a, struct trg_batch *b)
{
    const struct trg_input *in = &b->in[0];
    const uint32_t *first = (const void *)(in->host + in->span.offsets);
    const uint32_t *counts = trg_buffer_host(a->counts_host[b->slot]);
    const uint32_t *picked = trg_buffer_host(a->picked_host[b->slot]);

    for (uint32_t r = 0; r < b->n_rois; r++) {
        struct trg_output *out = &b->outputs[0][r];
        struct trg_result *result = &b->results[r];
        const uint32_t most = a->config.max_points;

        result->wanted = counts[r];
        result->kept = counts[r] < most ? counts[r] : most;
        result->status = counts[r] > most ? TRG_TRUNCATED : TRG_OK;
        result->value[0] = (float)result->kept;
        if (out->capacity) /* a later step reads the product */
            store(in, picked + first[r], result->kept, out);
    }
    return 0;
}

static const struct trg_param params[] = {
    {"rho_min_mm", TRG_PARAM_F32, offsetof(struct tut_cut_config, rho_min_mm), "30", 0, 2000, "mm",
     NULL, "least distance from the beam line"},
    {"rho_max_mm", TRG_PARAM_F32, offsetof(struct tut_cut_config, rho_max_mm), "100", 0, 2000, "mm",
     NULL, "largest distance from the beam line"},
    {"max_points", TRG_PARAM_U32, offsetof(struct tut_cut_config, max_points), "1000", 1, 100000,
     "", NULL, "most spacepoints that are kept of one RoI"},
    {0}};
static const struct trg_value values[] = {{"n_kept", "", "spacepoints of the product"}, {0}};
static const struct trg_room room[] = {/* at most one for each input, and at most max_points */
                                       {"spacepoints", .cap = {.plus = "max_points"},
                                        .in = {{.factor = {.number = 1}}}},
                                       {0}};
TRG_PLUGIN_EXPORT const struct trg_plugin trg_plugin;
const struct trg_plugin trg_plugin = {TRG_PLUGIN_INIT,
                                      .name = "tut_cut",
                                      .version = "1.0.0",
                                      .summary = "keeps spacepoints between two radii",
                                      .consumes = {&trg_spacepoints},
                                      .produces = {&trg_spacepoints},
                                      .room = room,
                                      .backends = "cpu opencl cuda",
                                      .params = params,
                                      .values = values,
                                      .config_size = sizeof(struct tut_cut_config),
                                      .check = tut_cut_check,
                                      .create = tut_cut_create,
                                      .destroy = tut_cut_destroy,
                                      .submit = tut_cut_submit,
                                      .collect = tut_cut_collect};
