/* SPDX-License-Identifier: Apache-2.0 */
#include "transport/gate.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/openfiles.h"
#include "clock.h"
#include "keyfile.h"
#include "log.h"
#include "transport/accepting.h"
#include "transport/memory.h"

#define MONITOR         "inproc://trigd-gate"
#define EXTRA           256u              /* connections beside two for each client */
#define BURST           1024u             /* and that a moment may bring beyond that */
#define SILENT_NS       (100 * NS_PER_MS) /* without Hello, before another gets the place */
#define OTHER_FILES     512u              /* of control, HTTP, devices, lanes */
#define FRESH_BYTES     (1u << 20)        /* of what may come before Hello */
#define FRESH_STREAM_NS (100 * NS_PER_MS)
#define FRESH_WAITING   4096u /* a Hello may wait for libzmq's thread when many come at once */
#define TURN_NS         (40 * NS_PER_MS)  /* two ticks: the most that pass between two */
#define STREAM_NS       (500 * NS_PER_MS) /* of one message over ipc */
#define QUIET_NS        (40 * NS_PER_MS)  /* two looks that find nothing: it has paused */
#define TIGHT_NS        (10 * NS_PER_MS)  /* the same while memory is filled: at two ticks */

struct connection {
    int fd;
    ino_t inode; /* tells it from the next one with the same descriptor */
    uint32_t client;
    uint32_t other; /* one of the two had this descriptor before, and is gone; or GATE_NONE */
    bool is_fresh;  /* it never was a client */
    bool is_cut, is_heard, is_tcp;
    char address[GATE_ADDRESS];
    char key[KEYFILE_KEY]; /* of a client over tcp, "": it has none */
    uint64_t since_ns;     /* that it is no client */
    uint64_t stream_ns;    /* since when bytes wait, or come, and no message ends; 0: not so */
    uint64_t busy_ns;      /* when bytes waited last: a reader as fast as its peer leaves none */
    uint64_t base;         /* bytes received when the last message had come */
};

struct gate {
    void *monitor;
    const struct config *config;
    struct auth *auth;
    uint32_t lists; /* of allowed keys, that all connections were compared with */
    struct stats *stats;
    struct memory *memory;
    struct connection *connection; /* [n] */
    uint32_t n, most, room;        /* some are cut off and have not ended yet */
    uint32_t *gone;                /* clients whose connection has ended */
    uint32_t n_gone, room_gone;
    uint64_t now_ns, ticked_ns; /* a clock that stands still while the daemon does */
};

/* ---------------------------------------------------------------- opening */

int gate_open(void *context, void *socket, const struct config *config, struct auth *auth,
              struct stats *stats, struct gate **ret_gate)
{
    struct gate *g = calloc(1, sizeof *g);
    int events = ZMQ_EVENT_ACCEPTED | ZMQ_EVENT_DISCONNECTED | ZMQ_EVENT_CLOSED, all = 0, r;

    if (!g)
        return -ENOMEM;
    g->config = config;
    g->auth = auth;
    g->stats = stats;
    g->now_ns = g->ticked_ns = clock_ns();
    g->most = 2 * config->clients.max + EXTRA;
    g->room = g->most + BURST;
    g->room_gone = config->clients.max;
    openfiles_allow("ingress", 2 * (rlim_t)g->room + OTHER_FILES); /* for all connections */
    g->connection = calloc(g->room + 1, sizeof *g->connection);
    g->gone = calloc(g->room_gone, sizeof *g->gone);
    r = g->connection && g->gone ? accepting_open() : -ENOMEM;
    if (r == 0)
        r = memory_open(config, &g->memory);
    if (r < 0) {
        gate_close(g);
        return r;
    }
    if (zmq_socket_monitor(socket, MONITOR, events) < 0 ||
        !(g->monitor = zmq_socket(context, ZMQ_PAIR)) ||
        zmq_setsockopt(g->monitor, ZMQ_RCVHWM, &all, sizeof all) < 0 ||
        zmq_connect(g->monitor, MONITOR) < 0) {
        r = -errno;
        gate_close(g);
        return r;
    }
    *ret_gate = g;
    return 0;
}

