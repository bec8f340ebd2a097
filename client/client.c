/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zmq.h>

#include "addresses.h"
#include "clock.h"
#include "declared.h"
#include "refuse.h"
#include "shard_endpoint.h"
#include "transport.h"

#define PROTOCOL             1
#define TIMEOUT_DEFAULT_MS   10000u
#define HEARTBEAT_DEFAULT_MS 1000u

const char *trg_client_version(void)
{
    return TRIGD_VERSION;
}

/* ---------------------------------------------------------------- Hello and Welcome */

int client_say_hello(struct trg_client *c, bool may_move)
{
    Trigd__V1__ToDaemon m = TRIGD__V1__TO_DAEMON__INIT;
    Trigd__V1__Hello hello = TRIGD__V1__HELLO__INIT;
    struct declared declared;

    declared_fill(c->declared, &declared);
    hello.protocol = PROTOCOL;
    hello.name = c->name;
    hello.want_credits = c->want_credits;
    hello.run = c->run;
    hello.may_move = may_move;
    hello.reaches_nodes = c->reaches_nodes && !c->shm;
    hello.n_collections = declared.n;
    hello.collections = declared.list;
    hello.key.data = c->key;
    hello.key.len = c->key_bytes;
    m.body_case = TRIGD__V1__TO_DAEMON__BODY_HELLO;
    m.hello = &hello;
    c->hello_ns = clock_ns();
    return transport_tell(c, &m);
}

/* A copy that outlives the message. */
static Trigd__V1__Welcome *copy_welcome(const Trigd__V1__Welcome *w)
{
    const size_t n = trigd__v1__welcome__get_packed_size(w);
    unsigned char *bytes = malloc(n + 1);
    Trigd__V1__Welcome *copy;

    if (!bytes)
        return NULL;
    trigd__v1__welcome__pack(w, bytes);
    copy = trigd__v1__welcome__unpack(NULL, n, bytes);
    free(bytes);
    return copy;
}

static void forget_names(struct names *n)
{
    if (n->welcome)
        trigd__v1__welcome__free_unpacked(n->welcome, NULL);
    free(n->steps);
    memset(n, 0, sizeof *n);
}

static int take_names(struct trg_client *c, const Trigd__V1__Welcome *w)
{
    struct names n = {.welcome = copy_welcome(w)};

    if (!n.welcome)
        return -ENOMEM;
    w = n.welcome;
    n.steps = calloc(w->n_steps + 1, sizeof *n.steps);
    if (!n.steps) {
        forget_names(&n);
        return -ENOMEM;
    }
    for (size_t i = 0; i < w->n_steps; i++)
        n.steps[i] = (struct trg_client_step){.name = w->steps[i]->name,
                                              .plugin = w->steps[i]->plugin,
                                              .values = (const char *const *)w->steps[i]->values,
                                              .n_values = (uint32_t)w->steps[i]->n_values};
    n.given = (struct trg_client_names){.size = sizeof n.given,
                                        .n_chains = (uint32_t)w->n_chains,
                                        .n_streams = (uint32_t)w->n_streams,
                                        .n_steps = (uint32_t)w->n_steps,
                                        .chains = (const char *const *)w->chains,
                                        .streams = (const char *const *)w->streams,
                                        .steps = n.steps,
                                        .server = w->server,
                                        .menu_generation = w->menu_generation,
                                        .menu_key = w->menu_key};
    forget_names(&c->names);
    c->names = n;
    return 0;
}

int client_take_welcome(struct trg_client *c, const Trigd__V1__Welcome *w)
{
    const bool is_first = !c->names.welcome;
    int r = take_names(c, w);

    if (r < 0)
        return r;
    c->stats.reconnects += !is_first && !c->is_welcome;
    c->is_welcome = true;
    c->max_message_bytes = w->max_message_bytes;
    c->address_bytes = c->reaches_nodes && !c->shm ? w->address_bytes : 0;
    c->heartbeat_ms = w->heartbeat_ms ? w->heartbeat_ms : HEARTBEAT_DEFAULT_MS;
    r = flights_grant(c, w->credits);
    if (r == 0)
        client_notice(c, TRG_CLIENT_CONNECTED, c->names.given.server);
    return r;
}

/* The answer to Hello, which is said again while none comes: a daemon that ends meanwhile, and
 * starts again, has not heard it.  As transport_receive. */
