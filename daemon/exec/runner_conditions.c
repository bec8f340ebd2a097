/* SPDX-License-Identifier: Apache-2.0 */
/* runner_conditions.c - the conditions of a runner's batches: each slot has its own copy on the
 * device, written when the batch that comes has others than the one before. */
#include <string.h>

#include "conditions/condition.h"
#include "exec/runner_inner.h"

int runner_open_conditions(struct runner *l, uint32_t number)
{
    struct runner_slot *slot = &l->slot[number];
    int r = 0;

    for (uint32_t k = 0; r == 0 && k < l->s.group->n_conditions; k++) {
        struct runner_table *t = &slot->table[k];
        const size_t bytes = runner_shape(l)->condition_bytes[k];

        r = trg_buffer_new(l->s.device, TRG_MEM_PINNED, bytes, &t->host);
        if (r == 0 && !l->is_host)
            r = trg_buffer_new(l->s.device, TRG_MEM_DEVICE, bytes, &t->dev);
    }
    return r;
}

void runner_close_conditions(struct runner_slot *slot)
{
    for (uint32_t k = 0; k < ARENA_CONDITIONS_MAX; k++) {
        trg_buffer_free(slot->table[k].dev);
        trg_buffer_free(slot->table[k].host);
    }
}

static int load(struct runner *l, struct runner_slot *slot, uint32_t k)
{
    const struct arena *a = runner_arena(l, slot->shard);
    const struct arena_condition *from = &arena_conditions(a, slot->number)[k];
    struct runner_table *t = &slot->table[k];

    if (!from->key || from->key == t->key) {
        t->in.collection = from->key ? l->s.group->condition[k].table : NULL;
        return 0;
    }
    memcpy(trg_buffer_host(t->host), arena_table(a, slot->number, k), from->bytes);
    t->key = from->key;
    t->in = (struct trg_input){.collection = l->s.group->condition[k].table,
                               .span = from->span,
                               .host = trg_buffer_host(t->host),
                               .dev = l->is_host ? t->host : t->dev};
    return l->is_host ? 0 : trg_write(slot->queue, t->dev, 0, t->host, 0, from->bytes);
}

/* Gives a member the tables that it needs, in the order of its plugin. */
static void hand_over(const struct runner *l, struct runner_slot *slot, uint32_t member)
{
    const struct trg_condition *c = l->member[member].plugin->d.conditions;
    struct trg_batch *b = &slot->part[member].batch;

    for (uint32_t i = 0; c && c[i].name; i++) {
        const struct runner_table *t = &slot->table[group_find_condition(l->s.group, c[i].name)];

        b->condition[i] = t->in.collection ? t->in : (struct trg_input){.collection = NULL};
        b->condition_key[i] = t->in.collection ? t->key : 0;
    }
}

int runner_load_conditions(struct runner *l, struct runner_slot *slot)
{
    int r = 0;

    for (uint32_t k = 0; r == 0 && k < l->s.group->n_conditions; k++)
        r = load(l, slot, k);
    for (uint32_t m = 0; r == 0 && l->s.group->n_conditions && m < l->n_members; m++)
        hand_over(l, slot, m);
    return r;
}
