/* SPDX-License-Identifier: Apache-2.0 */
/* daemon.h - a daemon of the build for a benchmark, in a folder of its own. */
#ifndef TRIGD_BENCH_DAEMON_H
#define TRIGD_BENCH_DAEMON_H
#include <sys/types.h>

struct bench_daemon {
    char folder[64], endpoint[128], control[128];
    pid_t pid;
};

/* For `config`: no files beside the trigger, and limits for RoIs that are timed. */
#define BENCH_DAEMON_ALONE                                                             \
    "log: {level: error}\nstate_dir: \"\"\naccounts_dir: \"\"\nhistograms_dir: \"\"\n" \
    "debug_stream: {folder: \"\"}\nlimits: {soft_ms: 500, hard_ms: 5000}\n"            \
    "clients: {credits: 4096}\n"

struct bench_daemon_setup {      /* texts of YAML */
    const char *plugin, *params; /* of the one step of the one chain; params may be NULL */
    const char *endpoints;       /* beside `endpoint`, each behind a comma; NULL: none */
    const char *config;          /* after endpoints and paths: log, limits, clients, devices */
    const char *const *env;      /* name, value, ..., NULL, or NULL */
};

/* The folder alone, for what needs a place in it before the daemon starts.  Negative errno. */
int bench_daemon_new(struct bench_daemon *d);
/* Starts trigd, which keeps no files but in the folder; makes that if it is not there.  Negative
 * errno.  bench_daemon_stop in any case. */
int bench_daemon_start(struct bench_daemon *d, const struct bench_daemon_setup *setup);
/* Ends it, and removes the folder. */
void bench_daemon_stop(struct bench_daemon *d);
/* The number in a column of the row that begins with `row` of a command's table; < 0: the daemon
 * does not say. */
double bench_daemon_number(const struct bench_daemon *d, const char *command, const char *row,
                           const char *column);
/* The number behind a text in a command's answer; < 0: the daemon does not say. */
double bench_daemon_behind(const struct bench_daemon *d, const char *command, const char *text);
/* Carries out a command.  -EIO: its answer is an error, which goes to stderr. */
int bench_daemon_order(const struct bench_daemon *d, const char *command);
#endif
