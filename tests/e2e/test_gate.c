/* SPDX-License-Identifier: Apache-2.0 */
/* What comes before a whole message: messages that never end, storms of Hellos, connections that
 * say nothing.  Others are served meanwhile, and the memory stays within its bound. */
#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>
#include <zmq.h>

#include <cmocka.h>

#include "clock.h"
#include "crowd.h"
#include "messages.h"
#include "sharer.h"

#define MIB        (1u << 20)
#define ATTACK_MIB 3000u /* what the attack would take without limits */
#define BOUND_MIB  1200u /* messages, the queue, and what comes in two ticks of a busy machine */
#define MAX        16u   /* clients */

static const char menu[] = "name: gate\n"
                           "streams: [physics]\n"
                           "steps: [{name: f, plugin: fault}]\n"
                           "chains:\n"
                           "  - {name: c, id: 1, steps: [{step: f}], prescale: 1,\n"
                           "     streams: [physics]}\n";
static const char config[] = "devices: [{backend: cpu, index: 0, lanes: 1}]\n"
                             "pool: {rois: 1024, mbytes: 64}\n"
                             "clients: {max: 16, shm_mbytes: 1, queue_mbytes: %u,\n"
                             "          max_message_kbytes: 8192, heartbeat_ms: 1000}\n";

struct setup {
    struct server server;
    char tcp[64]; /* endpoint */
    uint16_t port;
    void *context;
};
static struct setup one;

static int start_with(void **state, uint32_t queue_mbytes)
{
    char text[1024];

    one.port = sharer_free_port();
    snprintf(one.tcp, sizeof one.tcp, "tcp://127.0.0.1:%u", one.port);
    snprintf(text, sizeof text, config, queue_mbytes);
    sharer_prepare(&one.server, one.tcp, text, menu);
    server_spawn(&one.server);
    one.context = zmq_ctx_new();
    assert_non_null(one.context);
    *state = &one;
    return 0;
}

static int start(void **state)
{
    return start_with(state, 64);
}

/* Memory plays no part, nor that of sanitizers, who give none back. */
static int start_roomy(void **state)
{
    return start_with(state, 4096);
}

static int stop(void **state)
{
    struct setup *s = *state;

    crowd_end(s->context, &s->server);
    return 0;
}

/* ---------------------------------------------------------------- a client without libzmq */

static int connect_raw(const struct setup *s, bool is_tcp)
{
    struct sockaddr_in in = {.sin_family = AF_INET,
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
                             .sin_port = htons(s->port)};
    struct sockaddr_un un = {.sun_family = AF_UNIX};
    struct timeval limit = {.tv_sec = 10},
                   short_limit = {.tv_sec = 1}; /* nobody answers any more */
    int fd = socket(is_tcp ? AF_INET : AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    assert_true(fd >= 0);
    snprintf(un.sun_path, sizeof un.sun_path, "%s", s->server.endpoint + strlen("ipc://"));
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &short_limit, sizeof short_limit);
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    if (is_tcp)
        assert_int_equal(connect(fd, (struct sockaddr *)&in, sizeof in), 0);
    else
        assert_int_equal(connect(fd, (struct sockaddr *)&un, sizeof un), 0);
    return fd;
}

static bool send_all(int fd, const void *bytes, size_t n)
{
    for (size_t sent = 0; sent < n;) {
        ssize_t now = send(fd, (const char *)bytes + sent, n - sent, MSG_NOSIGNAL);

        if (now <= 0)
            return false;
        sent += (size_t)now;
    }
    return true;
}

/* The greeting and READY of ZMTP 3.0 with the mechanism NULL. */
static bool shake_hands(int fd)
{
    static const unsigned char ready[] = "\x04\x1c\x05READY\x0bSocket-Type\x00\x00\x00\x06"
                                         "DEALER";
    unsigned char greeting[64] = {0xff, 0, 0, 0, 0, 0, 0, 0, 0, 0x7f, 3, 0, 'N', 'U', 'L', 'L'};
    unsigned char answer[64];
    size_t got = 0;

    if (!send_all(fd, greeting, sizeof greeting))
        return false;
    while (got < sizeof answer) {
        ssize_t n = recv(fd, answer + got, sizeof answer - got, 0);

        if (n <= 0)
            return false;
        got += (size_t)n;
    }
    return send_all(fd, ready, sizeof ready - 1);
}

