/* SPDX-License-Identifier: Apache-2.0 */
/* enlist.c - nodes come, say that they live, and go (proto/farm.proto). */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "farm.h"
#include "log.h"
#include "member.h"
#include "unixtime.h"
#include "wire.h"

#define MESSAGES_A_TURN 64u

/* The supervisor's keys, and those of its nodes. */
static int open_keys(struct farm *f)
{
    const struct config *c = f->config;
    int r;

    if (!c->farm.keys_file[0])
        return 0;
    r = auth_open(f->context, c->security.key_file, c->farm.keys_file, &f->auth);
    if (r == 0)
        auth_own(f->auth, &f->own);
    return r;
}

static bool is_over_tcp(const struct farm *f)
{
    return !strncmp(f->config->farm.endpoint, "tcp://", 6);
}

/* When the own key has changed: links that are opened from now on show the new one. */
static void bind_again(struct farm *f)
{
    char bound[256];
    size_t n = sizeof bound;

    if (f->keys == auth_keys(f->auth))
        return;
    f->keys = auth_keys(f->auth);
    auth_own(f->auth, &f->own);
    if (is_over_tcp(f) && zmq_getsockopt(f->enlisting, ZMQ_LAST_ENDPOINT, bound, &n) == 0)
        auth_rebind(f->auth, f->enlisting, bound);
}

int enlist_open(struct farm *f)
{
    const bool is_tcp = is_over_tcp(f);
    const int opened = open_keys(f);
    const int table[][2] = {{ZMQ_LINGER, 200},
                            {ZMQ_SNDTIMEO, 0},
                            {ZMQ_ROUTER_HANDOVER, 0},
                            {ZMQ_ROUTER_MANDATORY, 1},
                            {ZMQ_RCVHWM, 0}}; /* as clients_receive.c says */
    const int64_t most = MEMBER_MESSAGE;

    if (opened < 0)
        return opened;
    f->enlisting = zmq_socket(f->context, ZMQ_ROUTER);
    if (!f->enlisting)
        return -errno;
    if (is_tcp && auth_prepare(f->auth, f->enlisting) < 0)
        return -errno;
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        if (zmq_setsockopt(f->enlisting, table[i][0], &table[i][1], sizeof(int)) < 0)
            return -errno;
    if (zmq_setsockopt(f->enlisting, ZMQ_MAXMSGSIZE, &most, sizeof most) < 0)
        return -errno;
    if (zmq_bind(f->enlisting, f->config->farm.endpoint) < 0) {
        log_error("farm", "cannot bind the endpoint for nodes", "endpoint=\"%s\" error=\"%s\"",
                  f->config->farm.endpoint, zmq_strerror(errno));
        return -errno;
    }
    log_info("farm", "nodes may enlist", "endpoint=\"%s\"%s", f->config->farm.endpoint,
             f->auth && is_tcp ? " keys=CURVE" : "");
    return 0;
}

/* ---------------------------------------------------------------- to nodes */

static void tell_enrolled(struct farm *f, const struct farm_peer *peer)
{
    Trigd__Farm__V1__ToNode m = TRIGD__FARM__V1__TO_NODE__INIT;
    Trigd__Farm__V1__Enrolled e = TRIGD__FARM__V1__ENROLLED__INIT;

    e.supervisor = f->name;
    e.instance = f->instance;
    e.heartbeat_ms = f->config->farm.heartbeat_ms;
    m.body_case = TRIGD__FARM__V1__TO_NODE__BODY_ENROLLED;
    m.enrolled = &e;
    nodes_tell(f, peer, &m);
}

static void tell_refused(struct farm *f, const struct farm_peer *peer, const char *why)
{
    Trigd__Farm__V1__ToNode m = TRIGD__FARM__V1__TO_NODE__INIT;
    Trigd__Farm__V1__Refused r = TRIGD__FARM__V1__REFUSED__INIT;

    r.text = (char *)(uintptr_t)why;
    m.body_case = TRIGD__FARM__V1__TO_NODE__BODY_REFUSED;
    m.refused = &r;
    nodes_tell(f, peer, &m);
}

/* Keeps a refusal to be shown, and logs it once. */
static void note_refusal(struct farm *f, const char *name, const char *why)
{
    uint32_t i = 0;

    while (i < f->n_refusals && strcmp(f->refusal[i].name, name) != 0)
        i++;
    if (i == FARM_REFUSALS)
        i = (uint32_t)(f->c.nodes_refused % FARM_REFUSALS);
    if (i == f->n_refusals)
        f->n_refusals++;
    else if (!strcmp(f->refusal[i].why, why) && !strcmp(f->refusal[i].name, name))
        return;
    f->c.nodes_refused++;
    snprintf(f->refusal[i].name, sizeof f->refusal[i].name, "%.63s", name);
    snprintf(f->refusal[i].why, sizeof f->refusal[i].why, "%s", why);
    f->refusal[i].unix_s = unix_ns() / NS_PER_S;
    log_error("farm", "node refused", "node=\"%.63s\" reason=\"%s\"", name, why);
}

