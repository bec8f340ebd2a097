/* SPDX-License-Identifier: Apache-2.0 */
/* The control socket with real clients: good ones, slow ones, ones that hang up. */
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "fixture.h"
#include "log.h"
#include "talk.h"

#define TIMEOUT_S   20
#define CLIENTS_MAX 64
#define NOBODY      65534

static struct fixture f;
static char folder[] = "/tmp/trigd-control-XXXXXX";
static char path[128];

static int set_up(void **state)
{
    (void)state;
    log_set_level(TRG_ERROR);
    if (!mkdtemp(folder) || fixture_init(&f) < 0)
        return -1;
    snprintf(path, sizeof path, "%s/control.sock", folder);
    f.config.control.socket = path;
    f.config.http.address = "";
    f.config.http.socket = "";
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    fixture_fini(&f);
    return rmdir(folder); /* fails when a socket file was left behind */
}

static int start(void **state)
{
    return control_start(&f.view, (struct control **)state);
}

static int stop(void **state)
{
    control_stop(*state);
    return 0;
}

static int dial(void)
{
    struct sockaddr_un a = {.sun_family = AF_UNIX};
    struct timeval limit = {.tv_sec = TIMEOUT_S};
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);

    memcpy(a.sun_path, path, strlen(path) + 1);
    assert_true(fd >= 0);
    assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit), 0);
    assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit), 0);
    assert_int_equal(connect(fd, (const struct sockaddr *)&a, sizeof a), 0);
    return fd;
}

static void put(int fd, const char *text)
{
    assert_int_equal(send(fd, text, strlen(text), MSG_NOSIGNAL), (ssize_t)strlen(text));
}

/* Reads one answer, up to and with its empty line. */
static void get(int fd, char *text, size_t bytes)
{
    size_t n = 0;

    do {
        ssize_t got = recv(fd, text + n, 1, 0);

        assert_int_equal(got, 1);
        text[++n] = '\0';
        assert_true(n < bytes - 1);
    } while (n < 2 || strcmp(text + n - 2, "\n\n") != 0);
}

static void get_line(int fd, char *text, size_t bytes)
{
    size_t n = 0;

    do {
        assert_int_equal(recv(fd, text + n, 1, 0), 1);
        text[++n] = '\0';
        assert_true(n < bytes - 1);
    } while (text[n - 1] != '\n');
}

static void expect_ledger(int fd)
{
    char text[1024];

    put(fd, "show ledger csv\n");
    get(fd, text, sizeof text);
    assert_string_equal(
        text, "received,accepted,rejected,failed,in_flight,imbalance\n100,30,60,3,7,0\n\n");
}

static void test_mode(void **state)
{
    struct stat s;

    (void)state;
    assert_int_equal(stat(path, &s), 0);
    assert_true(S_ISSOCK(s.st_mode));
    assert_int_equal(s.st_mode & 0777, 0660);
}

static void test_talk(void **state)
{
    char *answer = NULL;

    (void)state;
    assert_int_equal(talk(path, "show ledger csv; drain", TIMEOUT_S, &answer), 0);
    assert_string_equal(answer, "received,accepted,rejected,failed,in_flight,imbalance\n"
                                "100,30,60,3,7,0\ndraining\n");
    assert_false(talk_is_error(answer));
    free(answer);
    assert_int_equal(talk(path, "drain; nonsense", TIMEOUT_S, &answer), 0);
    assert_true(talk_is_error(answer));
    free(answer);
    assert_int_equal(talk("/nowhere/at/all", "help", TIMEOUT_S, &answer), -ENOENT);
}

static void test_many_commands(void **state)
{
    int fd = dial();
    char text[1024];

    (void)state;
    for (int i = 0; i < 100; i++)
        expect_ledger(fd);
    put(fd, "drain\r\nresume\n"); /* two at once; ends of line as other systems write them */
    get(fd, text, sizeof text);
    assert_string_equal(text, "draining\n\n");
    get(fd, text, sizeof text);
    assert_string_equal(text, "ready\n\n");
    put(fd, "show led"); /* one in two pieces */
    put(fd, "ger csv\n");
    get(fd, text, sizeof text);
    assert_non_null(strstr(text, "100,30,60,3,7,0"));
    close(fd);
}

