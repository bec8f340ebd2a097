/* SPDX-License-Identifier: Apache-2.0 */
/* stats.h - counters and latency histograms, written by the stages, read by control and HTTP.
 *
 * Every shard has its own, so that every counter has one writing thread; it is read without a lock,
 * and readers look at the sums (stats_sum).  Entries (chains, steps, lanes, clients) are found by
 * name and kept over a reload, so counts go on.  Those of lanes are free again when no menu
 * generation has the lane; chains and steps that no generation has make room, the first that were
 * left first, when their table is full.  The tables below give name and meaning of every counter
 * once: `show info`, `show stat`, JSON, CSV and the Prometheus page all walk them.
 */
#ifndef TRIGD_STATS_H
#define TRIGD_STATS_H
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/shards.h"
#include "base/slow.h"
#include "latency.h"

#define STATS_CHAINS_MAX  1024 /* of two menu generations */
#define STATS_STEPS_MAX   128  /* the same */
#define STATS_LANES_MAX   6144 /* the same; memory comes with the first use */
#define STATS_WORKERS_MAX 256
#define STATS_CLIENTS_MAX 1024
#define STATS_STREAMS_MAX 64
#define STATS_GUESTS_MAX  16
#define STATS_NAME        64

/* X(name, kind, help); kind is counter or gauge */
#define STATS_GLOBAL(X)                                                                        \
    X(received, counter, "RoIs taken into the pool")                                           \
    X(accepted, counter, "RoIs accepted by a chain")                                           \
    X(rejected, counter, "RoIs that no chain accepted")                                        \
    X(failed, counter, "RoIs force-accepted into the debug stream, or refused by a lane")      \
    X(in_flight, gauge, "RoIs received and not decided")                                       \
    X(late, counter, "decisions after the soft limit, or the RoI's deadline")                  \
    X(timeouts, counter, "RoIs past the hard limit, or their deadline (part of failed)")       \
    X(too_late, counter, "RoIs not run: they could not make their deadline (part of failed)")  \
    X(early, counter, "decisions made before all chains had ended")                            \
    X(early_results, counter, "plugin results that came after such a decision")                \
    X(truncated, counter, "RoIs decided on part of their data")                                \
    X(truncated_passed, counter, "TRUNCATED RoIs accepted although their cuts do not hold")    \
    X(truncated_over, counter, "the same beyond their client's limit: their cuts decided")     \
    X(late_results, counter, "plugin results that came after a limit and were dropped")        \
    X(retried, counter, "RoIs run again: batch failed, worker ended, or invalid result")       \
    X(poison, counter, "RoIs that ended a worker alone, or failed alone (part of failed)")     \
    X(poison_known, counter, "RoIs not run: they ended a worker before (part of failed)")      \
    X(plugin_errors, counter, "RoIs whose results were invalid, also when they ran alone")     \
    X(steps_down, gauge, "steps of the running menu that no lane serves")                      \
    X(busy, counter, "RoIs answered Busy: not taken")                                          \
    X(repeated, counter, "RoIs sent again and answered with the decision that was made")       \
    X(errors, counter, "messages and RoIs answered Error: refused")                            \
    X(no_chain, counter, "RoIs refused because no chain looks at their type (part of errors)") \
    X(messages, counter, "messages received")                                                  \
    X(bytes_in, counter, "bytes received")                                                     \
    X(bytes_out, counter, "bytes sent")                                                        \
    X(undeliverable, counter, "decisions whose client was gone")                               \
    X(credit_violations, counter, "RoIs sent without a credit")                                \
    X(dead_ns, counter, "time in which no new RoI could be taken, ns")                         \
    X(dead_pool_ns, counter, "part of dead_ns: the pool is full, ns")                          \
    X(dead_stream_ns, counter, "part of dead_ns: a stream waits for its disk, ns")             \
    X(dead_drain_ns, counter, "part of dead_ns: the daemon drains, stops or has no run, ns")   \
    X(pool_rois, gauge, "RoI slots in use")                                                    \
    X(pool_bytes, gauge, "bytes of the pool in use")                                           \
    X(clients, gauge, "clients connected")                                                     \
    X(reloads, counter, "menu reloads that took effect")                                       \
    X(reload_failures, counter, "menu reloads that failed and changed nothing")                \
    X(menu_generation, gauge, "number of the running menu")                                    \
    X(cut_off, counter, "connections cut off: silent, or with a message that does not end")    \
    X(log_dropped, counter, "log lines dropped because stderr was not read")                   \
    X(skipped, counter, "RoIs whose event was rejected without them (part of rejected)")       \
    X(events, counter, "events of several RoIs of which one has come")                         \
    X(events_accepted, counter, "events accepted by a chain")                                  \
    X(events_rejected, counter, "events that no chain accepted")                               \
    X(events_failed, counter, "events force-accepted into the debug stream")                   \
    X(events_open, gauge, "events begun and not decided")                                      \
    X(events_incomplete, counter, "events without all of their RoIs (part of events_failed)")  \
    X(event_errors, counter, "RoIs refused because they do not fit their event (part of errors)")

