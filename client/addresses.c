/* SPDX-License-Identifier: Apache-2.0 */
#include "addresses.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zmq.h>

#include "clock.h"
#include "encode.h"
#include "route.h"
#include "transport.h"

#define PROTOCOL    1
#define BEAT_NS     NS_PER_S        /* until a node's Welcome says how often it wants to hear */
#define IDLE_NS     (60 * NS_PER_S) /* a connection without batches ends */
#define PLACES_MAX  4096u
#define ANSWERS_MAX 64

struct place { /* a shard of a node */
    uint32_t number;
    char *endpoint;
    char key[KEYFILE_KEY]; /* "": it asks for none */
    bool is_open;
    uint32_t dial; /* number of its connection: another one each time, as one may still be ending */
    uint64_t used_ns, told_ns;
    uint64_t beat_ns; /* the node hears of the client so often */
};

struct id { /* what the socket calls a connection; the first byte of such a name is not 0 */
    char mark[4];
    uint32_t dial;
};

static struct id id_of(uint32_t dial)
{
    return (struct id){.mark = "node", .dial = dial};
}

/* ---------------------------------------------------------------- asking */

/* RoIs at the beginning that may be one batch: of one event, with tokens one after the other, and
 * small enough together. */
static uint32_t together(const struct trg_client *c, struct flight *const *flights, uint32_t n,
                         size_t *ret_bytes)
{
    const struct trg_roi_info *first = &flights[0]->roi.info;
    size_t sizes[TRG_CLIENT_BATCH_MAX];
    uint32_t k = 1;

    while (k < n && flights[k]->token == flights[0]->token + k &&
           flights[k]->roi.info.run == first->run && flights[k]->roi.info.l1id == first->l1id)
        k++;
    *ret_bytes = encode_size(flights, k, sizes);
    while (k > 1 && c->max_message_bytes && *ret_bytes > c->max_message_bytes) {
        k /= 2;
        *ret_bytes = encode_size(flights, k, sizes);
    }
    return k;
}

static size_t write_ask(const struct flight *first, uint32_t n, size_t bytes, unsigned char *to)
{
    const struct route r = {.n = n,
                            .is_event = true,
                            .is_ask = true,
                            .run = first->roi.info.run,
                            .l1id = first->roi.info.l1id,
                            .bytes = (uint32_t)bytes,
                            .token = first->token};
    unsigned char frame[ROUTE_BYTES];
    const size_t size = route_pack(&r, frame);

    memcpy(to, frame, size);
    return size;
}

static int ask(struct trg_client *c, unsigned char *frames, size_t n)
{
    Trigd__V1__ToDaemon m = TRIGD__V1__TO_DAEMON__INIT;
    Trigd__V1__Ask a = TRIGD__V1__ASK__INIT;

    a.frames.data = frames;
    a.frames.len = n;
    m.body_case = TRIGD__V1__TO_DAEMON__BODY_ASK;
    m.ask = &a;
    return transport_tell(c, &m);
}

int addresses_send(struct trg_client *c, struct flight *const *flights, uint32_t n)
{
    unsigned char frames[TRG_CLIENT_BATCH_MAX * ROUTE_ASK_BYTES];
    struct flight *rest[TRG_CLIENT_BATCH_MAX];
    uint32_t n_rest = 0, k;
    size_t asked = 0;
    int r = 0;

    if (!c->address_bytes)
        return transport_send(c, flights, n);
    for (uint32_t i = 0; i < n; i += k) {
        size_t bytes;

        k = together(c, &flights[i], n - i, &bytes);
        if (bytes >= c->address_bytes)
            asked += write_ask(flights[i], k, bytes, frames + asked);
        else
            for (uint32_t of = i; of < i + k; of++)
                rest[n_rest++] = flights[of];
    }
    if (asked)
        r = ask(c, frames, asked);
    if (r == 0 && n_rest)
        r = transport_send(c, rest, n_rest);
    return r < 0 ? r : (int)n;
}

/* ---------------------------------------------------------------- places */

static struct place *find_place(struct trg_client *c, uint32_t number)
{
    for (uint32_t i = 0; i < c->n_places; i++)
        if (c->place[i].number == number)
            return &c->place[i];
    return NULL;
}

static void hang_up(struct trg_client *c, struct place *p)
{
    if (p->is_open)
        zmq_disconnect(c->nodes, p->endpoint);
    p->is_open = false;
}

static void forget_place(struct trg_client *c, uint32_t i)
{
    hang_up(c, &c->place[i]);
    free(c->place[i].endpoint);
    c->place[i] = c->place[--c->n_places];
}

