/* SPDX-License-Identifier: Apache-2.0 */
#include "host.h"

#include <stdlib.h>

#include "alignment.h"

#define DEAD_BYTES (CL_DEAD_ROWS * sizeof(struct cl_dead))

/* ---------------------------------------------------------------- set-up */

static int open_slot(struct trg_algo *a, struct trg_device *d, uint32_t arrays, struct cl_slot *s)
{
    const size_t n = a->limits.max_rois;
    const struct buffer_wish list[] = {
        {TRG_MEM_DEVICE, (size_t)arrays * a->par.room * 4, &s->work},
        {TRG_MEM_DEVICE, CL_STATE_WORDS(n) * 4, &s->state},
        {TRG_MEM_DEVICE, n * sizeof(struct cl_summary), &s->summaries},
        {TRG_MEM_DEVICE, a->out[CL_HITS].bytes, &s->out[CL_HITS]},
        {TRG_MEM_DEVICE, a->out[CL_CLUSTERS].bytes, &s->out[CL_CLUSTERS]},
        {TRG_MEM_PINNED, n * sizeof(struct cl_summary), &s->summaries_host},
        {TRG_MEM_PINNED, a->out[CL_HITS].bytes, &s->out_host[CL_HITS]},
        {TRG_MEM_PINNED, a->out[CL_CLUSTERS].bytes, &s->out_host[CL_CLUSTERS]},
        {TRG_MEM_DEVICE, a->masked.bytes, &s->masked},
        {TRG_MEM_DEVICE, n * sizeof(struct cl_summary), &s->masks},
        {TRG_MEM_PINNED, n * sizeof(struct cl_summary), &s->masks_host},
        {TRG_MEM_DEVICE, DEAD_BYTES, &s->dead},
        {TRG_MEM_PINNED, DEAD_BYTES, &s->dead_host},
    };

    return buffers_new(&a->buffers, d, list, sizeof list / sizeof *list);
}

static int open_slots(struct trg_algo *a, struct trg_device *device, const struct cl_setup *setup)
{
    const struct trg_limits *limits = &a->limits;
    const struct kernel_wish list[] = {{setup->kernel, &a->find}, {setup->mask, &a->mask}};
    int r;

    trg_device_info(device, &a->device);
    a->par.room = (limits->max_items + 63u) & ~63u;
    a->hits_per_item = setup->hits_per_item;
    a->product[CL_HITS] = setup->hits;
    a->product[CL_CLUSTERS] = setup->clusters;
    for (uint32_t k = 0; k < CL_PRODUCTS; k++)
        a->out[k] =
            block_place(a->product[k], limits->max_rois, setup->hits_per_item * limits->max_items);
    a->masked = block_place(setup->items, limits->max_rois, limits->max_items);
    a->dead_rows = calloc(CL_DEAD_ROWS, sizeof *a->dead_rows);
    a->par.hits = a->out[CL_HITS].span;
    a->par.clusters = a->out[CL_CLUSTERS].span;
    r = a->dead_rows ? trg_module_new(device, setup->program, NULL, &a->module) : -ENOMEM;
    if (r == 0)
        r = kernels_get(a->module, list, sizeof list / sizeof *list);
    for (uint32_t i = 0; r == 0 && i < limits->slots; i++)
        r = open_slot(a, device, setup->arrays, &a->slot[i]);
    return r;
}

void cl_destroy(struct trg_algo *a)
{
    if (!a)
        return;
    buffers_free(&a->buffers);
    trg_module_free(a->module);
    free(a->dead_rows);
    free(a->nominal);
    free(a);
}

static size_t first_bytes(const struct trg_algo *a)
{
    return 4 * (a->n_sensors + (size_t)1);
}

static size_t map_bytes(const struct trg_algo *a)
{
    return 4 * (size_t)a->n_sensors * CL_MAP_WORDS(a->par.n_columns);
}

static int open_sensors(struct trg_algo *a, struct trg_device *device, struct cl_slot *s)
{
    const size_t bytes = a->n_sensors * sizeof *a->nominal;
    const struct buffer_wish list[] = {
        {TRG_MEM_PINNED, bytes, &s->sensors_host},
        {TRG_MEM_DEVICE, first_bytes(a), &s->first},
        {TRG_MEM_PINNED, first_bytes(a), &s->first_host},
        {TRG_MEM_DEVICE, map_bytes(a), &s->map},
        {TRG_MEM_PINNED, map_bytes(a), &s->map_host},
    };
    int r = buffers_new(&a->buffers, device, list, sizeof list / sizeof *list);

    return r < 0 ? r : buffers_upload(&a->buffers, device, a->nominal, bytes, &s->sensors);
}

