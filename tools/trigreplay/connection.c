/* SPDX-License-Identifier: Apache-2.0 */
#include "connection.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "clock.h"
#include "decisions.h"
#include "declared.h"
#include "shard_endpoint.h"
#include "transport.h"

#define PROTOCOL             1
#define BATCH_MAX            256u
#define CREDITS_MAX          (1u << 20)       /* what we ever use of a grant */
#define OPEN_PAUSE_NS        (50 * NS_PER_MS) /* between two looks for a daemon that is gone */
#define WATCH_NS             (5 * NS_PER_MS)
#define BUSY_PAUSE_NS        (5 * NS_PER_MS) /* before RoIs that were answered Busy are sent again */
#define HEARTBEAT_DEFAULT_MS 1000u
#define TOKEN_BITS           40u /* of the number of an RoI within its connection */

static int say_hello(struct connection *c, bool may_move)
{
    Trigd__V1__ToDaemon m = TRIGD__V1__TO_DAEMON__INIT;
    Trigd__V1__Hello hello = TRIGD__V1__HELLO__INIT;
    struct declared declared;

    declared_fill(kinds_declared(), &declared);
    hello.protocol = PROTOCOL;
    hello.name = c->name;
    hello.want_credits = c->want_credits;
    hello.may_move = may_move;
    hello.n_collections = declared.n;
    hello.collections = declared.list;
    hello.key.data = c->key;
    hello.key.len = c->has_key ? sizeof c->key : 0;
    m.body_case = TRIGD__V1__TO_DAEMON__BODY_HELLO;
    m.hello = &hello;
    return transport_tell(c, &m);
}

static int copy_names(char **const from, size_t n, char **to, uint32_t most, uint32_t *ret_n)
{
    for (size_t i = 0; i < n && i < most; i++) {
        to[i] = strdup(from[i]);
        if (!to[i])
            return -ENOMEM;
        *ret_n = (uint32_t)i + 1;
    }
    return 0;
}

static struct flight *flight_of(const struct connection *c, uint64_t token)
{
    return &c->flight[token % c->room];
}

/* Takes a new number of credits, and makes room for four times as many RoIs on their way, so that a
 * free place is quickly found.  What is on its way stays: numbers that differ modulo the old room
 * differ modulo a multiple of it. */
static int set_credits(struct connection *c, uint32_t credits)
{
    uint32_t room = c->room ? c->room : 64, old_room = c->room;
    struct flight *old = c->flight, *flight;
    uint64_t *again;

    c->credits = credits < CREDITS_MAX ? credits : CREDITS_MAX;
    while (room < 4 * c->credits)
        room *= 2;
    if (room == old_room)
        return 0;
    again = realloc(c->again, room * sizeof *again);
    if (!again)
        return -ENOMEM;
    c->again = again;
    flight = calloc(room, sizeof *flight);
    if (!flight)
        return -ENOMEM;
    c->flight = flight;
    c->room = room;
    for (uint32_t i = 0; old && i < old_room; i++)
        if (old[i].state != FLIGHT_FREE)
            *flight_of(c, old[i].token) = old[i];
    free(old);
    return crossings_grow(&c->crossings, room);
}

static int take_welcome(struct connection *c, const Trigd__V1__Welcome *w)
{
    int r = 0;

    if (!c->flight)
        r = copy_names(w->chains, w->n_chains, c->chains, CONNECTION_NAMES_MAX, &c->n_chains);
    if (r == 0 && !c->flight)
        r = copy_names(w->streams, w->n_streams, c->streams, 64, &c->n_streams);
    if (c->decisions)
        decisions_begin(c->decisions, w);
    c->heartbeat_ms = w->heartbeat_ms ? w->heartbeat_ms : HEARTBEAT_DEFAULT_MS;
    return r < 0 ? r : set_credits(c, w->credits);
}