static void forget_refusal(struct farm *f, const char *name)
{
    for (uint32_t i = 0; i < f->n_refusals; i++)
        if (!strcmp(f->refusal[i].name, name)) {
            f->refusal[i] = f->refusal[--f->n_refusals];
            return;
        }
}

/* ---------------------------------------------------------------- coming and going */

/* It is there no more: what it had goes to others. */
static void take_away(struct farm *f, uint32_t node, uint64_t now)
{
    f->node[node].is_lost = true;
    f->node[node].lost_ns = now;
    f->node[node].run = 0;
    f->node[node].run_order = 0;
    give_lost(f, node);
}

static void lose(struct farm *f, uint32_t node, const char *why, uint64_t now)
{
    struct node *n = &f->node[node];

    if (n->is_lost)
        return;
    log_error("farm", "node lost", "node=\"%s\" why=\"%s\" rois=%llu", n->name, why,
              (unsigned long long)n->c.in_flight);
    farmrun_lost(f, node, why);
    n->c.losses++;
    f->c.nodes_lost++;
    take_away(f, node, now);
}

/* Its account stays in the farm's. */
static void forget(struct farm *f, uint32_t node)
{
    struct node *n = &f->node[node];

    log_info("farm", "node forgotten", "node=\"%s\"", n->name);
    links_end(f, node);
    n->is_used = false;
}

static uint32_t new_node(struct farm *f)
{
    uint32_t i = 0;

    while (i < f->n_nodes && f->node[i].is_used)
        i++;
    if (i == FARM_NODES)
        return FARM_NODES_NONE;
    if (i == f->n_nodes)
        f->n_nodes++;
    return i;
}

static void note_plugins(struct farm *f, const Trigd__Farm__V1__Enlist *e)
{
    f->n_plugins = 0;
    for (size_t i = 0; i < e->n_plugins && i < RUNDOC_PLUGINS; i++) {
        struct rundoc_plugin *p = &f->plugin[f->n_plugins++];

        snprintf(p->step, sizeof p->step, "%s", e->plugins[i]->step);
        snprintf(p->plugin, sizeof p->plugin, "%s", e->plugins[i]->plugin);
        snprintf(p->version, sizeof p->version, "%s", e->plugins[i]->version);
    }
}

/* A place for a node that comes: its own, where it was before it was lost or started again. */
static uint32_t place_for(struct farm *f, const Trigd__Farm__V1__Enlist *e, uint64_t now)
{
    uint32_t node = node_find(f, e->name);
    struct node fresh = {.is_used = true};

    if (node != FARM_NODES_NONE) {
        lose(f, node, "another one has come in its place", now);
        links_end(f, node);
        fresh.is_drained = f->node[node].is_drained;
        fresh.c = f->node[node].c;
    } else {
        node = new_node(f);
        if (node == FARM_NODES_NONE)
            return node;
    }
    f->node[node] = fresh;
    return node;
}

static void enter(struct farm *f, const struct farm_peer *peer, const Trigd__Farm__V1__Enlist *e,
                  uint64_t now)
{
    const uint32_t node = place_for(f, e, now);
    struct node *n;
    int r;

    if (node == FARM_NODES_NONE) {
        tell_refused(f, peer, "the farm has all the nodes that a supervisor takes");
        return;
    }
    n = &f->node[node];
    n->peer = *peer;
    snprintf(n->name, sizeof n->name, "%s", e->name);
    snprintf(n->endpoint, sizeof n->endpoint, "%s", e->endpoint);
    snprintf(n->version, sizeof n->version, "%s", e->version);
    n->instance = e->instance;
    n->menu_key = e->menu_key;
    n->most_bytes = e->bytes;
    n->heard_ns = now;
    if (!f->n_plugins || f->roll.kind != ROLL_NONE)
        note_plugins(f, e);
    forget_refusal(f, n->name);
    log_info("farm", "node enlisted", "node=\"%s\" endpoint=\"%s\" version=%s", n->name,
             n->endpoint, n->version);
    r = links_begin(f, node, e->shards ? e->shards : 1, now);
    if (r < 0)
        snprintf(n->refusal, sizeof n->refusal, "its endpoint cannot be connected to: %s",
                 zmq_strerror(-r));
    tell_enrolled(f, peer);
}

