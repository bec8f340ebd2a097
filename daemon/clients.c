/* SPDX-License-Identifier: Apache-2.0 */
#include "clients.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "log.h"
#include "packing.h"

#define BUCKETS      2048u
#define LINGER_MS    1000
#define PACK_BYTES   65536u /* larger messages are measured before they are packed */
#define SILENT_BEATS 3u     /* heartbeats after which a silent client is gone */

struct unsent {
    struct unsent *next;
    zmq_msg_t body;
    uint32_t n_decisions;
};

struct clients {
    void *context, *socket;
    const struct config *config;
    struct stats *stats;
    struct shm_peers *shm; /* NULL: there are no co-located clients */
    struct held *held;
    struct client *client; /* [n_places] */
    uint32_t n_places;
    uint32_t *free; /* numbers of places not in use */
    uint32_t n_free;
    uint32_t bucket[BUCKETS];
    uint32_t spare_credits; /* not granted to anybody */
    unsigned char packed[PACK_BYTES];
    uint32_t n_unsent; /* messages, all clients */
};

/* ---------------------------------------------------------------- opening */

static int set_int(void *socket, int option, int value)
{
    return zmq_setsockopt(socket, option, &value, sizeof value) < 0 ? -errno : 0;
}

static int set_options(struct clients *c)
{
    const struct {
        int option, value;
    } table[] = {
        {ZMQ_ROUTER_MANDATORY, 1},
        {ZMQ_ROUTER_HANDOVER, 0},
        {ZMQ_LINGER, LINGER_MS},
        {ZMQ_SNDTIMEO, 0},
        {ZMQ_SNDHWM, (int)(2 * c->config->clients.credits + 64)},
        {ZMQ_RCVHWM, (int)(2 * c->config->clients.credits + 64)},
        {ZMQ_BACKLOG, 1024},
        {ZMQ_TCP_KEEPALIVE, 1},
        {ZMQ_HANDSHAKE_IVL, 5000},
        {ZMQ_HEARTBEAT_IVL, (int)c->config->clients.heartbeat_ms},
        {ZMQ_HEARTBEAT_TIMEOUT, (int)(c->config->clients.heartbeat_ms * SILENT_BEATS)},
    };
    /* twice the limit: a message somewhat over it gets an Error, not a cut connection */
    int64_t max = 2048 * (int64_t)c->config->clients.max_message_kbytes;

    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        int r = set_int(c->socket, table[i].option, table[i].value);

        if (r < 0)
            return r;
    }
    return zmq_setsockopt(c->socket, ZMQ_MAXMSGSIZE, &max, sizeof max) < 0 ? -errno : 0;
}

static int bind_all(struct clients *c)
{
    for (uint32_t i = 0; i < c->config->n_endpoints; i++) {
        char bound[256];
        size_t n = sizeof bound;

        if (strncmp(c->config->endpoints[i], SHM_SCHEME, strlen(SHM_SCHEME)) == 0)
            continue; /* shm_peers.c */
        if (zmq_bind(c->socket, c->config->endpoints[i]) < 0) {
            int r = -errno;

            log_error("ingress", "cannot bind an endpoint", "endpoint=\"%s\" error=\"%s\"",
                      c->config->endpoints[i], zmq_strerror(errno));
            return r;
        }
        if (zmq_getsockopt(c->socket, ZMQ_LAST_ENDPOINT, bound, &n) < 0)
            return -errno;
        log_info("ingress", "listening", "endpoint=\"%s\"", bound);
    }
    return 0;
}

int clients_open(const struct config *config, struct stats *stats, uint32_t credits,
                 struct shm_peers *shm, struct clients **ret_clients)
{
    struct clients *c = calloc(1, sizeof *c);
    int r = -ENOMEM;

