/* SPDX-License-Identifier: Apache-2.0 */
/* A farm with keys over tcp: a node of two shards, its supervisor and a client of it show each
 * other their keys; who has another key, none, or the key of another node does not get in.  The
 * supervisor gets another key. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zmq.h>

#include <cmocka.h>

#include "clock.h"
#include "crowd.h"
#include "fakenode.h"
#include "keys.h"
#include "trigd/client.h"

#define EXIT_CONFIG 64
#define LIMIT_MS    20000

static const char menu[] =
    "name: keys\n"
    "streams: [physics]\n"
    "steps: [{name: f, plugin: fault}]\n"
    "chains:\n"
    "  - {name: c, id: 1, steps: [{step: f}], prescale: 1, streams: [physics]}\n";

static struct server sup, node;
static struct keyfile sup_key, node_key, client_key, stranger_key;
static char farm_endpoint[64], client_endpoint[64], node_endpoint[64];
static void *context;

static void add_to_list(const struct server *s, const char *name, const struct keyfile *k,
                        const char *of)
{
    char path[128];
    FILE *f;

    snprintf(path, sizeof path, "%s/%s", s->folder, name);
    f = fopen(path, "a");
    assert_non_null(f);
    fprintf(f, "%s %s\n", k->public_key, of);
    assert_int_equal(fclose(f), 0);
}

/* With the keys of the test beside `config`. */
static void configure(struct server *s, const char *endpoint, const char *config)
{
    char quoted[80], text[1280];

    s->shards = 1;
    snprintf(quoted, sizeof quoted, "\"%s\"", endpoint);
    snprintf(text, sizeof text, "security: {key_file: own.key, clients_file: clients}\n%s", config);
    server_configure(s, quoted, text);
}

static void start(void **state)
{
    /* below the ports that connections get, so that the port of the second shard is free as well */
    const unsigned port = 20000 + 4 * ((unsigned)getpid() % 3000);
    char text[1024];

    (void)state;
    snprintf(farm_endpoint, sizeof farm_endpoint, "tcp://127.0.0.1:%u", port);
    snprintf(client_endpoint, sizeof client_endpoint, "tcp://127.0.0.1:%u", port + 1);
    snprintf(node_endpoint, sizeof node_endpoint, "tcp://127.0.0.1:%u", port + 2);
    server_prepare(&sup, "", menu);
    server_prepare(&node, "", menu);
    keys_make(&sup, "own.key", &sup_key);
    keys_make(&sup, "client.key", &client_key);
    keys_make(&sup, "stranger.key", &stranger_key);
    keys_make(&node, "own.key", &node_key);
    add_to_list(&sup, "nodes", &node_key, "n1");
    add_to_list(&sup, "clients", &client_key, "client");
    add_to_list(&node, "clients", &sup_key, "supervisor");
    snprintf(text, sizeof text,
             "farm: {name: s, endpoint: \"%s\", keys_file: nodes, heartbeat_ms: 50, "
             "lost_beats: 100}\n",
             farm_endpoint);
    configure(&sup, client_endpoint, text);
    snprintf(text, sizeof text,
             "devices: [{backend: cpu, lanes: 1}]\n"
             "threads: {shards: 2}\n"
             "supervisor: {name: n1, endpoints: \"%s\", key_file: \"%s/own.key.pub\"}\n",
             farm_endpoint, sup.folder);
    configure(&node, node_endpoint, text);
    sup.program = "trigsup";
    server_launch(&sup);
    server_launch(&node);
    server_wait_ready(&sup);
    fake_wait(&sup, NULL, "nodes_serving", 1, NULL, 0);
    context = zmq_ctx_new();
    assert_non_null(context);
}

/* RoIs of a client with a key are decided by a node with one. */
static void all_with_keys(void **state)
{
    const uint64_t limit = clock_ns() + LIMIT_MS * NS_PER_MS;
    struct member *m = crowd_of(1);

    (void)state;
    member_open_with(&m[0], client_endpoint, context, "client", 0, &client_key, sup_key.public_key);
    crowd_meet(m, 1);
    for (uint32_t i = 0; i < 8; i++) {
        while (member_room(&m[0]) < 64 && clock_ns() < limit)
            crowd_pump(m, 1, 5);
        member_send(&m[0], 64, i);
    }
    crowd_settle(m, 1);
    assert_int_equal(m[0].decided, 8 * 64);
    crowd_check(&sup, m, 1);
    crowd_close();
    assert_int_equal(fake_count(&sup, "n1", "shards"), 2);
    assert_int_equal(fake_count(&sup, "n1", "answered"), 8 * 64);
}

/* ---------------------------------------------------------------- who does not get in */

/* A DEALER that tells whether its handshake succeeded. */
struct caller {
    void *socket, *watch;
};

