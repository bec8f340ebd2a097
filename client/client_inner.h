/* SPDX-License-Identifier: Apache-2.0 */
/* client_inner.h - what a client is made of; its parts are the files of this folder. */
#ifndef TRIGD_CLIENT_INNER_H
#define TRIGD_CLIENT_INNER_H
#include <stdbool.h>
#include <stdint.h>

#include "crossings.h"
#include "keyfile.h"
#include "scratch.h"
#include "shmclient.h"
#include "trigd.pb-c.h"
#include "trigd/client.h"

#define WHY_BYTES 256u

enum flight_state {
    FLIGHT_FREE,
    FLIGHT_SENT,
    FLIGHT_AGAIN, /* waits to be sent again */
    FLIGHT_TOLD   /* answered; kept until its event is over, because it may have to go again */
};

struct flight { /* an RoI on its way */
    struct trg_client_roi roi;
    uint64_t token;
    uint64_t sent_ns;   /* all of it written, and the daemon told */
    uint64_t at, bytes; /* of its columns in shared memory, while it is FLIGHT_SENT */
    uint32_t sendings;
    uint32_t event; /* place of its event in the crossings; 0: it is alone */
    enum flight_state state;
    bool is_repeat; /* a daemon that went away had it */
    bool was_told;  /* its end was called back */
    bool not_taken; /* FLIGHT_AGAIN: the daemon does not have it */
};

struct names { /* as trg_client_names gives them; they point into the Welcome */
    struct trg_client_names given;
    struct trg_client_step *steps;
    Trigd__V1__Welcome *welcome;
};

struct trg_client {
    /* options */
    char *endpoint, name[64];
    unsigned char key[64];
    uint32_t key_bytes, want_credits, timeout_ms, run;
    uint32_t declared; /* 1 << kind for each collection that Hello declares */
    bool may_move, has_keys, reaches_nodes;
    struct keyfile own, server; /* CURVE, with has_keys */
    trg_client_ended *ended;
    trg_client_event_ended *event_ended;
    trg_client_noticed *noticed;
    void *arg;
    /* the transport */
    void *context;
    bool owns_context;
    void *socket;          /* ZeroMQ, or NULL */
    void *watch;           /* tells of its end */
    struct shmclient *shm; /* shared memory, or NULL: also while its daemon is gone */
    struct scratch memory; /* of the last message */
    uint64_t spoken_ns;    /* something was sent */
    /* nodes behind a supervisor (addresses.c) */
    void *nodes;         /* ROUTER; NULL: there was no address yet */
    struct place *place; /* [n_places] */
    uint32_t n_places, n_dials;
    uint32_t address_bytes; /* batches of so many are asked about; 0: none */
    /* the conversation */
    struct names names;
    uint64_t max_message_bytes;
    uint32_t heartbeat_ms;
    bool is_welcome;     /* by the daemon of this connection */
    bool is_finishing;   /* nothing is sent any more */
    uint64_t hello_ns;   /* when it was said last */
    uint64_t open_ns;    /* when to look again for a daemon that is gone */
    uint64_t watched_ns; /* when its end was last looked for */
    uint64_t again_ns;   /* when what was answered Busy may be sent again */
    /* RoIs */
    struct flight *flight; /* [room], by token modulo room */
    uint32_t room;
    uint64_t next_token;
    uint64_t *again; /* [room] tokens of those that wait */
    uint32_t n_told; /* RoIs that are FLIGHT_TOLD */
    struct crossings crossings;
    struct trg_client_stats stats;
    uint64_t n_ended;
    struct trg_client_result *results; /* of the end that is called back */
    struct trg_client_missing *missing;
    size_t most_results, most_missing;
};

static inline void client_notice(const struct trg_client *c, enum trg_client_notice notice,
                                 const char *text)
{
    if (c->noticed)
        c->noticed(c->arg, notice, text);
}

/* ---- client.c */
#define CLIENT_HELLO_NS NS_PER_S /* before it is said again */
int client_say_hello(struct trg_client *c, bool may_move);
int client_take_welcome(struct trg_client *c, const Trigd__V1__Welcome *w);

/* ---- flights.c */
/* Takes a new number of credits, and makes room for the RoIs on their way.  -ENOMEM. */
int flights_grant(struct trg_client *c, uint32_t credits);
static inline struct flight *flights_of(const struct trg_client *c, uint64_t token)
{
    return &c->flight[token % c->room];
}
/* A place for a new RoI. */
struct flight *flights_new(struct trg_client *c, const struct trg_client_roi *roi);
/* Whether an RoI or an event has no end yet. */
bool flights_are_open(const struct trg_client *c);
/* It waits to be sent again; of a client that finishes it ends. */
void flights_again(struct trg_client *c, struct flight *f, bool not_taken);
/* It ends without an answer. */
void flights_lose(struct trg_client *c, struct flight *f);
/* All RoIs and events that have no end yet do. */
void flights_lose_all(struct trg_client *c);
/* It has an answer: calls back if it is the first, and frees the place of an RoI that is alone. */
void flights_end(struct trg_client *c, struct flight *f, struct trg_client_end *end);

/* ---- sending.c */
/* The connection or the daemon is gone: what was unanswered will be sent again. */
void sending_lost(struct trg_client *c);
#endif
