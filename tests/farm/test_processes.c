/* SPDX-License-Identifier: Apache-2.0 */
/* A farm of processes under load: nodes are killed, stopped, cut off, reloaded and replaced, and a
 * supervisor ends.  Every RoI has one decision, and the accounts of supervisor, nodes and client
 * agree. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <zmq.h>

#include <cmocka.h>

#include "clock.h"
#include "fakenode.h"
#include "island.h"
#include "sharer.h"

#define NODES   3u
#define SHARDED 1u  /* a node with two shards */
#define FAR     2u  /* a node that its supervisors reach over a network, where there is one */
#define WINDOW  24u /* RoIs of the client in flight */
#define BATCH   4u
#define MOST    262144u
#define WAIT_NS (60 * NS_PER_S)
#define BEATS   "heartbeat_ms: 50, lost_beats: 20" /* sanitizers on a busy machine are slow */

static const char config[] = "devices: [{backend: cpu, lanes: 1}]\n"
                             "limits: {soft_ms: 0, hard_ms: 60000, drain_ms: 5000}\n"
                             "clients: {credits: 64}\n"
                             "batching: {max_rois: 8, max_age_us: 500}\n"
                             "debug_stream: {folder: \"\"}\n"
                             "security: {allow_plain_tcp: true}\n"
                             "accounts_dir: \"\"\n";
static const char supervisor_config[] = "limits: {soft_ms: 0, hard_ms: 60000, drain_ms: 5000}\n"
                                        "security: {allow_plain_tcp: true}\n";
static char menu[512];

static struct server sup[2], node[NODES];

/* The menu's cut is also in what it decides: RoIs have 50 spacepoints. */
static void make_menu(unsigned min)
{
    snprintf(menu, sizeof menu,
             "name: farm\n"
             "streams: [physics]\n"
             "steps: [{name: f, plugin: fault, params: {stall_ms: 1}}]\n"
             "chains:\n"
             "  - {name: c, id: 1, steps: [{step: f, cuts: [{value: n, min: %u}]}],\n"
             "     prescale: 1, streams: [physics]}\n",
             min);
}

/* ---------------------------------------------------------------- the client */

struct load {
    struct link link;
    uint32_t sent, decided, accepted, failed, credits;
    uint8_t seen[MOST];
};
static struct load load;

static void say_hello(struct load *l)
{
    l->credits = link_hello_key(&l->link, "load", "the farm's client");
}

static void send_from(struct load *l, uint32_t first, uint32_t n)
{
    struct roi_spec specs[BATCH];

    for (uint32_t i = 0; i < n; i++)
        specs[i] = (struct roi_spec){.token = first + i, .l1id = first + i, .roi_id = 1, .n = 50};
    link_send_rois(&l->link, specs, n);
}

static void take_decisions(struct load *l, const Trigd__V1__DecisionBatch *d)
{
    for (size_t i = 0; i < d->n_decisions; i++) {
        const Trigd__V1__Decision *one = d->decisions[i];

        assert_true(one->token < l->sent && one->l1id == one->token);
        assert_int_equal(l->seen[one->token]++, 0);
        l->decided++;
        l->accepted += one->accept != 0;
        l->failed += one->status != TRIGD__V1__STATUS__OK;
    }
}

/* Receives what comes within `ms`. */
static void receive(struct load *l, int ms)
{
    const Trigd__V1__FromDaemon *m = link_receive(&l->link, ms);

    if (!m)
        return;
    if (m->body_case == TRIGD__V1__FROM_DAEMON__BODY_CREDIT)
        l->credits = m->credit->credits;
    else if (m->body_case == TRIGD__V1__FROM_DAEMON__BODY_DECISIONS)
        take_decisions(l, m->decisions);
    else
        fail_msg("an answer of kind %d", (int)m->body_case);
}

