/* SPDX-License-Identifier: Apache-2.0 */
/* links.c - the supervisor as a client of each node: Hello, credits, and the answers. */
#include <errno.h>
#include <string.h>

#include "clock.h"
#include "farm.h"
#include "fields.h"
#include "log.h"
#include "transport/session.h"

#define ANSWERS_A_TURN 256u
#define TELL_NS        (500 * NS_PER_MS) /* an idle link is kept alive */
#define HELLO_NS       (500 * NS_PER_MS) /* between two Hellos that are not answered */
#define PAUSE_NS       (1 * NS_PER_MS)   /* for a node that returned RoIs */
#define TAG_DECISIONS  TAG(2, BYTES)
#define TAG_DECISION   TAG(1, BYTES)

int links_open(struct farm *f)
{
    const int table[][2] = {{ZMQ_ROUTER_MANDATORY, 1}, {ZMQ_LINGER, 0}, {ZMQ_SNDTIMEO, 0},
                            {ZMQ_SNDHWM, 0},           {ZMQ_RCVHWM, 0}, {ZMQ_TCP_KEEPALIVE, 1}};

    f->links = zmq_socket(f->context, ZMQ_ROUTER);
    if (!f->links)
        return -errno;
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        if (zmq_setsockopt(f->links, table[i][0], &table[i][1], sizeof(int)) < 0)
            return -errno;
    return 0;
}

/* ---------------------------------------------------------------- to nodes */

static void tell(struct farm *f, uint32_t node, const Trigd__V1__ToDaemon *m)
{
    zmq_msg_t body;

    if (zmq_msg_init_size(&body, trigd__v1__to_daemon__get_packed_size(m)) < 0)
        return;
    trigd__v1__to_daemon__pack(m, zmq_msg_data(&body));
    if (give_send(f, node, NULL, &body) < 0)
        zmq_msg_close(&body);
    f->node[node].told_ns = clock_ns();
}

void link_hello(struct farm *f, uint32_t node, uint64_t now)
{
    Trigd__V1__ToDaemon m = TRIGD__V1__TO_DAEMON__INIT;
    Trigd__V1__Hello hello = TRIGD__V1__HELLO__INIT;
    char name[FARM_NAME];

    snprintf(name, sizeof name, "%.63s", f->name);
    hello.protocol = SESSION_PROTOCOL;
    hello.name = name;
    m.body_case = TRIGD__V1__TO_DAEMON__BODY_HELLO;
    m.hello = &hello;
    f->node[node].hello_ns = now;
    tell(f, node, &m);
}

int link_begin(struct farm *f, uint32_t node, uint64_t now)
{
    struct node *n = &f->node[node];
    struct link_id id;

    n->epoch++;
    id = link_id_of(node, n->epoch);
    if (zmq_setsockopt(f->links, ZMQ_CONNECT_ROUTING_ID, &id, sizeof id) < 0 ||
        zmq_connect(f->links, n->endpoint) < 0)
        return -errno;
    n->is_linked = true;
    n->is_welcome = false;
    link_hello(f, node, now);
    return 0;
}

void link_end(struct farm *f, uint32_t node)
{
    struct node *n = &f->node[node];

    if (n->is_linked)
        zmq_disconnect(f->links, n->endpoint);
    n->is_linked = n->is_welcome = false;
}

void links_tick(struct farm *f, uint64_t now)
{
    for (uint32_t i = 0; i < f->n_nodes; i++) {
        struct node *n = &f->node[i];

        if (!n->is_used || !n->is_linked || n->is_lost)
            continue;
        if (!n->is_welcome && now >= n->hello_ns + HELLO_NS) {
            link_hello(f, i, now);
        } else if (now >= n->told_ns + TELL_NS) {
            Trigd__V1__ToDaemon m = TRIGD__V1__TO_DAEMON__INIT;
            Trigd__V1__Heartbeat beat = TRIGD__V1__HEARTBEAT__INIT;

            beat.sent_ns = now;
            m.body_case = TRIGD__V1__TO_DAEMON__BODY_HEARTBEAT;
            m.heartbeat = &beat;
            tell(f, i, &m);
        }
    }
}

/* ---------------------------------------------------------------- outcomes */

