/* SPDX-License-Identifier: Apache-2.0 */
/* rundoc.h - the documents of a run, JSON: RUN.start.json when it begins, RUN.end.json when it has
 * ended, of a daemon and of a farm.  docs/run-control.md lists their members. */
#ifndef TRIGD_RUNDOC_H
#define TRIGD_RUNDOC_H
#include <stdio.h>

#include "base/stats.h"
#include "flow/accounts.h"

#define RUNDOC_NAME    64u
#define RUNDOC_PLUGINS 64u

struct rundoc_plugin { /* of a step of the menu */
    char step[RUNDOC_NAME], plugin[RUNDOC_NAME], version[RUNDOC_NAME];
};

struct rundoc {
    const char *program, *name; /* "trigd" or "trigsup"; the name of the instance */
    const char *config_path, *menu_file;
    uint64_t menu_key; /* at the beginning */
    const struct rundoc_plugin *plugin;
    uint32_t n_plugins;
    uint32_t run, last_block;
    bool numbers;
    const char *by, *why; /* who began it; why it ended */
    uint64_t began_unix_ns, ended_unix_ns, paused_ns;
    const struct stats_global *before, *after; /* counts when it began and ended */
    const struct account *accounts;            /* by lumi block; NULL: none */
    uint32_t n_errors;                         /* documents or accounts that could not be had */
    void (*more)(const void *ctx, FILE *out);  /* further members, each after a comma; or NULL */
    const void *ctx;
};

/* Writes the document of the beginning (`ended_unix_ns` 0) or of the end into a folder.  -EEXIST:
 * that run has one, and `is_anew` is false; else it gets another name.  Logs failures. */
int rundoc_write(const char *folder, const struct rundoc *d, bool is_anew);
/* Says in one sentence why rundoc_write failed. */
void rundoc_refusal(int error, uint32_t run, const char *folder, char *text, size_t bytes);
/* The highest number of a run that has a document there; 0: none. */
uint32_t rundoc_last(const char *folder);
#endif
