/* SPDX-License-Identifier: Apache-2.0 */
#include "transport.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "keyfile.h"

#define LINGER_MS        500
#define NO_ROOM_NS       (20 * NS_PER_US) /* before what found no room is tried again */
#define SEND_MAX         256u
#define LARGEST_UNPACKED 64u /* times the bytes of the message: a decision without results */
#define SCRATCH_LEAST    4096u

/* With TRIGD_KEY and TRIGD_SERVER_KEY in the environment, which name files of `trigctl keygen`, the
 * connection is encrypted and each side knows the other. */
static int use_keys(void *socket)
{
    const char *own = getenv("TRIGD_KEY"), *server = getenv("TRIGD_SERVER_KEY");
    struct keyfile keys, daemon;
    char why[512];
    int r;

    if (!own || !server)
        return 0;
    r = keyfile_read(own, &keys, why, sizeof why);
    if (r == 0)
        r = keyfile_read(server, &daemon, why, sizeof why);
    if (r < 0) {
        fprintf(stderr, "trigreplay: %s\n", why);
        return r;
    }
    if (zmq_setsockopt(socket, ZMQ_CURVE_SERVERKEY, daemon.public_key, KEYFILE_KEY) < 0 ||
        zmq_setsockopt(socket, ZMQ_CURVE_PUBLICKEY, keys.public_key, KEYFILE_KEY) < 0 ||
        zmq_setsockopt(socket, ZMQ_CURVE_SECRETKEY, keys.secret_key, KEYFILE_KEY) < 0)
        r = -errno;
    keyfile_forget(&keys);
    return r;
}

/* libzmq tells of the end of a connection that it makes anew by itself. */
static int watch(struct connection *c, void *zmq_context)
{
    char where[64];

    snprintf(where, sizeof where, "inproc://watch-%p", c->socket);
    if (zmq_socket_monitor(c->socket, where, ZMQ_EVENT_DISCONNECTED) < 0)
        return -errno;
    c->watch = zmq_socket(zmq_context, ZMQ_PAIR);
    return !c->watch || zmq_connect(c->watch, where) < 0 ? -errno : 0;
}

bool transport_is_lost(struct connection *c)
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

static int open_zmq(struct connection *c, void *zmq_context, const char *endpoint)
{
    const int linger = 0, no_limit = 0;
    int r;

    c->socket = zmq_socket(zmq_context, ZMQ_DEALER);
    if (!c->socket)
        return -errno;
    if (zmq_setsockopt(c->socket, ZMQ_LINGER, &linger, sizeof linger) < 0 ||
        zmq_setsockopt(c->socket, ZMQ_SNDHWM, &no_limit, sizeof no_limit) < 0 ||
        zmq_setsockopt(c->socket, ZMQ_RCVHWM, &no_limit, sizeof no_limit) < 0)
        return -errno;
    r = watch(c, zmq_context);
    if (r == 0 && strncmp(endpoint, "tcp://", 6) == 0)
        r = use_keys(c->socket);
    if (r < 0)
        return r;
    return zmq_connect(c->socket, endpoint) < 0 ? -errno : 0;
}

int transport_open(struct connection *c, void *zmq_context, const char *endpoint)
{
    if (strncmp(endpoint, SHM_SCHEME, strlen(SHM_SCHEME)) == 0)
        return shmclient_open(endpoint, &c->shm);
    return open_zmq(c, zmq_context, endpoint);
}

bool transport_is_open(const struct connection *c)
{
    return c->socket || c->shm;
}

void transport_close(struct connection *c)
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

static int send_body(struct connection *c, zmq_msg_t *body, int flags)
{
    if (zmq_msg_send(body, c->socket, flags) < 0) {
        int r = -errno;

        zmq_msg_close(body);
        return r;
    }
    c->spoken_ns = clock_ns();
    return 0;
}

int transport_tell(struct connection *c, const Trigd__V1__ToDaemon *m)
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

/* One message holds all. */
static int send_message(struct connection *c, struct flight *const *flights, uint32_t n)
{
    struct source_pick picks[SEND_MAX];
    size_t bytes;
    zmq_msg_t body;
    int r;

    for (uint32_t i = 0; i < n; i++) {
        picks[i] = (struct source_pick){.which = flights[i]->which,
                                        .l1id = flights[i]->l1id,
                                        .token = flights[i]->token,
                                        .is_repeat = flights[i]->is_repeat};
    }
    bytes = source_pack(c->source, picks, n, NULL);
    if (zmq_msg_init_size(&body, bytes) < 0)
        return -errno;
    source_pack(c->source, picks, n, zmq_msg_data(&body));
    r = send_body(c, &body, 0);
    if (r < 0)
        return r;
    c->tally->bytes_out += bytes;
    return (int)n;
}

