/* SPDX-License-Identifier: Apache-2.0 */
#include "transport.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zmq.h>

#include "clock.h"
#include "encode.h"
#include "unpacking.h"

#define LINGER_MS     500
#define NO_ROOM_NS    (20 * NS_PER_US) /* before what found no room is tried again */
#define AROUND_PACKED 64u              /* bytes at most: token, L1 id, tags and lengths */

int transport_use_keys(const struct trg_client *c, void *socket, const char *server_key)
{
    const int is_server = 0; /* which takes keys off the socket as well */

    if (zmq_setsockopt(socket, ZMQ_CURVE_SERVER, &is_server, sizeof is_server) < 0)
        return -errno;
    if (!*server_key)
        return 0;
    if (zmq_setsockopt(socket, ZMQ_CURVE_SERVERKEY, server_key, KEYFILE_KEY) < 0 ||
        zmq_setsockopt(socket, ZMQ_CURVE_PUBLICKEY, c->own.public_key, KEYFILE_KEY) < 0 ||
        zmq_setsockopt(socket, ZMQ_CURVE_SECRETKEY, c->own.secret_key, KEYFILE_KEY) < 0)
        return -errno;
    return 0;
}

/* libzmq tells of the end of a connection that it makes anew by itself. */
static int watch(struct trg_client *c)
{
    char where[64];

    snprintf(where, sizeof where, "inproc://watch-%p", c->socket);
    if (zmq_socket_monitor(c->socket, where, ZMQ_EVENT_DISCONNECTED) < 0)
        return -errno;
    c->watch = zmq_socket(c->context, ZMQ_PAIR);
    return !c->watch || zmq_connect(c->watch, where) < 0 ? -errno : 0;
}

bool transport_is_lost(struct trg_client *c)
{
    zmq_msg_t m;
    bool is_lost = false;

    while (c->watch) { /* an event has two parts: what, and where */
        zmq_msg_init(&m);
        if (zmq_msg_recv(&m, c->watch, ZMQ_DONTWAIT) < 0) {
            zmq_msg_close(&m);
            break;
        }
        zmq_msg_close(&m);
        is_lost = true;
    }
    return is_lost;
}

static int open_zmq(struct trg_client *c, const char *endpoint)
{
    const int linger = 0, no_limit = 0;
    int r;

    c->socket = zmq_socket(c->context, ZMQ_DEALER);
    if (!c->socket)
        return -errno;
    if (zmq_setsockopt(c->socket, ZMQ_LINGER, &linger, sizeof linger) < 0 ||
        zmq_setsockopt(c->socket, ZMQ_SNDHWM, &no_limit, sizeof no_limit) < 0 ||
        zmq_setsockopt(c->socket, ZMQ_RCVHWM, &no_limit, sizeof no_limit) < 0)
        return -errno;
    r = watch(c);
    if (r == 0 && c->has_keys && strncmp(endpoint, "tcp://", 6) == 0)
        r = transport_use_keys(c, c->socket, c->server.public_key);
    if (r < 0)
        return r;
    return zmq_connect(c->socket, endpoint) < 0 ? -errno : 0;
}

int transport_open(struct trg_client *c, const char *endpoint)
{
    if (strncmp(endpoint, SHM_SCHEME, strlen(SHM_SCHEME)) == 0)
        return shmclient_open(endpoint, &c->shm);
    return open_zmq(c, endpoint);
}

bool transport_is_open(const struct trg_client *c)
{
    return c->socket || c->shm;
}

void transport_close(struct trg_client *c)
{
    const int linger = LINGER_MS, none = 0;

    if (c->socket) {
        zmq_setsockopt(c->socket, ZMQ_LINGER, &linger, sizeof linger);
        zmq_socket_monitor(c->socket, NULL, 0);
        zmq_close(c->socket);
    }
    if (c->watch) {
        zmq_setsockopt(c->watch, ZMQ_LINGER, &none, sizeof none);
        zmq_close(c->watch);
    }
    shmclient_close(c->shm);
    c->socket = c->watch = NULL;
    c->shm = NULL;
}

/* ---------------------------------------------------------------- there */

static int send_body(struct trg_client *c, zmq_msg_t *body, int flags)
{
    if (zmq_msg_send(body, c->socket, flags) < 0) {
        int r = -errno;

        zmq_msg_close(body);
        return r;
    }
    c->spoken_ns = clock_ns();
    return 0;
}

int transport_tell(struct trg_client *c, const Trigd__V1__ToDaemon *m)
{
    size_t n = trigd__v1__to_daemon__get_packed_size(m);
    zmq_msg_t body;
    int r;

    if (c->shm) {
        r = shmclient_tell(c->shm, m);
        c->spoken_ns = clock_ns();
        /* the daemon has packets of ours to read: that is a beat; if it is gone receiving tells */
        return r == -EAGAIN || r == -EPIPE || r == -ECONNRESET ? 0 : r;
    }
    if (zmq_msg_init_size(&body, n) < 0)
        return -errno;
    trigd__v1__to_daemon__pack(m, zmq_msg_data(&body));
    return send_body(c, &body, ZMQ_DONTWAIT);
}

/* Of the message with one RoI; an estimate that is not too small where that is enough. */
static uint64_t message_bytes(const struct trg_client *c, const struct trg_client_roi *roi)
{
    struct flight f = {.roi = *roi, .token = UINT64_MAX, .is_repeat = true}, *list = &f;
    size_t inner;

    if (roi->packed && roi->packed_bytes + AROUND_PACKED <= c->max_message_bytes)
        return roi->packed_bytes + AROUND_PACKED;
    return encode_size(&list, 1, &inner);
}

