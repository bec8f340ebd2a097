/* SPDX-License-Identifier: Apache-2.0 */
/* front.c - clients see a daemon: Hello, batches, heartbeats.  A batch is not unpacked: its routing
 * frame, or the first fields of its RoIs, say all. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "clock.h"
#include "farm.h"
#include "fields.h"
#include "log.h"
#include "transport/refusal.h"
#include "transport/session.h"

#define MESSAGES_A_TURN 128u
#define TAG_ASK         TAG(5, BYTES) /* of ToDaemon */
#define TAG_FRAMES      TAG(1, BYTES) /* of Ask */

/* What clients may have unanswered is what all nodes together take. */
static uint32_t all_credits(const struct farm *f)
{
    uint64_t credits = 0;

    for (uint32_t i = 0; i < f->n_nodes; i++)
        credits += node_serves(&f->node[i]) ? f->node[i].credits : 0;
    return (uint32_t)(credits < f->config->pool.rois ? credits : f->config->pool.rois);
}

int front_open(struct farm *f)
{
    const struct config *c = f->config;
    int r = clients_open(c, f->stats, all_credits(f), NULL, f->directory, 0, &f->clients);

    if (r < 0)
        return r;
    f->outbox = calloc(c->clients.max, sizeof *f->outbox);
    f->outboxes = calloc(c->clients.max, sizeof *f->outboxes);
    return f->outbox && f->outboxes ? addresses_open(f) : -ENOMEM;
}

void front_close(struct farm *f)
{
    clients_close(f->clients);
    for (uint32_t i = 0; f->outbox && i < f->config->clients.max; i++)
        outbox_free(&f->outbox[i]);
    free(f->outbox);
    free(f->outboxes);
    addresses_close(f);
}

void front_tick(struct farm *f, uint64_t now)
{
    if (!f->clients)
        return;
    clients_set_credits(f->clients, all_credits(f));
    clients_tick(f->clients, now);
}

/* ---------------------------------------------------------------- Hello */

/* What a client is going to send is what the farm's menu reads, where both know the name. */
static int check_declared(const struct farm *f, const Trigd__V1__Hello *hello,
                          struct wire_error *ret_error)
{
    const Trigd__V1__Welcome *w = f->welcome->welcome;

    for (size_t i = 0; i < hello->n_collections; i++)
        for (size_t k = 0; k < w->n_collections; k++) {
            const Trigd__V1__Collection *c = hello->collections[i], *own = w->collections[k];

            if (!strcmp(c->name, own->name) && c->hash != own->hash)
                return check_refuse(ret_error, TRIGD__V1__ERROR__CODE__UNKNOWN,
                                    "Hello declares %s with the hash %016" PRIx64
                                    "; the menu reads %s with the hash %016" PRIx64,
                                    own->name, c->hash, own->name, own->hash);
        }
    return 0;
}