static void pump(struct load *l)
{
    const uint32_t window = l->credits < WINDOW ? l->credits : WINDOW;

    while (l->sent - l->decided + BATCH <= window && l->sent + BATCH <= MOST) {
        send_from(l, l->sent, BATCH);
        l->sent += BATCH;
    }
    receive(l, 5);
    nanosleep(&(struct timespec){.tv_nsec = 500000}, NULL);
}

static void pump_for(struct load *l, uint32_t rois)
{
    const uint64_t limit = clock_ns() + WAIT_NS;
    const uint32_t until = l->decided + rois;

    while (l->decided < until) {
        pump(l);
        if (clock_ns() > limit)
            fail_msg("only %u of %u RoIs are decided", l->decided, l->sent);
    }
}

/* Pumps until a counter of the first supervisor has at least that value. */
static void pump_until(struct load *l, const char *of_node, const char *name, uint64_t value)
{
    const uint64_t limit = clock_ns() + WAIT_NS;

    while (fake_count(&sup[0], of_node, name) < value) {
        pump(l);
        if (clock_ns() > limit)
            fail_msg("%s did not become %llu", name, (unsigned long long)value);
    }
}

static void finish(struct load *l)
{
    const uint64_t limit = clock_ns() + WAIT_NS;

    while (l->decided < l->sent) {
        receive(l, 50);
        if (clock_ns() > limit)
            fail_msg("only %u of %u RoIs are decided", l->decided, l->sent);
    }
    assert_int_equal(l->failed, 0);
}

/* ---------------------------------------------------------------- the farm */

/* Where nodes enlist with a supervisor.  A node at another address connects from there. */
static void place_of(uint32_t supervisor, const char *from, char *to, size_t bytes)
{
    if (island_is_there())
        snprintf(to, bytes, "tcp://%s10.9.0.1:571%u", from, supervisor);
    else
        snprintf(to, bytes, "ipc://%s/nodes", sup[supervisor].folder);
}

static void start_supervisor(uint32_t i)
{
    char farm[256], place[96] = "";

    if (island_is_there())
        snprintf(place, sizeof place, "endpoint: \"tcp://10.9.0.1:571%u\", ", i);
    snprintf(farm, sizeof farm, "%sname: s%u, " BEATS, place, i);
    fake_supervisor(&sup[i], supervisor_config, farm, menu);
}

static void prepare_node(uint32_t i)
{
    const bool is_far = i == FAR && island_is_there();
    char text[1024], place[2][128];

    for (uint32_t k = 0; k < 2; k++)
        place_of(k, is_far ? "10.9.0.2:0;" : "", place[k], sizeof place[k]);
    snprintf(text, sizeof text, "%s%ssupervisor: {name: n%u, endpoints: \"%s, %s\"%s}\n", config,
             i == SHARDED ? "threads: {shards: 2}\n" : "", i, place[0], place[1],
             is_far ? ", reach: \"tcp://10.9.0.2:5720\"" : "");
    if (is_far)
        sharer_prepare(&node[i], "\"tcp://10.9.0.2:5720\"", text, menu);
    else
        server_prepare(&node[i], text, menu);
    node[i].shards = 1;
}

static void join_island(void)
{
    for (unsigned i = 1; i <= 2; i++)
        assert_int_equal(island_join(i), 0);
}

static void start(void **state)
{
    (void)state;
    make_menu(10);
    if (island_is_there())
        join_island();
    for (uint32_t i = 0; i < 2; i++)
        start_supervisor(i);
    for (uint32_t i = 0; i < NODES; i++) {
        prepare_node(i);
        server_launch(&node[i]);
    }
    for (uint32_t i = 0; i < 2; i++) {
        server_wait_ready(&sup[i]);
        fake_wait(&sup[i], NULL, "nodes_serving", NODES, NULL, 0);
    }
    link_open(&load.link, &sup[0]);
    say_hello(&load);
    pump_for(&load, 200);
    finish(&load);
    fake_check_accounts(&sup[0]);
}

