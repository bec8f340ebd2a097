/* SPDX-License-Identifier: Apache-2.0 */
/* crossings.h - the events of several RoIs that a client has sent, by (run, l1id), until each RoI
 * has its answer and the event its decision.  Places stay the same while the table grows. */
#ifndef TRIGD_CROSSINGS_H
#define TRIGD_CROSSINGS_H
#include <stdbool.h>
#include <stdint.h>

struct crossing {
    uint32_t run, l1id;
    uint32_t next;   /* place behind it in its bucket, or of the next free one; 0: it is the last */
    uint32_t n_rois; /* that are sent; 0: the place is free */
    uint32_t n_joined;          /* that have their tokens */
    uint32_t n_told;            /* since they were sent last: answered, or given up; of these */
    uint32_t n_refused, n_lost; /* with an Error; without an answer */
    bool is_decided, is_repeat; /* is_repeat: sent again, so perhaps decided twice */
    uint64_t first_token, last_token; /* of its RoIs, and of no others */
};

struct crossings {
    struct crossing *at; /* [room + 1], from 1 */
    uint32_t *bucket;    /* [room] places, by hash */
    uint32_t room, n_open, free;
};

/* Makes room for `room` events, never less than there was.  -ENOMEM. */
int crossings_grow(struct crossings *c, uint32_t room);
void crossings_end(struct crossings *c);

/* Begins an event that is not there; there is room. */
uint32_t crossings_add(struct crossings *c, uint32_t run, uint32_t l1id, uint32_t n_rois);
/* The place of an event; 0: it is not there. */
uint32_t crossings_find(const struct crossings *c, uint32_t run, uint32_t l1id);
/* Forgets an event. */
void crossings_remove(struct crossings *c, uint32_t place);
#endif
