/* SPDX-License-Identifier: Apache-2.0 */
/* lanes.c - lanes and their workers end, hang, are closed and come back. */
#include "flow/batcher.h"
#include "flow/dispatch_inner.h"

#define SLOWER 2u /* a batch may take so many times what is expected on a busy machine */
#define HASTE  4u /* a retry lane ends a batch so much earlier, but for a last trial */

static bool look_after(struct dispatch *d, uint32_t engine, struct worker *w)
{
    const uint32_t shard = d->engine[engine]->shard;

    switch (worker_news(w, shard)) {
    case WORKER_DIED:
        for (uint32_t i = 0; i < worker_lanes(w); i++) {
            struct lane *l = worker_lane(w, shard, i);

            batches_take_orphans(d, engine, l->s.group->step, l);
        }
        worker_emptied(w, shard);
        return true;
    case WORKER_BACK:
        if (worker_take(w, shard))
            for (uint32_t i = 0; i < worker_lanes(w); i++)
                if (atomic_load(&worker_lane(w, shard, i)->is_open))
                    lane_restart(worker_lane(w, shard, i));
        return true;
    default:
        return false;
    }
}

bool lanes_look_after_workers(struct dispatch *d)
{
    bool did = false;

    for (uint32_t i = 0; i < ENGINES_MAX; i++)
        for (uint32_t k = 0; d->engine[i] && k < d->engine[i]->of->n_workers; k++)
            if (d->engine[i]->of->worker[k].worker)
                did |= look_after(d, i, d->engine[i]->of->worker[k].worker);
    return did;
}

/* ---------------------------------------------------------------- now and then */

/* A lane that the worker has closed takes no batches; one that it has opened again does. */
static void follow_worker(struct lane *l)
{
    const bool is_open = atomic_load(&l->is_open);

    if (!is_open)
        l->is_up = false;
    else if (!l->is_up && !l->rests_until_ns && worker_serves(l->worker, l->s.shard))
        lane_restart(l);
    atomic_store(&l->is_idle, !l->is_up && !l->taken);
}

/* How long a batch may take.  Suspects wait for each other: one that hangs among them is found
 * soon, and a batch that was only slow runs again in parts; an RoI alone has all of the time in its
 * last trial. */
static uint64_t patience_ns(const struct dispatch *d, const struct lane *l)
{
    const struct lane_batch *b = &l->batch[l->first];

    if (!l->is_retry || (b->n == 1 && dispatch_at(d, b->roi[0])->is_last_trial))
        return d->hang_ns;
    return d->hang_ns / HASTE;
}

/* The same, but a batch that is known to take longer, with those of other shards that may be ahead
 * of it, is given that and more: it would be ended each time. */
static uint64_t limit_ns(const struct dispatch *d, const struct lane *l)
{
    const uint64_t known = SLOWER * (l->batch[l->first].expected_ns + lane_others_ns(l));
    const uint64_t patience = patience_ns(d, l);

    return known > patience ? known : patience;
}

/* Ends the worker of a lane whose oldest batch takes too long. */
static void watch_lane(struct dispatch *d, struct lane *l, uint64_t now)
{
    const uint64_t ran = lane_running_ns(l, now);

    if (!l->is_up && l->rests_until_ns && now >= l->rests_until_ns) {
        l->rests_until_ns = 0;
        l->is_up = true;
    }
    follow_worker(l);
    if (!ran || ran < limit_ns(d, l))
        return;
    if (worker_kill(l->worker, "a batch takes too long") == 0)
        worker_count_hang(l->worker);
}

/* Whether no lane will serve a step for long. */
static bool is_quarantined(const struct engine_step *s)
{
    bool yes = true;

    for (uint32_t k = 0; k < s->n_lanes; k++)
        yes &= !s->lane[k]->is_up &&
               (atomic_load(&s->lane[k]->is_out) || worker_is_quarantined(s->lane[k]->worker));
    return yes;
}

/* Whether no lane serves a step, or it is taken out; those that wait for it go on as their chains
 * say when none will for long. */
static bool is_down(struct dispatch *d, struct engine *e, uint32_t step, uint64_t now_ns)
{
    struct engine_step *s = &e->step[step];
    bool is_up = false;
    const struct engine_entry *entry;

    s->is_out = step_record_is_out(&e->of->record[step], now_ns);
    for (uint32_t k = 0; k < s->n_lanes; k++)
        is_up |= s->lane[k]->is_up;
    if (s->is_out || is_quarantined(s))
        while ((entry = batcher_next(s)) != NULL)
            rois_skip(d, entry->roi, step); /* leaves the batcher */
    return s->is_out || !is_up;
}

void lanes_tick(struct dispatch *d, uint64_t now_ns)
{
    uint32_t n_down = 0;

    for (uint32_t i = 0; i < ENGINES_MAX; i++) {
        struct engine *e = d->engine[i];

        for (uint32_t k = 0; e && k < e->of->n_workers; k++) {
            struct worker *w = e->of->worker[k].worker;

            for (uint32_t n = 0; w && n < worker_lanes(w); n++)
                watch_lane(d, worker_lane(w, e->shard, n), now_ns);
            if (w)
                worker_tend_regions(w, e->shard);
        }
        for (uint32_t step = 0; e && step < e->menu->n_steps; step++)
            if (e->step[step].n_lanes && is_down(d, e, step, now_ns) && i == d->current)
                n_down++;
    }
    stats_set(&d->stats->g.steps_down, n_down);
}
