/* SPDX-License-Identifier: Apache-2.0 */
/* lane_warm.c - a lane runs RoIs of nobody before it gets those of clients.
 *
 * A device may load or compile a kernel when it is first launched, which takes longer than an RoI
 * may: PoCL does it once for each kernel and size of a group, and once more for many groups.  What
 * the plugin answers is thrown away and counted nowhere. */
#include <errno.h>
#include <string.h>

#include "exec/lane_inner.h"
#include "log.h"

/* Fills the batch of a slot with RoIs from `from` on, in turns if `full`; returns how many. */
static uint32_t fill(const struct lane *l, struct lane_batch *b, uint32_t from, bool full)
{
    const uint32_t n = l->s.pool->n_used;
    uint64_t items[LANE_INPUTS_MAX] = {0};

    for (b->n = 0; b->n < l->s.max_rois && (full || from + b->n < n); b->n++) {
        b->roi[b->n] = (from + b->n) % n;
        if (!lane_fits(l->s.pool, l->s.inputs, l->s.n_inputs, b->roi[b->n], items))
            break; /* never the first: one RoI always fits */
    }
    return b->n;
}

/* Runs one batch in a slot from end to end. */
static int run(struct lane *l, uint32_t number, const char **ret_what)
{
    struct lane_slot *slot = &l->slot[number];
    int r;

    *ret_what = "submit";
    r = lane_begin_batch(l, slot, number);
    if (r < 0) {
        trg_finish(slot->queue); /* what was enqueued before may still use the slot's memory */
        return r;
    }
    *ret_what = "the queue";
    r = trg_event_wait(slot->reached);
    if (r < 0)
        return r;
    *ret_what = "collect";
    return lane_collect(l, slot, lane_batch_at(l, number));
}

static int run_all(struct lane *l, const char **ret_what)
{
    int r = 0;

    for (uint32_t i = 0; r == 0 && i < l->s.slots; i++) {
        struct lane_batch *b = lane_batch_at(l, i);

        for (uint32_t at = 0; r == 0 && at < l->s.pool->n_used;) {
            at += fill(l, b, at, false);
            r = run(l, i, ret_what);
        }
    }
    if (r < 0 || l->is_host)
        return r;
    fill(l, lane_batch_at(l, 0), 0, true);
    return run(l, 0, ret_what);
}

int lane_warm(struct lane *l)
{
    struct pool *pool = l->s.pool;
    const char *what = "";
    int r;

    l->s.pool = l->s.warm;
    r = run_all(l, &what);
    l->s.pool = pool;
    if (r < 0)
        log_error("lane",
                  "a lane cannot be warmed up with made-up RoIs: its plugin or device fails",
                  "lane=\"%s\" in=\"%s\" error=\"%s\"", l->s.stats->name, what, strerror(-r));
    return r;
}
