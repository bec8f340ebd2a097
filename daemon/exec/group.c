/* SPDX-License-Identifier: Apache-2.0 */
#include "exec/group.h"

#include "exec/stage.h"

void group_shape(const struct group *g, uint32_t slots, uint32_t max_rois, uint64_t product_bytes,
                 struct arena_shape *ret_shape)
{
    struct arena_shape s = {.slots = slots,
                            .max_rois = max_rois,
                            .n_inputs = g->n_inputs,
                            .product_bytes = product_bytes};

    for (uint32_t k = 0; k < g->n_inputs; k++)
        s.staged_bytes[k] = stage_bytes(g->input[k].kind, max_rois, g->input[k].max_items);
    for (uint64_t left = g->menu->steps[g->step].members; left; left &= left - 1)
        s.n_outputs[s.n_members++] = g->menu->steps[__builtin_ctzll(left)].plugin->n_outputs;
    *ret_shape = s;
}
