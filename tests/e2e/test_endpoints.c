/* SPDX-License-Identifier: Apache-2.0 */
/* Files of endpoints: a second daemon leaves the first one alone, and nobody's file is removed.
 * Each thread of ZeroMQ has its part of the endpoints. */
#include <dirent.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <zmq.h>

#include <cmocka.h>

#include "clock.h"
#include "crowd.h"
#include "sharer.h"

#define EXIT_START 69
#define ROIS       100u

static const char menu[] = "name: endpoints\n"
                           "streams: [physics]\n"
                           "steps: [{name: f, plugin: fault}]\n"
                           "chains:\n"
                           "  - {name: c, id: 1, steps: [{step: f}], prescale: 1,\n"
                           "     streams: [physics]}\n";
static const char config[] = "devices: [{backend: cpu, index: 0, lanes: 1}]\n"
                             "pool: {rois: 1024}\n"
                             "clients: {max: 16, shm_mbytes: 1}\n";

/* One client over each transport; RoIs in, decisions out, the books agree. */
static void check_service(struct server *s, bool with_shm)
{
    uint32_t n = with_shm ? 2 : 1;
    struct member *m = crowd_of(n);
    void *context = zmq_ctx_new();

    assert_non_null(context);
    for (uint32_t i = 0; i < n; i++)
        member_open(&m[i], s, context, i == 1, i ? "shm" : "zmq", 0);
    crowd_meet(m, n);
    for (uint32_t i = 0; i < n; i++)
        member_send(&m[i], ROIS, 0);
    crowd_settle(m, n);
    crowd_check(s, m, n);
    for (uint32_t i = 0; i < n; i++)
        assert_int_equal(m[i].decided, ROIS);
    crowd_close();
    zmq_ctx_term(context);
}

static void a_second_daemon_leaves_the_first_alone(void **state)
{
    struct server first, second;

    (void)state;
    sharer_server(&first, config, menu);
    for (uint32_t i = 0; i < 2; i++) {
        second = first;
        server_launch(&second);
        assert_int_equal(server_wait_end(&second, 30), EXIT_START);
    }
    check_service(&first, true);
    server_stop(&first);
}

/* Files in the folder whose names end so. */
static uint32_t files_like(const struct server *s, const char *end)
{
    DIR *d = opendir(s->folder);
    const struct dirent *e;
    uint32_t n = 0;

    assert_non_null(d);
    while ((e = readdir(d)) != NULL) {
        size_t length = strlen(e->d_name);

        n += length >= strlen(end) && !strcmp(e->d_name + length - strlen(end), end);
    }
    closedir(d);
    return n;
}

static void a_killed_daemon_is_followed(void **state)
{
    struct server s;

    (void)state;
    sharer_server(&s, config, menu);
    assert_int_equal(server_end(&s, SIGKILL, 10), 128 + SIGKILL);
    assert_int_equal(files_like(&s, "in") + files_like(&s, "shm") + files_like(&s, "control"), 3);
    server_spawn(&s);
    check_service(&s, true);
    assert_int_equal(server_end(&s, SIGTERM, 30), 0);
    assert_int_equal(files_like(&s, "in") + files_like(&s, "shm") + files_like(&s, "control"), 0);
    assert_int_equal(files_like(&s, ".lock"), 0);
    server_clean(&s);
}

static void expect_text(const char *path, const char *text)
{
    char got[64] = "";
    FILE *f = fopen(path, "r");

    assert_non_null(f);
    assert_non_null(fgets(got, sizeof got, f));
    fclose(f);
    assert_string_equal(got, text);
}

static void a_file_is_left_alone(void **state)
{
    static const char *const name[] = {"in", "control"};

    (void)state;
    for (size_t i = 0; i < sizeof name / sizeof *name; i++) {
        struct server s;
        char path[128];
        FILE *f;

        server_prepare(&s, config, menu);
        snprintf(path, sizeof path, "%s/%s", s.folder, name[i]);
        f = fopen(path, "w");
        assert_non_null(f);
        assert_true(fputs("the thesis", f) >= 0);
        assert_int_equal(fclose(f), 0);
        server_launch(&s);
        assert_int_equal(server_wait_end(&s, 30), EXIT_START);
        expect_text(path, "the thesis");
        assert_int_equal(unlink(path), 0);
        server_spawn(&s);
        check_service(&s, false);
        /* what took the place of the socket meanwhile stays at the end, too */
        assert_int_equal(unlink(path), 0);
        f = fopen(path, "w");
        assert_non_null(f);
        assert_true(fputs("another", f) >= 0);
        assert_int_equal(fclose(f), 0);
        assert_int_equal(server_end(&s, SIGTERM, 30), 0);
        expect_text(path, "another");
        server_clean(&s);
    }
}

