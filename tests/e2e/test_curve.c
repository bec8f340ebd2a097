/* SPDX-License-Identifier: Apache-2.0 */
/* Keys over tcp: who is on the list gets in, nobody else does; the list and the daemon's own key
 * may change. */
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
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

/* ---------------------------------------------------------------- the daemon's own key */

#define FRESH_KEYS 3u

/* Starts the daemon with its log in a file of its folder. */
static void spawn_logging(struct setup *s)
{
    const int old = dup(STDERR_FILENO);
    char path[128];
    int file;

    snprintf(path, sizeof path, "%s/log", s->server.folder);
    file = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    assert_true(old >= 0 && file >= 0 && dup2(file, STDERR_FILENO) >= 0);
    server_spawn(&s->server);
    assert_int_equal(dup2(old, STDERR_FILENO), STDERR_FILENO);
    close(old);
    close(file);
}

/* Lines of the log with all that. */
static uint32_t count_lines(const struct setup *s, const char *what, const char *also)
{
    char path[128], line[1024];
    uint32_t n = 0;
    FILE *f;

    snprintf(path, sizeof path, "%s/log", s->server.folder);
    f = fopen(path, "r");
    assert_non_null(f);
    while (fgets(line, sizeof line, f))
        n += strstr(line, what) && strstr(line, also);
    fclose(f);
    return n;
}

/* Puts a file in the place of the daemon's key; the first `n` members send all the time until the
 * log says so. */
static void put_key(struct setup *s, const char *name, struct member *m, uint32_t n,
                    const char *what, const char *also)
{
    char from[128], to[128];

    snprintf(from, sizeof from, "%s/%s", s->server.folder, name);
    snprintf(to, sizeof to, "%s/daemon.key", s->server.folder);
    assert_int_equal(rename(from, to), 0);
    for (uint32_t k = 0; k < 2000 && !count_lines(s, what, also); k++) {
        for (uint32_t i = 0; i < n; i++)
            if (member_room(&m[i]) >= 8)
                member_send(&m[i], 8, k);
        crowd_pump(m, n, 10);
    }
    assert_int_equal(count_lines(s, what, also), 1);
}

static void write_key(struct setup *s, const char *name, const char *text, mode_t mode)
{
    char path[128];
    FILE *f;

    snprintf(path, sizeof path, "%s/%s", s->server.folder, name);
    f = fopen(path, "w");
    assert_non_null(f);
    assert_true(fputs(text, f) >= 0);
    assert_int_equal(fclose(f), 0);
    assert_int_equal(chmod(path, mode), 0);
}

/* Wrong files leave the key as it is, with one sentence each. */
static void wrong_keys(struct setup *s, struct member *m, uint32_t n)
{
    static const char stays[] = "the one before stays";
    char text[256];

    write_key(s, "wrong.key", "secret 1\n", 0600);
    put_key(s, "wrong.key", m, n, stays, "with 40 characters is wanted");
    snprintf(text, sizeof text, "public %s\nsecret %s\n", s->anna.public_key, s->otto.secret_key);
    write_key(s, "wrong.key", text, 0600);
    put_key(s, "wrong.key", m, n, stays, "does not belong to the secret key");
    snprintf(text, sizeof text, "secret %s\n", s->otto.secret_key);
    write_key(s, "wrong.key", text, 0644);
    put_key(s, "wrong.key", m, n, stays, "only 0600 is allowed");
    write_key(s, "wrong.key", "# none\n", 0600);
    put_key(s, "wrong.key", m, n, stays, "has no secret key");
    crowd_pump(m, n, 1500); /* looked at again, and not said again */
    assert_int_equal(count_lines(s, stays, ""), 4);
}

/* The command in a line of `help`, with an argument that there is; false: it shows nothing. */
static bool shown_by(const char *line, char *command, size_t bytes)
{
    size_t n = strspn(line, "abcdefghijklmnopqrstuvwxyz0123456789- ");

    if (strncmp(line, "show ", 5) != 0 && strncmp(line, "dump ", 5) != 0)
        return false;
    while (line[n - 1] == ' ')
        n--;
    snprintf(command, bytes, "%.*s%s", (int)n, line,
             n == strlen("show plugin") && strncmp(line, "show plugin", n) == 0 ? " fault" : "");
    return true;
}

/* No answer of the operator's socket and no line of the log has one of these secret keys. */
static void nothing_shows(struct setup *s, const struct keyfile *const *secret, uint32_t n)
{
    char *help = server_ask(&s->server, "help"), command[80], *rest = NULL;
    uint32_t n_shown = 0;

    for (char *line = strtok_r(help, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
        for (uint32_t as_json = 0; shown_by(line, command, sizeof command) && as_json < 2;
             as_json++) {
            char words[90], *answer;

            snprintf(words, sizeof words, "%s%s", command, as_json ? " json" : "");
            answer = server_ask(&s->server, words);
            assert_true(*answer);
            for (uint32_t i = 0; i < n; i++)
                assert_null(strstr(answer, secret[i]->secret_key));
            n_shown += strncmp(answer, "error", 5) != 0;
            free(answer);
        }
    }
    free(help);
    assert_true(n_shown > 30); /* the tables, twice */
    for (uint32_t i = 0; i < n; i++)
        assert_int_equal(count_lines(s, secret[i]->secret_key, ""), 0);
}

/* Clients that are there go on, those that come need the new key, and no RoI is lost. */
static void the_own_key_changes(void **state)
{
    struct setup *s = *state;
    struct member *m = crowd_of(3 * FRESH_KEYS + 2);
    struct keyfile own[FRESH_KEYS + 1] = {s->daemon};
    const struct keyfile *const secrets[FRESH_KEYS + 3] = {&s->anna, &s->otto, &own[0],
                                                           &own[1],  &own[2],  &own[3]};
    uint32_t n = 1; /* members that are in; behind them one that is not */
    char name[32];

    spawn_logging(s);
    free(server_ask(&s->server, "set log debug"));
    join(s, &m[0], &s->anna, own[0].public_key);
    serve(m, 1);
    for (uint32_t k = 1; k <= FRESH_KEYS; k++) {
        snprintf(name, sizeof name, "next%u.key", k);
        keys_make(&s->server, name, &own[k]);
        put_key(s, name, m, n, "another own key", own[k].public_key);
        join(s, &m[n], &s->anna, own[k].public_key);
        crowd_meet(&m[n], 1);
        n++;
        join(s, &m[n], &s->anna, own[k - 1].public_key);
        crowd_pump(m, n + 1, 700);
        assert_false(m[n].is_welcome);
        member_close(&m[n]);
        memset(&m[n], 0, sizeof m[n]);
        serve(m, n);
        if (k == 1)
            wrong_keys(s, m, n);
    }
    join(s, &m[n], &s->anna, own[FRESH_KEYS].public_key);
    serve(m, n + 1);
    assert_int_equal(server_counter(&s->server, "cut_off"), 0);
    assert_int_equal(server_counter(&s->server, "clients"), n + 1);
    nothing_shows(s, secrets, FRESH_KEYS + 3);
    crowd_check(&s->server, m, n + 1);
}

/* ---------------------------------------------------------------- careless operators */

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
        cmocka_unit_test_setup_teardown(the_own_key_changes, start, stop),
        cmocka_unit_test_setup_teardown(careless_configurations, start, stop),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
