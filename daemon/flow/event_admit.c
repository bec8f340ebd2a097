/* SPDX-License-Identifier: Apache-2.0 */
/* event_admit.c - which event an RoI joins, or why it cannot. */
#include <errno.h>
#include <inttypes.h>

#include "check.h"
#include "flow/dispatch_inner.h"
#include "flow/event_registry.h"

#define NO_SLOT UINT32_MAX

static bool is_owner(const struct event *ev, const struct event_owner *who)
{
    return ev->owner.key || who->key
               ? ev->owner.key == who->key
               : ev->owner.client == who->client && ev->owner.epoch == who->epoch;
}

static bool is_same_crossing(const struct event *ev, const struct wire_roi *w)
{
    return ev->bcid == w->info.bcid && ev->lumi_block == w->info.lumi_block &&
           ev->l1_bits == w->info.l1_bits;
}

static uint32_t slot_of(const struct event *ev, uint32_t roi_id)
{
    for (uint32_t i = 0; i < ev->n_came; i++)
        if (ev->roi_id[i] == roi_id)
            return i;
    return NO_SLOT;
}

void events_number(const struct dispatch *d, struct wire_roi *w)
{
    const uint64_t lumi = d->lumi ? atomic_load_explicit(d->lumi, memory_order_relaxed) : 0;
    const struct event *ev;

    if (!lumi)
        return;
    w->info.run = (uint32_t)(lumi >> 32);
    w->info.lumi_block = (uint32_t)lumi;
    ev = w->event_rois > 1 ? event_table_find(d->events, w->info.run, w->info.l1id) : NULL;
    if (ev)
        w->info.lumi_block = ev->lumi_block;
}

bool events_waits_for(const struct dispatch *d, const struct wire_roi *w)
{
    const struct event *ev = event_table_find(d->events, w->info.run, w->info.l1id);

    return w->event_rois > 1 && ev && ev->state == EVENT_OPEN;
}

/* ---------------------------------------------------------------- what does not fit */

#define EVENT "RoI %" PRIu64 ": event %u/%u (run/l1id) "

static int check_owner(const struct event *ev, const struct wire_roi *w,
                       const struct event_owner *who, struct wire_error *e)
{
    if (is_owner(ev, who))
        return 0;
    return check_refuse(e, TRIGD__V1__ERROR__CODE__EVENT,
                        EVENT "comes from another client; the RoIs of an event come from one",
                        w->token, ev->run, ev->l1id);
}

static int check_fit(const struct event *ev, const struct wire_roi *w, struct wire_error *e)
{
    if (ev->n_rois != w->event_rois)
        return check_refuse(e, TRIGD__V1__ERROR__CODE__EVENT,
                            EVENT "has %u RoIs, as its first one says; this one says %u", w->token,
                            ev->run, ev->l1id, ev->n_rois, w->event_rois ? w->event_rois : 1);
    if (!is_same_crossing(ev, w))
        return check_refuse(e, TRIGD__V1__ERROR__CODE__EVENT,
                            EVENT "has bcid %u, lumi block %u, l1_bits 0x%x, as its first RoI "
                                  "says; this one says %u, %u, 0x%x",
                            w->token, ev->run, ev->l1id, ev->bcid, ev->lumi_block, ev->l1_bits,
                            w->info.bcid, w->info.lumi_block, w->info.l1_bits);
    if (slot_of(ev, w->info.roi_id) != NO_SLOT)
        return check_refuse(e, TRIGD__V1__ERROR__CODE__EVENT,
                            EVENT "has an RoI %u already; each number is allowed once", w->token,
                            ev->run, ev->l1id, w->info.roi_id);
    if (ev->n_came == ev->n_rois)
        return check_refuse(e, TRIGD__V1__ERROR__CODE__EVENT, EVENT "has its %u RoIs already",
                            w->token, ev->run, ev->l1id, ev->n_rois);
    return 0;
}

static int check_size(const struct dispatch *d, const struct wire_roi *w, uint32_t most,
                      struct wire_error *e)
{
    if (most > d->pool->n_rois)
        most = d->pool->n_rois;
    if (w->event_rois > d->config->events.rois)
        return check_refuse(e, TRIGD__V1__ERROR__CODE__TOO_LARGE,
                            EVENT "has %u RoIs; at most %u are allowed (events.rois)", w->token,
                            w->info.run, w->info.l1id, w->event_rois, d->config->events.rois);
    if (w->event_rois > most)
        return check_refuse(e, TRIGD__V1__ERROR__CODE__TOO_LARGE,
                            EVENT "has %u RoIs, and this client may have %u unanswered (credits)",
                            w->token, w->info.run, w->info.l1id, w->event_rois, most);
    return 0;
}

/* ---------------------------------------------------------------- opening */