static void call(struct caller *c, const char *endpoint, const struct keyfile *keys,
                 const char *peer_key)
{
    static unsigned calls;
    char where[32];
    int linger = 0;

    snprintf(where, sizeof where, "inproc://call-%u", ++calls);
    c->socket = zmq_socket(context, ZMQ_DEALER);
    assert_non_null(c->socket);
    zmq_setsockopt(c->socket, ZMQ_LINGER, &linger, sizeof linger);
    if (keys)
        keys_use(c->socket, keys, peer_key);
    assert_int_equal(zmq_socket_monitor(c->socket, where, ZMQ_EVENT_ALL), 0);
    c->watch = zmq_socket(context, ZMQ_PAIR);
    assert_non_null(c->watch);
    assert_int_equal(zmq_connect(c->watch, where), 0);
    assert_int_equal(zmq_connect(c->socket, endpoint), 0);
}

static void hang_up(struct caller *c)
{
    zmq_socket_monitor(c->socket, NULL, 0); /* an event that nobody takes would hold up libzmq */
    zmq_close(c->socket);
    zmq_close(c->watch);
}

/* The next end of a handshake. */
static unsigned end_of_handshake(struct caller *c)
{
    for (;;) {
        zmq_pollitem_t item = {.socket = c->watch, .events = ZMQ_POLLIN};
        unsigned char event[6], address[256];
        unsigned what;

        if (zmq_poll(&item, 1, LIMIT_MS) <= 0)
            fail_msg("the handshake did not end");
        assert_int_equal(zmq_recv(c->watch, event, sizeof event, 0), sizeof event);
        assert_true(zmq_recv(c->watch, address, sizeof address, 0) >= 0);
        what = event[0] | (unsigned)event[1] << 8;
        if (what & (ZMQ_EVENT_HANDSHAKE_SUCCEEDED | ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL |
                    ZMQ_EVENT_HANDSHAKE_FAILED_AUTH | ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL))
            return what;
    }
}

static void expect_refused(const char *endpoint, const struct keyfile *keys, const char *peer_key)
{
    struct caller c;

    call(&c, endpoint, keys, peer_key);
    assert_int_not_equal(end_of_handshake(&c), ZMQ_EVENT_HANDSHAKE_SUCCEEDED);
    hang_up(&c);
}

static void strangers(void **state)
{
    struct caller c;

    (void)state;
    call(&c, farm_endpoint, &node_key, sup_key.public_key); /* this one may */
    assert_int_equal(end_of_handshake(&c), ZMQ_EVENT_HANDSHAKE_SUCCEEDED);
    hang_up(&c);
    expect_refused(farm_endpoint, &stranger_key, sup_key.public_key);
    expect_refused(farm_endpoint, &client_key, sup_key.public_key); /* clients are no nodes */
    expect_refused(farm_endpoint, NULL, NULL);
    expect_refused(node_endpoint, &stranger_key, node_key.public_key); /* no supervisor */
    expect_refused(node_endpoint, &client_key, node_key.public_key);   /* clients of the farm */
    assert_int_equal(fake_count(&sup, NULL, "nodes"), 1);
}

/* The key of n1 lets in n1 alone. */
static void another_name(void **state)
{
    Trigd__Farm__V1__Enlist e;
    struct fake n = {.name = "n2"};
    char sentence[256];

    (void)state;
    n.context = context;
    n.enlist = zmq_socket(context, ZMQ_DEALER);
    assert_non_null(n.enlist);
    keys_use(n.enlist, &node_key, sup_key.public_key);
    assert_int_equal(zmq_setsockopt(n.enlist, ZMQ_LINGER, &(int){0}, sizeof(int)), 0);
    assert_int_equal(zmq_connect(n.enlist, farm_endpoint), 0);
    snprintf(n.endpoint, sizeof n.endpoint, "tcp://127.0.0.1:9");
    fake_enlist(&n, &e);
    snprintf(sentence, sizeof sentence,
             "it is called n2, and its key is that of node n1 in %s/nodes", sup.folder);
    fake_expect_refused(&n, &e, sentence);
    zmq_close(n.enlist);
}

/* ---------------------------------------------------------------- past the supervisor */

static void count_end(void *arg, const struct trg_client_end *end)
{
    *(uint32_t *)arg += end->kind == TRG_CLIENT_DECIDED && end->status == TRG_CLIENT_OK;
}

static struct trg_client *open_client(uint32_t *decided)
{
    struct trg_client_options o = TRG_CLIENT_OPTIONS_INIT;
    struct trg_client *c;
    char own[128], server[128], why[256];

    snprintf(own, sizeof own, "%s/client.key", sup.folder);
    snprintf(server, sizeof server, "%s/own.key.pub", sup.folder);
    o.endpoint = client_endpoint;
    o.name = "direct";
    o.key_file = own;
    o.server_key_file = server;
    o.reaches_nodes = true;
    o.ended = count_end;
    o.arg = decided;
    if (trg_client_open(&o, &c, why, sizeof why) < 0)
        fail_msg("%s", why);
    return c;
}

/* Sends large RoIs and waits for all decisions. */
static void send_large(struct trg_client *c, uint32_t rois)
{
    static float column[3000];
    static uint8_t layer[3000];
    static const struct trg_client_items items = {
        .declaration = &trg_spacepoints, .column = {column, column, column, layer}, .n = 3000};
    struct trg_client_roi roi = {
        .info = {.run = 1, .phi_half_rad = 4}, .collections = &items, .n_collections = 1};

    for (uint32_t i = 0; i < rois; i++) {
        roi.info.l1id = i;
        assert_int_equal(trg_client_await_room(c, 1, LIMIT_MS), 0);
        assert_int_equal(trg_client_send(c, &roi, 1), 0);
    }
    assert_int_equal(trg_client_drain(c, LIMIT_MS), 0);
}