/* The outcome of one RoI came from a node. */
static void answered(struct farm *f, uint32_t node, uint64_t token, const struct outcome *o,
                     uint64_t now)
{
    struct node *n = &f->node[node];
    uint32_t roi;
    struct flight *flight = flights_find(&f->flights, token, &roi);
    const struct hold *h = flight ? settle_release(f, flight, roi, node) : NULL;

    if (h)
        policy_answered(&f->policy[node], h->had, now - h->since_ns);
    if (!flight || (!h && !mask_has(&flight->open, roi))) {
        n->c.stale++;
        f->c.stale++;
        return;
    }
    if (!mask_has(&flight->open, roi)) {
        n->c.late++;
        f->c.late++;
    } else {
        n->c.answered += h != NULL;
        f->c.answered += h != NULL;
        n->c.rescued += h == NULL;
        f->c.rescued += h == NULL;
        settle(f, flight, roi, o);
    }
    settle_clear(f, flight);
}

/* Reads what the supervisor has to know of a decision: its token, and how it counts. */
static bool read_decision(struct reader r, uint64_t *ret_token, struct outcome *ret_outcome)
{
    uint64_t value;
    uint32_t tag;

    *ret_outcome = (struct outcome){.accept = false};
    if (!read_tag(&r, &tag) || tag != TAG(1, VARINT) || !read_varint(&r, VALUE_VARINT, ret_token))
        return false;
    ret_outcome->rest = r.at;
    ret_outcome->n = (size_t)(r.end - r.at);
    while (r.at < r.end && read_tag(&r, &tag) && tag >> 3 <= 6) { /* numbers grow */
        if ((tag & 7) != VARINT || !read_varint(&r, VALUE_VARINT, &value))
            return false;
        if (tag == TAG(5, VARINT))
            ret_outcome->accept = value != 0;
        if (tag == TAG(6, VARINT))
            ret_outcome->status = (uint32_t)value;
    }
    return true;
}

/* Decisions are passed on as they are but for their tokens; false: this is no DecisionBatch. */
static bool take_decisions(struct farm *f, uint32_t node, const void *bytes, size_t n, uint64_t now)
{
    struct reader r = {.at = bytes, .end = (const unsigned char *)bytes + n}, batch, decision;
    uint32_t tag;

    if (!read_tag(&r, &tag) || tag != TAG_DECISIONS || !read_bytes(&r, &batch) || r.at != r.end)
        return false;
    while (batch.at < batch.end) {
        struct outcome o;
        uint64_t token;

        if (!read_tag(&batch, &tag) || tag != TAG_DECISION || !read_bytes(&batch, &decision) ||
            !read_decision(decision, &token, &o))
            return false;
        answered(f, node, token, &o, now);
    }
    return true;
}

/* ---------------------------------------------------------------- other answers */

static void take_busy(struct farm *f, uint32_t node, const Trigd__V1__Busy *busy, uint64_t now)
{
    struct node *n = &f->node[node];

    for (size_t i = 0; i < busy->n_tokens; i++) {
        struct mask one = {{0}};
        uint32_t roi;
        struct flight *flight = flights_find(&f->flights, busy->tokens[i], &roi);

        if (!flight || !settle_release(f, flight, roi, node)) {
            n->c.stale++;
            f->c.stale++;
            continue;
        }
        n->c.returned++;
        if (mask_has(&flight->open, roi) && !mask_has(&flight->waiting, roi)) {
            mask_add(&one, roi);
            f->c.returned++;
            f->c.waiting++;
            flights_wait(&f->flights, flight, &one, true);
        }
        settle_clear(f, flight);
    }
    n->pause_ns = now + PAUSE_NS;
    if (busy->reason == TRIGD__V1__BUSY__REASON__DRAINING)
        n->is_taking = false; /* until a beat says otherwise */
    if (busy->reason == TRIGD__V1__BUSY__REASON__NO_HELLO && n->is_welcome) {
        n->is_welcome = false;
        link_hello(f, node, now);
    }
}

static void take_error(struct farm *f, uint32_t node, const Trigd__V1__Error *e, uint64_t now)
{
    const struct outcome o = {.is_error = true, .error = e};

    if (e->has_token)
        answered(f, node, e->token, &o, now);
    else
        log_error("farm", "a node refuses the supervisor", "node=\"%s\" reason=\"%s\"",
                  f->node[node].name, e->text);
}

