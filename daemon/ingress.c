/* SPDX-License-Identifier: Apache-2.0 */
#include "ingress.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "block.h"
#include "buddy.h"
#include "clock.h"
#include "log.h"
#include "shm_entry.h"
#include "wire.h"

#define PROTOCOL       1u
#define SHARED_A_TURN  64u /* RoIs of one co-located client, so that all have their turn */
#define PACKETS_A_TURN 64u

struct ingress {
    const struct config *config;
    struct pool *pool;
    struct clients *clients;
    struct stats *stats;
    struct dispatch *next;
    struct wire_limits limits;
    struct wire_decoder *decoder;
    uint64_t *tokens; /* RoIs of one message that were not taken */
    uint32_t n_tokens;
    Trigd__V1__Busy__Reason reason;
    bool draining, pool_was_full;
    uint32_t shm_turn; /* which co-located client is first this turn */
    uint64_t ticked_ns;
};

int ingress_open(const struct config *config, struct pool *pool, struct clients *clients,
                 struct stats *stats, struct dispatch *next, struct ingress **ret_ingress)
{
    struct ingress *in = calloc(1, sizeof *in);
    int r = -ENOMEM;

    if (!in)
        return -ENOMEM;
    in->config = config;
    in->pool = pool;
    in->clients = clients;
    in->stats = stats;
    in->next = next;
    in->ticked_ns = clock_ns();
    in->limits =
        (struct wire_limits){.max_message_bytes = config->clients.max_message_kbytes * 1024u,
                             .max_rois = config->clients.max_rois,
                             .max_items = config->clients.max_items,
                             .max_layer = config->clients.max_layer};
    in->tokens = calloc(config->clients.max_rois, sizeof *in->tokens);
    if (!in->tokens)
        goto fail;
    r = wire_decoder_new(&in->limits, &in->decoder);
    if (r < 0)
        goto fail;
    *ret_ingress = in;
    return 0;
fail:
    ingress_close(in);
    return r;
}

void ingress_close(struct ingress *in)
{
    if (!in)
        return;
    wire_decoder_free(in->decoder);
    free(in->tokens);
    free(in);
}

void ingress_set_draining(struct ingress *in, bool draining)
{
    in->draining = draining;
}

void ingress_tick(struct ingress *in, uint64_t now_ns)
{
    if (in->draining || in->pool_was_full || in->pool->n_used == in->pool->n_rois)
        stats_add(&in->stats->g.dead_ns, now_ns - in->ticked_ns);
    in->ticked_ns = now_ns;
}

/* ---------------------------------------------------------------- answers */

static void send_to(struct ingress *in, const struct peer *peer, uint32_t number,
                    const Trigd__V1__FromDaemon *m)
{
    if (number == CLIENTS_NONE)
        clients_send_peer(in->clients, peer, m);
    else
        clients_send(in->clients, number, m, 0);
}

static void send_error(struct ingress *in, const struct peer *peer, uint32_t number,
                       const struct wire_error *error, const uint64_t *token)
{
    Trigd__V1__FromDaemon m = TRIGD__V1__FROM_DAEMON__INIT;
    Trigd__V1__Error e = TRIGD__V1__ERROR__INIT;

    e.code = error->code;
    e.text = (char *)error->text;
    e.has_token = token != NULL;
    e.token = token ? *token : 0;
    m.body_case = TRIGD__V1__FROM_DAEMON__BODY_ERROR;
    m.error = &e;
    stats_add(&in->stats->g.errors, 1);
    if (number != CLIENTS_NONE)
        stats_add(&clients_at(in->clients, number)->stats->errors, 1);
    log_warn("ingress", "refused", "client=\"%s\" reason=\"%s\"",
             number == CLIENTS_NONE ? "?" : clients_at(in->clients, number)->name, error->text);
    send_to(in, peer, number, &m);
}

static void send_busy(struct ingress *in, const struct peer *peer, uint32_t number)
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
    send_to(in, peer, number, &m);
}

/* Notes an RoI that was not taken; one Busy message holds those with one reason. */
static void not_taken(struct ingress *in, const struct peer *peer, uint32_t number, uint64_t token,
                      Trigd__V1__Busy__Reason reason)
{
    if (in->n_tokens && in->reason != reason)
        send_busy(in, peer, number);
    in->reason = reason;
    in->tokens[in->n_tokens++] = token;
}