/* Writes one RoI; -ENOSPC or -EAGAIN: not now. */
static int write_roi(struct connection *c, struct flight *f)
{
    uint64_t bytes = shared_bytes(c->shared, f->which);
    struct shm_roi entry;
    void *dst;
    int r = shmclient_take(c->shm, bytes, &f->at, &dst);

    if (r < 0)
        return r;
    shared_write(c->shared, f->which, f->at, dst, &entry);
    entry.token = f->token;
    entry.info.l1id = f->l1id;
    if (f->is_repeat)
        entry.kinds |= SHM_REPEAT;
    r = shmclient_put(c->shm, &entry);
    if (r < 0)
        shmclient_give(c->shm, f->at, bytes);
    else
        c->tally->bytes_out += bytes + sizeof entry;
    return r;
}

static int write_all(struct connection *c, struct flight *const *flights, uint32_t n)
{
    int sent = 0;

    for (uint32_t i = 0; i < n; i++) {
        int r = write_roi(c, flights[i]);

        if (r < 0 && r != -ENOSPC && r != -EAGAIN)
            return r;
        sent += r == 0;
        if (r == 0)
            continue;
        flights[i]->state = FLIGHT_AGAIN;
        c->again[c->n_again++] = flights[i]->token;
        c->again_ns = clock_ns() + NO_ROOM_NS;
    }
    shmclient_send(c->shm);
    c->spoken_ns = sent ? clock_ns() : c->spoken_ns;
    return sent;
}

int transport_send(struct connection *c, struct flight *const *flights, uint32_t n)
{
    return c->shm ? write_all(c, flights, n) : send_message(c, flights, n);
}

void transport_end(struct connection *c, struct flight *f)
{
    if (c->shm)
        shmclient_give(c->shm, f->at, shared_bytes(c->shared, f->which));
}

/* ---------------------------------------------------------------- and back */

static void *take_memory(void *memory, size_t bytes)
{
    return scratch_take(memory, bytes);
}

static void keep_memory(void *memory, void *bytes)
{
    (void)memory, (void)bytes;
}

static int unpack(struct connection *c, const void *bytes, size_t n,
                  Trigd__V1__FromDaemon **ret_message)
{
    ProtobufCAllocator allocator = {take_memory, keep_memory, &c->memory};

    if (scratch_reset(&c->memory, LARGEST_UNPACKED * n + SCRATCH_LEAST) < 0)
        return -ENOMEM;
    *ret_message = trigd__v1__from_daemon__unpack(&allocator, n, bytes);
    return *ret_message ? 1 : -EBADMSG;
}

static int receive_shared(struct connection *c, Trigd__V1__FromDaemon **ret_message)
{
    const void *bytes;
    int n = shmclient_receive(c->shm, &bytes);

    if (n <= 0)
        return n;
    return unpack(c, bytes, (size_t)n, ret_message);
}

static int receive_zmq(struct connection *c, Trigd__V1__FromDaemon **ret_message)
{
    zmq_msg_t body;
    int r = 0;

    zmq_msg_init(&body);
    if (zmq_msg_recv(&body, c->socket, ZMQ_DONTWAIT) >= 0)
        r = unpack(c, zmq_msg_data(&body), zmq_msg_size(&body), ret_message);
    zmq_msg_close(&body);
    return r;
}

int transport_receive(struct connection *c, long limit_ms, Trigd__V1__FromDaemon **ret_message)
{
    zmq_pollitem_t item;

    if (limit_ms) {
        if (transport_sleep(c, &item) && zmq_poll(&item, 1, limit_ms) <= 0)
            return 0;
        transport_awake(c);
    }
    return c->shm ? receive_shared(c, ret_message) : receive_zmq(c, ret_message);
}

bool transport_sleep(struct connection *c, zmq_pollitem_t *ret_item)
{
    *ret_item = (zmq_pollitem_t){.socket = c->socket, .fd = -1, .events = ZMQ_POLLIN};
    if (!c->shm)
        return true; /* without either it is a descriptor that the system passes over */
    ret_item->fd = shmclient_fd(c->shm);
    return shmclient_sleep(c->shm);
}

void transport_awake(struct connection *c)
{
    if (c->shm)
        shmclient_awake(c->shm);
}