/* Two at once: one serves, the other ends. */
static void a_race_has_one_winner(void **state)
{
    struct server s[2];
    int status;

    (void)state;
    server_prepare(&s[0], config, menu);
    for (uint32_t round = 0; round < 4; round++) {
        pid_t loser;
        uint32_t winner;

        s[1] = s[0];
        server_launch(&s[0]);
        server_launch(&s[1]);
        loser = waitpid(-1, &status, 0);
        assert_true(loser == s[0].pid || loser == s[1].pid);
        assert_true(WIFEXITED(status) && WEXITSTATUS(status) == EXIT_START);
        winner = loser == s[0].pid;
        server_wait_ready(&s[winner]);
        check_service(&s[winner], false);
        assert_int_equal(server_end(&s[winner], SIGTERM, 30), 0);
    }
    server_clean(&s[0]);
}

static void groups_may_connect(void **state)
{
    struct server s;
    struct stat file;

    (void)state;
    server_start(&s, config, menu);
    assert_int_equal(stat(s.endpoint + strlen("ipc://"), &file), 0);
    assert_int_equal(file.st_mode & 0777, 0660);
    server_stop(&s);
}

/* File descriptors that a descriptor of epoll watches; 0: it is none of those. */
static uint32_t watched(const struct server *s, const char *fd)
{
    char path[300], line[256];
    uint32_t n = 0;
    FILE *f;

    snprintf(path, sizeof path, "/proc/%d/fdinfo/%s", (int)s->pid, fd);
    f = fopen(path, "r");
    while (f && fgets(line, sizeof line, f))
        n += !strncmp(line, "tfd:", 4);
    if (f) /* else it was closed meanwhile */
        fclose(f);
    return n;
}

/* Threads of a daemon that watch two files, which is a mailbox and an endpoint. */
static uint32_t threads_with_an_endpoint(const struct server *s)
{
    const struct dirent *e;
    char folder[64];
    uint32_t n = 0;
    DIR *d;

    snprintf(folder, sizeof folder, "/proc/%d/fd", (int)s->pid);
    d = opendir(folder);
    assert_non_null(d);
    while ((e = readdir(d)) != NULL)
        n += e->d_name[0] != '.' && watched(s, e->d_name) == 2;
    closedir(d);
    return n;
}

/* Each thread begins to watch its endpoint when it has a core. */
static void threads_of_zeromq_share_the_endpoints(void **state)
{
    enum { THREADS = 4 };
    const uint64_t limit = clock_ns() + SERVER_PATIENCE_MS * NS_PER_MS;
    char endpoints[600];
    struct server s;
    uint32_t n;

    (void)state;
    server_prepare(&s, "", menu);
    snprintf(endpoints, sizeof endpoints, "\"%s\", \"%s-1\", \"%s-2\", \"%s-3\"", s.endpoint,
             s.endpoint, s.endpoint, s.endpoint);
    server_configure(&s, endpoints,
                     "devices: [{backend: cpu, index: 0, lanes: 1}]\n"
                     "threads: {zmq_threads: 4, shards: 1}\n");
    server_spawn(&s);
    while ((n = threads_with_an_endpoint(&s)) != THREADS && clock_ns() < limit)
        usleep(10000);
    assert_int_equal(n, THREADS);
    server_stop(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_second_daemon_leaves_the_first_alone),
        cmocka_unit_test(a_killed_daemon_is_followed),
        cmocka_unit_test(a_file_is_left_alone),
        cmocka_unit_test(a_race_has_one_winner),
        cmocka_unit_test(groups_may_connect),
        cmocka_unit_test(threads_of_zeromq_share_the_endpoints),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
