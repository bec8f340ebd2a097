/* SPDX-License-Identifier: Apache-2.0 */
/* keeper.h - the thread that opens and closes engines, which may take seconds, beside the loop. */
#ifndef TRIGD_KEEPER_H
#define TRIGD_KEEPER_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/stats.h"
#include "exec/engine.h"

struct keeper;
struct keeper_hooks {
    void *ctx;
    /* Makes a generation the running one in all shards, or closes it: a negative errno. */
    int (*swap)(void *ctx, struct generation *g);
    void (*write_accounts)(void *ctx); /* of all shards */
    void (*run)(void *ctx);            /* what run control has to do */
};
int keeper_start(const struct engine_setup *setup, const struct keeper_hooks *hooks,
                 struct keeper **ret_keeper);
/* Gives up a reload, closes retired generations, then ends.  NULL is fine. */
void keeper_stop(struct keeper *k);

/* Asks for a reload of the menu and does not wait.  Returns its number, from 1. */
uint64_t keeper_ask_reload(struct keeper *k);
/* How the reload of that number ended, or -EINPROGRESS and where it is; one sentence into `text`.
 */
int keeper_look(struct keeper *k, uint64_t number, char *text, size_t bytes);
bool keeper_is_reloading(struct keeper *k);
/* Has the accounts written and does not wait. */
void keeper_ask_accounts(struct keeper *k);
/* Has the work of run control done and does not wait. */
void keeper_ask_run(struct keeper *k);
/* Takes over an engine that its shard does not use any more. */
void keeper_retire(struct keeper *k, struct engine *e);
#endif
