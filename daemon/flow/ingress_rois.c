/* SPDX-License-Identifier: Apache-2.0 */
/* ingress_rois.c - one checked RoI into the pool, and the answers to those that are not taken. */
#include <errno.h>
#include <inttypes.h>

#include "check.h"
#include "clock.h"
#include "flow/events.h"
#include "flow/ingress_inner.h"
#include "transport/refusal.h"

/* Sends to a client, or to a peer that is none: `number` is CLIENTS_NONE. */
static void ingress_send(struct ingress *in, const struct peer *peer, uint32_t number,
                         const Trigd__V1__FromDaemon *m)
{
    if (number == CLIENTS_NONE)
        clients_send_peer(in->clients, peer, m);
    else
        clients_send(in->clients, number, m, 0);
}

void ingress_error(struct ingress *in, const struct peer *peer, uint32_t number,
                   const struct wire_error *error, const uint64_t *token)
{
    refusal_send(in->clients, in->stats, peer, number, error, token);
}

void ingress_busy(struct ingress *in, const struct peer *peer, uint32_t number)
{
    Trigd__V1__FromDaemon m = TRIGD__V1__FROM_DAEMON__INIT;
    Trigd__V1__Busy busy = TRIGD__V1__BUSY__INIT;

    if (!in->n_tokens)
        return;
    busy.n_tokens = in->n_tokens;
    busy.tokens = in->tokens;
    busy.reason = in->reason;
    m.body_case = TRIGD__V1__FROM_DAEMON__BODY_BUSY;
    m.busy = &busy;
    stats_add(&in->stats->g.busy, in->n_tokens);
    if (number != CLIENTS_NONE)
        stats_add(&clients_at(in->clients, number)->stats->busy, in->n_tokens);
    in->n_tokens = 0;
    ingress_send(in, peer, number, &m);
}

void ingress_not_taken(struct ingress *in, const struct peer *peer, uint32_t number, uint64_t token,
                       Trigd__V1__Busy__Reason reason)
{
    if (in->n_tokens && in->reason != reason)
        ingress_busy(in, peer, number);
    in->reason = reason;
    in->tokens[in->n_tokens++] = token;
}

static void count_received(struct ingress *in, struct client *client)
{
    stats_add(&in->stats->g.received, 1);
    stats_add(&in->stats->g.in_flight, 1);
    stats_add(&client->stats->received, 1);
    stats_add(&client->stats->in_flight, 1);
    clients_took(client);
}

/* What a client with a key sends again is not decided again; whether that is so. */
static bool take_repeat(struct ingress *in, uint32_t number, struct client *client,
                        const struct recall_key *key, uint64_t token)
{
    const uint32_t entry = recall_find(in->recall, key);
    const struct recall_asker again = {.client = number, .epoch = client->epoch, .token = token};
    const struct roi *r;
    uint32_t roi;

    if (entry == RECALL_NONE)
        return false;
    roi = recall_pending(in->recall, entry);
    if (roi == RECALL_NONE && !egress_repeat(in->out, number, token, entry))
        return false;
    stats_add(&in->stats->g.repeated, 1);
    if (roi == RECALL_NONE)
        return true;
    r = &in->pool->rois[roi];
    if (r->client != number || r->client_epoch != client->epoch || r->token != token) {
        recall_wait(in->recall, entry, &again);
        clients_took(client);
    } /* else the decision is on its way to it */
    return true;
}

/* The key of the client that asks: a supervisor asks for others. */
static uint64_t asker_key(const struct ingress *in, const struct client *client)
{
    return in->route && in->route->key ? in->route->key : client->key;
}

static bool may_come(struct ingress *in, uint32_t number, const struct client *client,
                     const struct peer *peer, const struct wire_roi *w, uint64_t now)
{
    if (in->draining && !events_waits_for(in->next, w)) {
        ingress_not_taken(in, peer, number, w->token, TRIGD__V1__BUSY__REASON__DRAINING);
        return false;
    }
    if (client->outstanding >= client->allowed) {
        stats_add(&in->stats->g.credit_violations, now >= client->excused_ns);
        ingress_not_taken(in, peer, number, w->token, TRIGD__V1__BUSY__REASON__NO_CREDIT);
        return false;
    }
    return true;
}