/* Connects, says Hello and waits for the answer.  1 and the Welcome, until the next message. */
static int greet(struct connection *c, void *zmq_context, const char *endpoint, bool may_move,
                 uint32_t timeout_ms, Trigd__V1__FromDaemon **ret_welcome)
{
    Trigd__V1__FromDaemon *m = NULL;
    int r = transport_open(c, zmq_context, endpoint);

    if (r == 0)
        r = say_hello(c, may_move);
    if (r == 0)
        r = transport_receive(c, timeout_ms, &m);
    if (r <= 0 || !m)
        return r < 0 ? r : -ETIMEDOUT;
    if (m->body_case == TRIGD__V1__FROM_DAEMON__BODY_WELCOME) {
        *ret_welcome = m;
        return 1;
    }
    r = -EBADMSG;
    if (m->body_case == TRIGD__V1__FROM_DAEMON__BODY_ERROR) {
        snprintf(c->tally->first_error, sizeof c->tally->first_error, "%s", m->error->text);
        r = -ECONNREFUSED;
    }
    return r;
}

/* Goes on to the shard that a Welcome names, or stays when it is not there. */
static int move(struct connection *c, void *zmq_context, uint32_t shard, uint32_t timeout_ms,
                Trigd__V1__FromDaemon **ret_welcome)
{
    char other[512];
    int r = -ETIMEDOUT;

    transport_close(c);
    if (shard_endpoint(c->endpoint, shard, other, sizeof other) == 0)
        r = greet(c, zmq_context, other, false, timeout_ms, ret_welcome);
    if (r != -ETIMEDOUT)
        return r;
    transport_close(c);
    return greet(c, zmq_context, c->endpoint, false, timeout_ms, ret_welcome);
}

int connection_open(struct connection *c, void *zmq_context, const char *endpoint, const char *name,
                    uint32_t want_credits, uint32_t timeout_ms)
{
    Trigd__V1__FromDaemon *m = NULL;
    int r;

    snprintf(c->name, sizeof c->name, "%s", name);
    c->endpoint = endpoint;
    c->context = zmq_context;
    if (getrandom(c->key, sizeof c->key, 0) != (ssize_t)sizeof c->key)
        return -EIO;
    c->want_credits = want_credits;
    c->next_which = (uint32_t)(c->number * 7919ull % c->source->n);
    while (c->source->roi[c->next_which].part)
        c->next_which--;
    r = greet(c, zmq_context, endpoint, true, timeout_ms, &m);
    if (r == 1 && m->welcome->shard)
        r = move(c, zmq_context, m->welcome->shard, timeout_ms, &m);
    return r < 0 ? r : take_welcome(c, m->welcome);
}

void connection_leave(struct connection *c)
{
    Trigd__V1__ToDaemon m = TRIGD__V1__TO_DAEMON__INIT;
    Trigd__V1__Bye bye = TRIGD__V1__BYE__INIT;

    if (!transport_is_open(c))
        return;
    m.body_case = TRIGD__V1__TO_DAEMON__BODY_BYE;
    m.bye = &bye;
    if (c->flight)
        transport_tell(c, &m);
    transport_close(c);
}

void connection_close(struct connection *c)
{
    connection_leave(c);
    for (uint32_t i = 0; i < c->n_chains; i++)
        free(c->chains[i]);
    for (uint32_t i = 0; i < c->n_streams; i++)
        free(c->streams[i]);
    free(c->flight);
    free(c->again);
    crossings_fini(&c->crossings);
    scratch_free(&c->memory);
    memset(c, 0, sizeof *c);
}

/* ---------------------------------------------------------------- sending */

uint32_t connection_room(const struct connection *c)
{
    uint32_t taken = c->outstanding + c->n_again + c->n_told;

    return c->credits > taken ? c->credits - taken : 0;
}

static int send_tokens(struct connection *c, const uint64_t *tokens, uint32_t n)
{
    struct flight *flights[BATCH_MAX] = {NULL};
    uint64_t now;
    int r;

    for (uint32_t i = 0; i < n; i++) {
        flights[i] = flight_of(c, tokens[i]);
        flights[i]->state = FLIGHT_SENT;
    }
    r = transport_send(c, flights, n);
    if (r < 0)
        return r;
    now = clock_ns();
    for (uint32_t i = 0; i < n; i++)
        flights[i]->sent_ns = now;
    c->outstanding += (uint32_t)r;
    return r;
}

