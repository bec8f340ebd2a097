/* SPDX-License-Identifier: Apache-2.0 */
#include "fakenode.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <zmq.h>

#include <cmocka.h>

#include "base/hash.h"
#include "clock.h"
#include "unixtime.h"

#define MESSAGE 65536
#define BEAT_MS 10 /* between two beats while the test waits */

static const char menu[] = "name: fake\nstreams: [physics]\n";

/* The folder is known only after server_prepare: what names it is added then. */
void fake_supervisor(struct server *s, const char *config, const char *farm, const char *own_menu)
{
    char path[128];
    FILE *f;

    server_prepare(s, config, own_menu ? own_menu : menu);
    s->program = "trigsup";
    s->shards = 1;
    snprintf(path, sizeof path, "%s/trigd.yaml", s->folder);
    f = fopen(path, "a");
    assert_non_null(f);
    if (strstr(farm, "endpoint:"))
        fprintf(f, "farm: {%s}\n", farm);
    else
        fprintf(f, "farm: {endpoint: \"ipc://%s/nodes\", %s}\n", s->folder, farm);
    assert_int_equal(fclose(f), 0);
    server_launch(s);
}

uint64_t fake_menu_key(void)
{
    return hash_bytes(menu, strlen(menu));
}

/* ---------------------------------------------------------------- enlisting */

void fake_open(struct fake *n, const struct server *s, const char *name)
{
    static uint64_t instances;
    char place[128];
    int linger = 0;

    *n = (struct fake){.name = name, .instance = ++instances};
    n->context = zmq_ctx_new();
    n->enlist = zmq_socket(n->context, ZMQ_DEALER);
    n->rois = zmq_socket(n->context, ZMQ_ROUTER);
    assert_non_null(n->rois);
    zmq_setsockopt(n->enlist, ZMQ_LINGER, &linger, sizeof linger);
    zmq_setsockopt(n->rois, ZMQ_LINGER, &linger, sizeof linger);
    snprintf(n->endpoint, sizeof n->endpoint, "ipc://%s/%s-%llu", s->folder, name,
             (unsigned long long)n->instance);
    assert_int_equal(zmq_bind(n->rois, n->endpoint), 0);
    snprintf(place, sizeof place, "ipc://%s/nodes", s->folder);
    assert_int_equal(zmq_connect(n->enlist, place), 0);
}

void fake_close(struct fake *n)
{
    zmq_close(n->enlist);
    zmq_close(n->rois);
    zmq_ctx_term(n->context);
}

void fake_enlist(struct fake *n, Trigd__Farm__V1__Enlist *e)
{
    trigd__farm__v1__enlist__init(e);
    e->protocol = 1;
    e->name = (char *)(uintptr_t)n->name;
    e->version = (char *)(uintptr_t)TRIGD_VERSION;
    e->endpoint = (char *)(uintptr_t)n->endpoint;
    e->instance = n->instance;
    e->menu_key = fake_menu_key();
    e->rois = 64;
    e->bytes = 1u << 20;
    e->unix_ns = unix_ns();
    if (!n->plugin)
        return;
    trigd__farm__v1__step_plugin__init(&n->step);
    n->step.step = n->step.plugin = (char *)(uintptr_t) "finder";
    n->step.version = (char *)(uintptr_t)n->plugin;
    n->steps[0] = &n->step;
    e->n_plugins = 1;
    e->plugins = n->steps;
}

void fake_send(struct fake *n, const Trigd__Farm__V1__FromNode *m)
{
    unsigned char bytes[4096];

    assert_true(trigd__farm__v1__from_node__get_packed_size(m) <= sizeof bytes);
    assert_true(zmq_send(n->enlist, bytes, trigd__farm__v1__from_node__pack(m, bytes), 0) >= 0);
}

static void send_enlist(struct fake *n, Trigd__Farm__V1__Enlist *e)
{
    Trigd__Farm__V1__FromNode m = TRIGD__FARM__V1__FROM_NODE__INIT;

    m.body_case = TRIGD__FARM__V1__FROM_NODE__BODY_ENLIST;
    m.enlist = e;
    fake_send(n, &m);
}

void fake_beat(struct fake *n)
{
    Trigd__Farm__V1__FromNode m = TRIGD__FARM__V1__FROM_NODE__INIT;
    Trigd__Farm__V1__Beat b = TRIGD__FARM__V1__BEAT__INIT;

    if (n->is_mute)
        return;
    b.instance = n->instance;
    b.is_taking = true;
    b.menu_key = fake_menu_key();
    b.unix_ns = unix_ns();
    m.body_case = TRIGD__FARM__V1__FROM_NODE__BODY_BEAT;
    m.beat = &b;
    fake_send(n, &m);
}