static int wait_for_answer(struct trg_client *c, bool may_move, Trigd__V1__FromDaemon **ret_message)
{
    const uint64_t end = clock_ns() + NS_PER_MS * c->timeout_ms;

    for (;;) {
        const uint64_t now = clock_ns(), left_ms = now < end ? (end - now) / NS_PER_MS : 0;
        const uint64_t pause_ms = CLIENT_HELLO_NS / NS_PER_MS;
        int r = transport_receive(c, (long)(left_ms < pause_ms ? left_ms : pause_ms), ret_message);

        if (r != 0 || left_ms <= pause_ms)
            return r;
        r = client_say_hello(c, may_move);
        if (r < 0)
            return r;
    }
}

/* Connects, says Hello and waits for the answer.  1 and the Welcome, until the next message. */
static int greet(struct trg_client *c, const char *endpoint, bool may_move,
                 const Trigd__V1__Welcome **ret_welcome, char *why, size_t bytes)
{
    Trigd__V1__FromDaemon *m = NULL;
    int r = transport_open(c, endpoint);

    if (r == 0)
        r = client_say_hello(c, may_move);
    if (r < 0) {
        snprintf(why, bytes, "cannot connect to %s: %s", endpoint, strerror(-r));
        return r;
    }
    r = wait_for_answer(c, may_move, &m);
    if (r == 0) {
        snprintf(why, bytes, "no daemon answers at %s within %u ms", endpoint, c->timeout_ms);
        return -ETIMEDOUT;
    }
    if (r == 1 && m->body_case == TRIGD__V1__FROM_DAEMON__BODY_WELCOME) {
        *ret_welcome = m->welcome;
        return 1;
    }
    if (r == 1 && m->body_case == TRIGD__V1__FROM_DAEMON__BODY_ERROR) {
        snprintf(why, bytes, "%s refuses the client: %s", endpoint, m->error->text);
        return -ECONNREFUSED;
    }
    snprintf(why, bytes, "what listens at %s is no trigd", endpoint);
    return r < 0 ? r : -EBADMSG;
}

/* Goes on to the shard that a Welcome names, or stays when it is not there. */
static int move(struct trg_client *c, uint32_t shard, const Trigd__V1__Welcome **ret_welcome,
                char *why, size_t bytes)
{
    char other[512];
    int r = -ETIMEDOUT;

    transport_close(c);
    if (shard_endpoint(c->endpoint, shard, other, sizeof other) == 0)
        r = greet(c, other, false, ret_welcome, why, bytes);
    if (r != -ETIMEDOUT)
        return r;
    transport_close(c);
    return greet(c, c->endpoint, false, ret_welcome, why, bytes);
}

static int meet(struct trg_client *c, char *why, size_t bytes)
{
    const Trigd__V1__Welcome *w = NULL;
    int r = greet(c, c->endpoint, c->may_move, &w, why, bytes);

    if (r == 1 && w && w->shard)
        r = move(c, w->shard, &w, why, bytes);
    if (r < 0 || !w)
        return r < 0 ? r : -EBADMSG;
    return client_take_welcome(c, w);
}

/* ---------------------------------------------------------------- options */

static int check(const struct trg_client_options *o, char *why, size_t bytes)
{
    if (!o->endpoint ||
        (strncmp(o->endpoint, "tcp://", 6) != 0 && strncmp(o->endpoint, "ipc://", 6) != 0 &&
         strncmp(o->endpoint, SHM_SCHEME, strlen(SHM_SCHEME)) != 0))
        return refuse(why, bytes,
                      "the endpoint is \"%s\"; tcp://HOST:PORT, ipc://PATH and shm://PATH are "
                      "allowed",
                      o->endpoint ? o->endpoint : "");
    if (!o->name || !*o->name || strlen(o->name) > 63)
        return refuse(why, bytes, "the name is \"%s\"; 1 to 63 characters are allowed",
                      o->name ? o->name : "");
    if (!o->ended)
        return refuse(why, bytes, "there is no function for the ends of RoIs (ended)");
    if (o->key_bytes > sizeof((struct trg_client *)0)->key)
        return refuse(why, bytes, "the key has %zu bytes; at most 64 are allowed", o->key_bytes);
    return 0;
}

