/* SPDX-License-Identifier: Apache-2.0 */
/* rois.c - the RoIs in flight: their list by arrival, their chains, what they wait for. */
#include "clock.h"
#include "flow/batcher.h"
#include "flow/dispatch_inner.h"
#include "flow/value_guard.h"
#include "log.h"

/* ---------------------------------------------------------------- the list by arrival */

static void list_append(struct dispatch *d, uint32_t roi)
{
    struct roi *r = dispatch_at(d, roi);

    r->prev = d->newest;
    r->next = POOL_NONE;
    if (d->newest != POOL_NONE)
        dispatch_at(d, d->newest)->next = roi;
    else
        d->oldest = roi;
    d->newest = roi;
    if (d->soft_checked == POOL_NONE)
        d->soft_checked = roi;
}

static void list_remove(struct dispatch *d, uint32_t roi)
{
    struct roi *r = dispatch_at(d, roi);

    if (d->soft_checked == roi)
        d->soft_checked = r->next;
    if (r->prev != POOL_NONE)
        dispatch_at(d, r->prev)->next = r->next;
    else
        d->oldest = r->next;
    if (r->next != POOL_NONE)
        dispatch_at(d, r->next)->prev = r->prev;
    else
        d->newest = r->prev;
}

/* ---------------------------------------------------------------- the end */

static uint32_t items_of(const struct dispatch *d, const struct engine_step *s, uint32_t roi)
{
    return lane_collection(d->pool, dispatch_at(d, roi), &s->group.input[0])->n;
}

/* Takes an RoI out of what it waits in; batches in flight bring it back themselves. */
static void leave_queues(struct dispatch *d, uint32_t roi)
{
    struct roi *r = dispatch_at(d, roi);
    struct engine *e = d->engine[r->engine];

    for (uint64_t left = r->asked & ~r->done; r->pending && left; left &= left - 1) {
        struct engine_step *s = &e->step[__builtin_ctzll(left)];

        if (s->group.n_inputs && batcher_remove(s, e->capacity, roi, items_of(d, s, roi)))
            r->pending--;
    }
    while (r->pending && suspects_remove(d->suspects, roi))
        r->pending--;
}

static void leave(struct dispatch *d, uint32_t roi)
{
    if (dispatch_at(d, roi)->pending)
        leave_queues(d, roi);
    list_remove(d, roi);
}

/* Makes the decision: it leaves every queue at once. */
static void make_decision(struct dispatch *d, uint32_t roi)
{
    leave(d, roi);
    decide_roi(d->out, d->accounts, d->engine[dispatch_at(d, roi)->engine], roi);
}

void rois_fail(struct dispatch *d, uint32_t roi, uint32_t status, struct roi_why why)
{
    dispatch_at(d, roi)->status = (uint8_t)status;
    dispatch_at(d, roi)->why = why;
    make_decision(d, roi);
}

void rois_refuse(struct dispatch *d, uint32_t roi, const struct check_fault *fault)
{
    struct roi *r = dispatch_at(d, roi);
    struct wire_error error;

    check_say(fault, d->pool->max_layer, r->token, &error);
    leave(d, roi);
    decide_refused(d->out, d->accounts, d->engine[r->engine], roi, &error);
}

/* Decides an RoI whose chains have all ended, unless values that no step has read are wrong. */
static void conclude(struct dispatch *d, uint32_t roi)
{
    struct check_fault fault;

    if (dispatch_at(d, roi)->unseen && value_guard_rest(d->pool, dispatch_at(d, roi), &fault))
        rois_refuse(d, roi, &fault);
    else
        make_decision(d, roi);
}

/* ---------------------------------------------------------------- chains and steps */

static void enqueue(struct dispatch *d, struct engine *e, uint32_t step, uint32_t roi)
{
    struct roi *r = dispatch_at(d, roi);

    batcher_put(&e->step[step], e->capacity, roi, items_of(d, &e->step[step], roi), d->now_ns);
    r->asked |= 1ull << step;
    r->pending++;
}

