/* SPDX-License-Identifier: Apache-2.0 */
/* clients_bind.c - the endpoints of clients.h. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/socketfile.h"
#include "log.h"
#include "transport/clients_inner.h"

#define IPC_SCHEME "ipc://"
#define TCP_SCHEME "tcp://"
#define TAKEN_MS   50 /* in which a thread of ZeroMQ takes a listener, on a busy machine too */

static int use_fd(struct clients *c, int fd)
{
    return zmq_setsockopt(c->socket, ZMQ_USE_FD, &fd, sizeof fd) < 0 ? -errno : 0;
}

/* A file of ipc:// is bound here and handed to ZeroMQ, which would remove whatever lies there. */
static int bind_file(struct clients *c, uint32_t i, const char *path, char *why, size_t bytes)
{
    int fd, r = socketfile_listen(path, SOCK_STREAM, CLIENTS_BACKLOG, &c->file[i], &fd, why, bytes);

    if (r < 0)
        return r;
    r = use_fd(c, fd);
    if (r == 0 && zmq_bind(c->socket, c->config->endpoints[i]) < 0)
        r = -errno;
    if (r < 0) {
        snprintf(why, bytes, "%s", zmq_strerror(-r));
        close(fd);
        return r;
    }
    return use_fd(c, -1);
}

static bool is_of(const char *endpoint, const char *scheme)
{
    return strncmp(endpoint, scheme, strlen(scheme)) == 0;
}

static int bind_one(struct clients *c, uint32_t i, char *why, size_t bytes)
{
    const char *e = c->config->endpoints[i];
    int r;

    if (is_of(e, IPC_SCHEME) && e[strlen(IPC_SCHEME)] != '@')
        return bind_file(c, i, e + strlen(IPC_SCHEME), why, bytes);
    r = zmq_bind(c->socket, e) < 0 ? -errno : 0;
    if (r < 0)
        snprintf(why, bytes, "%s", zmq_strerror(-r));
    return r;
}

/* Where an endpoint is bound, whatever the configuration says of its port. */
static int note_bound(struct clients *c, uint32_t i, const char *scheme)
{
    char bound[256];
    size_t n = sizeof bound;

    if (zmq_getsockopt(c->socket, ZMQ_LAST_ENDPOINT, bound, &n) < 0)
        return -errno;
    log_info("ingress", "listening", "endpoint=\"%s\"%s", bound,
             c->auth && is_of(scheme, TCP_SCHEME) ? " keys=CURVE" : "");
    c->bound[i] = strdup(bound);
    return c->bound[i] ? 0 : -ENOMEM;
}

/* libzmq gives a listener or a connection to the thread with the fewest of both, and counts one
 * when its thread has taken it.  Without a pause one thread has all listeners, and the first
 * clients share the others. */
static void await_taken(const struct clients *c)
{
    if (c->config->threads.zmq_threads > 1)
        zmq_poll(NULL, 0, TAKEN_MS);
}

/* Binds the endpoints of one scheme; shm:// is bound in shm_peers.c. */
static int bind_scheme(struct clients *c, const char *scheme)
{
    for (uint32_t i = 0; i < c->config->n_endpoints; i++) {
        char why[256];
        int r;

        if (!is_of(c->config->endpoints[i], scheme))
            continue;
        r = bind_one(c, i, why, sizeof why);
        if (r < 0) {
            log_error("ingress", "cannot bind an endpoint", "endpoint=\"%s\" error=\"%s\"",
                      c->config->endpoints[i], why);
            return r;
        }
        r = note_bound(c, i, scheme);
        if (r < 0)
            return r;
        await_taken(c);
    }
    return 0;
}

int clients_bind(struct clients *c)
{
    int r;

    c->file = calloc(c->config->n_endpoints, sizeof *c->file);
    c->bound = calloc(c->config->n_endpoints, sizeof *c->bound);
    if (!c->file || !c->bound)
        return -ENOMEM;
    r = bind_scheme(c, IPC_SCHEME);
    if (r == 0)
        r = auth_prepare(c->auth, c->socket);
    return r < 0 ? r : bind_scheme(c, TCP_SCHEME);
}

void clients_bind_again(struct clients *c)
{
    const uint32_t keys = auth_keys(c->auth);

    if (keys == c->keys)
        return;
    c->keys = keys;
    for (uint32_t i = 0; i < c->config->n_endpoints; i++)
        if (is_of(c->config->endpoints[i], TCP_SCHEME))
            auth_rebind(c->auth, c->socket, c->bound[i]);
}

void clients_unbind(struct clients *c)
{
    for (uint32_t i = 0; c->file && i < c->config->n_endpoints; i++)
        socketfile_remove(c->file[i]);
    for (uint32_t i = 0; c->bound && i < c->config->n_endpoints; i++)
        free(c->bound[i]);
    free(c->file);
    free(c->bound);
}
