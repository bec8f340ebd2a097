/* SPDX-License-Identifier: Apache-2.0 */
/* links.c - the supervisor as a client of each shard of each node: Hello, credits, and the answers.
 */
#include <errno.h>
#include <string.h>

#include "clock.h"
#include "farm.h"
#include "fields.h"
#include "log.h"
#include "shard_endpoint.h"
#include "transport/session.h"

#define ANSWERS_A_TURN 256u
#define TELL_NS        (500 * NS_PER_MS) /* an idle link is kept alive */
#define HELLO_NS       (500 * NS_PER_MS) /* between two Hellos that are not answered */
#define PAUSE_NS       (1 * NS_PER_MS)   /* for a node that returned RoIs */
#define TAG_DECISIONS  TAG(2, BYTES)
#define TAG_DECISION   TAG(1, BYTES)
#define TAG_EVENT      TAG(2, BYTES)

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

static void tell(struct farm *f, uint32_t link, const Trigd__V1__ToDaemon *m)
{
    zmq_msg_t body;

    if (zmq_msg_init_size(&body, trigd__v1__to_daemon__get_packed_size(m)) < 0)
        return;
    trigd__v1__to_daemon__pack(m, zmq_msg_data(&body));
    if (give_send(f, link, NULL, 0, &body) < 0)
        zmq_msg_close(&body);
    f->link[link].told_ns = clock_ns();
}

static void say_hello(struct farm *f, uint32_t link, uint64_t now)
{
    Trigd__V1__ToDaemon m = TRIGD__V1__TO_DAEMON__INIT;
    Trigd__V1__Hello hello = TRIGD__V1__HELLO__INIT;
    Trigd__V1__PassIssuer passes = TRIGD__V1__PASS_ISSUER__INIT;
    struct link *l = &f->link[link];
    char name[FARM_NAME];

    snprintf(name, sizeof name, "%.63s", f->name);
    hello.protocol = SESSION_PROTOCOL;
    hello.name = name;
    hello.passes = &passes;
    passes.issuer = l->signer.issuer;
    passes.key.data = l->signer.key;
    passes.key.len = sizeof l->signer.key;
    passes.serial = l->serial + 1;
    passes.sent_ns = now;
    m.body_case = TRIGD__V1__TO_DAEMON__BODY_HELLO;
    m.hello = &hello;
    l->hello_ns = now;
    tell(f, link, &m);
}

void links_hello(struct farm *f, uint32_t node, uint64_t now)
{
    for (uint32_t i = 0; i < f->node[node].n_links; i++)
        say_hello(f, f->node[node].link[i], now);
}

/* ---------------------------------------------------------------- opening */

/* What all shards together say of their node. */
static void look_at_node(struct farm *f, uint32_t node)
{
    struct node *n = &f->node[node];
    uint32_t welcome = 0;

    n->credits = 0;
    for (uint32_t i = 0; i < n->n_links; i++) {
        welcome += f->link[n->link[i]].is_welcome;
        n->credits += f->link[n->link[i]].credits;
    }
    n->is_welcome = n->n_links && welcome == n->n_links;
}

static uint32_t new_link(struct farm *f)
{
    uint32_t i = 0;

    while (i < f->n_links && f->link[i].is_used)
        i++;
    if (i == FARM_LINKS)
        return FARM_LINKS_NONE;
    if (i == f->n_links)
        f->n_links++;
    return i;
}

static int open_link(struct farm *f, uint32_t node, uint32_t shard)
{
    struct node *n = &f->node[node];
    const uint32_t link = new_link(f);
    struct link *l = &f->link[link == FARM_LINKS_NONE ? 0 : link];
    const bool has_key = f->auth && !strncmp(n->endpoint, "tcp://", 6);
    struct link_id id;
    int r;

    if (link == FARM_LINKS_NONE)
        return -ENOSPC;
    *l = (struct link){.node = node, .shard = shard, .epoch = l->epoch + 1};
    id = link_id_of(link, l->epoch);
    r = shard_endpoint(n->endpoint, shard, l->endpoint, sizeof l->endpoint);
    if (r == 0)
        r = pass_signer_new(&l->signer);
    if (r == 0)
        r = auth_dial(f->links, &f->own, has_key ? n->peer.key : NULL);
    if (r < 0)
        return r;
    if (zmq_setsockopt(f->links, ZMQ_CONNECT_ROUTING_ID, &id, sizeof id) < 0 ||
        zmq_connect(f->links, l->endpoint) < 0)
        return -errno;
    TAILQ_INIT(&l->holds);
    TAILQ_INIT(&l->open);
    f->policy[link] = (struct policy_node){.in_flight = 0};
    l->is_used = true;
    n->link[n->n_links++] = link;
    return 0;
}