    if (!c)
        return -ENOMEM;
    c->config = config;
    c->stats = stats;
    c->shm = shm;
    c->spare_credits = credits;
    c->n_places = config->clients.max;
    c->client = calloc(c->n_places, sizeof *c->client);
    c->free = calloc(c->n_places, sizeof *c->free);
    if (!c->client || !c->free)
        goto fail;
    r = held_new(config->pool.rois, (uint64_t)config->pool.mbytes << 20, &c->held);
    if (r < 0)
        goto fail;
    for (uint32_t i = 0; i < c->n_places; i++)
        c->free[c->n_free++] = c->n_places - 1 - i;
    for (uint32_t i = 0; i < BUCKETS; i++)
        c->bucket[i] = CLIENTS_NONE;
    r = -errno;
    c->context = zmq_ctx_new();
    if (!c->context)
        goto fail;
    if (zmq_ctx_set(c->context, ZMQ_MAX_SOCKETS, (int)c->n_places + 64) < 0 ||
        zmq_ctx_set(c->context, ZMQ_IO_THREADS, (int)config->threads.zmq_threads) < 0) {
        r = -errno;
        goto fail;
    }
    c->socket = zmq_socket(c->context, ZMQ_ROUTER);
    if (!c->socket) {
        r = -errno;
        goto fail;
    }
    r = set_options(c);
    if (r < 0)
        goto fail;
    r = bind_all(c);
    if (r < 0)
        goto fail;
    *ret_clients = c;
    return 0;
fail:
    clients_close(c);
    return r;
}

void clients_close(struct clients *c)
{
    if (!c)
        return;
    for (uint32_t i = 0; c->client && i < c->n_places; i++)
        if (c->client[i].is_used)
            clients_drop(c, i, NULL);
    held_free(c->held);
    if (c->socket)
        zmq_close(c->socket);
    if (c->context)
        zmq_ctx_term(c->context);
    free(c->client);
    free(c->free);
    free(c);
}

void *clients_socket(struct clients *c)
{
    return c->socket;
}

struct held *clients_held(struct clients *c)
{
    return c->held;
}

struct shm_peers *clients_shm(struct clients *c)
{
    return c->shm;
}

/* ---------------------------------------------------------------- receiving */

static bool has_more(zmq_msg_t *m)
{
    return zmq_msg_more(m) != 0;
}

/* Reads and drops the rest of a message of too many frames. */
static void drop_rest(struct clients *c, zmq_msg_t *m)
{
    while (has_more(m) && zmq_msg_recv(m, c->socket, ZMQ_DONTWAIT) >= 0) {
    }
}

int clients_receive(struct clients *c, struct peer *ret_peer, zmq_msg_t *ret_body)
{
    zmq_msg_t id;
    int r;

    zmq_msg_init(&id);
    r = zmq_msg_recv(&id, c->socket, ZMQ_DONTWAIT);
    if (r < 0) {
        zmq_msg_close(&id);
        return errno == EAGAIN || errno == EINTR ? 0 : -errno;
    }
    ret_peer->shm = NULL;
    ret_peer->n = (uint8_t)zmq_msg_size(&id);
    memcpy(ret_peer->id, zmq_msg_data(&id), ret_peer->n);
    if (!has_more(&id)) {
        zmq_msg_close(&id);
        return -EBADMSG;
    }
    zmq_msg_close(&id);
    zmq_msg_init(ret_body);
    r = zmq_msg_recv(ret_body, c->socket, ZMQ_DONTWAIT);
    if (r >= 0 && !has_more(ret_body))
        return 1;
    r = r < 0 ? -errno : -EBADMSG;
    drop_rest(c, ret_body);
    zmq_msg_close(ret_body);
    return r;
}

/* ---------------------------------------------------------------- the table */

static uint32_t bucket_of(const struct peer *peer)
{
    uint32_t h = 2166136261u; /* FNV-1a */

    for (uint32_t i = 0; i < peer->n; i++)
        h = (h ^ peer->id[i]) * 16777619u;
    return h % BUCKETS;
}