/* Keys by the options, or by the environment. */
static int take_keys(struct trg_client *c, const struct trg_client_options *o, char *why,
                     size_t bytes)
{
    const char *own = o->key_file ? o->key_file : getenv("TRIGD_KEY");
    const char *server = o->server_key_file ? o->server_key_file : getenv("TRIGD_SERVER_KEY");
    int r;

    if (strncmp(c->endpoint, "tcp://", 6) != 0 || !own || !server)
        return 0;
    r = keyfile_read(own, &c->own, why, bytes);
    if (r == 0)
        r = keyfile_read(server, &c->server, why, bytes);
    c->has_keys = r == 0;
    return r;
}

static int take_options(struct trg_client *c, const struct trg_client_options *o, char *why,
                        size_t bytes)
{
    int r = 0;

    c->endpoint = strdup(o->endpoint);
    c->context = o->zmq_context ? o->zmq_context : zmq_ctx_new();
    c->owns_context = !o->zmq_context;
    if (!c->endpoint || !c->context) {
        refuse(why, bytes, "no memory for a client");
        return -ENOMEM;
    }
    snprintf(c->name, sizeof c->name, "%s", o->name);
    if (o->key_bytes)
        memcpy(c->key, o->key, o->key_bytes);
    c->key_bytes = (uint32_t)o->key_bytes;
    c->want_credits = o->want_credits;
    c->timeout_ms = o->timeout_ms ? o->timeout_ms : TIMEOUT_DEFAULT_MS;
    c->run = o->run;
    c->may_move = !o->no_move;
    c->reaches_nodes = o->reaches_nodes;
    c->ended = o->ended;
    c->event_ended = o->event_ended;
    c->noticed = o->noticed;
    c->arg = o->arg;
    for (uint32_t i = 0; r == 0 && i < o->n_collections; i++) {
        uint32_t kind;

        r = kind_add(o->collections[i], &kind, why, bytes);
        if (r == 0)
            c->declared |= 1u << kind;
    }
    return r < 0 ? r : take_keys(c, o, why, bytes);
}

/* ---------------------------------------------------------------- open and close */

static void free_client(struct trg_client *c)
{
    transport_close(c);
    addresses_close(c);
    if (c->owns_context && c->context)
        zmq_ctx_term(c->context);
    keyfile_forget(&c->own);
    forget_names(&c->names);
    scratch_free(&c->memory);
    crossings_end(&c->crossings);
    free(c->flight);
    free(c->again);
    free(c->results);
    free(c->missing);
    free(c->endpoint);
    free(c);
}

int trg_client_open(const struct trg_client_options *options, struct trg_client **ret_client,
                    char *why, size_t why_bytes)
{
    struct trg_client_options o = {.size = 0};
    struct trg_client *c;
    int r;

    /* what an older caller predates is 0 */
    memcpy(&o, options, options->size < sizeof o ? options->size : sizeof o);
    r = check(&o, why, why_bytes);
    if (r < 0)
        return r;
    c = calloc(1, sizeof *c);
    if (!c) {
        refuse(why, why_bytes, "no memory for a client");
        return -ENOMEM;
    }
    r = take_options(c, &o, why, why_bytes);
    if (r == 0)
        r = meet(c, why, why_bytes);
    if (r < 0) {
        free_client(c);
        return r;
    }
    *ret_client = c;
    return 0;
}

void trg_client_close(struct trg_client *c)
{
    Trigd__V1__ToDaemon m = TRIGD__V1__TO_DAEMON__INIT;
    Trigd__V1__Bye bye = TRIGD__V1__BYE__INIT;

    if (!c)
        return;
    m.body_case = TRIGD__V1__TO_DAEMON__BODY_BYE;
    m.bye = &bye;
    if (transport_is_open(c))
        transport_tell(c, &m);
    transport_close(c);
    flights_lose_all(c);
    free_client(c);
}

/* ---------------------------------------------------------------- what is known */

const struct trg_client_names *trg_client_names(const struct trg_client *c)
{
    return &c->names.given;
}

size_t trg_client_names_message(const struct trg_client *c, void *bytes, size_t room)
{
    const size_t n = trigd__v1__welcome__get_packed_size(c->names.welcome);

    if (n <= room)
        trigd__v1__welcome__pack(c->names.welcome, bytes);
    return n;
}

void trg_client_stats(const struct trg_client *c, struct trg_client_stats *stats)
{
    struct trg_client_stats all = c->stats;

    all.size = stats->size;
    all.events_open = c->crossings.n_open;
    memcpy(stats, &all, all.size < sizeof all ? all.size : sizeof all);
}
