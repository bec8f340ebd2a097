/* SPDX-License-Identifier: Apache-2.0 */
/* clients_send.c - answers on their way: over the ROUTER, through shared memory, or kept until
 * there is room. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "transport/clients_inner.h"
#include "transport/packing.h"

uint32_t clients_drop_first(struct clients *c, struct client *client)
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
        n = packing_pack(m, dst);
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
    size_t n = is_small ? packing_pack(m, c->packed) : trigd__v1__from_daemon__get_packed_size(m);

    if (zmq_msg_init_size(ret_body, n) < 0)
        return -errno;
    if (is_small)
        memcpy(zmq_msg_data(ret_body), c->packed, n);
    else
        packing_pack(m, zmq_msg_data(ret_body));
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

static const char *why_lost(int error)
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

/* Sends what is packed, or keeps it for later. */
static int pass_body(struct clients *c, struct client *client, zmq_msg_t *body,
                     uint32_t n_decisions)
{
    int r = client->n_unsent ? -EAGAIN : send_frames(c, &client->peer, body);

    if (r == -EAGAIN)
        r = keep_unsent(c, client, body, n_decisions);
    zmq_msg_close(body);
    return r;
}

/* Sends over the ROUTER, or keeps for later. */
static int pass_frames(struct clients *c, struct client *client, const Trigd__V1__FromDaemon *m,
                       uint32_t n_decisions)
{
    zmq_msg_t body;
    int r = pack(c, m, &body);

    return r < 0 ? r : pass_body(c, client, &body, n_decisions);
}

void clients_lose(struct clients *c, uint32_t number, const char *why)
{
    if (!c->client[number].lost)
        c->n_lost++;
    c->client[number].lost = why;
}

/* A message went out or waits, or its client is lost. */
static void end_send(struct clients *c, uint32_t number, int r, uint32_t n_decisions)
{
    if (r == 0)
        return;
    stats_add(&c->stats->g.undeliverable, n_decisions);
    if (!c->client[number].lost)
        clients_lose(c, number, why_lost(r));
}

void clients_send(struct clients *c, uint32_t number, const Trigd__V1__FromDaemon *m,
                  uint32_t n_decisions)
{
    struct client *client = &c->client[number];
    int r = -EHOSTUNREACH;

    if (!client->lost)
        r = (client->peer.shm ? pass_shared : pass_frames)(c, client, m, n_decisions);
    end_send(c, number, r, n_decisions);
}

void clients_send_packed(struct clients *c, uint32_t number, zmq_msg_t *body, uint32_t n_decisions)
{
    struct client *client = &c->client[number];
    int r = -EHOSTUNREACH;

    if (client->lost)
        zmq_msg_close(body);
    else
        r = pass_body(c, client, body, n_decisions);
    end_send(c, number, r, n_decisions);
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

bool clients_flush(struct clients *c, struct client *client)
{
    while (client->first) {
        int r = send_frames(c, &client->peer, &client->first->body);

        if (r < 0)
            return r == -EAGAIN;
        clients_drop_first(c, client);
    }
    return true;
}

bool clients_has_unsent(const struct clients *c)
{
    return c->n_unsent != 0;
}
