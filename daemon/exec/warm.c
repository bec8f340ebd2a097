/* SPDX-License-Identifier: Apache-2.0 */
#include "exec/warm.h"

#include <errno.h>
#include <string.h>

#include "base/buddy.h"
#include "exec/sample.h"

#define RANDOM 11u  /* besides the edge cases */
#define ITEMS  256u /* of the largest RoI */
#define SEED   2010u
_Static_assert(LANE_INPUTS_MAX <= SAMPLE_INPUTS_MAX, "a sample has all inputs of a lane");

#define TABLE_BYTES (TRG_COLUMNS_MAX * sizeof(void *)) /* where the columns of one input lie */

/* Lets an input of an RoI lie where the sample has it. */
static void refer(struct pool *pool, const struct stage_source *source, uint64_t at,
                  struct roi_collection *c)
{
    *c = (struct roi_collection){
        .at = at, .is_table = true, .capacity = source->n, .n = source->n, .is_there = true};
    memcpy(pool_at(pool, at), source->column, TABLE_BYTES);
}

static uint64_t steps_bytes(const struct menu *m)
{
    return pool_align(m->n_steps * sizeof(struct roi_step));
}

static uint64_t roi_bytes(const struct menu *m, uint32_t n_inputs)
{
    return steps_bytes(m) + n_inputs * TABLE_BYTES;
}

static int take_rois(const struct menu *m, const struct lane_input *inputs, struct warm *w)
{
    const uint64_t bytes = roi_bytes(m, w->sample->n_inputs);
    uint64_t at = pool_alloc(w->pool, w->sample->n * bytes);

    if (at == BUDDY_NONE)
        return -ENOMEM;
    for (uint32_t i = 0; i < w->sample->n; i++, at += bytes) {
        struct roi *r = &w->pool->rois[pool_take(w->pool)];

        r->info = w->sample->info[i];
        r->info.roi_id = WARM_ROI;
        r->steps = at;
        memset(pool_steps(w->pool, r), 0, steps_bytes(m));
        for (uint32_t k = 0; k < w->sample->n_inputs; k++) {
            const struct lane_input *in = &inputs[k];

            refer(w->pool, sample_source(w->sample, k, i), at + steps_bytes(m) + k * TABLE_BYTES,
                  in->from < 0 ? &r->in[in->kind]
                               : &pool_steps(w->pool, r)[in->from].product[in->product]);
        }
    }
    return 0;
}

static uint64_t power_of_two(uint64_t least)
{
    uint64_t n = BUDDY_UNIT;

    while (n < least)
        n *= 2;
    return n;
}

int warm_open(const struct menu *menu, const struct lane_input *inputs, uint32_t n_inputs,
              uint32_t max_layer, struct warm *ret)
{
    enum trg_kind kinds[LANE_INPUTS_MAX];
    struct sample_setup setup = {.kinds = kinds,
                                 .n_inputs = n_inputs,
                                 .n_random = RANDOM,
                                 .max_items = ITEMS,
                                 .max_layer = max_layer,
                                 .seed = SEED};
    uint64_t bytes;
    int r;

    *ret = (struct warm){0};
    for (uint32_t k = 0; k < n_inputs; k++) {
        kinds[k] = inputs[k].kind;
        if (inputs[k].max_items_roi < setup.max_items)
            setup.max_items = inputs[k].max_items_roi;
    }
    r = sample_new(&setup, &ret->sample);
    if (r < 0)
        return r;
    bytes = ret->sample->n * roi_bytes(menu, n_inputs);
    r = pool_open(ret->sample->n, power_of_two(bytes), &ret->pool);
    if (r == 0)
        r = take_rois(menu, inputs, ret);
    if (r < 0)
        warm_close(ret);
    return r;
}

void warm_close(struct warm *w)
{
    pool_close(w->pool);
    sample_free(w->sample);
    *w = (struct warm){0};
}
