/* SPDX-License-Identifier: Apache-2.0 */
/* runner_warm.c - a runner runs synthetic RoIs before it gets those of clients.
 *
 * A device may load or compile a kernel when it is first launched, which takes longer than an RoI
 * may: PoCL does it once for each kernel and size of a group, and once more for many groups.  The
 * results are thrown away and counted nowhere. */
#include <errno.h>
#include <string.h>

#include "exec/runner_inner.h"
#include "exec/sample.h"
#include "log.h"

#define RANDOM 11u  /* besides the edge cases */
#define ITEMS  256u /* of the largest RoI */
#define SEED   2010u
_Static_assert(ARENA_INPUTS_MAX <= SAMPLE_INPUTS_MAX, "a sample has all inputs of a group");

static int make_sample(const struct runner *l, struct sample **ret_sample)
{
    const struct group *g = l->s.group;
    uint32_t kinds[ARENA_INPUTS_MAX];
    struct sample_setup setup = {.kinds = kinds,
                                 .n_inputs = g->n_inputs,
                                 .n_random = RANDOM,
                                 .max_items = ITEMS,
                                 .max_layer = l->s.shard[0].memory->max_layer,
                                 .seed = SEED};

    for (uint32_t k = 0; k < g->n_inputs; k++) {
        kinds[k] = g->input[k].kind;
        if (g->input[k].max_items_roi < setup.max_items)
            setup.max_items = g->input[k].max_items_roi;
    }
    return sample_new(&setup, ret_sample);
}

/* Puts one RoI of the sample into a batch; false when its items do not fit any more. */
static bool put(const struct runner *l, const struct sample *s, uint32_t number, uint32_t i,
                uint32_t roi, uint64_t *items)
{
    for (uint32_t k = 0; k < s->n_inputs; k++)
        if (items[k] + sample_source(s, k, roi)->n > l->s.group->input[k].max_items)
            return false;
    arena_infos(runner_arena(l, 0), number)[i] = s->info[roi];
    arena_infos(runner_arena(l, 0), number)[i].roi_id = RUNNER_MADE_UP;
    for (uint32_t k = 0; k < s->n_inputs; k++) {
        const struct stage_source *from = sample_source(s, k, roi);

        items[k] += from->n;
        arena_sources(runner_arena(l, 0), number, k)[i] =
            (struct arena_source){.at = (uint64_t)(uintptr_t)from->column,
                                  .place = ARENA_ADDRESSES,
                                  .capacity = from->n,
                                  .n = from->n};
    }
    return true;
}

/* Leaves no room for products, which are not read. */
static void clear_outputs(const struct runner *l, uint32_t number, uint32_t n)
{
    for (uint32_t m = 0; m < l->n_members; m++)
        for (uint32_t k = 0; k < runner_shape(l)->n_outputs[m]; k++)
            memset(arena_outputs(runner_arena(l, 0), number, m, k), 0,
                   n * sizeof(struct arena_output));
}

/* Fills the batch of a slot with RoIs from `from` on, in turns if `full`; returns how many. */
static uint32_t fill(const struct runner *l, const struct sample *s, uint32_t number, uint32_t from,
                     bool full)
{
    uint64_t items[ARENA_INPUTS_MAX] = {0};
    uint32_t n = 0;

    while (s->n && n < runner_shape(l)->max_rois && (full || from + n < s->n) &&
           put(l, s, number, n, (from + n) % s->n, items)) /* one RoI always fits */
        n++;
    clear_outputs(l, number, n);
    arena_batch(runner_arena(l, 0), number)->is_staged = 0;
    return n;
}

/* Runs the batch of a slot of the first shard from end to end, in the slot of that number. */
static int run(struct runner *l, uint32_t number, uint32_t n, const char **ret_what)
{
    struct runner_slot *slot = &l->slot[number];
    int r;

    slot->shard = 0;
    slot->batch = (struct inbox_batch){.number = number, .n = n};
    *ret_what = "submit";
    r = runner_begin(l, number);
    if (r < 0) {
        trg_finish(slot->queue); /* what was enqueued before may still use the slot's memory */
        return r;
    }
    *ret_what = "the queue";
    r = trg_event_wait(slot->reached);
    if (r < 0)
        return r;
    *ret_what = "collect";
    return runner_collect(l, number);
}

static int run_all(struct runner *l, const struct sample *s, const char **ret_what)
{
    int r = 0;

    for (uint32_t i = 0; r == 0 && i < runner_shape(l)->slots; i++) {
        for (uint32_t at = 0; r == 0 && at < s->n;) {
            const uint32_t n = fill(l, s, i, at, false);

            r = run(l, i, n, ret_what);
            at += n;
        }
    }
    if (r < 0 || l->is_host)
        return r;
    return run(l, 0, fill(l, s, 0, 0, true), ret_what);
}

int runner_warm(struct runner *l)
{
    const char *what = "making them";
    struct sample *s = NULL;
    int r = make_sample(l, &s);

    if (r == 0)
        r = run_all(l, s, &what);
    sample_free(s);
    if (r < 0)
        log_error("lane",
                  "a lane cannot be warmed up with synthetic RoIs: its plugin or device fails",
                  "lane=\"%s\" in=\"%s\" error=\"%s\"", l->s.name, what, strerror(-r));
    return r;
}
