/* SPDX-License-Identifier: Apache-2.0 */
/* daemon.h - a daemon of the build for a benchmark, in a folder of its own. */
#ifndef TRIGD_BENCH_DAEMON_H
#define TRIGD_BENCH_DAEMON_H
#include <sys/types.h>

struct bench_daemon {
    char folder[64], endpoint[128], control[128];
    pid_t pid;
};

/* Starts trigd with a menu of one chain, whose step is zfinder with `params` (of YAML), and with
 * `config` after endpoint, paths and limits; it keeps no files but in the folder.  Negative errno.
 * bench_daemon_stop in any case. */
int bench_daemon_start(const char *params, const char *config, struct bench_daemon *d);
/* Ends it, and removes the folder. */
void bench_daemon_stop(struct bench_daemon *d);
/* The number in a column of the row that begins with `row` of a command's table; < 0: the daemon
 * does not say. */
double bench_daemon_number(const struct bench_daemon *d, const char *command, const char *row,
                           const char *column);
/* Carries out a command.  -EIO: its answer is an error, which goes to stderr. */
int bench_daemon_order(const struct bench_daemon *d, const char *command);
#endif
