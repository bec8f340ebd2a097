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

    for (uint32_t k = 0; r == 0 && k < l->s.group->n_conditions; k++)
        r = batch_memory_open(l->s.device, runner_shape(l)->condition_bytes[k],
                              &slot->table[k].memory);
    return r;
}

void runner_close_conditions(struct runner_slot *slot)
{
    for (uint32_t k = 0; k < ARENA_CONDITIONS_MAX; k++)
        batch_memory_close(&slot->table[k].memory);
}

static int load(struct runner *l, struct runner_slot *slot, uint32_t k)
{
    const struct arena *a = runner_arena(l, slot->shard);
    const struct arena_condition *from = &arena_conditions(a, slot->batch.number)[k];
    struct batch_table *t = &slot->table[k];

    if (!from->key || from->key == t->key) {
        t->in.collection = from->key ? l->s.group->condition[k].table : NULL;
        return 0;
    }
    memcpy(trg_buffer_host(t->memory.host), arena_table(a, slot->batch.number, k), from->bytes);
    return batch_table_load(
        t, slot->queue,
        &(struct trg_input){.collection = l->s.group->condition[k].table, .span = from->span},
        from->key, from->bytes);
}

/* Gives a member the tables that it needs, in the order of its plugin. */
static void hand_over(const struct runner *l, struct runner_slot *slot, uint32_t member)
{
    const struct trg_condition *c = l->member[member].plugin->d.conditions;
    struct trg_batch *b = &slot->part[member];

    for (uint32_t i = 0; c && c[i].name; i++)
        batch_give(b, i, &slot->table[group_find_condition(l->s.group, c[i].name)]);
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