/* Copies sensors and columns to the device, for the slots that are open. */
static int copy_geometry(struct trg_algo *a, struct trg_device *device, const struct geometry *g)
{
    int r;

    a->nominal = calloc(g->n_sensors, sizeof *a->nominal);
    if (!a->nominal)
        return -ENOMEM;
    a->n_sensors = g->n_sensors;
    a->middle[0] = (g->centre[0] + g->centre[g->n_columns - 1u]) / 2;
    a->middle[1] = g->row_pitch * (float)g->n_rows / 2;
    for (uint32_t i = 0; i < g->n_sensors; i++) {
        const struct geometry_sensor *s = &g->sensor[i];

        a->nominal[i].layer = s->layer;
        memcpy(a->nominal[i].column, s->column, sizeof s->column);
        memcpy(a->nominal[i].row, s->row, sizeof s->row);
        memcpy(a->nominal[i].corner, s->corner, sizeof s->corner);
    }
    r = buffers_upload(&a->buffers, device, g->centre, (g->n_columns + 1u) * sizeof *g->centre,
                       &a->centres);
    for (uint32_t i = 0; r == 0 && i < a->limits.slots; i++)
        r = open_sensors(a, device, &a->slot[i]);
    return r;
}

static int load_geometry(struct trg_algo *a, const struct trg_host *host, struct trg_device *device,
                         const struct cl_setup *setup)
{
    struct geometry g = {0};
    char why[256];
    int r = geometry_open(geometry_texts[setup->geometry].name, &g, why, sizeof why);

    if (r == 0) {
        a->par.n_sensors = g.n_sensors;
        a->par.n_columns = g.n_columns;
        a->par.n_rows = g.n_rows;
        a->par.row_pitch = g.row_pitch;
        r = setup->fits(&a->par, why, sizeof why) ? 0 : -EINVAL;
    }
    if (r < 0)
        trg_log(host, TRG_ERROR, why);
    else
        r = copy_geometry(a, device, &g);
    geometry_fini(&g);
    return r;
}

int cl_create(const struct trg_host *host, struct trg_device *device,
              const struct trg_limits *limits, const struct cl_setup *setup,
              struct trg_algo **ret_algo)
{
    struct trg_algo *a = calloc(1, sizeof *a);
    int r;

    if (!a)
        return -ENOMEM;
    a->limits = *limits;
    memcpy(a->par.sigma, setup->sigma, sizeof a->par.sigma);
    r = open_slots(a, device, setup);
    if (r == 0)
        r = load_geometry(a, host, device, setup);
    if (r < 0) {
        cl_destroy(a);
        return r;
    }
    *ret_algo = a;
    return 0;
}

/* Has the sensors of a slot where the batch's conditions say. */
static int align(struct trg_algo *a, const struct trg_batch *b, struct trg_queue *q)
{
    const size_t bytes = a->n_sensors * sizeof *a->nominal;
    struct cl_slot *s = &a->slot[b->slot];

    if (b->condition_key[CL_ALIGNMENT] == s->alignment)
        return 0;
    memcpy(trg_buffer_host(s->sensors_host), a->nominal, bytes);
    if (b->condition[CL_ALIGNMENT].collection)
        alignment_apply(&b->condition[CL_ALIGNMENT], a->middle, trg_buffer_host(s->sensors_host),
                        a->n_sensors);
    s->alignment = b->condition_key[CL_ALIGNMENT];
    return trg_write(q, s->sensors, 0, s->sensors_host, 0, bytes);
}

static void write_dead(struct trg_algo *a, struct cl_slot *s, const struct trg_batch *b,
                       struct launcher *l)
{
    if (b->condition_key[CL_DEAD_CHANNELS] == s->dead_channels)
        return;
    dead_fill(&b->condition[CL_DEAD_CHANNELS], &a->par, a->dead_rows,
              trg_buffer_host(s->first_host), trg_buffer_host(s->map_host),
              trg_buffer_host(s->dead_host));
    launcher_write(l, s->first, s->first_host, first_bytes(a));
    launcher_write(l, s->map, s->map_host, map_bytes(a));
    launcher_write(l, s->dead, s->dead_host, DEAD_BYTES);
    s->dead_channels = b->condition_key[CL_DEAD_CHANNELS];
}

/* The input without the channels that the batch's conditions say are dead. */
static struct trg_input mask(struct trg_algo *a, struct cl_slot *s, const struct trg_batch *b,
                             struct launcher *l)
{
    struct cl_mask_par par = {.common = a->par, .masked = a->masked.span};

