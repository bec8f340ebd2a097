/* SPDX-License-Identifier: Apache-2.0 */
/* tut_steps - slopes of spacepoints, which stay on the device for the next step. */
#include "trigd/common/lane.h"
#include "tut_steps.program.h"

#include <stdlib.h>

#include "tut_steps.collections.h"
#include "tut_steps.h"

struct trg_algo {
    struct trg_device_info device;
    struct trg_module *module;
    struct trg_kernel *slopes;
    struct block block;     /* where the product's parts lie in its buffers */
    struct buffers buffers; /* all that follow */
    struct trg_buffer *out[TRG_SLOTS_MAX], *out_host[TRG_SLOTS_MAX];
};

static void tut_steps_destroy(struct trg_algo *a)
{
    if (!a)
        return;
    buffers_free(&a->buffers);
    trg_module_free(a->module);
    free(a);
}

static int tut_steps_create(const struct trg_host *host, const void *config,
                            struct trg_device *device, const struct trg_limits *limits,
                            struct trg_algo **ret_algo)
{
    struct trg_algo *a = calloc(1, sizeof *a);
    int r;

    (void)host, (void)config;
    if (!a)
        return -ENOMEM;
    a->block = block_place(&trg_slopes, limits->max_rois, limits->max_items);
    trg_device_info(device, &a->device);
    r = trg_module_new(device, &tut_steps_program, NULL, &a->module);
    if (r == 0)
        r = trg_kernel_get(a->module, "tut_steps_slopes", &a->slopes);
    for (uint32_t s = 0; r == 0 && s < limits->slots; s++) {
        const struct buffer_wish list[] = {{TRG_MEM_DEVICE, a->block.bytes, &a->out[s]},
                                           {TRG_MEM_PINNED, a->block.bytes, &a->out_host[s]}};

        r = buffers_new(&a->buffers, device, list, 2);
    }
    if (r == 0)
        *ret_algo = a;
    else
        tut_steps_destroy(a);
    return r;
}

static int tut_steps_submit(struct trg_algo *a, const struct trg_batch *b, struct trg_queue *q)
{
    const struct trg_input *in = &b->in[0];
    const struct tut_steps_par par = {in->span, a->block.span};
    struct launcher l = launcher_on(q, &a->device);
    struct trg_buffer *out = a->out[b->slot];

    /* the windows and the offsets are those of the input, for a slope belongs to a spacepoint */
    block_copy_rois(&a->block, &l, b, out);
    if (l.result == 0)
        l.result = trg_copy(q, out, a->block.span.offsets, in->dev, in->span.offsets,
                            4 * (b->n_rois + (size_t)1));
    LAUNCH(&l, a->slopes, b->n_rois, 64, par, in->dev, out);
    if (block_is_wanted(b, 0)) /* a step on the host reads it */
        block_read(&a->block, &l, b->n_rois, in->span.n_items, out, a->out_host[b->slot]);
    return l.result;
}

static int tut_steps_collect(struct trg_algo *a, struct trg_batch *b)
{
    const uint32_t *first = (const void *)(b->in[0].host + b->in[0].span.offsets);

    for (uint32_t r = 0; r < b->n_rois; r++) {
        struct trg_output *out = &b->outputs[0][r];

        b->results[r].value[0] = (float)(first[r + 1] - first[r]);
        if (out->capacity)
            block_store(&a->block, trg_buffer_host(a->out_host[b->slot]), r, out);
    }
    return 0;
}

static int tut_steps_device_output(struct trg_algo *a, uint32_t slot, uint32_t k,
                                   struct trg_input *ret)
{
    (void)k;
    *ret =
        (struct trg_input){.collection = &trg_slopes, .span = a->block.span, .dev = a->out[slot]};
    return 0;
}

static const struct trg_value values[] = {{"n_slopes", "", "slopes of the product"}, {0}};
static const struct trg_room room[] = {{"slopes", .in = {{.factor = {.number = 1}}}}, {0}};
TRG_PLUGIN_EXPORT const struct trg_plugin trg_plugin;
const struct trg_plugin trg_plugin = {TRG_PLUGIN_INIT,
                                      .name = "tut_steps",
                                      .version = "1.0.0",
                                      .summary = "slopes of spacepoints",
                                      .consumes = {&trg_spacepoints},
                                      .produces = {&trg_slopes},
                                      .room = room,
                                      .backends = "cpu opencl cuda",
                                      .values = values,
                                      .create = tut_steps_create,
                                      .destroy = tut_steps_destroy,
                                      .submit = tut_steps_submit,
                                      .collect = tut_steps_collect,
                                      .device_output = tut_steps_device_output};
