/* SPDX-License-Identifier: Apache-2.0 */
#include "flow/dispatch.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "flow/batcher.h"
#include "flow/dispatch_inner.h"
#include "log.h"

#define HANG_NS (30 * NS_PER_S) /* without a hard limit */

/* ---------------------------------------------------------------- engines */

/* Its steps with batches, as bits. */
static uint64_t heads_of(const struct engine *e)
{
    uint64_t heads = 0;

    for (uint32_t i = 0; i < e->menu->n_steps; i++)
        if (e->step[i].group.n_inputs)
            heads |= 1ull << i;
    return heads;
}

/* Makes room for the RoIs of an engine, in the books too. */
static int begin(struct dispatch *d, struct engine *e)
{
    struct suspects *s;
    int r = suspects_new(heads_of(e), d->pool->n_rois, &s);

    if (r < 0)
        return r;
    r = histograms_begin(d->histograms, e);
    if (r < 0)
        goto fail;
    r = accounts_begin(d->accounts, e);
    if (r < 0) {
        histograms_leave(d->histograms, e);
        goto fail;
    }
    d->next_suspects = s;
    return 0;
fail:
    suspects_free(s);
    return r;
}

/* Makes an engine that has begun the running one, in a free place. */
static void run(struct dispatch *d, struct engine *e, uint32_t place)
{
    d->engine[place] = e;
    d->suspects[place] = d->next_suspects;
    d->next_suspects = NULL;
    d->current = place;
    accounts_show(d->accounts, e);
    stats_set(&d->stats->g.menu_generation, e->generation);
}

/* Half of the hard limit, so that the RoIs of a batch that hangs can still run again. */
static uint64_t hang_of(const struct config *c)
{
    if (c->workers.hang_ms)
        return NS_PER_MS * c->workers.hang_ms;
    return c->limits.hard_ms ? NS_PER_MS * c->limits.hard_ms / 2 : HANG_NS;
}

int dispatch_open(const struct config *config, struct pool *pool, struct stats *stats,
                  struct egress *out, const struct dispatch_shared *shared, struct engine *engine,
                  const struct dispatch_retire *retire, struct dispatch **ret_dispatch)
{
    struct dispatch *d = calloc(1, sizeof *d);
    int r;

    if (!d)
        return -ENOMEM;
    d->config = config;
    d->pool = pool;
    d->stats = stats;
    d->out = out;
    d->poison = shared->poison;
    d->registry = shared->registry;
    d->lumi = shared->lumi;
    d->retire = *retire;
    d->oldest = d->newest = POOL_NONE;
    d->soft_ns = NS_PER_MS * config->limits.soft_ms;
    d->hard_ns = NS_PER_MS * config->limits.hard_ms;
    d->hang_ns = hang_of(config);
    r = deadlines_new(pool, &d->deadlines);
    if (r == 0)
        r = accounts_new(shared->book, &d->accounts);
    if (r == 0)
        r = event_table_new(config->events.open, &d->events);
    if (r == 0)
        r = histograms_new(&d->histograms);
    if (r == 0)
        r = begin(d, engine);
    if (r < 0) {
        dispatch_close(d);
        return r;
    }
    run(d, engine, 0);
    *ret_dispatch = d;
    return 0;
}

static void retire(struct dispatch *d, struct engine **at, struct suspects **of)
{
    struct engine *e = *at;

    if (!e)
        return;
    suspects_free(*of);
    *of = NULL;
    *at = NULL;
    histograms_leave(d->histograms, e);
    d->retire.call(d->retire.ctx, e);
}

void dispatch_close(struct dispatch *d)
{
    if (!d)
        return;
    for (uint32_t i = 0; i < ENGINES_MAX; i++)
        retire(d, &d->engine[i], &d->suspects[i]);
    retire(d, &d->next, &d->next_suspects);
    deadlines_free(d->deadlines);
    accounts_free(d->accounts);
    event_table_free(d->events);
    histograms_free(d->histograms);
    free(d);
}

struct engine *dispatch_engine(struct dispatch *d)
{
    return d->engine[d->current];
}

static bool is_idle(const struct engine *e)
{
    const struct generation *g = e->of;

    for (uint32_t i = 0; i < g->n_workers; i++)
        for (uint32_t k = 0; g->worker[i].worker && k < worker_lanes(g->worker[i].worker); k++)
            if (lane_outstanding(worker_lane(g->worker[i].worker, e->shard, k)))
                return false;
    return e->n_rois == 0;
}

