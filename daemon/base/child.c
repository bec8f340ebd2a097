/* SPDX-License-Identifier: Apache-2.0 */
#include "base/child.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/signals.h"
#include "log.h"

#define SOCKET_BUF (1 << 20)

extern char **environ;

bool child_is(void)
{
    socklen_t bytes = sizeof(int);
    int type = 0;

    return !getsockopt(CHILD_SOCKET, SOL_SOCKET, SO_TYPE, &type, &bytes) && type == SOCK_SEQPACKET;
}

void child_enter(void)
{
    signal(SIGPIPE, SIG_IGN);
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0)
        log_warn("child", "cannot ask to be ended with the daemon", "error=\"%s\"",
                 strerror(errno));
}

void child_init(struct child *c)
{
    *c = (struct child){.pidfd = -1, .socket = -1};
}

static int spawn(const char *mode, int socket, pid_t *ret_pid)
{
    char text[32];
    char *const argv[] = {"trigd", text, NULL};
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attr;
    sigset_t blocked, dfl;
    int r;

    strncpy(text, mode, sizeof text - 1);
    text[sizeof text - 1] = '\0';
    signals_fill(&blocked); /* for the parent, which ends its children */
    sigemptyset(&dfl);
    sigaddset(&dfl, SIGPIPE);
    posix_spawnattr_init(&attr);
    posix_spawnattr_setsigmask(&attr, &blocked);
    posix_spawnattr_setsigdefault(&attr, &dfl);
    posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, socket, CHILD_SOCKET);
    r = posix_spawn(ret_pid, "/proc/self/exe", &actions, &attr, argv, environ);
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attr);
    return -r;
}

int child_start(const char *mode, struct child *c)
{
    const int bytes = SOCKET_BUF;
    int pair[2], r;

    child_init(c);
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
        return -errno;
    for (int i = 0; i < 2; i++)
        setsockopt(pair[i], SOL_SOCKET, SO_SNDBUF, &bytes, sizeof bytes);
    r = spawn(mode, pair[1], &c->pid);
    close(pair[1]);
    if (r < 0) {
        close(pair[0]);
        c->pid = 0;
        log_error("child", "a process cannot be started", "mode=%s error=\"%s\"", mode,
                  strerror(-r));
        return r;
    }
    c->socket = pair[0];
    c->pidfd = (int)syscall(SYS_pidfd_open, c->pid, 0);
    if (c->pidfd < 0) {
        r = -errno;
        log_error("child", "a process cannot be watched", "mode=%s error=\"%s\"", mode,
                  strerror(-r));
        child_end(c, 0);
    }
    return r;
}

int child_kill(const struct child *c)
{
    if (!c->pid)
        return 0;
    return kill(c->pid, SIGKILL) < 0 ? -errno : 0; /* not reaped yet, so it is this one */
}

int child_reap(struct child *c)
{
    int status = 0;

    while (waitpid(c->pid, &status, 0) < 0 && errno == EINTR) {
    }
    if (c->socket >= 0)
        close(c->socket);
    if (c->pidfd >= 0)
        close(c->pidfd);
    child_init(c);
    return status;
}

void child_end(struct child *c, uint32_t within_ms)
{
    struct pollfd fd = {.fd = c->pidfd, .events = POLLIN};

    if (!c->pid)
        return;
    shutdown(c->socket, SHUT_RDWR); /* it ends when it reads the end */
    if (!within_ms || poll(&fd, 1, (int)within_ms) <= 0)
        child_kill(c);
    child_reap(c);
}
