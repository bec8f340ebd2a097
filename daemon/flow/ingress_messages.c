/* SPDX-License-Identifier: Apache-2.0 */
/* ingress_messages.c - one message of a client: Hello, RoIs, heartbeat, Bye. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "check.h"
#include "clock.h"
#include "declared.h"
#include "flow/ingress_inner.h"
#include "transport/session.h"

/* ---------------------------------------------------------------- Hello */

struct step_names { /* of a menu, as messages */
    Trigd__V1__Step step[MENU_STEPS_MAX], *list[MENU_STEPS_MAX];
    char *value[MENU_STEPS_MAX][TRG_VALUES_MAX];
    Trigd__V1__RoiType type[ROI_TYPES], *types[ROI_TYPES];
    uint32_t n_types;
};

static void name_steps(const struct menu *m, struct step_names *n)
{
    for (uint32_t i = 0; i < m->n_steps; i++) {
        const struct plugin *p = m->steps[i].plugin;

        for (uint32_t k = 0; k < p->n_values; k++)
            n->value[i][k] = (char *)(uintptr_t)p->d.values[k].name;
        trigd__v1__step__init(&n->step[i]);
        n->step[i].name = m->steps[i].name;
        n->step[i].plugin = (char *)(uintptr_t)p->d.name;
        n->step[i].n_values = p->n_values;
        n->step[i].values = n->value[i];
        n->list[i] = &n->step[i];
    }
}

static void name_types(const struct menu *m, struct step_names *n)
{
    n->n_types = 0;
    for (uint32_t i = 0; i < ROI_TYPES; i++) {
        if (!m->types[i])
            continue;
        trigd__v1__roi_type__init(&n->type[n->n_types]);
        n->type[n->n_types].name = m->types[i];
        n->type[n->n_types].number = i;
        n->types[n->n_types] = &n->type[n->n_types];
        n->n_types++;
    }
}

static void send_welcome(struct ingress *in, uint32_t number, bool gives_passes)
{
    const struct engine *e = dispatch_engine(in->next);
    Trigd__V1__FromDaemon m = TRIGD__V1__FROM_DAEMON__INIT;
    Trigd__V1__Welcome w = TRIGD__V1__WELCOME__INIT;
    char *chains[MENU_CHAINS_MAX], *streams[MENU_STREAMS_MAX];
    struct declared declared;
    struct step_names names;

    name_steps(e->menu, &names);
    name_types(e->menu, &names);
    declared_fill(menu_reads(e->menu) & ~((1u << TRG_KIND_COUNT) - 1), &declared);
    for (uint32_t i = 0; i < e->menu->n_chains; i++)
        chains[i] = e->menu->chains[i].name;
    for (uint32_t i = 0; i < e->menu->n_streams; i++)
        streams[i] = e->menu->streams[i].name;
    w.protocol = SESSION_PROTOCOL;
    w.credits = clients_at(in->clients, number)->credits;
    w.max_message_bytes = in->config->clients.max_message_kbytes * 1024ull;
    w.max_items = in->config->clients.max_items;
    w.heartbeat_ms = in->config->clients.heartbeat_ms;
    w.server = (char *)"trigd " TRIGD_VERSION;
    w.n_chains = e->menu->n_chains;
    w.chains = chains;
    w.n_streams = e->menu->n_streams;
    w.streams = streams;
    w.n_steps = e->menu->n_steps;
    w.steps = names.list;
    w.n_roi_types = names.n_types;
    w.roi_types = names.types;
    w.menu_generation = e->generation;
    w.menu_key = e->menu->hash;
    w.takes_passes = gives_passes;
    w.n_collections = declared.n;
    w.collections = declared.list;
    m.body_case = TRIGD__V1__FROM_DAEMON__BODY_WELCOME;
    m.welcome = &w;
    clients_send(in->clients, number, &m, 0);
}

/* Sends a peer that may move to the shard where it belongs, or hands over its connection; whether
 * it did.  Only shard 0 does. */