static int open_event(struct dispatch *d, const struct wire_roi *w, const struct event_owner *who,
                      uint64_t now_ns, uint32_t *ret_event, struct wire_error *e)
{
    struct engine *engine = d->engine[d->current];
    struct pool *pool = d->pool;
    struct event *ev;

    if (pool->n_used + pool->n_reserved + w->event_rois > pool->n_rois)
        return -ENOSPC;
    if (!event_registry_claim(d->registry, w->info.run, w->info.l1id, engine->shard, who->key))
        return check_refuse(e, TRIGD__V1__ERROR__CODE__EVENT,
                            EVENT "comes from another client; the RoIs of an event come from one",
                            w->token, w->info.run, w->info.l1id);
    ev = event_table_open(d->events, w->info.run, w->info.l1id, w->event_rois,
                          votes_bytes(engine->menu->plan));
    if (!ev) {
        event_registry_release(d->registry, w->info.run, w->info.l1id, engine->shard);
        return -ENOSPC;
    }
    ev->owner = *who;
    ev->bcid = w->info.bcid;
    ev->lumi_block = w->info.lumi_block;
    ev->l1_bits = w->info.l1_bits;
    ev->first_ns = now_ns;
    ev->engine = d->current;
    engine->n_rois++;
    pool->n_reserved += w->event_rois - 1;
    *ret_event = event_table_number(d->events, ev);
    return 0;
}

void events_undo(struct dispatch *d, uint32_t event)
{
    struct event *ev = event ? event_table_at(d->events, event) : NULL;

    if (!ev || ev->state != EVENT_OPEN)
        return;
    d->pool->n_reserved++;
    if (ev->n_came)
        return;
    d->pool->n_reserved -= ev->n_rois;
    d->engine[ev->engine]->n_rois--;
    event_registry_release(d->registry, ev->run, ev->l1id, d->engine[d->current]->shard);
    event_table_forget(d->events, ev);
}

/* ---------------------------------------------------------------- the event of an RoI */

/* Whether an RoI is a late one of an event that is over; else it is of another event with the same
 * name, or sent again by somebody who was answered long ago. */
static bool is_late_for(const struct event *ev, const struct wire_roi *w,
                        const struct event_owner *who)
{
    return is_owner(ev, who) && ev->n_rois == w->event_rois && is_same_crossing(ev, w) &&
           ev->n_came < ev->n_rois && slot_of(ev, w->info.roi_id) == NO_SLOT;
}

/* The event by its name, unless it is over and has nothing to do with the RoI. */
static struct event *find(struct dispatch *d, const struct wire_roi *w,
                          const struct event_owner *who)
{
    struct event *ev = event_table_find(d->events, w->info.run, w->info.l1id);

    if (ev && !is_owner(ev, who))
        events_abandon(d, ev);
    if (!ev || ev->state != EVENT_OVER || is_late_for(ev, w, who))
        return ev && ev->state != EVENT_FREE ? ev : NULL;
    event_table_forget(d->events, ev);
    return NULL;
}

int events_admit(struct dispatch *d, const struct wire_roi *w, const struct event_owner *who,
                 uint32_t most, uint64_t now_ns, uint32_t *ret_event, struct wire_error *ret_error)
{
    struct event *ev;

    *ret_event = 0;
    if (w->event_rois <= 1) {
        ev = event_table_find(d->events, w->info.run, w->info.l1id);
        return ev && ev->state != EVENT_OVER && is_owner(ev, who) ? check_fit(ev, w, ret_error) : 0;
    }
    if (check_size(d, w, most, ret_error) < 0)
        return -EBADMSG;
    ev = find(d, w, who);
    if (!ev)
        return open_event(d, w, who, now_ns, ret_event, ret_error);
    if (check_owner(ev, w, who, ret_error) < 0 || check_fit(ev, w, ret_error) < 0)
        return -EBADMSG;
    if (ev->state == EVENT_OPEN)
        d->pool->n_reserved--;
    ev->owner.client = who->client;
    ev->owner.epoch = who->epoch;
    *ret_event = event_table_number(d->events, ev);
    return 0;
}

/* ---------------------------------------------------------------- sent again */

/* Sends the decision again once the client has sent all RoIs again: it lacks the decision then. */
static void repeat(struct dispatch *d, struct event *ev, uint32_t slot)
{
    const uint64_t bit = 1ull << (slot % 64);
    struct event_decision copy = ev->decision;

    ev->n_again += !(ev->again[slot / 64] & bit);
    ev->again[slot / 64] |= bit;
    if (ev->n_again < ev->n_came)
        return;
    ev->n_again = 0;
    for (uint32_t i = 0; i < sizeof ev->again / sizeof *ev->again; i++)
        ev->again[i] = 0;
    copy.client = ev->owner.client;
    copy.epoch = ev->owner.epoch;
    copy.is_repeat = true;
    egress_event(d->out, &copy);
}

bool events_again(struct dispatch *d, const struct wire_roi *w, const struct event_owner *who)
{
    struct event *ev = event_table_find(d->events, w->info.run, w->info.l1id);
    const uint32_t slot = ev ? slot_of(ev, w->info.roi_id) : NO_SLOT;

    if (!ev || !is_owner(ev, who))
        return false;
    if (slot == NO_SLOT)
        return true;
    if (ev->owner.client != who->client || ev->owner.epoch != who->epoch) {
        ev->owner = *who; /* a new connection has got none of it */
        ev->n_again = 0;
        for (uint32_t i = 0; i < sizeof ev->again / sizeof *ev->again; i++)
            ev->again[i] = 0;
    }
    if (ev->state != EVENT_OPEN)
        repeat(d, ev, slot);
    return true;
}