/* Takes over the names of chains, streams and steps when they are those of the farm's menu. */
static bool take_names(struct farm *f, const struct node *n, Trigd__V1__FromDaemon *m)
{
    const uint64_t key = m->welcome->menu_key;

    if (key != f->menu_key && key != f->next_menu_key) {
        log_warn("farm", "a node's menu has changed", "node=\"%s\"", n->name);
        return false;
    }
    if (f->welcome &&
        f->welcome->welcome->menu_key == (f->next_menu_key ? f->next_menu_key : f->menu_key))
        return false;
    if (f->welcome)
        trigd__v1__from_daemon__free_unpacked(f->welcome, NULL);
    f->welcome = m;
    return true;
}

/* Whether the message is kept. */
static bool take_welcome(struct farm *f, uint32_t node, Trigd__V1__FromDaemon *m)
{
    struct node *n = &f->node[node];
    const bool is_kept = take_names(f, n, m);

    n->credits = m->welcome->credits;
    n->is_welcome = true;
    log_info("farm", "node welcomes", "node=\"%s\" credits=%u", n->name, n->credits);
    return is_kept;
}

static void take_other(struct farm *f, uint32_t node, zmq_msg_t *body, uint64_t now)
{
    Trigd__V1__FromDaemon *m =
        trigd__v1__from_daemon__unpack(NULL, zmq_msg_size(body), zmq_msg_data(body));
    bool is_kept = false;

    if (!m) {
        log_error("farm", "a message of a node cannot be read", "node=\"%s\"", f->node[node].name);
        return;
    }
    switch (m->body_case) {
    case TRIGD__V1__FROM_DAEMON__BODY_WELCOME:
        is_kept = take_welcome(f, node, m);
        break;
    case TRIGD__V1__FROM_DAEMON__BODY_CREDIT:
        f->node[node].credits = m->credit->credits;
        break;
    case TRIGD__V1__FROM_DAEMON__BODY_BUSY:
        take_busy(f, node, m->busy, now);
        break;
    case TRIGD__V1__FROM_DAEMON__BODY_ERROR:
        take_error(f, node, m->error, now);
        break;
    case TRIGD__V1__FROM_DAEMON__BODY_DECISIONS:
        log_error("farm", "decisions of a node cannot be read", "node=\"%s\"", f->node[node].name);
        break;
    default:
        break; /* a Heartbeat comes back */
    }
    if (!is_kept)
        trigd__v1__from_daemon__free_unpacked(m, NULL);
}

/* The node of a link; FARM_NODES_NONE for an older one. */
static uint32_t node_of(const struct farm *f, zmq_msg_t *id)
{
    struct link_id l;

    if (zmq_msg_size(id) != sizeof l)
        return FARM_NODES_NONE;
    memcpy(&l, zmq_msg_data(id), sizeof l);
    l.node >>= 8;
    return l.node < f->n_nodes && f->node[l.node].is_used && f->node[l.node].epoch == l.epoch
               ? l.node
               : FARM_NODES_NONE;
}

static bool receive(struct farm *f, zmq_msg_t *id, zmq_msg_t *body)
{
    zmq_msg_init(id);
    zmq_msg_init(body);
    if (zmq_msg_recv(id, f->links, ZMQ_DONTWAIT) < 0)
        return false;
    while (zmq_msg_more(id) && zmq_msg_recv(body, f->links, ZMQ_DONTWAIT) >= 0 &&
           zmq_msg_more(body)) {
    }
    return true;
}

uint32_t links_turn(struct farm *f, uint64_t now)
{
    uint32_t n = 0;
    zmq_msg_t id, body;

    for (; n < ANSWERS_A_TURN && receive(f, &id, &body); n++) {
        const uint32_t node = node_of(f, &id);

        if (node != FARM_NODES_NONE &&
            !take_decisions(f, node, zmq_msg_data(&body), zmq_msg_size(&body), now))
            take_other(f, node, &body, now);
        zmq_msg_close(&id);
        zmq_msg_close(&body);
    }
    return n;
}