static void take_enlist(struct farm *f, const struct farm_peer *peer,
                        const Trigd__Farm__V1__Enlist *e, uint64_t now)
{
    const uint32_t node = node_find(f, e->name);
    char why[FARM_SENTENCE];
    struct wire_error error;

    if (!admit(f, peer, e, why)) { /* under a name that may be printed */
        note_refusal(f, wire_check_name(e->name, &error) == 0 ? e->name : "?", why);
        tell_refused(f, peer, why);
    } else if (node != FARM_NODES_NONE && f->node[node].instance == e->instance &&
               f->node[node].is_linked) { /* over a new connection */
        f->node[node].peer = *peer;
        f->node[node].heard_ns = now;
        tell_enrolled(f, peer);
    } else {
        enter(f, peer, e, now);
    }
}

/* ---------------------------------------------------------------- beats */

static uint32_t node_at(const struct farm *f, const struct farm_peer *peer, uint64_t instance)
{
    for (uint32_t i = 0; i < f->n_nodes; i++)
        if (f->node[i].is_used && f->node[i].peer.n == peer->n &&
            !memcmp(f->node[i].peer.id, peer->id, peer->n) &&
            (!instance || f->node[i].instance == instance))
            return i;
    return FARM_NODES_NONE;
}

static void look_at_clock(const struct farm *f, struct node *n, uint64_t its_ns)
{
    const int64_t limit = (int64_t)f->config->farm.clock_ms * (int64_t)NS_PER_MS;
    bool is_off;

    n->clock_ns = (int64_t)its_ns - (int64_t)unix_ns();
    is_off = n->clock_ns > limit || n->clock_ns < -limit;
    if (is_off && !n->is_clock_told)
        log_warn("farm", "a node's clock differs", "node=\"%s\" ahead_ms=%lld allowed_ms=%u",
                 n->name, (long long)(n->clock_ns / (int64_t)NS_PER_MS), f->config->farm.clock_ms);
    n->is_clock_told = is_off;
}

/* A change of the menu that nobody ordered here. */
static void look_at_menu(struct farm *f, uint32_t node, uint64_t key, uint64_t now)
{
    struct node *n = &f->node[node];
    char why[FARM_SENTENCE];

    if (key == n->menu_key && !n->refusal[0])
        return;
    if (key != n->menu_key && n->is_welcome)
        links_hello(f, node, now); /* for the names of the new menu */
    n->menu_key = key;
    if (admit_menu(f, key, why)) {
        n->refusal[0] = '\0';
        forget_refusal(f, n->name);
        return;
    }
    snprintf(n->refusal, sizeof n->refusal, "%s", why);
    note_refusal(f, n->name, why);
}

static void take_beat(struct farm *f, const struct farm_peer *peer, const Trigd__Farm__V1__Beat *b,
                      uint64_t now)
{
    const uint32_t node = node_at(f, peer, b->instance);
    Trigd__Farm__V1__ToNode m = TRIGD__FARM__V1__TO_NODE__INIT;
    Trigd__Farm__V1__Who who = TRIGD__FARM__V1__WHO__INIT;
    struct node *n;

    if (node == FARM_NODES_NONE) {
        m.body_case = TRIGD__FARM__V1__TO_NODE__BODY_WHO;
        m.who = &who;
        nodes_tell(f, peer, &m);
        return;
    }
    n = &f->node[node];
    n->heard_ns = now;
    n->is_taking = b->is_taking;
    n->received = b->received;
    n->accepted = b->accepted;
    n->rejected = b->rejected;
    n->failed = b->failed;
    if (n->is_lost)
        log_info("farm", "node is back", "node=\"%s\" after_ms=%llu", n->name,
                 (unsigned long long)((now - n->lost_ns) / NS_PER_MS));
    n->is_lost = false;
    look_at_clock(f, n, b->unix_ns);
    look_at_menu(f, node, b->menu_key, now);
    farmrun_heard(f, node, b->run, b->lumi_block);
}

static void take_done(struct farm *f, const struct farm_peer *peer, const Trigd__Farm__V1__Done *d)
{
    const uint32_t node = node_at(f, peer, 0);

    if (node == FARM_NODES_NONE)
        return;
    log_info("farm", "order done", "node=\"%s\" good=%d text=\"%.200s\"", f->node[node].name,
             d->is_good, d->text);
    roll_done(f, node, d->number, d->is_good, d->text);
    farmrun_done(f, node, d->number, d->is_good, d->text);
}

static void take_account(struct farm *f, const struct farm_peer *peer,
                         const Trigd__Farm__V1__Account *m)
{
    const uint32_t node = node_at(f, peer, 0);

    if (node != FARM_NODES_NONE)
        farmrun_account(f, node, m);
}

