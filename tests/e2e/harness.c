/* SPDX-License-Identifier: Apache-2.0 */
#include "harness.h"

#include <dirent.h>
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <zmq.h>

#include <cmocka.h>

#include "clock.h"
#include "folder.h"
#include "keys.h"
#include "messages.h"

#define READY_S 300      /* lanes may compile all of their kernels, sanitizers are slow */
#define STEP_NS 20000000 /* between two looks at something that has no event to wait for */

static void nap(void)
{
    struct timespec t = {.tv_nsec = STEP_NS};

    nanosleep(&t, NULL);
}

static const char *build_folder(void)
{
    const char *b = getenv("TRIGD_BUILD");

    if (!b)
        fail_msg("TRIGD_BUILD is not set: run this through ctest");
    return b;
}

static void write_file(const struct server *s, const char *name, const char *head, const char *text)
{
    char path[256];
    FILE *f;

    snprintf(path, sizeof path, "%s/%s", s->folder, name);
    f = fopen(path, "w");
    assert_non_null(f);
    assert_true(fputs(head, f) >= 0 && fputs(text, f) >= 0);
    assert_int_equal(fclose(f), 0);
}

void server_menu(struct server *s, const char *menu)
{
    write_file(s, "menu.yaml", "", menu);
}

/* Shards that tests run with whose configuration says nothing of threads: TRIGD_TEST_SHARDS, or one
 * on any host. */
static unsigned test_shards(const char *config)
{
    const char *n = getenv("TRIGD_TEST_SHARDS");

    return n && !strstr(config, "threads:") ? (unsigned)strtoul(n, NULL, 10) : 1;
}

/* The folder of backends in the build folder: TRIGD_TEST_BACKENDS, or that of all where the
 * configuration names another device than the CPU.  A daemon that opens the CPU's alone starts and
 * ends in half the time. */
static const char *backends_for(const char *config)
{
    const char *folder = getenv("TRIGD_TEST_BACKENDS");

    if (folder)
        return folder;
    return strstr(config, "devices:") && !strstr(config, "opencl") && !strstr(config, "cuda")
               ? "backends-cpu"
               : "backends";
}

void server_configure(const struct server *s, const char *endpoints, const char *config)
{
    char head[2048], threads[64] = "";

    if (!strstr(config, "threads:"))
        snprintf(threads, sizeof threads, "threads: {shards: %u}\n", s->shards);
    snprintf(head, sizeof head,
             "%sendpoints: [%s]\n"
             "menu: menu.yaml\n"
             "plugin_path: [\"%s/test-plugins\", \"%s/plugins\"]\n"
             "backend_path: \"%s/%s\"\n"
             "cache_dir: cache\n"
             "control: {socket: control}\n"
             "http: {address: \"\", socket: http}\n",
             threads, endpoints, build_folder(), build_folder(), build_folder(),
             backends_for(config));
    write_file(s, "trigd.yaml", head, config);
}

void server_prepare(struct server *s, const char *config, const char *menu)
{
    char endpoint[160];

    memset(s, 0, sizeof *s);
    snprintf(s->folder, sizeof s->folder, "/tmp/trigd-e2e-XXXXXX");
    assert_non_null(mkdtemp(s->folder));
    snprintf(s->endpoint, sizeof s->endpoint, "ipc://%s/in", s->folder);
    snprintf(s->control, sizeof s->control, "%s/control", s->folder);
    s->shards = test_shards(config);
    snprintf(endpoint, sizeof endpoint, "\"%s\"", s->endpoint);
    server_configure(s, endpoint, config);
    server_menu(s, menu);
}

void server_start(struct server *s, const char *config, const char *menu)
{
    server_prepare(s, config, menu);
    server_spawn(s);
}

bool server_is_open(struct server *s)
{
    struct sockaddr_un a = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    int r;

    assert_true(fd >= 0);
    strncpy(a.sun_path, s->control, sizeof a.sun_path - 1);
    r = connect(fd, (struct sockaddr *)&a, sizeof a);
    close(fd);
    return r == 0;
}

/* Whether the control socket answers that the daemon is ready. */
static bool is_ready(struct server *s)
{
    char *answer;
    bool ready;

    if (!server_is_open(s))
        return false;
    answer = server_ask(s, "show info json");
    ready = strstr(answer, "\"ready\"") != NULL;
    free(answer);
    return ready;
}

