/* SPDX-License-Identifier: Apache-2.0 */
/* events.h - which node an event's RoIs went to, so that those that follow go there as well, and
 * whose they are, as the decision of an event has no token.
 *
 * The last events are remembered, in memory that is taken once: an event whose RoIs are further
 * apart than that goes to two nodes. */
#ifndef TRIGSUP_EVENTS_H
#define TRIGSUP_EVENTS_H
#include <stdbool.h>
#include <stdint.h>

#define EVENTS_NONE UINT32_MAX

struct events {
    struct events_entry {
        uint64_t event;
        uint32_t node, used; /* 0: free; grows with each use */
        uint32_t client, client_epoch;
        bool is_told; /* its client has the decision */
    } * entry;
    uint32_t n; /* sets, a power of two */
    uint32_t clock;
};

/* Remembers about so many events. */
int events_open(struct events *e, uint32_t most);
void events_close(struct events *e);
/* The node's number, or EVENTS_NONE. */
uint32_t events_find(const struct events *e, uint64_t event);
/* RoIs of an event went to a node. */
struct events_entry *events_set(struct events *e, uint64_t event, uint32_t node);
/* NULL: it is not remembered. */
struct events_entry *events_at(const struct events *e, uint64_t event);
#endif
