/* SPDX-License-Identifier: Apache-2.0 */
/* rois.c - the RoIs in flight: their chains, what they wait for, how they end. */
#include "clock.h"
#include "flow/batcher.h"
#include "flow/dispatch_inner.h"
#include "flow/value_guard.h"
#include "log.h"

#define LOOK_AFTER 64u       /* RoIs past a limit, between two looks at the clock */
#define FLUSH_NS   NS_PER_MS /* answers to them leave about that often */

/* ---------------------------------------------------------------- the end */

/* Makes the decision: it leaves every queue at once. */
static void make_decision(struct dispatch *d, uint32_t roi)
{
    const struct roi *r = dispatch_at(d, roi);

    if (r->is_early)
        stats_add(&d->stats->g.early, 1);
    in_flight_leave(d, roi);
    decide_roi(d->out, d->accounts, d->histograms, d->engine[r->engine], roi);
}

void rois_fail(struct dispatch *d, uint32_t roi, uint32_t status, struct roi_why why)
{
    dispatch_at(d, roi)->status = (uint8_t)status;
    dispatch_at(d, roi)->why = why;
    if (dispatch_at(d, roi)->event)
        events_fail(d, roi);
    else
        make_decision(d, roi);
}

void rois_refuse(struct dispatch *d, uint32_t roi, const struct check_fault *fault)
{
    struct roi *r = dispatch_at(d, roi);
    const uint32_t event = r->event, slot = r->event_slot; /* the record may be another's then */
    struct wire_error error;

    check_say(fault, d->pool->max_layer, r->token, &error);
    in_flight_leave(d, roi);
    decide_refused(d->out, d->accounts, d->engine[r->engine], roi, &error);
    if (event)
        events_lose(d, event, slot);
}

/* Decides an RoI whose chains have ended or cannot change it, unless values that no step has read
 * are wrong. */
static void conclude(struct dispatch *d, uint32_t roi, bool is_early)
{
    const struct roi *r = dispatch_at(d, roi);
    struct check_fault fault;

    if (r->unseen && value_guard_find(d->pool, r, r->unseen, &fault)) {
        rois_refuse(d, roi, &fault);
        return;
    }
    if (r->event) {
        events_end(d, roi);
        return;
    }
    dispatch_at(d, roi)->is_early = is_early;
    make_decision(d, roi);
}

/* What the client gave it. */
static int32_t deadline_us(const struct roi *r)
{
    const uint64_t us = (r->deadline_ns - r->received_ns) / NS_PER_US;

    return us < INT32_MAX ? (int32_t)us : INT32_MAX;
}

void rois_give_up(struct dispatch *d, uint32_t roi, uint32_t step)
{
    const struct roi_why why = {.what = ROI_END_TOO_LATE,
                                .step = (uint8_t)step,
                                .number = deadline_us(dispatch_at(d, roi))};

    stats_add(&d->stats->g.too_late, 1);
    rois_fail(d, roi, TRIGD__V1__STATUS__TOO_LATE, why);
}

/* ---------------------------------------------------------------- chains and steps */

static void enqueue(struct dispatch *d, struct engine *e, uint32_t step,
                    enum menu_priority priority, uint32_t roi)
{
    struct roi *r = dispatch_at(d, roi);

    batcher_put(&e->step[step], roi, priority, dispatch_items(d, &e->step[step], roi), d->now_ns);
    r->asked |= 1ull << step;
    r->pending++;
}

/* Queues an RoI for what steps need first, at the priority of the chains that wait for them. */
static void enqueue_for(struct dispatch *d, struct engine *e, uint32_t roi, uint64_t waits)
{
    const struct plan *p = e->menu->plan;
    struct roi *r = dispatch_at(d, roi);
    uint64_t heads[MENU_PRIORITIES] = {0};

    for (; waits; waits &= waits - 1) {
        const uint32_t step = (uint32_t)__builtin_ctzll(waits);
        const enum menu_priority c = p->is_ranked
                                         ? chains_priority(p, step, pool_at(d->pool, r->chains))
                                         : e->menu->chains[0].priority;

        heads[c] |= plan_to_run(p, step, r->done);
    }
    for (uint32_t c = 0; c < MENU_PRIORITIES; c++)
        for (uint64_t left = heads[c] & ~r->asked; left; left &= left - 1) {
            const uint32_t head = (uint32_t)__builtin_ctzll(left);

            if (r->deadline_ns &&
                batcher_is_too_late(&e->step[head], dispatch_items(d, &e->step[head], roi),
                                    r->deadline_ns, d->now_ns)) {
                rois_give_up(d, roi, head);
                return;
            }
            enqueue(d, e, head, c, roi);
        }
}

/* Queues an RoI for the steps that its chains wait for; decides it when no chain runs any more, or
 * none that runs can change the decision. */
