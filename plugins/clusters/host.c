/* SPDX-License-Identifier: Apache-2.0 */
#include "host.h"

#include <stdlib.h>

#include "alignment.h"

/* ---------------------------------------------------------------- set-up */

static int open_slot(struct cl_host *h, struct trg_device *d, uint32_t arrays, struct cl_slot *s)
{
    const size_t n = h->limits.max_rois;
    const struct buffer_wish list[] = {
        {TRG_MEM_DEVICE, (size_t)arrays * h->room * 4, &s->work},
        {TRG_MEM_DEVICE, CL_STATE_WORDS(n) * 4, &s->state},
        {TRG_MEM_DEVICE, n * sizeof(struct cl_summary), &s->summaries},
        {TRG_MEM_DEVICE, h->out[CL_HITS].bytes, &s->out[CL_HITS]},
        {TRG_MEM_DEVICE, h->out[CL_CLUSTERS].bytes, &s->out[CL_CLUSTERS]},
        {TRG_MEM_PINNED, n * sizeof(struct cl_summary), &s->summaries_host},
        {TRG_MEM_PINNED, h->out[CL_HITS].bytes, &s->out_host[CL_HITS]},
        {TRG_MEM_PINNED, h->out[CL_CLUSTERS].bytes, &s->out_host[CL_CLUSTERS]},
    };

    return buffers_new(&h->buffers, d, list, sizeof list / sizeof *list);
}

int cl_host_open(struct cl_host *h, struct trg_device *device, const struct trg_limits *limits,
                 const struct cl_host_setup *setup)
{
    int r;

    h->limits = *limits;
    trg_device_info(device, &h->device);
    h->room = (limits->max_items + 63u) & ~63u;
    h->hits_per_item = setup->hits_per_item;
    h->product[CL_HITS] = setup->hits;
    h->product[CL_CLUSTERS] = setup->clusters;
    for (uint32_t k = 0; k < CL_PRODUCTS; k++)
        h->out[k] =
            block_place(h->product[k], limits->max_rois, setup->hits_per_item * limits->max_items);
    r = trg_module_new(device, setup->program, NULL, &h->module);
    if (r == 0)
        r = trg_kernel_get(h->module, setup->kernel, &h->find);
    for (uint32_t i = 0; r == 0 && i < limits->slots; i++)
        r = open_slot(h, device, setup->arrays, &h->slot[i]);
    return r;
}

void cl_host_close(struct cl_host *h)
{
    buffers_free(&h->buffers);
    trg_module_free(h->module);
    free(h->nominal);
}

static int open_sensors(struct cl_host *h, struct trg_device *device, struct cl_slot *s)
{
    const size_t bytes = h->n_sensors * sizeof *h->nominal;
    const struct buffer_wish pinned = {TRG_MEM_PINNED, bytes, &s->sensors_host};
    int r = buffers_new(&h->buffers, device, &pinned, 1);

    return r < 0 ? r : buffers_upload(&h->buffers, device, h->nominal, bytes, &s->sensors);
}

int cl_host_geometry(struct cl_host *h, struct trg_device *device, const struct geometry *g)
{
    int r;

    h->nominal = calloc(g->n_sensors, sizeof *h->nominal);
    if (!h->nominal)
        return -ENOMEM;
    h->n_sensors = g->n_sensors;
    h->middle[0] = (g->centre[0] + g->centre[g->n_columns - 1u]) / 2;
    h->middle[1] = g->row_pitch * (float)g->n_rows / 2;
    for (uint32_t i = 0; i < g->n_sensors; i++) {
        const struct geometry_sensor *s = &g->sensor[i];

        h->nominal[i].layer = s->layer;
        memcpy(h->nominal[i].column, s->column, sizeof s->column);
        memcpy(h->nominal[i].row, s->row, sizeof s->row);
        memcpy(h->nominal[i].corner, s->corner, sizeof s->corner);
    }
    r = buffers_upload(&h->buffers, device, g->centre, (g->n_columns + 1u) * sizeof *g->centre,
                       &h->centres);
    for (uint32_t i = 0; r == 0 && i < h->limits.slots; i++)
        r = open_sensors(h, device, &h->slot[i]);
    return r;
}