void gate_close(struct gate *g)
{
    if (!g)
        return;
    if (g->monitor)
        zmq_close(g->monitor);
    memory_close(g->memory);
    free(g->connection);
    free(g->gone);
    free(g);
}

/* ---------------------------------------------------------------- connections */

static void cut(struct gate *g, struct connection *k, const char *why)
{
    if (k->is_cut)
        return;
    k->is_cut = true;
    stats_add(&g->stats->g.cut_off, 1);
    log_warn("ingress", "connection cut off", "address=\"%s\" why=\"%s\"", k->address, why);
    shutdown(k->fd, SHUT_RDWR);
}

/* Whether the descriptor is still that connection: libzmq may have closed it just now. */
static bool is_there(const struct connection *k)
{
    struct stat s;

    return fstat(k->fd, &s) == 0 && s.st_ino == k->inode;
}

static void look_up(struct connection *k)
{
    union {
        struct sockaddr a;
        struct sockaddr_in v4;
        struct sockaddr_in6 v6;
        struct sockaddr_storage room;
    } from = {.room = {0}};
    socklen_t n = sizeof from;
    struct ucred who;

    snprintf(k->address, sizeof k->address, "?");
    if (getpeername(k->fd, &from.a, &n) < 0)
        return;
    k->is_tcp = from.a.sa_family == AF_INET || from.a.sa_family == AF_INET6;
    n = sizeof who;
    if (from.a.sa_family == AF_INET)
        inet_ntop(AF_INET, &from.v4.sin_addr, k->address, sizeof k->address);
    else if (from.a.sa_family == AF_INET6)
        inet_ntop(AF_INET6, &from.v6.sin6_addr, k->address, sizeof k->address);
    else if (getsockopt(k->fd, SOL_SOCKET, SO_PEERCRED, &who, &n) == 0)
        snprintf(k->address, sizeof k->address, "uid %u", (unsigned)who.uid);
}

static void lose(struct gate *g, uint32_t client)
{
    if (client != GATE_NONE && g->n_gone < g->room_gone)
        g->gone[g->n_gone++] = client;
}

static void forget(struct gate *g, uint32_t i)
{
    lose(g, g->connection[i].client);
    lose(g, g->connection[i].other);
    g->connection[i] = g->connection[--g->n];
}

static void accepted(struct gate *g, int fd)
{
    struct connection *k = &g->connection[g->n]; /* there is one place more than room */
    struct stat s;

    if (fstat(fd, &s) < 0)
        return; /* gone already; its end follows */
    *k = (struct connection){.fd = fd,
                             .inode = s.st_ino,
                             .client = GATE_NONE,
                             .other = GATE_NONE,
                             .is_fresh = true,
                             .since_ns = g->now_ns};
    look_up(k);
    if (g->n == g->room) {
        cut(g, k, "there are too many connections");
        return;
    }
    g->n++;
}

static void ended(struct gate *g, int fd)
{
    for (uint32_t i = 0; i < g->n; i++)
        if (g->connection[i].fd == fd) {
            forget(g, i);
            return;
        }
}

/* One event of the monitor: 16 bits of it and 32 of its value in one frame, where in another. */
static bool next_event(struct gate *g, uint16_t *ret_event, int32_t *ret_value)
{
    zmq_msg_t m;
    int r;

    *ret_event = 0;
    *ret_value = -1;
    zmq_msg_init(&m);
    r = zmq_msg_recv(&m, g->monitor, ZMQ_DONTWAIT);
    if (r >= (int)(sizeof *ret_event + sizeof *ret_value)) {
        memcpy(ret_event, zmq_msg_data(&m), sizeof *ret_event);
        memcpy(ret_value, (char *)zmq_msg_data(&m) + sizeof *ret_event, sizeof *ret_value);
    }
    while (r >= 0 && zmq_msg_more(&m))
        r = zmq_msg_recv(&m, g->monitor, 0); /* the parts of a message come together */
    zmq_msg_close(&m);
    return r >= 0;
}

