/* SPDX-License-Identifier: Apache-2.0 */
/* RoIs that are sent again: answered with the decision that was made, once for each question, over
 * new connections and, marked as repeated, over the end of the daemon.  Over ipc, tcp and tcp with
 * keys, with one shard and with three; test_recall_shards.c has the same over shared memory. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "fault.h"
#include "flow/recall.h"
#include "keys.h"
#include "replayer.h"
#include "shard_endpoint.h"
#include "sharer.h"

#define N 8u

static const char config[] = "devices: [{backend: cpu, lanes: 1}]\n"
                             "limits: {soft_ms: 0, hard_ms: 60000}\n"
                             "batching: {max_rois: 8, max_age_us: 500}\n";
static const char menu[] = "name: recall\n"
                           "streams: [physics]\n"
                           "steps: [{name: f, plugin: fault, params: {stall_ms: 500}}]\n"
                           "chains:\n"
                           "  - {name: c, id: 1, steps: [{step: f, cuts: [{value: n, min: 10}]}],\n"
                           "     prescale: 1, streams: [physics]}\n";

/* ---------------------------------------------------------------- the memory */

static void last_ones_are_remembered(void **state)
{
    Trigd__V1__Decision d = TRIGD__V1__DECISION__INIT, *back;
    struct recall_key key = {.client = 7, .run = 1};
    struct recall_asker asker = {.client = 3, .epoch = 4, .token = 5}, got;
    struct recall *r;
    uint32_t entry;

    (void)state;
    assert_int_equal(recall_new(32, &r), 0);
    for (uint32_t i = 0; i < 100; i++) {
        key.l1id = d.l1id = i;
        entry = recall_enter(r, &key, 1000 + i);
        assert_int_not_equal(entry, RECALL_NONE);
        assert_int_equal(recall_find(r, &key), entry);
        assert_int_equal(recall_pending(r, entry), 1000 + i);
        assert_false(recall_keep(r, entry, &d, &got));
        assert_int_equal(recall_pending(r, entry), RECALL_NONE);
    }
    for (uint32_t i = 0; i < 100; i++) {
        key.l1id = i;
        entry = recall_find(r, &key);
        assert_int_equal(entry != RECALL_NONE, i >= 68);
        if (entry == RECALL_NONE)
            continue;
        back = recall_decision(r, entry);
        assert_non_null(back);
        assert_int_equal(back->l1id, i);
        trigd__v1__decision__free_unpacked(back, NULL);
    }
    key.client = 8; /* another's */
    assert_int_equal(recall_find(r, &key), RECALL_NONE);
    entry = recall_enter(r, &key, 1);
    recall_wait(r, entry, &asker);
    assert_true(recall_drop(r, entry, &got));
    assert_true(got.client == 3 && got.epoch == 4 && got.token == 5);
    assert_int_equal(recall_find(r, &key), RECALL_NONE);
    recall_free(r);
}

/* What is pending is never forgotten; what finds no place is not remembered. */
static void pending_ones_stay(void **state)
{
    struct recall_key key = {.client = 1};
    struct recall *r;

    (void)state;
    assert_int_equal(recall_new(8, &r), 0);
    for (uint32_t i = 0; i < 12; i++) {
        key.roi_id = i;
        assert_int_equal(recall_enter(r, &key, i) != RECALL_NONE, i < 8);
    }
    for (uint32_t i = 0; i < 12; i++) {
        key.roi_id = i;
        assert_int_equal(recall_find(r, &key) != RECALL_NONE, i < 8);
    }
    recall_free(r);
}

/* ---------------------------------------------------------------- the daemon */

enum way { OVER_IPC, OVER_TCP, OVER_CURVE };
static enum way over_ipc = OVER_IPC, over_tcp = OVER_TCP, over_curve = OVER_CURVE;

static struct route { /* by which clients come */
    enum way way;
    char endpoint[128];
    struct keyfile daemon, client;
} route;

/* Keys of the daemon and of a client that is on its list; trigreplay takes them too. */
static void make_keys(const struct server *s)
{
    char path[160];
    FILE *f;

    keys_make(s, "daemon.key", &route.daemon);
    keys_make(s, "client.key", &route.client);
    snprintf(path, sizeof path, "%s/clients", s->folder);
    f = fopen(path, "w");
    assert_non_null(f);
    fprintf(f, "%s client\n", route.client.public_key);
    assert_int_equal(fclose(f), 0);
    snprintf(path, sizeof path, "%s/client.key", s->folder);
    setenv("TRIGD_KEY", path, 1);
    snprintf(path, sizeof path, "%s/daemon.key.pub", s->folder);
    setenv("TRIGD_SERVER_KEY", path, 1);
}

