/* SPDX-License-Identifier: Apache-2.0 */
#include "asker.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zmq.h>

#include "clock.h"
#include "fields.h"
#include "messages.h"
#include "node.h"
#include "route.h"

#define PATIENCE      20000 /* ms for any answer */
#define PACK_MAX      256u
#define PASSES_BYTES  (1u << 20)
#define BATCH_BYTES   105000u /* that are asked about: an RoI of highlum */
#define TAG_DECISIONS TAG(2, BYTES)
#define TAG_ADDRESSES TAG(7, BYTES)

static int wrong(const char *what)
{
    fprintf(stderr, "bench_farm: %s\n", what);
    return -EPROTO;
}

/* ---------------------------------------------------------------- asking */

static int send_message(struct asker *a, const Trigd__V1__ToDaemon *m)
{
    zmq_msg_t body;

    if (zmq_msg_init_size(&body, trigd__v1__to_daemon__get_packed_size(m)) < 0)
        return -ENOMEM;
    trigd__v1__to_daemon__pack(m, zmq_msg_data(&body));
    return zmq_msg_send(&body, a->socket, 0) < 0 ? -errno : 0;
}

static int ask(struct asker *a)
{
    Trigd__V1__ToDaemon m;
    Trigd__V1__Ask one = TRIGD__V1__ASK__INIT;
    size_t n = 0;
    unsigned char frames[PACK_MAX * ROUTE_ASK_BYTES + ROUTE_BYTES];

    for (uint32_t i = 0; i < a->pack; i++) {
        const struct route r = {.n = a->batch,
                                .is_event = true,
                                .is_ask = true,
                                .run = 1,
                                .l1id = (uint32_t)a->next,
                                .bytes = BATCH_BYTES,
                                .token = a->next};

        a->next += a->batch;
        n += route_pack(&r, frames + n);
    }
    m = message_ask(&one, frames, n);
    a->outstanding += a->pack * a->batch;
    return send_message(a, &m);
}

/* ---------------------------------------------------------------- to nodes */

static struct asker_node *node_at(struct asker *a, uint32_t place)
{
    for (uint32_t i = 0; i < a->n_nodes; i++)
        if (a->node[i].place == place)
            return &a->node[i];
    return NULL;
}

/* Field 1 is the number, field 2 the endpoint. */
static int take_place(struct asker *a, struct reader r)
{
    struct asker_node *n = &a->node[a->n_nodes];
    struct reader text;
    char endpoint[256];
    const int none = 0;
    uint32_t tag;

    if (a->n_nodes == ASKER_NODES || !read_tag(&r, &tag) || tag != TAG(1, FIXED32) ||
        r.end - r.at < 4)
        return wrong("a place cannot be read");
    memcpy(&n->place, r.at, sizeof n->place);
    r.at += sizeof n->place;
    if (!read_tag(&r, &tag) || tag != TAG(2, BYTES) || !read_bytes(&r, &text))
        return wrong("a place has no endpoint");
    snprintf(endpoint, sizeof endpoint, "%.*s", (int)(text.end - text.at), (const char *)text.at);
    n->socket = zmq_socket(a->context, ZMQ_DEALER);
    n->passes = malloc(PASSES_BYTES);
    if (!n->socket || !n->passes)
        return -ENOMEM;
    a->n_nodes++;
    if (zmq_setsockopt(n->socket, ZMQ_LINGER, &none, sizeof none) < 0 ||
        zmq_setsockopt(n->socket, ZMQ_SNDHWM, &none, sizeof none) < 0 ||
        zmq_connect(n->socket, endpoint) < 0)
        return -errno;
    return 0;
}

static int flush_passes(struct asker_node *n)
{
    if (n->n && (zmq_send(n->socket, NODE_PASSES, strlen(NODE_PASSES), ZMQ_SNDMORE) < 0 ||
                 zmq_send(n->socket, n->passes, n->n, 0) < 0))
        return -errno;
    n->n = 0;
    return 0;
}

static int send_body(const struct asker *a, struct asker_node *n, const struct reader *frame)
{
    if (zmq_send(n->socket, frame->at, (size_t)(frame->end - frame->at), ZMQ_SNDMORE) < 0 ||
        zmq_send(n->socket, a->body, a->body_bytes, 0) < 0)
        return -errno;
    return 0;
}

/* Fields: the token, the place, the frame. */
static int take_address(struct asker *a, struct reader r)
{
    struct asker_node *n;
    struct reader frame;
    uint32_t place, tag;
    size_t bytes;

    if (r.end - r.at < 16)
        return wrong("an address is too short");
    r.at += 1 + 8 + 1;
    memcpy(&place, r.at, sizeof place);
    r.at += sizeof place;
    n = node_at(a, place);
    if (!n || !read_tag(&r, &tag) || tag != TAG(3, BYTES) || !read_bytes(&r, &frame))
        return wrong("an address cannot be read, or is the supervisor's own");
    if (a->body)
        return send_body(a, n, &frame);
    bytes = (size_t)(frame.end - frame.at);
    if (n->n + bytes > PASSES_BYTES)
        return wrong("too many passes at a time");
    memcpy(n->passes + n->n, frame.at, bytes);
    n->n += bytes;
    return 0;
}