static void test_many_clients(void **state)
{
    int fd[CLIENTS_MAX], more;
    char byte, text[1024];

    (void)state;
    for (int i = 0; i < CLIENTS_MAX; i++)
        fd[i] = dial();
    for (int i = CLIENTS_MAX - 1; i >= 0; i--)
        expect_ledger(fd[i]);
    more = dial(); /* the one that is idle longest gives way, and the others go on */
    expect_ledger(more);
    assert_int_equal(recv(fd[CLIENTS_MAX - 1], &byte, 1, 0), 0);
    close(more);
    close(fd[CLIENTS_MAX - 1]);
    for (int i = 0; i < CLIENTS_MAX - 1; i++) {
        expect_ledger(fd[i]);
        put(fd[i], "drain\n"); /* the user may act */
        get(fd[i], text, sizeof text);
        assert_string_equal(text, "draining\n\n");
        close(fd[i]);
    }
    for (int i = 0;; i++) { /* their places become free again */
        char *answer = NULL;

        if (talk(path, "drain", TIMEOUT_S, &answer) == 0) {
            free(answer);
            break;
        }
        assert_true(i < 1000);
    }
}

/* Another user: it may look and not act, and cannot keep the operator out.  Writes a byte when it
 * has all places that it gets. */
static void be_nobody(int ready)
{
    int fd[CLIENTS_MAX];
    char text[1024];

    if (syscall(SYS_setgroups, 0, NULL) < 0 || setgid(NOBODY) < 0 || setuid(NOBODY) < 0)
        _exit(10);
    for (int i = 0; i < CLIENTS_MAX; i++)
        fd[i] = dial();
    expect_ledger(fd[CLIENTS_MAX - 1]);
    put(fd[CLIENTS_MAX - 1], "drain\n");
    get(fd[CLIENTS_MAX - 1], text, sizeof text);
    if (!strstr(text, "may look and not act (control.act_group)"))
        _exit(11);
    if (write(ready, "", 1) == 1)
        pause();
    _exit(12);
}

static void test_levels(void **state)
{
    uint32_t before = f.n_drain;
    char *answer, byte;
    int status, ready[2];
    pid_t child;

    (void)state;
    if (geteuid() != 0)
        skip();
    assert_int_equal(pipe(ready), 0);
    control_stop(*state);
    f.config.control.act_group = "root";
    assert_int_equal(control_start(&f.view, (struct control **)state), 0);
    assert_int_equal(chmod(folder, 0755), 0);
    assert_int_equal(chmod(path, 0666), 0);
    child = fork();
    assert_true(child >= 0);
    if (!child)
        be_nobody(ready[1]);
    close(ready[1]);
    if (read(ready[0], &byte, 1) != 1) {
        assert_int_equal(waitpid(child, &status, 0), child);
        fail_msg("the other user's process ended with code %d", WEXITSTATUS(status));
    }
    close(ready[0]);
    assert_int_equal(f.n_drain, before);
    assert_int_equal(talk(path, "drain", TIMEOUT_S, &answer), 0);
    free(answer);
    assert_int_equal(f.n_drain, before + 1);
    assert_int_equal(kill(child, SIGKILL), 0);
    assert_int_equal(waitpid(child, &status, 0), child);
    f.config.control.act_group = "";
}

/* A client that asks and never reads is hung up on; nobody else waits for it. */
static void test_slow_reader(void **state)
{
    int slow = dial(), other = dial();
    struct timeval soon = {.tv_usec = 1000};
    uint32_t sent = 0;

    (void)state;
    assert_int_equal(setsockopt(slow, SOL_SOCKET, SO_SNDTIMEO, &soon, sizeof soon), 0);
    for (; sent < 100000; sent++) {
        const char *line = "show stat json;show stat json;show stat json\n";
        ssize_t n = send(slow, line, strlen(line), MSG_NOSIGNAL);

        if (sent % 100 == 0)
            expect_ledger(other);
        if (n < 0 && errno == EAGAIN)
            continue; /* the daemon is still at the lines before */
        if (n < 0)
            break; /* hung up */
    }
    assert_true(errno == EPIPE || errno == ECONNRESET);
    assert_true(sent < 100000);
    expect_ledger(other);
    close(slow);
    close(other);
}

static void test_long_line(void **state)
{
    const size_t n = 1u << 20;
    char *line = malloc(n), text[1024];
    int fd = dial();

    (void)state;
    assert_non_null(line);
    memset(line, 'x', n);
    line[n - 1] = '\n';
    for (size_t at = 0; at < n;) {
        ssize_t sent = send(fd, line + at, n - at, MSG_NOSIGNAL);

        assert_true(sent > 0);
        at += (size_t)sent;
    }
    get(fd, text, sizeof text);
    assert_string_equal(text, "error: the line is longer than 1023 bytes\n\n");
    expect_ledger(fd); /* one answer, and the client may go on */
    close(fd);
    free(line);
}