/* What nodes received, by their own ledgers, is what the farm gave them: an RoI again where a node
 * was late on a busy host. */
static void nodes_agree(void **state)
{
    const uint64_t given = fake_count(&sup[0], NULL, "given");
    uint64_t received = 0;

    (void)state;
    for (uint32_t i = 0; i < NODES; i++)
        received += server_counter(&node[i], "received");
    assert_int_equal(load.decided, server_counter(&sup[0], "received"));
    assert_in_range(received, load.decided, given); /* the farm's account balances */
    if (fake_gave_once(&sup[0]))
        assert_int_equal(given, load.decided);
}

/* What the first supervisor gave the shard of a node that has fewest. */
static uint64_t least_of_shards(struct server *s, uint32_t shards)
{
    char *clients = server_ask(s, "show clients json");
    const char *row = clients;
    uint64_t least = UINT64_MAX;

    for (uint32_t i = 0; i < shards; i++) {
        uint64_t received;

        row = strstr(row, "\"s0\"");
        assert_non_null(row);
        row = strstr(row, "\"received\":");
        assert_non_null(row);
        received = strtoull(row + strlen("\"received\":"), NULL, 10);
        least = received < least ? received : least;
    }
    free(clients);
    return least;
}

/* RoIs go to both shards of a node that has two. */
static void both_shards(void **state)
{
    (void)state;
    while (!least_of_shards(&node[SHARDED], 2))
        pump_for(&load, 20);
    finish(&load);
    assert_int_equal(fake_count(&sup[0], "n1", "shards"), 2);
    assert_int_equal(fake_count(&sup[0], "n0", "shards"), 1);
    fake_check_accounts(&sup[0]);
}

static void node_killed(void **state)
{
    (void)state;
    pump_for(&load, 50);
    assert_int_equal(server_end(&node[0], SIGKILL, 10), 128 + SIGKILL);
    pump_until(&load, "n0", "losses", 1);
    server_launch(&node[0]);
    pump_until(&load, NULL, "nodes_serving", NODES);
    pump_until(&load, "n0", "answered", fake_count(&sup[0], "n0", "given") + 1);
    finish(&load);
    fake_check_accounts(&sup[0]);
}

static void node_stopped(void **state)
{
    (void)state;
    pump_for(&load, 50);
    kill(node[1].pid, SIGSTOP);
    pump_until(&load, "n1", "losses", 1);
    pump_for(&load, 50);
    kill(node[1].pid, SIGCONT);
    pump_until(&load, NULL, "nodes_serving", NODES);
    finish(&load);
    fake_check_accounts(&sup[0]);
    server_check_ledger(&node[1]);
}

/* The network of a node is cut, and comes back. */
static void node_cut(void **state)
{
    (void)state;
    if (!island_is_there())
        skip(); /* this machine gives no network of its own */
    pump_for(&load, 50);
    assert_int_equal(island_cut(2), 0);
    pump_until(&load, "n2", "losses", 1);
    pump_for(&load, 50);
    finish(&load);
    assert_int_equal(island_join(2), 0);
    pump_until(&load, NULL, "nodes_serving", NODES);
    pump_until(&load, "n2", "answered", fake_count(&sup[0], "n2", "answered") + 1);
    finish(&load);
    fake_check_accounts(&sup[0]);
    server_check_ledger(&node[2]);
}

/* A reload node by node: decisions are by the new menu at its end, and none failed. */
static void reloaded(void **state)
{
    uint32_t accepted;

    (void)state;
    make_menu(100); /* RoIs have 50 */
    for (uint32_t i = 0; i < NODES; i++)
        server_menu(&node[i], menu);
    for (uint32_t i = 0; i < 2; i++)
        server_menu(&sup[i], menu);
    pump_for(&load, 50);
    kill(sup[0].pid, SIGHUP);
    pump_until(&load, NULL, "nodes_renewed", NODES);
    finish(&load);
    accepted = load.accepted;
    assert_true(accepted > 0);
    pump_for(&load, 100);
    finish(&load);
    assert_int_equal(load.accepted, accepted);                 /* none since */
    fake_wait(&sup[1], NULL, "nodes_serving", NODES, NULL, 0); /* it goes along */
    fake_check_accounts(&sup[0]);
}

