/* SPDX-License-Identifier: Apache-2.0 */
#include "flow/store.h"

#include <errno.h>
#include <string.h>

#include "base/buddy.h"
#include "flow/block.h"

/* Bytes of a collection in the RoI's block. */
static uint64_t part_bytes(uint32_t kind, const struct wire_collection *w,
                           const struct store_from *from)
{
    if (from->region || !w->n)
        return 0;
    if (from->message)
        return pool_align(kind_info(kind)->n_columns * sizeof(const void *));
    return pool_collection_bytes(kind, w->n);
}

static void copy_columns(struct pool *pool, uint32_t kind, const struct wire_collection *w,
                         const struct roi_collection *c)
{
    for (uint32_t i = 0; i < kind_info(kind)->n_columns; i++)
        memcpy(pool_column(pool, kind, c, i), w->column[i],
               w->n * encoding_item_bytes(kind, c->is_encoded, i));
}

/* Places a collection that has its part of the block at `at`. */
static void place(struct pool *pool, uint32_t kind, const struct wire_collection *w,
                  const struct store_from *from, uint64_t at, struct roi_collection *c)
{
    c->at = at;
    c->capacity = c->n = w->n;
    c->kind = (uint8_t)kind;
    c->is_there = w->is_there;
    c->is_encoded = w->is_encoded;
    c->first = w->first;
    if (!w->n)
        return;
    if (from->region) { /* laid out as the pool would do it */
        c->at = (uint64_t)((const unsigned char *)w->column[0] - pool->base);
    } else if (from->message) {
        c->is_table = true;
        memcpy(pool_at(pool, at), w->column, kind_info(kind)->n_columns * sizeof *w->column);
    } else {
        copy_columns(pool, kind, w, c);
    }
}

static void refer(const struct store_from *from, struct roi *r)
{
    if (from->region) {
        shm_region_hold(from->region);
        r->region = from->region->number;
    } else if (from->message) {
        held_hold(from->held, from->message);
        r->message = from->message;
    }
}

int store_roi(struct pool *pool, const struct engine *engine, const struct wire_roi *w,
              const struct store_from *from, struct roi *r)
{
    uint32_t n_in[KINDS_MAX] = {0};
    uint64_t bytes = pool_align(w->n_encodings * sizeof *w->encoding), at;

    for (uint32_t s = 0; s < WIRE_SLOTS; s++) {
        const struct wire_collection *c = &w->collection[s];

        n_in[c->kind] += c->n;
        bytes += part_bytes(c->kind, c, from);
    }
    at = pool_alloc(pool, bytes + block_bytes(engine, n_in));
    if (at == BUDDY_NONE)
        return -ENOSPC;
    r->block = at;
    r->encodings = at;
    memcpy(pool_at(pool, at), w->encoding, w->n_encodings * sizeof *w->encoding);
    at += pool_align(w->n_encodings * sizeof *w->encoding);
    for (uint32_t s = 0; s < WIRE_SLOTS; s++) {
        const struct wire_collection *c = &w->collection[s];

        place(pool, c->kind, c, from, at, &r->in[s]);
        at += part_bytes(c->kind, c, from);
        r->kinds |= (uint32_t)c->is_there << c->kind;
        if ((from->region || from->message) && c->n)
            r->unseen |= 1u << c->kind;
    }
    refer(from, r);
    block_init(engine, pool, r, at, n_in);
    return 0;
}