static void send_welcome(struct ingress *in, uint32_t number)
{
    const struct engine *e = dispatch_engine(in->next);
    Trigd__V1__FromDaemon m = TRIGD__V1__FROM_DAEMON__INIT;
    Trigd__V1__Welcome w = TRIGD__V1__WELCOME__INIT;
    char *chains[MENU_CHAINS_MAX], *streams[MENU_STREAMS_MAX];

    for (uint32_t i = 0; i < e->menu->n_chains; i++)
        chains[i] = e->menu->chains[i].name;
    for (uint32_t i = 0; i < e->menu->n_streams; i++)
        streams[i] = e->menu->streams[i].name;
    w.protocol = PROTOCOL;
    w.credits = clients_at(in->clients, number)->credits;
    w.max_message_bytes = in->config->clients.max_message_kbytes * 1024ull;
    w.max_items = in->config->clients.max_items;
    w.heartbeat_ms = in->config->clients.heartbeat_ms;
    w.server = (char *)"trigd " TRIGD_VERSION;
    w.n_chains = e->menu->n_chains;
    w.chains = chains;
    w.n_streams = e->menu->n_streams;
    w.streams = streams;
    w.menu_generation = e->generation;
    m.body_case = TRIGD__V1__FROM_DAEMON__BODY_WELCOME;
    m.welcome = &w;
    clients_send(in->clients, number, &m, 0);
}

/* ---------------------------------------------------------------- messages */

static void take_hello(struct ingress *in, const struct peer *peer, uint32_t number,
                       const Trigd__V1__Hello *hello)
{
    struct wire_error error = {.code = TRIGD__V1__ERROR__CODE__NONE};

    if (hello->protocol != PROTOCOL) {
        error.code = TRIGD__V1__ERROR__CODE__PROTOCOL;
        snprintf(error.text, sizeof error.text,
                 "Hello asks for protocol %u; this daemon speaks protocol %u", hello->protocol,
                 PROTOCOL);
    } else if (wire_check_name(hello->name, &error) == 0) {
        int r = clients_hello(in->clients, peer, hello->name, hello->want_credits, &number);

        if (r < 0)
            error.code = TRIGD__V1__ERROR__CODE__TOO_LARGE;
        if (r == -ENOSPC)
            snprintf(error.text, sizeof error.text,
                     "this daemon has its %u clients already (clients.max)",
                     in->config->clients.max);
        else if (r < 0)
            snprintf(error.text, sizeof error.text, "there is no memory to share: %s",
                     strerror(-r));
    }
    if (error.code != TRIGD__V1__ERROR__CODE__NONE)
        send_error(in, peer, number, &error, NULL);
    else
        send_welcome(in, number);
}

static void echo_heartbeat(struct ingress *in, const struct peer *peer, uint32_t number,
                           const Trigd__V1__Heartbeat *beat)
{
    Trigd__V1__FromDaemon m = TRIGD__V1__FROM_DAEMON__INIT;
    Trigd__V1__Heartbeat copy = *beat;

    m.body_case = TRIGD__V1__FROM_DAEMON__BODY_HEARTBEAT;
    m.heartbeat = &copy;
    send_to(in, peer, number, &m);
}

/* Copies a collection to offset `at` of the pool. */
static void copy_collection(struct pool *pool, enum trg_kind kind, const struct wire_collection *w,
                            uint64_t at, struct roi_collection *ret)
{
    const struct trg_kind_info *info = trg_kind_info(kind);

    *ret = (struct roi_collection){.at = at, .capacity = w->n, .n = w->n, .is_there = w->is_there};
    for (uint32_t col = 0; w->n && col < info->n_columns; col++)
        memcpy(pool_column(pool, kind, ret, col), w->column[col],
               w->n * trg_type_size(info->column[col].type));
}

/* Tells where a collection lies in a client's memory, which is laid out as the pool would do it. */
static void refer_collection(const struct pool *pool, const struct wire_collection *w,
                             struct roi_collection *ret)
{
    *ret = (struct roi_collection){.capacity = w->n, .n = w->n, .is_there = w->is_there};
    if (w->n)
        ret->at = (uint64_t)((const unsigned char *)w->column[0] - pool->base);
}

/* Gives an RoI its block of the pool, with its collections unless they stay in a client's memory;
 * -ENOSPC when there is no room. */
static int store(struct ingress *in, const struct wire_roi *w, struct shm_region *region,
                 struct roi *r)
{
    uint32_t n_in[TRG_KIND_COUNT];
    uint64_t bytes = 0, at;

    for (uint32_t k = 0; k < TRG_KIND_COUNT; k++) {
        n_in[k] = w->collection[k].n;
        if (!region)
            bytes += pool_collection_bytes((enum trg_kind)k, n_in[k]);
    }
    at = pool_alloc(in->pool, bytes + block_bytes(dispatch_engine(in->next), n_in));
    if (at == BUDDY_NONE)
        return -ENOSPC;
    r->block = at;
    for (uint32_t k = 1; k < TRG_KIND_COUNT; k++) {
        if (region) {
            refer_collection(in->pool, &w->collection[k], &r->in[k]);
            continue;
        }
        copy_collection(in->pool, (enum trg_kind)k, &w->collection[k], at, &r->in[k]);
        at += pool_collection_bytes((enum trg_kind)k, n_in[k]);
    }
    if (region) {
        shm_region_hold(region);
        r->region = region->number;
    }
    block_init(dispatch_engine(in->next), in->pool, r, at, n_in);
    return 0;
}