/* Says Hello in one frame. */
static bool say_hello(int fd)
{
    Trigd__V1__Hello hello = TRIGD__V1__HELLO__INIT;
    const Trigd__V1__ToDaemon m = message_hello(&hello, "attacker");
    unsigned char frame[64];

    hello.want_credits = 1;
    frame[0] = 0;
    frame[1] = (unsigned char)trigd__v1__to_daemon__pack(&m, frame + 2);
    return send_all(fd, frame, 2u + frame[1]);
}

/* Connects, and says Hello if it is to be a client; again when it is cut off, as the slow are while
 * the memory of an attack before is still there. */
static int enter(struct setup *s, bool is_tcp, bool is_client)
{
    for (;;) {
        int fd = connect_raw(s, is_tcp);

        if (shake_hands(fd) && (!is_client || say_hello(fd)))
            return fd;
        close(fd);
    }
}

/* Frames of n bytes with more to follow, until the daemon hangs up; returns MiB sent. */
static uint32_t never_end(int fd, uint32_t n)
{
    const uint32_t a_frame = n < 256 ? n + 2 : n + 9, block = n < 256 ? 65536 / a_frame : 1;
    unsigned char *frames = calloc(block, a_frame);
    uint64_t sent = 0;

    assert_non_null(frames);
    for (uint32_t i = 0; i < block; i++) {
        unsigned char *f = frames + i * a_frame;

        f[0] = n < 256 ? 1 : 3; /* more; long */
        if (n < 256)
            f[1] = (unsigned char)n;
        for (uint32_t b = 0; b < 4 && n >= 256; b++)
            f[8 - b] = (unsigned char)(n >> 8 * b);
    }
    while (sent < (uint64_t)ATTACK_MIB * MIB && send_all(fd, frames, block * a_frame))
        sent += block * a_frame;
    free(frames);
    return (uint32_t)(sent / MIB);
}

/* A line of /proc/PID/status, MiB. */
static uint32_t memory_of(const struct server *s, const char *key)
{
    char path[64], line[128];
    unsigned long kib = 0;
    FILE *f;

    snprintf(path, sizeof path, "/proc/%ld/status", (long)s->pid);
    f = fopen(path, "r");
    assert_non_null(f);
    while (fgets(line, sizeof line, f))
        if (!strncmp(line, key, strlen(key)))
            kib = strtoul(line + strlen(key) + 1, NULL, 10);
    fclose(f);
    assert_true(kib > 0);
    return (uint32_t)(kib / 1024);
}

/* ---------------------------------------------------------------- the tests */

static void check_service(struct setup *s)
{
    struct member *m = crowd_of(3);

    member_open(&m[0], &s->server, s->context, false, "ipc", 0);
    member_open(&m[1], &s->server, s->context, true, "shm", 0);
    member_open_at(&m[2], s->tcp, s->context, "tcp", 0);
    crowd_meet(m, 3);
    for (uint32_t i = 0; i < 3; i++)
        member_send(&m[i], member_room(&m[i]), 0);
    crowd_settle(m, 3);
    crowd_check(&s->server, m, 3);
    crowd_close();
}

static void attack(struct setup *s, bool is_tcp, bool is_client, uint32_t frame)
{
    int fd = enter(s, is_tcp, is_client);
    const uint64_t cut = server_counter(&s->server, "cut_off");
    const uint32_t sent = never_end(fd, frame);

    close(fd);
    print_message("%s, %s Hello, frames of %u bytes: cut off after %u MiB\n",
                  is_tcp ? "tcp" : "ipc", is_client ? "after" : "before", frame, sent);
    assert_true(sent < ATTACK_MIB);
    assert_true(server_counter(&s->server, "cut_off") > cut);
}

static void messages_that_never_end(void **state)
{
    struct setup *s = *state;
    uint32_t before = memory_of(&s->server, "VmHWM:"), after;

    for (uint32_t i = 0; i < 8; i++)
        attack(s, i & 1, i & 2, i & 4 ? 1 : MIB);
    after = memory_of(&s->server, "VmHWM:");
    print_message("largest size: %u MiB, %u MiB before\n", after, before);
    assert_true(after < before + BOUND_MIB);
    check_service(s);
}

#define BLOCK 65536u

/* Fills a block with copies of a frame, and a PING of ZMTP before every 32 of them. */
static size_t fill(unsigned char block[BLOCK], const void *frame, size_t bytes)
{
    static const unsigned char ping[] = {4, 7, 4, 'P', 'I', 'N', 'G', 0, 0};
    size_t n = 0;

    for (uint32_t i = 0; n + bytes + sizeof ping < BLOCK; i++) {
        if (i % 32 == 0) {
            memcpy(block + n, ping, sizeof ping);
            n += sizeof ping;
        }
        memcpy(block + n, frame, bytes);
        n += bytes;
    }
    return n;
}