static void take_events(struct gate *g)
{
    uint16_t event;
    int32_t value;

    while (g->n_gone < g->room_gone && next_event(g, &event, &value)) {
        if (event == ZMQ_EVENT_ACCEPTED) {
            ended(g, value); /* an end without an event: the descriptor is another's now */
            accepted(g, value);
        } else {
            ended(g, value);
        }
    }
}

/* ---------------------------------------------------------------- clients */

static struct connection *of_client(struct gate *g, uint32_t client)
{
    for (uint32_t i = 0; i < g->n; i++)
        if (g->connection[i].client == client || g->connection[i].other == client)
            return &g->connection[i];
    return NULL;
}

static void check_key(struct gate *g, struct connection *k)
{
    if (!auth_allows(g->auth, k->key))
        cut(g, k, "its key is not on the list of clients any more");
}

/* Compares all with the list of keys, when that is a new one. */
static void check_keys(struct gate *g)
{
    const uint32_t lists = auth_lists(g->auth);

    if (g->lists == lists)
        return;
    g->lists = lists;
    for (uint32_t i = 0; i < g->n; i++)
        check_key(g, &g->connection[i]);
}

void gate_hello(struct gate *g, const zmq_msg_t *hello, uint32_t client,
                char ret_address[GATE_ADDRESS])
{
    const char *key = zmq_msg_gets(hello, AUTH_KEY);
    int fd = zmq_msg_get(hello, ZMQ_SRCFD);

    snprintf(ret_address, GATE_ADDRESS, "?");
    take_events(g);
    for (uint32_t i = 0; i < g->n; i++) {
        struct connection *k = &g->connection[i];

        if (k->fd != fd)
            continue;
        if (k->client != GATE_NONE) {
            k->other = client;
            return;
        }
        k->client = client;
        k->is_fresh = false;
        k->is_heard = true;
        memcpy(ret_address, k->address, GATE_ADDRESS);
        snprintf(k->key, sizeof k->key, "%s", key ? key : "");
        check_key(g, k); /* the list may have changed since it came in */
        return;
    }
    lose(g, client); /* its connection ended before its Hello was read */
}

void gate_bye(struct gate *g, uint32_t client)
{
    struct connection *k = of_client(g, client);

    for (uint32_t i = g->n_gone; i-- > 0;)
        if (g->gone[i] == client)
            g->gone[i] = g->gone[--g->n_gone];
    if (!k)
        return;
    if (k->client == client) {
        k->client = k->other;
        k->since_ns = g->now_ns;
    }
    k->other = GATE_NONE;
}

void gate_heard(struct gate *g, uint32_t client)
{
    struct connection *k = of_client(g, client);

    if (k)
        k->is_heard = true;
}

void gate_cut(struct gate *g, uint32_t client, const char *why)
{
    struct connection *k = of_client(g, client);

    if (k && is_there(k))
        cut(g, k, why);
}

void gate_look(struct gate *g)
{
    take_events(g);
}

uint32_t gate_gone(struct gate *g)
{
    return g->n_gone ? g->gone[--g->n_gone] : GATE_NONE;
}

/* ---------------------------------------------------------------- what a connection costs */

static uint64_t bytes_of(const struct connection *k)
{
    struct tcp_info info = {.tcpi_bytes_received = 0};
    socklen_t n = sizeof info;

    if (k->is_tcp && getsockopt(k->fd, IPPROTO_TCP, TCP_INFO, &info, &n) < 0)
        return k->base;
    return info.tcpi_bytes_received;
}