static void count_received(struct ingress *in, struct client *client)
{
    stats_add(&in->stats->g.received, 1);
    stats_add(&in->stats->g.in_flight, 1);
    stats_add(&client->stats->received, 1);
    stats_add(&client->stats->in_flight, 1);
    client->outstanding++;
}

/* Takes one checked RoI into the pool, or notes why not.  Its collections are copied, or stay in
 * `region`. */
static void take_roi(struct ingress *in, const struct peer *peer, uint32_t number,
                     const struct wire_roi *w, struct shm_region *region, uint64_t now)
{
    struct client *client = clients_at(in->clients, number);
    struct roi *r;
    uint32_t roi;

    if (in->draining) {
        not_taken(in, peer, number, w->token, TRIGD__V1__BUSY__REASON__DRAINING);
        return;
    }
    if (client->outstanding >= client->credits) {
        stats_add(&in->stats->g.credit_violations, 1);
        not_taken(in, peer, number, w->token, TRIGD__V1__BUSY__REASON__NO_CREDIT);
        return;
    }
    roi = pool_take(in->pool);
    r = roi == POOL_NONE ? NULL : &in->pool->rois[roi];
    if (!r || store(in, w, region, r) < 0) {
        if (r)
            pool_put(in->pool, roi);
        in->pool_was_full = true;
        not_taken(in, peer, number, w->token, TRIGD__V1__BUSY__REASON__POOL_FULL);
        return;
    }
    in->pool_was_full = false;
    r->info = w->info;
    r->token = w->token;
    r->received_ns = now;
    r->client = number;
    r->client_epoch = client->epoch;
    count_received(in, client);
    dispatch_roi(in->next, roi);
}

/* Whether the running menu has all that it needs; the reason goes to *ret_error. */
static bool has_inputs(struct ingress *in, const struct wire_roi *w, struct wire_error *ret_error)
{
    bool is_there[TRG_KIND_COUNT];

    for (uint32_t k = 0; k < TRG_KIND_COUNT; k++)
        is_there[k] = w->collection[k].is_there;
    ret_error->code = TRIGD__V1__ERROR__CODE__NO_COLLECTION;
    return menu_has_inputs(dispatch_engine(in->next)->menu, is_there, ret_error->text,
                           sizeof ret_error->text);
}

static void take_batch(struct ingress *in, const struct peer *peer, uint32_t number,
                       const Trigd__V1__RoiBatch *batch, uint64_t now)
{
    uint32_t epoch = number == CLIENTS_NONE ? 0 : clients_at(in->clients, number)->epoch;

    for (size_t i = 0; i < batch->n_rois; i++) {
        struct wire_roi w;
        struct wire_error error;

        if (number == CLIENTS_NONE) {
            not_taken(in, peer, number, batch->rois[i]->token, TRIGD__V1__BUSY__REASON__NO_HELLO);
            continue;
        }
        if (wire_roi(in->decoder, batch->rois[i], &w, &error) < 0 || !has_inputs(in, &w, &error))
            send_error(in, peer, number, &error, &batch->rois[i]->token);
        else
            take_roi(in, peer, number, &w, NULL, now);
        if (clients_at(in->clients, number)->epoch != epoch)
            number = CLIENTS_NONE; /* it was dropped while it was answered */
    }
    send_busy(in, peer, number);
}

static void take_message(struct ingress *in, const struct peer *peer, const void *bytes, size_t n)
{
    const Trigd__V1__ToDaemon *m;
    struct wire_error error;
    uint32_t number = clients_find(in->clients, peer);
    uint64_t now = clock_ns();
    int r;

    stats_add(&in->stats->g.messages, 1);
    stats_add(&in->stats->g.bytes_in, n);
    if (number != CLIENTS_NONE)
        clients_at(in->clients, number)->heard_ns = now;
    r = wire_decode(in->decoder, bytes, n, &m, &error);
    if (r < 0) {
        send_error(in, peer, number, &error, NULL);
        return;
    }
    switch (m->body_case) {
    case TRIGD__V1__TO_DAEMON__BODY_HELLO:
        take_hello(in, peer, number, m->hello);
        break;
    case TRIGD__V1__TO_DAEMON__BODY_BATCH:
        take_batch(in, peer, number, m->batch, now);
        latency_add(&in->stats->stage[STATS_STAGE_decode], clock_ns() - now);
        break;
    case TRIGD__V1__TO_DAEMON__BODY_HEARTBEAT:
        echo_heartbeat(in, peer, number, m->heartbeat);
        break;
    case TRIGD__V1__TO_DAEMON__BODY_BYE:
        if (number != CLIENTS_NONE)
            clients_drop(in->clients, number, "it said Bye");
        break;
    default:
        break; /* wire_decode refuses a message without body */
    }
}