/* A reload is answered when it has ended; others are served meanwhile, the same talker after it. */
static void test_reload(void **state)
{
    int fd = dial(), other = dial();
    char text[1024], *answer = NULL;

    (void)state;
    atomic_store(&f.is_reloading, true);
    put(fd, "reload\nshow ledger csv\n");
    get_line(fd, text, sizeof text);
    assert_non_null(strstr(text, " s: opening lane a"));
    for (int i = 0; i < 10; i++)
        expect_ledger(other);
    atomic_store(&f.is_reloading, false);
    get(fd, text, sizeof text);
    assert_string_equal(text, "error: the menu is wrong; the old one stays\n\n");
    get(fd, text, sizeof text);
    assert_non_null(strstr(text, "100,30,60,3,7,0"));
    assert_int_equal(talk(path, "reload", TIMEOUT_S, &answer), 0); /* it has half-closed */
    assert_string_equal(answer, "error: the menu is wrong; the old one stays\n");
    free(answer);
    close(fd);
    close(other);
}

static void test_half_line(void **state)
{
    uint32_t before = f.n_quit;
    int fd = dial();
    char byte;

    (void)state;
    put(fd, "quit");
    assert_int_equal(shutdown(fd, SHUT_WR), 0);
    assert_int_equal(recv(fd, &byte, 1, 0), 0); /* no answer, and it hangs up */
    close(fd);
    fd = dial();
    put(fd, "show stat json\nshow in");
    close(fd); /* without reading */
    fd = dial();
    expect_ledger(fd);
    close(fd);
    assert_int_equal(f.n_quit, before);
}

static void test_bytes(void **state)
{
    static const char odd[] = "\x01\xff\x7f;;\xc3\x28;\t\n";
    int fd = dial();
    char text[2048];

    (void)state;
    put(fd, odd);
    get(fd, text, sizeof text);
    assert_string_equal(text,
                        "error: the line holds control characters; only tabs are allowed\n\n");
    expect_ledger(fd);
    close(fd);
}

/* ---------------------------------------------------------------- opening */

static void test_socket_goes(void **state)
{
    struct control *c = NULL;

    (void)state;
    assert_int_equal(control_start(&f.view, &c), 0);
    assert_int_equal(access(path, F_OK), 0);
    control_stop(c);
    assert_int_equal(access(path, F_OK), -1);
    control_stop(NULL);
}

static void test_stale_file(void **state)
{
    struct sockaddr_un a = {.sun_family = AF_UNIX};
    struct control *c = NULL;
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);

    (void)state;
    memcpy(a.sun_path, path, strlen(path) + 1);
    assert_int_equal(bind(fd, (const struct sockaddr *)&a, sizeof a), 0);
    close(fd); /* as after a crash: the file is there and nobody listens */
    assert_int_equal(control_start(&f.view, &c), 0);
    control_stop(c);
}

static void test_taken(void **state)
{
    struct control *c = NULL, *second = NULL;
    char *answer = NULL;

    (void)state;
    log_set_level(TRG_ERROR);
    assert_int_equal(control_start(&f.view, &c), 0);
    assert_int_equal(control_start(&f.view, &second), -EADDRINUSE);
    assert_null(second);
    assert_int_equal(talk(path, "drain", TIMEOUT_S, &answer), 0); /* the first one still serves */
    free(answer);
    control_stop(c);
}

/* A file that is no socket is somebody's: it is not removed. */
static void test_other_file(void **state)
{
    struct control *c = NULL;
    FILE *file = fopen(path, "w");

    (void)state;
    assert_non_null(file);
    fclose(file);
    assert_true(control_start(&f.view, &c) < 0);
    assert_null(c);
    assert_int_equal(unlink(path), 0); /* it was still there */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_mode, start, stop),
        cmocka_unit_test_setup_teardown(test_talk, start, stop),
        cmocka_unit_test_setup_teardown(test_many_commands, start, stop),
        cmocka_unit_test_setup_teardown(test_many_clients, start, stop),
        cmocka_unit_test_setup_teardown(test_levels, start, stop),
        cmocka_unit_test_setup_teardown(test_slow_reader, start, stop),
        cmocka_unit_test_setup_teardown(test_long_line, start, stop),
        cmocka_unit_test_setup_teardown(test_reload, start, stop),
        cmocka_unit_test_setup_teardown(test_half_line, start, stop),
        cmocka_unit_test_setup_teardown(test_bytes, start, stop),
        cmocka_unit_test(test_socket_goes),
        cmocka_unit_test(test_stale_file),
        cmocka_unit_test(test_taken),
        cmocka_unit_test(test_other_file),
    };

    return cmocka_run_group_tests(tests, set_up, tear_down);
}
