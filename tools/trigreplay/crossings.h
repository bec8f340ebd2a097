/* SPDX-License-Identifier: Apache-2.0 */
/* crossings.h - the events of several RoIs that one connection has sent, until each RoI has its
 * answer and the event its decision. */
#ifndef TRIGD_CROSSINGS_H
#define TRIGD_CROSSINGS_H
#include <stdbool.h>
#include <stdint.h>

struct crossing {
    uint32_t number; /* of the event in its connection, from 1; 0: nothing is here */
    uint32_t n_rois, n_sent, n_answered, n_refused;
    bool is_decided;
    uint64_t first_token, last_token; /* of its RoIs; in between there may be others' */
};

struct crossings {
    struct crossing *at; /* [room], by number modulo room */
    uint32_t room, n_open;
    uint32_t last; /* the number given last */
};

/* Makes room for `room` events, a multiple of what there was.  -ENOMEM. */
int crossings_grow(struct crossings *c, uint32_t room);
void crossings_fini(struct crossings *c);

/* Begins an event; there are fewer than `room`. */
struct crossing *crossings_begin(struct crossings *c, uint32_t n_rois);
/* An event that is not over; NULL: there is none of that number. */
struct crossing *crossings_find(const struct crossings *c, uint32_t number);
/* Whether nothing more comes of it. */
bool crossings_is_over(const struct crossing *e);
/* Forgets an event that is over. */
void crossings_end(struct crossings *c, struct crossing *e);
#endif
