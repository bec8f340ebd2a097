/* SPDX-License-Identifier: Apache-2.0 */
/* control.h - the operator's Unix socket and the HTTP page; they look in and post requests. */
#ifndef TRIGD_CONTROL_H
#define TRIGD_CONTROL_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/stats.h"
#include "config/config.h"
#include "plugin/plugin_host.h"

/* What the daemon does when asked; every call waits until it was done (at most a few
 * seconds; -ETIMEDOUT then) and writes one sentence into `text`.  Any thread. */
struct control_hooks {
    void *ctx;
    int (*set_prescale)(void *ctx, const char *chain, double prescale, char *text, size_t bytes);
    int (*drain)(void *ctx, char *text, size_t bytes); /* takes no more RoIs */
    int (*resume)(void *ctx, char *text, size_t bytes);
    int (*reload)(void *ctx, char *text, size_t bytes); /* the menu; the old one stays on failure */
    int (*quit)(void *ctx, char *text, size_t bytes);   /* as SIGTERM */
    const char *(*state)(void *ctx); /* "starting", "ready", "draining", "drained", "stopping" */
    bool (*is_live)(void *ctx);      /* the loop turned within the last second */
};

/* Everything that the socket shows; borrowed until control_stop. */
struct control_view {
    const struct stats *stats;
    const struct config *config;
    const char *config_path;
    struct plugin_host *plugins;
    struct backends *backends;
    struct control_hooks hooks;
};

struct control;
/* Starts the socket's thread and the HTTP server, as far as the config asks for them. */
int control_start(const struct control_view *view, struct control **ret_control);
void control_stop(struct control *c); /* NULL is fine */
/* One command line to one answer; what the socket's thread and the fuzzer call.  The answer is
 * NUL-terminated text on the heap, owned by the caller; NULL only when memory is out. */
char *control_command(const struct control_view *view, const char *line);
#endif