uint32_t clients_find(struct clients *c, const struct peer *peer)
{
    uint32_t i;

    if (peer->shm)
        return peer->shm->client;
    i = c->bucket[bucket_of(peer)];
    while (i != CLIENTS_NONE &&
           (c->client[i].peer.n != peer->n || memcmp(c->client[i].peer.id, peer->id, peer->n) != 0))
        i = c->client[i].next;
    return i;
}

struct client *clients_at(struct clients *c, uint32_t number)
{
    return &c->client[number];
}

/* Grants as many credits as the client wants, its limit and the pool allow. */
static uint32_t grant(struct clients *c, struct client *client)
{
    uint32_t limit = c->config->clients.credits, more;

    if (client->want && client->want < limit)
        limit = client->want;
    more = limit > client->credits ? limit - client->credits : 0;
    if (more > c->spare_credits)
        more = c->spare_credits;
    c->spare_credits -= more;
    client->credits += more;
    stats_set(&client->stats->credits, client->credits);
    return more;
}

/* Makes a new client findable by its peer. */
static int enter(struct clients *c, const struct peer *peer, uint32_t number)
{
    uint32_t b;

    if (peer->shm)
        return shm_peer_join(c->shm, peer->shm, number);
    b = bucket_of(peer);
    c->client[number].next = c->bucket[b];
    c->bucket[b] = number;
    return 0;
}

int clients_hello(struct clients *c, const struct peer *peer, const char *name, uint32_t want,
                  uint32_t *ret_number)
{
    uint32_t number = clients_find(c, peer);
    struct client *client;
    int r;

    if (number != CLIENTS_NONE) {
        *ret_number = number;
        return 0;
    }
    if (!c->n_free)
        return -ENOSPC;
    number = c->free[c->n_free - 1];
    client = &c->client[number];
    client->stats = stats_client_get(c->stats, name);
    if (!client->stats)
        return -ENOSPC;
    r = enter(c, peer, number);
    if (r < 0) {
        stats_client_put(c->stats, client->stats);
        client->stats = NULL;
        return r;
    }
    c->n_free--;
    client->is_used = true;
    client->epoch++;
    client->peer = *peer;
    client->last = &client->first;
    strncpy(client->name, name, sizeof client->name - 1);
    client->want = want;
    client->credits = client->outstanding = 0;
    client->heard_ns = clock_ns();
    grant(c, client);
    stats_add(&c->stats->g.clients, 1);
    log_info("ingress", "client connected", "client=\"%s\" credits=%u over=%s", client->name,
             client->credits, peer->shm ? "shm" : "zmq");
    *ret_number = number;
    return 0;
}

/* Frees the oldest unsent message; returns how many decisions it holds. */
static uint32_t drop_first(struct clients *c, struct client *client)
{
    struct unsent *u = client->first;
    uint32_t n = u->n_decisions;

    client->first = u->next;
    if (!client->first)
        client->last = &client->first;
    client->n_unsent--;
    c->n_unsent--;
    zmq_msg_close(&u->body);
    free(u);
    return n;
}

static void leave(struct clients *c, uint32_t number)
{
    struct client *client = &c->client[number];
    uint32_t *link;

    if (client->peer.shm) {
        shm_peer_hang_up(c->shm, client->peer.shm);
        return;
    }
    link = &c->bucket[bucket_of(&client->peer)];
    while (*link != number)
        link = &c->client[*link].next;
    *link = client->next;
}

void clients_drop(struct clients *c, uint32_t number, const char *why)
{
    struct client *client = &c->client[number];

    leave(c, number);
    while (client->first)
        stats_add(&c->stats->g.undeliverable, drop_first(c, client));
    c->spare_credits += client->credits;
    client->is_used = false;
    client->epoch++; /* its decisions still in flight find nobody */
    stats_client_put(c->stats, client->stats);
    client->stats = NULL;
    c->free[c->n_free++] = number;
    stats_sub(&c->stats->g.clients, 1);
    if (why)
        log_info("ingress", "client gone", "client=\"%s\" why=\"%s\"", client->name, why);
}