static bool send_away(struct ingress *in, const struct peer *peer, const Trigd__V1__Hello *hello)
{
    Trigd__V1__FromDaemon m = TRIGD__V1__FROM_DAEMON__INIT;
    Trigd__V1__Welcome w = TRIGD__V1__WELCOME__INIT;

    if (!(hello->may_move || peer->shm) || clients_shard(in->clients))
        return false;
    w.shard = clients_shard_of(in->clients, peer, hello);
    if (!w.shard)
        return false;
    if (peer->shm)
        return shm_peer_hand(clients_shm(in->clients), peer->shm, w.shard);
    w.protocol = SESSION_PROTOCOL;
    m.body_case = TRIGD__V1__FROM_DAEMON__BODY_WELCOME;
    m.welcome = &w;
    clients_send_peer(in->clients, peer, &m);
    return true;
}

/* What a client is going to send is what the menu reads, where both know the name. */
static int check_declared(const struct ingress *in, const Trigd__V1__Hello *hello,
                          struct wire_error *ret_error)
{
    const uint32_t reads = menu_reads(dispatch_engine(in->next)->menu);

    for (size_t i = 0; i < hello->n_collections; i++) {
        const Trigd__V1__Collection *c = hello->collections[i];

        for (uint32_t left = reads; left; left &= left - 1) {
            const struct trg_collection *info = kind_info((uint32_t)__builtin_ctz(left));

            if (strcmp(c->name, info->name) || c->hash == info->hash)
                continue;
            return check_refuse(ret_error, TRIGD__V1__ERROR__CODE__UNKNOWN,
                                "Hello declares %s with the hash %016" PRIx64
                                "; the menu reads %s with the hash %016" PRIx64,
                                info->name, c->hash, info->name, info->hash);
        }
    }
    return 0;
}

static void take_hello(struct ingress *in, const struct peer *peer, uint32_t number,
                       const Trigd__V1__Hello *hello)
{
    struct wire_error error;
    bool gives_passes;
    int r = session_check(hello, &error);

    if (r == 0)
        r = check_declared(in, hello, &error);
    if (r == 0 && number == CLIENTS_NONE && send_away(in, peer, hello))
        return;
    if (r == 0)
        r = session_enter(in->clients, peer, hello, in->config->clients.max, &number, &error);
    if (r < 0) {
        ingress_error(in, peer, number, &error, NULL);
        return;
    }
    gives_passes = hello->passes &&
                   passes_enter(clients_passes(in->clients), number, hello->passes, clock_ns());
    send_welcome(in, number, gives_passes);
}

/* ---------------------------------------------------------------- messages */

struct batch { /* of a message: unpacked, or found in place */
    const Trigd__V1__RoiBatch *unpacked;
    uint32_t n;
    struct store_from from;
};

static uint64_t token_of(const struct ingress *in, const struct batch *b, uint32_t i)
{
    if (in->route)
        return in->route->token + i;
    return b->unpacked ? b->unpacked->rois[i]->token : wire_scanned_token(in->decoder, i);
}

static int check_roi(const struct ingress *in, const struct batch *b, uint32_t i,
                     struct wire_roi *ret_roi, struct wire_error *ret_error)
{
    if (b->unpacked)
        return wire_roi(in->decoder, b->unpacked->rois[i], ret_roi, ret_error);
    return b->from.message ? wire_scanned_unread(in->decoder, i, ret_roi, ret_error)
                           : wire_scanned(in->decoder, i, ret_roi, ret_error);
}

/* A message with a routing frame is refused: each of its RoIs has an answer. */
static void refuse_all(struct ingress *in, const struct peer *peer, uint32_t number,
                       const struct wire_error *error)
{
    for (uint32_t i = 0; i < in->route->n; i++) {
        const uint64_t token = in->route->token + i;

        if (route_wants(in->route, i))
            ingress_error(in, peer, number, error, &token);
    }
}

static void refuse_count(struct ingress *in, const struct peer *peer, uint32_t number, uint32_t n)
{
    struct wire_error error;

    check_refuse(&error, TRIGD__V1__ERROR__CODE__MALFORMED,
                 "the routing frame is for a batch of %u RoIs; this message has %u", in->route->n,
                 n);
    refuse_all(in, peer, number, &error);
}

static void refuse_ask(struct ingress *in, const struct peer *peer, uint32_t number)
{
    struct wire_error error;

    check_refuse(&error, TRIGD__V1__ERROR__CODE__PROTOCOL,
                 "a client asks the supervisor of a farm for addresses; this is a daemon");
    ingress_error(in, peer, number, &error, NULL);
}