static uint64_t smaller(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* The Welcome of a node with the farm's menu, with what differs here. */
static void send_welcome(struct farm *f, uint32_t number, bool reaches_nodes)
{
    const struct config *c = f->config;
    Trigd__V1__FromDaemon m = TRIGD__V1__FROM_DAEMON__INIT;
    Trigd__V1__Welcome w = *f->welcome->welcome;

    w.credits = clients_at(f->clients, number)->credits;
    w.max_message_bytes = smaller(w.max_message_bytes, c->clients.max_message_kbytes * 1024ull);
    w.max_items = (uint32_t)smaller(w.max_items, c->clients.max_items);
    w.heartbeat_ms = c->clients.heartbeat_ms;
    w.server = (char *)"trigsup " TRIGD_VERSION;
    w.shard = 0;
    w.address_bytes = reaches_nodes ? c->farm.address_kbytes * 1024u : 0;
    w.takes_passes = 0;
    m.body_case = TRIGD__V1__FROM_DAEMON__BODY_WELCOME;
    m.welcome = &w;
    clients_send(f->clients, number, &m, 0);
}

static void take_hello(struct farm *f, const struct peer *peer, uint32_t number,
                       const Trigd__V1__Hello *hello, const char *key)
{
    struct wire_error error;
    int r = session_check(hello, &error);

    if (r == 0)
        r = check_declared(f, hello, &error);
    if (r == 0)
        r = session_enter(f->clients, peer, hello, f->config->clients.max, &number, &error);
    if (r < 0) {
        refusal_send(f->clients, f->stats, peer, number, &error, NULL);
        return;
    }
    addresses_meet(f, number, key);
    send_welcome(f, number, hello->reaches_nodes);
}

/* ---------------------------------------------------------------- batches */

static void send_busy(struct farm *f, const struct peer *peer, uint32_t number,
                      const uint64_t *tokens, uint32_t n, Trigd__V1__Busy__Reason reason)
{
    Trigd__V1__FromDaemon m = TRIGD__V1__FROM_DAEMON__INIT;
    Trigd__V1__Busy busy = TRIGD__V1__BUSY__INIT;

    if (!n)
        return;
    busy.n_tokens = n;
    busy.tokens = (uint64_t *)(uintptr_t)tokens;
    busy.reason = reason;
    m.body_case = TRIGD__V1__FROM_DAEMON__BODY_BUSY;
    m.busy = &busy;
    stats_add(&f->stats->g.busy, n);
    if (number == CLIENTS_NONE) {
        clients_send_peer(f->clients, peer, &m);
        return;
    }
    stats_add(&clients_at(f->clients, number)->stats->busy, n);
    clients_send(f->clients, number, &m, 0);
}

struct batch {
    const struct route *route; /* NULL: it has none, and f->head has its RoIs */
    uint32_t n;
    uint32_t bytes;
    struct mask wanted;
};

static uint64_t token_of(const struct farm *f, const struct batch *b, uint32_t i)
{
    return b->route ? b->route->token + i : f->head[i].token;
}

/* RoIs of the batch that are in `rois` are not taken. */
static void answer_busy(struct farm *f, const struct peer *peer, uint32_t number,
                        const struct batch *b, const struct mask *rois,
                        Trigd__V1__Busy__Reason reason)
{
    uint32_t n = 0;

    for (uint32_t i = mask_next(rois, 0); i < ROUTE_ROIS; i = mask_next(rois, i + 1))
        f->refused[n++] = token_of(f, b, i);
    send_busy(f, peer, number, f->refused, n, reason);
}

/* The first of the wanted RoIs that the client has credits for. */
static struct mask within_credits(const struct batch *b, const struct client *client)
{
    const uint32_t room =
        client->allowed > client->outstanding ? client->allowed - client->outstanding : 0;
    struct mask taken = {{0}};
    uint32_t n = 0, i;

    for (i = mask_next(&b->wanted, 0); i < ROUTE_ROIS && n < room;
         i = mask_next(&b->wanted, i + 1), n++)
        mask_add(&taken, i);
    return taken;
}

static void note_rois(struct farm *f, struct flight *flight, const struct batch *b,
                      const struct client *client)
{
    flight->is_routed = b->route != NULL;
    flight->route = b->route ? *b->route : (struct route){.n = b->n};
    flight->route.is_ask = false;
    if (!flight->route.key)
        flight->route.key = client->key;
    for (uint32_t i = 0; !b->route && i < b->n; i++)
        flight->roi[i] = (struct flight_roi){
            .token = f->head[i].token, .event = flight_event_of(f->head[i].run, f->head[i].l1id)};
}

static void count_taken(struct farm *f, struct client *client, uint32_t n)
{
    stats_add(&f->stats->g.received, n);
    stats_add(&f->stats->g.in_flight, n);
    stats_add(&client->stats->received, n);
    stats_add(&client->stats->in_flight, n);
    f->c.waiting += n;
    for (uint32_t i = 0; i < n; i++)
        clients_took(client);
}

/* `body` is NULL when the client has it. */
static void take_batch(struct farm *f, const struct peer *peer, uint32_t number,
                       const struct batch *b, zmq_msg_t *body, uint64_t now)
{
    struct client *client = number == CLIENTS_NONE ? NULL : clients_at(f->clients, number);
    struct mask taken, over;
    struct flight *flight;

    if (!client || f->is_draining || !farmrun_is_taking(f)) {
        answer_busy(f, peer, number, b, &b->wanted,
                    client ? TRIGD__V1__BUSY__REASON__DRAINING : TRIGD__V1__BUSY__REASON__NO_HELLO);
        return;
    }
    taken = within_credits(b, client);
    over = mask_without(&b->wanted, &taken);
    if (!mask_is_empty(&over)) {
        if (now >= client->excused_ns)
            stats_add(&f->stats->g.credit_violations, mask_count(&over));
        answer_busy(f, peer, number, b, &over, TRIGD__V1__BUSY__REASON__NO_CREDIT);
    }
    if (mask_is_empty(&taken) || client->lost)
        return;
    flight = flights_take(&f->flights, b->n, &taken, b->bytes, body);
    if (!flight) {
        answer_busy(f, peer, number, b, &taken, TRIGD__V1__BUSY__REASON__POOL_FULL);
        return;
    }
    flight->client = number;
    flight->client_epoch = client->epoch;
    flight->received_ns = now;
    note_rois(f, flight, b, client);
    count_taken(f, client, mask_count(&taken));
    f->c.asked += body ? 0 : mask_count(&taken);
}

static void refuse(struct farm *f, const struct peer *peer, uint32_t number,
                   const struct route *route, const struct wire_error *error)
{
    if (!route)
        refusal_send(f->clients, f->stats, peer, number, error, NULL);
    for (uint32_t i = 0; route && i < route->n; i++) {
        const uint64_t token = route->token + i;

        if (route_wants(route, i))
            refusal_send(f->clients, f->stats, peer, number, error, &token);
    }
}

/* ---------------------------------------------------------------- RoIs by address */

static int check_ask(const struct farm *f, const void *bytes, struct route *ret_route,
                     struct wire_error *ret_error)
{
    if (!route_read(bytes, ROUTE_ASK_BYTES, ret_route) || !ret_route->is_ask)
        return check_refuse(ret_error, TRIGD__V1__ERROR__CODE__MALFORMED,
                            "Ask holds something that is no routing frame which asks");
    if (ret_route->n > f->limits.max_rois)
        return check_refuse(ret_error, TRIGD__V1__ERROR__CODE__TOO_LARGE,
                            "a batch that is asked about has %u RoIs; at most %u are allowed",
                            ret_route->n, f->limits.max_rois);
    if (!ret_route->bytes || ret_route->bytes > f->limits.max_message_bytes)
        return check_refuse(ret_error, TRIGD__V1__ERROR__CODE__TOO_LARGE,
                            "a batch that is asked about has %u bytes; 1 to %u are allowed",
                            ret_route->bytes, f->limits.max_message_bytes);
    return 0;
}

static void take_asks(struct farm *f, const struct peer *peer, uint32_t number,
                      const unsigned char *frames, size_t n, uint64_t now)
{
    struct wire_error error;
    struct route route;
    int r = 0;

    if (!n || n % ROUTE_ASK_BYTES)
        r = check_refuse(&error, TRIGD__V1__ERROR__CODE__MALFORMED,
                         "Ask holds %zu bytes; %u for each batch are allowed", n, ROUTE_ASK_BYTES);
    for (size_t at = 0; r == 0 && at < n; at += ROUTE_ASK_BYTES)
        r = check_ask(f, frames + at, &route, &error);
    if (r < 0) {
        refusal_send(f->clients, f->stats, peer, number, &error, NULL);
        return;
    }
    for (size_t at = 0; at < n; at += ROUTE_ASK_BYTES) {
        struct batch b = {.route = &route};

        check_ask(f, frames + at, &route, &error);
        b.n = route.n;
        b.bytes = route.bytes;
        b.wanted = mask_first(route.n);
        take_batch(f, peer, number, &b, NULL, now);
    }
}

/* The body of a flight comes that was to go to a node. */
static void take_fetched(struct farm *f, const struct peer *peer, uint32_t number,
                         const struct route *route, zmq_msg_t *body)
{
    const struct client *client = number == CLIENTS_NONE ? NULL : clients_at(f->clients, number);
    struct wire_error error;
    uint32_t roi;
    struct flight *flight = flights_find(&f->flights, route->token, &roi);

    if (client && flight && flight->is_fetched && flight->client == number &&
        flight->client_epoch == client->epoch && zmq_msg_size(body) - 1 < flight->bytes) {
        flights_fetched(&f->flights, flight, body);
        return;
    }
    check_refuse(&error, TRIGD__V1__ERROR__CODE__PASS,
                 "no RoIs of this client are waited for under the pass");
    refusal_send(f->clients, f->stats, peer, number, &error, NULL);
}

/* The frames of an Ask that is written in the usual way. */
static bool find_asks(const void *bytes, size_t n, struct reader *ret_frames)
{
    struct reader r = {.at = bytes, .end = (const unsigned char *)bytes + n}, ask;
    uint32_t tag;

    return read_tag(&r, &tag) && tag == TAG_ASK && read_bytes(&r, &ask) && r.at == r.end &&
           read_tag(&ask, &tag) && tag == TAG_FRAMES && read_bytes(&ask, ret_frames) &&
           ask.at == ask.end;
}

/* ---------------------------------------------------------------- messages */

/* A batch that is not written in the usual way is unpacked once; nodes do so as well. */
static void take_unpacked_batch(struct farm *f, const struct peer *peer, uint32_t number,
                                const Trigd__V1__RoiBatch *batch, zmq_msg_t *body, uint64_t now)
{
    const struct batch b = {.n = (uint32_t)batch->n_rois,
                            .bytes = (uint32_t)zmq_msg_size(body),
                            .wanted = mask_first((uint32_t)batch->n_rois)};

    for (uint32_t i = 0; i < b.n; i++)
        f->head[i] = (struct scan_head){.token = batch->rois[i]->token,
                                        .run = batch->rois[i]->run,
                                        .l1id = batch->rois[i]->l1id,
                                        .roi_id = batch->rois[i]->roi_id};
    take_batch(f, peer, number, &b, body, now);
}

static void take_unpacked(struct farm *f, const struct peer *peer, uint32_t number,
                          const Trigd__V1__ToDaemon *m, zmq_msg_t *body, uint64_t now)
{
    switch (m->body_case) {
    case TRIGD__V1__TO_DAEMON__BODY_HELLO:
        take_hello(f, peer, number, m->hello, zmq_msg_gets(body, AUTH_KEY));
        break;
    case TRIGD__V1__TO_DAEMON__BODY_BATCH:
        take_unpacked_batch(f, peer, number, m->batch, body, now);
        break;
    case TRIGD__V1__TO_DAEMON__BODY_HEARTBEAT:
        session_echo(f->clients, peer, number, m->heartbeat);
        break;
    case TRIGD__V1__TO_DAEMON__BODY_BYE:
        if (number != CLIENTS_NONE)
            clients_drop(f->clients, number, "it said Bye");
        break;
    case TRIGD__V1__TO_DAEMON__BODY_ASK:
        take_asks(f, peer, number, m->ask->frames.data, m->ask->frames.len, now);
        break;
    default:
        break; /* wire_decode refuses a message without body */
    }
}

static void take_message(struct farm *f, const struct peer *peer, const struct route *route,
                         zmq_msg_t *body, uint64_t now)
{
    const uint32_t number = clients_find(f->clients, peer);
    const size_t n = zmq_msg_size(body);
    struct batch b = {.route = route, .bytes = (uint32_t)n};
    const Trigd__V1__ToDaemon *m;
    struct wire_error error;
    struct reader asks;

    stats_add(&f->stats->g.messages, 1);
    stats_add(&f->stats->g.bytes_in, n);
    if (number != CLIENTS_NONE)
        clients_at(f->clients, number)->heard_ns = now;
    if (route && route->has_pass) {
        take_fetched(f, peer, number, route, body);
        return;
    }
    if (!route && find_asks(zmq_msg_data(body), n, &asks)) {
        take_asks(f, peer, number, asks.at, (size_t)(asks.end - asks.at), now);
        return;
    }
    if (n <= f->limits.max_message_bytes)
        b.n = route ? route->n : scan_heads(zmq_msg_data(body), n, f->head, f->limits.max_rois);
    b.wanted = mask_first(b.n);
    if (route && route->is_partial)
        for (uint32_t i = 0; i < ROUTE_WORDS; i++)
            b.wanted.word[i] &= route->wanted[i];
    if (b.n)
        take_batch(f, peer, number, &b, body, now);
    else if (wire_decode(f->decoder, zmq_msg_data(body), n, &m, &error) < 0)
        refuse(f, peer, number, route, &error);
    else
        take_unpacked(f, peer, number, m, body, now);
}

uint32_t front_turn(struct farm *f, uint64_t now)
{
    uint32_t n = 0;

    while (f->clients && n < MESSAGES_A_TURN) {
        struct wire_error error;
        struct peer peer;
        struct route route;
        zmq_msg_t body;
        const int r = clients_receive(f->clients, &peer, &route, &body);

        if (r == 0)
            break;
        n++;
        if (r == 1) {
            take_message(f, &peer, route.n ? &route : NULL, &body, now);
            zmq_msg_close(&body);
        } else if (r == -EBADMSG) {
            check_refuse(&error, TRIGD__V1__ERROR__CODE__MALFORMED,
                         "a message of trigd is one ZeroMQ frame, after a routing frame or alone; "
                         "this one had more or none");
            refuse(f, &peer, clients_find(f->clients, &peer), NULL, &error);
        } else {
            log_error("ingress", "cannot receive", "error=\"%s\"", zmq_strerror(-r));
            break;
        }
    }
    return n;
}
