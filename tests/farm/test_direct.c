/* SPDX-License-Identifier: Apache-2.0 */
/* A farm of processes and the client library: large RoIs go to the nodes themselves, while nodes
 * are killed and stopped, and the supervisor ends.  Each RoI ends once, and the accounts agree.  A
 * node refuses passes that do not hold.  It takes 3 s, of which it waits two until nodes are lost.
 */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zmq.h>

#include <cmocka.h>

#include "clock.h"
#include "fakenode.h"
#include "messages.h"
#include "trigd/client.h"

#define NODES      3u
#define LARGE      3000u /* spacepoints of an RoI: 39 kB, above farm.address_kbytes */
#define SMALL      50u
#define MOST       262144u
#define WAIT       60000u
#define WINDOW     24u
#define OF_EVENT   UINT64_MAX /* or of a batch: instead of an RoI's number */
#define EVENT_L1ID 1000000u   /* of the first event of several RoIs */

static const char config[] = "devices: [{backend: cpu, lanes: 1}]\n"
                             "limits: {soft_ms: 0, hard_ms: 60000, drain_ms: 5000}\n"
                             "clients: {credits: 64}\n"
                             "batching: {max_rois: 8, max_age_us: 500}\n"
                             "debug_stream: {folder: \"\"}\n"
                             "accounts_dir: \"\"\n";
static const char farm_config[] = "limits: {soft_ms: 0, hard_ms: 60000, drain_ms: 5000}\n";
static const char menu[] = "name: direct\n"
                           "streams: [physics]\n"
                           "steps: [{name: f, plugin: fault, params: {stall_ms: 1}}]\n"
                           "chains: [{name: c, id: 1, steps: [{step: f}], streams: [physics]}]\n";

static struct server sup, node[NODES];
static float phi[LARGE], rho[LARGE], z[LARGE];
static uint8_t layer[LARGE];

/* ---------------------------------------------------------------- the client */

static struct load {
    struct trg_client *client;
    uint32_t sent, ended, failed, events, of_events;
    uint8_t seen[MOST];
    char notice[256];
} load;

static void ended(void *arg, const struct trg_client_end *end)
{
    struct load *l = arg;

    assert_int_equal(end->kind, TRG_CLIENT_DECIDED);
    if (end->user == OF_EVENT) {
        l->of_events++;
        return;
    }
    assert_true(end->user < l->sent && end->l1id == end->user + 1);
    assert_int_equal(l->seen[end->user]++, 0);
    l->failed += end->status != TRG_CLIENT_OK;
    l->ended++;
}

static void noticed(void *arg, enum trg_client_notice notice, const char *text)
{
    struct load *l = arg;

    if (notice == TRG_CLIENT_ERROR)
        snprintf(l->notice, sizeof l->notice, "%s", text);
}

static void event_ended(void *arg, const struct trg_client_event_end *end);

static struct trg_client *open_client(bool reaches_nodes)
{
    struct trg_client_options o = TRG_CLIENT_OPTIONS_INIT;
    struct trg_client *c;
    char why[256];

    o.endpoint = sup.endpoint;
    o.name = reaches_nodes ? "direct" : "indirect";
    o.key = o.name;
    o.key_bytes = strlen(o.name);
    o.reaches_nodes = reaches_nodes;
    o.ended = ended;
    o.event_ended = event_ended;
    o.noticed = noticed;
    o.arg = &load;
    if (trg_client_open(&o, &c, why, sizeof why) < 0)
        fail_msg("%s", why);
    return c;
}

static struct trg_client_stats stats(void)
{
    struct trg_client_stats s = {.size = sizeof s};

    trg_client_stats(load.client, &s);
    return s;
}

static void send_rois(uint32_t n, uint32_t points)
{
    const struct trg_client_items items = {
        .declaration = &trg_spacepoints, .column = {phi, rho, z, layer}, .n = points};

    for (uint32_t i = 0; i < n; i++) {
        /* the library keeps the pointer until the end */
        static struct trg_client_items kept[2];
        struct trg_client_roi roi = {.info = {.run = 1, .l1id = load.sent + 1, .phi_half_rad = 4},
                                     .collections = &kept[points == LARGE],
                                     .n_collections = 1,
                                     .user = load.sent};

        kept[points == LARGE] = items;
        while (load.sent - load.ended >= WINDOW)
            assert_true(trg_client_wait(load.client, WAIT) > 0);
        assert_int_equal(trg_client_await_room(load.client, 1, WAIT), 0);
        load.sent++;
        assert_int_equal(trg_client_send(load.client, &roi, 1), 0);
    }
}