/* What it has sent and libzmq has not read yet. */
static uint32_t waiting_of(const struct connection *k)
{
    int n = 0;

    return ioctl(k->fd, FIONREAD, &n) == 0 && n > 0 ? (uint32_t)n : 0;
}

/* `is_filled`: somebody fills the memory of a process that has more than it should have. */
static const char *look_at(struct gate *g, struct connection *k, bool is_filled)
{
    const uint64_t now_ns = g->now_ns;
    uint64_t beat = NS_PER_MS * g->config->clients.heartbeat_ms, bytes = bytes_of(k), allowed;
    uint64_t message = 2048ull * g->config->clients.max_message_kbytes;
    bool is_busy = waiting_of(k) > (k->is_fresh && !is_filled ? FRESH_WAITING : 0);

    if (k->is_heard) { /* a message has ended */
        k->base = bytes;
        k->stream_ns = 0;
    }
    k->is_heard = false;
    if (is_busy) {
        k->busy_ns = now_ns;
        k->stream_ns = k->stream_ns ? k->stream_ns : now_ns;
    } else if (now_ns > k->busy_ns + QUIET_NS) {
        k->stream_ns = 0;
    }
    if (k->client == GATE_NONE && now_ns > k->since_ns + GATE_HELLO_BEATS * beat)
        return "it says no Hello";
    allowed = k->is_fresh ? FRESH_BYTES : message + FRESH_BYTES;
    if (k->is_tcp && bytes > k->base + allowed)
        return "its message is too long";
    allowed = is_filled ? TIGHT_NS : k->is_fresh ? FRESH_STREAM_NS : STREAM_NS;
    if (k->stream_ns && is_busy && (is_filled || !k->is_tcp) && now_ns > k->stream_ns + allowed)
        return "its message does not end";
    return NULL;
}

/* The connection that is there longest without Hello; how many of its address there are. */
static struct connection *oldest_waiting(struct gate *g, const char *address, uint32_t *ret_n)
{
    struct connection *oldest = NULL;

    *ret_n = 0;
    for (uint32_t i = 0; i < g->n; i++) {
        struct connection *k = &g->connection[i];

        if (k->client != GATE_NONE || k->is_cut || (address && strcmp(k->address, address) != 0))
            continue;
        ++*ret_n;
        if (!oldest || k->since_ns < oldest->since_ns)
            oldest = k;
    }
    return oldest;
}

/* Cuts off the oldest of those without Hello while there are too many, of all or of one address. */
static void make_room(struct gate *g)
{
    uint32_t n, of_address, extra = g->n > g->most ? g->n - g->most : 0;
    struct connection *silent = oldest_waiting(g, NULL, &n);

    while (silent && g->now_ns > silent->since_ns + SILENT_NS) {
        oldest_waiting(g, silent->address, &of_address);
        if (!extra && of_address <= g->most / 4 * 3)
            break;
        cut(g, silent, "there are too many connections without Hello");
        extra -= extra > 0;
        silent = oldest_waiting(g, NULL, &n);
    }
}

bool gate_tick(struct gate *g, uint64_t now_ns)
{
    const bool is_short =
        memory_is_short(g->memory, stats_get(&g->stats->g.menu_generation), now_ns);
    const bool is_filled = is_short && memory_grows(g->memory);
    const uint64_t passed = now_ns - g->ticked_ns;

    g->now_ns += passed < TURN_NS ? passed : TURN_NS;
    g->ticked_ns = now_ns;
    take_events(g);
    for (uint32_t i = g->n; i-- > 0 && g->n_gone < g->room_gone;) {
        struct connection *k = &g->connection[i];
        const char *why;

        if (!is_there(k)) {
            forget(g, i);
            continue;
        }
        why = k->is_cut ? NULL : look_at(g, k, is_filled);
        if (why)
            cut(g, k, why);
    }
    make_room(g);
    check_keys(g);
    return is_short;
}