/* ---------------------------------------------------------------- shared memory */

/* Takes entries of one co-located client's ring; returns how many. */
static uint32_t take_entries(struct ingress *in, const struct peer *peer, uint64_t now)
{
    struct shm_region *region = peer->shm->region;
    uint32_t number = peer->shm->client, n = 0;
    uint32_t most =
        SHARED_A_TURN < in->limits.max_rois ? SHARED_A_TURN : in->limits.max_rois; /* tokens */
    struct shm_roi entry;
    int r = 0;

    while (peer->shm->region && n < most && (r = shm_region_take(region, &entry)) == 1) {
        struct wire_roi w;
        struct wire_error error;

        n++;
        if (shm_entry_check(&entry, region, &in->limits, &w, &error) < 0 ||
            !has_inputs(in, &w, &error)) {
            send_error(in, peer, number, &error, &entry.token);
            continue;
        }
        stats_add(&in->stats->g.bytes_in, shm_entry_bytes(&w));
        take_roi(in, peer, number, &w, region, now);
    }
    stats_add(&in->stats->g.messages, n);
    if (!peer->shm->region)
        number = CLIENTS_NONE; /* it was dropped while it was answered */
    send_busy(in, peer, number);
    if (peer->shm->region && r == -EPROTO)
        clients_drop(in->clients, number, "its place in the ring of RoIs is nonsense");
    return n;
}

/* Takes what co-located clients wrote since the last turn. */
static uint32_t take_shared(struct ingress *in)
{
    struct shm_peers *shm = clients_shm(in->clients);
    uint32_t n = 0, first = in->shm_turn++;

    for (uint32_t i = 0; i < shm_peers_active(shm); i++) {
        struct peer peer = {.shm = shm_peers_at(shm, (first + i) % shm_peers_active(shm))};
        uint64_t now;
        uint32_t took;

        if (!shm_region_has_entries(peer.shm->region))
            continue;
        now = clock_ns();
        clients_at(in->clients, peer.shm->client)->heard_ns = now;
        took = take_entries(in, &peer, now);
        if (peer.shm->region)
            shm_region_taken(peer.shm->region);
        latency_add(&in->stats->stage[STATS_STAGE_decode], clock_ns() - now);
        n += took;
    }
    return n;
}

/* Takes the packets on the sockets of co-located clients. */
static uint32_t take_packets(struct ingress *in)
{
    struct shm_peers *shm = clients_shm(in->clients);
    struct peer peer = {.shm = NULL};
    uint32_t n = 0;
    const void *bytes;
    int r = 0;

    while (n < PACKETS_A_TURN && (r = shm_peers_packet(shm, clock_ns(), &peer.shm, &bytes)) != 0) {
        uint32_t number = clients_find(in->clients, &peer);

        n++;
        if (r > 0) {
            take_message(in, &peer, bytes, (size_t)r);
        } else if (r == -EMSGSIZE) {
            struct wire_error error = {.code = TRIGD__V1__ERROR__CODE__TOO_LARGE};

            snprintf(error.text, sizeof error.text,
                     "a packet on the socket has at most %u bytes; this one had more",
                     SHM_PACKET_MAX);
            send_error(in, &peer, number, &error, NULL);
        } else if (number != CLIENTS_NONE) {
            clients_drop(in->clients, number, "its connection is closed");
        } else {
            shm_peer_hang_up(shm, peer.shm);
        }
    }
    return n;
}

/* ---------------------------------------------------------------- the turn */

static uint32_t take_messages(struct ingress *in, uint32_t most)
{
    uint32_t n = 0;

    while (n < most) {
        struct peer peer;
        zmq_msg_t body;
        int r = clients_receive(in->clients, &peer, &body);

        if (r == 0)
            break;
        n++;
        if (r == 1) {
            take_message(in, &peer, zmq_msg_data(&body), zmq_msg_size(&body));
            zmq_msg_close(&body);
        } else if (r == -EBADMSG) {
            struct wire_error error = {.code = TRIGD__V1__ERROR__CODE__MALFORMED};

            snprintf(error.text, sizeof error.text,
                     "a message of trigd is one ZeroMQ frame; this one had more or none");
            send_error(in, &peer, clients_find(in->clients, &peer), &error, NULL);
        } else {
            log_error("ingress", "cannot receive", "error=\"%s\"", zmq_strerror(-r));
            break;
        }
    }
    return n;
}

uint32_t ingress_turn(struct ingress *in, uint32_t most)
{
    uint32_t n = 0;

    if (clients_shm(in->clients))
        n = take_packets(in) + take_shared(in);
    return n + take_messages(in, most);
}
