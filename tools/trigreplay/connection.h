/* SPDX-License-Identifier: Apache-2.0 */
/* connection.h - one client of a daemon: hello, RoIs under credits, decisions matched to them. */
#ifndef TRIGD_CONNECTION_H
#define TRIGD_CONNECTION_H
#include <stdbool.h>
#include <stdint.h>

#include "crossings.h"
#include "latency.h"
#include "pace.h"
#include "scratch.h"
#include "shared.h"
#include "source.h"
#include "trigd.pb-c.h"

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
    uint64_t not_taken;  /* RoIs whose last answer was Busy when the run ended */
    uint64_t chain[CONNECTION_NAMES_MAX], stream[64];
    uint64_t with_truth, within_1mm;
    uint64_t bytes_out;
    /* events of several RoIs; refused: all of its RoIs were */
    uint64_t events_sent, events_accepted, events_rejected, events_failed, events_refused,
        events_lost;
    struct latency latency;
    /* from when an RoI was handed over: less its time in the daemon's lanes, less all of its time
     * in the daemon */
    struct latency added, way;
    char first_error[256];
};

enum flight_state {
    FLIGHT_FREE,
    FLIGHT_SENT,
    FLIGHT_AGAIN, /* answered Busy: waits to be sent again */
    FLIGHT_TOLD   /* answered: kept until its event is over, because it may have to go again */
};

struct flight { /* an RoI on its way */
    uint64_t token;
    uint64_t from_ns; /* when it was to be sent */
    uint64_t sent_ns; /* when it was: all of it written, and the daemon told */
    uint64_t at;      /* of its columns in shared memory, while it is FLIGHT_SENT */
    uint32_t which, l1id;
    uint32_t event; /* number of its crossing; 0: it is alone */
    enum flight_state state;
    bool was_told;  /* its answer is counted already */
    bool is_repeat; /* a daemon that went away had it */
};

struct connection {
    void *context;         /* ZeroMQ's */
    void *socket;          /* ZeroMQ, or NULL */
    void *watch;           /* tells of its end */
    struct shmclient *shm; /* shared memory, or NULL: also while its daemon is gone */
    const char *endpoint;
    const struct source *source;
    const struct shared *shared; /* its RoIs as columns; NULL: everything goes in messages */
    struct tally *tally;
    struct decisions *decisions; /* where they are saved; NULL: nowhere */
    int z_step, z_value;         /* where the decision holds z, for the truth; -1: nowhere */
    struct scratch memory;       /* of the last message */
    uint32_t number;             /* of this connection: the upper part of its tokens */
    char name[64];
    uint32_t want_credits;
    uint32_t credits, outstanding;
    uint32_t heartbeat_ms;
    uint64_t spoken_ns;
    uint64_t open_ns;    /* when to look again for a daemon that is gone */
    uint64_t watched_ns; /* when its end was last looked for */
    bool has_key;
    unsigned char key[16]; /* of its Hello: it stays itself over connections and daemons */
    uint64_t again_ns;     /* when what was answered Busy may be sent again */
    struct flight *flight; /* [room], by token modulo room */
    uint32_t room;
    uint64_t next_token;           /* lower part */
    uint32_t n_connections;        /* of the run: their events have different numbers */
    uint32_t next_which, n_events; /* with events: RoI of the source that is next; events sent */
    struct crossings crossings;
    uint64_t *again; /* [room] tokens that were answered Busy */
    uint32_t n_again, n_told;
    char *chains[CONNECTION_NAMES_MAX], *streams[64];
    uint32_t n_chains, n_streams;
};

/* Connects (over shared memory when the endpoint begins with shm://), says Hello and waits for
 * Welcome at most `timeout_ms`; goes on to the shard that a Welcome names.  -ETIMEDOUT: nobody
 * there; -ECONNREFUSED: an Error came (its text is the tally's first_error); -EBADMSG: no trigd
 * there. */
int connection_open(struct connection *c, void *zmq_context, const char *endpoint, const char *name,
                    uint32_t want_credits, uint32_t timeout_ms);
/* Says Bye and closes the socket; what was learnt stays readable. */
void connection_leave(struct connection *c);
/* Leaves, and frees all. */
void connection_close(struct connection *c);

/* New RoIs that may be sent now; those that were answered Busy go first. */
uint32_t connection_room(const struct connection *c);
/* RoIs that begin with the next one, or the one so many further on: of its event, 1 if it is alone,
 * 0 in the middle of one. */
uint32_t connection_begins(const struct connection *c, uint32_t ahead);
/* Sends `n` RoIs that were due at from_ns[i] in one message. */
int connection_send(struct connection *c, const uint64_t *from_ns, uint32_t n);
/* Takes what has come; returns how many messages.  -EBADMSG: one was no message of a trigd. */
int connection_receive(struct connection *c);
/* RoIs that were answered Busy go again; heartbeats when nothing was said for a while; a daemon
 * that shared memory and went away is looked for. */
int connection_tick(struct connection *c, uint64_t now_ns);
#endif
