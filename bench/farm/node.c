/* SPDX-License-Identifier: Apache-2.0 */
#include "node.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>
#include <zmq.h>

#include "answer.h"
#include "clock.h"
#include "farm.pb-c.h"
#include "route.h"
#include "scan.h"
#include "trigd.pb-c.h"
#include "unixtime.h"

#define BEAT_NS    (10 * NS_PER_MS)
#define CREDITS    8192u
#define QUEUE_MAX  (1u << 14)
#define DECISIONS  256u         /* in one message */
#define PASS_BYTES ((size_t)80) /* of a routing frame with a pass for all RoIs */

/* ---------------------------------------------------------------- answers */

static bool make_answers(const uint64_t *tokens, uint32_t n, zmq_msg_t *ret_body)
{
    Trigd__V1__FromDaemon from = TRIGD__V1__FROM_DAEMON__INIT;
    Trigd__V1__DecisionBatch batch = TRIGD__V1__DECISION_BATCH__INIT;
    static Trigd__V1__Decision decision[DECISIONS];
    Trigd__V1__Decision *list[DECISIONS];

    for (uint32_t i = 0; i < n; i++) {
        trigd__v1__decision__init(&decision[i]);
        decision[i].token = tokens[i];
        decision[i].accept = 1;
        list[i] = &decision[i];
    }
    from.body_case = TRIGD__V1__FROM_DAEMON__BODY_DECISIONS;
    from.decisions = &batch;
    batch.n_decisions = n;
    batch.decisions = list;
    if (zmq_msg_init_size(ret_body, trigd__v1__from_daemon__get_packed_size(&from)) < 0)
        return false;
    trigd__v1__from_daemon__pack(&from, zmq_msg_data(ret_body));
    return true;
}

static int complain(const char *what)
{
    fprintf(stderr, "bench_farm: %s: %s\n", what, zmq_strerror(zmq_errno()));
    return 1;
}

int node_behind_proxy(const char *endpoint)
{
    void *context = zmq_ctx_new();
    void *socket = context ? zmq_socket(context, ZMQ_DEALER) : NULL;

    if (!socket || zmq_connect(socket, endpoint) < 0)
        return complain(endpoint);
    for (;;) {
        struct scan_head head;
        zmq_msg_t id, body, answer;

        zmq_msg_init(&id);
        zmq_msg_init(&body);
        if (zmq_msg_recv(&id, socket, 0) < 0 || zmq_msg_recv(&body, socket, 0) < 0 ||
            scan_heads(zmq_msg_data(&body), zmq_msg_size(&body), &head, 1) != 1 ||
            !answer_make(head.token, head.run, head.l1id, &answer) ||
            zmq_msg_send(&id, socket, ZMQ_SNDMORE) < 0 || zmq_msg_send(&answer, socket, 0) < 0)
            return complain("a worker behind the proxy");
        zmq_msg_close(&body);
    }
}

/* ---------------------------------------------------------------- a node */

struct node {
    const struct node_setup *setup;
    void *enlist, *rois;
    uint8_t peer[64]; /* the supervisor on `rois` */
    size_t n_peer;
    uint64_t instance, beat_ns, random;
    int timer;
    struct work { /* of RoIs that wait or are in a slot, in their order */
        uint64_t token;
    } queue[QUEUE_MAX];
    uint32_t first, n;
    struct slot {
        uint64_t token, end_ns; /* 0: free */
    } slot[NODE_SLOTS];
};

static void tell_farm(struct node *n, const Trigd__Farm__V1__FromNode *m)
{
    unsigned char bytes[1024];

    zmq_send(n->enlist, bytes, trigd__farm__v1__from_node__pack(m, bytes), ZMQ_DONTWAIT);
}

static void enlist(struct node *n)
{
    Trigd__Farm__V1__FromNode m = TRIGD__FARM__V1__FROM_NODE__INIT;
    Trigd__Farm__V1__Enlist e = TRIGD__FARM__V1__ENLIST__INIT;

    e.protocol = 1;
    e.name = (char *)(uintptr_t)n->setup->name;
    e.version = (char *)(uintptr_t)TRIGD_VERSION;
    e.endpoint = (char *)(uintptr_t)n->setup->endpoint;
    e.instance = n->instance;
    e.menu_key = n->setup->menu_key;
    e.rois = CREDITS;
    e.bytes = UINT64_C(1) << 40;
    m.body_case = TRIGD__FARM__V1__FROM_NODE__BODY_ENLIST;
    m.enlist = &e;
    tell_farm(n, &m);
}

