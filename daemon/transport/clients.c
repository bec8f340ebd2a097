/* SPDX-License-Identifier: Apache-2.0 */
#include "transport/clients_inner.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "clock.h"
#include "config/weights.h"
#include "log.h"

#define LINGER_MS 1000
#define UNUSED_NS \
    (250 * NS_PER_MS)  /* a client without an RoI keeps its place so long in any case */
#define ADDRESSES 256u /* told apart when a place is needed */

/* ---------------------------------------------------------------- opening */

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
        {ZMQ_RCVHWM, 0}, /* clients_receive.c says why */
        {ZMQ_BACKLOG, CLIENTS_BACKLOG},
        {ZMQ_TCP_KEEPALIVE, 1},
        {ZMQ_HANDSHAKE_IVL, 5000},
    };
    /* twice the limit: a message somewhat over it gets an Error, not a cut connection */
    int64_t max = 2048 * (int64_t)c->config->clients.max_message_kbytes;

    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        if (zmq_setsockopt(c->socket, table[i].option, &table[i].value, sizeof(int)) < 0)
            return -errno;
    }
    return zmq_setsockopt(c->socket, ZMQ_MAXMSGSIZE, &max, sizeof max) < 0 ? -errno : 0;
}

int clients_open(const struct config *config, struct stats *stats, uint32_t credits,
                 struct shm_peers *shm, struct directory *directory, uint32_t shard,
                 struct clients **ret_clients)
{
    struct clients *c = calloc(1, sizeof *c);
    int r = -ENOMEM;

    if (!c)
        return -ENOMEM;
    c->config = config;
    c->stats = stats;
    c->shm = shm;
    c->directory = directory;
    c->shard = shard;
    c->all_credits = credits;
    c->n_places = config->clients.max;
    c->client = calloc(c->n_places, sizeof *c->client);
    c->free = calloc(c->n_places, sizeof *c->free);
    c->share = calloc(c->n_places, sizeof *c->share);
    c->change = calloc(c->n_places, sizeof *c->change);
    c->number = calloc(c->n_places, sizeof *c->number);
    c->ahead = calloc(CLIENTS_AHEAD, sizeof *c->ahead);
    if (!c->client || !c->free || !c->share || !c->change || !c->number || !c->ahead)
        goto fail;
    r = passes_new(&c->passes);
    if (r < 0)
        goto fail;
    r = held_new(config->pool.rois, (uint64_t)config->pool.mbytes << 20, &c->held);
    if (r < 0)
        goto fail;
    for (uint32_t i = 0; i < c->n_places; i++)
        c->free[c->n_free++] = c->n_places - 1 - i;
    for (uint32_t i = 0; i < CLIENTS_BUCKETS; i++)
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
    r = auth_open(c->context, config->security.key_file, config->security.clients_file, &c->auth);
    if (r < 0)
        goto fail;
    r = gate_open(c->context, c->socket, config, c->auth, stats, &c->gate);
    if (r < 0)
        goto fail;
    r = clients_bind(c);
    if (r < 0)
        goto fail;
    *ret_clients = c;
    return 0;
fail:
    clients_close(c);
    return r;
}

void clients_set_credits(struct clients *c, uint32_t credits)
{
    c->all_credits = credits;
}

void clients_close(struct clients *c)
{
    if (!c)
        return;
    for (uint32_t i = 0; c->client && i < c->n_places; i++)
        if (c->client[i].is_used)
            clients_drop(c, i, NULL);
    held_free(c->held);
    passes_free(c->passes);
    while (c->first_ahead < c->n_ahead)
        zmq_msg_close(&c->ahead[c->first_ahead++]);
    if (c->socket) {
        zmq_socket_monitor(c->socket, NULL, 0); /* libzmq leaks events that nobody takes */
        zmq_close(c->socket);
    }
    gate_close(c->gate);
    auth_close(c->auth);
    if (c->context)
        zmq_ctx_term(c->context);
    clients_unbind(c);
    free(c->client);
    free(c->free);
    free(c->share);
    free(c->change);
    free(c->number);
    free(c->ahead);
    free(c);
}

/* A number for a client's key, not 0; 0 for none. */
static uint64_t key_of(const Trigd__V1__Hello *hello)
{
    return hello->key.len ? hash_bytes(hello->key.data, hello->key.len) | 1 : 0;
}