int links_begin(struct farm *f, uint32_t node, uint32_t shards, uint64_t now)
{
    int r = 0;

    for (uint32_t k = 0; r == 0 && k < shards; k++)
        r = open_link(f, node, k);
    f->node[node].is_linked = r == 0;
    if (r < 0)
        links_end(f, node);
    else
        links_hello(f, node, now);
    look_at_node(f, node);
    return r;
}

/* RoIs that were there have been given to others before. */
void links_end(struct farm *f, uint32_t node)
{
    struct node *n = &f->node[node];

    for (uint32_t i = 0; i < n->n_links; i++) {
        struct link *l = &f->link[n->link[i]];

        zmq_disconnect(f->links, l->endpoint);
        l->is_used = l->is_welcome = false;
    }
    n->n_links = 0;
    n->is_linked = n->is_welcome = false;
}

double links_rate(const struct farm *f, const struct node *n)
{
    double sum = 0;

    for (uint32_t i = 0; i < n->n_links; i++)
        sum += policy_rate(&f->policy[n->link[i]]);
    return sum;
}

void links_tick(struct farm *f, uint64_t now)
{
    for (uint32_t i = 0; i < f->n_links; i++) {
        const struct link *l = &f->link[i];

        if (!l->is_used || f->node[l->node].is_lost)
            continue;
        if (!l->is_welcome && now >= l->hello_ns + HELLO_NS) {
            say_hello(f, i, now);
        } else if (now >= l->told_ns + TELL_NS) {
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

/* The outcome of one RoI came over a link. */
static void answered(struct farm *f, uint32_t link, uint64_t token, const struct outcome *o,
                     uint64_t now)
{
    struct node *n = &f->node[f->link[link].node];
    uint32_t roi;
    struct flight *flight = flights_find(&f->flights, token, &roi);
    const struct hold *h = flight ? settle_release(f, flight, roi, link) : NULL;

    if (h)
        policy_answered(&f->policy[link], h->had, now - h->since_ns);
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

/* The decision of an event is passed on as it is.  It begins with run and L1 id. */
static bool take_event(struct farm *f, uint32_t link, struct reader r)
{
    const unsigned char *bytes = r.at;
    const size_t n = (size_t)(r.end - r.at);
    uint64_t number[2] = {0};
    uint32_t tag;

    while (r.at < r.end && read_tag(&r, &tag) && tag <= TAG(2, VARINT)) /* numbers grow */
        if ((tag & 7) != VARINT || !read_varint(&r, VALUE_VARINT, &number[tag == TAG(2, VARINT)]))
            return false;
    if (!settle_event(f, flight_event_of((uint32_t)number[0], (uint32_t)number[1]), bytes, n)) {
        f->node[f->link[link].node].c.stale++;
        f->c.stale++;
    }
    return true;
}

/* Decisions are passed on as they are but for their tokens; false: this is no DecisionBatch. */
static bool take_decisions(struct farm *f, uint32_t link, const void *bytes, size_t n, uint64_t now)
{
    struct reader r = {.at = bytes, .end = (const unsigned char *)bytes + n}, batch, decision;
    uint32_t tag;

    if (!read_tag(&r, &tag) || tag != TAG_DECISIONS || !read_bytes(&r, &batch) || r.at != r.end)
        return false;
    while (batch.at < batch.end) {
        struct outcome o;
        uint64_t token;

        if (!read_tag(&batch, &tag) || !read_bytes(&batch, &decision))
            return false;
        if (tag == TAG_DECISION && read_decision(decision, &token, &o))
            answered(f, link, token, &o, now);
        else if (tag != TAG_EVENT || !take_event(f, link, decision))
            return false;
    }
    return true;
}

/* ---------------------------------------------------------------- other answers */

static void take_busy(struct farm *f, uint32_t link, const Trigd__V1__Busy *busy, uint64_t now)
{
    struct link *l = &f->link[link];
    struct node *n = &f->node[l->node];
    const bool is_unused = busy->reason == TRIGD__V1__BUSY__REASON__UNUSED;

    for (size_t i = 0; i < busy->n_tokens; i++) {
        struct mask one = {{0}};
        uint32_t roi;
        struct flight *flight = flights_find(&f->flights, busy->tokens[i], &roi);

        if (!flight || !settle_release(f, flight, roi, link)) {
            n->c.stale++;
            f->c.stale++;
            continue;
        }
        n->c.returned++;
        n->c.unused += is_unused;
        if (is_unused)
            addresses_unused(f, flight, link, now);
        if (mask_has(&flight->open, roi) && !mask_has(&flight->waiting, roi)) {
            mask_add(&one, roi);
            f->c.returned++;
            f->c.unused += is_unused;
            f->c.waiting++;
            flights_wait(&f->flights, flight, &one, true);
        }
        settle_clear(f, flight);
    }
    if (!is_unused)
        l->pause_ns = now + PAUSE_NS;
    if (busy->reason == TRIGD__V1__BUSY__REASON__DRAINING)
        n->is_taking = false; /* until a beat says otherwise */
    if (busy->reason == TRIGD__V1__BUSY__REASON__NO_HELLO && l->is_welcome) {
        l->is_welcome = false;
        look_at_node(f, l->node);
        say_hello(f, link, now);
    }
}

static void take_error(struct farm *f, uint32_t link, const Trigd__V1__Error *e, uint64_t now)
{
    const struct outcome o = {.is_error = true, .error = e};

    if (e->has_token)
        answered(f, link, e->token, &o, now);
    else
        log_error("farm", "a node refuses the supervisor", "node=\"%s\" reason=\"%s\"",
                  f->node[f->link[link].node].name, e->text);
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
static bool take_welcome(struct farm *f, uint32_t link, Trigd__V1__FromDaemon *m)
{
    struct link *l = &f->link[link];
    const struct node *n = &f->node[l->node];
    const bool is_kept = take_names(f, n, m);

    l->credits = m->welcome->credits;
    l->takes_passes = m->welcome->takes_passes;
    l->is_welcome = true;
    look_at_node(f, l->node);
    log_info("farm", "node welcomes", "node=\"%s\" shard=%u credits=%u", n->name, l->shard,
             l->credits);
    return is_kept;
}

static void take_other(struct farm *f, uint32_t link, zmq_msg_t *body, uint64_t now)
{
    const uint32_t node = f->link[link].node;
    Trigd__V1__FromDaemon *m =
        trigd__v1__from_daemon__unpack(NULL, zmq_msg_size(body), zmq_msg_data(body));
    bool is_kept = false;

    if (!m) {
        log_error("farm", "a message of a node cannot be read", "node=\"%s\"", f->node[node].name);
        return;
    }
    switch (m->body_case) {
    case TRIGD__V1__FROM_DAEMON__BODY_WELCOME:
        is_kept = take_welcome(f, link, m);
        break;
    case TRIGD__V1__FROM_DAEMON__BODY_CREDIT:
        f->link[link].credits = m->credit->credits;
        look_at_node(f, node);
        break;
    case TRIGD__V1__FROM_DAEMON__BODY_BUSY:
        take_busy(f, link, m->busy, now);
        break;
    case TRIGD__V1__FROM_DAEMON__BODY_ERROR:
        take_error(f, link, m->error, now);
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

/* The link of that name; FARM_LINKS_NONE for an older one. */
static uint32_t link_of(const struct farm *f, zmq_msg_t *id)
{
    struct link_id l;

    if (zmq_msg_size(id) != sizeof l)
        return FARM_LINKS_NONE;
    memcpy(&l, zmq_msg_data(id), sizeof l);
    l.link >>= 8;
    return l.link < f->n_links && f->link[l.link].is_used && f->link[l.link].epoch == l.epoch
               ? l.link
               : FARM_LINKS_NONE;
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
        const uint32_t link = link_of(f, &id);

        if (link != FARM_LINKS_NONE &&
            !take_decisions(f, link, zmq_msg_data(&body), zmq_msg_size(&body), now))
            take_other(f, link, &body, now);
        zmq_msg_close(&id);
        zmq_msg_close(&body);
    }
    return n;
}
