/* SPDX-License-Identifier: Apache-2.0 */
#include "exec/gather.h"

#include <string.h>

/* Where the columns of one input of RoI number `i` lie. */
static void find_source(struct lane *l, const struct roi *r, const struct group_input *in,
                        uint32_t i)
{
    const struct roi_collection *c = lane_collection(l->s.pool, r, in);
    struct stage_source *source = &l->sources[i];

    source->n = c->n;
    source->is_encoded = c->is_encoded;
    source->sent = c->is_encoded ? pool_sent(l->s.pool, r, c) : NULL;
    /* what a client can change is looked at each time, what is kept once */
    source->guard = in->from < 0 && (r->region || r->unseen >> in->kind & 1) ? &l->guards[i] : NULL;
    l->guards[i] = (struct stage_guard){.max_layer = l->s.pool->max_layer};
    for (uint32_t k = 0; c->n && k < kind_info(in->kind)->n_columns; k++)
        source->column[k] = pool_column(l->s.pool, in->kind, c, k);
}

static void note_faults(const struct lane *l, const struct lane_batch *b)
{
    for (uint32_t i = 0; i < b->n; i++)
        if (l->sources[i].guard && l->guards[i].fault.code)
            b->fault[i] = l->guards[i].fault;
}

void gather_batch(struct lane *l, uint32_t slot)
{
    const struct lane_batch *b = &l->batch[slot];
    struct arena_batch *to = arena_batch(&l->arena, slot);

    memset(b->fault, 0, b->n * sizeof *b->fault);
    for (uint32_t k = 0; k < l->s.group->n_inputs; k++) {
        const struct group_input *in = &l->s.group->input[k];

        for (uint32_t i = 0; i < b->n; i++)
            find_source(l, &l->s.pool->rois[b->roi[i]], in, i);
        to->input[k].bytes = stage_fill(in->kind, b->n, l->view[slot].infos, l->sources,
                                        arena_staged(&l->arena, slot, k), &to->input[k].span);
        note_faults(l, b);
    }
    to->is_staged = true;
}
