/* SPDX-License-Identifier: Apache-2.0 */
/* server.h - the four servers, each a process of its own. */
#ifndef TRIGD_BENCH_SERVER_H
#define TRIGD_BENCH_SERVER_H
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "daemon.h"

enum server_kind { SERVER_ECHO, SERVER_DECODE, SERVER_ANSWER, SERVER_TRIGD, SERVER_KINDS };

struct server {
    enum server_kind kind;
    char endpoint[128];
    uint32_t threads; /* of a bare one, each where that shard would listen */
    pid_t pid;
    struct bench_daemon trigd; /* or another server in the folder that it would have */
};

struct server_setup {
    bool tcp;                        /* on a free port of the loopback, else on ipc */
    uint32_t credits;                /* of each client */
    uint32_t io_threads;             /* of ZeroMQ */
    uint32_t threads;                /* of bare servers */
    uint32_t shards, gather_threads; /* of trigd; shards 0: as many as it starts by itself */
};

/* Starts a server.  Negative errno. */
int server_start(struct server *s, enum server_kind kind, const struct server_setup *setup);
/* Ends it and waits for it; one that was never started is fine. */
void server_stop(struct server *s);
#endif
