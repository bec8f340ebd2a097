/* SPDX-License-Identifier: Apache-2.0 */
/* clients_receive.c - messages out of ZeroMQ, and whose they are that wait in it.
 *
 * The ROUTER takes in all that its connections send.  With a high-water mark it would stop reading
 * one, and libzmq up to 4.3.5 ends the process when such a connection closes before it is read on
 * and a PING or PONG is due (its issues 4364 and 4841).  So a client that does not keep to its
 * credits fills the memory, and libzmq tells nobody how much of it waits.  While the process has
 * more memory than it should have, messages are taken ahead of their turn and counted, and none is
 * answered meanwhile: a client with more of them than its credits explain is cut off. */
#include <errno.h>
#include <string.h>

#include "transport/clients_inner.h"

#define AHEAD_NS    (4 * NS_PER_MS) /* the longest that others wait for it */
#define BESIDE_ROIS 64u             /* messages of a client without RoIs: Hello, Heartbeats */
#define FRAMES      3u              /* of a message: whose, where to, body */

static bool has_more(zmq_msg_t *m)
{
    return zmq_msg_more(m) != 0;
}

/* ---------------------------------------------------------------- ahead of their turn */

bool clients_has_ahead(const struct clients *c)
{
    return c->first_ahead < c->n_ahead;
}

/* Messages of a client that may wait: as many as it may have RoIs unanswered, and as many again for
 * answers on their way to it when the counting begins. */
static uint32_t most_of(const struct clients *c, const struct client *client)
{
    uint32_t rois = client->is_visitor ? c->config->clients.credits : client->allowed;

    return 2 * (rois > client->outstanding ? rois : client->outstanding) + BESIDE_ROIS;
}

/* Whether a message of that peer may have its turn.  Those of no client may: one is a Hello. */
static bool count(struct clients *c, zmq_msg_t *name)
{
    struct peer peer = {.n = (uint8_t)zmq_msg_size(name)};
    uint32_t number, most;

    memcpy(peer.id, zmq_msg_data(name), peer.n);
    number = clients_find(c, &peer);
    if (number == CLIENTS_NONE)
        return true;
    most = most_of(c, &c->client[number]);
    if (++c->client[number].waiting == most + 1) {
        gate_cut(c->gate, number, "it sends more than its credits allow");
        clients_lose(c, number, "it sends more than its credits allow");
    }
    return c->client[number].waiting <= most;
}

/* Leaves of a message of too many frames whose it is. */
static uint32_t shorten(zmq_msg_t frame[FRAMES])
{
    zmq_msg_t name;

    for (uint32_t i = 1; i < FRAMES; i++)
        zmq_msg_close(&frame[i]);
    if (zmq_msg_init_size(&name, zmq_msg_size(&frame[0])) < 0)
        zmq_msg_init(&name);
    memcpy(zmq_msg_data(&name), zmq_msg_data(&frame[0]), zmq_msg_size(&name));
    zmq_msg_move(&frame[0], &name); /* without the mark that more follows */
    return 1;
}

/* Takes one message ahead; whether there was one. */
static bool take_one(struct clients *c)
{
    zmq_msg_t *frame = c->ahead + c->n_ahead, rest;
    uint32_t n = 0;
    bool more = true;

    for (; more; n++) {
        zmq_msg_t *m = n < FRAMES ? &frame[n] : &rest;

        zmq_msg_init(m);
        if (zmq_msg_recv(m, c->socket, ZMQ_DONTWAIT) < 0)
            return false; /* with the first: the frames of a message come together */
        more = has_more(m);
        if (m == &rest)
            zmq_msg_close(m);
    }
    if (n > FRAMES)
        n = shorten(frame);
    if (count(c, &frame[0]))
        c->n_ahead += n;
    else
        for (uint32_t i = 0; i < n; i++)
            zmq_msg_close(&frame[i]);
    return true;
}

void clients_look_ahead(struct clients *c)
{
    const uint64_t until = clock_ns() + AHEAD_NS;

    c->is_short = false; /* till the next tick */
    if (clients_has_ahead(c))
        return; /* not all of the last time have had their turn */
    c->first_ahead = c->n_ahead = 0;
    for (uint32_t i = 0; i < c->n_places; i++)
        c->client[i].waiting = 0;
    while (c->n_ahead + FRAMES <= CLIENTS_AHEAD && clock_ns() < until && take_one(c)) {
    }
}

/* ---------------------------------------------------------------- in turn */

/* The next frame, as zmq_msg_recv gives it without waiting. */
static int next_frame(struct clients *c, zmq_msg_t *m)
{
    if (!clients_has_ahead(c))
        return zmq_msg_recv(m, c->socket, ZMQ_DONTWAIT);
    zmq_msg_move(m, &c->ahead[c->first_ahead++]);
    return (int)zmq_msg_size(m);
}

/* Reads and drops the rest of a message of too many frames. */
static void drop_rest(struct clients *c, zmq_msg_t *m)
{
    while (has_more(m) && next_frame(c, m) >= 0) {
    }
}

/* The frame of a message, and one before it that says where it is to go. */
static int receive_frames(struct clients *c, struct route *ret_route, zmq_msg_t *body)
{
    int r = next_frame(c, body);

    ret_route->n = 0;
    if (r >= 0 && has_more(body) && route_read(zmq_msg_data(body), zmq_msg_size(body), ret_route) &&
        !ret_route->is_ask)
        r = next_frame(c, body);
    return r < 0 ? -errno : has_more(body) ? -EBADMSG : 1;
}

int clients_receive(struct clients *c, struct peer *ret_peer, struct route *ret_route,
                    zmq_msg_t *ret_body)
{
    zmq_msg_t id;
    int r;

    if (c->is_short)
        clients_look_ahead(c);
    zmq_msg_init(&id);
    r = next_frame(c, &id);
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
    c->received = ret_body;
    r = receive_frames(c, ret_route, ret_body);
    if (r == 1)
        return 1;
    drop_rest(c, ret_body);
    zmq_msg_close(ret_body);
    return r;
}
