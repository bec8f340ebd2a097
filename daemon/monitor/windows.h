/* SPDX-License-Identifier: Apache-2.0 */
/* windows.h - rates and latencies of the last 1, 10 and 60 s.
 *
 * Once a second the counters and histograms of all shards are read, and what came since is kept for
 * a minute, under the name of the chain, lane, client and so on: those of equal names are added up,
 * and the lanes of a device once more under its name.  Histograms keep their buckets (latency.h),
 * so that a quantile of a window is right to 0.8 %, and sums over shards, lanes or nodes are exact.
 */
#ifndef TRIGD_WINDOWS_H
#define TRIGD_WINDOWS_H
#include <stdbool.h>
#include <stdint.h>

#include "base/stats.h"

#define WINDOWS_SECONDS   60u
#define WINDOWS_RATES     16u /* of one entry */
#define WINDOWS_QUANTILES 4u

/* X(name, seconds): the windows. */
#define WINDOWS(X) \
    X("1s", 1)     \
    X("10s", 10)   \
    X("60s", 60)
#define WINDOWS_N 3u

/* X(counter, column): what is shown a second; a counter of ns is a part of the time. */
#define WINDOWS_NODE(X)              \
    X(received, "received_per_s")    \
    X(accepted, "accepted_per_s")    \
    X(rejected, "rejected_per_s")    \
    X(failed, "failed_per_s")        \
    X(late, "late_per_s")            \
    X(busy, "busy_per_s")            \
    X(errors, "errors_per_s")        \
    X(events, "events_per_s")        \
    X(bytes_in, "bytes_in_per_s")    \
    X(bytes_out, "bytes_out_per_s")  \
    X(dead_ns, "dead")               \
    X(dead_pool_ns, "dead_pool")     \
    X(dead_stream_ns, "dead_stream") \
    X(dead_drain_ns, "dead_drain")
#define WINDOWS_CHAIN(X)          \
    X(seeded, "seeded_per_s")     \
    X(run, "run_per_s")           \
    X(raw_pass, "raw_pass_per_s") \
    X(pass, "pass_per_s")         \
    X(reject, "reject_per_s")     \
    X(failed, "failed_per_s")
#define WINDOWS_STEP(X)         \
    X(rois, "rois_per_s")       \
    X(batches, "batches_per_s") \
    X(failed, "failed_per_s")   \
    X(skipped, "skipped_per_s")
#define WINDOWS_LANE(X)                       \
    X(rois, "rois_per_s")                     \
    X(batches, "batches_per_s")               \
    X(failed_batches, "failed_batches_per_s") \
    X(items, "items_per_s")                   \
    X(busy_ns, "busy")
#define WINDOWS_STREAM(X)               \
    X(rois, "rois_per_s")               \
    X(written, "written_per_s")         \
    X(lost_memory, "lost_memory_per_s") \
    X(lost_disk, "lost_disk_per_s")     \
    X(lost_error, "lost_error_per_s")   \
    X(bytes, "bytes_per_s")
#define WINDOWS_CLIENT(X)         \
    X(received, "received_per_s") \
    X(accepted, "accepted_per_s") \
    X(rejected, "rejected_per_s") \
    X(failed, "failed_per_s")     \
    X(busy, "busy_per_s")         \
    X(errors, "errors_per_s")

enum windows_kind {
    WINDOWS_OF_NODE, /* one entry, "node"; its latency is the stage `total` */
    WINDOWS_OF_STAGE,
    WINDOWS_OF_CHAIN,
    WINDOWS_OF_STEP,
    WINDOWS_OF_LANE,
    WINDOWS_OF_DEVICE,
    WINDOWS_OF_STREAM,
    WINDOWS_OF_CLIENT,
    WINDOWS_KINDS
};

enum windows_against {                  /* a rate against what is expected */
                       WINDOWS_UNKNOWN, /* nothing is expected, or too little came to tell */
                       WINDOWS_OK,
                       WINDOWS_LOW,
                       WINDOWS_HIGH
};

struct windows_row { /* an entry in a window */
    const char *name;
    double seconds; /* that it covers: less than the window's just after the start */
    uint32_t n_rates;
    double rate[WINDOWS_RATES];
    uint64_t latencies;                          /* durations in the window */
    double quantile_ns[WINDOWS_QUANTILES];       /* of windows_quantiles; 0: none came */
    enum stats_band band;                        /* of a chain */
    double expected_min, expected_max, measured; /* in the unit of the band */
    enum windows_against against;
};

extern const double windows_quantiles[WINDOWS_QUANTILES];
extern const char *const windows_name[WINDOWS_N];
extern const char *const windows_against_name[];
/* Columns of a kind: its rates. */
uint32_t windows_columns(enum windows_kind kind, const char *const **ret_column);
/* "chain" and so on. */
const char *windows_kind_name(enum windows_kind kind);
bool windows_has_latency(enum windows_kind kind);

struct windows;
/* Nothing is read yet; `set` stays.  -ENOMEM. */
int windows_new(const struct stats_set *set, struct windows **ret_windows);
/* Starts a thread that reads once a second. */
int windows_start(struct windows *w);
void windows_free(struct windows *w); /* ends the thread; NULL is fine */
/* Reads the counters of this moment; the thread's work, for tests. */
int windows_read(struct windows *w, uint64_t now_ns);

typedef void windows_fn(void *ctx, const struct windows_row *row);
/* Calls fn for each entry of a kind, by name; window: 0 .. WINDOWS_N - 1.  Any thread. */
void windows_each(struct windows *w, enum windows_kind kind, uint32_t window, windows_fn *fn,
                  void *ctx);
/* The second that ended `age` seconds ago (0: the last) of the node.  false: there is none. */
bool windows_second(struct windows *w, uint32_t age, struct windows_row *ret_row);
/* The histograms of a kind in a window, [LATENCY_BUCKETS], for adding up. */
typedef void windows_latency_fn(void *ctx, const char *name, const uint64_t *bucket);
void windows_latencies(struct windows *w, enum windows_kind kind, uint32_t window,
                       windows_latency_fn *fn, void *ctx);
#endif
