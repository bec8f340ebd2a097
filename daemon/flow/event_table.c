/* SPDX-License-Identifier: Apache-2.0 */
#include "flow/event_table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define NONE UINT32_MAX

struct list {
    uint32_t first, last;
};

struct event_table {
    struct event *event; /* [most] */
    uint32_t most, n_buckets, n_busy;
    uint32_t *bucket; /* [n_buckets], a power of two */
    uint32_t free;    /* a list through `next` */
    struct list aged; /* not over, by age; those without a deadline are in no list */
    struct list kept; /* over, the oldest first */
};

int event_table_new(uint32_t most, struct event_table **ret_table)
{
    struct event_table *t = calloc(1, sizeof *t);

    if (!t)
        return -ENOMEM;
    t->most = most;
    t->n_buckets = 1;
    while (t->n_buckets < most)
        t->n_buckets *= 2;
    t->event = calloc(most, sizeof *t->event);
    t->bucket = malloc(t->n_buckets * sizeof *t->bucket);
    if (!t->event || !t->bucket) {
        event_table_free(t);
        return -ENOMEM;
    }
    memset(t->bucket, 0xff, t->n_buckets * sizeof *t->bucket); /* NONE */
    for (uint32_t i = 0; i < most; i++)
        t->event[i].next = i + 1 < most ? i + 1 : NONE;
    t->aged = t->kept = (struct list){NONE, NONE};
    *ret_table = t;
    return 0;
}

void event_table_free(struct event_table *t)
{
    if (!t)
        return;
    for (uint32_t i = 0; t->event && i < t->most; i++)
        free(t->event[i].room);
    free(t->event);
    free(t->bucket);
    free(t);
}

uint32_t event_table_number(const struct event_table *t, const struct event *ev)
{
    return (uint32_t)(ev - t->event) + 1;
}

struct event *event_table_at(const struct event_table *t, uint32_t number)
{
    return &t->event[number - 1];
}

/* ---------------------------------------------------------------- lists */

static void append(struct event_table *t, struct list *l, uint32_t i)
{
    t->event[i].prev = l->last;
    t->event[i].next = NONE;
    if (l->last != NONE)
        t->event[l->last].next = i;
    else
        l->first = i;
    l->last = i;
}

static void take_out(struct event_table *t, struct list *l, uint32_t i)
{
    struct event *ev = &t->event[i];

    if (l->first != i && ev->prev == NONE)
        return; /* it is in none */
    if (ev->prev != NONE)
        t->event[ev->prev].next = ev->next;
    else
        l->first = ev->next;
    if (ev->next != NONE)
        t->event[ev->next].prev = ev->prev;
    else
        l->last = ev->prev;
    ev->prev = ev->next = NONE;
}

/* ---------------------------------------------------------------- by name */

static uint32_t *bucket_of(const struct event_table *t, uint32_t run, uint32_t l1id)
{
    const uint64_t h = ((uint64_t)run << 32 | l1id) * 0x9e3779b97f4a7c15ull;

    return &t->bucket[(h >> 32) & (t->n_buckets - 1)];
}

struct event *event_table_find(const struct event_table *t, uint32_t run, uint32_t l1id)
{
    uint32_t i = *bucket_of(t, run, l1id);

    while (i != NONE && (t->event[i].run != run || t->event[i].l1id != l1id))
        i = t->event[i].bucket_next;
    return i == NONE ? NULL : &t->event[i];
}

static void remove_name(struct event_table *t, uint32_t i)
{
    uint32_t *link = bucket_of(t, t->event[i].run, t->event[i].l1id);

    while (*link != i)
        link = &t->event[*link].bucket_next;
    *link = t->event[i].bucket_next;
}

/* ---------------------------------------------------------------- opening and ending */

/* Room for the arrays of an event; what an earlier one had is used again. */
static bool make_room(struct event *ev, uint32_t n_rois, size_t votes_bytes)
{
    const size_t bytes = 2 * (size_t)n_rois * sizeof *ev->roi + votes_bytes;
    void *room;

    if (bytes > ev->room_bytes) {
        room = realloc(ev->room, bytes);
        if (!room)
            return false;
        ev->room = room;
        ev->room_bytes = bytes;
    }
    return true;
}

struct event *event_table_open(struct event_table *t, uint32_t run, uint32_t l1id, uint32_t n_rois,
                               size_t votes_bytes)
{
    uint32_t i, *bucket = bucket_of(t, run, l1id);
    struct event *ev;

    if (t->free == NONE && t->kept.first != NONE)
        event_table_forget(t, &t->event[t->kept.first]);
    i = t->free;
    if (i == NONE || !make_room(&t->event[i], n_rois, votes_bytes))
        return NULL;
    ev = &t->event[i];
    t->free = ev->next;
    *ev = (struct event){.state = EVENT_OPEN,
                         .run = run,
                         .l1id = l1id,
                         .n_rois = n_rois,
                         .roi_id = ev->room,
                         .roi = (uint32_t *)ev->room + n_rois,
                         .room = ev->room,
                         .room_bytes = ev->room_bytes,
                         .bucket_next = *bucket};
    *bucket = i;
    append(t, &t->aged, i);
    t->n_busy++;
    return ev;
}

uint8_t *event_table_votes(const struct event *ev)
{
    return (uint8_t *)(ev->roi + ev->n_rois);
}

static void leave_list(struct event_table *t, struct event *ev)
{
    const uint32_t i = (uint32_t)(ev - t->event);

    if (ev->state == EVENT_OVER) {
        take_out(t, &t->kept, i);
        return;
    }
    take_out(t, &t->aged, i);
    t->n_busy--;
}

void event_table_keep(struct event_table *t, struct event *ev)
{
    leave_list(t, ev);
    ev->state = EVENT_OVER;
    append(t, &t->kept, (uint32_t)(ev - t->event));
}

void event_table_forget(struct event_table *t, struct event *ev)
{
    const uint32_t i = (uint32_t)(ev - t->event);

    leave_list(t, ev);
    remove_name(t, i);
    ev->state = EVENT_FREE;
    ev->next = t->free;
    t->free = i;
}

void event_table_unlist(struct event_table *t, struct event *ev)
{
    take_out(t, &t->aged, (uint32_t)(ev - t->event));
}

struct event *event_table_oldest(const struct event_table *t)
{
    return t->aged.first == NONE ? NULL : &t->event[t->aged.first];
}

struct event *event_table_after(const struct event_table *t, const struct event *ev)
{
    return ev->next == NONE ? NULL : &t->event[ev->next];
}

uint32_t event_table_busy(const struct event_table *t)
{
    return t->n_busy;
}