#define STATS_CHAIN(X)                                                                      \
    X(seeded, counter, "RoIs whose level-1 bits started the chain")                         \
    X(prescaled, counter, "seeded RoIs that the prescale kept from running it")             \
    X(missing, counter, "RoIs that lack a collection which the chain needs")                \
    X(run, counter, "RoIs on which the chain ran")                                          \
    X(raw_pass, counter, "RoIs that passed all hypotheses, or by truncation")               \
    X(pass, counter, "RoIs that the chain accepted")                                        \
    X(reject, counter, "RoIs that the chain ran on and did not accept")                     \
    X(failed, counter, "RoIs that the chain ran on and that failed or timed out")           \
    X(unfinished, counter, "RoIs decided early, before the chain had ended")                \
    X(skipped, counter, "RoIs on which a step was left out (part of pass, reject, failed)") \
    X(events, counter, "events of several RoIs that the chain accepted")

#define STATS_STEP(X)                                                       \
    X(rois, counter, "RoIs given to the step")                              \
    X(batches, counter, "batches closed")                                   \
    X(closed_full, counter, "batches closed by their number of RoIs")       \
    X(closed_bytes, counter, "batches closed by their bytes")               \
    X(closed_age, counter, "batches closed by the age of their oldest RoI") \
    X(closed_eager, counter, "batches closed because a lane was free")      \
    X(failed, counter, "RoIs that failed in the step")                      \
    X(skipped, counter, "RoIs that went on without the step")               \
    X(queued, gauge, "RoIs waiting in the batcher")

#define STATS_LANE(X)                                                                  \
    X(rois, counter, "RoIs processed")                                                 \
    X(batches, counter, "batches processed")                                           \
    X(failed_batches, counter, "batches whose submit, queue or collect failed")        \
    X(items, counter, "items processed")                                               \
    X(busy_ns, counter, "time with a batch in flight, ns")                             \
    X(overlapped, counter, "batches submitted while another was in flight")            \
    X(pulled, counter, "batches whose values the device read from host memory itself") \
    X(gathered, counter, "batches of socket messages that a gather thread laid out")   \
    X(in_flight, gauge, "batches in flight")                                           \
    X(is_down, gauge, "1 while it takes no batches")

#define STATS_WORKER(X)                                                        \
    X(pid, gauge, "process; 0: threads of the daemon, or it is down")          \
    X(deaths, counter, "times that the process ended before its time")         \
    X(restarts, counter, "times that it was started again")                    \
    X(hangs, counter, "times that it was ended because a batch took too long") \
    X(spare, gauge, "process that waits to take its place; 0: there is none")

/* rois = written + waiting + lost_memory + lost_disk + lost_error */
#define STATS_STREAM(X)                                                      \
    X(rois, counter, "RoIs that the files of the stream should hold")        \
    X(written, counter, "RoIs that they hold")                               \
    X(waiting, gauge, "RoIs that wait to be written there")                  \
    X(lost_memory, counter, "RoIs not written: wait_mbytes waited already")  \
    X(lost_disk, counter, "RoIs not written: the disk or its quota is full") \
    X(lost_error, counter, "RoIs not written: the disk failed")              \
    X(bytes, counter, "bytes written, compressed")                           \
    X(files, counter, "files that are complete")                             \
    X(stops, counter, "times that the daemon took no RoIs, because of it")   \
    X(is_stopping, gauge, "1 while the daemon takes no RoIs because of it")