static void go_on(struct dispatch *d, struct engine *e, uint32_t roi, uint64_t waits)
{
    const struct roi *r = dispatch_at(d, roi);
    void *chains = pool_at(d->pool, r->chains);

    if (!chains_run(chains))
        conclude(d, roi, false);
    else if (e->menu->decision != MENU_COMPLETE && !r->event &&
             chains_are_settled(e->menu->plan, pool_steps(d->pool, r), e->menu->decision, chains))
        conclude(d, roi, true);
    else if (waits & chains_skipped(chains)) /* of a chain that does not go on without it */
        rois_fail(
            d, roi, TRIGD__V1__STATUS__ALGO_FAILED,
            (struct roi_why){.what = ROI_END_NO_LANE,
                             .step = (uint8_t)__builtin_ctzll(waits & chains_skipped(chains))});
    else
        enqueue_for(d, e, roi, waits);
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

void rois_skip(struct dispatch *d, uint32_t roi, uint32_t step)
{
    struct roi *r = dispatch_at(d, roi);
    struct engine *e = d->engine[r->engine];
    bool fails;
    const uint64_t waits =
        chains_skip(e->menu->plan, pool_steps(d->pool, r), r->done, e->menu->steps[step].members,
                    pool_at(d->pool, r->chains), &fails);

    if (fails) {
        stats_add(&e->step[step].stats->failed, 1);
        rois_fail(d, roi, TRIGD__V1__STATUS__ALGO_FAILED,
                  (struct roi_why){.what = ROI_END_NO_LANE, .step = (uint8_t)step});
        return;
    }
    stats_add(&e->step[step].stats->skipped, 1);
    batcher_remove(&e->step[step], roi, dispatch_items(d, &e->step[step], roi));
    r->pending--;
    go_on(d, e, roi, waits);
}

static uint64_t seed_chains(struct dispatch *d, struct engine *e, struct roi *r)
{
    const struct chains_event ev = {.info = &r->info,
                                    .type = r->type,
                                    .kinds = r->kinds,
                                    .n_rois = r->event ? events_of(d, r)->n_rois : 1};
    const struct prescales *prescales;
    void *chains = pool_at(d->pool, r->chains);
    uint64_t waits;

    r->account = r->event ? events_account(d, r) : accounts_enter(d->accounts, e, &r->info);
    prescales = accounts_prescales(d->accounts, r->account);
    r->prescale_key = prescales->key;
    r->conditions = accounts_conditions(d->accounts, r->account);
    r->conditions_key = r->conditions->key;
    waits = chains_seed(e->menu->plan, prescales, &ev, chains);
    accounts_seeded(d->accounts, r->account, chains);
    return waits;
}

void rois_take(struct dispatch *d, uint32_t roi)
{
    struct roi *r = dispatch_at(d, roi);
    uint64_t waits;

    d->now_ns = r->received_ns;
    r->engine = r->event ? events_join(d, roi) : d->current;
    d->engine[r->engine]->n_rois++;
    in_flight_add(d, roi);
    if (r->deadline_ns && d->hard_ns && r->deadline_ns >= r->received_ns + d->hard_ns)
        r->deadline_ns = 0; /* never looser than the daemon's own */
    if (r->deadline_ns)
        deadlines_put(d->deadlines, roi);
    waits = seed_chains(d, d->engine[r->engine], r);
    if (r->event && !events_come(d, roi))
        return;
    if (!d->poison || !poison_knows(d->poison, d->pool, r)) {
        go_on(d, d->engine[r->engine], roi, waits);
        return;
    }
    stats_add(&d->stats->g.poison_known, 1);
    rois_fail(d, roi, TRIGD__V1__STATUS__ALGO_FAILED, (struct roi_why){.what = ROI_END_KNOWN});
}

/* ---------------------------------------------------------------- deadlines */

/* The next RoI that is past its deadline or the hard limit, and why it ends; POOL_NONE: none is. */
static uint32_t next_past(const struct dispatch *d, uint64_t now, struct roi_why *ret_why)
{
    const uint32_t first = deadlines_first(d->deadlines);

    if (first != POOL_NONE && now >= dispatch_at(d, first)->deadline_ns) {
        *ret_why = (struct roi_why){.what = ROI_END_DEADLINE,
                                    .number = deadline_us(dispatch_at(d, first))};
        return first;
    }
    if (!d->hard_ns || d->oldest == POOL_NONE ||
        now < dispatch_at(d, d->oldest)->received_ns + d->hard_ns)
        return POOL_NONE;
    *ret_why = (struct roi_why){.what = ROI_END_HARD_LIMIT};
    return d->oldest;
}

static void say_past(const struct dispatch *d, const struct roi *r)
{
    log_warn("dispatch", "an RoI passed the hard limit", "run=%u l1id=%u roi=%u limit_ms=%u",
             r->info.run, r->info.l1id, r->info.roi_id, d->config->limits.hard_ms);
}

void rois_check_limits(struct dispatch *d, uint64_t now)
{
    uint64_t flushed_ns = now;
    struct roi_why why;
    uint32_t roi, n = 0;

    while ((roi = next_past(d, now, &why)) != POOL_NONE) {
        if (why.what == ROI_END_HARD_LIMIT)
            say_past(d, dispatch_at(d, roi));
        rois_fail(d, roi, TRIGD__V1__STATUS__TIMEOUT, why);
        if (++n % LOOK_AFTER == 0 && clock_ns() >= flushed_ns + FLUSH_NS) {
            egress_flush(d->out);
            flushed_ns = clock_ns();
        }
    }
    if (n)
        egress_flush(d->out); /* the turn goes on with other RoIs */
}

uint64_t rois_due_ns(const struct dispatch *d)
{
    const uint32_t first = deadlines_first(d->deadlines);
    uint64_t due = first == POOL_NONE ? UINT64_MAX : dispatch_at(d, first)->deadline_ns;

    if (d->hard_ns && d->oldest != POOL_NONE &&
        dispatch_at(d, d->oldest)->received_ns + d->hard_ns < due)
        due = dispatch_at(d, d->oldest)->received_ns + d->hard_ns;
    return due;
}