static struct event_owner owner_of(const struct ingress *in, const struct client *client,
                                   uint32_t number)
{
    return (struct event_owner){
        .key = asker_key(in, client), .client = number, .epoch = client->epoch};
}

/* Finds the event that an RoI joins; false when it was refused, or there is no room. */
static bool join_event(struct ingress *in, uint32_t number, const struct peer *peer,
                       const struct wire_roi *w, uint64_t now, uint32_t *ret_event)
{
    const struct client *client = clients_at(in->clients, number);
    const struct event_owner who = owner_of(in, client, number);
    const uint32_t limit = in->config->clients.credits;
    struct wire_error error;
    int r =
        events_admit(in->next, w, &who, client->want && client->want < limit ? client->want : limit,
                     now, ret_event, &error);

    if (r == -EBADMSG) {
        stats_add(&in->stats->g.event_errors, 1);
        ingress_error(in, peer, number, &error, &w->token);
    } else if (r < 0) {
        in->pool_was_full = true;
        ingress_not_taken(in, peer, number, w->token, TRIGD__V1__BUSY__REASON__POOL_FULL);
    }
    return r == 0;
}

/* A repeat of an RoI whose event is not known any more makes the event anew. */
static bool may_repeat(struct ingress *in, uint32_t number, const struct wire_roi *w)
{
    const struct event_owner who = owner_of(in, clients_at(in->clients, number), number);

    return w->event_rois <= 1 || events_again(in->next, w, &who);
}

void ingress_roi(struct ingress *in, uint32_t number, const struct peer *peer, struct wire_roi *w,
                 const struct store_from *from, uint64_t now)
{
    struct client *client = clients_at(in->clients, number);
    struct recall_key key;
    struct roi *r;
    uint32_t roi, event = 0;

    events_number(in->next, w);
    key = (struct recall_key){.client = in->recall ? asker_key(in, client) : 0,
                              .run = w->info.run,
                              .l1id = w->info.l1id,
                              .roi_id = w->info.roi_id};
    if (!may_come(in, number, client, peer, w, now))
        return;
    if (key.client && may_repeat(in, number, w) && take_repeat(in, number, client, &key, w->token))
        return;
    if ((w->event_rois > 1 || stats_get(&in->stats->g.events_open)) &&
        !join_event(in, number, peer, w, now, &event))
        return;
    roi = pool_take(in->pool);
    r = roi == POOL_NONE ? NULL : &in->pool->rois[roi];
    if (!r ||
        store_roi(in->pool, event ? events_engine(in->next, event) : dispatch_engine(in->next), w,
                  from, r) < 0) {
        if (r)
            pool_put(in->pool, roi);
        events_undo(in->next, event);
        in->pool_was_full = true;
        ingress_not_taken(in, peer, number, w->token, TRIGD__V1__BUSY__REASON__POOL_FULL);
        return;
    }
    in->pool_was_full = false;
    r->event = event;
    r->event_rois = event ? (uint8_t)w->event_rois : 0;
    r->info = w->info;
    r->token = w->token;
    r->received_ns = now;
    r->deadline_ns = w->deadline_us ? now + w->deadline_us * NS_PER_US : 0;
    r->client = number;
    r->client_epoch = client->epoch;
    r->type = (uint8_t)w->type;
    r->is_repeat = w->is_repeat || (in->route && in->route->is_repeat);
    if (key.client)
        r->recall = recall_enter(in->recall, &key, roi) + 1; /* RECALL_NONE + 1 is 0 */
    count_received(in, client);
    dispatch_roi(in->next, roi);
}

bool ingress_is_looked_at(struct ingress *in, const struct wire_roi *w,
                          struct wire_error *ret_error)
{
    const struct menu *m = dispatch_engine(in->next)->menu;

    if (m->plan->types >> w->type & 1 || w->event_rois > 1) /* an event is complete with it */
        return true;
    stats_add(&in->stats->g.no_chain, 1);
    check_refuse(ret_error, TRIGD__V1__ERROR__CODE__NO_CHAIN,
                 "RoI %" PRIu64 ": no chain of the menu looks at RoIs of type %u%s%s%s", w->token,
                 w->type, m->types[w->type] ? " (" : "", m->types[w->type] ? m->types[w->type] : "",
                 m->types[w->type] ? ")" : "");
    return false;
}