static void beat(struct node *n, uint64_t now)
{
    Trigd__Farm__V1__FromNode m = TRIGD__FARM__V1__FROM_NODE__INIT;
    Trigd__Farm__V1__Beat b = TRIGD__FARM__V1__BEAT__INIT;
    char word[256];

    if (now < n->beat_ns + BEAT_NS)
        return;
    n->beat_ns = now;
    while (zmq_recv(n->enlist, word, sizeof word, ZMQ_DONTWAIT) >= 0) {
    }
    b.instance = n->instance;
    b.is_taking = 1;
    b.menu_key = n->setup->menu_key;
    b.unix_ns = unix_ns();
    m.body_case = TRIGD__FARM__V1__FROM_NODE__BODY_BEAT;
    m.beat = &b;
    tell_farm(n, &m);
}

static void send_answer(struct node *n, zmq_msg_t *body)
{
    zmq_send(n->rois, n->peer, n->n_peer, ZMQ_SNDMORE);
    zmq_msg_send(body, n->rois, 0);
}

static void welcome(struct node *n)
{
    Trigd__V1__FromDaemon m = TRIGD__V1__FROM_DAEMON__INIT;
    Trigd__V1__Welcome w = TRIGD__V1__WELCOME__INIT;
    zmq_msg_t body;

    w.protocol = 1;
    w.credits = CREDITS;
    w.max_message_bytes = 1u << 24;
    w.max_items = 1u << 18;
    w.heartbeat_ms = 60000;
    w.menu_key = n->setup->menu_key;
    w.takes_passes = true;
    m.body_case = TRIGD__V1__FROM_DAEMON__BODY_WELCOME;
    m.welcome = &w;
    zmq_msg_init_size(&body, trigd__v1__from_daemon__get_packed_size(&m));
    trigd__v1__from_daemon__pack(&m, zmq_msg_data(&body));
    send_answer(n, &body);
}

static double draw_ns(struct node *n)
{
    n->random = n->random * 6364136223846793005u + 1442695040888963407u;
    if (!n->setup->is_random)
        return n->setup->service_us * 1e3;
    return -log(((double)(n->random >> 11) + 0.5) / (double)(UINT64_C(1) << 53)) *
           n->setup->service_us * 1e3;
}

/* Answers what has ended, and begins what waits. */
static void work(struct node *n, uint64_t now)
{
    uint64_t next = UINT64_MAX;

    for (uint32_t i = 0; i < NODE_SLOTS; i++) {
        struct slot *s = &n->slot[i];

        while (s->end_ns ? now >= s->end_ns : n->n != 0) {
            const uint64_t from = s->end_ns ? s->end_ns : now;
            zmq_msg_t body;

            if (s->end_ns && answer_make(s->token, 0, 0, &body))
                send_answer(n, &body);
            s->end_ns = 0;
            if (!n->n)
                break;
            s->token = n->queue[n->first].token;
            s->end_ns = from + (uint64_t)draw_ns(n);
            n->first = (n->first + 1) % QUEUE_MAX;
            n->n--;
        }
        if (s->end_ns && s->end_ns < next)
            next = s->end_ns;
    }
    if (next != UINT64_MAX) {
        const struct itimerspec t = {
            .it_value = {.tv_sec = (time_t)(next / NS_PER_S), .tv_nsec = (long)(next % NS_PER_S)}};

        timerfd_settime(n->timer, TFD_TIMER_ABSTIME, &t, NULL);
    }
}

static void take_batch(struct node *n, const struct route *route, zmq_msg_t *body)
{
    struct scan_head head;
    zmq_msg_t answer;

    if (scan_heads(zmq_msg_data(body), zmq_msg_size(body), &head, 1) != 1)
        return;
    if (n->setup->service_us > 0) {
        n->queue[(n->first + n->n++) % QUEUE_MAX].token = route->token;
        return;
    }
    if (answer_make(route->token, head.run, head.l1id, &answer))
        send_answer(n, &answer);
}

