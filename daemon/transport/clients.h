/* SPDX-License-Identifier: Apache-2.0 */
/* clients.h - connected clients: names, credits, unsent messages; the ROUTER socket.
 *
 * A base for ingress and egress, on the I/O thread only.  A client is behind the ROUTER socket or
 * shares memory with the daemon (shm_peers.h); here they are alike.  Sending never blocks: a
 * message that does not go out at once waits here, and a client that lets more than
 * CLIENTS_UNSENT_MAX of them wait is lost.  Sending never takes a client away under its caller: one
 * that is lost gets nothing more, and is dropped with the next tick or Hello.
 *
 * Credits are the number of RoIs that a client may have unanswered (credits.c).
 */
#ifndef TRIGD_CLIENTS_H
#define TRIGD_CLIENTS_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <zmq.h>

#include "base/stats.h"
#include "config/config.h"
#include "memory/held.h"
#include "route.h"
#include "transport/directory.h"
#include "transport/gate.h"
#include "transport/passes.h"
#include "transport/shm_peers.h"
#include "trigd.pb-c.h"

#define CLIENTS_UNSENT_MAX 4096u
#define CLIENTS_NONE       UINT32_MAX

struct peer { /* a connection: a ROUTER's name for it, or that of a co-located client */
    uint8_t id[255];
    uint8_t n;
    struct shm_peer *shm; /* NULL: behind the ROUTER */
};

struct unsent;
struct client {
    bool is_used;
    bool is_visitor; /* it has no credits */
    uint32_t epoch;  /* grows each time the place is given to another client */
    struct peer peer;
    char name[STATS_NAME];
    uint64_t key;               /* of its Hello; 0: none, what it sends again is decided again */
    char address[GATE_ADDRESS]; /* where it is */
    const char *lost;           /* why it is to be dropped; NULL: it is not */
    uint32_t want, credits;     /* asked for; granted */
    uint32_t allowed;      /* taken: its credits, or more while a smaller number is on its way */
    uint32_t weight;       /* of its share of all credits */
    uint32_t outstanding;  /* RoIs taken and not answered */
    uint32_t taken, uses;  /* RoIs in this window of time; most of late in one (credits.c) */
    uint32_t waiting;      /* messages that were taken ahead of their turn (clients_receive.c) */
    bool is_told;          /* of its credits */
    uint64_t since_ns;     /* Hello */
    uint64_t recalled_ns;  /* last time that its credits became fewer */
    uint64_t excused_ns;   /* till then it may not have heard of its last recall */
    uint64_t heard_ns;     /* last message */
    uint64_t truncated_ns; /* till then its accepts of TRUNCATED RoIs have used its limit */
    struct stats_client *stats;
    struct unsent *first, **last; /* messages that wait for room, oldest first */
    uint32_t n_unsent;
    uint32_t next; /* in its hash bucket */
};

struct clients;
/* Binds all ZeroMQ endpoints.  `credits` is what may be granted to all clients of this shard
 * together; `shm` may be NULL. */
int clients_open(const struct config *config, struct stats *stats, uint32_t credits,
                 struct shm_peers *shm, struct directory *directory, uint32_t shard,
                 struct clients **ret_clients);
/* The shard that a client of that name or key is to go to: this one (0 with one shard), or another,
 * which expects it. */
uint32_t clients_shard_of(struct clients *c, const struct peer *peer,
                          const Trigd__V1__Hello *hello);
uint32_t clients_shard(const struct clients *c);
/* Another number of RoIs that all clients may have unanswered, from the next tick on. */
void clients_set_credits(struct clients *c, uint32_t credits);
/* Waits a second at most for unsent messages.  NULL is fine. */
void clients_close(struct clients *c);
void *clients_socket(struct clients *c);
struct shm_peers *clients_shm(struct clients *c);
/* Passes that its clients give to others. */
struct passes *clients_passes(struct clients *c);
/* Messages that RoIs in flight still lie in. */
struct held *clients_held(struct clients *c);

/* The next message, without waiting: 1 and the peer, its routing frame (n is 0: it has none) and
 * body (the caller closes the body), 0 when there is none, -EBADMSG for a message of other frames
 * (dropped whole; the peer is set). */
int clients_receive(struct clients *c, struct peer *ret_peer, struct route *ret_route,
                    zmq_msg_t *ret_body);

/* The client of a peer, or CLIENTS_NONE. */
uint32_t clients_find(struct clients *c, const struct peer *peer);
struct client *clients_at(struct clients *c, uint32_t number);
/* Takes in a client and grants it credits (0 when all are in use), or renews its entry.
 * -EUSERS: no more clients are allowed; -ENOMEM: there is no memory to share with it. */
int clients_hello(struct clients *c, const struct peer *peer, const Trigd__V1__Hello *hello,
                  uint32_t *ret_number);
/* An RoI of the client was taken, or one that it sent again waits for the answer of the first. */
void clients_took(struct client *client);
/* Whether one more of the client's TRUNCATED RoIs may be accepted for that alone: as many a second
 * as clients.truncated_per_s, and as many at once after a second without. */
bool clients_may_pass_truncated(const struct clients *c, struct client *client, uint64_t now_ns);
/* Forgets a client; unsent messages are dropped, their decisions counted undeliverable. */
void clients_drop(struct clients *c, uint32_t number, const char *why);
/* Drops the silent and the lost, tries again to send, balances credits. */
void clients_tick(struct clients *c, uint64_t now_ns);

/* Sends to a client, or keeps for later.  `n_decisions` is counted undeliverable if it is lost. */
void clients_send(struct clients *c, uint32_t number, const Trigd__V1__FromDaemon *m,
                  uint32_t n_decisions);
/* The same for a message that is packed already; takes the body. */
void clients_send_packed(struct clients *c, uint32_t number, zmq_msg_t *body, uint32_t n_decisions);
/* Sends to a peer that is no client; dropped when that is not possible at once. */
void clients_send_peer(struct clients *c, const struct peer *peer, const Trigd__V1__FromDaemon *m);
/* Whether there are messages for clients_receive that the socket does not tell of. */
bool clients_has_ahead(const struct clients *c);
/* Whether messages wait for room in the socket. */
bool clients_has_unsent(const struct clients *c);
#endif