static void take_batch(struct ingress *in, const struct peer *peer, uint32_t number,
                       const struct batch *b, uint64_t now)
{
    uint32_t epoch = number == CLIENTS_NONE ? 0 : clients_at(in->clients, number)->epoch;

    for (uint32_t i = 0; i < b->n; i++) {
        uint64_t token = token_of(in, b, i);
        struct wire_roi w;
        struct wire_error error;

        if (in->route && !route_wants(in->route, i))
            continue;
        if (number == CLIENTS_NONE) {
            ingress_not_taken(in, peer, number, token, TRIGD__V1__BUSY__REASON__NO_HELLO);
            continue;
        }
        if (check_roi(in, b, i, &w, &error) < 0 || !ingress_is_looked_at(in, &w, &error)) {
            ingress_error(in, peer, number, &error, &token);
        } else {
            w.token = token;
            ingress_roi(in, number, peer, &w, &b->from, now);
        }
        if (clients_at(in->clients, number)->epoch != epoch)
            number = CLIENTS_NONE; /* it was dropped while it was answered */
    }
    ingress_busy(in, peer, number);
    in->seen_ns = clock_ns();
    latency_add(&in->stats->stage[STATS_STAGE_decode], in->seen_ns - now);
}

/* Takes a message whose RoIs were found in place; it is kept as long as they need it. */
static void take_scanned(struct ingress *in, const struct peer *peer, uint32_t number, uint32_t n,
                         zmq_msg_t *body, uint64_t now)
{
    struct batch b = {.n = n, .from = {.held = in->held}};

    if (body && number != CLIENTS_NONE)
        b.from.message = held_keep(in->held, body);
    take_batch(in, peer, number, &b, now);
    if (b.from.message)
        held_release(in->held, b.from.message);
}

static void take_unpacked(struct ingress *in, const struct peer *peer, uint32_t number,
                          const Trigd__V1__ToDaemon *m, uint64_t now)
{
    struct batch b = {.from = {.region = NULL}};
    const uint32_t n =
        m->body_case == TRIGD__V1__TO_DAEMON__BODY_BATCH ? (uint32_t)m->batch->n_rois : 0;

    if (in->route && in->route->n != n) {
        refuse_count(in, peer, number, n);
        return;
    }
    switch (m->body_case) {
    case TRIGD__V1__TO_DAEMON__BODY_HELLO:
        take_hello(in, peer, number, m->hello);
        break;
    case TRIGD__V1__TO_DAEMON__BODY_BATCH:
        b.unpacked = m->batch;
        b.n = n;
        take_batch(in, peer, number, &b, now);
        break;
    case TRIGD__V1__TO_DAEMON__BODY_HEARTBEAT:
        if (number != CLIENTS_NONE)
            passes_heard(clients_passes(in->clients), number, m->heartbeat->sent_ns, now);
        session_echo(in->clients, peer, number, m->heartbeat);
        break;
    case TRIGD__V1__TO_DAEMON__BODY_BYE:
        if (number != CLIENTS_NONE)
            clients_drop(in->clients, number, "it said Bye");
        break;
    case TRIGD__V1__TO_DAEMON__BODY_ASK:
        refuse_ask(in, peer, number);
        break;
    default:
        break; /* wire_decode refuses a message without body */
    }
}

void ingress_message(struct ingress *in, const struct peer *peer, const void *bytes, size_t n,
                     zmq_msg_t *body)
{
    const Trigd__V1__ToDaemon *m;
    struct wire_error error;
    uint32_t number = clients_find(in->clients, peer), found;
    uint64_t now = clock_ns();

    in->seen_ns = now;
    stats_add(&in->stats->g.messages, 1);
    stats_add(&in->stats->g.bytes_in, n);
    if (number != CLIENTS_NONE)
        clients_at(in->clients, number)->heard_ns = now;
    if (in->route && in->route->has_pass) { /* it is the message of who gave the pass */
        number = ingress_issuer(in, peer, number, body);
        if (number == CLIENTS_NONE)
            return;
        peer = &clients_at(in->clients, number)->peer;
    }
    found = wire_scan(in->decoder, bytes, n);
    if (found && in->route && in->route->n != found)
        refuse_count(in, peer, number, found);
    else if (found)
        take_scanned(in, peer, number, found, body, now);
    else if (wire_decode(in->decoder, bytes, n, &m, &error) == 0)
        take_unpacked(in, peer, number, m, now);
    else if (in->route)
        refuse_all(in, peer, number, &error);
    else
        ingress_error(in, peer, number, &error, NULL);
}