    s->is_masked = b->condition[CL_DEAD_CHANNELS].collection != NULL;
    if (!s->is_masked)
        return b->in[0];
    write_dead(a, s, b, l);
    par.common.in = b->in[0].span;
    par.common.n_rois = b->n_rois;
    par.masked.n_rois = par.common.in.n_rois;
    par.masked.n_items = par.common.in.n_items;
    launcher_clear(l, s->state, 4 * (size_t)CL_STATE_WORDS(b->n_rois));
    LAUNCH(l, a->mask, b->n_rois, CL_GROUP, par, b->in[0].dev, s->first, s->map, s->dead, s->work,
           s->state, s->masks, s->masked);
    launcher_read(l, s->masks_host, s->masks, b->n_rois * sizeof(struct cl_summary));
    return (struct trg_input){.span = par.masked, .dev = s->masked};
}

int cl_device_output(struct trg_algo *a, uint32_t slot, uint32_t k, struct trg_input *ret)
{
    if (k >= CL_PRODUCTS)
        return -EINVAL;
    a->is_taken |= k == CL_CLUSTERS;
    *ret = (struct trg_input){
        .collection = a->product[k], .span = a->out[k].span, .dev = a->slot[slot].out[k]};
    return 0;
}

/* ---------------------------------------------------------------- one batch */

int cl_submit(struct trg_algo *a, const struct trg_batch *b, struct trg_queue *q)
{
    struct cl_par par = a->par;
    struct cl_slot *s = &a->slot[b->slot];
    struct launcher l = launcher_on(q, &a->device);
    const struct trg_input in = mask(a, s, b, &l);
    struct trg_buffer *const buffers[] = {in.dev,          s->sensors,         a->centres,
                                          s->work,         s->state,           s->summaries,
                                          s->out[CL_HITS], s->out[CL_CLUSTERS]};
    const uint32_t most = a->hits_per_item * b->in[0].span.n_items;
    const uint32_t groups = a->device.is_host ? 1 : b->n_rois; /* of a launch: see CL_AT */

    par.in = in.span;
    par.n_rois = b->n_rois;
    par.with_clusters = a->is_taken || block_is_wanted(b, CL_CLUSTERS);
    if (l.result == 0)
        l.result = align(a, b, q);
    for (uint32_t k = 0; k < CL_PRODUCTS; k++)
        block_copy_rois(&a->out[k], &l, b, s->out[k]);
    launcher_clear(&l, s->state, 4 * (size_t)CL_STATE_WORDS(b->n_rois));
    for (uint32_t done = 0; done < b->n_rois; done += groups) /* the kernel deals out the RoIs */
        launcher_run(&l, a->find, (struct trg_range){groups, CL_GROUP}, TRG_VAL(par), buffers,
                     sizeof buffers / sizeof *buffers);
    for (uint32_t k = 0; k < CL_PRODUCTS; k++) {
        s->is_read[k] = most && block_is_wanted(b, k);
        if (s->is_read[k])
            block_read(&a->out[k], &l, b->n_rois, most, s->out[k], s->out_host[k]);
    }
    launcher_read(&l, s->summaries_host, s->summaries, b->n_rois * sizeof(struct cl_summary));
    return l.result;
}

int cl_collect(struct trg_algo *a, struct trg_batch *b)
{
    const struct cl_slot *s = &a->slot[b->slot];
    const struct cl_summary *sums = trg_buffer_host(s->summaries_host);
    const struct cl_summary *masks = trg_buffer_host(s->masks_host);

    for (uint32_t i = 0; i < b->n_rois; i++) {
        struct trg_result *r = &b->results[i];

        r->value[CL_VALUE_HITS] = (float)sums[i].n_clusters;
        r->value[CL_VALUE_ITEMS] = (float)(s->is_masked ? masks : sums)[i].n_items;
        r->value[CL_VALUE_BAD] = (float)sums[i].n_bad;
        r->value[CL_VALUE_PIXELS] = (float)sums[i].n_pixels;
        r->value[CL_VALUE_MASKED] = s->is_masked ? (float)masks[i].n_pixels : 0;
        for (uint32_t k = 0; k < CL_PRODUCTS; k++)
            if (s->is_read[k])
                block_store(&a->out[k], trg_buffer_host(s->out_host[k]), i, &b->outputs[k][i]);
            else if (b->outputs[k])
                b->outputs[k][i].n = 0;
    }
    return 0;
}