/* Clients that send more than the daemon reads at once, read no answer, and are gone: with a
 * high-water mark on what comes in, libzmq ends the process (its issue 4841). */
static void floods_that_break_off(void **state)
{
    static const unsigned char beat[] = {0, 4, 0x1a, 2, 8, 5}; /* a Heartbeat */
    static unsigned char block[BLOCK];
    const size_t n = fill(block, beat, sizeof beat);
    struct setup *s = *state;

    for (uint32_t i = 0; i < 20; i++) {
        int fd = enter(s, i & 1, true);

        for (uint32_t k = 0; k < 4 && send_all(fd, block, n); k++) {
        }
        close(fd);
    }
    server_wait_counter(&s->server, "clients", 0);
    check_service(s);
}

/* Sends batches without RoIs, and reads no answer, until the daemon hangs up; whether it did within
 * a minute. */
static bool flood(struct setup *s, bool is_tcp)
{
    static const unsigned char batch[] = {0, 2, 0x12, 0};
    static unsigned char block[BLOCK];
    const size_t n = fill(block, batch, sizeof batch);
    const uint64_t limit = clock_ns() + 60 * NS_PER_S;
    int fd = enter(s, is_tcp, true);

    while (clock_ns() < limit)
        if (!send_all(fd, block, n))
            return true;
    return false;
}

/* A client that sends without end, faster than the daemon reads, loses its connection when the
 * memory is used up; another is served meanwhile. */
static void floods_without_end(void **state)
{
    struct setup *s = *state;
    const uint32_t before = memory_of(&s->server, "VmHWM:");
    struct member *m = crowd_of(1);
    uint32_t after, rounds = 0;
    int status;

    member_open(&m[0], &s->server, s->context, true, "served", 0);
    crowd_meet(m, 1);
    for (uint32_t i = 0; i < 2; i++) {
        const uint64_t cut = server_counter(&s->server, "cut_off");
        const pid_t pid = fork();

        assert_true(pid >= 0);
        if (!pid)
            _exit(flood(s, i & 1) ? 0 : 1);
        while (waitpid(pid, &status, WNOHANG) == 0) {
            member_send(&m[0], 10, 0);
            crowd_settle(m, 1);
            rounds++;
        }
        assert_int_equal(status, 0);
        assert_true(server_counter(&s->server, "cut_off") > cut);
    }
    after = memory_of(&s->server, "VmHWM:");
    print_message("largest size: %u MiB, %u MiB before; %u rounds of another client\n", after,
                  before, rounds);
    assert_true(after < before + BOUND_MIB);
    crowd_check(&s->server, m, 1);
    crowd_close();
}

/* Clients come, say Hello and go, or stay; a new one still gets in at once. */
static void storms_of_hellos(void **state)
{
    struct setup *s = *state;
    const uint32_t n = 400;
    int *fd = calloc(n, sizeof *fd);
    struct member *m = crowd_of(1);
    uint64_t began;

    assert_non_null(fd);
    for (uint32_t i = 0; i < n; i++) { /* these go */
        fd[i] = connect_raw(s, true);
        assert_true(shake_hands(fd[i]));
        assert_true(say_hello(fd[i]));
        close(fd[i]);
    }
    began = clock_ns();
    server_wait_counter(&s->server, "clients",
                        0); /* their places come back with their connections */
    member_open(&m[0], &s->server, s->context, false, "guest", 0);
    crowd_meet(m, 1);
    print_message("Welcome %.1f ms after the storm that goes\n",
                  (double)(clock_ns() - began) * 1e-6);
    assert_true(clock_ns() - began < 2 * NS_PER_S); /* and not when the silent ones are forgotten */
    member_send(&m[0], 10, 0);
    crowd_settle(m, 1);
    for (uint32_t i = 0; i < MAX - 1; i++) { /* these stay: all places are taken */
        fd[i] = connect_raw(s, true);
        assert_true(shake_hands(fd[i]));
        assert_true(say_hello(fd[i]));
    }
    server_wait_counter(&s->server, "clients", MAX);
    crowd_pump(m, 1, 400); /* nobody is displaced at once */
    crowd_check(&s->server, m, 1);
    crowd_close();
    m = crowd_of(3);
    began = clock_ns();
    for (uint32_t i = 0; i < 3; i++)
        member_open(&m[i], &s->server, s->context, i == 1, "late", 0);
    crowd_meet(m, 3);
    assert_true(clock_ns() - began < 2 * NS_PER_S); /* and not when the silent ones are forgotten */
    for (uint32_t i = 0; i < 3; i++)
        member_send(&m[i], 10, 0);
    crowd_settle(m, 3);
    m[0].sent += 10; /* those of the guest */
    m[0].decided += 10;
    memset(m[0].ended, 1, m[0].sent);
    crowd_check(&s->server, m, 3);
    for (uint32_t i = 0; i < MAX - 1; i++)
        close(fd[i]);
    free(fd);
}

