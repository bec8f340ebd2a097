/* SPDX-License-Identifier: Apache-2.0 */
/* events.c - an event from its first RoI to its last: votes, its decision, its deadline. */
#include "flow/events.h"

#include "clock.h"
#include "flow/dispatch_inner.h"
#include "flow/event_registry.h"
#include "log.h"

#define WAIT_NS    (30 * NS_PER_S) /* for RoIs that are missing, without a hard limit */
#define ABANDON_NS NS_PER_S        /* for those of a client that left */

static struct event *event_of(const struct dispatch *d, const struct roi *r)
{
    return event_table_at(d->events, r->event);
}

const struct event *events_of(const struct dispatch *d, const struct roi *r)
{
    return r->event ? event_of(d, r) : NULL;
}

struct engine *events_engine(const struct dispatch *d, uint32_t event)
{
    const struct event *ev = event ? event_table_at(d->events, event) : NULL;
    struct engine *e = ev ? d->engine[ev->engine] : NULL;

    if (e && (ev->state == EVENT_OPEN || e->generation == ev->decision.generation))
        return e;
    return d->engine[d->current];
}

/* ---------------------------------------------------------------- leaving */

/* An RoI has its decision, or was refused. */
static void leave(struct event *ev, uint32_t slot)
{
    ev->roi[slot] = POOL_NONE;
    ev->n_left++;
}

/* Ends an event that waits for nothing more.  It is remembered while RoIs may come late, or again
 * from a client that is known over connections. */
static void finish(struct dispatch *d, struct event *ev)
{
    if (ev->state != EVENT_DECIDED || ev->n_left < ev->n_came ||
        (ev->n_came < ev->n_rois && !ev->is_past))
        return;
    event_registry_release(d->registry, ev->run, ev->l1id, d->engine[d->current]->shard);
    if (ev->owner.key || ev->n_came < ev->n_rois)
        event_table_keep(d->events, ev);
    else
        event_table_forget(d->events, ev);
}

/* Gives an RoI its part of the event's decision. */
static void decide_one(struct dispatch *d, struct event *ev, uint32_t roi)
{
    struct roi *r = dispatch_at(d, roi);
    const uint32_t slot = r->event_slot;
    struct engine *e = d->engine[r->engine];

    in_flight_leave(d, roi);
    if (roi_has_failed(r->status))
        decide_roi(d->out, d->accounts, d->histograms, e, roi);
    else
        decide_roi_of_event(d->out, d->accounts, d->histograms, e, roi, &ev->decision);
    leave(ev, slot);
}

/* An RoI is not run, or not further: its event is rejected without it. */
static void skip(struct dispatch *d, struct event *ev, uint32_t roi)
{
    dispatch_at(d, roi)->status = TRIGD__V1__STATUS__SKIPPED;
    stats_add(&d->stats->g.skipped, 1);
    decide_one(d, ev, roi);
}

static void fail_one(struct dispatch *d, struct event *ev, uint32_t roi, uint32_t status,
                     enum roi_end what)
{
    struct roi *r = dispatch_at(d, roi);

    if (!roi_has_failed(r->status)) { /* not itself */
        r->status = (uint8_t)status;
        r->why = (struct roi_why){.what = (uint8_t)what};
    }
    decide_one(d, ev, roi);
}

/* ---------------------------------------------------------------- the decision */

static void count(struct dispatch *d, const struct event_decision *m)
{
    struct stats_global *g = &d->stats->g;

    stats_sub(&g->events_open, 1);
    stats_add(roi_has_failed(m->status) ? &g->events_failed
              : m->accept               ? &g->events_accepted
                                        : &g->events_rejected,
              1);
    if (roi_has_failed(m->status) && m->n_came < m->n_rois)
        stats_add(&g->events_incomplete, 1);
}

/* Sends an event's decision out. */
static void conclude(struct dispatch *d, struct event *ev)
{
    struct event_decision *m = &ev->decision;
    struct engine *e = d->engine[ev->engine];

    m->run = ev->run;
    m->l1id = ev->l1id;
    m->n_rois = ev->n_rois;
    m->n_came = ev->n_came;
    m->client = ev->owner.client;
    m->epoch = ev->owner.epoch;
    m->first_ns = ev->first_ns;
    m->is_late = d->soft_ns && d->now_ns >= ev->first_ns + d->soft_ns;
    m->n_words = e->menu->plan->n_words;
    m->generation = e->generation;
    m->menu_key = e->menu->hash;
    m->prescale_key = accounts_prescales(d->accounts, ev->account)->key;
    m->conditions_key = accounts_conditions(d->accounts, ev->account)->key;
    ev->state = EVENT_DECIDED;
    d->pool->n_reserved -= ev->n_rois - ev->n_came;
    count(d, m);
    accounts_event(d->accounts, ev->account, m);
    egress_event(d->out, m);
    e->n_rois--;
}

