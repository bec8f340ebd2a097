/* SPDX-License-Identifier: Apache-2.0 */
/* server.h - the four servers, each a process of its own. */
#ifndef TRIGD_BENCH_SERVER_H
#define TRIGD_BENCH_SERVER_H
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum server_kind { SERVER_ECHO, SERVER_DECODE, SERVER_ANSWER, SERVER_TRIGD, SERVER_KINDS };

struct server {
    enum server_kind kind;
    char endpoint[128];
    pid_t pid;
};

/* Starts a server with its files in `folder` (which exists), on ipc or on a free port of the
 * loopback.  Negative errno. */
int server_start(struct server *s, enum server_kind kind, const char *folder, bool tcp,
                 uint32_t credits);
/* Ends it and waits for it; one that was never started is fine. */
void server_stop(struct server *s);
#endif