/* The next RoI of the source, whose events stay together. */
static void pick_in_order(struct connection *c, struct flight *f)
{
    const struct source_roi *r = &c->source->roi[c->next_which];
    struct crossing *e;

    f->which = c->next_which;
    c->next_which = (c->next_which + 1) % c->source->n;
    if (!r->part) {
        e = crossings_begin(&c->crossings, r->parts);
        e->first_token = f->token;
        e->is_decided = r->event_rois <= 1; /* with its RoI */
        c->tally->events_sent += r->event_rois > 1;
    }
    e = crossings_find(&c->crossings, c->crossings.last);
    f->event = c->crossings.last;
    f->l1id = f->event * c->n_connections + c->number;
    e->last_token = f->token;
    e->n_sent++;
}

/* A token whose place in the table is free; decisions can overtake, so one may have to be passed
 * over. */
static uint64_t new_token(struct connection *c, uint64_t from_ns)
{
    uint64_t token;
    struct flight *f;

    do {
        token = (uint64_t)c->number << TOKEN_BITS | c->next_token++;
        f = flight_of(c, token);
    } while (f->state != FLIGHT_FREE);
    *f = (struct flight){.token = token, .from_ns = from_ns};
    if (c->source->has_events) {
        pick_in_order(c, f);
    } else {
        f->which = (uint32_t)((c->next_token + (uint64_t)c->number * 7919u) % c->source->n);
        f->l1id = (uint32_t)token;
    }
    return token;
}

uint32_t connection_begins(const struct connection *c, uint32_t ahead)
{
    const struct source_roi *next = &c->source->roi[(c->next_which + ahead) % c->source->n];

    if (!c->source->has_events)
        return 1;
    return next->part ? 0 : next->parts;
}

int connection_send(struct connection *c, const uint64_t *from_ns, uint32_t n)
{
    uint64_t tokens[BATCH_MAX];
    int r;

    for (uint32_t i = 0; i < n && i < BATCH_MAX; i++)
        tokens[i] = new_token(c, from_ns[i]);
    c->tally->sent += n;
    r = send_tokens(c, tokens, n);
    return r < 0 ? r : 0;
}

/* The daemon is gone, or the connection to it: what it had not answered is sent again to the next
 * one, which answers what it has decided already. */
static void lose_daemon(struct connection *c)
{
    transport_close(c);
    for (uint32_t i = 0; i < c->room; i++) {
        if (c->flight[i].state != FLIGHT_SENT && c->flight[i].state != FLIGHT_TOLD)
            continue;
        c->flight[i].state = FLIGHT_AGAIN;
        c->flight[i].is_repeat = true;
        c->again[c->n_again++] = c->flight[i].token;
        c->tally->resent++;
    }
    c->outstanding = c->credits = c->n_told = 0; /* a Welcome will tell */
    c->open_ns = 0;
}

/* Looks for the next daemon; nobody being there is no error. */
static int find_daemon(struct connection *c, uint64_t now_ns)
{
    int r;

    if (now_ns < c->open_ns)
        return 0;
    c->open_ns = now_ns + OPEN_PAUSE_NS;
    r = transport_open(c, c->context, c->endpoint);
    if (r == 0)
        return say_hello(c, true);
    return r == -ENOENT || r == -ECONNREFUSED ? 0 : r;
}

int connection_tick(struct connection *c, uint64_t now_ns)
{
    Trigd__V1__ToDaemon m = TRIGD__V1__TO_DAEMON__INIT;
    Trigd__V1__Heartbeat beat = TRIGD__V1__HEARTBEAT__INIT;

    if (!transport_is_open(c))
        return find_daemon(c, now_ns);
    if (now_ns > c->watched_ns + WATCH_NS) {
        c->watched_ns = now_ns;
        if (transport_is_lost(c)) {
            lose_daemon(c);
            return find_daemon(c, now_ns);
        }
    }
    while (c->n_again && c->outstanding < c->credits && now_ns >= c->again_ns) {
        uint64_t token = c->again[--c->n_again];
        int r = send_tokens(c, &token, 1);

        if (r < 0)
            return r;
        if (r == 0)
            break; /* no room: it is among them again */
    }
    if (now_ns < c->spoken_ns + NS_PER_MS * c->heartbeat_ms / 2)
        return 0;
    beat.sent_ns = now_ns;
    m.body_case = TRIGD__V1__TO_DAEMON__BODY_HEARTBEAT;
    m.heartbeat = &beat;
    return transport_tell(c, &m);
}

