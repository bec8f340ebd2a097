/* SPDX-License-Identifier: Apache-2.0 */
#include "exec/group.h"

#include <errno.h>
#include <string.h>

#include "conditions/condition.h"
#include "exec/pull.h"
#include "exec/stage.h"

uint32_t group_find_condition(const struct group *g, const char *name)
{
    uint32_t k = 0;

    while (k < g->n_conditions && strcmp(g->condition[k].name, name) != 0)
        k++;
    return k;
}

int group_list_conditions(struct group *g)
{
    g->n_conditions = 0;
    for (uint64_t left = g->menu->steps[g->step].members; left; left &= left - 1) {
        const struct trg_condition *c = g->menu->steps[__builtin_ctzll(left)].plugin->d.conditions;

        for (; c && c->name; c++) {
            if (group_find_condition(g, c->name) < g->n_conditions)
                continue;
            if (g->n_conditions == ARENA_CONDITIONS_MAX)
                return -ENOSPC;
            g->condition[g->n_conditions++] = (struct group_condition){c->name, c->table};
        }
    }
    return 0;
}

void group_shape(const struct group *g, uint32_t slots, uint32_t max_rois, uint64_t product_bytes,
                 struct arena_shape *ret_shape)
{
    struct arena_shape s = {.slots = slots,
                            .max_rois = max_rois,
                            .n_inputs = g->n_inputs,
                            .product_bytes = product_bytes};

    for (uint32_t k = 0; k < g->n_inputs; k++)
        s.staged_bytes[k] = stage_bytes(g->input[k].kind, max_rois, g->input[k].max_items) +
                            pull_bytes(g->input[k].kind, max_rois);
    for (uint64_t left = g->menu->steps[g->step].members; left; left &= left - 1)
        s.n_outputs[s.n_members++] = g->menu->steps[__builtin_ctzll(left)].plugin->n_outputs;
    s.n_conditions = g->n_conditions;
    for (uint32_t k = 0; k < g->n_conditions; k++)
        s.condition_bytes[k] = condition_bytes(g->condition[k].table, g->condition[k].table->room);
    *ret_shape = s;
}