void server_launch(struct server *s)
{
    char program[256], config[256];

    snprintf(program, sizeof program, "%s/bin/%s", build_folder(),
             s->program ? s->program : "trigd");
    snprintf(config, sizeof config, "%s/trigd.yaml", s->folder);
    s->pid = fork();
    assert_true(s->pid >= 0);
    if (!s->pid) {
        prctl(PR_SET_PDEATHSIG, SIGKILL); /* no daemon outlives a test that failed */
        execl(program, program, "--config", config, (char *)NULL);
        _exit(127);
    }
}

int server_wait_end(struct server *s, unsigned limit_s)
{
    uint64_t limit = clock_ns() + limit_s * NS_PER_S;
    int status;

    while (waitpid(s->pid, &status, WNOHANG) != s->pid) {
        if (clock_ns() > limit) {
            kill(s->pid, SIGKILL);
            waitpid(s->pid, &status, 0);
            fail_msg("the daemon did not end within %u s", limit_s);
        }
        nap();
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

void server_spawn(struct server *s)
{
    server_launch(s);
    server_wait_ready(s);
}

void server_wait_ready(struct server *s)
{
    uint64_t limit = clock_ns() + READY_S * NS_PER_S;

    while (!is_ready(s)) {
        int status;

        if (waitpid(s->pid, &status, WNOHANG) == s->pid)
            fail_msg("the daemon ended at once with status %d", status);
        if (clock_ns() > limit)
            fail_msg("the daemon was not ready in time");
        nap();
    }
}

int server_end(struct server *s, int signal, unsigned limit_s)
{
    assert_int_equal(kill(s->pid, signal), 0);
    return server_wait_end(s, limit_s);
}

void server_remove(const char *folder)
{
    if (folder_remove(folder) < 0)
        fail_msg("cannot remove %s", folder);
}

void server_clean(struct server *s)
{
    server_remove(s->folder);
}

void server_stop(struct server *s)
{
    assert_int_equal(server_end(s, SIGTERM, 30), 0);
    server_clean(s);
}

char *server_ask(struct server *s, const char *command)
{
    struct sockaddr_un a = {.sun_family = AF_UNIX};
    size_t room = 1u << 20, n = 0;
    char *answer = malloc(room);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    ssize_t got;

    assert_true(fd >= 0);
    assert_non_null(answer);
    strncpy(a.sun_path, s->control, sizeof a.sun_path - 1);
    assert_int_equal(connect(fd, (struct sockaddr *)&a, sizeof a), 0);
    assert_int_equal(write(fd, command, strlen(command)), strlen(command));
    assert_int_equal(write(fd, "\n", 1), 1);
    assert_int_equal(shutdown(fd, SHUT_WR), 0);
    while (n + 1 < room && (got = read(fd, answer + n, room - n - 1)) > 0)
        n += (size_t)got;
    answer[n] = '\0';
    close(fd);
    return answer;
}

void server_expect(struct server *s, const char *command, const char *part)
{
    char *answer = server_ask(s, command);

    if (!strstr(answer, part))
        fail_msg("\"%s\" is answered without \"%s\": %s", command, part, answer);
    free(answer);
}

int server_readyz(struct server *s)
{
    static const char question[] = "GET /readyz HTTP/1.0\r\n\r\n";
    struct sockaddr_un a = {.sun_family = AF_UNIX};
    char answer[512];
    size_t n = 0;
    ssize_t got;
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0), status = 0;

    assert_true(fd >= 0);
    snprintf(a.sun_path, sizeof a.sun_path, "%s/http", s->folder);
    assert_int_equal(connect(fd, (struct sockaddr *)&a, sizeof a), 0);
    assert_int_equal(write(fd, question, strlen(question)), strlen(question));
    while (n + 1 < sizeof answer && (got = read(fd, answer + n, sizeof answer - n - 1)) > 0)
        n += (size_t)got;
    answer[n] = '\0';
    close(fd);
    assert_int_equal(sscanf(answer, "HTTP/1.%*d %d", &status), 1);
    return status;
}

uint64_t server_row_number(struct server *s, const char *table, const char *name, const char *key)
{
    char command[64], wanted[160], *answer, *at;
    uint64_t value;

    snprintf(command, sizeof command, "show %s json", table);
    answer = server_ask(s, command);
    snprintf(wanted, sizeof wanted, ":\"%s\"", name ? name : "");
    at = name ? strstr(answer, wanted) : answer;
    snprintf(wanted, sizeof wanted, "\"%s\":", key);
    at = at ? strstr(at, wanted) : NULL;
    if (!at)
        fail_msg("%s: %s has no %s: %s", command, name ? name : "it", key, answer);
    value = strtoull(at + strlen(wanted), NULL, 10);
    free(answer);
    return value;
}

uint64_t server_counter(struct server *s, const char *name)
{
    return server_row_number(s, "info", NULL, name);
}

uint64_t server_stream(struct server *s, const char *stream, const char *name)
{
    return server_row_number(s, "streams", stream, name);
}

uint64_t server_wait_row(struct server *s, const char *table, const char *name, const char *key,
                         uint64_t least, uint64_t most)
{
    const uint64_t limit = clock_ns() + SERVER_PATIENCE_MS * NS_PER_MS;
    uint64_t now;

    while ((now = server_row_number(s, table, name, key)) < least || now > most) {
        if (clock_ns() > limit)
            fail_msg("%s of %s in %s is %llu, not %llu to %llu", key, name ? name : "it", table,
                     (unsigned long long)now, (unsigned long long)least, (unsigned long long)most);
        nap();
    }
    return now;
}

void server_wait_counter(struct server *s, const char *name, uint64_t value)
{
    server_wait_row(s, "info", NULL, name, value, value);
}

void server_wait_stream(struct server *s, const char *stream, const char *name, uint64_t value)
{
    server_wait_row(s, "streams", stream, name, value, value);
}

void server_check_ledger(struct server *s)
{
    uint32_t looks = 0;

    /* while RoIs come in no two readings may be alike; a defect stays */
    while (server_row_number(s, "ledger", NULL, "imbalance") && ++looks < 100)
        nap();
    assert_true(looks < 100);
}

void server_debug_file(const struct server *s, char *ret_path, size_t bytes)
{
    char folder[128];
    const struct dirent *e;
    DIR *d;

    snprintf(folder, sizeof folder, "%s/debug", s->folder);
    d = opendir(folder);
    assert_non_null(d);
    ret_path[0] = '\0';
    while ((e = readdir(d)) != NULL)
        if (strstr(e->d_name, ".roi"))
            snprintf(ret_path, bytes, "%s/%s", folder, e->d_name);
    closedir(d);
    assert_true(ret_path[0]);
}

int program_run(const char *arguments, char *ret_line, size_t bytes)
{
    char command[1024], line[256];
    FILE *f;

    snprintf(command, sizeof command, "%s/bin/%s 2>&1", getenv("TRIGD_BUILD"), arguments);
    f = popen(command, "r");
    assert_non_null(f);
    ret_line[0] = '\0';
    while (fgets(line, sizeof line, f))
        snprintf(ret_line, bytes, "%s", line);
    return WEXITSTATUS(pclose(f));
}

/* ---------------------------------------------------------------- one connection */

void link_open(struct link *l, const struct server *s)
{
    static unsigned turn;
    const unsigned shard = turn++ % (s->shards ? s->shards : 1);
    char endpoint[160];

    snprintf(endpoint, sizeof endpoint, shard ? "%s.%u" : "%s", s->endpoint, shard);
    link_open_with(l, endpoint, NULL, NULL);
}

void link_open_with(struct link *l, const char *endpoint, const struct keyfile *keys,
                    const char *server)
{
    int linger = 0;

    memset(l, 0, sizeof *l);
    l->context = zmq_ctx_new();
    l->socket = zmq_socket(l->context, ZMQ_DEALER);
    assert_non_null(l->socket);
    assert_int_equal(zmq_setsockopt(l->socket, ZMQ_LINGER, &linger, sizeof linger), 0);
    if (keys)
        keys_use(l->socket, keys, server);
    assert_int_equal(zmq_connect(l->socket, endpoint), 0);
}

void link_close(struct link *l)
{
    if (l->last)
        trigd__v1__from_daemon__free_unpacked(l->last, NULL);
    zmq_close(l->socket);
    zmq_ctx_term(l->context);
    memset(l, 0, sizeof *l);
}

void server_end_well(struct server *s)
{
    server_wait_counter(s, "in_flight", 0);
    server_check_ledger(s);
    server_stop(s);
}

void link_end_well(struct server *s, struct link *l)
{
    server_wait_counter(s, "in_flight", 0);
    server_check_ledger(s);
    link_close(l);
    server_stop(s);
}

void link_send_bytes(struct link *l, const void *bytes, size_t n)
{
    assert_int_equal(zmq_send(l->socket, bytes, n, 0), n);
}

void link_send(struct link *l, const Trigd__V1__ToDaemon *m)
{
    size_t n = trigd__v1__to_daemon__get_packed_size(m);
    void *bytes = malloc(n ? n : 1);

    assert_non_null(bytes);
    trigd__v1__to_daemon__pack(m, bytes);
    link_send_bytes(l, bytes, n);
    free(bytes);
}

Trigd__V1__FromDaemon *link_receive(struct link *l, int limit_ms)
{
    zmq_pollitem_t item = {.socket = l->socket, .events = ZMQ_POLLIN};
    zmq_msg_t m;

    if (l->last)
        trigd__v1__from_daemon__free_unpacked(l->last, NULL);
    l->last = NULL;
    if (zmq_poll(&item, 1, limit_ms) <= 0)
        return NULL;
    zmq_msg_init(&m);
    assert_true(zmq_msg_recv(&m, l->socket, 0) >= 0);
    l->last = trigd__v1__from_daemon__unpack(NULL, zmq_msg_size(&m), zmq_msg_data(&m));
    zmq_msg_close(&m);
    assert_non_null(l->last);
    return l->last;
}

void answer_expect(const Trigd__V1__FromDaemon *m, Trigd__V1__FromDaemon__BodyCase kind)
{
    if (!m)
        fail_msg("no answer; kind %d was expected", (int)kind);
    if (m->body_case != kind)
        fail_msg("answer of kind %d, not %d: %s", (int)m->body_case, (int)kind,
                 m->body_case == TRIGD__V1__FROM_DAEMON__BODY_ERROR ? m->error->text : "");
}

Trigd__V1__FromDaemon *link_expect(struct link *l, Trigd__V1__FromDaemon__BodyCase kind)
{
    Trigd__V1__FromDaemon *m;

    do { /* credits come and go with other clients */
        m = link_receive(l, SERVER_PATIENCE_MS);
    } while (m && m->body_case == TRIGD__V1__FROM_DAEMON__BODY_CREDIT && m->body_case != kind);
    answer_expect(m, kind);
    return m;
}

const Trigd__V1__Welcome *link_hello_with(struct link *l, const char *name, Trigd__V1__Hello *hello)
{
    const Trigd__V1__ToDaemon m = message_hello(hello, name);

    link_send(l, &m);
    return link_expect(l, TRIGD__V1__FROM_DAEMON__BODY_WELCOME)->welcome;
}

uint32_t link_hello(struct link *l, const char *name, uint32_t want)
{
    Trigd__V1__Hello hello = TRIGD__V1__HELLO__INIT;

    hello.want_credits = want;
    return link_hello_with(l, name, &hello)->credits;
}

uint32_t link_hello_key(struct link *l, const char *name, const char *key)
{
    Trigd__V1__Hello hello = TRIGD__V1__HELLO__INIT;

    hello.key.data = (uint8_t *)(uintptr_t)key;
    hello.key.len = strlen(key);
    return link_hello_with(l, name, &hello)->credits;
}

uint32_t answer_note(const Trigd__V1__DecisionBatch *b, uint64_t first, uint32_t n, uint8_t *seen,
                     uint8_t *ret_by_token)
{
    for (size_t i = 0; i < b->n_decisions; i++) {
        const Trigd__V1__Decision *d = b->decisions[i];

        assert_true(d->token >= first && d->token < first + n);
        assert_int_equal(seen[d->token - first]++, 0);
        if (ret_by_token)
            ret_by_token[d->token - first] =
                (uint8_t)((d->accept ? 1u : 0u) | (unsigned)d->status << 1 | (d->late ? 128u : 0u));
    }
    return (uint32_t)b->n_decisions;
}

void link_collect(struct link *l, uint64_t first, uint32_t n, uint8_t *ret_by_token)
{
    uint8_t *seen = calloc(n, 1);

    assert_non_null(seen);
    for (uint32_t got = 0; got < n;) {
        Trigd__V1__FromDaemon *m = link_receive(l, SERVER_PATIENCE_MS);

        if (!m)
            fail_msg("only %u of %u decisions came", got, n);
        if (m->body_case == TRIGD__V1__FROM_DAEMON__BODY_HEARTBEAT ||
            m->body_case == TRIGD__V1__FROM_DAEMON__BODY_CREDIT)
            continue;
        assert_int_equal(m->body_case, TRIGD__V1__FROM_DAEMON__BODY_DECISIONS);
        got += answer_note(m->decisions, first, n, seen, ret_by_token);
    }
    free(seen);
}
