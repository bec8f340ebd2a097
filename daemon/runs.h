/* SPDX-License-Identifier: Apache-2.0 */
/* runs.h - run control of a daemon: begins and ends runs for an operator or a supervisor, numbers
 * their lumi blocks, writes their documents.
 *
 * Any thread may order a command; the keeper's thread does the slow parts. */
#ifndef TRIGD_RUNS_H
#define TRIGD_RUNS_H
#include "base/runstate.h"
#include "base/stats.h"
#include "config/config.h"
#include "flow/accounts.h"
#include "menu/menu.h"

struct runs;
struct runs_hooks {
    void *ctx;
    uint64_t (*ask_reload)(void *ctx); /* as of struct control_hooks */
    int (*look_reload)(void *ctx, uint64_t number, char *text, size_t bytes);
    void (*tell)(void *ctx);     /* has all shards look at runs_is_taking, and waits for them */
    void (*ask_work)(void *ctx); /* has runs_work called on the keeper's thread */
    /* The accounts of all shards; `is_over`: the run ends, its histograms are written as well. */
    struct account *(*take_accounts)(void *ctx, bool is_over, uint32_t *ret_missing);
};

/* Before the first menu.  `stats` and `config_path` are borrowed.  -ENOMEM. */
int runs_open(const struct config *config, const char *config_path, const struct stats_set *stats,
              struct runs **ret_runs);
void runs_close(struct runs *r); /* NULL is fine */
/* The daemon is ready for commands. */
void runs_begin(struct runs *r, const struct runs_hooks *hooks);
/* A menu runs from here on. */
void runs_set_menu(struct runs *r, const struct menu *menu);

/* Whether RoIs are taken; read once a turn by each shard. */
bool runs_is_taking(const struct runs *r);
/* Run and lumi block that RoIs get, as run << 32 | block; 0: they keep their own.  Each shard reads
 * it for each RoI. */
const _Atomic uint64_t *runs_lumi(const struct runs *r);

/* Asks for a command.  0 and a ticket for runs_look, or a negative errno and why it is refused. */
int runs_ask(struct runs *r, const struct run_order *o, uint64_t *ret_ticket, char *text,
             size_t bytes);
/* How a command ended, or -EINPROGRESS and what it waits for. */
int runs_look(struct runs *r, uint64_t ticket, char *text, size_t bytes);
void runs_view(struct runs *r, struct run_view *ret_view);

/* On the main thread, often; `is_empty`: no shard takes RoIs or has some in flight. */
void runs_tick(struct runs *r, bool is_empty);
/* On the keeper's thread, after ask_work. */
void runs_work(struct runs *r);
/* Keeps accounts that were taken away for the document of the run; frees them when there is none.
 */
void runs_keep(struct runs *r, struct account *list);
/* The daemon ends, the threads of its shards have: so does its run, with these accounts, which are
 * taken over then.  Returns whether one was on. */
bool runs_end(struct runs *r, struct account *list);

struct runs_message { /* of a node to its supervisor; the caller frees it */
    struct runs_message *next;
    size_t n;
    unsigned char *bytes;
};
/* Accounts for the supervisor, the oldest first; NULL: there are none. */
struct runs_message *runs_next_message(struct runs *r);
void runs_free_message(struct runs_message *m);
#endif