/* The supervisor's next word; NULL after `limit_ms`. */
static Trigd__Farm__V1__ToNode *hear(struct fake *n, int limit_ms)
{
    zmq_pollitem_t item = {.socket = n->enlist, .events = ZMQ_POLLIN};
    unsigned char bytes[4096];
    int got;

    if (zmq_poll(&item, 1, limit_ms) <= 0)
        return NULL;
    got = zmq_recv(n->enlist, bytes, sizeof bytes, 0);
    assert_true(got >= 0 && got <= (int)sizeof bytes);
    return trigd__farm__v1__to_node__unpack(NULL, (size_t)got, bytes);
}

void fake_expect_refused(struct fake *n, Trigd__Farm__V1__Enlist *e, const char *sentence)
{
    Trigd__Farm__V1__ToNode *t;

    send_enlist(n, e);
    t = hear(n, 10000);
    assert_non_null(t);
    if (t->body_case != TRIGD__FARM__V1__TO_NODE__BODY_REFUSED)
        fail_msg("it was taken in, not refused with: %s", sentence);
    assert_string_equal(t->refused->text, sentence);
    trigd__farm__v1__to_node__free_unpacked(t, NULL);
}

/* ---------------------------------------------------------------- RoIs */

static void tell(struct fake *n, const Trigd__V1__FromDaemon *m)
{
    const size_t size = trigd__v1__from_daemon__get_packed_size(m);
    void *bytes = malloc(size);

    assert_non_null(bytes);
    trigd__v1__from_daemon__pack(m, bytes);
    assert_int_equal(zmq_send(n->rois, n->peer, (size_t)n->n_peer, ZMQ_SNDMORE), n->n_peer);
    assert_int_equal(zmq_send(n->rois, bytes, size, 0), size);
    free(bytes);
}

static void welcome(struct fake *n)
{
    Trigd__V1__FromDaemon m = TRIGD__V1__FROM_DAEMON__INIT;
    Trigd__V1__Welcome w = TRIGD__V1__WELCOME__INIT;
    static char physics[] = "physics", debug[] = "debug";
    char *streams[] = {physics, debug};

    w.protocol = 1;
    w.credits = n->credits;
    w.max_message_bytes = 1u << 20;
    w.max_items = 1u << 16;
    w.heartbeat_ms = 2000;
    w.server = physics;
    w.n_streams = 2;
    w.streams = streams;
    w.menu_key = fake_menu_key();
    w.takes_passes = n->takes_passes;
    m.body_case = TRIGD__V1__FROM_DAEMON__BODY_WELCOME;
    m.welcome = &w;
    tell(n, &m);
}

/* A Hello of the supervisor, or of a client that sends it RoIs itself. */
static void meet(struct fake *n, const Trigd__V1__Hello *hello, const uint8_t *peer, int n_peer)
{
    if (hello->visitor)
        return;
    memcpy(n->peer, peer, (size_t)n_peer);
    n->n_peer = n_peer;
    assert_non_null(hello->passes);
    assert_int_equal(hello->passes->key.len, PASSES_KEY);
    n->signer.issuer = hello->passes->issuer;
    memcpy(n->signer.key, hello->passes->key.data, PASSES_KEY);
    welcome(n);
}

/* The routing frame of a batch; a pass in it is the supervisor's. */
static void take_route(struct fake *n, const void *bytes, size_t size)
{
    unsigned char own[ROUTE_BYTES];

    assert_true(route_read(bytes, size, &n->route));
    if (!n->route.has_pass)
        return;
    assert_int_equal(pass_pack(&n->signer, &n->route, own), size);
    assert_memory_equal(own, bytes, size);
}

/* Takes one message; true for a batch, or a pass that is handed back. */
static bool take(struct fake *n)
{
    static unsigned char bytes[MESSAGE];
    Trigd__V1__ToDaemon *m;
    uint8_t peer[sizeof n->peer];
    bool is_batch = false;
    int got, more = 0, n_peer = zmq_recv(n->rois, peer, sizeof peer, 0);
    size_t size = sizeof more;

    assert_in_range(n_peer, 1, sizeof peer);
    got = zmq_recv(n->rois, bytes, sizeof bytes, 0);
    assert_true(got >= 0 && got <= (int)sizeof bytes);
    zmq_getsockopt(n->rois, ZMQ_RCVMORE, &more, &size);
    if (more) {
        take_route(n, bytes, (size_t)got);
        got = zmq_recv(n->rois, bytes, sizeof bytes, 0);
        is_batch = true;
        n->is_back = n->route.has_pass && !got;
        n->was_visited = n_peer != n->n_peer || memcmp(peer, n->peer, (size_t)n_peer) != 0;
    }
    m = trigd__v1__to_daemon__unpack(NULL, (size_t)got, bytes);
    if (m && m->body_case == TRIGD__V1__TO_DAEMON__BODY_HELLO)
        meet(n, m->hello, peer, n_peer);
    if (is_batch && m && got) /* a batch may also be nonsense */
        assert_int_equal(m->body_case, TRIGD__V1__TO_DAEMON__BODY_BATCH);
    if (m)
        trigd__v1__to_daemon__free_unpacked(m, NULL);
    return is_batch;
}

