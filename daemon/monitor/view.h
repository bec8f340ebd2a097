/* SPDX-License-Identifier: Apache-2.0 */
/* view.h - the daemon as the operator's socket and the HTTP page see it, and their requests.
 */
#ifndef TRIGD_VIEW_H
#define TRIGD_VIEW_H
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "base/runstate.h"
#include "base/stats.h"
#include "config/config.h"
#include "exec/devices.h"
#include "exec/guests.h"
#include "flow/histograms.h"
#include "flow/poison.h"
#include "menu/change_book.h"
#include "monitor/gpus.h"
#include "monitor/windows.h"
#include "plugin/plugin_host.h"

enum control_dump {
    CONTROL_DUMP_MENU,
    CONTROL_DUMP_PRESCALES,
    CONTROL_DUMP_CONDITIONS,
    CONTROL_DUMPS
};

struct control_condition { /* of the running menu */
    char name[CONDITION_NAME], table[32];
    bool is_optional, is_of_operator;
    uint64_t key, next_key; /* 0: not given; next: from `next` on, where is_waiting */
    uint32_t rows;
    bool is_waiting;
    struct lumi next;
};

/* Requests to the daemon; every call waits until it is done (at most a few
 * seconds; -ETIMEDOUT then) and writes one sentence into `text`.  Any thread. */
struct control_hooks {
    void *ctx;
    int (*change)(void *ctx, const struct change_order *order, char *text, size_t bytes);
    char *(*dump)(void *ctx, enum control_dump what); /* NULL: it did not answer */
    /* CONDITIONS_MAX at most; how many, or -ETIMEDOUT. */
    int (*conditions)(void *ctx, struct control_condition *list);
    /* Of all shards; dropped by the caller.  -ETIMEDOUT. */
    int (*histograms)(void *ctx, struct histogram_list *ret_list);
    int (*drain)(void *ctx, char *text, size_t bytes); /* takes no more RoIs */
    int (*resume)(void *ctx, char *text, size_t bytes);
    /* Reloads the menu, the old one stays on failure; does not wait.  Returns a number, from 1. */
    uint64_t (*ask_reload)(void *ctx);
    /* How that reload ended, or -EINPROGRESS and where it is. */
    int (*look_reload)(void *ctx, uint64_t number, char *text, size_t bytes);
    bool (*is_reloading)(void *ctx);
    int (*quit)(void *ctx, char *text, size_t bytes); /* as SIGTERM */
    /* A command of run control: 0 and a ticket, or why it is refused; does not wait. */
    int (*ask_run)(void *ctx, const struct run_order *order, uint64_t *ret_ticket, char *text,
                   size_t bytes);
    /* How it ended, or -EINPROGRESS and what it waits for. */
    int (*look_run)(void *ctx, uint64_t ticket, char *text, size_t bytes);
    void (*run)(void *ctx, struct run_view *ret_view);
    const char *(*state)(void *ctx); /* "starting", "ready", "draining", "drained", "stopping" */
    bool (*is_live)(void *ctx);      /* the loop turned within the last second */
};

struct table;
struct control_extra { /* a command of the supervisor's own; it shows a table or acts */
    const char *words;
    const char *args; /* "": none; else the one word that follows */
    const char *help;
    int (*show)(void *ctx, struct table *t); /* -ETIMEDOUT: the loop did not answer */
    int (*act)(void *ctx, const char *word, char *text, size_t bytes);
};

/* Everything that the socket shows; borrowed until control_stop. */
struct control_view {
    const struct stats_set *shards;
    const struct stats *stats; /* their sums; set for the time of one request */
    const struct config *config;
    const char *config_path;
    struct plugin_host *plugins;
    const struct devices *devices;
    struct poison *poison;   /* NULL: none is remembered */
    struct guests *guests;   /* NULL: there are none */
    struct windows *windows; /* of control_start; NULL: no rates */
    struct gpus *gpus;       /* likewise; NULL: GPUs are not read */
    struct control_hooks hooks;
    const struct control_extra *extra; /* in place of what only a daemon has; NULL: it is one */
    uint32_t n_extra;
    void (*metrics)(void *ctx, FILE *out); /* the supervisor's own, for /metrics; NULL: none */
};

/* A copy of the view with the sums of this moment, for one request.  -ENOMEM. */
int view_now(const struct control_view *v, struct control_view *ret_view);
void view_done(struct control_view *v);
#endif