/* A node does not let the client in: its RoIs come through the supervisor after all. */
static void kept_out_by_a_node(void **state)
{
    uint32_t decided = 0;
    struct trg_client *c = open_client(&decided);

    (void)state;
    send_large(c, 3);
    trg_client_close(c);
    assert_int_equal(decided, 3);
    assert_in_range(fake_count(&sup, "n1", "unused"), 1, 3);
    assert_int_equal(fake_count(&sup, NULL, "fetched"), 3);
    fake_check_accounts(&sup);
}

/* A client whose key the nodes list as well sends them large RoIs; it meets them by their keys, and
 * its passes are good for its own key alone. */
static void straight_to_a_node(void **state)
{
    const uint64_t addressed = fake_count(&sup, "n1", "addressed"),
                   unused = fake_count(&sup, "n1", "unused");
    uint32_t decided = 0;
    struct trg_client *c;

    (void)state;
    add_to_list(&node, "clients", &client_key, "client");
    c = open_client(&decided);
    send_large(c, 50);
    trg_client_close(c);
    assert_int_equal(decided, 50);
    assert_true(fake_count(&sup, "n1", "addressed") - addressed >
                fake_count(&sup, "n1", "unused") - unused); /* some came */
    fake_check_accounts(&sup);
}

/* ---------------------------------------------------------------- another key of the supervisor */

static void rename_in(const struct server *s, const char *from, const char *to)
{
    char a[128], b[128];

    snprintf(a, sizeof a, "%s/%s", s->folder, from);
    snprintf(b, sizeof b, "%s/%s", s->folder, to);
    assert_int_equal(rename(a, b), 0);
}

/* Tries until the key of the other side is this one. */
static void wait_for_key(const char *endpoint, const struct keyfile *keys, const char *peer_key)
{
    const uint64_t limit = clock_ns() + LIMIT_MS * NS_PER_MS;
    struct caller c;

    call(&c, endpoint, keys, peer_key);
    while (end_of_handshake(&c) != ZMQ_EVENT_HANDSHAKE_SUCCEEDED)
        assert_true(clock_ns() < limit);
    hang_up(&c);
}

/* The supervisor takes it while it runs, and its node goes on; when the supervisor comes again the
 * node finds it by the new key. */
static void another_key(void **state)
{
    const struct keyfile before = sup_key;
    uint32_t decided = 0;
    struct trg_client *c;

    (void)state;
    keys_make(&sup, "next.key", &sup_key);
    add_to_list(&node, "clients", &sup_key, "supervisor");
    rename_in(&sup, "next.key", "own.key");
    rename_in(&sup, "next.key.pub", "own.key.pub");
    wait_for_key(farm_endpoint, &node_key, sup_key.public_key);
    wait_for_key(client_endpoint, &client_key, sup_key.public_key);
    expect_refused(farm_endpoint, &node_key, before.public_key);
    expect_refused(client_endpoint, &client_key, before.public_key);
    c = open_client(&decided);
    send_large(c, 10);
    trg_client_close(c);
    assert_int_equal(decided, 10);
    assert_int_equal(fake_count(&sup, NULL, "nodes_lost"), 0);
    assert_int_equal(server_end(&sup, SIGTERM, 20), 0);
    server_launch(&sup);
    server_wait_ready(&sup);
    fake_wait(&sup, NULL, "nodes_serving", 1, NULL, 0);
    all_with_keys(state);
}

/* ---------------------------------------------------------------- configurations */

static void expect_config(const char *program, const char *text)
{
    struct server s;

    server_prepare(&s, text, menu);
    s.program = program;
    server_launch(&s);
    assert_int_equal(server_wait_end(&s, 30), EXIT_CONFIG);
    server_clean(&s);
}

static void careless_configurations(void **state)
{
    (void)state;
    expect_config("trigsup", "farm: {keys_file: nodes}\n");
    expect_config("trigsup", "farm: {endpoint: \"tcp://0.0.0.0:5710\"}\n");
    expect_config("trigd", "supervisor: {endpoints: \"tcp://127.0.0.1:1\", key_file: k}\n");
    expect_config("trigd", "supervisor: {endpoints: \"tcp://127.0.0.1:1, tcp://10.0.0.1:1\"}\n");
}

static void end(void **state)
{
    (void)state;
    crowd_close(); /* after a failure */
    zmq_ctx_term(context);
    server_stop(&node);
    server_stop(&sup);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(start),
        cmocka_unit_test(all_with_keys),
        cmocka_unit_test(strangers),
        cmocka_unit_test(another_name),
        cmocka_unit_test(kept_out_by_a_node),
        cmocka_unit_test(straight_to_a_node),
        cmocka_unit_test(another_key),
        cmocka_unit_test(careless_configurations),
        cmocka_unit_test(end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
