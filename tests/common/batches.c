/* SPDX-License-Identifier: Apache-2.0 */
#include "batches.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

struct slot {
    struct trg_queue *queue;
    struct trg_event *reached;
    struct trg_buffer *host[TRG_INPUTS_MAX], *dev[TRG_INPUTS_MAX]; /* one buffer on the CPU */
    struct trg_batch batch;
    struct trg_roi_info *infos;
    struct trg_output *outputs[TRG_OUTPUTS_MAX];
    uint32_t first; /* RoI of the work that is the batch's first */
};

struct batches {
    struct batches_setup s;
    uint32_t n_inputs, n_outputs;
    struct trg_algo *algo;
    bool is_host;
    struct slot slot[BATCHES_SLOTS_MAX];
    struct stage_source *sources[TRG_INPUTS_MAX]; /* [max_rois] each */
};

/* ---------------------------------------------------------------- products */

void products_fini(struct products *p)
{
    for (uint32_t k = 0; k < TRG_OUTPUTS_MAX; k++)
        for (uint32_t c = 0; c < TRG_COLUMNS_MAX; c++)
            free(p->of[k].column[c]);
    memset(p, 0, sizeof *p);
}

void products_free(struct products *p, uint32_t n)
{
    for (uint32_t i = 0; p && i < n; i++)
        products_fini(&p[i]);
    free(p);
}

static int product_reserve(struct product *p, enum trg_kind kind, uint32_t room)
{
    const struct trg_kind_info *info = trg_kind_info(kind);

    if (p->room > room)
        return 0;
    p->room = 0;
    for (uint32_t c = 0; c < info->n_columns; c++) {
        free(p->column[c]);
        p->column[c] = calloc(room + (size_t)1, trg_type_size(info->column[c].type));
        if (!p->column[c])
            return -ENOMEM;
    }
    p->room = room + 1u;
    return 0;
}

/* ---------------------------------------------------------------- opening */

static int open_buffers(struct batches *b, struct slot *s)
{
    int r = 0;

    for (uint32_t k = 0; r == 0 && k < b->n_inputs; k++) {
        size_t bytes = stage_bytes(b->s.plugin->consumes[k], b->s.max_rois, b->s.max_items);

        r = trg_buffer_new(b->s.device, TRG_MEM_PINNED, bytes, &s->host[k]);
        s->dev[k] = s->host[k];
        if (r == 0 && !b->is_host)
            r = trg_buffer_new(b->s.device, TRG_MEM_DEVICE, bytes, &s->dev[k]);
    }
    return r;
}

static int open_slot(struct batches *b, uint32_t number)
{
    struct slot *s = &b->slot[number];
    int r;

    s->infos = calloc(b->s.max_rois, sizeof *s->infos);
    if (!s->infos)
        return -ENOMEM;
    s->batch = (struct trg_batch){.slot = number, .rois = s->infos};
    for (uint32_t k = 0; k < b->n_outputs; k++) {
        s->outputs[k] = calloc(b->s.max_rois, sizeof *s->outputs[k]);
        if (!s->outputs[k])
            return -ENOMEM;
        s->batch.outputs[k] = s->outputs[k];
    }
    r = trg_queue_new(b->s.device, &s->queue);
    if (r == 0)
        r = trg_event_new(b->s.device, &s->reached);
    return r < 0 ? r : open_buffers(b, s);
}

int batches_open(const struct batches_setup *setup, struct batches **ret_batches)
{
    const struct trg_limits limits = {.size = sizeof limits,
                                      .slots = setup->slots,
                                      .max_rois = setup->max_rois,
                                      .max_items = setup->max_items,
                                      .max_items_roi = setup->max_items};
    struct batches *b = calloc(1, sizeof *b);
    struct trg_device_info info;
    int r = setup->slots && setup->slots <= BATCHES_SLOTS_MAX ? 0 : -EINVAL;

    if (!b)
        return -ENOMEM;
    b->s = *setup;
    trg_device_info(setup->device, &info);
    b->is_host = info.is_host != 0;
    while (b->n_inputs < TRG_INPUTS_MAX && setup->plugin->consumes[b->n_inputs])
        b->n_inputs++;
    while (b->n_outputs < TRG_OUTPUTS_MAX && setup->plugin->produces[b->n_outputs])
        b->n_outputs++;
    for (uint32_t k = 0; r == 0 && k < b->n_inputs; k++) {
        b->sources[k] = calloc(setup->max_rois, sizeof *b->sources[k]);
        r = b->sources[k] ? 0 : -ENOMEM;
    }
    for (uint32_t i = 0; r == 0 && i < setup->slots; i++)
        r = open_slot(b, i);
    if (r == 0)
        r = setup->plugin->create(setup->host, setup->config, setup->device, &limits, &b->algo);
    if (r < 0) {
        batches_close(b);
        return r;
    }
    *ret_batches = b;
    return 0;
}

static void close_slot(struct slot *s)
{
    trg_event_free(s->reached);
    trg_queue_free(s->queue);
    for (uint32_t k = 0; k < TRG_INPUTS_MAX; k++) {
        if (s->dev[k] != s->host[k])
            trg_buffer_free(s->dev[k]);
        trg_buffer_free(s->host[k]);
    }
    for (uint32_t k = 0; k < TRG_OUTPUTS_MAX; k++)
        free(s->outputs[k]);
    free(s->infos);
}

