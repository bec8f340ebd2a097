/* SPDX-License-Identifier: Apache-2.0 */
#include "logsink.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "clock.h"

enum state { OFF, ON, ENDING, STUCK };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed; /* on CLOCK_MONOTONIC, from logsink_start on */
static enum state state;
static pthread_t thread;
static int direct_fd = -1; /* stderr once more, with a flag of its own: not to wait */
static bool is_socket;
static char ring[LOGSINK_BYTES];
static size_t first, used; /* bytes in the ring */
static bool is_writing;    /* the thread is at the bytes from `first` on */
static _Atomic uint64_t dropped;
static uint64_t said; /* dropped lines that a line was written about */

uint64_t logsink_dropped(void)
{
    return atomic_load(&dropped);
}

/* ---------------------------------------------------------------- without waiting */

/* Opens what stderr is a second time: its own description cannot be made non-blocking, since other
 * processes have it as well.  Files on a disk are left to the thread: they wait whatever is asked.
 */
static void open_direct(void)
{
    struct stat s;

    if (fstat(STDERR_FILENO, &s) < 0)
        return;
    is_socket = S_ISSOCK(s.st_mode);
    if (is_socket)
        direct_fd = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3);
    else if (S_ISFIFO(s.st_mode) || S_ISCHR(s.st_mode))
        direct_fd = open("/proc/self/fd/2", O_WRONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
}

/* How many bytes went out; 0 when there is no room. */
static size_t write_direct(const char *bytes, size_t n)
{
    ssize_t sent;

    if (direct_fd < 0)
        return 0;
    sent = is_socket ? send(direct_fd, bytes, n, MSG_DONTWAIT | MSG_NOSIGNAL)
                     : write(direct_fd, bytes, n);
    return sent > 0 ? (size_t)sent : 0;
}

/* ---------------------------------------------------------------- the ring */

static void put(const char *bytes, size_t n)
{
    for (size_t i = 0; i < n; i++)
        ring[(first + used + i) % LOGSINK_BYTES] = bytes[i];
    used += n;
    pthread_cond_broadcast(&changed);
}

/* Puts the line that says what was dropped, when it fits; with the lock. */
static void say_dropped(void)
{
    uint64_t now = atomic_load(&dropped);
    char line[160];
    int n;

    if (now == said || LOGSINK_BYTES - used < sizeof line)
        return;
    n = snprintf(line, sizeof line,
                 "level=warn comp=log msg=\"log lines were dropped: stderr was not read\" "
                 "lines=%llu total=%llu\n",
                 (unsigned long long)(now - said), (unsigned long long)now);
    said = now;
    put(line, (size_t)n);
}

static void *run(void *arg)
{
    (void)arg;
    pthread_mutex_lock(&lock);
    for (;;) {
        size_t n = LOGSINK_BYTES - first;
        ssize_t sent;

        if (!used) {
            if (state == ENDING)
                break;
            pthread_cond_wait(&changed, &lock);
            continue;
        }
        n = used < n ? used : n;
        is_writing = true;
        pthread_mutex_unlock(&lock);
        sent = write(STDERR_FILENO, ring + first, n); /* may wait for ever */
        pthread_mutex_lock(&lock);
        is_writing = false;
        if (sent < 0 && errno != EINTR && errno != EAGAIN)
            sent = (ssize_t)n; /* there is nowhere left to say so */
        if (sent > 0) {
            first = (first + (size_t)sent) % LOGSINK_BYTES;
            used -= (size_t)sent;
            say_dropped();
        } else {
            struct timespec pause = {.tv_nsec = 10 * (long)NS_PER_MS}; /* others made it so */

            pthread_mutex_unlock(&lock);
            nanosleep(&pause, NULL);
            pthread_mutex_lock(&lock);
        }
        pthread_cond_broadcast(&changed);
    }
    pthread_mutex_unlock(&lock);
    return NULL;
}

/* ---------------------------------------------------------------- for everybody */

int logsink_start(void)
{
    pthread_condattr_t attr;
    sigset_t all, old;
    int r;

    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&changed, &attr);
    pthread_condattr_destroy(&attr);
    open_direct();
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    r = -pthread_create(&thread, NULL, run, NULL);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    pthread_mutex_lock(&lock);
    state = r == 0 ? ON : OFF;
    pthread_mutex_unlock(&lock);
    return r;
}

void logsink_stop(uint32_t wait_ms)
{
    uint64_t until = clock_ns() + NS_PER_MS * wait_ms;
    struct timespec limit = {.tv_sec = (time_t)(until / NS_PER_S),
                             .tv_nsec = (long)(until % NS_PER_S)};
    bool is_stuck;
    int r = 0;

    pthread_mutex_lock(&lock);
    if (state != ON) {
        pthread_mutex_unlock(&lock);
        return;
    }
    while (used && r == 0)
        r = pthread_cond_timedwait(&changed, &lock, &limit);
    is_stuck = used != 0;
    state = is_stuck ? STUCK : ENDING;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&lock);
    if (is_stuck) {
        pthread_detach(thread); /* it waits in write(2) until the process ends */
        return;
    }
    pthread_join(thread, NULL);
    pthread_mutex_lock(&lock);
    state = OFF;
    pthread_mutex_unlock(&lock);
    if (direct_fd >= 0)
        close(direct_fd);
    direct_fd = -1;
}

void logsink_write(const char *line, size_t n)
{
    size_t sent = 0;

    pthread_mutex_lock(&lock);
    if (state == OFF) {
        pthread_mutex_unlock(&lock);
        if (write(STDERR_FILENO, line, n) < 0) {
            /* there is nowhere left to say so */
        }
        return;
    }
    if (!used && !is_writing && state == ON)
        sent = write_direct(line, n);
    if (n - sent > LOGSINK_BYTES - used || state != ON)
        atomic_fetch_add(&dropped, 1);
    else if (sent < n)
        put(line + sent, n - sent);
    pthread_mutex_unlock(&lock);
}