/* ---------------------------------------------------------------- receiving */

/* The flight of a token that was sent, or NULL (counted: it came twice, or was never sent). */
static struct flight *take(struct connection *c, uint64_t token)
{
    struct flight *f = flight_of(c, token);

    if (f->state == FLIGHT_SENT && f->token == token)
        return f;
    if (token >> TOKEN_BITS == c->number && (token & ((1ull << TOKEN_BITS) - 1)) < c->next_token)
        c->tally->duplicates++;
    else
        c->tally->unknown++;
    return NULL;
}

static void compare_truth(struct connection *c, const Trigd__V1__Decision *d, uint32_t which)
{
    const struct source_roi *r = &c->source->roi[which];

    if (!r->has_truth || c->z_value < 0)
        return;
    for (size_t i = 0; i < d->n_results; i++) {
        if ((int)d->results[i]->step != c->z_step || (int)d->results[i]->n_values <= c->z_value)
            continue;
        c->tally->with_truth++;
        if (fabsf(d->results[i]->values[c->z_value] - r->truth_z_mm) <= 1.0f)
            c->tally->within_1mm++;
    }
}

static void add_latency(struct tally *t, const Trigd__V1__Decision *d, const struct flight *f,
                        uint64_t now)
{
    uint64_t all_ns = now > f->sent_ns ? now - f->sent_ns : 0;
    uint64_t lane_ns = d->lane_us * NS_PER_US, daemon_ns = d->latency_us * NS_PER_US;

    latency_add(&t->latency, now > f->from_ns ? now - f->from_ns : 0);
    latency_add(&t->way, all_ns > daemon_ns ? all_ns - daemon_ns : 0);
    if (lane_ns)
        latency_add(&t->added, all_ns > lane_ns ? all_ns - lane_ns : 0);
}

/* Lets go of the RoIs of an event that is over. */
static void end_event(struct connection *c, struct crossing *e)
{
    if (!crossings_is_over(e))
        return;
    for (uint64_t token = e->first_token; token <= e->last_token; token++) {
        struct flight *f = flight_of(c, token);

        if (f->state != FLIGHT_TOLD || f->token != token || f->event != e->number)
            continue;
        f->state = FLIGHT_FREE;
        c->n_told--;
    }
    c->tally->events_refused += e->n_refused == e->n_rois && !e->is_decided;
    crossings_end(&c->crossings, e);
}

/* An RoI has its answer; whether it had none before. */
static bool end_flight(struct connection *c, struct flight *f, bool is_refused)
{
    struct crossing *e = crossings_find(&c->crossings, f->event);
    const bool is_first = !f->was_told;

    transport_end(c, f);
    c->outstanding--;
    f->was_told = true;
    f->state = e ? FLIGHT_TOLD : FLIGHT_FREE;
    c->n_told += e != NULL;
    if (!e || !is_first)
        return is_first;
    e->n_answered++;
    e->n_refused += is_refused;
    end_event(c, e);
    return true;
}

static void take_event(struct connection *c, const Trigd__V1__EventDecision *d)
{
    struct crossing *e = crossings_find(&c->crossings, (d->l1id - c->number) / c->n_connections);
    struct tally *t = c->tally;

    if (!e || e->is_decided) {
        *(e || d->repeated ? &t->repeated : &t->unknown) += 1;
        if (e && !d->repeated)
            t->duplicates++;
        return;
    }
    e->is_decided = true;
    if (d->status != TRIGD__V1__STATUS__OK && d->status != TRIGD__V1__STATUS__TRUNCATED)
        t->events_failed++;
    else if (d->accept)
        t->events_accepted++;
    else
        t->events_rejected++;
    end_event(c, e);
}

