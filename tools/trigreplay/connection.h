/* SPDX-License-Identifier: Apache-2.0 */
/* connection.h - one client of a replay: sends the RoIs of a source in turn and counts what comes
 * back. */
#ifndef TRIGD_CONNECTION_H
#define TRIGD_CONNECTION_H
#include <stdbool.h>
#include <stdint.h>

#include "columns.h"
#include "latency.h"
#include "source.h"
#include "trigd/client.h"

#define CONNECTION_NAMES_MAX 512 /* chains and streams of the daemon */

struct tally { /* what came back, of one thread */
    uint64_t sent, decided, accepted, rejected, late;
    uint64_t status[8];
    uint64_t busy;       /* answers Busy; the RoI is sent again */
    uint64_t resent;     /* sent again, because the daemon that had them went away */
    uint64_t errors;     /* messages */
    uint64_t refused;    /* RoIs refused for good by such a message */
    uint64_t repeated;   /* decisions about RoIs that were sent again, made before or anew */
    uint64_t duplicates; /* answers to what was answered before */
    uint64_t unknown;    /* answers to what was never asked */
    uint64_t lost;       /* RoIs that nothing came back for */
    uint64_t gone;       /* connections without a daemon at the end */
    uint64_t not_taken;  /* RoIs whose last answer was Busy when the run ended */
    uint64_t chain[CONNECTION_NAMES_MAX], stream[64];
    uint64_t with_truth, within_1mm;
    uint64_t bytes_out;
    uint64_t to_nodes; /* RoIs that went to nodes of a farm past its supervisor, each time */
    /* events of several RoIs; refused: all of its RoIs were */
    uint64_t events_sent, events_accepted, events_rejected, events_failed, events_refused,
        events_lost;
    struct latency latency;
    /* from when an RoI was handed over: less its time in the daemon's lanes, less all of its time
     * in the daemon */
    struct latency added, way;
    char first_error[256];
};

struct pending {      /* an RoI on its way */
    uint64_t from_ns; /* when it was to be sent */
    uint32_t which;   /* of the source */
};

struct connection { /* threads write to neighbours of an array: none shares a line of the cache */
    _Alignas(128) struct trg_client *client;
    const struct source *source;
    const struct columns *columns; /* its RoIs as columns, for shared memory; else NULL */
    struct tally *tally;
    struct decisions *decisions; /* where they are saved; NULL: nowhere */
    int z_step, z_value;         /* where the decision holds z, for the truth; -1: nowhere */
    uint32_t number;             /* of this connection, and how many the run has: their events */
    uint32_t n_connections;      /* have different numbers */
    bool has_key;                /* a random one */
    bool no_addresses;           /* all RoIs go through a supervisor */
    bool is_gone;                /* its daemon is, and no other one has come */
    uint32_t next_which;         /* RoI of the source that is next */
    uint32_t next_l1id;
    uint64_t timed_from_ns;  /* RoIs that are due earlier are not in the latencies */
    struct pending *pending; /* [n_pending] */
    uint32_t *free;          /* places of `pending` */
    uint32_t n_pending, n_free;
};

/* The collections that RoI files declared, for Hello; `room` keeps KINDS_MAX of them. */
void connection_declare(struct trg_client_options *options, const struct trg_collection **room);
/* Connects and says Hello; a failure is printed. */
int connection_open(struct connection *c, void *zmq_context, const char *endpoint, const char *name,
                    uint32_t want_credits, uint32_t timeout_ms);
/* Adds what is still open, and all other counts, to the tally, says Bye and frees all. */
void connection_close(struct connection *c);

/* Whether all that was sent has its end. */
bool connection_is_done(const struct connection *c);
/* Sends nothing any more: what the daemon has is waited for, and the rest is given up. */
void connection_finish(struct connection *c);
/* RoIs that go together with the one that many behind the next: those of its event. */
uint32_t connection_together(const struct connection *c, uint32_t ahead);
/* Sends `n` RoIs, whole events, that were due at from_ns[i]. */
int connection_send(struct connection *c, const uint64_t *from_ns, uint32_t n);
#endif
