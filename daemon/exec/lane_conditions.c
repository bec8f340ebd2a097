/* SPDX-License-Identifier: Apache-2.0 */
/* lane_conditions.c - the tables of conditions in the slots of a lane's arena. */
#include <string.h>

#include "exec/lane.h"
#include "menu/conditions.h"

/* The set's table of a condition; NULL: it is not given. */
static const struct condition *table_of(const struct conditions *set, const char *name)
{
    for (uint32_t i = 0; i < set->n; i++)
        if (set->of[i] && !strcmp(set->of[i]->name, name))
            return set->of[i];
    return NULL;
}

void lane_put_conditions(struct lane *l, uint32_t slot, const struct conditions *set)
{
    const struct group *g = l->s.group;

    for (uint32_t k = 0; k < g->n_conditions; k++) {
        const struct condition *c = table_of(set, g->condition[k].name);
        struct arena_condition *to = &arena_conditions(&l->arena, slot)[k];

        *to = (struct arena_condition){.key = c ? c->key : 0};
        if (c)
            to->bytes = condition_lay_out(c, arena_table(&l->arena, slot, k), &to->span);
    }
    l->batch[slot].conditions = set->key;
}

void lane_reset_conditions(struct lane *l)
{
    for (uint32_t i = 0; i < l->s.slots && l->s.group->n_conditions; i++)
        lane_put_conditions(l, i, l->s.conditions);
}
