/* SPDX-License-Identifier: Apache-2.0 */
#include "transport/rebind.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include <zmq.h>

#include "transport/accepting.h"

#define ENDPOINT_BYTES (NI_MAXHOST + NI_MAXSERV + 16)

/* Writes where a listening socket is, as libzmq writes it. */
static bool endpoint_of(int fd, char *to, size_t bytes)
{
    struct sockaddr_storage at = {.ss_family = AF_UNSPEC};
    socklen_t n = sizeof at, size = sizeof(int);
    char host[NI_MAXHOST], port[NI_MAXSERV];
    int is_listening = 0;

    if (getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &is_listening, &size) < 0 || !is_listening ||
        getsockname(fd, (struct sockaddr *)&at, &n) < 0 ||
        getnameinfo((struct sockaddr *)&at, n, host, sizeof host, port, sizeof port,
                    NI_NUMERICHOST | NI_NUMERICSERV) != 0)
        return false;
    snprintf(to, bytes, at.ss_family == AF_INET6 ? "tcp://[%s]:%s" : "tcp://%s:%s", host, port);
    return true;
}

/* The descriptor of the listener that accepts at an endpoint, or a negative errno. */
static int listener_at(const char *endpoint)
{
    DIR *d = opendir("/proc/self/fd");
    const struct dirent *e;
    char here[ENDPOINT_BYTES];
    int found = d ? -ENOENT : -errno;

    while (d && found < 0 && (e = readdir(d))) {
        const int fd = (int)strtol(e->d_name, NULL, 10);

        if (e->d_name[0] != '.' && endpoint_of(fd, here, sizeof here) && !strcmp(here, endpoint) &&
            !accepting_is_over(fd))
            found = fd;
    }
    if (d)
        closedir(d);
    return found;
}

static int set_fd(void *socket, int fd)
{
    return zmq_setsockopt(socket, ZMQ_USE_FD, &fd, sizeof fd) < 0 ? -errno : 0;
}

int rebind(void *socket, const char *endpoint)
{
    const int first = listener_at(endpoint);
    int second, r;

    if (first < 0)
        return first;
    /* both are woken by a connection until the first is told: none may wait for the next */
    if (fcntl(first, F_SETFL, O_NONBLOCK) < 0)
        return -errno;
    second = fcntl(first, F_DUPFD_CLOEXEC, 0);
    if (second < 0)
        return -errno;
    r = set_fd(socket, second);
    if (r == 0 && zmq_bind(socket, endpoint) < 0)
        r = -errno;
    set_fd(socket, -1);
    if (r < 0)
        close(second);
    else
        accepting_end(first);
    return r;
}