/* A daemon with an endpoint of that kind. */
static void begin(struct server *s, const enum way *way, const char *text)
{
    char all[1024];

    memset(&route, 0, sizeof route);
    route.way = *way;
    unsetenv("TRIGD_KEY");
    unsetenv("TRIGD_SERVER_KEY");
    if (*way == OVER_IPC) {
        server_start(s, text, menu);
        return;
    }
    snprintf(route.endpoint, sizeof route.endpoint, "tcp://127.0.0.1:%u", sharer_free_port());
    snprintf(all, sizeof all, "%sclients: {shm_mbytes: 1}\n%s", text,
             *way == OVER_CURVE ? "security: {key_file: daemon.key, clients_file: clients}\n" : "");
    sharer_prepare(s, route.endpoint, all, menu);
    if (*way == OVER_CURVE)
        make_keys(s);
    server_spawn(s);
}

static void open_at(struct link *l, const struct server *s, uint32_t shard)
{
    const char *first = route.way == OVER_IPC ? s->endpoint : route.endpoint;
    char endpoint[160];

    assert_int_equal(shard_endpoint(first, shard, endpoint, sizeof endpoint), 0);
    link_open_with(l, endpoint, route.way == OVER_CURVE ? &route.client : NULL,
                   route.daemon.public_key);
}

/* A client at the shard to which the daemon sends it. */
static void open_link(struct link *l, const struct server *s, const char *name, const char *key)
{
    Trigd__V1__Hello hello = TRIGD__V1__HELLO__INIT;
    uint32_t shard;

    hello.may_move = true;
    hello.key.data = (uint8_t *)(uintptr_t)key;
    hello.key.len = strlen(key);
    open_at(l, s, 0);
    shard = link_hello_with(l, name, &hello)->shard;
    if (!shard)
        return;
    link_close(l);
    open_at(l, s, shard);
    assert_int_equal(link_hello_with(l, name, &hello)->shard, 0);
}

static void open_with_key(struct link *l, const struct server *s, const char *key)
{
    open_link(l, s, "asker", key);
}

static void send_all(struct link *l, uint64_t first_token, uint32_t fault)
{
    struct roi_spec specs[N];

    for (uint32_t i = 0; i < N; i++)
        specs[i] = (struct roi_spec){
            .token = first_token + i, .l1id = i, .roi_id = i == 0 ? fault : 1, .n = i % 2 ? 50 : 5};
    link_send_rois(l, specs, N);
}

/* Wants one decision for each RoI, all repeated or none. */
static void expect_all(struct link *l, uint64_t first_token, bool repeated)
{
    uint32_t seen = 0;

    while (seen != (1u << N) - 1) {
        const Trigd__V1__FromDaemon *m = link_receive(l, 20000);

        assert_non_null(m);
        if (m->body_case == TRIGD__V1__FROM_DAEMON__BODY_CREDIT)
            continue;
        assert_int_equal(m->body_case, TRIGD__V1__FROM_DAEMON__BODY_DECISIONS);
        for (size_t i = 0; i < m->decisions->n_decisions; i++) {
            const Trigd__V1__Decision *d = m->decisions->decisions[i];
            const uint32_t k = (uint32_t)(d->token - first_token);

            assert_true(k < N && !(seen >> k & 1));
            seen |= 1u << k;
            assert_int_equal(d->l1id, k);
            assert_int_equal(d->repeated, repeated);
            assert_true(d->menu_key != 0);
            assert_int_equal(d->accept, k % 2);
            assert_int_equal(d->n_results, 1);
            assert_true(d->results[0]->values[0] == (k % 2 ? 50.0f : 5.0f));
        }
    }
}

/* Nothing more comes. */
static void expect_silence(struct link *l)
{
    const Trigd__V1__FromDaemon *m;

    while ((m = link_receive(l, 100)) != NULL)
        assert_int_not_equal(m->body_case, TRIGD__V1__FROM_DAEMON__BODY_DECISIONS);
}