/* Answers all RoIs of passes, in messages of many decisions. */
static void take_passes(struct node *n, const zmq_msg_t *body)
{
    const unsigned char *bytes = zmq_msg_data((zmq_msg_t *)(uintptr_t)body);
    uint64_t tokens[DECISIONS];
    struct route route;
    zmq_msg_t answer;
    uint32_t n_tokens = 0;

    for (size_t at = 0; at + PASS_BYTES <= zmq_msg_size(body); at += PASS_BYTES) {
        if (!route_read(bytes + at, PASS_BYTES, &route))
            continue;
        for (uint32_t i = 0; i < route.n; i++) {
            tokens[n_tokens++] = route.token + i;
            if (n_tokens == DECISIONS && make_answers(tokens, n_tokens, &answer))
                send_answer(n, &answer);
            n_tokens %= DECISIONS;
        }
    }
    if (n_tokens && make_answers(tokens, n_tokens, &answer))
        send_answer(n, &answer);
}

/* A message alone: only the supervisor's Hello is answered. */
static void take_word(struct node *n, const uint8_t *peer, size_t n_peer, zmq_msg_t *body)
{
    Trigd__V1__ToDaemon *m =
        trigd__v1__to_daemon__unpack(NULL, zmq_msg_size(body), zmq_msg_data(body));

    if (m && m->body_case == TRIGD__V1__TO_DAEMON__BODY_HELLO) {
        memcpy(n->peer, peer, n_peer);
        n->n_peer = n_peer;
        welcome(n);
    }
    if (m)
        trigd__v1__to_daemon__free_unpacked(m, NULL);
}

/* One message of the supervisor, or of a client with a pass; false when there is none. */
static bool take(struct node *n)
{
    struct route route = {.n = 0};
    uint8_t peer[sizeof n->peer];
    zmq_msg_t body;
    const int got = zmq_recv(n->rois, peer, sizeof peer, ZMQ_DONTWAIT);

    if (got < 0)
        return false;
    zmq_msg_init(&body);
    zmq_msg_recv(&body, n->rois, 0);
    if (!zmq_msg_more(&body)) {
        take_word(n, peer, (size_t)got, &body);
    } else if (route_read(zmq_msg_data(&body), zmq_msg_size(&body), &route)) {
        zmq_msg_recv(&body, n->rois, 0);
        take_batch(n, &route, &body);
    } else {
        zmq_msg_recv(&body, n->rois, 0);
        take_passes(n, &body);
    }
    zmq_msg_close(&body);
    return true;
}

int node_of_farm(const struct node_setup *setup)
{
    static struct node n; /* large */
    void *context = zmq_ctx_new();
    const int all = 0;

    n.setup = setup;
    n.instance = n.random = (uint64_t)getpid() << 20 | (clock_ns() & 0xfffff);
    n.timer = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
    n.enlist = context ? zmq_socket(context, ZMQ_DEALER) : NULL;
    n.rois = context ? zmq_socket(context, ZMQ_ROUTER) : NULL;
    if (!n.rois || n.timer < 0 || zmq_setsockopt(n.rois, ZMQ_SNDHWM, &all, sizeof all) < 0 ||
        zmq_setsockopt(n.rois, ZMQ_RCVHWM, &all, sizeof all) < 0 ||
        zmq_bind(n.rois, setup->endpoint) < 0 || zmq_connect(n.enlist, setup->farm) < 0)
        return complain(setup->endpoint);
    enlist(&n);
    for (;;) {
        zmq_pollitem_t item[2] = {{.socket = n.rois, .events = ZMQ_POLLIN},
                                  {.fd = n.timer, .events = ZMQ_POLLIN}};
        uint64_t expired;
        uint32_t taken = 0;

        zmq_poll(item, 2, (int)(BEAT_NS / NS_PER_MS));
        while (taken < 256 && take(&n))
            taken++;
        if (item[1].revents && read(n.timer, &expired, sizeof expired) < 0 && errno != EAGAIN)
            return complain("timer");
        if (setup->service_us > 0)
            work(&n, clock_ns());
        beat(&n, clock_ns());
    }
}