/* Another place at the same endpoint is there no more: the node was started anew. */
static int note_place(struct trg_client *c, const Trigd__V1__Place *m)
{
    struct place *more;

    for (uint32_t i = c->n_places; i-- > 0;)
        if (!strcmp(c->place[i].endpoint, m->endpoint))
            forget_place(c, i);
    if (c->n_places == PLACES_MAX || strlen(m->key) >= KEYFILE_KEY)
        return -EBADMSG;
    more = realloc(c->place, (c->n_places + 1) * sizeof *more);
    if (!more)
        return -ENOMEM;
    c->place = more;
    more += c->n_places;
    *more =
        (struct place){.number = m->number, .endpoint = strdup(m->endpoint), .beat_ns = BEAT_NS};
    snprintf(more->key, sizeof more->key, "%s", m->key);
    if (!more->endpoint)
        return -ENOMEM;
    c->n_places++;
    return 0;
}

/* ---------------------------------------------------------------- connections */

static int open_socket(struct trg_client *c)
{
    const int table[][2] = {
        {ZMQ_LINGER, 0}, {ZMQ_SNDHWM, 0}, {ZMQ_RCVHWM, 0}, {ZMQ_ROUTER_MANDATORY, 1}};

    if (c->nodes)
        return 0;
    c->nodes = zmq_socket(c->context, ZMQ_ROUTER);
    if (!c->nodes)
        return -errno;
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        if (zmq_setsockopt(c->nodes, table[i][0], &table[i][1], sizeof(int)) < 0)
            return -errno;
    return 0;
}

/* Sends what nodes take: a frame, or a routing frame and another.  Takes the body. */
static int send_to(struct trg_client *c, const struct place *p, const void *route, size_t n_route,
                   zmq_msg_t *body)
{
    const struct id id = id_of(p->dial);
    int r = 0;

    if (zmq_send(c->nodes, &id, sizeof id, ZMQ_SNDMORE | ZMQ_DONTWAIT) < 0 ||
        (n_route && zmq_send(c->nodes, route, n_route, ZMQ_SNDMORE | ZMQ_DONTWAIT) < 0) ||
        zmq_msg_send(body, c->nodes, ZMQ_DONTWAIT) < 0) {
        r = -errno;
        zmq_msg_close(body);
    }
    return r;
}

static int say_hello(struct trg_client *c, struct place *p, uint64_t now_ns)
{
    Trigd__V1__ToDaemon m = TRIGD__V1__TO_DAEMON__INIT;
    Trigd__V1__Hello hello = TRIGD__V1__HELLO__INIT;
    zmq_msg_t body;

    hello.protocol = PROTOCOL;
    hello.name = c->name;
    hello.visitor = true;
    m.body_case = TRIGD__V1__TO_DAEMON__BODY_HELLO;
    m.hello = &hello;
    p->told_ns = now_ns;
    if (zmq_msg_init_size(&body, trigd__v1__to_daemon__get_packed_size(&m)) < 0)
        return -errno;
    trigd__v1__to_daemon__pack(&m, zmq_msg_data(&body));
    return send_to(c, p, NULL, 0, &body);
}

static int connect_to(struct trg_client *c, struct place *p, uint64_t now_ns)
{
    const struct id id = id_of(++c->n_dials);
    int r = open_socket(c);

    if (r == 0)
        r = transport_use_keys(c, c->nodes, strncmp(p->endpoint, "tcp://", 6) ? "" : p->key);
    if (r == 0 && (zmq_setsockopt(c->nodes, ZMQ_CONNECT_ROUTING_ID, &id, sizeof id) < 0 ||
                   zmq_connect(c->nodes, p->endpoint) < 0))
        r = -errno;
    if (r < 0)
        return r;
    p->is_open = true;
    p->dial = id.dial;
    return say_hello(c, p, now_ns);
}

/* A place that cannot be reached is as one that does not answer: the supervisor notices. */
static void lose(struct trg_client *c, struct place *p, int error)
{
    char why[WHY_BYTES];

    hang_up(c, p);
    snprintf(why, sizeof why, "no connection to the node at %.150s: %s", p->endpoint,
             zmq_strerror(-error));
    client_notice(c, TRG_CLIENT_ERROR, why);
}

/* ---------------------------------------------------------------- bodies */

/* The flights of a batch; NULL for RoIs that are not wanted.  Whether all that are wanted are
 * there. */
static bool find_flights(const struct trg_client *c, const struct route *r, uint64_t token,
                         struct flight *ret_flights[ROUTE_ROIS])
{
    bool are_there = true;

    for (uint32_t i = 0; i < r->n; i++) {
        struct flight *f = c->room ? flights_of(c, token + i) : NULL;

        ret_flights[i] = NULL;
        if (!route_wants(r, i))
            continue;
        if (f && f->state == FLIGHT_SENT && f->token == token + i)
            ret_flights[i] = f;
        else
            are_there = false;
    }
    return are_there;
}

static int make_body(struct flight *const *flights, uint32_t n, zmq_msg_t *ret_body)
{
    size_t sizes[ROUTE_ROIS];
    const size_t bytes = encode_size(flights, n, sizes);

    if (zmq_msg_init_size(ret_body, bytes) < 0)
        return -errno;
    encode_message(flights, sizes, n, zmq_msg_data(ret_body));
    return 0;
}