#define STATS_GUEST(X)                                                                      \
    X(slices, counter, "slices of work that it has had")                                    \
    X(us, counter, "time in slices, us; on a CPU of a core")                                \
    X(unmet_us, counter, "time of slices until a batch met them, us")                       \
    X(yielded, counter, "times that it stopped because its device had a batch")             \
    X(over, counter, "slices that took longer than twice slice_us")                         \
    X(saves, counter, "checkpoints written")                                                \
    X(disabled, counter, "times that it was disabled: it failed, hung or its worker ended") \
    X(bytes, gauge, "device and pinned memory that it has")                                 \
    X(is_running, gauge, "1 while it gets slices")

#define STATS_CLIENT(X)                                        \
    X(received, counter, "RoIs taken from the client")         \
    X(accepted, counter, "accepted")                           \
    X(rejected, counter, "rejected")                           \
    X(failed, counter, "force-accepted into the debug stream") \
    X(in_flight, gauge, "received and not decided")            \
    X(busy, counter, "answered Busy")                          \
    X(errors, counter, "answered Error")                       \
    X(credits, gauge, "RoIs that may be unanswered")           \
    X(weight, gauge, "weight of its share of all credits")     \
    X(truncated_over, counter, "TRUNCATED, beyond its limit")

/* Stages whose latency is kept. */
#define STATS_STAGES(X)                                                \
    X(decode, "unpack and check one message")                          \
    X(queue, "RoI: waiting for its batch and a slot")                  \
    X(begin, "batch: from its closing until its lane begins")          \
    X(back, "batch: from its end in the lane until dispatch takes it") \
    X(total, "RoI: from receipt to decision")

typedef _Atomic uint64_t stats_u64;
#define STATS_FIELD(name, kind, help) stats_u64 name;
struct stats_global {
    STATS_GLOBAL(STATS_FIELD)
};
enum stats_band { /* what `expected` of a chain bounds */
                  STATS_BAND_NONE,
                  STATS_BAND_SECOND, /* RoIs accepted a second */
                  STATS_BAND_RUN     /* the accepted part of those that it ran on */
};
struct stats_users { /* menu generations that have an entry; under stats_lock */
    uint32_t count;
    uint64_t left; /* grows: which entry was left before which */
};
struct stats_chain {
    char name[STATS_NAME];
    _Atomic bool used;
    struct stats_users users;
    _Atomic double prescale;
    _Atomic uint32_t band; /* enum stats_band */
    _Atomic double expected_min, expected_max;
    STATS_CHAIN(STATS_FIELD)
    struct latency latency; /* RoIs that it ran on: from receipt to decision */
};
struct stats_step {
    char name[STATS_NAME];
    char plugin[STATS_NAME];
    _Atomic bool used;
    struct stats_users users;
    STATS_STEP(STATS_FIELD)
};
struct stats_lane { /* name: STEP@BACKEND:INDEX/NUMBER */
    char name[STATS_NAME];
    char device[128];
    _Atomic bool used;
    uint32_t slots;
    uint32_t users; /* menu generations that have the lane; under stats_lock */
    STATS_LANE(STATS_FIELD) struct latency latency;
};
struct stats_worker { /* name: BACKEND:INDEX/GENERATION */
    char name[STATS_NAME];
    _Atomic bool used;
    STATS_WORKER(STATS_FIELD)
};
struct stats_stream {
    char name[STATS_NAME];
    _Atomic bool used;
    STATS_STREAM(STATS_FIELD)
    struct latency latency; /* its RoIs: from receipt to decision */
};
struct stats_guest {
    char name[STATS_NAME];
    _Atomic bool used;
    STATS_GUEST(STATS_FIELD)
};
struct stats_client {
    char name[STATS_NAME];
    _Atomic bool used;
    STATS_CLIENT(STATS_FIELD)
    struct latency latency; /* its RoIs: from receipt to decision */
};
#undef STATS_FIELD
enum stats_stage {
#define STATS_STAGE(name, help) STATS_STAGE_##name,
    STATS_STAGES(STATS_STAGE)
#undef STATS_STAGE
        STATS_STAGE_COUNT
};

