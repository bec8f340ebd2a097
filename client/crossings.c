/* SPDX-License-Identifier: Apache-2.0 */
#include "crossings.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static uint32_t *bucket_of(const struct crossings *c, uint32_t run, uint32_t l1id)
{
    const uint64_t hash = ((uint64_t)run << 32 | l1id) * 0x9e3779b97f4a7c15u;

    return &c->bucket[(hash >> 32) % c->room];
}

static void put(struct crossings *c, uint32_t place)
{
    uint32_t *bucket = bucket_of(c, c->at[place].run, c->at[place].l1id);

    c->at[place].next = *bucket;
    *bucket = place;
}

int crossings_grow(struct crossings *c, uint32_t room)
{
    struct crossing *at;
    uint32_t *bucket;

    if (room <= c->room)
        return 0;
    at = realloc(c->at, (room + 1) * sizeof *at);
    if (!at)
        return -ENOMEM;
    c->at = at;
    bucket = realloc(c->bucket, room * sizeof *bucket);
    if (!bucket)
        return -ENOMEM;
    c->bucket = bucket;
    memset(bucket, 0, room * sizeof *bucket);
    memset(at + c->room + 1, 0, (room - c->room) * sizeof *at);
    c->room = room;
    c->free = 0;
    for (uint32_t place = room; place; place--) {
        if (at[place].n_rois) {
            put(c, place);
        } else {
            at[place].next = c->free;
            c->free = place;
        }
    }
    return 0;
}

void crossings_end(struct crossings *c)
{
    free(c->at);
    free(c->bucket);
    *c = (struct crossings){.at = NULL};
}

uint32_t crossings_add(struct crossings *c, uint32_t run, uint32_t l1id, uint32_t n_rois)
{
    const uint32_t place = c->free;

    c->free = c->at[place].next;
    c->at[place] = (struct crossing){.run = run, .l1id = l1id, .n_rois = n_rois};
    put(c, place);
    c->n_open++;
    return place;
}

uint32_t crossings_find(const struct crossings *c, uint32_t run, uint32_t l1id)
{
    uint32_t place = c->n_open ? *bucket_of(c, run, l1id) : 0;

    while (place && (c->at[place].run != run || c->at[place].l1id != l1id))
        place = c->at[place].next;
    return place;
}

void crossings_remove(struct crossings *c, uint32_t place)
{
    uint32_t *link = bucket_of(c, c->at[place].run, c->at[place].l1id);

    while (*link != place)
        link = &c->at[*link].next;
    *link = c->at[place].next;
    c->at[place] = (struct crossing){.next = c->free};
    c->free = place;
    c->n_open--;
}