/* Hundreds of connections that say nothing, on every way in. */
static void silent_connections(void **state)
{
    struct setup *s = *state;
    const uint32_t n = 200;
    struct sockaddr_un shm = {.sun_family = AF_UNIX};
    int fd[3][200];
    uint64_t began = clock_ns();

    snprintf(shm.sun_path, sizeof shm.sun_path, "%s/shm", s->server.folder);
    for (uint32_t i = 0; i < n; i++) {
        fd[0][i] = connect_raw(s, false);
        fd[1][i] = connect_raw(s, true);
        fd[2][i] = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
        assert_true(fd[2][i] >= 0);
        connect(fd[2][i], (struct sockaddr *)&shm, sizeof shm); /* the backlog may be full */
    }
    check_service(s);
    assert_true(clock_ns() - began < 5 * NS_PER_S);
    for (uint32_t k = 0; k < 3; k++)
        for (uint32_t i = 0; i < n; i++)
            close(fd[k][i]);
}

/* The limit under which the daemon can open n descriptors more. */
static rlim_t limit_with_room(const struct server *s, uint32_t n)
{
    bool is_open[4096] = {false};
    char path[64];
    const struct dirent *e;
    rlim_t limit = 0;
    DIR *d;

    snprintf(path, sizeof path, "/proc/%ld/fd", (long)s->pid);
    d = opendir(path);
    assert_non_null(d);
    while ((e = readdir(d)))
        if (e->d_name[0] != '.')
            is_open[strtoul(e->d_name, NULL, 10) % 4096] = true;
    closedir(d);
    for (; n; limit++)
        n -= !is_open[limit];
    return limit;
}

/* Connections beyond the limit of descriptors are closed; the others are served, and new ones when
 * there are descriptors again. */
static void descriptors_run_out(void **state)
{
    enum { N = 40, LEFT = 4 };
    struct setup *s = *state;
    struct member *m = crowd_of(2);
    struct rlimit before, few;
    int fd[N];
    char byte;

    member_open(&m[0], &s->server, s->context, false, "early", 0);
    crowd_meet(m, 1);
    assert_int_equal(prlimit(s->server.pid, RLIMIT_NOFILE, NULL, &before), 0);
    few = before;
    few.rlim_cur = limit_with_room(&s->server, LEFT);
    assert_int_equal(prlimit(s->server.pid, RLIMIT_NOFILE, &few, NULL), 0);
    for (uint32_t i = 0; i < N; i++)
        fd[i] = connect_raw(s, i < N / 2);
    errno = 0;
    assert_true(recv(fd[N - 1], &byte, 1, 0) <= 0); /* closed without a word */
    assert_int_not_equal(errno, EAGAIN);            /* not in time */
    member_send(&m[0], 10, 0);
    crowd_settle(m, 1);
    assert_int_equal(prlimit(s->server.pid, RLIMIT_NOFILE, &before, NULL), 0);
    for (uint32_t i = 0; i < N; i++)
        close(fd[i]);
    member_open(&m[1], &s->server, s->context, false, "late", 0);
    crowd_meet(&m[1], 1);
    member_send(&m[1], 10, 0);
    crowd_settle(m, 2);
    crowd_check(&s->server, m, 2);
    crowd_close();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(messages_that_never_end, start, stop),
        cmocka_unit_test_setup_teardown(floods_that_break_off, start_roomy, stop),
        cmocka_unit_test_setup_teardown(floods_without_end, start, stop),
        cmocka_unit_test_setup_teardown(storms_of_hellos, start, stop),
        cmocka_unit_test_setup_teardown(silent_connections, start, stop),
        cmocka_unit_test_setup_teardown(descriptors_run_out, start, stop),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