/* ---------------------------------------------------------------- answers */

static int take_decisions(struct asker *a, struct reader r)
{
    struct reader one;
    uint32_t tag;

    while (r.at < r.end) {
        if (!read_tag(&r, &tag) || !read_bytes(&r, &one))
            return wrong("a decision cannot be read");
        a->decided++;
        a->outstanding--;
    }
    return 0;
}

static int take_addresses(struct asker *a, struct reader r)
{
    struct reader one;
    uint32_t tag;
    int ret = 0;

    while (ret == 0 && r.at < r.end) {
        if (!read_tag(&r, &tag) || !read_bytes(&r, &one))
            return wrong("addresses cannot be read");
        ret = tag == TAG(1, BYTES) ? take_place(a, one) : take_address(a, one);
    }
    for (uint32_t i = 0; ret == 0 && i < a->n_nodes; i++)
        ret = flush_passes(&a->node[i]);
    return ret;
}

static int take(struct asker *a, const void *bytes, size_t n)
{
    struct reader r = {.at = bytes, .end = (const unsigned char *)bytes + n}, body;
    uint32_t tag;

    if (!read_tag(&r, &tag) || !read_bytes(&r, &body))
        return wrong("an answer cannot be read");
    if (tag == TAG_DECISIONS)
        return take_decisions(a, body);
    if (tag == TAG_ADDRESSES)
        return take_addresses(a, body);
    return tag == TAG(3, BYTES) ? 0 : wrong("an answer is none that was expected"); /* Credit */
}

static int take_all(struct asker *a)
{
    int r = 0;

    while (r == 0) {
        zmq_msg_t m;

        zmq_msg_init(&m);
        if (zmq_msg_recv(&m, a->socket, ZMQ_DONTWAIT) < 0) {
            r = errno == EAGAIN ? 1 : -errno;
        } else {
            r = take(a, zmq_msg_data(&m), zmq_msg_size(&m));
        }
        zmq_msg_close(&m);
    }
    return r < 0 ? r : 0;
}

static int await(struct asker *a)
{
    zmq_pollitem_t item = {.socket = a->socket, .events = ZMQ_POLLIN};
    const int r = zmq_poll(&item, 1, PATIENCE);

    return r < 0 ? -errno : r == 0 ? -ETIMEDOUT : take_all(a);
}

/* ---------------------------------------------------------------- all */

static int say_hello(struct asker *a)
{
    Trigd__V1__Hello hello = TRIGD__V1__HELLO__INIT;
    const Trigd__V1__ToDaemon m = message_hello(&hello, "asker");
    unsigned char back[4096];
    int r;

    hello.want_credits = a->window;
    hello.reaches_nodes = true;
    r = send_message(a, &m);
    if (r < 0)
        return r;
    return zmq_recv(a->socket, back, sizeof back, 0) < 0 ? -errno : 0;
}

int asker_open(struct asker *a, const char *endpoint, uint32_t window, uint32_t pack,
               uint32_t batch)
{
    const int none = 0, patience = PATIENCE;

    *a = (struct asker){
        .window = window, .pack = pack < PACK_MAX ? pack : PACK_MAX, .batch = batch, .next = 1};
    a->context = zmq_ctx_new();
    a->socket = a->context ? zmq_socket(a->context, ZMQ_DEALER) : NULL;
    if (!a->socket)
        return -ENOMEM;
    if (zmq_setsockopt(a->socket, ZMQ_LINGER, &none, sizeof none) < 0 ||
        zmq_setsockopt(a->socket, ZMQ_RCVTIMEO, &patience, sizeof patience) < 0 ||
        zmq_connect(a->socket, endpoint) < 0)
        return -errno;
    return say_hello(a);
}

void asker_close(struct asker *a)
{
    for (uint32_t i = 0; i < a->n_nodes; i++) {
        zmq_close(a->node[i].socket);
        free(a->node[i].passes);
    }
    if (a->socket)
        zmq_close(a->socket);
    if (a->context)
        zmq_ctx_term(a->context);
    *a = (struct asker){.context = NULL};
}

int asker_run(struct asker *a, double seconds)
{
    const uint64_t end = clock_ns() + (uint64_t)(seconds * 1e9);
    int r = 0;

    while (r == 0 && clock_ns() < end) {
        while (r == 0 && a->outstanding + a->pack * a->batch <= a->window)
            r = ask(a);
        if (r == 0)
            r = await(a);
    }
    while (r == 0 && a->outstanding)
        r = await(a);
    return r;
}