static void drain(void)
{
    assert_int_equal(trg_client_drain(load.client, WAIT), 0);
    assert_int_equal(load.ended, load.sent);
    assert_int_equal(load.failed, 0);
}

/* Sends until a counter of the farm has at least that value. */
static void send_until(const char *of_node, const char *name, uint64_t value)
{
    const uint64_t limit = clock_ns() + WAIT * NS_PER_MS;

    while (fake_count(&sup, of_node, name) < value) {
        send_rois(4, LARGE);
        if (clock_ns() > limit)
            fail_msg("%s did not become %llu", name, (unsigned long long)value);
    }
}

/* ---------------------------------------------------------------- the farm */

static void start_supervisor(void)
{
    fake_supervisor(&sup, farm_config,
                    "name: s0, heartbeat_ms: 50, lost_beats: 20, address_ms: 60000", menu);
}

static void start(void **state)
{
    char text[1024];

    (void)state;
    for (uint32_t i = 0; i < LARGE; i++)
        rho[i] = 50;
    start_supervisor();
    for (uint32_t i = 0; i < NODES; i++) {
        snprintf(text, sizeof text, "%ssupervisor: {name: n%u, endpoints: \"ipc://%s/nodes\"}\n",
                 config, i, sup.folder);
        server_prepare(&node[i], text, menu);
        server_launch(&node[i]);
    }
    server_wait_ready(&sup);
    fake_wait(&sup, NULL, "nodes_serving", NODES, NULL, 0);
    load.client = open_client(true);
}

/* Large RoIs go past the supervisor, small ones through it. */
static void by_size(void **state)
{
    uint64_t received = 0, bytes, to_nodes;

    (void)state;
    send_rois(200, LARGE);
    drain();
    to_nodes = stats().to_nodes;
    assert_in_range(to_nodes, 200, 400);
    bytes = server_counter(&sup, "bytes_in");
    assert_in_range(bytes, 1, 200 * 1000); /* of 7.8 MB */
    send_rois(100, SMALL);
    drain();
    assert_int_equal(stats().to_nodes, to_nodes);
    assert_in_range(server_counter(&sup, "bytes_in"), bytes + 100 * SMALL * 13, UINT64_MAX);
    for (uint32_t i = 0; i < NODES; i++)
        received += server_counter(&node[i], "received");
    assert_int_equal(fake_count(&sup, NULL, "asked"), 200);
    assert_int_equal(fake_count(&sup, NULL, "addressed"), to_nodes);
    assert_int_equal(stats().errors, 0);
    if (fake_gave_once(&sup)) {
        assert_int_equal(to_nodes, 200);
        assert_int_equal(received, 300);
        assert_int_equal(fake_count(&sup, NULL, "given"), 300);
    }
    fake_check_accounts(&sup);
}

/* A client that does not say that it reaches nodes sends all to the supervisor. */
static void as_before(void **state)
{
    struct trg_client *other = load.client;

    (void)state;
    load.client = open_client(false);
    send_rois(50, LARGE);
    drain();
    assert_int_equal(stats().to_nodes, 0);
    trg_client_close(load.client);
    load.client = other;
    assert_int_equal(fake_count(&sup, NULL, "asked"), 200);
    fake_check_accounts(&sup);
}

/* ---------------------------------------------------------------- events */

#define PARTS 3u

static void event_ended(void *arg, const struct trg_client_event_end *end)
{
    struct load *l = arg;

    assert_int_equal(end->kind, TRG_CLIENT_DECIDED);
    assert_int_equal(end->status, TRG_CLIENT_OK);
    assert_int_equal(end->event_rois, PARTS);
    assert_int_equal(end->came, PARTS);
    assert_int_equal(end->l1id, EVENT_L1ID + l->events);
    l->events++;
}

