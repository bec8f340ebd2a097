/* SPDX-License-Identifier: Apache-2.0 */
/* event_table.h - the events of several RoIs of one shard, by run and L1 id: those that are open,
 * those that are decided while RoIs run on or are still to come, and the last ones of which RoIs
 * may come late or again.
 *
 * Memory is bounded: a fixed number of places, each with room for the RoIs of one event.  On the
 * I/O thread only.
 */
#ifndef TRIGD_EVENT_TABLE_H
#define TRIGD_EVENT_TABLE_H
#include "menu/votes.h"

#define EVENT_ROIS_MAX 255u

struct event_owner {        /* the client that an event's RoIs come from */
    uint64_t key;           /* of its Hello: the same over connections; 0: none */
    uint32_t client, epoch; /* its place, now (clients.h) */
};

struct event_decision { /* the decision of an event */
    uint32_t run, l1id, n_rois, n_came;
    uint32_t client, epoch; /* of the client */
    bool accept, is_late, is_repeat;
    uint8_t status; /* Trigd__V1__Status */
    uint64_t streams;
    uint32_t n_words; /* of the sets of chains */
    struct plan_bits raw, accepted;
    uint64_t first_ns; /* its first RoI came */
    uint32_t generation;
    uint64_t menu_key, prescale_key, conditions_key;
};

enum event_state {
    EVENT_FREE,
    EVENT_OPEN,    /* undecided: all of its RoIs wait for it */
    EVENT_DECIDED, /* RoIs run on, or are still to come */
    EVENT_OVER     /* all came, or their time is past */
};

struct event {
    enum event_state state;
    uint32_t run, l1id, bcid, lumi_block, l1_bits; /* alike in all of its RoIs */
    struct event_owner owner;
    uint32_t n_rois, n_came, n_left; /* RoIs that came; of those, decided or refused */
    uint64_t first_ns;
    bool is_past;                   /* its time is past: what still comes is late */
    uint32_t engine;                /* the place of the one that decides it, in dispatch */
    uint32_t account;               /* of its RoIs (accounts.h), while it is open */
    struct votes votes;             /* while it is open */
    struct event_decision decision; /* afterwards */
    uint32_t *roi_id;               /* [n_rois] in the order of coming */
    uint32_t *roi;                  /* the same, in the pool; POOL_NONE: it has left */
    uint64_t again[(EVENT_ROIS_MAX + 63) / 64]; /* RoIs sent again since the decision was sent */
    uint32_t n_again;

    void *room; /* for the arrays and the votes */
    size_t room_bytes;
    uint32_t bucket_next, prev, next;
};

struct event_table;
/* With `most` places. */
int event_table_new(uint32_t most, struct event_table **ret_table);
void event_table_free(struct event_table *t); /* NULL is fine */

/* The event, or NULL. */
struct event *event_table_find(const struct event_table *t, uint32_t run, uint32_t l1id);
/* A new event, EVENT_OPEN, which has no such event before: the place of the oldest that is over,
 * when no other is free.  NULL: all are in use, or there is no memory. */
struct event *event_table_open(struct event_table *t, uint32_t run, uint32_t l1id, uint32_t n_rois,
                               size_t votes_bytes);
/* Memory for the votes of an open event. */
uint8_t *event_table_votes(const struct event *ev);
/* An event waits for nothing more: its place is the next to be used again, after others that are
 * over. */
void event_table_keep(struct event_table *t, struct event *ev);
/* The same, and it is forgotten at once. */
void event_table_forget(struct event_table *t, struct event *ev);
/* Takes an event that has no deadline out of the list by age. */
void event_table_unlist(struct event_table *t, struct event *ev);
/* Of the events that are not over the first that was opened; NULL: none. */
struct event *event_table_oldest(const struct event_table *t);
/* The one after it; NULL: it is the last. */
struct event *event_table_after(const struct event_table *t, const struct event *ev);
/* Events that are open or decided, not over. */
uint32_t event_table_busy(const struct event_table *t);

/* Events by number, from 1: in the records of their RoIs. */
uint32_t event_table_number(const struct event_table *t, const struct event *ev);
struct event *event_table_at(const struct event_table *t, uint32_t number);
#endif
