/* SPDX-License-Identifier: Apache-2.0 */
/* client.h - sends the same messages to a server and times the answers, whichever server it is. */
#ifndef TRIGD_BENCH_CLIENT_H
#define TRIGD_BENCH_CLIENT_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "server.h"

struct client {
    uint32_t number; /* of this program's */
    void *context, *socket;
    bool gets_decisions;          /* else its own messages back */
    uint32_t window;              /* messages that may be unanswered */
    const unsigned char *message; /* to copy for each one sent; borrowed */
    size_t bytes;
    size_t token_at, l1id_at;   /* where its token and its event stand: four bytes of varint */
    uint32_t next, outstanding; /* token of the next message; messages without an answer */
    uint32_t credits;           /* of those that may be so; `window` where none are granted */
    uint32_t *again;            /* [window] tokens that were answered Busy, to be sent once more */
    uint32_t n_again;
    uint64_t again_ns, heard_ns; /* when they may go; the last answer */
    bool is_poisson;             /* with a rate: at random times, else evenly */
    uint64_t random;
    uint64_t *sent_ns;    /* by token */
    uint64_t *latency_ns; /* of the answers of a run */
    size_t n_latencies, room;
};

/* Connects, and waits until the server answers.  Negative errno, -EPROTO for a wrong answer.  A
 * client keeps to its credits, and sends again what is answered Busy; its latency counts on. */
int client_open(struct client *c, const struct server *s, uint32_t window);
void client_close(struct client *c);

/* What to send from now on: a packed message of points_message with token CLIENT_TOKEN. */
#define CLIENT_TOKEN (1u << 21)
int client_message(struct client *c, const void *message, size_t bytes);

/* For some seconds `rate` messages a second, or with a rate of 0 as fast as the window
 * allows.  Latency counts from when each should have been sent. */
int client_run(struct client *c, double seconds, double rate);
#endif