/* ---------------------------------------------------------------- sending */

static int shared_room(const struct shm_peer *p, size_t n, void **ret_dst)
{
    return n > SHM_ANSWER_MAX ? -EMSGSIZE : shm_region_room(p->region, (uint32_t)n, ret_dst);
}

/* Puts an answer into the memory that is shared with a client: what is in `body`, or `m` packed. */
static int send_shared(struct clients *c, const struct shm_peer *p, const Trigd__V1__FromDaemon *m,
                       zmq_msg_t *body)
{
    size_t n = m ? packing_bound(m) : zmq_msg_size(body);
    void *dst;
    int r;

    if (!p->region)
        return -EHOSTUNREACH;
    r = shared_room(p, n, &dst);
    if (r < 0 && m) /* it may be just small enough */
        r = shared_room(p, trigd__v1__from_daemon__get_packed_size(m), &dst);
    if (r < 0)
        return r;
    if (m)
        n = trigd__v1__from_daemon__pack(m, dst);
    else
        memcpy(dst, zmq_msg_data(body), n);
    if (shm_region_send(p->region, (uint32_t)n))
        shm_peer_wake(p);
    stats_add(&c->stats->g.bytes_out, n);
    return 0;
}

/* 0, -EAGAIN (no room), or another negative errno (gone).  Takes the body on success. */
static int send_frames(struct clients *c, const struct peer *peer, zmq_msg_t *body)
{
    size_t n = zmq_msg_size(body);

    if (peer->shm)
        return send_shared(c, peer->shm, NULL, body);
    if (zmq_send(c->socket, peer->id, peer->n, ZMQ_SNDMORE | ZMQ_DONTWAIT) < 0)
        return -errno;
    if (zmq_msg_send(body, c->socket, ZMQ_DONTWAIT) < 0)
        return -errno;
    stats_add(&c->stats->g.bytes_out, n);
    return 0;
}

static int pack(struct clients *c, const Trigd__V1__FromDaemon *m, zmq_msg_t *ret_body)
{
    bool is_small = packing_bound(m) <= sizeof c->packed;
    size_t n = is_small ? trigd__v1__from_daemon__pack(m, c->packed)
                        : trigd__v1__from_daemon__get_packed_size(m);

    if (zmq_msg_init_size(ret_body, n) < 0)
        return -errno;
    if (is_small)
        memcpy(zmq_msg_data(ret_body), c->packed, n);
    else
        trigd__v1__from_daemon__pack(m, zmq_msg_data(ret_body));
    return 0;
}

static int keep_unsent(struct clients *c, struct client *client, zmq_msg_t *body,
                       uint32_t n_decisions)
{
    struct unsent *u;

    if (client->n_unsent == CLIENTS_UNSENT_MAX)
        return -ENOBUFS;
    u = malloc(sizeof *u);
    if (!u)
        return -ENOMEM;
    u->next = NULL;
    u->n_decisions = n_decisions;
    zmq_msg_init(&u->body);
    zmq_msg_move(&u->body, body);
    *client->last = u;
    client->last = &u->next;
    client->n_unsent++;
    c->n_unsent++;
    return 0;
}

/* A packet on the socket of a co-located client; a Welcome brings the memory with it. */
static int send_packet(struct clients *c, const struct shm_peer *p, const Trigd__V1__FromDaemon *m)
{
    zmq_msg_t body;
    int r = pack(c, m, &body);

    if (r < 0)
        return r;
    r = shm_peer_packet(p, zmq_msg_data(&body), zmq_msg_size(&body),
                        m->body_case == TRIGD__V1__FROM_DAEMON__BODY_WELCOME);
    if (r == 0)
        stats_add(&c->stats->g.bytes_out, zmq_msg_size(&body));
    zmq_msg_close(&body);
    return r;
}