/* Has the sensors of a slot where the batch's conditions say. */
static int align(struct cl_host *h, const struct trg_batch *b, struct trg_queue *q)
{
    const size_t bytes = h->n_sensors * sizeof *h->nominal;
    struct cl_slot *s = &h->slot[b->slot];

    if (b->condition_key[0] == s->alignment)
        return 0;
    memcpy(trg_buffer_host(s->sensors_host), h->nominal, bytes);
    if (b->condition[0].collection)
        alignment_apply(&b->condition[0], h->middle, trg_buffer_host(s->sensors_host),
                        h->n_sensors);
    s->alignment = b->condition_key[0];
    return trg_write(q, s->sensors, 0, s->sensors_host, 0, bytes);
}

int cl_host_device_output(struct cl_host *h, uint32_t slot, uint32_t k, struct trg_input *ret)
{
    if (k >= CL_PRODUCTS)
        return -EINVAL;
    *ret = (struct trg_input){
        .collection = h->product[k], .span = h->out[k].span, .dev = h->slot[slot].out[k]};
    return 0;
}

/* ---------------------------------------------------------------- one batch */

int cl_host_submit(struct cl_host *h, const struct trg_batch *b, struct trg_queue *q,
                   struct trg_arg par)
{
    struct cl_slot *s = &h->slot[b->slot];
    struct launcher l = launcher_on(q, &h->device);
    struct trg_buffer *const buffers[] = {b->in[0].dev,    s->sensors,         h->centres,
                                          s->work,         s->state,           s->summaries,
                                          s->out[CL_HITS], s->out[CL_CLUSTERS]};
    const uint32_t most = h->hits_per_item * b->in[0].span.n_items;

    l.result = align(h, b, q);
    for (uint32_t k = 0; k < CL_PRODUCTS; k++)
        block_copy_rois(&h->out[k], &l, b, s->out[k]);
    launcher_clear(&l, s->state, 4 * (size_t)CL_STATE_WORDS(b->n_rois));
    launcher_run(&l, h->find, (struct trg_range){b->n_rois, CL_GROUP}, par, buffers,
                 sizeof buffers / sizeof *buffers);
    for (uint32_t k = 0; k < CL_PRODUCTS; k++) {
        s->is_read[k] = most && block_is_wanted(b, k);
        if (s->is_read[k])
            block_read(&h->out[k], &l, b->n_rois, most, s->out[k], s->out_host[k]);
    }
    launcher_read(&l, s->summaries_host, s->summaries, b->n_rois * sizeof(struct cl_summary));
    return l.result;
}

int cl_host_collect(struct cl_host *h, struct trg_batch *b)
{
    const struct cl_slot *s = &h->slot[b->slot];
    const struct cl_summary *sums = trg_buffer_host(s->summaries_host);

    for (uint32_t i = 0; i < b->n_rois; i++) {
        struct trg_result *r = &b->results[i];

        r->value[CL_VALUE_HITS] = (float)sums[i].n_clusters;
        r->value[CL_VALUE_ITEMS] = (float)sums[i].n_items;
        r->value[CL_VALUE_BAD] = (float)sums[i].n_bad;
        r->value[CL_VALUE_PIXELS] = (float)sums[i].n_pixels;
        for (uint32_t k = 0; k < CL_PRODUCTS; k++)
            if (s->is_read[k])
                block_store(&h->out[k], trg_buffer_host(s->out_host[k]), i, &b->outputs[k][i]);
            else if (b->outputs[k])
                b->outputs[k][i].n = 0;
    }
    return 0;
}
