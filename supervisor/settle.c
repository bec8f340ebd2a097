/* SPDX-License-Identifier: Apache-2.0 */
/* settle.c - an RoI's outcome: counted once, and sent to its client. */
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "farm.h"
#include "fields.h"
#include "log.h"

#define MESSAGE_DECISIONS 256u
#define TAG_DECISIONS     TAG(2, BYTES)  /* of FromDaemon */
#define TAG_DECISION      TAG(1, BYTES)  /* of DecisionBatch */
#define TAG_EVENT         TAG(2, BYTES)  /* of DecisionBatch */
#define TAG_TOKEN         TAG(1, VARINT) /* of Decision */

/* ---------------------------------------------------------------- packing */

/* Adds a decision that is packed but for its token. */
static bool add_decision(struct outbox *o, uint64_t token, const unsigned char *rest, size_t n)
{
    unsigned char head[1 + OUTBOX_VARINT] = {TAG_DECISION}, field[1 + OUTBOX_VARINT] = {TAG_TOKEN},
                           *to;
    const size_t n_field = 1 + outbox_varint(field + 1, token);
    const size_t n_head = 1 + outbox_varint(head + 1, n_field + n);

    to = outbox_add(o, n_head + n_field + n);
    if (!to)
        return false;
    memcpy(to, head, n_head);
    memcpy(to + n_head, field, n_field);
    memcpy(to + n_head + n_field, rest, n);
    o->n_items++;
    return true;
}

static bool add_event(struct outbox *o, const unsigned char *bytes, size_t n)
{
    unsigned char head[1 + OUTBOX_VARINT] = {TAG_EVENT}, *to;
    const size_t n_head = 1 + outbox_varint(head + 1, n);

    to = outbox_add(o, n_head + n);
    if (!to)
        return false;
    memcpy(to, head, n_head);
    memcpy(to + n_head, bytes, n);
    o->n_items++;
    return true;
}

static void send_outbox(struct farm *f, uint32_t client)
{
    struct outbox *o = &f->outbox[client];
    const uint32_t n = o->n_items;
    zmq_msg_t body;

    if (outbox_seal(o, TAG_DECISIONS, &body) == 0)
        clients_send_packed(f->clients, client, &body, n);
    else
        stats_add(&f->stats->g.undeliverable, n);
}

void settle_flush(struct farm *f)
{
    for (uint32_t i = 0; i < f->n_outboxes; i++)
        if (f->outbox[f->outboxes[i]].n_items)
            send_outbox(f, f->outboxes[i]);
    f->n_outboxes = 0;
}

/* A client's outbox, to which a decision is added. */
static struct outbox *outbox_of(struct farm *f, uint32_t client)
{
    struct outbox *o = &f->outbox[client];

    if (o->n_items == MESSAGE_DECISIONS)
        send_outbox(f, client);
    else if (!o->n_items)
        f->outboxes[f->n_outboxes++] = client;
    return o;
}

static void send_decision(struct farm *f, uint32_t client, uint64_t token,
                          const unsigned char *rest, size_t n)
{
    if (!add_decision(outbox_of(f, client), token, rest, n))
        stats_add(&f->stats->g.undeliverable, 1);
}

bool settle_event(struct farm *f, uint64_t event, const unsigned char *bytes, size_t n)
{
    struct events_entry *e = events_at(&f->events, event);
    const struct client *client;

    if (!e || e->is_told)
        return false;
    e->is_told = true;
    client = clients_at(f->clients, e->client);
    if (!client->is_used || client->epoch != e->client_epoch ||
        !add_event(outbox_of(f, e->client), bytes, n))
        stats_add(&f->stats->g.undeliverable, 1);
    return true;
}

static void send_error(struct farm *f, uint32_t client, uint64_t token, const Trigd__V1__Error *e)
{
    Trigd__V1__FromDaemon m = TRIGD__V1__FROM_DAEMON__INIT;
    Trigd__V1__Error copy = *e;

    copy.has_token = true;
    copy.token = token;
    m.body_case = TRIGD__V1__FROM_DAEMON__BODY_ERROR;
    m.error = &copy;
    clients_send(f->clients, client, &m, 0);
}

/* ---------------------------------------------------------------- counting */

struct client *settle_asker(struct farm *f, const struct flight *flight)
{
    struct client *client = clients_at(f->clients, flight->client);

    return client->is_used && client->epoch == flight->client_epoch ? client : NULL;
}