static void the_same_decision_again(void **state)
{
    struct server s;
    struct link l, other, plain;

    begin(&s, *state, config);
    open_with_key(&l, &s, "one");
    send_all(&l, 0, 1);
    expect_all(&l, 0, false);
    for (uint32_t i = 1; i < 4; i++) { /* any number of times, under other tokens */
        send_all(&l, 100 * i, 1);
        expect_all(&l, 100 * i, true);
    }
    assert_int_equal(server_counter(&s, "received"), N);
    server_wait_counter(&s, "repeated", 3 * N); /* it counts after the answer */
    link_close(&l);
    open_with_key(&other, &s, "another"); /* the same events, not the same client */
    send_all(&other, 0, 1);
    expect_all(&other, 0, false);
    open_with_key(&l, &s, "one"); /* a new connection of the same client */
    send_all(&l, 0, 1);
    expect_all(&l, 0, true);
    open_link(&plain, &s, "plain", ""); /* without a key they are decided again */
    for (uint32_t i = 0; i < 2; i++) {
        send_all(&plain, 0, 1);
        expect_all(&plain, 0, false);
    }
    assert_int_equal(server_counter(&s, "received"), 4 * N);
    server_check_ledger(&s);
    link_close(&plain);
    link_close(&l);
    link_close(&other);
    server_stop(&s);
}

/* Sent again while they are in flight: over the same connection they are answered once, over a new
 * one there. */
static void in_flight(void **state)
{
    struct server s;
    struct link l, again;

    begin(&s, *state, config);
    open_with_key(&l, &s, "one");
    send_all(&l, 0, FAULT_STALL);
    send_all(&l, 0, FAULT_STALL);
    expect_all(&l, 0, false);
    expect_silence(&l);
    assert_int_equal(server_counter(&s, "received"), N);
    link_close(&l);
    open_with_key(&l, &s, "two");
    send_all(&l, 0, FAULT_STALL);
    server_wait_counter(&s, "received", 2 * N);
    link_close(&l);
    open_with_key(&again, &s, "two");
    send_all(&again, 0, FAULT_STALL);
    expect_all(&again, 0, true);
    expect_silence(&again);
    assert_int_equal(server_counter(&s, "received"), 2 * N);
    server_wait_counter(&s, "in_flight", 0);
    server_check_ledger(&s);
    link_close(&again);
    server_stop(&s);
}

/* ---------------------------------------------------------------- the end of the daemon */

/* At 3,000 a second: on a busy machine the daemon has to be killed twice before the last. */
#define SENT "9000"

/* kill -9 of the daemon under load: the next one decides what the first one had, marked. */
static void over_the_end_of_the_daemon(void **state)
{
    const struct timespec while_it_runs = {.tv_nsec = 300000000};
    struct server s;
    pid_t pid;

    begin(&s, *state,
          "devices: [{backend: cpu, lanes: 1}]\nlimits: {soft_ms: 0, hard_ms: 0}\n"
          "batching: {max_age_us: 50000, eager: false}\n");
    pid = replayer_start(&s, route.way == OVER_IPC ? s.endpoint : route.endpoint, "report",
                         (const char *const[]){"--rois", SENT, "--pace", "rate:3000",
                                               "--connections", "2", "--key", NULL});
    for (uint32_t i = 0; i < 2; i++) {
        /* the replayer takes long on a busy machine to find the daemon */
        server_wait_row(&s, "info", NULL, "received", 1, UINT64_MAX);
        nanosleep(&while_it_runs, NULL);
        assert_int_equal(server_end(&s, SIGKILL, 20), 128 + SIGKILL);
        server_spawn(&s);
    }
    replayer_end(pid); /* each RoI was answered once */
    assert_int_equal(replayer_number(&s, "report", "decided"), strtoul(SENT, NULL, 10));
    assert_true(replayer_number(&s, "report", "resent") > 0);
    /* one that was in flight at both ends was sent again twice and decided once */
    assert_true(replayer_number(&s, "report", "repeated") > 0);
    assert_true(replayer_number(&s, "report", "repeated") <=
                replayer_number(&s, "report", "resent"));
    server_check_ledger(&s);
    server_stop(&s);
}

#define OVER_ALL(test)                                                                      \
    cmocka_unit_test_prestate(test, &over_ipc), cmocka_unit_test_prestate(test, &over_tcp), \
        cmocka_unit_test_prestate(test, &over_curve)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(last_ones_are_remembered), cmocka_unit_test(pending_ones_stay),
        OVER_ALL(the_same_decision_again),          OVER_ALL(in_flight),
        OVER_ALL(over_the_end_of_the_daemon),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