/* What the directory knows a client by: its key, where it has one. */
static const char *known_as(uint64_t key, const char *name, char text[STATS_NAME])
{
    if (!key)
        return name;
    snprintf(text, STATS_NAME, "key %016llx", (unsigned long long)key);
    return text;
}

static uint32_t weight_of(const struct clients *c, const Trigd__V1__Hello *hello)
{
    return weights_of(c->config->clients.weights, hello->name);
}

uint32_t clients_shard_of(struct clients *c, const struct peer *peer, const Trigd__V1__Hello *hello)
{
    /* threads of a program that share memory with the daemon often share a name as well */
    const bool is_any = peer->shm && !hello->key.len;
    char text[STATS_NAME];

    return directory_place(c->directory, is_any ? NULL : known_as(key_of(hello), hello->name, text),
                           weight_of(c, hello));
}

uint32_t clients_shard(const struct clients *c)
{
    return c->shard;
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

struct passes *clients_passes(struct clients *c)
{
    return c->passes;
}

/* ---------------------------------------------------------------- the table */

static uint32_t bucket_of(const struct peer *peer)
{
    return (uint32_t)(hash_bytes(peer->id, peer->n) % CLIENTS_BUCKETS);
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

void clients_took(struct client *client)
{
    client->outstanding++;
    client->taken++;
}

/* Each takes its part of a second of the client's time, of which a second is ahead at most (the
 * virtual scheduling algorithm of ITU-T I.371). */
bool clients_may_pass_truncated(const struct clients *c, struct client *client, uint64_t now_ns)
{
    const uint32_t most = c->config->clients.truncated_per_s;
    const uint64_t from = client->truncated_ns > now_ns ? client->truncated_ns : now_ns;

    if (!most || from + NS_PER_S / most > now_ns + NS_PER_S)
        return false;
    client->truncated_ns = from + NS_PER_S / most;
    return true;
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
    char text[STATS_NAME];

    leave(c, number);
    passes_leave(c->passes, number);
    while (client->first)
        stats_add(&c->stats->g.undeliverable, clients_drop_first(c, client));
    if (client->lost)
        c->n_lost--;
    client->lost = NULL;
    gate_bye(c->gate, number);
    client->is_used = false;
    client->epoch++; /* its decisions still in flight find nobody */
    stats_client_put(c->stats, client->stats);
    client->stats = NULL;
    c->free[c->n_free++] = number;
    stats_sub(&c->stats->g.clients, 1);
    directory_leave(c->directory, c->shard, known_as(client->key, client->name, text),
                    client->weight);
    if (why)
        log_info("ingress", "client gone", "client=\"%s\" why=\"%s\"", client->name, why);
}

static void drop_lost(struct clients *c)
{
    for (uint32_t i = 0; i < c->n_places && c->n_lost; i++)
        if (c->client[i].is_used && c->client[i].lost)
            clients_drop(c, i, c->client[i].lost);
}

/* What a client begins with. */
static void take_place(struct clients *c, struct client *client, const struct peer *peer,
                       const Trigd__V1__Hello *hello)
{
    uint64_t now = clock_ns();

    *client = (struct client){.is_used = true,
                              .epoch = client->epoch + 1,
                              .peer = *peer,
                              .key = key_of(hello),
                              .is_visitor = hello->visitor,
                              .want = hello->want_credits,
                              .weight = weight_of(c, hello),
                              .since_ns = now,
                              .heard_ns = now,
                              .stats = client->stats,
                              .next = client->next};
    client->last = &client->first;
    strncpy(client->name, hello->name, sizeof client->name - 1);
    stats_set(&client->stats->weight, client->weight);
}

/* Loses the clients whose connection has ended; what they sent before was taken by now, or is in
 * vain. */
static void lose_gone(struct clients *c)
{
    uint32_t number;

    while ((number = gate_gone(c->gate)) != GATE_NONE)
        if (c->client[number].is_used)
            clients_lose(c, number, "its connection is closed");
}

/* Whether a client may have to give its place to another: it never sent an RoI. */
static bool is_unused(const struct client *client, uint64_t now_ns)
{
    return client->is_used && !stats_get(&client->stats->received) &&
           now_ns > client->since_ns + UNUSED_NS;
}

/* A number for where a client is, below ADDRESSES. */
static uint32_t address_of(const struct client *client)
{
    return (uint32_t)(hash_bytes(client->address, strlen(client->address)) % ADDRESSES);
}

/* Of the clients that never sent an RoI the one that is there longest, at the address with most of
 * them, so that a storm of Hellos displaces itself. */
static uint32_t find_unused(const struct clients *c)
{
    uint32_t at[ADDRESSES] = {0}, victim = CLIENTS_NONE, most = 0;
    uint64_t now = clock_ns();

    for (uint32_t i = 0; i < c->n_places; i++)
        if (is_unused(&c->client[i], now))
            at[address_of(&c->client[i])]++;
    for (uint32_t i = 0; i < c->n_places; i++) {
        uint32_t n = at[address_of(&c->client[i])];

        if (!is_unused(&c->client[i], now) || n < most ||
            (n == most && c->client[i].since_ns >= c->client[victim].since_ns))
            continue;
        most = n;
        victim = i;
    }
    return victim;
}

/* Frees a place when all are taken. */
static void make_place(struct clients *c)
{
    uint32_t victim;

    gate_look(c->gate);
    lose_gone(c);
    drop_lost(c);
    victim = c->n_free && !directory_is_full(c->directory) ? CLIENTS_NONE : find_unused(c);
    if (victim != CLIENTS_NONE)
        clients_drop(c, victim, "it sent no RoI, and another needs its place");
}

int clients_hello(struct clients *c, const struct peer *peer, const Trigd__V1__Hello *hello,
                  uint32_t *ret_number)
{
    char text[STATS_NAME];
    const char *name = known_as(key_of(hello), hello->name, text);
    const uint32_t weight = weight_of(c, hello);
    struct client *client;
    uint32_t number;
    int r;

    drop_lost(c);
    number = clients_find(c, peer);
    if (number != CLIENTS_NONE) {
        *ret_number = number;
        return 0;
    }
    if (!c->n_free || !directory_enter(c->directory, c->shard, name, weight)) {
        make_place(c);
        if (!c->n_free || !directory_enter(c->directory, c->shard, name, weight))
            return -EUSERS;
    }
    number = c->free[c->n_free - 1];
    client = &c->client[number];
    client->stats = stats_client_get(c->stats, hello->name);
    r = client->stats ? enter(c, peer, number) : -EUSERS;
    if (r < 0) {
        if (client->stats)
            stats_client_put(c->stats, client->stats);
        client->stats = NULL;
        directory_leave(c->directory, c->shard, name, weight);
        return r;
    }
    c->n_free--;
    take_place(c, client, peer, hello);
    if (peer->shm)
        snprintf(client->address, sizeof client->address, "uid %u", (unsigned)peer->shm->uid);
    else
        gate_hello(c->gate, c->received, number, client->address);
    credits_balance(c, number, client->since_ns);
    stats_add(&c->stats->g.clients, 1);
    log_info("ingress", "client connected", "client=\"%s\" credits=%u over=%s from=\"%s\"",
             client->name, client->credits, peer->shm ? "shm" : "zmq", client->address);
    *ret_number = number;
    return 0;
}

void clients_tick(struct clients *c, uint64_t now_ns)
{
    const uint64_t silent = clients_silent_ns(c);

    if (now_ns > c->ticked_ns + silent / 2)
        c->awake_ns = now_ns; /* nobody is silent who could not be heard */
    for (uint32_t i = 0; i < c->n_places; i++) {
        struct client *client = &c->client[i];

        if (!client->is_used || client->lost)
            continue;
        if (client->heard_ns > c->ticked_ns && !client->peer.shm)
            gate_heard(c->gate, i);
        if (client->n_unsent && !clients_flush(c, client))
            clients_lose(c, i, "its connection is closed");
        else if (now_ns > client->heard_ns + silent && now_ns > c->awake_ns + silent)
            clients_lose(c, i, "it was silent");
    }
    lose_gone(c); /* of the tick before: their messages have come through since */
    c->is_short = gate_tick(c->gate, now_ns);
    clients_bind_again(c);
    drop_lost(c);
    credits_balance(c, CLIENTS_NONE, now_ns);
    c->ticked_ns = now_ns;
}
