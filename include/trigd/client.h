/* SPDX-License-Identifier: Apache-2.0 */
/* trigd/client.h - sends RoIs to a trigd and hands their decisions to a function: libtrigd-client.
 *
 *     struct trg_client_options o = TRG_CLIENT_OPTIONS_INIT;
 *     struct trg_client *c;
 *     char why[256];
 *
 *     o.endpoint = "ipc:///run/trigd/rois.sock";   // or tcp://HOST:PORT, shm://PATH
 *     o.name = "builder";
 *     o.ended = on_end;                            // once for each RoI that was sent
 *     if (trg_client_open(&o, &c, why, sizeof why) < 0)
 *         ...                                      // `why` is one sentence
 *     while (... more RoIs ...)
 *         if (trg_client_await_room(c, 1, 1000) == 0)
 *             trg_client_send(c, &roi, 1);
 *     trg_client_drain(c, 1000);
 *     trg_client_close(c);
 *
 * The library keeps to the credits that the daemon grants, sends RoIs again that were answered Busy
 * or were unanswered when the connection or the daemon ended, connects again, follows the Welcome
 * to the client's shard, sends large RoIs to the nodes of a farm if it may, and sends heartbeats.
 * The protocol is in docs/protocol.md.
 *
 * Threads:   one thread uses a client at a time; functions are called back on that thread, within
 *            trg_client_wait, receive, tick, drain, await_room, finish and close.  They may send;
 *            they may not close.  Clients are independent of each other.
 * Ownership: trg_client_open copies the data of the options, but for zmq_context.  The columns or
 *            packed bytes of an RoI belong to the caller and stay unchanged until its end has been
 *            called back; those of an event of several RoIs until the ends of all of them and of
 *            the event have been: the library may send them again.
 * Errors:    0 or more, or a negative errno.  A lost connection is not an error: the library
 *            connects again and calls `noticed`.
 */
#ifndef TRG_CLIENT_H
#define TRG_CLIENT_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "trigd/collection.h"
#include "trigd/event.h"