/* Events of several RoIs are decided as a whole by one node, large and small ones. */
static void events(void **state)
{
    const struct trg_client_items items[2] = {
        {.declaration = &trg_spacepoints, .column = {phi, rho, z, layer}, .n = LARGE},
        {.declaration = &trg_spacepoints, .column = {phi, rho, z, layer}, .n = SMALL}};
    const uint64_t to_nodes = stats().to_nodes;

    (void)state;
    for (uint32_t i = 0; i < 40; i++) {
        struct trg_client_roi rois[PARTS];

        for (uint32_t k = 0; k < PARTS; k++)
            rois[k] = (struct trg_client_roi){
                .info = {.run = 1, .l1id = EVENT_L1ID + i, .roi_id = k, .phi_half_rad = 4},
                .event_rois = PARTS,
                .collections = &items[i % 2],
                .n_collections = 1,
                .user = OF_EVENT};
        assert_int_equal(trg_client_await_room(load.client, PARTS, WAIT), 0);
        assert_int_equal(trg_client_send(load.client, rois, PARTS), 0);
        assert_int_equal(trg_client_drain(load.client, WAIT), 0);
    }
    assert_int_equal(load.events, 40);
    assert_int_equal(load.of_events, 40 * PARTS);
    assert_int_equal(stats().events_accepted, 40);
    assert_in_range(stats().to_nodes - to_nodes, 20 * PARTS, 40 * PARTS);
    fake_check_accounts(&sup);
}

/* A batch that is larger than what a node takes goes to several, each with its part. */
static void in_parts(void **state)
{
    static struct trg_client_roi rois[100]; /* a node has 64 credits */
    const struct trg_client_items items = {
        .declaration = &trg_spacepoints, .column = {phi, rho, z, layer}, .n = LARGE};
    const uint64_t addressed = fake_count(&sup, NULL, "addressed");
    const uint32_t ended_before = load.of_events;

    (void)state;
    for (uint32_t k = 0; k < 100; k++)
        rois[k] = (struct trg_client_roi){
            .info = {.run = 1, .l1id = 2 * EVENT_L1ID, .roi_id = k, .phi_half_rad = 4},
            .collections = &items,
            .n_collections = 1,
            .user = OF_EVENT};
    assert_int_equal(trg_client_await_room(load.client, 100, WAIT), 0);
    assert_int_equal(trg_client_send(load.client, rois, 100), 0);
    assert_int_equal(trg_client_drain(load.client, WAIT), 0);
    assert_int_equal(load.of_events - ended_before, 100);
    assert_in_range(fake_count(&sup, NULL, "addressed") - addressed, 100, 200);
    fake_check_accounts(&sup);
}

/* ---------------------------------------------------------------- faults */

static void node_killed(void **state)
{
    (void)state;
    send_rois(50, LARGE);
    assert_int_equal(server_end(&node[0], SIGKILL, 10), 128 + SIGKILL);
    send_until("n0", "losses", 1);
    server_launch(&node[0]);
    send_until(NULL, "nodes_serving", NODES);
    send_until("n0", "answered", fake_count(&sup, "n0", "given") + 1);
    drain();
    fake_check_accounts(&sup);
}

static void node_stopped(void **state)
{
    (void)state;
    send_rois(50, LARGE);
    kill(node[1].pid, SIGSTOP);
    send_until("n1", "losses", 1);
    send_rois(20, LARGE);
    kill(node[1].pid, SIGCONT);
    send_until(NULL, "nodes_serving", NODES);
    drain();
    assert_true(fake_count(&sup, NULL, "again") > 0); /* two nodes were lost with RoIs */
    fake_check_accounts(&sup);
    server_check_ledger(&node[1]);
}

/* The supervisor ends with addresses out: its passes hold no more where it is not known. */
static void supervisor_killed(void **state)
{
    (void)state;
    send_rois(50, LARGE);
    assert_int_equal(server_end(&sup, SIGKILL, 10), 128 + SIGKILL);
    server_launch(&sup);
    server_wait_ready(&sup);
    assert_int_equal(trg_client_await_room(load.client, 1, WAIT), 0);
    fake_wait(&sup, NULL, "nodes_serving", NODES, NULL, 0);
    send_rois(50, LARGE);
    drain();
    assert_true(stats().reconnects > 0);
    fake_check_accounts(&sup);
    trg_client_close(load.client);
}

/* ---------------------------------------------------------------- passes at a node */

static struct link issuer, visitor;
static struct pass_signer signer;
static uint64_t serial;