struct stats {
    uint64_t started_ns; /* clock_ns() at the start */
    struct stats_global g;
    struct latency stage[STATS_STAGE_COUNT];
    struct stats_chain chain[STATS_CHAINS_MAX];
    struct stats_step step[STATS_STEPS_MAX];
    _Atomic uint32_t n_lanes; /* no entry from here on was ever used */
    struct stats_lane lane[STATS_LANES_MAX];
    struct stats_worker worker[STATS_WORKERS_MAX];
    struct stats_stream stream[STATS_STREAMS_MAX];
    struct stats_guest guest[STATS_GUESTS_MAX];
    struct stats_client client[STATS_CLIENTS_MAX];
    struct slow slow; /* of one shard: no sums */
};

static inline void stats_add(stats_u64 *c, uint64_t n)
{
    atomic_store_explicit(c, atomic_load_explicit(c, memory_order_relaxed) + n,
                          memory_order_relaxed);
}
static inline void stats_sub(stats_u64 *c, uint64_t n)
{
    atomic_store_explicit(c, atomic_load_explicit(c, memory_order_relaxed) - n,
                          memory_order_relaxed);
}
static inline void stats_set(stats_u64 *c, uint64_t n)
{
    atomic_store_explicit(c, n, memory_order_relaxed);
}
static inline uint64_t stats_get(const stats_u64 *c)
{
    return atomic_load_explicit((stats_u64 *)c, memory_order_relaxed);
}

/* The ledger: received = accepted + rejected + failed + in_flight. */
struct stats_ledger {
    uint64_t received, accepted, rejected, failed, in_flight;
    int64_t imbalance; /* received - (accepted + rejected + failed + in_flight): 0, or a defect */
};

struct stats_set { /* of all shards */
    uint32_t n;
    struct stats *of[SHARDS_MAX];
};

int stats_new(struct stats **ret_stats);
void stats_free(struct stats *s);
/* The entry of that name, the old one or a new one; NULL when the table is full.  A name is fixed
 * while `used` is set; readers copy names under stats_lock. */
struct stats_chain *stats_chain_get(struct stats *s, const char *name);
/* Ends what stats_chain_get began.  The entry stays for the next of that name, until its place is
 * needed. */
void stats_chain_put(struct stats_chain *c);
struct stats_step *stats_step_get(struct stats *s, const char *name, const char *plugin);
/* The same for stats_step_get. */
void stats_step_put(struct stats_step *p);
struct stats_lane *stats_lane_get(struct stats *s, const char *name, const char *device,
                                  uint32_t slots);
/* Ends what stats_lane_get began.  The last one frees the entry: its counts end with the lane. */
void stats_lane_put(struct stats_lane *l);
struct stats_worker *stats_worker_get(struct stats *s, const char *name);
struct stats_stream *stats_stream_get(struct stats *s, const char *name);
struct stats_guest *stats_guest_get(struct stats *s, const char *name);
/* Frees the entry of a worker that is gone with its menu generation. */
void stats_worker_put(struct stats_worker *w);
struct stats_client *stats_client_get(struct stats *s, const char *name);
/* Frees a client's entry for another name (its counts stay in the global ones). */
void stats_client_put(struct stats *s, struct stats_client *c);
/* The ledger at one moment.  The counters move one by one while it is read, so it is read again
 * until two readings are the same and balance; an imbalance that stays is reported as it is. */
void stats_ledger(const struct stats_global *g, struct stats_ledger *ret_ledger);
/* All global counters; those of the ledger are of one moment. */
void stats_snapshot(const struct stats_global *g, struct stats_global *ret_copy);
/* The sums over all shards: each shard's ledger is of one moment of its own, so that the sum
 * balances.  `ret_sum` is empty before.  An entry has one place in the tables of all shards, but
 * for clients, which are in one shard each. */
void stats_sum(const struct stats_set *set, struct stats *ret_sum);
/* The same of the global counters alone. */
void stats_sum_global(const struct stats_set *set, struct stats_global *ret_sum);
void stats_lock(void);
void stats_unlock(void);
#endif