#ifdef __cplusplus
extern "C" {
#endif

#define TRG_CLIENT_ABI       1u /* of the library's name; grows when a meaning or a layout changes */
#define TRG_CLIENT_EXPORT    __attribute__((visibility("default"))) extern
#define TRG_CLIENT_PLACES    4u /* collections of one RoI over shared memory; Columns in messages */
#define TRG_CLIENT_BATCH_MAX 256u /* RoIs of one call of trg_client_send */

struct trg_client;

/* ---------------------------------------------------------------- RoIs */

/* A collection of one RoI. */
struct trg_client_items {
    const struct trg_collection *declaration; /* &trg_spacepoints, or another one from a header */
    /* NULL: the columns are plain.  Otherwise columns with an encoding are uint16_t, and this array
     * holds the offsets, then the steps, of those columns that have none in the declaration;
     * trg_client_encoded if all have one there. */
    const float *encoding;
    const void *column[TRG_COLUMNS_MAX]; /* [n] items each; any alignment */
    uint32_t n;                          /* items; 0 is an empty collection */
};
static const float trg_client_encoded[1] __attribute__((unused)) = {0};

/* Encodes n values of a column.  *ret_encoding is that of the declaration or, without one there,
 * an encoding of the range of the values.  -EINVAL: the column has no encoding, or a value is not
 * finite; -ERANGE: a value is beyond the range of the encoding.
 */
TRG_CLIENT_EXPORT int trg_client_encode(const struct trg_collection *declaration, uint32_t column,
                                        const float *values, uint32_t n, uint16_t *numbers,
                                        struct trg_encoding *ret_encoding);

struct trg_client_roi {
    struct trg_roi_info info;
    uint32_t type;        /* 0 to 63 */
    uint32_t deadline_us; /* when the decision is wanted, from its receipt; 0: the daemon's limit */
    /* RoIs of its event (info.run, info.l1id), itself included; 0 or 1: it is alone.  The RoIs of
     * an event stand one after the other in one call of trg_client_send (docs/events.md). */
    uint32_t event_rois;
    uint32_t n_collections;
    const struct trg_client_items *collections;
    /* Over ZeroMQ, instead of the members above, unless NULL: a packed trigd.v1.Roi without token,
     * l1id (info.l1id counts) and is_repeat, as RoI files hold them.  Of an RoI of an event
     * info.run and event_rois are given as well. */
    const void *packed;
    size_t packed_bytes;
    uint64_t user; /* the caller's own, handed back with the end */
};

/* ---------------------------------------------------------------- answers */

enum trg_client_end_kind {
    TRG_CLIENT_DECIDED = 1,
    TRG_CLIENT_REFUSED = 2, /* for good, with `error` and a sentence */
    TRG_CLIENT_LOST = 3     /* the client was closed, or finished, before there was an answer */
};

enum trg_client_status { /* of a decision: docs/protocol.md */
                         TRG_CLIENT_OK = 0,
                         TRG_CLIENT_TRUNCATED = 1,
                         TRG_CLIENT_ALGO_FAILED = 2,
                         TRG_CLIENT_TIMEOUT = 3,
                         TRG_CLIENT_SHUTDOWN = 4,
                         TRG_CLIENT_TOO_LATE = 5,
                         TRG_CLIENT_SKIPPED = 6
};

struct trg_client_result { /* of a step */
    uint32_t step;         /* number in trg_client_names */
    uint32_t n_values;
    const float *values;
};

struct trg_client_missing { /* chains that could not run without this collection */
    const char *collection;
    const uint32_t *chains;
    uint32_t n_chains;
};

/* The end of an RoI.  Its pointers are valid until the function returns. */
struct trg_client_end {
    uint32_t size; /* sizeof(struct trg_client_end); later versions append */
    uint32_t kind; /* enum trg_client_end_kind */
    uint64_t user; /* of the RoI */
    uint32_t run, l1id, roi_id;
    uint32_t sendings;             /* how often it was sent */
    uint64_t sent_ns, received_ns; /* CLOCK_MONOTONIC: last sent, answer read */
    /* DECIDED */
    bool accept, late, repeated;
    uint32_t status; /* enum trg_client_status */
    uint32_t latency_us, lane_us, wanted, kept, menu_generation;
    uint64_t menu_key, prescale_key;
    const uint32_t *chains_raw, *chains, *streams;
    const uint32_t *unfinished, *skipped; /* chains that still ran; steps that no lane served */
    uint32_t n_chains_raw, n_chains, n_streams, n_unfinished, n_skipped, n_results, n_missing;
    const struct trg_client_result *results;
    const struct trg_client_missing *missing;
    /* REFUSED */
    uint32_t error;     /* code of trigd.v1.Error */
    const char *text;   /* one sentence; "" for the others */
    const void *inside; /* the library's own */
    /* LOST */
    bool not_taken; /* the daemon does not have it: its last answer was Busy, or it was not sent */
};
typedef void trg_client_ended(void *arg, const struct trg_client_end *end);

/* The end of an event of several RoIs: REFUSED when all of its RoIs were.  A decision is called
 * back when it comes, which may be before the ends of its RoIs, or between them. */
struct trg_client_event_end {
    uint32_t size; /* sizeof(struct trg_client_event_end); later versions append */
    uint32_t kind; /* enum trg_client_end_kind */
    uint32_t run, l1id, event_rois;
    /* DECIDED */
    uint32_t came;        /* RoIs of it that had come */
    uint64_t received_ns; /* CLOCK_MONOTONIC */
    bool accept, late, repeated;
    uint32_t status;     /* enum trg_client_status */
    uint32_t latency_us; /* from its first RoI to the decision, in the daemon */
    uint32_t menu_generation;
    uint64_t menu_key, prescale_key, conditions_key;
    const uint32_t *chains_raw, *chains, *streams;
    uint32_t n_chains_raw, n_chains, n_streams;
};
typedef void trg_client_event_ended(void *arg, const struct trg_client_event_end *end);

/* The decision as a packed message trigd.v1.Decision (trigd.proto), for programs that store it: its
 * bytes, which are written if `room` is enough; 0 if there is none. */
TRG_CLIENT_EXPORT size_t trg_client_end_message(const struct trg_client_end *end, void *bytes,
                                                size_t room);

enum trg_client_notice {
    TRG_CLIENT_CONNECTED = 1, /* a Welcome came: names and limits may be new */
    TRG_CLIENT_GONE = 2,      /* the connection ended; the library looks for the daemon */
    TRG_CLIENT_ERROR = 3      /* the daemon refused a message, or an RoI */
};
typedef void trg_client_noticed(void *arg, enum trg_client_notice notice, const char *text);

/* ---------------------------------------------------------------- open and close */

struct trg_client_options {
    uint32_t size;         /* set by TRG_CLIENT_OPTIONS_INIT */
    uint32_t want_credits; /* 0: as many as the daemon gives */
    const char *endpoint;  /* tcp://HOST:PORT, ipc://PATH, shm://PATH */
    const char *name;      /* 1 to 63 printable characters */
    uint32_t timeout_ms;   /* of trg_client_open; 0: 10,000 */
    uint32_t run;          /* for people */
    const void *key;  /* at most 64 bytes, the same after a restart: the daemon then decides no */
    size_t key_bytes; /* RoI of this client twice; NULL: none */
    const struct trg_collection *const *collections; /* declared ones that RoIs will hold */
    uint32_t n_collections;
    bool no_move;         /* stay at the shard of `endpoint` */
    const char *key_file; /* CURVE over tcp: files of `trigctl keygen`; NULL: TRIGD_KEY and */
    const char *server_key_file; /* TRIGD_SERVER_KEY of the environment */
    void *zmq_context;           /* shared with others; NULL: one of its own */
    trg_client_ended *ended;
    trg_client_noticed *noticed;         /* NULL: not called */
    void *arg;                           /* of all functions */
    trg_client_event_ended *event_ended; /* NULL: not called */
    /* The client can connect to the nodes of a farm: large batches go to them directly, and the
     * supervisor only gives the address, if it offers that (docs/farm.md). */
    bool reaches_nodes;
};
#define TRG_CLIENT_OPTIONS_INIT                   \
    {                                             \
        .size = sizeof(struct trg_client_options) \
    }

/* Connects, says Hello and waits for the Welcome.  -ETIMEDOUT: no daemon answers; -ECONNREFUSED: it
 * answered with an Error; -EBADMSG: no trigd is there; -EINVAL: an option is wrong.  `why` gets one
 * sentence. */
TRG_CLIENT_EXPORT int trg_client_open(const struct trg_client_options *options,
                                      struct trg_client **ret_client, char *why, size_t why_bytes);
/* Says Bye.  RoIs without an answer end as LOST.  NULL is fine. */
TRG_CLIENT_EXPORT void trg_client_close(struct trg_client *c);
/* Version of the library: "0.1.0". */
TRG_CLIENT_EXPORT const char *trg_client_version(void);

/* ---------------------------------------------------------------- sending */

/* RoIs that may be sent now; 0 also while there is no daemon. */
TRG_CLIENT_EXPORT uint32_t trg_client_room(const struct trg_client *c);
/* Sends n RoIs, in one message where the transport has messages.  All or none: -EAGAIN: more than
 * trg_client_room; -E2BIG: more than TRG_CLIENT_BATCH_MAX; -EMSGSIZE: one is larger than the daemon
 * takes; -EINVAL: one has a collection that was not declared in the options, or too many of them,
 * or is of an event that is on its way already.  `noticed` gets the sentence. */
TRG_CLIENT_EXPORT int trg_client_send(struct trg_client *c, const struct trg_client_roi *rois,
                                      uint32_t n);

/* ---------------------------------------------------------------- receiving */

/* Waits at most timeout_ms for answers and calls back for them.  The number of RoIs that ended;
 * -EBADMSG: a message that is not of a trigd. */
TRG_CLIENT_EXPORT int trg_client_wait(struct trg_client *c, uint32_t timeout_ms);
/* Waits for room for n RoIs.  -ETIMEDOUT. */
TRG_CLIENT_EXPORT int trg_client_await_room(struct trg_client *c, uint32_t n, uint32_t timeout_ms);
/* Waits until all RoIs and events have ended.  -ETIMEDOUT. */
TRG_CLIENT_EXPORT int trg_client_drain(struct trg_client *c, uint32_t timeout_ms);
/* Sends no RoI any more, for a program that has to stop.  RoIs that wait to be sent again end
 * as LOST now, and all that are unanswered when the connection or the daemon ends do then, because
 * no other daemon is looked for.  Those that the daemon has get their answers: trg_client_drain. */
TRG_CLIENT_EXPORT void trg_client_finish(struct trg_client *c);

/* ---- for an event loop of the caller: instead of the three above ---- */

/* The source to poll for reading: a ZeroMQ socket, or a file descriptor if `socket` is NULL, as
 * zmq_poll(3) wants them.  Both may change with every call. */
struct trg_client_source {
    void *socket;
    int fd; /* -1: there is no daemon */
};
/* Before waiting.  False: something is there already. */
TRG_CLIENT_EXPORT bool trg_client_sleep(struct trg_client *c, struct trg_client_source *ret_source);
/* After it. */
TRG_CLIENT_EXPORT void trg_client_awake(struct trg_client *c);
/* Processes the messages that are there, without waiting: their number. */
TRG_CLIENT_EXPORT int trg_client_receive(struct trg_client *c);
/* Call every 5 ms or so: sends RoIs again, sends heartbeats, and detects a lost daemon. */
TRG_CLIENT_EXPORT int trg_client_tick(struct trg_client *c);

/* ---------------------------------------------------------------- names, counters */

struct trg_client_step {
    const char *name, *plugin;
    const char *const *values; /* names of the values of its result */
    uint32_t n_values;
};
/* The names behind the numbers in decisions, of the last Welcome; valid until the next one. */
struct trg_client_names {
    uint32_t size;
    uint32_t n_chains, n_streams, n_steps;
    const char *const *chains, *const *streams;
    const struct trg_client_step *steps;
    const char *server; /* "trigd 0.1.0" */
    uint32_t menu_generation;
    uint64_t menu_key;
};
TRG_CLIENT_EXPORT const struct trg_client_names *trg_client_names(const struct trg_client *c);
/* The same as a packed message trigd.v1.Welcome; as trg_client_end_message. */
TRG_CLIENT_EXPORT size_t trg_client_names_message(const struct trg_client *c, void *bytes,
                                                  size_t room);

struct trg_client_stats {
    uint32_t size;        /* set by the caller */
    uint32_t credits;     /* RoIs that may be unanswered */
    uint32_t outstanding; /* sent and unanswered */
    uint32_t waiting;     /* to be sent again */
    uint64_t sent;        /* RoIs; each once */
    uint64_t decided, accepted, rejected, late, repeated;
    uint64_t busy;       /* answers Busy */
    uint64_t resent;     /* RoIs sent again because the connection or the daemon ended */
    uint64_t errors;     /* messages */
    uint64_t refused;    /* RoIs ended by one */
    uint64_t duplicates; /* answers to RoIs that had ended */
    uint64_t unknown;    /* answers to RoIs that were never sent */
    uint64_t reconnects;
    uint64_t bytes_out;
    /* events of several RoIs; refused: all of its RoIs were */
    uint64_t events_sent, events_accepted, events_rejected, events_failed, events_refused;
    uint32_t events_open; /* sent, and not over: RoIs of them, or their decision, have not come */
    uint64_t to_nodes;    /* RoIs sent to nodes past their supervisor, each time */
};
TRG_CLIENT_EXPORT void trg_client_stats(const struct trg_client *c, struct trg_client_stats *stats);

#ifdef __cplusplus
}
#endif
#endif
