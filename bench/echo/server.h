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

/* Folder of the running program, which is the build's bench folder. */
int server_bench_folder(char *path, uint32_t bytes);
/* Starts a server with its files in `folder` (which exists), on ipc or on a free port of the
 * loopback.  Negative errno. */
int server_start(struct server *s, enum server_kind kind, const char *folder, bool tcp,
                 uint32_t credits);
/* Ends it and waits for it; NULL and one that was never started are fine. */
void server_stop(struct server *s);
/* Processor time that all its threads have used, ns; 0 when it cannot be read. */
uint64_t server_cpu_ns(const struct server *s);
#endif
