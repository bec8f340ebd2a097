/* SPDX-License-Identifier: Apache-2.0 */
/* ingress_inner.h - shared by the files of ingress. Each calls only those after it: ingress.c
 * (the turn), ingress_shared.c (rings and sockets of co-located clients), ingress_messages.c (one
 * message), ingress_passes.c (those sent in the name of another), ingress_rois.c (one RoI). */
#ifndef TRIGD_INGRESS_INNER_H
#define TRIGD_INGRESS_INNER_H
#include "clock.h"
#include "flow/ingress.h"
#include "flow/store.h"
#include "wire.h"

#define INGRESS_NS NS_PER_MS /* of a turn, for rings and for sockets each: others wait */

struct ingress {
    const struct config *config;
    struct pool *pool;
    struct clients *clients;
    struct stats *stats;
    struct dispatch *next;
    struct egress *out;
    struct recall *recall; /* NULL: RoIs sent again are decided again */
    struct wire_limits limits;
    struct wire_decoder *decoder;
    struct held *held;
    const struct route *route; /* the frame before the message that is taken; NULL: none */
    uint64_t *tokens;          /* RoIs of one message that were not taken */
    uint32_t n_tokens;
    Trigd__V1__Busy__Reason reason;
    bool draining, for_stream, pool_was_full;
    uint32_t shm_turn; /* which co-located client is first this turn */
    uint64_t seen_ns;  /* the clock when it was last looked at, for a message */
    uint64_t empty_ns; /* when the socket had no message */
    uint64_t ticked_ns;
};

/* ---- ingress_shared.c */

/* Takes packets and RoIs of co-located clients; returns how many there were. */
uint32_t ingress_shared(struct ingress *in);

/* ---- ingress_messages.c */

/* Takes a message; `body`, which holds the bytes, may be kept (and is empty then), or is NULL. */
void ingress_message(struct ingress *in, const struct peer *peer, const void *bytes, size_t n,
                     zmq_msg_t *body);

/* ---- ingress_passes.c */

/* The client in whose name a message with a pass was sent; CLIENTS_NONE: the pass does not hold,
 * and the error was answered.  `sender` may be CLIENTS_NONE. */
uint32_t ingress_issuer(struct ingress *in, const struct peer *peer, uint32_t sender,
                        zmq_msg_t *body);

/* ---- ingress_rois.c */

/* Answers an Error; `number` may be CLIENTS_NONE, `token` NULL. */
void ingress_error(struct ingress *in, const struct peer *peer, uint32_t number,
                   const struct wire_error *error, const uint64_t *token);
/* Notes an RoI that was not taken; one Busy message holds those with one reason. */
void ingress_not_taken(struct ingress *in, const struct peer *peer, uint32_t number, uint64_t token,
                       Trigd__V1__Busy__Reason reason);
/* Answers Busy for the RoIs that were noted since the last call. */
void ingress_busy(struct ingress *in, const struct peer *peer, uint32_t number);
/* Whether a chain of the running menu looks at RoIs of its type; else counts it, and the reason
 * goes to *ret_error. */
bool ingress_is_looked_at(struct ingress *in, const struct wire_roi *w,
                          struct wire_error *ret_error);
/* Takes one checked RoI into the pool, or notes why not.  Run control may number it. */
void ingress_roi(struct ingress *in, uint32_t number, const struct peer *peer, struct wire_roi *w,
                 const struct store_from *from, uint64_t now);
#endif
