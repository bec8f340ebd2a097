/* SPDX-License-Identifier: Apache-2.0 */
#include "pulled.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "exec/pull.h"

#define PAGE 4096u

struct pulled {
    uint32_t n_rois, n_inputs;
    struct arena_source *from; /* [n_inputs][2 * n_rois]: twice, so that a batch is a piece of it */
    unsigned char *memory;
    size_t bytes;
    struct trg_buffer *window;
    bool is_open;
    struct pull pull;
};

static size_t place(struct pulled *p, const struct lanes_setup *s, uint32_t kind, uint32_t k,
                    uint32_t i, size_t at)
{
    const struct trg_collection *info = kind_info(kind);
    const struct stage_source *source = &s->rois[i].input[k];
    struct arena_source *from = &p->from[(size_t)2 * k * p->n_rois + i];

    *from = (struct arena_source){.at = at, .capacity = source->n, .n = source->n};
    from[p->n_rois] = *from;
    for (uint32_t c = 0; c < info->n_columns; c++) {
        const size_t bytes = source->n * trg_column_bytes(&info->column[c]);

        if (p->memory && bytes)
            memcpy(p->memory + at, source->column[c], bytes);
        at += arena_align(bytes);
    }
    return at;
}

/* Once without memory, to learn how much it takes. */
static size_t place_all(struct pulled *p, const struct lanes_setup *s)
{
    size_t at = 0;

    for (uint32_t k = 0; k < p->n_inputs; k++)
        for (uint32_t i = 0; i < p->n_rois; i++)
            at = place(p, s, s->plugin->consumes[k], k, i, at);
    return (at + PAGE) & ~(size_t)(PAGE - 1);
}

static int open_all(struct pulled *p, const struct lanes_setup *s)
{
    int r;

    p->from = calloc((size_t)2 * p->n_rois * p->n_inputs, sizeof *p->from);
    if (!p->from)
        return -ENOMEM;
    p->bytes = place_all(p, s);
    p->memory = aligned_alloc(PAGE, p->bytes);
    if (!p->memory)
        return -ENOMEM;
    place_all(p, s);
    r = trg_window_new(s->device, p->memory, p->bytes, &p->window);
    if (r == 0)
        r = trg_window_open(p->window, 0, p->bytes);
    p->is_open = r == 0;
    return r < 0 ? r : pull_open(s->device, s->batch, &p->pull);
}

int pulled_open(const struct lanes_setup *setup, struct pulled **ret_pulled)
{
    struct pulled *p = calloc(1, sizeof *p);
    int r;

    if (!p)
        return -ENOMEM;
    p->n_rois = setup->n_rois;
    p->n_inputs = setup->plugin->n_inputs;
    r = setup->batch <= setup->n_rois ? open_all(p, setup) : -EINVAL;
    if (r < 0) {
        pulled_close(p);
        return r;
    }
    *ret_pulled = p;
    return 0;
}

void pulled_close(struct pulled *p)
{
    if (!p)
        return;
    pull_close(&p->pull);
    if (p->is_open)
        trg_window_shut(p->window, 0);
    trg_buffer_free(p->window);
    free(p->memory);
    free(p->from);
    free(p);
}

/* Over the bus: a copy engine would find all RoIs side by side here, which those of clients are
 * not. */
int pulled_copy_in(struct pulled *p, const struct drive *d, struct drive_slot *s, uint32_t first,
                   uint32_t n)
{
    int r = 0;

    for (uint32_t k = 0; r == 0 && k < p->n_inputs; k++) {
        const struct pull_input in = {
            .kind = d->consumes[k],
            .max_layer = UINT8_MAX,
            .n_rois = n,
            .rois = s->infos,
            .sources = &p->from[(size_t)2 * k * p->n_rois + first],
            .window = p->window,
            .open = {.distance = p->bytes, .whole = p->bytes, .bytes = p->bytes},
            .host = s->in[k].host,
            .dev = s->in[k].dev};

        r = pull_enqueue(&p->pull, s->queue, &in, &s->batch.in[k].span);
        s->staged[k] = s->batch.in[k].span.n_items * kind_item_size(d->consumes[k]);
    }
    s->batch.n_rois = n;
    return r;
}
