/* SPDX-License-Identifier: Apache-2.0 */
#include "batches.h"

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "drive.h"

struct batches {
    struct drive *drive;
    const struct batches_work *work; /* of the run */
    uint32_t next;                   /* RoI of the work that is begun next */
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

static int product_reserve(struct product *p, uint32_t kind, uint32_t room)
{
    const struct trg_collection *info = kind_info(kind);

    if (p->room > room)
        return 0;
    p->room = 0;
    for (uint32_t c = 0; c < info->n_columns; c++) {
        free(p->column[c]);
        p->column[c] = calloc(room + (size_t)1, trg_column_bytes(&info->column[c]));
        if (!p->column[c])
            return -ENOMEM;
    }
    p->room = room + 1u;
    return 0;
}

/* ---------------------------------------------------------------- opening */

int batches_open(const struct batches_setup *setup, struct batches **ret_batches)
{
    const struct drive_setup drive = {.host = setup->host,
                                      .plugin = setup->plugin,
                                      .config = setup->config,
                                      .device = setup->device,
                                      .conditions = setup->conditions,
                                      .limits = {.size = sizeof drive.limits,
                                                 .slots = setup->slots,
                                                 .max_rois = setup->max_rois,
                                                 .max_items = setup->max_items,
                                                 .max_items_roi = setup->max_items}};
    struct batches *b = calloc(1, sizeof *b);
    int r = b ? drive_open(&drive, &b->drive) : -ENOMEM;

    if (r == 0)
        r = drive_create(b->drive);
    if (r < 0) {
        batches_close(b);
        return r;
    }
    *ret_batches = b;
    return 0;
}

void batches_close(struct batches *b)
{
    if (!b)
        return;
    drive_close(b->drive);
    free(b);
}

/* ---------------------------------------------------------------- a batch */

/* Takes RoI i as the k-th of the batch; false when its items do not fit any more. */
static bool take(struct drive *d, struct drive_slot *s, const struct batches_work *w, uint32_t i,
                 uint32_t k, uint64_t *items)
{
    struct stage_source sources[TRG_INPUTS_MAX] = {{0}};

    s->infos[k] = (struct trg_roi_info){0};
    w->input(w->rois, i, sources, &s->infos[k]);
    for (uint32_t in = 0; in < d->n_inputs; in++)
        if (items[in] + sources[in].n > d->s.limits.max_items)
            return false;
    for (uint32_t in = 0; in < d->n_inputs; in++) {
        items[in] += sources[in].n;
        d->sources[in][k] = sources[in];
    }
    return true;
}

/* Gives the k-th RoI of the batch room for its products, or none without `products`. */
static int make_room(struct drive *d, struct drive_slot *s, struct products *products, uint32_t k)
{
    uint32_t n_in[TRG_INPUTS_MAX] = {0}, n_out[TRG_OUTPUTS_MAX] = {0};
    int r = 0;

    for (uint32_t in = 0; in < d->n_inputs; in++)
        n_in[in] = d->sources[in][k].n;
    if (products && d->n_outputs)
        room_items(&d->room, n_in, n_out);
    for (uint32_t out = 0; r == 0 && out < d->n_outputs; out++) {
        struct trg_output *o = &s->batch.outputs[out][k];

        *o = (struct trg_output){.capacity = n_out[out]};
        if (!products)
            continue;
        r = product_reserve(&products->of[out], d->produces[out], n_out[out]);
        memcpy(o->column, products->of[out].column, sizeof o->column);
    }
    return r;
}

/* Begins the batch that starts with the next RoI. */
static int begin(void *ctx, struct drive_slot *s)
{
    struct batches *b = ctx;
    struct drive *d = b->drive;
    const struct batches_work *w = b->work;
    const uint32_t first = b->next;
    uint64_t items[TRG_INPUTS_MAX] = {0};
    uint32_t n = 0;
    int r = 0;

    while (r == 0 && n < d->s.limits.max_rois && first + n < w->n &&
           take(d, s, w, first + n, n, items)) {
        r = make_room(d, s, w->products ? &w->products[first + n] : NULL, n);
        n++;
    }
    if (r < 0 || !n)
        return r < 0 ? r : first < w->n ? -E2BIG : 0;
    b->next += n;
    s->batch.results = w->results + first;
    drive_gather(d, s, n);
    r = drive_copy_in(d, s);
    if (r == 0)
        r = drive_submit(d, s);
    return r < 0 ? r : 1;
}

static int end(void *ctx, struct drive_slot *s)
{
    struct batches *b = ctx;
    const struct batches_work *w = b->work;
    const ptrdiff_t first = s->batch.results - w->results;
    int r = drive_collect(b->drive, s);

    for (uint32_t i = 0; r == 0 && w->products && i < s->batch.n_rois; i++)
        for (uint32_t k = 0; k < b->drive->n_outputs; k++)
            w->products[first + i].of[k].n = s->batch.outputs[k][i].n;
    return r;
}

int batches_run(struct batches *b, const struct batches_work *work)
{
    b->work = work;
    b->next = 0;
    return drive_run(
        b->drive, &(struct drive_loop){
                      .begin = begin, .end = end, .ctx = b, .in_flight = b->drive->s.limits.slots});
}