int transport_check(const struct trg_client *c, const struct trg_client_roi *roi,
                    uint64_t *ret_shared, char *why, size_t bytes)
{
    const uint64_t limit = c->shm ? shmclient_most(c->shm) : c->max_message_bytes;
    const uint64_t size = c->shm ? encode_columns_size(roi) : message_bytes(c, roi);

    *ret_shared = c->shm ? size : 0;
    if (size <= limit || !limit)
        return 0;
    snprintf(why, bytes, "an RoI has %llu bytes; the daemon takes at most %llu",
             (unsigned long long)size, (unsigned long long)limit);
    return -EMSGSIZE;
}

static int send_message(struct trg_client *c, struct flight *const *flights, const size_t *sizes,
                        uint32_t n, size_t bytes)
{
    zmq_msg_t body;
    int r;

    if (zmq_msg_init_size(&body, bytes) < 0)
        return -errno;
    encode_message(flights, sizes, n, zmq_msg_data(&body));
    r = send_body(c, &body, 0);
    if (r == 0)
        c->stats.bytes_out += bytes;
    return r;
}

/* One message holds all, or half of them if it would be too large. */
static int send_messages(struct trg_client *c, struct flight *const *flights, uint32_t n)
{
    size_t sizes[TRG_CLIENT_BATCH_MAX], bytes = encode_size(flights, n, sizes);
    int first, second;

    if (n == 1 || !c->max_message_bytes || bytes <= c->max_message_bytes) {
        first = send_message(c, flights, sizes, n, bytes);
        return first < 0 ? first : (int)n;
    }
    first = send_messages(c, flights, n / 2);
    if (first < 0)
        return first;
    second = send_messages(c, flights + n / 2, n - n / 2);
    return second < 0 ? second : first + second;
}

/* Writes one RoI; -ENOSPC or -EAGAIN: not now. */
static int write_roi(struct trg_client *c, struct flight *f)
{
    struct shm_roi entry;
    void *dst;
    int r;

    r = shmclient_take(c->shm, f->bytes, &f->at, &dst);
    if (r < 0)
        return r;
    encode_columns(f, f->at, dst, &entry);
    r = shmclient_put(c->shm, &entry);
    if (r < 0)
        shmclient_give(c->shm, f->at, f->bytes);
    else
        c->stats.bytes_out += f->bytes + sizeof entry;
    return r;
}

static int write_all(struct trg_client *c, struct flight *const *flights, uint32_t n)
{
    int sent = 0;

    for (uint32_t i = 0; i < n; i++) {
        int r = write_roi(c, flights[i]);

        if (r < 0 && r != -ENOSPC && r != -EAGAIN)
            return r;
        sent += r == 0;
        if (r == 0)
            continue;
        flights_again(c, flights[i], true);
        c->again_ns = clock_ns() + NO_ROOM_NS;
    }
    shmclient_send(c->shm);
    c->spoken_ns = sent ? clock_ns() : c->spoken_ns;
    return sent;
}

int transport_send(struct trg_client *c, struct flight *const *flights, uint32_t n)
{
    return c->shm ? write_all(c, flights, n) : send_messages(c, flights, n);
}

void transport_end(struct trg_client *c, struct flight *f)
{
    if (c->shm)
        shmclient_give(c->shm, f->at, f->bytes);
}

/* ---------------------------------------------------------------- and back */

static int unpack(struct trg_client *c, const void *bytes, size_t n,
                  Trigd__V1__FromDaemon **ret_message)
{
    const int r = unpacking_unpack(&c->memory, bytes, n, ret_message);

    return r < 0 ? r : 1;
}

static int receive_shared(struct trg_client *c, Trigd__V1__FromDaemon **ret_message)
{
    const void *bytes;
    int n = shmclient_receive(c->shm, &bytes);

    if (n <= 0)
        return n;
    return unpack(c, bytes, (size_t)n, ret_message);
}

static int receive_zmq(struct trg_client *c, Trigd__V1__FromDaemon **ret_message)
{
    zmq_msg_t body;
    int r = 0;

    zmq_msg_init(&body);
    if (zmq_msg_recv(&body, c->socket, ZMQ_DONTWAIT) >= 0)
        r = unpack(c, zmq_msg_data(&body), zmq_msg_size(&body), ret_message);
    zmq_msg_close(&body);
    return r;
}

int transport_receive(struct trg_client *c, long limit_ms, Trigd__V1__FromDaemon **ret_message)
{
    struct trg_client_source source;

    if (limit_ms) {
        zmq_pollitem_t item = {.events = ZMQ_POLLIN};
        bool is_idle = trg_client_sleep(c, &source);

        item.socket = source.socket;
        item.fd = source.fd;
        if (is_idle && zmq_poll(&item, 1, limit_ms) <= 0)
            return 0;
        trg_client_awake(c);
    }
    return c->shm ? receive_shared(c, ret_message) : receive_zmq(c, ret_message);
}

bool trg_client_sleep(struct trg_client *c, struct trg_client_source *ret_source)
{
    *ret_source = (struct trg_client_source){.socket = c->socket, .fd = -1};
    if (!c->shm)
        return true; /* without either it is a descriptor that the system passes over */
    ret_source->fd = shmclient_fd(c->shm);
    return shmclient_sleep(c->shm);
}

void trg_client_awake(struct trg_client *c)
{
    if (c->shm)
        shmclient_awake(c->shm);
}
