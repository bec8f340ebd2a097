/* SPDX-License-Identifier: Apache-2.0 */
/* middle.h - what stands between clients and nodes, with the nodes behind it: trigsup, or a bare
 * proxy of libzmq (ROUTER and DEALER). */
#ifndef TRIGD_BENCH_MIDDLE_H
#define TRIGD_BENCH_MIDDLE_H
#include <stdbool.h>

#include "node.h"
#include "server.h"

#define MIDDLE_NODES 16u

struct middle {
    struct server server; /* as clients see it */
    pid_t node[MIDDLE_NODES];
    uint32_t n;
};

struct middle_setup {
    const char *folder; /* for files and sockets; it exists */
    uint32_t nodes, io_threads;
    double service_us[MIDDLE_NODES]; /* 0: at once */
    int is_random;
    uint32_t lost_beats; /* 0: no node is ever lost */
    bool is_island;      /* over tcp within a namespace (island.h), the last node at 10.9.0.2 */
};

/* Starts it with its nodes.  Negative errno. */
int middle_start(struct middle *m, enum server_kind kind, const struct middle_setup *setup);
void middle_stop(struct middle *m);
/* Forwards for ever; returns an exit code when it cannot. */
int middle_proxy(const char *front, const char *back, int io_threads);
#endif
