/* SPDX-License-Identifier: Apache-2.0 */
/* A plugin without kernels that is right but for one defect, chosen when it is built by
 * BROKEN_NAME.  It counts the items of an RoI, and produces a vertex for each item. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "trigd/plugin.h"

#define STRING_(x) #x
#define STRING(x)  STRING_(x)
#define IS(defect) (!strcmp(STRING(BROKEN_NAME), "broken_" defect))

struct trg_algo {
    struct trg_device *device;
    struct trg_buffer *buffer[2];
    uint32_t n_batches;
};

static void broken_destroy(struct trg_algo *a)
{
    if (!a)
        return;
    if (!IS("destroy"))
        trg_buffer_free(a->buffer[0]);
    trg_buffer_free(a->buffer[1]);
    free(a);
}

static int broken_create(const struct trg_host *host, const void *config, struct trg_device *device,
                         const struct trg_limits *limits, struct trg_algo **ret_algo)
{
    struct trg_algo *a = calloc(1, sizeof *a);
    int r;

    (void)host;
    (void)config;
    (void)limits;
    if (!a)
        return -ENOMEM;
    a->device = device;
    r = trg_buffer_new(device, TRG_MEM_DEVICE, 64, &a->buffer[0]);
    if (r == 0)
        r = trg_buffer_new(device, TRG_MEM_PINNED, 64, &a->buffer[1]);
    if (r < 0 && IS("ignore"))
        r = 0;
    if (r < 0 && IS("leak")) {
        free(a);
        return r;
    }
    if (r < 0) {
        broken_destroy(a);
        return r;
    }
    *ret_algo = a;
    return 0;
}

static int broken_submit(struct trg_algo *a, const struct trg_batch *b, struct trg_queue *q)
{
    struct trg_buffer *more = NULL;

    (void)b;
    (void)q;
    a->n_batches++;
    if (IS("allocate") && trg_buffer_new(a->device, TRG_MEM_DEVICE, 64, &more) == 0)
        trg_buffer_free(more);
    if (IS("submit") && b->n_rois > 1)
        return -EIO;
    return 0;
}

/* What is wrong with the answer for RoI i. */
static void spoil(struct trg_algo *a, struct trg_batch *b, uint32_t i, uint32_t n)
{
    struct trg_result *r = &b->results[i];
    struct trg_device_info info;

    trg_device_info(a->device, &info);
    if (IS("backend") && !strcmp(info.backend, "opencl"))
        r->value[0] += 0.5f;
    if (IS("order"))
        r->value[0] += (float)i; /* depends on the place in the batch */
    if (IS("repeat"))
        r->value[0] += (float)a->n_batches; /* remembers what was before */
    if (IS("status"))
        r->status = 7;
    if (IS("empty") && !n)
        r->status = TRG_FAILED;
    if (IS("nan") && !n)
        r->value[0] = NAN;
    if (IS("truncated") && n > 100) {
        r->status = TRG_TRUNCATED; /* and does not say how much */
    }
    if (IS("beyond") && i + 1 == b->n_rois)
        b->results[b->n_rois].value[0] = 1;
    if (IS("capacity"))
        b->outputs[0][i].n = n + 1;
    if (IS("overrun"))
        ((float *)b->outputs[0][i].column[3])[n] = 1;
    if (IS("input") && n)
        ((unsigned char *)(size_t)b->in[0].host)[b->in[0].span.column[0]] ^= 1;
}

static int broken_collect(struct trg_algo *a, struct trg_batch *b)
{
    const uint32_t *first = (const uint32_t *)(const void *)(b->in[0].host + b->in[0].span.offsets);

    for (uint32_t i = 0; i < b->n_rois; i++) {
        uint32_t n = first[i + 1] - first[i], written = IS("unwritten") && n ? n - 1 : n;

        b->results[i].value[0] = (float)n;
        b->outputs[0][i].n = n;
        for (uint32_t k = 0; k < written; k++)
            for (uint32_t c = 0; c < TRG_VERTICES_COLUMNS; c++)
                ((float *)b->outputs[0][i].column[c])[k] = (float)k;
        spoil(a, b, i, n);
    }
    return 0;
}

static const struct trg_room product_room[] = {{"vertices", .in = {{.factor = {.number = 1}}}},
                                               {0}};
static const struct trg_value values[] = {{"n_items", "", "items of the RoI"}, {0}};

TRG_PLUGIN_EXPORT const struct trg_plugin trg_plugin;
const struct trg_plugin trg_plugin = {TRG_PLUGIN_INIT,
                                      .name = STRING(BROKEN_NAME),
                                      .version = "1.0.0",
                                      .summary = "right but for one defect",
                                      .consumes = {&trg_spacepoints},
                                      .produces = {&trg_vertices},
                                      .backends = "cpu opencl",
                                      .values = values,
                                      .room = product_room,
                                      .cost = {BROKEN_COST_US, 0, BROKEN_ITEM_NS},
                                      .create = broken_create,
                                      .destroy = broken_destroy,
                                      .submit = broken_submit,
                                      .collect = broken_collect};
