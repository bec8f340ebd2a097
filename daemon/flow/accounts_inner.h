/* SPDX-License-Identifier: Apache-2.0 */
/* accounts_inner.h - an account: accounts.c fills it, account_file.c adds up and writes. */
#ifndef TRIGD_ACCOUNTS_INNER_H
#define TRIGD_ACCOUNTS_INNER_H
#include <stdatomic.h>

#include "flow/accounts.h"

/* X(name): counters of RoIs; received = accepted + rejected + failed. */
#define ACCOUNT_ROIS(X) \
    X(received)         \
    X(accepted)         \
    X(rejected)         \
    X(failed)           \
    X(refused)          \
    X(timeouts)         \
    X(truncated)        \
    X(late)             \
    X(skipped)

/* X(name): counters of events of several RoIs. */
#define ACCOUNT_EVENTS(X) \
    X(events_accepted)    \
    X(events_rejected)    \
    X(events_failed)      \
    X(events_incomplete)

#define ACCOUNT_PLANES 8u   /* bits of the sums that wait to be spread out */
#define ACCOUNT_ADDS   255u /* so many can wait */

enum account_kind { /* what is counted of chains */
#define ACCOUNT_KIND(name, kind, help) ACCOUNT_##name,
                    STATS_CHAIN(ACCOUNT_KIND)
#undef ACCOUNT_KIND
                        ACCOUNT_KINDS
};

struct account_roster { /* names and keys of a menu, which outlive it */
    _Atomic uint32_t users;
    uint64_t key;
    uint32_t n_chains, n_words, n_streams;
    char (*chain)[CHANGE_NAME];
    char stream[MENU_STREAMS_MAX][CHANGE_NAME];
};

struct account_set { /* prescales and conditions in force */
    _Atomic uint32_t users;
    uint64_t version;
    struct prescales prescales;
    struct conditions conditions;
};

struct account {
    struct account *next;  /* of those that were taken away */
    struct engine *engine; /* whose RoIs it counts; NULL: it is gone */
    struct lumi at;
    bool is_rest; /* for all lumi blocks that have no account */
    bool is_over; /* another set is in force by now */
    bool is_dirty;
    uint32_t n_in; /* RoIs that have not left it */
    struct account_roster *roster;
    struct account_set *set;
#define ACCOUNT_COUNTER(name) uint64_t name;
    ACCOUNT_ROIS(ACCOUNT_COUNTER)
    ACCOUNT_EVENTS(ACCOUNT_COUNTER)
#undef ACCOUNT_COUNTER
    uint64_t stream[MENU_STREAMS_MAX];
    uint64_t *chain;                    /* [ACCOUNT_KINDS][n_chains] */
    uint64_t *plane;                    /* [ACCOUNT_KINDS][ACCOUNT_PLANES][n_words] */
    uint32_t n_seeds, n_ends, n_events; /* that wait to be spread out */
};
#endif