/* Queues an RoI for what the steps that its chains wait for need first; decides it when no chain
 * runs any more. */
static void go_on(struct dispatch *d, struct engine *e, uint32_t roi, uint64_t waits)
{
    struct roi *r = dispatch_at(d, roi);
    uint64_t heads = 0;

    if (!chains_run(e->menu->plan, pool_at(d->pool, r->chains))) {
        conclude(d, roi);
        return;
    }
    for (; waits; waits &= waits - 1)
        heads |= plan_to_run(e->menu->plan, (uint32_t)__builtin_ctzll(waits), r->done);
    for (heads &= ~r->asked; heads; heads &= heads - 1)
        enqueue(d, e, (uint32_t)__builtin_ctzll(heads), roi);
}

void rois_advance(struct dispatch *d, uint32_t roi, uint64_t steps)
{
    struct roi *r = dispatch_at(d, roi);
    struct engine *e = d->engine[r->engine];

    r->done |= steps;
    go_on(d, e, roi,
          chains_advance(e->menu->plan, pool_steps(d->pool, r), r->done, steps,
                         pool_at(d->pool, r->chains)));
}

static uint64_t seed_chains(struct dispatch *d, struct engine *e, struct roi *r)
{
    const struct chains_event ev = {.info = &r->info, .type = r->type, .kinds = r->kinds};
    const struct prescales *prescales;
    void *chains = pool_at(d->pool, r->chains);
    uint64_t waits;

    r->account = accounts_enter(d->accounts, e, &r->info);
    prescales = accounts_prescales(d->accounts, r->account);
    r->prescale_key = prescales->key;
    waits = chains_seed(e->menu->plan, prescales, &ev, chains);
    accounts_seeded(d->accounts, r->account, chains);
    return waits;
}

void rois_take(struct dispatch *d, uint32_t roi)
{
    struct roi *r = dispatch_at(d, roi);
    uint64_t waits;

    d->now_ns = r->received_ns;
    r->engine = d->current;
    d->engine[d->current]->n_rois++;
    list_append(d, roi);
    waits = seed_chains(d, d->engine[d->current], r);
    if (!d->poison || !poison_knows(d->poison, d->pool, r)) {
        go_on(d, d->engine[d->current], roi, waits);
        return;
    }
    stats_add(&d->stats->g.poison_known, 1);
    rois_fail(d, roi, TRIGD__V1__STATUS__ALGO_FAILED, (struct roi_why){.what = ROI_END_KNOWN});
}

/* ---------------------------------------------------------------- deadlines */

void rois_check_limits(struct dispatch *d, uint64_t now)
{
    while (d->soft_ns && d->soft_checked != POOL_NONE &&
           now >= dispatch_at(d, d->soft_checked)->received_ns + d->soft_ns) {
        dispatch_at(d, d->soft_checked)->is_late = true;
        d->soft_checked = dispatch_at(d, d->soft_checked)->next;
    }
    while (d->hard_ns && d->oldest != POOL_NONE &&
           now >= dispatch_at(d, d->oldest)->received_ns + d->hard_ns) {
        struct roi *r = dispatch_at(d, d->oldest);

        r->is_late = true;
        log_warn("dispatch", "an RoI passed the hard limit", "run=%u l1id=%u roi=%u limit_ms=%u",
                 r->info.run, r->info.l1id, r->info.roi_id, d->config->limits.hard_ms);
        rois_fail(d, d->oldest, TRIGD__V1__STATUS__TIMEOUT,
                  (struct roi_why){.what = ROI_END_HARD_LIMIT});
    }
}

uint64_t rois_due_ns(const struct dispatch *d)
{
    uint64_t due = UINT64_MAX;

    if (d->hard_ns && d->oldest != POOL_NONE)
        due = dispatch_at(d, d->oldest)->received_ns + d->hard_ns;
    if (d->soft_ns && d->soft_checked != POOL_NONE &&
        dispatch_at(d, d->soft_checked)->received_ns + d->soft_ns < due)
        due = dispatch_at(d, d->soft_checked)->received_ns + d->soft_ns;
    return due;
}
