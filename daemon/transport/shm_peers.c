/* SPDX-License-Identifier: Apache-2.0 */
#include "transport/shm_peers.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/socketfile.h"
#include "clock.h"
#include "log.h"

#define LISTENERS_MAX 16u
#define BACKLOG       128
#define WAITING       256u /* connections without Hello beside all clients */
#define EVENTS        32
#define LOOK_NS       (200 * NS_PER_US)
#define SILENT_NS     (100 * NS_PER_MS) /* without Hello, before another gets the place */
#define HELLO_BEATS   3u                /* heartbeats that a connection may wait with its Hello */

struct shm_peers {
    const struct config *config;
    struct directory *directory;
    uint32_t shard;
    struct shm_window *window;
    int epoll_fd;
    int listener[LISTENERS_MAX];
    struct socketfile *file[LISTENERS_MAX];
    bool is_deaf[LISTENERS_MAX]; /* not watched until the next tick: there are no descriptors */
    uint32_t n_listeners;
    struct shm_peer *peer; /* [n_peers] */
    uint32_t n_peers;
    struct shm_peer **active; /* [n_active] */
    uint32_t n_active;
    struct epoll_event event[EVENTS];
    int n_events, next_event;
    uint64_t looked_ns;
    bool readable;
    unsigned char packet[SHM_PACKET_MAX];
    uint32_t n_packet; /* of the last packet of a connection */
};

/* ---------------------------------------------------------------- opening */

static int watch(struct shm_peers *s, int fd, void *what)
{
    struct epoll_event e = {.events = EPOLLIN, .data.ptr = what};

    return epoll_ctl(s->epoll_fd, EPOLL_CTL_ADD, fd, &e) < 0 ? -errno : 0;
}

static int listen_on(struct shm_peers *s, const char *path, char *why, size_t bytes)
{
    uint32_t i = s->n_listeners;
    int r;

    if (i == LISTENERS_MAX) {
        snprintf(why, bytes, "at most %u endpoints of shared memory are allowed", LISTENERS_MAX);
        return -ENOSPC;
    }
    r = socketfile_listen(path, SOCK_SEQPACKET, BACKLOG, &s->file[i], &s->listener[i], why, bytes);
    if (r < 0)
        return r;
    s->n_listeners++;
    r = watch(s, s->listener[i], &s->listener[i]);
    if (r < 0)
        snprintf(why, bytes, "%s", strerror(-r));
    return r;
}

static int listen_all(struct shm_peers *s)
{
    for (uint32_t i = 0; i < s->config->n_endpoints; i++) {
        const char *e = s->config->endpoints[i];
        char why[256];
        int r;

        if (strncmp(e, SHM_SCHEME, strlen(SHM_SCHEME)) != 0)
            continue;
        r = listen_on(s, e + strlen(SHM_SCHEME), why, sizeof why);
        if (r < 0) {
            log_error("ingress", "cannot bind an endpoint", "endpoint=\"%s\" error=\"%s\"", e, why);
            return r;
        }
        log_info("ingress", "listening", "endpoint=\"%s\"", e);
    }
    return 0;
}

static uint32_t power_of_two(uint32_t at_least)
{
    uint32_t n = 64;

    while (n < at_least)
        n *= 2;
    return n;
}

static int open_parts(struct shm_peers *s, struct pool *pool)
{
    const struct config *c = s->config;
    struct shm_sizes sizes = {.entries = power_of_two(2 * c->clients.credits),
                              .data_bytes = (uint64_t)c->clients.shm_mbytes << 20};
    int r;

    s->peer = calloc(s->n_peers, sizeof *s->peer);
    s->active = calloc(s->n_peers, sizeof *s->active);
    if (!s->peer || !s->active)
        return -ENOMEM;
    for (uint32_t i = 0; i < s->n_peers; i++)
        s->peer[i].fd = -1;
    s->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    if (s->epoll_fd < 0)
        return -errno;
    r = shm_window_open(pool, c->clients.max, &sizes, &s->window);
    return r < 0 || s->shard ? r : listen_all(s);
}

bool shm_peers_are_wanted(const struct config *c)
{
    for (uint32_t i = 0; i < c->n_endpoints; i++)
        if (strncmp(c->endpoints[i], SHM_SCHEME, strlen(SHM_SCHEME)) == 0)
            return true;
    return false;
}

