/* SPDX-License-Identifier: Apache-2.0 */
/* ways.h - trigd with three ways in, as a process that is measured. */
#ifndef TRIGD_BENCH_WAYS_H
#define TRIGD_BENCH_WAYS_H
#include <stdbool.h>
#include <stdint.h>

#include "counts.h"
#include "daemon.h"

enum way { WAY_SHM, WAY_IPC, WAY_TCP, WAYS };
extern const char *const way_name[WAYS];

struct daemon {
    struct bench_daemon trigd;
    char endpoint[WAYS][128];
    struct counts *counts; /* NULL: it does not count */
};

/* Starts it with one step, `plugin` with `params` (YAML, may be ""), and waits until it listens.
 * Negative errno. */
int daemon_start(struct daemon *d, const char *plugin, const char *params, bool counting);
/* Ends it and removes its files. */
void daemon_stop(struct daemon *d);
#endif
