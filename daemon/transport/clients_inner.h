/* SPDX-License-Identifier: Apache-2.0 */
/* clients_inner.h - shared by the files of clients.h, of which each calls some of those after it:
 * clients_receive.c (messages), clients.c (connections), clients_bind.c (endpoints), credits.c (the
 * right to send), clients_send.c (answers). */
#ifndef TRIGD_CLIENTS_INNER_H
#define TRIGD_CLIENTS_INNER_H
#include "clock.h"
#include "transport/auth.h"
#include "transport/clients.h"
#include "transport/shares.h"

#define CLIENTS_BUCKETS    2048u
#define CLIENTS_BACKLOG    1024
#define CLIENTS_AHEAD      98304u /* frames that are taken ahead of their turn at most */
#define CLIENTS_PACK_BYTES 65536u /* larger messages are measured before they are packed */

#define CLIENTS_SILENT_BEATS 3u /* heartbeats after which a silent client is gone */

struct unsent {
    struct unsent *next;
    zmq_msg_t body;
    uint32_t n_decisions;
};

struct clients {
    void *context, *socket;
    struct socketfile **file; /* by endpoint: of ipc://; NULL: none */
    char **bound;             /* by endpoint: where, as ZMQ_LAST_ENDPOINT has it; NULL: shm:// */
    const struct config *config;
    struct stats *stats;
    struct shm_peers *shm; /* NULL: there are no co-located clients */
    struct directory *directory;
    uint32_t shard;
    struct held *held;
    struct gate *gate;
    struct auth *auth; /* NULL: no keys are asked for */
    uint32_t keys;     /* auth_keys, when endpoints were bound */
    struct passes *passes;
    const zmq_msg_t *received; /* the last message, while it is looked at */
    zmq_msg_t *ahead;          /* [CLIENTS_AHEAD]: frames that were taken ahead of their turn */
    uint32_t first_ahead, n_ahead;
    bool is_short; /* the process has more memory than it should have, as of the last tick */
    struct client *client; /* [n_places] */
    uint32_t n_places;
    uint32_t *free; /* numbers of places not in use */
    uint32_t n_free;
    uint32_t bucket[CLIENTS_BUCKETS];
    uint32_t n_lost;      /* clients to be dropped */
    uint32_t all_credits; /* RoIs that all clients together may have unanswered */
    struct share *share;  /* [n_shares]: what each should have */
    struct share *change; /* and how it changes */
    uint32_t *number;     /* [n_shares]: whose */
    uint32_t n_shares;
    uint64_t ticked_ns, awake_ns; /* the last tick; the first after the daemon stood still */
    uint64_t window_ns;           /* since when `taken` of clients counts */
    unsigned char packed[CLIENTS_PACK_BYTES];
    uint32_t n_unsent; /* messages, all clients */
};

/* A client that is silent for so long is gone. */
static inline uint64_t clients_silent_ns(const struct clients *c)
{
    return CLIENTS_SILENT_BEATS * NS_PER_MS * c->config->clients.heartbeat_ms;
}

/* Binds all endpoints but shm://, those without keys first.  0 or a negative errno, logged. */
int clients_bind(struct clients *c);
/* Binds those with keys again when the own key has changed. */
void clients_bind_again(struct clients *c);
/* Removes their files, behind the socket's end. */
void clients_unbind(struct clients *c);

/* Takes the messages that wait ahead of their turn, and cuts off clients with too many of them. */
void clients_look_ahead(struct clients *c);

/* Frees the oldest unsent message; returns how many decisions it holds. */
uint32_t clients_drop_first(struct clients *c, struct client *client);
/* Sends waiting messages; false when the client is gone. */
bool clients_flush(struct clients *c, struct client *client);
/* Notes that a client is to be dropped. */
void clients_lose(struct clients *c, uint32_t number, const char *why);

/* Gives and recalls credits, and tells those whose number changed.  `newcomer` is a client that has
 * just come, and will be told by its Welcome, or CLIENTS_NONE. */
void credits_balance(struct clients *c, uint32_t newcomer, uint64_t now_ns);
#endif