static void count(struct farm *f, const struct flight *flight, const struct outcome *o)
{
    struct stats_global *g = &f->stats->g;
    struct client *client = settle_asker(f, flight);
    const bool failed = o->is_error || o->status > TRIGD__V1__STATUS__TRUNCATED;

    stats_sub(&g->in_flight, 1);
    stats_add(failed ? &g->failed : o->accept ? &g->accepted : &g->rejected, 1);
    stats_add(&g->errors, o->is_error);
    stats_add(&g->timeouts, !o->is_error && o->status == TRIGD__V1__STATUS__TIMEOUT);
    stats_add(&g->too_late, !o->is_error && o->status == TRIGD__V1__STATUS__TOO_LATE);
    stats_add(&g->truncated, !o->is_error && o->status == TRIGD__V1__STATUS__TRUNCATED);
    latency_add(&f->stats->stage[STATS_STAGE_total], clock_ns() - flight->received_ns);
    if (!client) {
        stats_add(&g->undeliverable, 1);
        return;
    }
    client->outstanding--;
    stats_sub(&client->stats->in_flight, 1);
    stats_add(failed      ? &client->stats->failed
              : o->accept ? &client->stats->accepted
                          : &client->stats->rejected,
              1);
    stats_add(&client->stats->errors, o->is_error);
}

void settle(struct farm *f, struct flight *flight, uint32_t roi, const struct outcome *o)
{
    const uint64_t token = flight_client_token(flight, roi);
    struct mask one = {{0}};

    if (mask_has(&flight->waiting, roi)) {
        mask_add(&one, roi);
        flights_stop_waiting(&f->flights, flight, &one);
        f->c.waiting--;
        f->c.dropped++;
    }
    mask_drop(&flight->open, roi);
    count(f, flight, o);
    if (!settle_asker(f, flight))
        return;
    if (o->is_error)
        send_error(f, flight->client, token, o->error);
    else
        send_decision(f, flight->client, token, o->rest, o->n);
}

/* ---------------------------------------------------------------- forced */

static void force_one(struct farm *f, struct flight *flight, uint32_t roi,
                      const struct scan_head *head, Trigd__V1__Status status)
{
    Trigd__V1__Decision d = TRIGD__V1__DECISION__INIT;
    struct outcome o = {.accept = true, .status = status};
    unsigned char packed[256];
    uint32_t debug = 0;

    for (size_t i = 0; i < f->welcome->welcome->n_streams; i++)
        if (!strcmp(f->welcome->welcome->streams[i], "debug"))
            debug = (uint32_t)i;
    d.run = head->run;
    d.l1id = head->l1id;
    d.roi_id = head->roi_id;
    d.accept = true;
    d.status = status;
    d.n_streams = 1;
    d.streams = &debug;
    d.menu_key = f->menu_key;
    d.menu_generation = f->welcome->welcome->menu_generation;
    d.latency_us = (uint32_t)((clock_ns() - flight->received_ns) / NS_PER_US);
    o.n = trigd__v1__decision__pack(&d, packed); /* without a token: it is 0 */
    o.rest = packed;
    f->c.forced++;
    settle(f, flight, roi, &o);
}

void settle_force(struct farm *f, struct flight *flight, const struct mask *rois,
                  Trigd__V1__Status status)
{
    const uint32_t found =
        scan_heads(zmq_msg_data(&flight->body), zmq_msg_size(&flight->body), f->head, ROUTE_ROIS);

    for (uint32_t i = mask_next(rois, 0); i < ROUTE_ROIS; i = mask_next(rois, i + 1)) {
        const struct scan_head nothing = {.run = flight->route.run, .l1id = flight->route.l1id};

        if (mask_has(&flight->open, i))
            force_one(f, flight, i, i < found ? &f->head[i] : &nothing, status);
    }
}

void settle_force_all(struct farm *f, Trigd__V1__Status status)
{
    struct flight *flight, *next;

    for (flight = TAILQ_FIRST(&f->flights.by_age); flight; flight = next) {
        const struct mask open = flight->open;

        next = TAILQ_NEXT(flight, by_age);
        settle_force(f, flight, &open, status);
        settle_clear(f, flight);
    }
    settle_flush(f);
}

/* ---------------------------------------------------------------- holds */

struct hold *settle_release(struct farm *f, struct flight *flight, uint32_t roi, uint32_t link)
{
    struct hold *h = flight_hold(flight, link);

    if (!h || !mask_has(&h->rois, roi))
        return NULL;
    mask_drop(&h->rois, roi);
    f->node[f->link[link].node].c.in_flight--;
    f->link[link].in_flight--;
    f->policy[link].in_flight--;
    return h;
}

void settle_let_go(struct farm *f, struct hold *h)
{
    struct link *l = &f->link[h->link];

    TAILQ_REMOVE(&l->holds, h, of_link);
    if (h->is_open)
        TAILQ_REMOVE(&l->open, h, of_open);
    h->is_open = false;
    l->bytes -= h->bytes;
    h->link = FARM_LINKS_NONE;
}

void settle_clear(struct farm *f, struct flight *flight)
{
    for (uint32_t i = 0; i < FLIGHT_HOLDS; i++) {
        struct hold *h = &flight->hold[i];

        if (h->link != FARM_LINKS_NONE && mask_is_empty(&h->rois))
            settle_let_go(f, h);
    }
    flights_put_if_done(&f->flights, flight);
}