static void take_decision(struct connection *c, const Trigd__V1__Decision *d, uint64_t now)
{
    struct flight *f = take(c, d->token);
    struct tally *t = c->tally;

    if (!f || !end_flight(c, f, false))
        return;
    if (c->decisions)
        decisions_add(c->decisions, d);
    t->decided++;
    t->repeated += d->repeated ? 1 : 0;
    *(d->accept ? &t->accepted : &t->rejected) += 1;
    t->late += d->late ? 1 : 0;
    if ((unsigned)d->status < 8)
        t->status[d->status]++;
    for (size_t i = 0; i < d->n_chains; i++)
        if (d->chains[i] < CONNECTION_NAMES_MAX)
            t->chain[d->chains[i]]++;
    for (size_t i = 0; i < d->n_streams; i++)
        if (d->streams[i] < 64)
            t->stream[d->streams[i]]++;
    add_latency(t, d, f, now);
    compare_truth(c, d, f->which);
}

static int take_busy(struct connection *c, const Trigd__V1__Busy *b)
{
    for (size_t i = 0; i < b->n_tokens; i++) {
        struct flight *f = take(c, b->tokens[i]);

        if (!f)
            continue;
        transport_end(c, f);
        f->state = FLIGHT_AGAIN;
        c->tally->busy++;
        c->outstanding--;
        c->again[c->n_again++] = b->tokens[i]; /* each flight is in it once at most */
    }
    c->again_ns = clock_ns() + BUSY_PAUSE_NS;
    /* a daemon that does not know us any more was started anew, or did not hear us for long */
    return b->reason == TRIGD__V1__BUSY__REASON__NO_HELLO ? say_hello(c, false) : 0;
}

static void take_error(struct connection *c, const Trigd__V1__Error *e)
{
    struct flight *f = e->has_token ? take(c, e->token) : NULL;

    c->tally->errors++;
    if (!c->tally->first_error[0])
        snprintf(c->tally->first_error, sizeof c->tally->first_error, "%s", e->text);
    if (!f)
        return;
    c->tally->refused += end_flight(c, f, true); /* for good: an answer, not a loss */
}

/* A daemon that came back wants the client at another shard. */
static int go_on(struct connection *c, uint32_t shard)
{
    char other[512];
    int r;

    if (shard_endpoint(c->endpoint, shard, other, sizeof other) < 0)
        return say_hello(c, false);
    transport_close(c);
    r = transport_open(c, c->context, other);
    return r < 0 ? r : say_hello(c, false);
}

static int take_message(struct connection *c, const Trigd__V1__FromDaemon *m)
{
    uint64_t now = clock_ns();

    switch (m->body_case) {
    case TRIGD__V1__FROM_DAEMON__BODY_WELCOME:
        return m->welcome->shard ? go_on(c, m->welcome->shard) : take_welcome(c, m->welcome);
    case TRIGD__V1__FROM_DAEMON__BODY_DECISIONS:
        for (size_t i = 0; i < m->decisions->n_decisions; i++)
            take_decision(c, m->decisions->decisions[i], now);
        for (size_t i = 0; i < m->decisions->n_events; i++)
            take_event(c, m->decisions->events[i]);
        break;
    case TRIGD__V1__FROM_DAEMON__BODY_BUSY:
        return take_busy(c, m->busy);
    case TRIGD__V1__FROM_DAEMON__BODY_CREDIT:
        return set_credits(c, m->credit->credits);
    case TRIGD__V1__FROM_DAEMON__BODY_ERROR:
        take_error(c, m->error);
        break;
    default:
        break; /* heartbeats only tell that the daemon lives */
    }
    return 0;
}

int connection_receive(struct connection *c)
{
    Trigd__V1__FromDaemon *m;
    int n = 0, r = 0;

    if (!transport_is_open(c))
        return 0;
    while (r == 0 && n < 64 && (r = transport_receive(c, 0, &m)) == 1) {
        r = take_message(c, m);
        n++;
    }
    if (r == -ECONNRESET) {
        lose_daemon(c);
        return n;
    }
    return r < 0 ? r : n;
}