void batches_close(struct batches *b)
{
    if (!b)
        return;
    b->s.plugin->destroy(b->algo);
    for (uint32_t i = 0; i < BATCHES_SLOTS_MAX; i++)
        close_slot(&b->slot[i]);
    for (uint32_t k = 0; k < TRG_INPUTS_MAX; k++)
        free(b->sources[k]);
    free(b);
}

/* ---------------------------------------------------------------- a batch */

/* Takes RoI i as the k-th of the batch; false when its items do not fit any more. */
static bool take(struct batches *b, struct slot *s, const struct batches_work *w, uint32_t i,
                 uint32_t k, uint64_t *items)
{
    struct stage_source sources[TRG_INPUTS_MAX] = {{0}};

    s->infos[k] = (struct trg_roi_info){0};
    w->input(w->rois, i, sources, &s->infos[k]);
    for (uint32_t in = 0; in < b->n_inputs; in++)
        if (items[in] + sources[in].n > b->s.max_items)
            return false;
    for (uint32_t in = 0; in < b->n_inputs; in++) {
        items[in] += sources[in].n;
        b->sources[in][k] = sources[in];
    }
    return true;
}

/* Where the products of the k-th RoI of the batch go; none where nobody wants them. */
static int make_room(struct batches *b, struct slot *s, struct products *products, uint32_t k)
{
    uint32_t n_in[TRG_INPUTS_MAX] = {0}, n_out[TRG_OUTPUTS_MAX] = {0};
    int r = 0;

    for (uint32_t in = 0; in < b->n_inputs; in++)
        n_in[in] = b->sources[in][k].n;
    if (products && b->n_outputs)
        b->s.plugin->output_items(b->s.config, n_in, n_out);
    for (uint32_t out = 0; r == 0 && out < b->n_outputs; out++) {
        struct trg_output *o = &s->outputs[out][k];

        *o = (struct trg_output){.capacity = n_out[out]};
        if (!products)
            continue;
        r = product_reserve(&products->of[out], b->s.plugin->produces[out], n_out[out]);
        memcpy(o->column, products->of[out].column, sizeof o->column);
    }
    return r;
}

static int stage_inputs(struct batches *b, struct slot *s)
{
    int r = 0;

    for (uint32_t k = 0; r == 0 && k < b->n_inputs; k++) {
        struct trg_input *in = &s->batch.in[k];
        size_t bytes;

        in->kind = b->s.plugin->consumes[k];
        in->host = trg_buffer_host(s->host[k]);
        in->dev = s->dev[k];
        bytes = stage_fill(in->kind, s->batch.n_rois, s->infos, b->sources[k],
                           trg_buffer_host(s->host[k]), &in->span);
        if (!b->is_host)
            r = trg_write(s->queue, s->dev[k], 0, s->host[k], 0, bytes);
    }
    return r;
}

/* Begins the batch that starts with RoI `first`; returns how many it took, or an error. */
static int begin(struct batches *b, struct slot *s, const struct batches_work *w, uint32_t first)
{
    uint64_t items[TRG_INPUTS_MAX] = {0};
    uint32_t n = 0;
    int r = 0;

    while (r == 0 && n < b->s.max_rois && first + n < w->n && take(b, s, w, first + n, n, items)) {
        r = make_room(b, s, w->products ? &w->products[first + n] : NULL, n);
        n++;
    }
    if (r < 0 || !n)
        return r < 0 ? r : -E2BIG;
    s->first = first;
    s->batch.n_rois = n;
    s->batch.results = w->results + first;
    memset(s->batch.results, 0, n * sizeof *s->batch.results);
    r = stage_inputs(b, s);
    if (r == 0)
        r = b->s.plugin->submit(b->algo, &s->batch, s->queue);
    if (r == 0)
        r = trg_event_record(s->queue, s->reached);
    if (r == 0)
        r = trg_flush(s->queue);
    return r < 0 ? r : (int)n;
}

static int end(struct batches *b, struct slot *s, const struct batches_work *w)
{
    int r = trg_event_wait(s->reached);

    if (r == 0)
        r = b->s.plugin->collect(b->algo, &s->batch);
    for (uint32_t i = 0; r == 0 && w->products && i < s->batch.n_rois; i++)
        for (uint32_t k = 0; k < b->n_outputs; k++)
            w->products[s->first + i].of[k].n = s->outputs[k][i].n;
    return r;
}

int batches_run(struct batches *b, const struct batches_work *work)
{
    uint32_t next = 0, begun = 0, ended = 0;
    int r = 0;

    while (r >= 0 && (next < work->n || ended < begun)) {
        if (next < work->n && begun - ended < b->s.slots) {
            r = begin(b, &b->slot[begun++ % b->s.slots], work, next);
            next += r < 0 ? 0 : (uint32_t)r;
        } else {
            r = end(b, &b->slot[ended++ % b->s.slots], work);
        }
    }
    for (uint32_t i = 0; r < 0 && i < b->s.slots; i++)
        trg_finish(b->slot[i].queue); /* what it says is less than the error that came first */
    return r < 0 ? r : 0;
}
