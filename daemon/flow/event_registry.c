/* SPDX-License-Identifier: Apache-2.0 */
#include "flow/event_registry.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define NONE UINT32_MAX

struct claim {
    uint32_t run, l1id, shard;
    uint64_t key;  /* of the client; 0: none */
    uint32_t next; /* in its bucket, or of those that are free */
};

struct event_registry {
    pthread_mutex_t lock;
    struct claim *claim; /* [most] */
    uint32_t free;
    uint32_t *bucket; /* [n_buckets], a power of two */
    uint32_t n_buckets;
};

int event_registry_new(uint32_t most, struct event_registry **ret_registry)
{
    struct event_registry *r = calloc(1, sizeof *r);

    if (!r)
        return -ENOMEM;
    pthread_mutex_init(&r->lock, NULL);
    r->n_buckets = 1;
    while (r->n_buckets < most)
        r->n_buckets *= 2;
    r->claim = calloc(most, sizeof *r->claim);
    r->bucket = malloc(r->n_buckets * sizeof *r->bucket);
    if (!r->claim || !r->bucket) {
        event_registry_free(r);
        return -ENOMEM;
    }
    memset(r->bucket, 0xff, r->n_buckets * sizeof *r->bucket); /* NONE */
    for (uint32_t i = 0; i < most; i++)
        r->claim[i].next = i + 1 < most ? i + 1 : NONE;
    *ret_registry = r;
    return 0;
}

void event_registry_free(struct event_registry *r)
{
    if (!r)
        return;
    pthread_mutex_destroy(&r->lock);
    free(r->claim);
    free(r->bucket);
    free(r);
}

/* Where the number of an event's claim stands, or NONE does. */
static uint32_t *find(struct event_registry *r, uint32_t run, uint32_t l1id)
{
    const uint64_t h = ((uint64_t)run << 32 | l1id) * 0x9e3779b97f4a7c15ull;
    uint32_t *link = &r->bucket[(h >> 32) & (r->n_buckets - 1)];

    while (*link != NONE && (r->claim[*link].run != run || r->claim[*link].l1id != l1id))
        link = &r->claim[*link].next;
    return link;
}

bool event_registry_claim(struct event_registry *r, uint32_t run, uint32_t l1id, uint32_t shard,
                          uint64_t key)
{
    bool is_ours = true;
    uint32_t *link, i;

    if (!r)
        return true;
    pthread_mutex_lock(&r->lock);
    link = find(r, run, l1id);
    i = r->free;
    if (*link != NONE) {
        is_ours = key && r->claim[*link].key == key;
        if (is_ours)
            r->claim[*link].shard = shard;
    } else if (i == NONE) {
        is_ours = false; /* more than were announced */
    } else {
        r->free = r->claim[i].next;
        r->claim[i] =
            (struct claim){.run = run, .l1id = l1id, .shard = shard, .key = key, .next = NONE};
        *link = i;
    }
    pthread_mutex_unlock(&r->lock);
    return is_ours;
}

void event_registry_release(struct event_registry *r, uint32_t run, uint32_t l1id, uint32_t shard)
{
    uint32_t *link, i;

    if (!r)
        return;
    pthread_mutex_lock(&r->lock);
    link = find(r, run, l1id);
    i = *link;
    if (i != NONE && r->claim[i].shard == shard) {
        *link = r->claim[i].next;
        r->claim[i].next = r->free;
        r->free = i;
    }
    pthread_mutex_unlock(&r->lock);
}