static void take_leave(struct farm *f, const struct farm_peer *peer,
                       const Trigd__Farm__V1__Leave *l, uint64_t now)
{
    const uint32_t node = node_at(f, peer, 0);

    if (node == FARM_NODES_NONE)
        return;
    if (strcmp(l->why, MEMBER_ENDS) != 0)
        note_refusal(f, f->node[node].name, l->why);
    log_info("farm", "node leaves", "node=\"%s\" why=\"%.200s\" rois=%llu", f->node[node].name,
             l->why, (unsigned long long)f->node[node].c.in_flight);
    take_away(f, node, now);
    if (f->roll.kind == ROLL_NONE || f->roll.node != node)
        forget(f, node);
    else
        links_end(f, node);
}

/* ---------------------------------------------------------------- turns */

static void take(struct farm *f, const struct farm_peer *peer, zmq_msg_t *body, uint64_t now)
{
    Trigd__Farm__V1__FromNode *m =
        trigd__farm__v1__from_node__unpack(NULL, zmq_msg_size(body), zmq_msg_data(body));

    if (!m) {
        log_warn("farm", "a message on the nodes' endpoint cannot be read", "bytes=%zu",
                 zmq_msg_size(body));
        return;
    }
    switch (m->body_case) {
    case TRIGD__FARM__V1__FROM_NODE__BODY_ENLIST:
        take_enlist(f, peer, m->enlist, now);
        break;
    case TRIGD__FARM__V1__FROM_NODE__BODY_BEAT:
        take_beat(f, peer, m->beat, now);
        break;
    case TRIGD__FARM__V1__FROM_NODE__BODY_DONE:
        take_done(f, peer, m->done);
        break;
    case TRIGD__FARM__V1__FROM_NODE__BODY_LEAVE:
        take_leave(f, peer, m->leave, now);
        break;
    case TRIGD__FARM__V1__FROM_NODE__BODY_ACCOUNT:
        take_account(f, peer, m->account);
        break;
    default:
        break; /* of a later version */
    }
    trigd__farm__v1__from_node__free_unpacked(m, NULL);
}

/* Who sends it, where there are keys. */
static void note_key(zmq_msg_t *body, struct farm_peer *peer)
{
    const char *name = zmq_msg_gets(body, AUTH_NAME), *key = zmq_msg_gets(body, AUTH_KEY);

    snprintf(peer->name, sizeof peer->name, "%.63s", key && name ? name : "");
    snprintf(peer->key, sizeof peer->key, "%.40s", key && name ? key : "");
}

uint32_t enlist_turn(struct farm *f, uint64_t now)
{
    uint32_t n = 0;

    for (; n < MESSAGES_A_TURN; n++) {
        struct farm_peer peer;
        zmq_msg_t body;
        const int got = zmq_recv(f->enlisting, peer.id, sizeof peer.id, ZMQ_DONTWAIT);

        if (got < 0)
            break;
        peer.n = (uint8_t)got;
        zmq_msg_init(&body);
        if (zmq_msg_recv(&body, f->enlisting, ZMQ_DONTWAIT) >= 0 && !zmq_msg_more(&body)) {
            note_key(&body, &peer);
            take(f, &peer, &body, now);
        }
        while (zmq_msg_more(&body) && zmq_msg_recv(&body, f->enlisting, ZMQ_DONTWAIT) >= 0) {
        }
        zmq_msg_close(&body);
    }
    return n;
}

/* Whether all nodes have that menu, and there are some. */
static bool has_only(const struct farm *f, uint64_t menu_key)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < f->n_nodes; i++) {
        if (!f->node[i].is_used)
            continue;
        if (f->node[i].menu_key != menu_key)
            return false;
        n++;
    }
    return n != 0;
}

void enlist_tick(struct farm *f, uint64_t now)
{
    const struct config *c = f->config;
    const uint64_t silent = NS_PER_MS * c->farm.heartbeat_ms * c->farm.lost_beats;
    uint64_t enlisted = 0, serving = 0;

    bind_again(f);
    for (uint32_t i = 0; i < f->n_nodes; i++) {
        struct node *n = &f->node[i];

        if (!n->is_used)
            continue;
        if (!n->is_lost && now > n->heard_ns + silent)
            lose(f, i, "it was silent", now);
        else if (n->is_lost && now > n->lost_ns + NS_PER_MS * c->farm.forget_ms &&
                 (f->roll.kind == ROLL_NONE || f->roll.node != i))
            forget(f, i);
        enlisted += n->is_used;
        serving += node_serves(n);
    }
    f->c.nodes = enlisted;
    f->c.nodes_serving = serving;
    if (!enlisted)
        f->n_plugins = 0; /* the next that comes brings the farm's */
    if (f->next_menu_key && f->roll.kind == ROLL_NONE && has_only(f, f->next_menu_key)) {
        f->menu_key = f->next_menu_key;
        f->next_menu_key = 0;
    }
}