static const char *why_dropped(int error)
{
    if (error == -ENOBUFS)
        return "it does not read its answers";
    return error == -EPROTO ? "its place in the ring of answers is nonsense" : zmq_strerror(-error);
}

/* Sends to a co-located client, or keeps for later. */
static int pass_shared(struct clients *c, struct client *client, const Trigd__V1__FromDaemon *m,
                       uint32_t n_decisions)
{
    zmq_msg_t body;
    int r = -EAGAIN;

    if (m->body_case == TRIGD__V1__FROM_DAEMON__BODY_WELCOME) {
        r = send_packet(c, client->peer.shm, m);
        return r == -EAGAIN ? -ENOBUFS : r;
    }
    if (!client->n_unsent)
        r = send_shared(c, client->peer.shm, m, NULL);
    if (r != -EAGAIN)
        return r;
    r = pack(c, m, &body);
    if (r < 0)
        return r;
    r = keep_unsent(c, client, &body, n_decisions);
    zmq_msg_close(&body);
    return r;
}

/* Sends over the ROUTER, or keeps for later. */
static int pass_frames(struct clients *c, struct client *client, const Trigd__V1__FromDaemon *m,
                       uint32_t n_decisions)
{
    zmq_msg_t body;
    int r = pack(c, m, &body);

    if (r < 0)
        return r;
    r = client->n_unsent ? -EAGAIN : send_frames(c, &client->peer, &body);
    if (r == -EAGAIN)
        r = keep_unsent(c, client, &body, n_decisions);
    zmq_msg_close(&body);
    return r;
}

void clients_send(struct clients *c, uint32_t number, const Trigd__V1__FromDaemon *m,
                  uint32_t n_decisions)
{
    struct client *client = &c->client[number];
    int r = (client->peer.shm ? pass_shared : pass_frames)(c, client, m, n_decisions);

    if (r == 0)
        return;
    stats_add(&c->stats->g.undeliverable, n_decisions);
    clients_drop(c, number, why_dropped(r));
}

void clients_send_peer(struct clients *c, const struct peer *peer, const Trigd__V1__FromDaemon *m)
{
    zmq_msg_t body;

    if (peer->shm) {
        send_packet(c, peer->shm, m);
        return;
    }
    if (pack(c, m, &body) < 0)
        return;
    send_frames(c, peer, &body);
    zmq_msg_close(&body);
}

/* Sends what waits; false when the client is gone. */
static bool flush_unsent(struct clients *c, struct client *client)
{
    while (client->first) {
        int r = send_frames(c, &client->peer, &client->first->body);

        if (r < 0)
            return r == -EAGAIN;
        drop_first(c, client);
    }
    return true;
}

bool clients_has_unsent(const struct clients *c)
{
    return c->n_unsent != 0;
}

void clients_tick(struct clients *c, uint64_t now_ns)
{
    uint64_t silent = SILENT_BEATS * NS_PER_MS * c->config->clients.heartbeat_ms;

    for (uint32_t i = 0; i < c->n_places; i++) {
        struct client *client = &c->client[i];

        if (!client->is_used)
            continue;
        if (client->n_unsent && !flush_unsent(c, client)) {
            clients_drop(c, i, "its connection is closed");
            continue;
        }
        if (now_ns > client->heard_ns + silent) {
            clients_drop(c, i, "it was silent");
            continue;
        }
        if (c->spare_credits && grant(c, client)) {
            Trigd__V1__Credit credit = TRIGD__V1__CREDIT__INIT;
            Trigd__V1__FromDaemon m = TRIGD__V1__FROM_DAEMON__INIT;

            credit.credits = client->credits;
            m.body_case = TRIGD__V1__FROM_DAEMON__BODY_CREDIT;
            m.credit = &credit;
            clients_send(c, i, &m, 0);
        }
    }
}
