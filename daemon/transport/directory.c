/* SPDX-License-Identifier: Apache-2.0 */
#include "transport/directory.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/hash.h"
#include "base/stats.h"
#include "clock.h"
#include "log.h"

#define NAMES      4096u    /* remembered; a newer one takes the place of the oldest of its set */
#define SET        8u       /* names with the same hash */
#define HANDED_MAX 64u      /* connections that wait to be taken by a shard */
#define EXPECT_NS  NS_PER_S /* a client that was sent to a shard is expected so long */

struct name {
    char name[STATS_NAME];
    uint32_t shard;
    uint64_t seen_ns; /* when such a client came or left */
};

struct handed { /* a connection */
    int fd;
    void *packet; /* the last that it sent */
    uint32_t n;
};

struct part {             /* a shard */
    uint64_t load;        /* weights of its clients */
    uint64_t expected;    /* and of those that were sent there */
    uint64_t expected_ns; /* since when */
    int wake_fd;
    struct handed handed[HANDED_MAX];
    _Atomic uint32_t n_handed;
};

struct directory {
    pthread_mutex_t lock;
    uint32_t n_shards, most, n_clients;
    struct part part[SHARDS_MAX];
    struct name *name; /* [NAMES], in sets by hash */
};

int directory_new(uint32_t n_shards, uint32_t most, struct directory **ret_directory)
{
    struct directory *d = calloc(1, sizeof *d);

    if (!d)
        return -ENOMEM;
    pthread_mutex_init(&d->lock, NULL);
    d->n_shards = n_shards;
    d->most = most;
    for (uint32_t i = 0; i < SHARDS_MAX; i++)
        d->part[i].wake_fd = -1;
    d->name = calloc(NAMES, sizeof *d->name);
    if (!d->name) {
        directory_free(d);
        return -ENOMEM;
    }
    *ret_directory = d;
    return 0;
}

void directory_free(struct directory *d)
{
    if (!d)
        return;
    for (uint32_t i = 0; i < d->n_shards; i++)
        for (uint32_t k = 0; k < atomic_load(&d->part[i].n_handed); k++) {
            close(d->part[i].handed[k].fd);
            free(d->part[i].handed[k].packet);
        }
    pthread_mutex_destroy(&d->lock);
    free(d->name);
    free(d);
}

/* ---------------------------------------------------------------- clients */

static struct name *set_of(struct directory *d, const char *name)
{
    return &d->name[hash_bytes(name, strlen(name)) % (NAMES / SET) * SET];
}

static struct name *find(struct directory *d, const char *name)
{
    struct name *set = set_of(d, name);

    for (uint32_t i = 0; i < SET; i++)
        if (!strncmp(set[i].name, name, STATS_NAME - 1))
            return &set[i];
    return NULL;
}

static struct name *oldest(struct name *set)
{
    struct name *n = set;

    for (uint32_t i = 1; i < SET; i++)
        if (set[i].seen_ns < n->seen_ns)
            n = &set[i];
    return n;
}

static void remember(struct directory *d, const char *name, uint32_t shard)
{
    struct name *n = find(d, name);

    if (!n)
        n = oldest(set_of(d, name));
    strncpy(n->name, name, STATS_NAME - 1);
    n->shard = shard;
    n->seen_ns = clock_ns();
}

static uint32_t emptiest(struct directory *d, uint64_t now_ns)
{
    uint32_t best = 0;

    for (uint32_t i = 0; i < d->n_shards; i++) {
        struct part *p = &d->part[i];

        if (now_ns > p->expected_ns + EXPECT_NS)
            p->expected = 0;
        if (p->load + p->expected < d->part[best].load + d->part[best].expected)
            best = i;
    }
    return best;
}

uint32_t directory_place(struct directory *d, const char *name, uint32_t weight)
{
    const uint64_t now = clock_ns();
    const struct name *known;
    uint32_t shard;

    pthread_mutex_lock(&d->lock);
    known = name ? find(d, name) : NULL;
    shard = known ? known->shard : emptiest(d, now);
    d->part[shard].expected += weight;
    d->part[shard].expected_ns = now;
    pthread_mutex_unlock(&d->lock);
    return shard;
}

bool directory_enter(struct directory *d, uint32_t shard, const char *name, uint32_t weight)
{
    struct part *p = &d->part[shard];
    bool fits;

    pthread_mutex_lock(&d->lock);
    fits = d->n_clients < d->most;
    if (fits) {
        remember(d, name, shard);
        d->n_clients++;
        p->load += weight;
        p->expected -= p->expected < weight ? p->expected : weight;
    }
    pthread_mutex_unlock(&d->lock);
    return fits;
}

void directory_leave(struct directory *d, uint32_t shard, const char *name, uint32_t weight)
{
    const struct name *known;

    pthread_mutex_lock(&d->lock);
    known = find(d, name);
    if (!known || known->shard == shard) /* else it came back elsewhere by itself */
        remember(d, name, shard);
    d->n_clients--;
    d->part[shard].load -= weight;
    pthread_mutex_unlock(&d->lock);
}

bool directory_is_full(struct directory *d)
{
    bool is_full;

    pthread_mutex_lock(&d->lock);
    is_full = d->n_clients == d->most;
    pthread_mutex_unlock(&d->lock);
    return is_full;
}

/* ---------------------------------------------------------------- connections */

void directory_listen(struct directory *d, uint32_t shard, int wake_fd)
{
    d->part[shard].wake_fd = wake_fd;
}

bool directory_hand(struct directory *d, uint32_t shard, int fd, const void *packet, uint32_t n)
{
    struct part *p = &d->part[shard];
    struct handed h = {.fd = fd, .packet = malloc(n), .n = n};
    const uint64_t one = 1;
    uint32_t at;

    if (!h.packet)
        return false;
    memcpy(h.packet, packet, n);
    pthread_mutex_lock(&d->lock);
    at = atomic_load(&p->n_handed);
    if (at < HANDED_MAX) {
        p->handed[at] = h;
        atomic_store(&p->n_handed, at + 1);
    }
    pthread_mutex_unlock(&d->lock);
    if (at == HANDED_MAX)
        free(h.packet);
    else if (write(p->wake_fd, &one, sizeof one) < 0 && errno != EAGAIN)
        log_error("ingress", "cannot wake a shard", "error=\"%s\"", strerror(errno));
    return at < HANDED_MAX;
}

int directory_handed(struct directory *d, uint32_t shard, void *packet, uint32_t *ret_n)
{
    struct part *p = &d->part[shard];
    struct handed h = {.fd = -1};

    if (!atomic_load_explicit(&p->n_handed, memory_order_acquire))
        return -1;
    pthread_mutex_lock(&d->lock);
    if (atomic_load(&p->n_handed)) {
        h = p->handed[0];
        atomic_fetch_sub(&p->n_handed, 1);
        memmove(p->handed, p->handed + 1, atomic_load(&p->n_handed) * sizeof *p->handed);
    }
    pthread_mutex_unlock(&d->lock);
    if (h.fd < 0)
        return -1;
    memcpy(packet, h.packet, h.n);
    free(h.packet);
    *ret_n = h.n;
    return h.fd;
}