int shm_peers_open(const struct config *config, struct pool *pool, struct directory *directory,
                   uint32_t shard, struct shm_peers **ret_peers)
{
    struct shm_peers *s;
    int r;

    if (!shm_peers_are_wanted(config)) {
        *ret_peers = NULL;
        return 0;
    }
    s = calloc(1, sizeof *s);
    if (!s)
        return -ENOMEM;
    s->config = config;
    s->directory = directory;
    s->shard = shard;
    s->epoll_fd = -1;
    s->n_peers = config->clients.max + WAITING;
    r = open_parts(s, pool);
    if (r < 0) {
        shm_peers_close(s);
        return r;
    }
    *ret_peers = s;
    return 0;
}

void shm_peers_close(struct shm_peers *s)
{
    if (!s)
        return;
    for (uint32_t i = 0; s->peer && i < s->n_peers; i++)
        if (s->peer[i].fd >= 0)
            shm_peer_hang_up(s, &s->peer[i]);
    for (uint32_t i = 0; i < s->n_listeners; i++) {
        close(s->listener[i]);
        socketfile_remove(s->file[i]);
    }
    if (s->epoll_fd >= 0)
        close(s->epoll_fd);
    shm_window_close(s->window);
    free(s->peer);
    free(s->active);
    free(s);
}

struct shm_window *shm_peers_window(struct shm_peers *s)
{
    return s->window;
}

/* ---------------------------------------------------------------- waiting */

int shm_peers_fd(const struct shm_peers *s)
{
    return s ? s->epoll_fd : -1;
}

bool shm_peers_sleep(struct shm_peers *s)
{
    bool idle = true;

    for (uint32_t i = 0; s && i < s->n_active; i++)
        shm_region_sleep(s->active[i]->region, true);
    for (uint32_t i = 0; s && i < s->n_active && idle; i++)
        idle = !shm_region_has_entries(s->active[i]->region);
    return idle;
}

void shm_peers_awake(struct shm_peers *s, bool readable)
{
    for (uint32_t i = 0; s && i < s->n_active; i++)
        shm_region_sleep(s->active[i]->region, false);
    if (s)
        s->readable |= readable;
}

/* ---------------------------------------------------------------- connections */

/* A free place; when there is none, that of the connection that is silent longest. */
static struct shm_peer *free_peer(struct shm_peers *s, uint64_t now_ns)
{
    struct shm_peer *silent = NULL;

    for (uint32_t i = 0; i < s->n_peers; i++) {
        struct shm_peer *p = &s->peer[i];

        if (p->fd < 0)
            return p;
        if (!p->region && (!silent || p->since_ns < silent->since_ns))
            silent = p;
    }
    if (!silent || now_ns < silent->since_ns + SILENT_NS)
        return NULL;
    shm_peer_hang_up(s, silent);
    return silent;
}

/* Takes in a connection; NULL: it is closed, there is no place. */
static struct shm_peer *add_peer(struct shm_peers *s, int fd, uint64_t now_ns)
{
    struct shm_peer *p = free_peer(s, now_ns);
    struct ucred who = {.uid = (uid_t)-1};
    socklen_t n = sizeof who;

    if (!p || watch(s, fd, p) < 0) {
        log_warn("ingress", "too many connections", "endpoint=shm limit=%u", s->n_peers);
        close(fd);
        return NULL;
    }
    getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &n);
    *p = (struct shm_peer){.fd = fd, .client = SHM_PEER_NONE, .since_ns = now_ns, .uid = who.uid};
    return p;
}

/* Takes in who waits at a listener. */
static void accept_all(struct shm_peers *s, const int *listener, uint64_t now_ns)
{
    int fd;

    while ((fd = accept4(*listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK)) >= 0)
        add_peer(s, fd, now_ns);
    if (errno == EAGAIN || errno == ECONNABORTED || errno == EINTR)
        return;
    /* it would be readable for ever */
    log_warn("ingress", "cannot accept a connection", "endpoint=shm error=\"%s\"", strerror(errno));
    epoll_ctl(s->epoll_fd, EPOLL_CTL_DEL, *listener, NULL);
    s->is_deaf[listener - s->listener] = true;
}

static bool is_listener(const struct shm_peers *s, const void *what)
{
    for (uint32_t i = 0; i < s->n_listeners; i++)
        if (what == &s->listener[i])
            return true;
    return false;
}

/* The next event; false when none is left for now. */
static bool next_event(struct shm_peers *s, uint64_t now_ns, struct epoll_event *ret_event)
{
    if (s->next_event == s->n_events) {
        if (!s->readable && now_ns < s->looked_ns + LOOK_NS)
            return false;
        s->looked_ns = now_ns;
        s->readable = false;
        s->next_event = 0;
        s->n_events = epoll_wait(s->epoll_fd, s->event, EVENTS, 0);
        if (s->n_events <= 0) {
            s->n_events = 0;
            return false;
        }
    }
    *ret_event = s->event[s->next_event++];
    return true;
}

