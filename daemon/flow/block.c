/* SPDX-License-Identifier: Apache-2.0 */
#include "flow/block.h"

#include <string.h>

struct made { /* the most items that a step can make of an RoI */
    uint32_t n[TRG_OUTPUTS_MAX];
};

/* Tells how much a step can make; `made` holds those before it that make something.  Returns the
 * bytes of what other steps want of it. */
static uint64_t most_items(const struct engine *e, uint32_t step, const uint32_t *n_in,
                           struct made *made)
{
    const struct menu_step *m = &e->menu->steps[step];
    uint32_t n[TRG_INPUTS_MAX] = {0};
    uint64_t bytes = 0;

    made[step] = (struct made){{0}};
    for (uint32_t k = 0; k < m->plugin->n_inputs; k++)
        n[k] = m->input[k] < 0 ? n_in[m->plugin->consumes[k]] : made[m->input[k]].n[m->product[k]];
    room_items(&m->room, n, made[step].n);
    for (uint32_t k = 0; k < m->plugin->n_outputs; k++)
        if (m->wanted >> k & 1)
            bytes += pool_collection_bytes(m->plugin->produces[k], made[step].n[k]);
    return bytes;
}

uint64_t block_bytes(const struct engine *e, const uint32_t *n_in)
{
    uint64_t bytes = e->steps_bytes + e->chains_bytes;
    struct made made[MENU_STEPS_MAX];

    for (uint64_t left = e->menu->plan->makers; left; left &= left - 1)
        bytes += most_items(e, (uint32_t)__builtin_ctzll(left), n_in, made);
    return bytes;
}

void block_init(const struct engine *e, const struct pool *pool, struct roi *r, uint64_t at,
                const uint32_t *n_in)
{
    struct made made[MENU_STEPS_MAX];
    struct roi_step *steps;

    r->steps = at;
    r->chains = at + e->steps_bytes;
    at = r->chains + e->chains_bytes;
    steps = pool_steps(pool, r);
    memset(pool_at(pool, r->chains), 0, e->chains_bytes);
    for (uint64_t left = e->menu->plan->makers; left; left &= left - 1) {
        const uint32_t i = (uint32_t)__builtin_ctzll(left);
        const struct menu_step *m = &e->menu->steps[i];

        most_items(e, i, n_in, made);
        memset(steps[i].product, 0, sizeof steps[i].product);
        for (uint32_t k = 0; k < m->plugin->n_outputs; k++) {
            if (!(m->wanted >> k & 1))
                continue;
            steps[i].product[k].at = at;
            steps[i].product[k].capacity = made[i].n[k];
            at += pool_collection_bytes(m->plugin->produces[k], made[i].n[k]);
        }
    }
}