bool fake_batch(struct fake *n, struct fake **nodes, uint32_t n_nodes, int limit_ms)
{
    const uint64_t limit = clock_ns() + (unsigned)limit_ms * NS_PER_MS;
    zmq_pollitem_t item = {.socket = n->rois, .events = ZMQ_POLLIN};

    do {
        for (uint32_t i = 0; i < n_nodes; i++)
            fake_beat(nodes[i]);
        if (zmq_poll(&item, 1, BEAT_MS) > 0 && take(n))
            return true;
    } while (clock_ns() < limit);
    return false;
}

struct fake *fake_next(struct fake **nodes, uint32_t n_nodes)
{
    for (uint32_t i = 0; i < 2000; i++)
        for (uint32_t k = 0; k < n_nodes; k++)
            if (fake_batch(nodes[k], nodes, n_nodes, 0))
                return nodes[k];
    fail_msg("no node got anything");
    return NULL;
}

void fake_end_daemons(struct server *node, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        server_check_ledger(&node[i]);
        server_stop(&node[i]);
    }
}

void fake_join(struct fake *n, const struct server *s, const char *name, uint32_t credits)
{
    Trigd__Farm__V1__Enlist e;
    Trigd__Farm__V1__ToNode *t;

    const char *plugin = n->plugin;
    const bool takes_passes = n->takes_passes;

    fake_open(n, s, name);
    n->credits = credits;
    n->plugin = plugin;
    n->takes_passes = takes_passes;
    fake_enlist(n, &e);
    send_enlist(n, &e);
    t = hear(n, 10000);
    assert_non_null(t);
    if (t->body_case == TRIGD__FARM__V1__TO_NODE__BODY_REFUSED)
        fail_msg("%s was refused: %s", name, t->refused->text);
    assert_int_equal(t->body_case, TRIGD__FARM__V1__TO_NODE__BODY_ENROLLED);
    trigd__farm__v1__to_node__free_unpacked(t, NULL);
    for (uint32_t i = 0; i < 1000 && !n->n_peer; i++)
        assert_false(fake_batch(n, &n, 1, 0));
    fake_beat(n);
}

void fake_decide(struct fake *n, uint32_t first, uint32_t rois, bool accept)
{
    Trigd__V1__FromDaemon m = TRIGD__V1__FROM_DAEMON__INIT;
    Trigd__V1__DecisionBatch batch = TRIGD__V1__DECISION_BATCH__INIT;
    Trigd__V1__Decision d[ROUTE_ROIS], *list[ROUTE_ROIS];

    for (uint32_t i = first; i < n->route.n && batch.n_decisions < rois; i++) {
        Trigd__V1__Decision *one = &d[batch.n_decisions];

        if (!route_wants(&n->route, i))
            continue;
        trigd__v1__decision__init(one);
        one->token = n->route.token + i;
        one->roi_id = i;
        one->accept = accept;
        list[batch.n_decisions++] = one;
    }
    assert_int_equal(batch.n_decisions, rois);
    batch.decisions = list;
    m.body_case = TRIGD__V1__FROM_DAEMON__BODY_DECISIONS;
    m.decisions = &batch;
    tell(n, &m);
}

void fake_busy(struct fake *n, uint32_t first, uint32_t rois, Trigd__V1__Busy__Reason reason)
{
    Trigd__V1__FromDaemon m = TRIGD__V1__FROM_DAEMON__INIT;
    Trigd__V1__Busy busy = TRIGD__V1__BUSY__INIT;
    uint64_t tokens[ROUTE_ROIS];

    for (uint32_t i = 0; i < rois; i++)
        tokens[i] = n->route.token + first + i;
    busy.n_tokens = rois;
    busy.tokens = tokens;
    busy.reason = reason;
    m.body_case = TRIGD__V1__FROM_DAEMON__BODY_BUSY;
    m.busy = &busy;
    tell(n, &m);
}

