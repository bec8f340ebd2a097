/* SPDX-License-Identifier: Apache-2.0 */
/* windows_inner.h - one second of one entry: windows.c fills it, windows_row.c adds it up. */
#ifndef TRIGD_WINDOWS_INNER_H
#define TRIGD_WINDOWS_INNER_H
#include <pthread.h>

#include "monitor/windows.h"

struct windows_rate { /* a counter */
    size_t at;        /* in its entry */
    const char *column;
};
struct windows_of { /* a kind of entries */
    const char *name;
    const struct windows_rate *rate;
    uint32_t n_rates;
    size_t at, bytes;           /* of the table in struct stats, and of one entry */
    size_t used_at, latency_at; /* in an entry; 0: it has none */
    uint32_t n;
};
extern const struct windows_of windows_of[WINDOWS_KINDS];

/* Durations of one second: bucket << WINDOWS_BITS | count; a bucket may occur more than once. */
#define WINDOWS_BITS 20u
struct windows_sparse {
    uint32_t *item;
    uint32_t n, room;
};
_Static_assert(LATENCY_BUCKETS <= 1u << (32u - WINDOWS_BITS), "a bucket fits its bits");

struct windows_series { /* what came to one name in the last minute */
    struct windows_series *next;
    char name[STATS_NAME];
    uint64_t last;                   /* second in which it was there */
    uint32_t users;                  /* slots that it belongs to */
    const struct stats_chain *chain; /* whose band it has; NULL: none */
    uint64_t (*rate)[WINDOWS_RATES]; /* [WINDOWS_SECONDS] */
    struct windows_sparse sparse[WINDOWS_SECONDS];
};

struct windows_slot { /* an entry of a shard, as it was read last */
    char name[STATS_NAME];
    struct windows_series *series, *device;
    uint64_t rate[WINDOWS_RATES];
    uint32_t *bucket; /* [LATENCY_BUCKETS]; NULL: the kind has none */
};

struct windows {
    const struct stats_set *set;
    pthread_mutex_t lock; /* of all below */
    uint64_t n;           /* seconds read; second k is at k % WINDOWS_SECONDS */
    uint64_t read_ns;
    bool is_primed; /* counts from before the first reading are not counted */
    double seconds[WINDOWS_SECONDS];
    struct windows_series *series[WINDOWS_KINDS]; /* in the order of their names */
    struct windows_slot **slot[WINDOWS_KINDS];    /* [shards][entries] */
    uint64_t dense[LATENCY_BUCKETS];              /* scratch of windows_row.c */
    pthread_t thread;
    bool has_thread, is_ending;
    pthread_mutex_t end_lock;
    pthread_cond_t end;
};
#endif