/* Decides an event whose chains cannot change any more, and those of its RoIs that waited. */
static void decide(struct dispatch *d, struct event *ev)
{
    struct event_decision *m = &ev->decision;
    const struct plan *p = d->engine[ev->engine]->menu->plan;
    uint64_t any = 0;

    m->raw = ev->votes.raw;
    m->streams = votes_accepted(&ev->votes, p, &m->accepted);
    for (uint32_t w = 0; w < p->n_words; w++)
        any |= m->accepted.w[w];
    m->accept = any != 0;
    conclude(d, ev);
    for (uint32_t i = 0; i < ev->n_came; i++) {
        const uint32_t roi = ev->roi[i];

        if (roi == POOL_NONE)
            continue;
        if (dispatch_at(d, roi)->is_ended ||
            !chains_run(pool_at(d->pool, dispatch_at(d, roi)->chains)))
            decide_one(d, ev, roi);
        else if (!m->accept)
            skip(d, ev, roi);
    }
    finish(d, ev);
}

/* Forces an event into the debug stream, with all RoIs that came. */
static void fail(struct dispatch *d, struct event *ev, uint32_t status, enum roi_end what)
{
    struct event_decision *m = &ev->decision;

    m->status = (uint8_t)status;
    m->accept = true;
    m->streams = 1ull << d->engine[ev->engine]->menu->debug_stream;
    conclude(d, ev);
    for (uint32_t i = 0; i < ev->n_came; i++)
        if (ev->roi[i] != POOL_NONE)
            fail_one(d, ev, ev->roi[i], status, what);
    finish(d, ev);
}

void events_abandon(struct dispatch *d, struct event *ev)
{
    if (ev->state == EVENT_OVER || ev->is_past || ev->n_came == ev->n_rois || ev->owner.key ||
        egress_is_there(d->out, ev->owner.client, ev->owner.epoch))
        return;
    log_warn("dispatch", "an event's client left before all of its RoIs had come",
             "run=%u l1id=%u came=%u rois=%u", ev->run, ev->l1id, ev->n_came, ev->n_rois);
    ev->is_past = true;
    if (ev->state == EVENT_OPEN)
        fail(d, ev, TRIGD__V1__STATUS__TIMEOUT, ROI_END_ABANDONED);
    else
        finish(d, ev);
}

/* ---------------------------------------------------------------- RoIs */

uint32_t events_join(struct dispatch *d, uint32_t roi)
{
    struct roi *r = dispatch_at(d, roi);
    struct event *ev = event_of(d, r);

    if (!ev->n_came) {
        stats_add(&d->stats->g.events, 1);
        stats_add(&d->stats->g.events_open, 1);
    }
    r->event_slot = (uint8_t)ev->n_came;
    ev->roi_id[ev->n_came] = r->info.roi_id;
    ev->roi[ev->n_came++] = roi;
    ev->decision.is_repeat |= r->is_repeat && ev->state == EVENT_OPEN;
    if (!d->hard_ns && ev->n_came == ev->n_rois && ev->state != EVENT_OVER)
        event_table_unlist(d->events, ev); /* it waits for nobody */
    if (events_engine(d, r->event) == d->engine[ev->engine])
        return ev->engine;
    return d->current;
}

uint32_t events_account(struct dispatch *d, const struct roi *r)
{
    struct event *ev = event_of(d, r);

    if (ev->state == EVENT_OPEN && ev->n_came > 1)
        return accounts_join(d->accounts, ev->account);
    ev->account = accounts_enter(d->accounts, d->engine[r->engine], &r->info);
    return ev->account;
}