void fake_error(struct fake *n, uint32_t roi, const char *text)
{
    Trigd__V1__FromDaemon m = TRIGD__V1__FROM_DAEMON__INIT;
    Trigd__V1__Error e = TRIGD__V1__ERROR__INIT;

    e.code = TRIGD__V1__ERROR__CODE__OUT_OF_RANGE;
    e.text = (char *)(uintptr_t)text;
    e.has_token = true;
    e.token = n->route.token + roi;
    m.body_case = TRIGD__V1__FROM_DAEMON__BODY_ERROR;
    m.error = &e;
    tell(n, &m);
}

/* ---------------------------------------------------------------- accounts */

static uint64_t number_in(const char *answer, const char *node, const char *name)
{
    char key[96];
    const char *at = answer;

    snprintf(key, sizeof key, "\"node\":\"%s\"", node ? node : "");
    if (node)
        at = strstr(answer, key);
    if (!at)
        return 0; /* no such node */
    snprintf(key, sizeof key, "\"%s\":", name);
    at = strstr(at, key);
    if (!at)
        fail_msg("there is no %s in %s", name, answer);
    return strtoull(at + strlen(key), NULL, 10);
}

uint64_t fake_count(struct server *s, const char *node, const char *name)
{
    char *answer = server_ask(s, node ? "show nodes json" : "show farm json");
    const uint64_t value = number_in(answer, node, name);

    free(answer);
    return value;
}

bool fake_gave_once(struct server *s)
{
    return !fake_count(s, NULL, "nodes_lost") && !fake_count(s, NULL, "again") &&
           !fake_count(s, NULL, "returned");
}

void fake_wait(struct server *s, const char *node, const char *name, uint64_t value,
               struct fake **nodes, uint32_t n_nodes)
{
    const uint64_t limit = clock_ns() + SERVER_PATIENCE_MS * NS_PER_MS;
    uint64_t now;

    while ((now = fake_count(s, node, name)) != value) {
        if (clock_ns() > limit)
            fail_msg("%s of %s is %llu, not %llu", name, node ? node : "the farm",
                     (unsigned long long)now, (unsigned long long)value);
        for (uint32_t i = 0; i < n_nodes; i++)
            fake_beat(nodes[i]);
        nanosleep(&(struct timespec){.tv_nsec = 2000000}, NULL);
    }
}

void fake_wait_text(struct server *s, const char *command, const char *text)
{
    const uint64_t limit = clock_ns() + SERVER_PATIENCE_MS * NS_PER_MS;
    bool is_there = false;

    while (!is_there) {
        char *answer = server_is_open(s) ? server_ask(s, command) : NULL;

        is_there = answer && strstr(answer, text);
        if (!is_there && clock_ns() > limit)
            fail_msg("%s does not tell \"%s\": %s", command, text, answer ? answer : "");
        free(answer);
        nanosleep(&(struct timespec){.tv_nsec = 5000000}, NULL);
    }
}

/* Whether the farm's accounts and each node's balance, as three requests show them. */
static bool is_balanced(struct server *s)
{
    char *farm = server_ask(s, "show farm json"), *nodes = server_ask(s, "show nodes json");
    const uint64_t received = server_counter(s, "received");
    const char *row = nodes;
    bool is;

#define OF_FARM(name) number_in(farm, NULL, name)
    is = received + OF_FARM("again") + OF_FARM("returned") ==
         OF_FARM("given") + OF_FARM("waiting") + OF_FARM("dropped");
    is &= received == OF_FARM("answered") + OF_FARM("rescued") + OF_FARM("forced") +
                          server_counter(s, "in_flight");
#undef OF_FARM
    while ((row = strstr(row, "\"node\":")) != NULL) {
#define OF_NODE(name) number_in(row, NULL, name)
        is &= OF_NODE("given") == OF_NODE("answered") + OF_NODE("late") + OF_NODE("returned") +
                                      OF_NODE("lost") + OF_NODE("in_flight");
#undef OF_NODE
        row++;
    }
    free(farm);
    free(nodes);
    return is;
}

/* Between two requests the counters may move: what is wrong for good stays so. */
void fake_check_accounts(struct server *s)
{
    const uint64_t limit = clock_ns() + SERVER_PATIENCE_MS * NS_PER_MS;

    while (!is_balanced(s)) {
        if (clock_ns() > limit)
            fail_msg("the accounts do not balance: %s", server_ask(s, "show farm json"));
        nanosleep(&(struct timespec){.tv_nsec = 2000000}, NULL);
    }
    server_check_ledger(s);
}