static Trigd__V1__Welcome *say_hello(struct link *l, const struct pass_signer *s, size_t key_bytes)
{
    Trigd__V1__Hello hello = TRIGD__V1__HELLO__INIT;
    const Trigd__V1__ToDaemon m = message_hello(&hello, s ? "issuer" : "visitor");
    Trigd__V1__PassIssuer passes = TRIGD__V1__PASS_ISSUER__INIT;
    unsigned char key[PASSES_KEY];

    hello.visitor = !s;
    if (s) {
        memcpy(key, s->key, sizeof key);
        passes.issuer = s->issuer;
        passes.key.data = key;
        passes.key.len = key_bytes;
        passes.sent_ns = clock_ns();
        hello.passes = &passes;
    }
    link_send(l, &m);
    return key_bytes == PASSES_KEY ? link_expect(l, TRIGD__V1__FROM_DAEMON__BODY_WELCOME)->welcome
                                   : NULL;
}

static void issuers(void **state)
{
    (void)state;
    assert_int_equal(pass_signer_new(&signer), 0);
    link_open(&issuer, &node[2]);
    link_open(&visitor, &node[2]);
    say_hello(&issuer, &signer, 5);
    assert_string_equal(link_expect(&issuer, TRIGD__V1__FROM_DAEMON__BODY_ERROR)->error->text,
                        "the key for passes in Hello has 5 bytes; 16 are allowed");
    assert_true(say_hello(&issuer, &signer, PASSES_KEY)->takes_passes);
    assert_int_equal(say_hello(&visitor, NULL, PASSES_KEY)->credits, 0);
}

static struct route new_route(void)
{
    serial++;
    return (struct route){.n = 2,
                          .token = 1000 * serial,
                          .bytes = 200000,
                          .pass = {.serial = serial, .expires_ns = clock_ns() + WAIT * NS_PER_MS}};
}

/* The visitor sends a batch of so many RoIs (0: nothing) behind a frame. */
static void visit(const unsigned char *frame, size_t n, uint32_t rois)
{
    struct roi_spec specs[2];

    assert_int_equal(zmq_send(visitor.socket, frame, n, ZMQ_SNDMORE), n);
    for (uint32_t i = 0; i < rois; i++)
        specs[i] = (struct roi_spec){.token = i, .l1id = (uint32_t)serial, .roi_id = i, .n = LARGE};
    if (rois)
        link_send_rois(&visitor, specs, rois);
    else
        assert_int_equal(zmq_send(visitor.socket, "", 0, 0), 0);
}

static void visit_with(const struct pass_signer *s, const struct route *r, uint32_t rois)
{
    unsigned char frame[ROUTE_BYTES];

    visit(frame, pass_pack(s, r, frame), rois);
}

/* The visitor's batch has nothing in its first RoI. */
static void visit_with_second(const struct route *r)
{
    const struct roi_spec spec = {.l1id = (uint32_t)serial, .n = LARGE};
    Trigd__V1__ToDaemon m = TRIGD__V1__TO_DAEMON__INIT;
    Trigd__V1__RoiBatch batch = TRIGD__V1__ROI_BATCH__INIT;
    Trigd__V1__Roi rois[2], *list[2] = {&rois[0], &rois[1]};
    Trigd__V1__Spacepoints points;
    unsigned char frame[ROUTE_BYTES];
    const size_t n = pass_pack(&signer, r, frame);

    trigd__v1__roi__init(&rois[0]);
    roi_fill(&rois[1], &points, &spec);
    batch.n_rois = 2;
    batch.rois = list;
    m.body_case = TRIGD__V1__TO_DAEMON__BODY_BATCH;
    m.batch = &batch;
    assert_int_equal(zmq_send(visitor.socket, frame, n, ZMQ_SNDMORE), n);
    link_send(&visitor, &m);
}

/* The next message, but for credits that come and go. */
static const Trigd__V1__FromDaemon *hear(struct link *l, Trigd__V1__FromDaemon__BodyCase kind)
{
    const Trigd__V1__FromDaemon *m;

    do
        m = link_receive(l, (int)WAIT);
    while (m && m->body_case == TRIGD__V1__FROM_DAEMON__BODY_CREDIT);
    assert_non_null(m);
    assert_int_equal(m->body_case, kind);
    return m;
}

