/* SPDX-License-Identifier: Apache-2.0 */
/* Keys over tcp: who is on the list gets in, nobody else does, and the list may change. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <zmq.h>

#include <cmocka.h>

#include "crowd.h"
#include "keys.h"
#include "sharer.h"

#define EXIT_CONFIG 64
#define EXIT_START  69

static const char menu[] =
    "name: curve\n"
    "streams: [physics]\n"
    "steps: [{name: f, plugin: fault}]\n"
    "chains:\n"
    "  - {name: c, id: 1, steps: [{step: f}], prescale: 1, streams: [physics]}\n";
static const char config[] = "devices: [{backend: cpu, index: 0, lanes: 1}]\n"
                             "clients: {max: 16, shm_mbytes: 1, heartbeat_ms: 20000}\n"
                             "security: {key_file: daemon.key, clients_file: clients}\n";

struct setup {
    struct server server;
    char tcp[64];
    void *context;
    struct keyfile daemon, anna, otto, stranger;
};
static struct setup one;

/* The list of clients; NULL: no second one.  A key in a comment, however long, is none of them. */
static void allow(const struct server *s, const struct keyfile *first, const struct keyfile *second)
{
    char path[128], fresh[140];
    FILE *f;

    snprintf(path, sizeof path, "%s/clients", s->folder);
    snprintf(fresh, sizeof fresh, "%s.new", path);
    f = fopen(fresh, "w");
    assert_non_null(f);
    fprintf(f, "# %0253d%s\n%s first\n", 0, one.otto.public_key, first->public_key);
    if (second)
        fprintf(f, "%s second\n", second->public_key);
    assert_int_equal(fclose(f), 0);
    assert_int_equal(rename(fresh, path), 0);
}

static int start(void **state)
{
    memset(&one, 0, sizeof one);
    snprintf(one.tcp, sizeof one.tcp, "tcp://127.0.0.1:%u", sharer_free_port());
    sharer_prepare(&one.server, one.tcp, config, menu);
    keys_make(&one.server, "daemon.key", &one.daemon);
    keys_make(&one.server, "anna.key", &one.anna);
    keys_make(&one.server, "otto.key", &one.otto);
    keys_make(&one.server, "stranger.key", &one.stranger);
    allow(&one.server, &one.anna, NULL);
    one.context = zmq_ctx_new();
    assert_non_null(one.context);
    *state = &one;
    return 0;
}

static int stop(void **state)
{
    struct setup *s = *state;

    crowd_close();
    zmq_ctx_term(s->context);
    if (s->server.pid)
        assert_int_equal(server_end(&s->server, SIGTERM, 30), 0);
    server_clean(&s->server);
    return 0;
}

/* A client with keys: `server` is the daemon's public key that it expects. */
static void join(struct setup *s, struct member *m, const struct keyfile *keys, const char *server)
{
    member_open_with(m, s->tcp, s->context, "curve", 0, keys, server);
}

static void serve(struct member *m, uint32_t n)
{
    crowd_meet(m, n);
    for (uint32_t i = 0; i < n; i++)
        member_send(&m[i], 50, 0);
    crowd_settle(m, n);
}

static void the_list_decides(void **state)
{
    struct setup *s = *state;
    struct member *m = crowd_of(9);
    const char *server = s->daemon.public_key;

    server_spawn(&s->server);
    join(s, &m[0], &s->anna, server);
    member_open(&m[1], &s->server, s->context, false, "ipc", 0); /* the host's own users */
    member_open(&m[2], &s->server, s->context, true, "shm", 0);
    serve(m, 3);
    join(s, &m[3], &s->otto, server);             /* not on the list */
    join(s, &m[4], &s->anna, s->otto.public_key); /* expects another daemon */
    join(s, &m[5], NULL, NULL);                   /* without keys */
    crowd_pump(m, 6, 1000);
    for (uint32_t i = 3; i < 6; i++)
        assert_false(m[i].is_welcome);
    allow(&s->server, &s->anna, &s->otto);
    join(s, &m[8], &s->otto, server);
    crowd_meet(&m[8], 1);
    member_send(&m[8], 50, 0);
    crowd_settle(&m[8], 1);
    allow(&s->server, &s->otto, NULL); /* anna's connection ends, and her next one is refused */
    server_wait_counter(&s->server, "cut_off", 1);
    server_wait_counter(&s->server, "clients", 3);
    join(s, &m[6], &s->anna, server);
    join(s, &m[7], &s->otto, server);
    crowd_meet(&m[7], 1);
    crowd_pump(m, 9, 500);
    assert_false(m[6].is_welcome);
    member_send(&m[8], 50, 0); /* otto's is the connection that he had */
    crowd_settle(&m[8], 1);
    assert_int_equal(server_counter(&s->server, "cut_off"), 1);
    crowd_check(&s->server, m, 9);
}

static void expect_end(struct setup *s, const char *text, int code)
{
    struct server copy = s->server;
    char path[128];
    FILE *f;

    snprintf(path, sizeof path, "%s/trigd.yaml", copy.folder);
    f = fopen(path, "w");
    assert_non_null(f);
    assert_true(fputs(text, f) >= 0);
    assert_int_equal(fclose(f), 0);
    server_launch(&copy);
    assert_int_equal(server_wait_end(&copy, 30), code);
}

/* Nothing is open to the network by accident, and no secret lies open. */
static void careless_configurations(void **state)
{
    struct setup *s = *state;
    char path[128];

    expect_end(s, "menu: menu.yaml\nendpoints: [\"tcp://0.0.0.0:0\"]\n", EXIT_CONFIG);
    expect_end(s, "menu: menu.yaml\nendpoints: [\"tcp://*:0\"]\n", EXIT_CONFIG);
    expect_end(s, "menu: menu.yaml\nsecurity: {key_file: daemon.key}\n", EXIT_CONFIG);
    expect_end(s,
               "menu: menu.yaml\ncontrol: {socket: \"\"}\nhttp: {address: \"\"}\n"
               "endpoints: [\"tcp://127.0.0.1:*\"]\n"
               "security: {key_file: no.key, clients_file: clients}\n",
               EXIT_START);
    snprintf(path, sizeof path, "%s/daemon.key", s->server.folder);
    assert_int_equal(chmod(path, 0644), 0);
    expect_end(s,
               "menu: menu.yaml\ncontrol: {socket: \"\"}\nhttp: {address: \"\"}\n"
               "endpoints: [\"tcp://127.0.0.1:*\"]\n"
               "security: {key_file: daemon.key, clients_file: clients}\n",
               EXIT_START);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(the_list_decides, start, stop),
        cmocka_unit_test_setup_teardown(careless_configurations, start, stop),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
