/* SPDX-License-Identifier: Apache-2.0 */
/* connection.h - one client of a daemon: hello, RoIs under credits, decisions matched to them. */
#ifndef TRIGD_CONNECTION_H
#define TRIGD_CONNECTION_H
#include <stdbool.h>
#include <stdint.h>

#include "latency.h"
#include "pace.h"
#include "source.h"
#include "trigd.pb-c.h"

#define CONNECTION_NAMES_MAX 256 /* chains and streams of the daemon */

struct tally { /* what came back, of one thread */
    uint64_t sent, decided, accepted, rejected, late;
    uint64_t status[8];
    uint64_t busy, errors, duplicates, unknown, lost;
    uint64_t chain[CONNECTION_NAMES_MAX], stream[64];
    uint64_t with_truth, within_1mm;
    uint64_t bytes_out;
    struct latency latency;
    char first_error[256];
};

struct flight { /* an RoI on its way */
    uint64_t token;
    uint64_t from_ns; /* when it was to be sent */
    uint32_t which;
    bool is_open;
};

struct connection {
    void *socket;
    const struct source *source;
    struct tally *tally;
    int z_step, z_value; /* where the decision holds z, for the truth; -1: nowhere */
    uint32_t number;     /* of this connection: the upper part of its tokens */
    uint32_t credits, outstanding;
    uint32_t heartbeat_ms;
    uint64_t heard_ns, spoken_ns;
    struct flight *flight; /* [room], by token modulo room */
    uint32_t room;
    uint64_t next_token, last_token;   /* lower parts */
    uint64_t *again;       /* tokens that were answered Busy */
    uint32_t n_again;
    char *chains[CONNECTION_NAMES_MAX], *streams[64];
    uint32_t n_chains, n_streams;
};

/* Connects, says Hello and waits for Welcome at most `timeout_ms`; -ETIMEDOUT: nobody there. */
int connection_open(struct connection *c, void *zmq_context, const char *endpoint, const char *name,
                    uint32_t want_credits, uint32_t timeout_ms);
void connection_close(struct connection *c);

/* RoIs that may be sent now. */
uint32_t connection_room(const struct connection *c);
/* Sends `n` RoIs that were due at from_ns[i] in one message. */
int connection_send(struct connection *c, const uint64_t *from_ns, uint32_t n);
/* Takes all that has come; returns how many messages. */
int connection_receive(struct connection *c);
/* Heartbeats when nothing was said for a while. */
int connection_tick(struct connection *c, uint64_t now_ns);
#endif
