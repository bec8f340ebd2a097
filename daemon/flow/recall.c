/* SPDX-License-Identifier: Apache-2.0 */
#include "flow/recall.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define LOOKS 16u /* entries looked at for one that is not pending */

enum state { FREE, PENDING, DECIDED };

struct entry {
    struct recall_key key;
    enum state state;
    uint32_t roi;
    uint32_t next; /* in its bucket */
    bool is_awaited;
    struct recall_asker asker;
    unsigned char *bytes; /* the packed decision; the memory is used again */
    uint32_t n, room;
};

struct recall {
    struct entry *entry; /* [most], used in turn */
    uint32_t most, turn;
    uint32_t *bucket; /* [n_buckets], a power of two */
    uint32_t n_buckets;
};

int recall_new(uint32_t most, struct recall **ret_recall)
{
    struct recall *r = calloc(1, sizeof *r);

    if (!r)
        return -ENOMEM;
    r->most = most;
    r->n_buckets = 1;
    while (r->n_buckets < most)
        r->n_buckets *= 2;
    r->entry = calloc(most, sizeof *r->entry);
    r->bucket = calloc(r->n_buckets, sizeof *r->bucket);
    if (!r->entry || !r->bucket) {
        recall_free(r);
        return -ENOMEM;
    }
    for (uint32_t i = 0; i < r->n_buckets; i++)
        r->bucket[i] = RECALL_NONE;
    *ret_recall = r;
    return 0;
}

void recall_free(struct recall *r)
{
    if (!r)
        return;
    for (uint32_t i = 0; r->entry && i < r->most; i++)
        free(r->entry[i].bytes);
    free(r->entry);
    free(r->bucket);
    free(r);
}

/* ---------------------------------------------------------------- the table */

static uint32_t *bucket_of(const struct recall *r, const struct recall_key *k)
{
    uint64_t h = k->client ^ ((uint64_t)k->run << 32 | k->l1id);

    h = (h ^ h >> 31) * 0x9e3779b97f4a7c15ull;
    h = (h ^ k->roi_id ^ h >> 29) * 0xbf58476d1ce4e5b9ull;
    return &r->bucket[(h >> 32) & (r->n_buckets - 1)];
}

static bool is_same(const struct recall_key *a, const struct recall_key *b)
{
    return a->client == b->client && a->run == b->run && a->l1id == b->l1id &&
           a->roi_id == b->roi_id;
}

uint32_t recall_find(const struct recall *r, const struct recall_key *key)
{
    uint32_t i = *bucket_of(r, key);

    while (i != RECALL_NONE && !is_same(&r->entry[i].key, key))
        i = r->entry[i].next;
    return i;
}

static void take_out(struct recall *r, uint32_t entry)
{
    uint32_t *link = bucket_of(r, &r->entry[entry].key);

    while (*link != entry)
        link = &r->entry[*link].next;
    *link = r->entry[entry].next;
    r->entry[entry].state = FREE;
}

/* The oldest entry that is not pending. */
static uint32_t next_place(struct recall *r)
{
    for (uint32_t i = 0; i < LOOKS; i++) {
        const uint32_t at = r->turn++ % r->most;

        if (r->entry[at].state != PENDING)
            return at;
    }
    return RECALL_NONE;
}

uint32_t recall_enter(struct recall *r, const struct recall_key *key, uint32_t roi)
{
    const uint32_t at = next_place(r);
    uint32_t *bucket = bucket_of(r, key);
    struct entry *e;

    if (at == RECALL_NONE)
        return RECALL_NONE;
    e = &r->entry[at];
    if (e->state == DECIDED)
        take_out(r, at);
    e->key = *key;
    e->state = PENDING;
    e->roi = roi;
    e->is_awaited = false;
    e->next = *bucket;
    *bucket = at;
    return at;
}

/* ---------------------------------------------------------------- an entry */

uint32_t recall_pending(const struct recall *r, uint32_t entry)
{
    return r->entry[entry].state == PENDING ? r->entry[entry].roi : RECALL_NONE;
}

void recall_wait(struct recall *r, uint32_t entry, const struct recall_asker *asker)
{
    r->entry[entry].is_awaited = true;
    r->entry[entry].asker = *asker;
}

static bool stop_waiting(struct entry *e, struct recall_asker *ret_asker)
{
    const bool is_awaited = e->is_awaited;

    *ret_asker = e->asker;
    e->is_awaited = false;
    return is_awaited;
}

static bool make_room(struct entry *e, size_t n)
{
    unsigned char *bytes;

    if (n <= e->room)
        return true;
    bytes = realloc(e->bytes, n);
    if (!bytes)
        return false;
    e->bytes = bytes;
    e->room = (uint32_t)n;
    return true;
}

bool recall_keep(struct recall *r, uint32_t entry, const Trigd__V1__Decision *decision,
                 struct recall_asker *ret_asker)
{
    struct entry *e = &r->entry[entry];
    const size_t n = trigd__v1__decision__get_packed_size(decision);
    const bool is_awaited = stop_waiting(e, ret_asker);

    if (make_room(e, n)) {
        e->n = (uint32_t)trigd__v1__decision__pack(decision, e->bytes);
        e->state = DECIDED;
    } else {
        take_out(r, entry); /* it would be decided anew */
    }
    return is_awaited;
}

bool recall_drop(struct recall *r, uint32_t entry, struct recall_asker *ret_asker)
{
    const bool is_awaited = stop_waiting(&r->entry[entry], ret_asker);

    take_out(r, entry);
    return is_awaited;
}

Trigd__V1__Decision *recall_decision(const struct recall *r, uint32_t entry)
{
    const struct entry *e = &r->entry[entry];

    return trigd__v1__decision__unpack(NULL, e->n, e->bytes);
}