/* Nodes end one after the other, and are started again by what watches them: here the test. */
static void upgraded(void **state)
{
    const uint64_t limit = clock_ns() + WAIT_NS;
    char *answer;

    (void)state;
    pump_for(&load, 50);
    answer = server_ask(&sup[0], "upgrade");
    assert_string_equal(answer, "nodes are renewed one after the other\n\n");
    free(answer);
    while (fake_count(&sup[0], NULL, "nodes_renewed") < 2ul * NODES) {
        pump(&load);
        for (uint32_t i = 0; i < NODES; i++) {
            int status;

            if (waitpid(node[i].pid, &status, WNOHANG) != node[i].pid)
                continue;
            assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
            server_launch(&node[i]);
        }
        assert_true(clock_ns() < limit);
    }
    pump_for(&load, 50);
    finish(&load);
    fake_check_accounts(&sup[0]);
    assert_int_equal(fake_count(&sup[0], NULL, "forced"), 0);
}

/* The supervisor is killed: its client goes to the other one and sends again what has no outcome.
 */
static void second_supervisor(void **state)
{
    const uint64_t limit = clock_ns() + WAIT_NS;

    (void)state;
    pump_for(&load, 50);
    assert_int_equal(server_end(&sup[0], SIGKILL, 10), 128 + SIGKILL);
    link_close(&load.link);
    link_open(&load.link, &sup[1]);
    say_hello(&load);
    while (load.credits < WINDOW && clock_ns() < limit)
        receive(&load, 50); /* those of the first one come to the second */
    assert_true(load.credits >= WINDOW);
    for (uint32_t i = 0; i < load.sent; i++)
        if (!load.seen[i])
            send_from(&load, i, 1);
    finish(&load);
    fake_check_accounts(&sup[1]);
}

/* Another one with the name of the second: nodes stay with the one that they know. */
static void two_of_one_name(void **state)
{
    char path[128], text[4096], *nodes;
    size_t n;
    FILE *f;

    (void)state;
    snprintf(path, sizeof path, "%s/trigd.yaml", sup[0].folder);
    f = fopen(path, "r+");
    assert_non_null(f);
    n = fread(text, 1, sizeof text - 1, f);
    text[n] = '\0';
    assert_non_null(strstr(text, "name: s0"));
    *strstr(strstr(text, "name: s0"), "0") = '1';
    rewind(f);
    assert_int_equal(fwrite(text, 1, n, f), n);
    fclose(f);
    server_launch(&sup[0]);
    fake_wait_text(&sup[0], "show nodes", "two supervisors are called s1");
    nodes = server_ask(&sup[0], "show nodes");
    assert_null(strstr(nodes, "serving"));
    free(nodes);
    assert_int_equal(fake_count(&sup[1], NULL, "nodes_serving"), NODES);
}

static void end(void **state)
{
    (void)state;
    link_close(&load.link);
    fake_end_daemons(node, NODES);
    server_stop(&sup[0]);
    server_stop(&sup[1]);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(start),
        cmocka_unit_test(nodes_agree),
        cmocka_unit_test(both_shards),
        cmocka_unit_test(node_killed),
        cmocka_unit_test(node_stopped),
        cmocka_unit_test(node_cut),
        cmocka_unit_test(reloaded),
        cmocka_unit_test(upgraded),
        cmocka_unit_test(second_supervisor),
        cmocka_unit_test(two_of_one_name),
        cmocka_unit_test(end),
    };

    (void)argc;
    island_enter(argv);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