/* Takes in a connection that another shard handed over with its last packet; whether there is one.
 */
static bool take_handed(struct shm_peers *s, uint64_t now_ns, struct shm_peer **ret_peer)
{
    struct shm_peer *p = NULL;
    int fd;

    while (!p && (fd = directory_handed(s->directory, s->shard, s->packet, &s->n_packet)) >= 0)
        p = add_peer(s, fd, now_ns);
    if (p)
        *ret_peer = p;
    return p != NULL;
}

int shm_peers_packet(struct shm_peers *s, uint64_t now_ns, struct shm_peer **ret_peer,
                     const void **ret_bytes)
{
    struct epoll_event e;

    if (s && take_handed(s, now_ns, ret_peer)) {
        *ret_bytes = s->packet;
        return (int)s->n_packet;
    }
    while (s && next_event(s, now_ns, &e)) {
        struct shm_peer *p = e.data.ptr;
        int n;

        if (is_listener(s, e.data.ptr)) {
            accept_all(s, e.data.ptr, now_ns);
            continue;
        }
        if (p->fd < 0)
            continue; /* hung up since the event was read */
        n = shm_packet_receive(p->fd, s->packet, sizeof s->packet, NULL);
        if (n == -EAGAIN || n == 1)
            continue; /* a packet of one byte only wakes */
        *ret_peer = p;
        *ret_bytes = s->packet;
        s->n_packet = n > 0 ? (uint32_t)n : 0;
        return n;
    }
    return 0;
}

void shm_peers_tick(struct shm_peers *s, uint64_t now_ns)
{
    uint64_t most;

    if (!s)
        return;
    for (uint32_t i = 0; i < s->n_listeners; i++)
        if (s->is_deaf[i])
            s->is_deaf[i] = watch(s, s->listener[i], &s->listener[i]) < 0;
    most = HELLO_BEATS * NS_PER_MS * s->config->clients.heartbeat_ms;
    for (uint32_t i = 0; i < s->n_peers; i++)
        if (s->peer[i].fd >= 0 && !s->peer[i].region && now_ns > s->peer[i].since_ns + most)
            shm_peer_hang_up(s, &s->peer[i]);
}

/* ---------------------------------------------------------------- peers */

uint32_t shm_peers_active(const struct shm_peers *s)
{
    return s ? s->n_active : 0;
}

struct shm_peer *shm_peers_at(struct shm_peers *s, uint32_t i)
{
    return s->active[i];
}

int shm_peer_join(struct shm_peers *s, struct shm_peer *p, uint32_t client)
{
    int r = p->fd < 0 ? -ENOTCONN : shm_region_new(s->window, &p->region);

    if (r < 0)
        return r;
    p->client = client;
    p->active = s->n_active;
    s->active[s->n_active++] = p;
    return 0;
}

void shm_peer_hang_up(struct shm_peers *s, struct shm_peer *p)
{
    if (p->fd < 0)
        return;
    if (p->region) {
        s->active[p->active] = s->active[--s->n_active];
        s->active[p->active]->active = p->active;
        shm_region_drop(p->region);
        p->region = NULL;
    }
    p->client = SHM_PEER_NONE;
    close(p->fd); /* epoll forgets it */
    p->fd = -1;
}

bool shm_peer_hand(struct shm_peers *s, struct shm_peer *p, uint32_t shard)
{
    /* before the other shard may close it */
    epoll_ctl(s->epoll_fd, EPOLL_CTL_DEL, p->fd, NULL);
    if (directory_hand(s->directory, shard, p->fd, s->packet, s->n_packet)) {
        p->fd = -1;
        return true;
    }
    log_warn("ingress", "a client cannot go to its shard", "endpoint=shm shard=%u", shard);
    if (watch(s, p->fd, p) < 0)
        shm_peer_hang_up(s, p);
    return false;
}

int shm_peer_packet(const struct shm_peer *p, const void *bytes, size_t n, bool with_region)
{
    if (p->fd < 0)
        return -EHOSTUNREACH;
    return shm_packet_send(p->fd, bytes, n, with_region && p->region ? p->region->fd : -1);
}

void shm_peer_wake(const struct shm_peer *p)
{
    /* when its socket is full it has something to read already */
    if (p->fd >= 0)
        (void)shm_packet_send(p->fd, "", 1, -1);
}