static void retire_empty(struct dispatch *d)
{
    for (uint32_t i = 0; i < ENGINES_MAX; i++) {
        if (i == d->current || !d->engine[i] || !is_idle(d->engine[i]))
            continue;
        accounts_leave(d->accounts, d->engine[i]);
        retire(d, &d->engine[i], &d->suspects[i]);
    }
}

/* A free place for an engine, or ENGINES_MAX. */
static uint32_t free_place(const struct dispatch *d)
{
    uint32_t i = 0;

    while (i < ENGINES_MAX && d->engine[i])
        i++;
    return i;
}

int dispatch_prepare(struct dispatch *d, struct engine *e)
{
    int r;

    retire_empty(d);
    if (d->next || free_place(d) == ENGINES_MAX)
        return -EBUSY;
    r = begin(d, e);
    if (r == 0)
        d->next = e;
    return r;
}

void dispatch_swap(struct dispatch *d)
{
    run(d, d->next, free_place(d));
    d->next = NULL;
}

void dispatch_abandon(struct dispatch *d)
{
    accounts_abandon(d->accounts, d->next);
    histograms_leave(d->histograms, d->next);
    suspects_free(d->next_suspects);
    d->next_suspects = NULL;
    d->next = NULL;
}

struct accounts *dispatch_accounts(struct dispatch *d)
{
    return d->accounts;
}

struct histograms *dispatch_histograms(struct dispatch *d)
{
    return d->histograms;
}

/* ---------------------------------------------------------------- RoIs */

void dispatch_roi(struct dispatch *d, uint32_t roi)
{
    rois_take(d, roi);
}

void dispatch_force_all(struct dispatch *d)
{
    while (d->oldest != POOL_NONE)
        rois_fail(d, d->oldest, TRIGD__V1__STATUS__SHUTDOWN,
                  (struct roi_why){.what = ROI_END_SHUTDOWN});
}

/* ---------------------------------------------------------------- the turn */

bool dispatch_take(struct dispatch *d, uint64_t now_ns)
{
    d->now_ns = now_ns;
    events_check_limits(d, now_ns);
    rois_check_limits(d, now_ns); /* before results: what comes late is late */
    return batches_take(d);
}

bool dispatch_give(struct dispatch *d, uint64_t now_ns)
{
    bool did;

    d->now_ns = now_ns;
    did = lanes_look_after_workers(d);
    did |= batches_give(d, now_ns);
    accounts_flush(d->accounts);
    retire_empty(d);
    return did;
}

void dispatch_tick(struct dispatch *d, uint64_t now_ns)
{
    lanes_tick(d, now_ns);
    events_tick(d, now_ns);
}

bool dispatch_has_work(const struct dispatch *d, uint64_t now_ns)
{
    for (uint32_t i = 0; i < ENGINES_MAX; i++)
        for (uint32_t s = 0; d->engine[i] && s < d->engine[i]->menu->n_steps; s++)
            if (batcher_has_work(&d->engine[i]->step[s], now_ns))
                return true;
    return false;
}

bool dispatch_has_waiting(const struct dispatch *d)
{
    for (uint32_t i = 0; i < ENGINES_MAX; i++)
        for (uint32_t s = 0; d->engine[i] && s < d->engine[i]->menu->n_steps; s++)
            if (d->engine[i]->step[s].n_waiting)
                return true;
    return false;
}

bool dispatch_is_idle(const struct dispatch *d)
{
    for (uint32_t i = 0; i < ENGINES_MAX; i++)
        if (d->engine[i] && !is_idle(d->engine[i]))
            return false;
    return true;
}

uint64_t dispatch_due_ns(const struct dispatch *d, uint64_t now_ns)
{
    uint64_t due = rois_due_ns(d), event = events_due_ns(d);

    due = event < due ? event : due;
    for (uint32_t i = 0; i < ENGINES_MAX; i++) {
        struct engine *e = d->engine[i];

        for (uint32_t s = 0; e && s < e->menu->n_steps; s++) {
            uint64_t step = batcher_due_ns(&e->step[s], now_ns);

            due = step < due ? step : due;
        }
    }
    return due > now_ns ? due : now_ns;
}
