/* SPDX-License-Identifier: Apache-2.0 */
#include "transport/accepting.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "clock.h"
#include "log.h"

#define SAY_NS (10 * NS_PER_S) /* between two lines */

typedef int accept_fn(int fd, struct sockaddr *address, socklen_t *bytes, int flags);

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of what follows */
static accept_fn *in_libc;
static int spare = -1;
static uint64_t n_closed, said_ns; /* since that line */
static struct over {
    int fd;
    ino_t inode; /* tells it from the next socket with the same descriptor */
} * over;        /* [n_over] listeners that accept nothing */
static size_t n_over;

static void take_spare(void)
{
    if (spare < 0)
        spare = open("/dev/null", O_RDONLY | O_CLOEXEC);
}

int accepting_open(void)
{
    int r;

    pthread_mutex_lock(&lock);
    take_spare();
    r = spare < 0 ? -errno : 0;
    pthread_mutex_unlock(&lock);
    return r;
}

/* ---------------------------------------------------------------- listeners that are over */

static bool is_open(const struct over *o)
{
    struct stat s;

    return fstat(o->fd, &s) == 0 && s.st_ino == o->inode;
}

static void drop_closed(void)
{
    for (size_t i = n_over; i-- > 0;)
        if (!is_open(&over[i]))
            over[i] = over[--n_over];
}

int accepting_end(int listener)
{
    struct over *more;
    struct stat s;
    int r = -ENOMEM;

    if (fstat(listener, &s) < 0)
        return -errno;
    pthread_mutex_lock(&lock);
    drop_closed();
    more = realloc(over, (n_over + 1) * sizeof *more);
    if (more) {
        over = more;
        over[n_over++] = (struct over){.fd = listener, .inode = s.st_ino};
        r = 0;
    }
    pthread_mutex_unlock(&lock);
    return r;
}

/* With the lock. */
static bool is_over(int listener)
{
    for (size_t i = 0; i < n_over; i++)
        if (over[i].fd == listener && is_open(&over[i]))
            return true;
    return false;
}

bool accepting_is_over(int listener)
{
    bool r;

    pthread_mutex_lock(&lock);
    r = is_over(listener);
    pthread_mutex_unlock(&lock);
    return r;
}

/* ---------------------------------------------------------------- accept4 */

/* libc's.  With the lock. */
static bool find(void)
{
    if (!in_libc)
        *(void **)&in_libc = dlsym(RTLD_NEXT, "accept4");
    return in_libc != NULL;
}

/* Accepts one, if there is one: with the lock, because another thread's accept would take the
 * descriptor that turn_away frees. */
static int take(int listener, struct sockaddr *address, socklen_t *bytes, int flags)
{
    struct pollfd p = {.fd = listener, .events = POLLIN};

    if (poll(&p, 1, 0) == 1)
        return in_libc(listener, address, bytes, flags);
    errno = EAGAIN;
    return -1;
}

/* Accepts one with the descriptor that is kept, and closes it.  With the lock. */
static void turn_away(int listener)
{
    int fd;

    if (spare < 0) /* another thread has opened something: they wait until a descriptor is free */
        return;
    close(spare);
    spare = -1;
    fd = take(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (fd >= 0) {
        close(fd);
        n_closed++;
    }
    take_spare();
}

/* How many a line is due for.  With the lock. */
static uint64_t count_to_say(void)
{
    const uint64_t now = clock_ns(), n = n_closed;

    if (!n || (said_ns && now <= said_ns + SAY_NS))
        return 0;
    n_closed = 0;
    said_ns = now;
    return n;
}

/* accept4(2), but EAGAIN where it would wait and at a listener that is over, and ECONNABORTED when
 * there is no descriptor; the connection is closed then. */
__attribute__((visibility("default"))) int accept4(int listener, struct sockaddr *address,
                                                   socklen_t *bytes, int flags)
{
    uint64_t n = 0;
    int fd = -1, error;

    pthread_mutex_lock(&lock);
    take_spare(); /* without it no connection could be closed once all descriptors are taken */
    if (!find()) {
        error = ENOSYS;
    } else if (is_over(listener)) {
        error = EAGAIN;
    } else if (spare < 0) {
        error = EMFILE;
    } else {
        fd = take(listener, address, bytes, flags);
        error = errno;
    }
    if (fd < 0 && (error == EMFILE || error == ENFILE)) {
        turn_away(listener);
        n = count_to_say();
        error = ECONNABORTED;
    }
    pthread_mutex_unlock(&lock);
    if (n)
        log_error("ingress", "no descriptor is left: connections are closed", "connections=%llu",
                  (unsigned long long)n);
    errno = error;
    return fd;
}