static void expect_refused(const char *sentence)
{
    const Trigd__V1__Error *e = hear(&visitor, TRIGD__V1__FROM_DAEMON__BODY_ERROR)->error;

    assert_int_equal(e->code, TRIGD__V1__ERROR__CODE__PASS);
    assert_true(!e->has_token && !strncmp(e->text, sentence, strlen(sentence)));
}

static void expect_unused(const struct route *r)
{
    const Trigd__V1__Busy *b = hear(&issuer, TRIGD__V1__FROM_DAEMON__BODY_BUSY)->busy;

    assert_int_equal(b->reason, TRIGD__V1__BUSY__REASON__UNUSED);
    assert_int_equal(b->n_tokens, 2);
    assert_true(b->tokens[0] == r->token && b->tokens[1] == r->token + 1);
}

static void passes_that_hold(void **state)
{
    struct route r = new_route();

    (void)state;
    visit_with(&signer, &r, 2);
    link_collect(&issuer, r.token, 2, NULL);
    visit_with(&signer, &r, 2);
    expect_refused("the pass was used or handed back before");
    r = new_route(); /* for one of two RoIs */
    r.is_partial = true;
    r.wanted[0] = 2;
    visit_with(&signer, &r, 2);
    link_collect(&issuer, r.token + 1, 1, NULL);
    r = new_route(); /* the other one is empty */
    r.is_partial = true;
    r.wanted[0] = 2;
    visit_with_second(&r);
    link_collect(&issuer, r.token + 1, 1, NULL);
    r = new_route(); /* the batch is not as its frame says */
    visit_with(&signer, &r, 1);
    for (uint32_t i = 0; i < 2; i++) {
        const Trigd__V1__Error *e = hear(&issuer, TRIGD__V1__FROM_DAEMON__BODY_ERROR)->error;

        assert_true(e->has_token && e->token == r.token + i);
        assert_string_equal(e->text,
                            "the routing frame is for a batch of 2 RoIs; this message has 1");
    }
}

static void passes_that_do_not(void **state)
{
    struct route r = new_route();
    struct pass_signer other = signer;
    unsigned char frame[ROUTE_BYTES];
    size_t n = pass_pack(&signer, &r, frame);

    (void)state;
    frame[16] ^= 1;
    visit(frame, n, 2);
    expect_refused("the pass is forged, or its frame was changed: the tag is wrong");
    other.issuer++;
    visit_with(&other, &r, 2);
    expect_refused("the pass is of an issuer that is no client here");
    r.pass.holder = pass_holder(&signer, "a key that the visitor has not");
    visit_with(&signer, &r, 2);
    expect_refused("the pass was given to a client with another key");
    r.pass.holder = 0;
    r.pass.expires_ns = 1;
    visit_with(&signer, &r, 2);
    expect_refused("the pass expired ");
    expect_unused(&r);
    r = new_route();
    r.bytes = 1000;
    visit_with(&signer, &r, 2);
    expect_refused("the pass is for a batch of 1000 bytes; this one has ");
    expect_unused(&r);
    r = new_route();
    visit_with(&signer, &r, 0);
    expect_unused(&r);
    visit_with(&signer, &r, 2);
    expect_refused("the pass was used or handed back before");
    server_check_ledger(&node[2]);
}

static void asks_at_a_daemon(void **state)
{
    Trigd__V1__Ask ask = TRIGD__V1__ASK__INIT;
    const Trigd__V1__ToDaemon m = message_ask(&ask, NULL, 0);

    (void)state;
    link_send(&visitor, &m);
    assert_string_equal(hear(&visitor, TRIGD__V1__FROM_DAEMON__BODY_ERROR)->error->text,
                        "a client asks the supervisor of a farm for addresses; this is a daemon");
    link_close(&visitor);
    link_close(&issuer);
}

static void end(void **state)
{
    (void)state;
    fake_end_daemons(node, NODES);
    server_stop(&sup);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(start),
        cmocka_unit_test(by_size),
        cmocka_unit_test(as_before),
        cmocka_unit_test(events),
        cmocka_unit_test(in_parts),
        cmocka_unit_test(node_killed),
        cmocka_unit_test(node_stopped),
        cmocka_unit_test(supervisor_killed),
        cmocka_unit_test(issuers),
        cmocka_unit_test(passes_that_hold),
        cmocka_unit_test(passes_that_do_not),
        cmocka_unit_test(asks_at_a_daemon),
        cmocka_unit_test(end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
