/* SPDX-License-Identifier: Apache-2.0 */
/* The program's accept4 where no descriptor is left: whoever is not accepted is closed, also while
 * two threads accept. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "transport/accepting.h"

enum { LEFT = 4, CLIENTS = 100, ROUNDS = 30 };

static void *accept_all(void *listener)
{
    struct pollfd p = {.fd = *(const int *)listener, .events = POLLIN};

    for (;;) {
        int fd = poll(&p, 1, -1) == 1 ? accept4(p.fd, NULL, NULL, SOCK_CLOEXEC) : -1;

        if (fd >= 0 && send(fd, "a", 1, MSG_NOSIGNAL) != 1) /* and it stays open */
            _exit(2);
    }
    return NULL;
}

/* The limit under which n descriptors more can be opened. */
static rlim_t limit_with_room(int n)
{
    int limit = 0;

    for (; n; limit++)
        n -= fcntl(limit, F_GETFD) < 0;
    return (rlim_t)limit;
}

/* The server: LEFT descriptors, and a thread for each listener.  Does not return. */
static void serve(int *listener)
{
    struct rlimit limit;
    pthread_t thread;

    prctl(PR_SET_PDEATHSIG, SIGKILL); /* when a check fails, nobody else ends it */
    if (accepting_open() < 0 || getrlimit(RLIMIT_NOFILE, &limit) < 0)
        _exit(3);
    limit.rlim_cur = limit_with_room(LEFT);
    if (setrlimit(RLIMIT_NOFILE, &limit) < 0 ||
        pthread_create(&thread, NULL, accept_all, &listener[1]) != 0)
        _exit(4);
    accept_all(&listener[0]);
}

static int listen_at(struct sockaddr_un *at, const char *folder, int which)
{
    const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

    *at = (struct sockaddr_un){.sun_family = AF_UNIX};
    snprintf(at->sun_path, sizeof at->sun_path, "%.80s/%d", folder, which);
    assert_int_equal(bind(fd, (struct sockaddr *)at, sizeof *at), 0);
    assert_int_equal(listen(fd, CLIENTS), 0);
    return fd;
}

static int connect_to(const struct sockaddr_un *at)
{
    const struct timeval limit = {.tv_sec = 10};
    const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    assert_true(fd >= 0);
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    assert_int_equal(connect(fd, (const struct sockaddr *)at, sizeof *at), 0);
    return fd;
}

static void a_round(const char *folder)
{
    struct sockaddr_un at[2];
    int listener[2], client[CLIENTS], accepted = 0, status;
    pid_t server;

    for (int i = 0; i < 2; i++)
        listener[i] = listen_at(&at[i], folder, i);
    server = fork();
    assert_true(server >= 0);
    if (!server)
        serve(listener);
    for (int i = 0; i < CLIENTS; i++)
        client[i] = connect_to(&at[i % 2]);
    for (int i = 0; i < CLIENTS; i++) {
        char byte;
        const ssize_t n = recv(client[i], &byte, 1, 0);

        assert_true(n >= 0 || errno == ECONNRESET); /* and not EAGAIN: it has an end */
        accepted += n == 1;
        close(client[i]);
    }
    assert_int_equal(accepted, LEFT);
    kill(server, SIGKILL);
    assert_int_equal(waitpid(server, &status, 0), server);
    for (int i = 0; i < 2; i++) {
        close(listener[i]);
        unlink(at[i].sun_path);
    }
}

static void two_threads(void **state)
{
    char folder[] = "/tmp/trigd-accepting-XXXXXX";

    (void)state;
    assert_non_null(mkdtemp(folder));
    for (int i = 0; i < ROUNDS; i++)
        a_round(folder);
    assert_int_equal(rmdir(folder), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(two_threads),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
