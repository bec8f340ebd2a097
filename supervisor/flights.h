/* SPDX-License-Identifier: Apache-2.0 */
/* flights.h - RoIs in flight: a flight is one batch of a client, from its receipt until each of its
 * RoIs has its outcome and no node has one of them.
 *
 * One copy of the batch is kept for the time when its node is lost; a client that was asked to send
 * it to a node itself keeps it.  At a time two shards of nodes may hold RoIs of a flight: the
 * second one gets those that the first one was too slow for, or had no room for. */
#ifndef TRIGSUP_FLIGHTS_H
#define TRIGSUP_FLIGHTS_H
#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>
#include <zmq.h>

#include "masks.h"
#include "route.h"

#define FLIGHT_HOLDS 2u
#define FLIGHTS_NONE UINT32_MAX

struct flight;
struct hold { /* RoIs of a flight that a node's shard has */
    struct flight *flight;
    uint32_t link; /* FLIGHTS_NONE: nobody's */
    struct mask rois;
    bool is_open;      /* their address is with the client, and they may not have come */
    uint64_t serial;   /* of the pass for that */
    uint32_t had;      /* RoIs that the shard had, these as well, when they were given */
    uint32_t bytes;    /* debited */
    uint64_t since_ns; /* when they were given */
    TAILQ_ENTRY(hold) of_link, of_open;
};
TAILQ_HEAD(holds, hold);

struct flight_roi { /* of a batch without a routing frame */
    uint64_t token, event;
};

struct flight {
    uint32_t epoch; /* part of the tokens that nodes see */
    uint32_t client, client_epoch;
    uint32_t n;
    bool has_body;   /* else the client has it, */
    bool is_fetched; /* and has been told to send it here */
    uint32_t bytes;
    zmq_msg_t body;
    struct route route;     /* token, event and key; all RoIs */
    struct flight_roi *roi; /* [room]; used without is_routed */
    uint32_t room;
    bool is_routed; /* the client's routing frame says all */
    bool was_given_again;
    bool is_waiting; /* in the list of those that wait */
    uint64_t received_ns;
    struct mask open;    /* without an outcome */
    struct mask waiting; /* for a node */
    struct hold hold[FLIGHT_HOLDS];
    TAILQ_ENTRY(flight) by_age, of_waiting;
};
TAILQ_HEAD(flight_list, flight);

struct flights {
    struct flight *flight; /* [most] */
    uint32_t most, n_free;
    uint32_t *free;
    struct flight_list by_age;  /* the oldest first: those with an RoI without outcome */
    struct flight_list waiting; /* for a node, in their order */
    struct flight_list fetched; /* for their bodies: none of them is among those that wait */
};

int flights_open(struct flights *fs, uint32_t most);
void flights_close(struct flights *fs);
/* A flight of a batch of n RoIs in so many bytes, of which `open` are open and wait; takes the
 * body, or NULL: the client has it.  NULL: there is no room or memory. */
struct flight *flights_take(struct flights *fs, uint32_t n, const struct mask *open, uint32_t bytes,
                            zmq_msg_t *body);
/* Frees it when nothing is open and nobody holds anything; whether it did. */
bool flights_put_if_done(struct flights *fs, struct flight *f);

/* What a node calls RoI 0 of a flight; the others follow. */
uint64_t flights_token(const struct flights *fs, const struct flight *f);
/* The flight and RoI with such a token; NULL: it is over. */
struct flight *flights_find(const struct flights *fs, uint64_t token, uint32_t *ret_roi);
/* What the client calls an RoI; of which event it is. */
uint64_t flight_client_token(const struct flight *f, uint32_t i);
uint64_t flight_event(const struct flight *f, uint32_t i);
uint64_t flight_event_of(uint32_t run, uint32_t l1id);
/* Its hold by a link; NULL: none.  With FLIGHTS_NONE: one that is nobody's. */
struct hold *flight_hold(struct flight *f, uint32_t link);
/* RoIs that somebody holds. */
struct mask flight_held(const struct flight *f);
/* Puts RoIs among those that wait; the flight keeps its place there by age. */
void flights_wait(struct flights *fs, struct flight *f, const struct mask *rois, bool is_first);
/* A flight that waits goes on when its body is here. */
void flights_fetch(struct flights *fs, struct flight *f);
/* It is; takes it. */
void flights_fetched(struct flights *fs, struct flight *f, zmq_msg_t *body);
/* They do not wait any more. */
void flights_stop_waiting(struct flights *fs, struct flight *f, const struct mask *rois);
#endif