/* An RoI of an event that is decided; whether it runs. */
static bool come_after(struct dispatch *d, struct event *ev, uint32_t roi)
{
    const struct event_decision *m = &ev->decision;
    const bool is_over = ev->is_past || ev->state == EVENT_OVER ||
                         d->engine[dispatch_at(d, roi)->engine]->generation != m->generation;

    if (is_over)
        fail_one(d, ev, roi, TRIGD__V1__STATUS__TIMEOUT, ROI_END_AFTER);
    else if (roi_has_failed(m->status))
        fail_one(d, ev, roi, m->status, ROI_END_EVENT);
    else if (!m->accept)
        skip(d, ev, roi);
    else
        return true;
    finish(d, ev);
    return false;
}

bool events_come(struct dispatch *d, uint32_t roi)
{
    struct roi *r = dispatch_at(d, roi);
    struct event *ev = event_of(d, r);
    const struct plan *p = d->engine[r->engine]->menu->plan;

    if (ev->state != EVENT_OPEN)
        return come_after(d, ev, roi);
    if (ev->n_came == 1)
        votes_begin(&ev->votes, p, accounts_prescales(d->accounts, ev->account), &r->info,
                    ev->n_rois, event_table_votes(ev));
    votes_come(&ev->votes, p, pool_at(d->pool, r->chains));
    if (!votes_settle(&ev->votes, p))
        return true;
    decide(d, ev);
    return !r->is_decided;
}

void events_end(struct dispatch *d, uint32_t roi)
{
    struct roi *r = dispatch_at(d, roi);
    struct event *ev = event_of(d, r);
    struct engine *e = d->engine[r->engine];

    r->is_ended = true;
    in_flight_leave_queues(d, roi);
    if (r->status == TRIGD__V1__STATUS__TRUNCATED)
        decide_truncated(d->out, e, r);
    if (ev->state != EVENT_OPEN) { /* accepted */
        decide_one(d, ev, roi);
        finish(d, ev);
        return;
    }
    if (r->status == TRIGD__V1__STATUS__TRUNCATED)
        ev->decision.status = TRIGD__V1__STATUS__TRUNCATED;
    votes_end(&ev->votes, e->menu->plan, pool_steps(d->pool, r), pool_at(d->pool, r->chains));
    if (votes_settle(&ev->votes, e->menu->plan))
        decide(d, ev);
}

void events_fail(struct dispatch *d, uint32_t roi)
{
    const struct roi *r = dispatch_at(d, roi);
    struct event *ev = event_of(d, r);

    if (ev->state == EVENT_OPEN) {
        fail(d, ev, r->status, ROI_END_EVENT);
        return;
    }
    decide_one(d, ev, roi);
    finish(d, ev);
}

void events_lose(struct dispatch *d, uint32_t event, uint32_t slot)
{
    struct event *ev = event_table_at(d->events, event);

    leave(ev, slot);
    if (ev->state == EVENT_OPEN)
        fail(d, ev, TRIGD__V1__STATUS__ALGO_FAILED, ROI_END_EVENT);
    else
        finish(d, ev);
}

/* ---------------------------------------------------------------- deadlines */

static uint64_t limit_ns(const struct dispatch *d, const struct event *ev)
{
    return ev->first_ns + (d->hard_ns ? d->hard_ns : WAIT_NS);
}

void events_check_limits(struct dispatch *d, uint64_t now_ns)
{
    struct event *ev;

    while ((ev = event_table_oldest(d->events)) && now_ns >= limit_ns(d, ev)) {
        const bool is_complete = ev->n_came == ev->n_rois;

        ev->is_past = true;
        event_table_unlist(d->events, ev);
        if (ev->state != EVENT_OPEN) {
            finish(d, ev);
            continue;
        }
        log_warn("dispatch", "an event passed the hard limit", "run=%u l1id=%u came=%u rois=%u",
                 ev->run, ev->l1id, ev->n_came, ev->n_rois);
        fail(d, ev, TRIGD__V1__STATUS__TIMEOUT, is_complete ? ROI_END_HARD_LIMIT : ROI_END_MISSING);
    }
}

void events_tick(struct dispatch *d, uint64_t now_ns)
{
    struct event *ev = event_table_oldest(d->events), *next;

    for (; ev && now_ns >= ev->first_ns + ABANDON_NS; ev = next) {
        next = event_table_after(d->events, ev);
        events_abandon(d, ev);
    }
}

uint64_t events_due_ns(const struct dispatch *d)
{
    const struct event *ev = event_table_oldest(d->events);

    return ev ? limit_ns(d, ev) : UINT64_MAX;
}
