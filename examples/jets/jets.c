/* SPDX-License-Identifier: Apache-2.0 */
/* jets - anti-kt jets of calorimeter towers: collections of its own in and out. */
#include "jets.program.h"
#include "trigd/common/lane.h"

#include <stdlib.h>

#include "jets.collections.h"
#include "jets.h"

struct jet { /* as the kernel writes it */
    float pt, y, phi, mass, n_towers;
};

struct trg_algo {
    struct jets_config config;
    struct trg_device_info device;
    struct trg_module *module;
    struct trg_kernel *find;
    struct buffers buffers; /* all that follow */
    struct trg_buffer *state[TRG_SLOTS_MAX], *near[TRG_SLOTS_MAX];
    struct trg_buffer *out[TRG_SLOTS_MAX], *out_host[TRG_SLOTS_MAX];
};

static void jets_destroy(struct trg_algo *a)
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
    const size_t items = limits->max_items;
    const size_t out = 4 * limits->max_rois + sizeof(struct jet) * items;
    const struct buffer_wish list[] = {{TRG_MEM_DEVICE, 4 * JETS_STATE * items, &a->state[s]},
                                       {TRG_MEM_DEVICE, 4 * items, &a->near[s]},
                                       {TRG_MEM_DEVICE, out, &a->out[s]},
                                       {TRG_MEM_PINNED, out, &a->out_host[s]}};

    return buffers_new(&a->buffers, device, list, 4);
}

static int jets_create(const struct trg_host *host, const void *config, struct trg_device *device,
                       const struct trg_limits *limits, struct trg_algo **ret_algo)
{
    struct trg_algo *a = calloc(1, sizeof *a);
    int r;

    (void)host;
    if (!a)
        return -ENOMEM;
    a->config = *(const struct jets_config *)config;
    trg_device_info(device, &a->device);
    r = trg_module_new(device, &jets_program, NULL, &a->module);
    if (r == 0)
        r = trg_kernel_get(a->module, "jets_find", &a->find);
    for (uint32_t s = 0; r == 0 && s < limits->slots; s++)
        r = make_slot(a, device, limits, s);
    if (r == 0)
        *ret_algo = a;
    else
        jets_destroy(a);
    return r;
}

static int jets_submit(struct trg_algo *a, const struct trg_batch *b, struct trg_queue *q)
{
    const struct jets_par par = {b->in[0].span, a->config.radius * a->config.radius,
                                 a->config.pt_min_gev};
    struct launcher l = launcher_on(q, &a->device);

    LAUNCH(&l, a->find, b->n_rois, JETS_GROUP, par, b->in[0].dev, a->state[b->slot],
           a->near[b->slot], a->out[b->slot]);
    launcher_read(&l, a->out_host[b->slot], a->out[b->slot],
                  4 * (size_t)b->n_rois + sizeof(struct jet) * b->in[0].span.n_items);
    return l.result;
}

static int harder(const void *left, const void *right)
{
    const float l = ((const struct jet *)left)->pt, r = ((const struct jet *)right)->pt;

    return (l < r) - (l > r);
}

static int jets_collect(struct trg_algo *a, struct trg_batch *b)
{
    const uint32_t *first = (const void *)(b->in[0].host + b->in[0].span.offsets);
    const float *counts = trg_buffer_host(a->out_host[b->slot]);
    struct jet *all = (void *)((float *)trg_buffer_host(a->out_host[b->slot]) + b->n_rois);

    for (uint32_t r = 0; r < b->n_rois; r++) {
        struct trg_output *out = &b->outputs[0][r];
        struct jet *jets = all + first[r];
        const uint32_t n = (uint32_t)counts[r];

        qsort(jets, n, sizeof *jets, harder);
        b->results[r].value[0] = counts[r];
        b->results[r].value[1] = n > 0 ? jets[0].pt : 0;
        out->n = n < out->capacity ? n : out->capacity;
        for (uint32_t k = 0; k < out->n; k++) {
            TRG_JETS_PT_OF(out)[k] = jets[k].pt;
            TRG_JETS_Y_OF(out)[k] = jets[k].y;
            TRG_JETS_PHI_OF(out)[k] = jets[k].phi;
            TRG_JETS_MASS_OF(out)[k] = jets[k].mass;
            TRG_JETS_N_TOWERS_OF(out)[k] = (uint32_t)jets[k].n_towers;
        }
    }
    return 0;
}

static const struct trg_param params[] = {
    {"radius", TRG_PARAM_F32, offsetof(struct jets_config, radius), "0.4", 0.1, 1.5, "", NULL,
     "R: distance in rapidity and azimuth"},
    {"pt_min_gev", TRG_PARAM_F32, offsetof(struct jets_config, pt_min_gev), "10", 0, 1000, "GeV",
     NULL, "least transverse momentum of a jet"},
    {0}};
static const struct trg_value values[] = {{"n_jets", "", "jets above pt_min_gev"},
                                          {"pt_lead_gev", "GeV", "pT of the hardest jet, or 0"},
                                          {0}};
static const struct trg_room room[] = {{"jets", .in = {{.factor = {.number = 1}}}}, {0}};
TRG_PLUGIN_EXPORT const struct trg_plugin trg_plugin;
const struct trg_plugin trg_plugin = {TRG_PLUGIN_INIT,
                                      .name = "jets",
                                      .version = "1.0.0",
                                      .summary = "anti-kt jets of towers",
                                      .consumes = {&trg_towers},
                                      .produces = {&trg_jets},
                                      .room = room,
                                      .backends = "cpu opencl cuda",
                                      .params = params,
                                      .values = values,
                                      .config_size = sizeof(struct jets_config),
                                      .create = jets_create,
                                      .destroy = jets_destroy,
                                      .submit = jets_submit,
                                      .collect = jets_collect};