static void send_there(struct trg_client *c, struct place *p, const Trigd__V1__Address *a,
                       zmq_msg_t *body, uint64_t now_ns)
{
    int r = p->is_open ? 0 : connect_to(c, p, now_ns);

    p->used_ns = now_ns;
    if (r == 0)
        r = send_to(c, p, a->frame.data, a->frame.len, body);
    else
        zmq_msg_close(body);
    if (r < 0)
        lose(c, p, r);
}

static int send_here(struct trg_client *c, const Trigd__V1__Address *a, zmq_msg_t *body)
{
    if (zmq_send(c->socket, a->frame.data, a->frame.len, ZMQ_SNDMORE) < 0 ||
        zmq_msg_send(body, c->socket, 0) < 0) {
        const int r = -errno;

        zmq_msg_close(body);
        return r;
    }
    c->spoken_ns = clock_ns();
    return 0;
}

static int take_address(struct trg_client *c, const Trigd__V1__Address *a, uint64_t now_ns)
{
    struct flight *flights[ROUTE_ROIS];
    struct place *p = a->place ? find_place(c, a->place) : NULL;
    struct route route;
    zmq_msg_t body;
    size_t bytes;
    int r = 0;

    if (!route_read(a->frame.data, a->frame.len, &route))
        return -EBADMSG;
    if (a->place && !p)
        return 0;        /* the supervisor notices that nothing comes */
    zmq_msg_init(&body); /* an empty one hands the pass back */
    if (find_flights(c, &route, a->token, flights))
        r = make_body(flights, route.n, &body);
    bytes = zmq_msg_size(&body);
    if (r == 0 && !bytes && !p)
        return 0;
    if (r == 0 && p)
        send_there(c, p, a, &body, now_ns);
    else if (r == 0)
        r = send_here(c, a, &body);
    for (uint32_t i = 0; r == 0 && bytes && i < route.n; i++) {
        if (!flights[i])
            continue;
        flights[i]->sent_ns = now_ns;
        c->stats.to_nodes += p != NULL;
    }
    if (r == 0)
        c->stats.bytes_out += bytes;
    return r;
}

int addresses_take(struct trg_client *c, const Trigd__V1__Addresses *m, uint64_t now_ns)
{
    int r = 0;

    for (size_t i = 0; r == 0 && i < m->n_places; i++)
        r = note_place(c, m->places[i]);
    for (size_t i = 0; r == 0 && i < m->n_addresses; i++)
        r = take_address(c, m->addresses[i], now_ns);
    return r;
}

/* ---------------------------------------------------------------- what nodes say */

static void take_answer(struct trg_client *c, uint32_t dial, const Trigd__V1__FromDaemon *m)
{
    struct place *p = NULL;

    for (uint32_t i = 0; i < c->n_places; i++)
        if (c->place[i].is_open && c->place[i].dial == dial)
            p = &c->place[i];
    if (m->body_case == TRIGD__V1__FROM_DAEMON__BODY_ERROR) { /* about a pass */
        c->stats.errors++;
        client_notice(c, TRG_CLIENT_ERROR, m->error->text);
    } else if (m->body_case == TRIGD__V1__FROM_DAEMON__BODY_WELCOME && p &&
               m->welcome->heartbeat_ms) {
        p->beat_ns = NS_PER_MS * m->welcome->heartbeat_ms / 2;
    }
}

/* Takes one message; false: there is none. */
static bool hear(struct trg_client *c)
{
    Trigd__V1__FromDaemon *m = NULL;
    struct id id;
    zmq_msg_t body;
    const int n = zmq_recv(c->nodes, &id, sizeof id, ZMQ_DONTWAIT);

    if (n < 0)
        return false;
    zmq_msg_init(&body);
    if (n == sizeof id && zmq_msg_recv(&body, c->nodes, ZMQ_DONTWAIT) >= 0)
        m = trigd__v1__from_daemon__unpack(NULL, zmq_msg_size(&body), zmq_msg_data(&body));
    if (m) {
        take_answer(c, id.dial, m);
        trigd__v1__from_daemon__free_unpacked(m, NULL);
    }
    zmq_msg_close(&body);
    return true;
}

static void keep(struct trg_client *c, struct place *p, uint64_t now_ns)
{
    int r = 0;

    if (now_ns > p->used_ns + IDLE_NS)
        hang_up(c, p);
    else if (now_ns > p->told_ns + p->beat_ns)
        r = say_hello(c, p, now_ns);
    if (r < 0)
        lose(c, p, r);
}

void addresses_tick(struct trg_client *c, uint64_t now_ns)
{
    for (int n = 0; c->nodes && n < ANSWERS_MAX && hear(c); n++) {
    }
    for (uint32_t i = 0; i < c->n_places; i++)
        if (c->place[i].is_open)
            keep(c, &c->place[i], now_ns);
}

void addresses_close(struct trg_client *c)
{
    while (c->n_places)
        forget_place(c, c->n_places - 1);
    free(c->place);
    c->place = NULL;
    if (c->nodes)
        zmq_close(c->nodes);
    c->nodes = NULL;
}
