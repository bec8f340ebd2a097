/* SPDX-License-Identifier: Apache-2.0 */
/* clients_inner.h - what clients.c (who they are) and clients_send.c (what they get) share. */
#ifndef TRIGD_CLIENTS_INNER_H
#define TRIGD_CLIENTS_INNER_H
#include "transport/clients.h"

#define CLIENTS_BUCKETS    2048u
#define CLIENTS_PACK_BYTES 65536u /* larger messages are measured before they are packed */

struct unsent {
    struct unsent *next;
    zmq_msg_t body;
    uint32_t n_decisions;
};

struct clients {
    void *context, *socket;
    const struct config *config;
    struct stats *stats;
    struct shm_peers *shm; /* NULL: there are no co-located clients */
    struct held *held;
    struct client *client; /* [n_places] */
    uint32_t n_places;
    uint32_t *free; /* numbers of places not in use */
    uint32_t n_free;
    uint32_t bucket[CLIENTS_BUCKETS];
    uint32_t spare_credits; /* not granted to anybody */
    unsigned char packed[CLIENTS_PACK_BYTES];
    uint32_t n_unsent; /* messages, all clients */
};

/* Frees the oldest unsent message; returns how many decisions it holds. */
uint32_t clients_drop_first(struct clients *c, struct client *client);
/* Sends what waits; false when the client is gone. */
bool clients_flush(struct clients *c, struct client *client);
#endif
