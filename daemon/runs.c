/* SPDX-License-Identifier: Apache-2.0 */
#include "runs.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/tickets.h"
#include "clock.h"
#include "log.h"
#include "refuse.h"
#include "rundoc.h"
#include "unixtime.h"

enum work { WORK_NONE, WORK_CONFIGURE, WORK_BEGIN, WORK_END };

struct runs {
    const struct config *config;
    const char *config_path;
    const struct stats_set *stats;
    struct runs_hooks hooks;
    char name[64];
    pthread_mutex_t lock;
    enum run_state state;
    enum work work;
    bool is_of_farm, numbers; /* of the run */
    uint32_t number, block, last;
    char by[64], why[256];
    uint64_t began_unix_ns, paused_ns, pause_ns; /* the latter: since when it is paused */
    uint64_t block_ns; /* when the next lumi block begins; 0: by command */
    uint64_t reload;   /* of a configuration */
    struct stats_global before;
    struct account *accounts; /* of the run, taken so far */
    uint32_t n_missing;
    bool is_handing; /* accounts are to go to the supervisor */
    struct runs_message *first, **last_message;
    struct tickets tickets;
    uint64_t menu_key;
    struct rundoc_plugin plugin[RUNDOC_PLUGINS];
    uint32_t n_plugins;
    _Atomic bool is_taking;
    _Atomic uint64_t lumi;
};

/* ---------------------------------------------------------------- opening */

int runs_open(const struct config *config, const char *config_path, const struct stats_set *stats,
              struct runs **ret_runs)
{
    struct runs *r = calloc(1, sizeof *r);

    if (!r)
        return -ENOMEM;
    r->config = config;
    r->config_path = config_path;
    r->stats = stats;
    r->last_message = &r->first;
    if (config->supervisor.name[0])
        snprintf(r->name, sizeof r->name, "%s", config->supervisor.name);
    else if (gethostname(r->name, sizeof r->name - 1) < 0)
        snprintf(r->name, sizeof r->name, "?");
    pthread_mutex_init(&r->lock, NULL);
    r->last = config->runs.control && config->runs.dir[0] ? rundoc_last(config->runs.dir) : 0;
    atomic_init(&r->is_taking, !config->runs.control);
    *ret_runs = r;
    return 0;
}

static void free_messages(struct runs *r)
{
    while (r->first) {
        struct runs_message *m = r->first;

        r->first = m->next;
        runs_free_message(m);
    }
}

void runs_close(struct runs *r)
{
    if (!r)
        return;
    free_messages(r);
    account_free(r->accounts);
    pthread_mutex_destroy(&r->lock);
    free(r);
}

void runs_set_menu(struct runs *r, const struct menu *menu)
{
    pthread_mutex_lock(&r->lock);
    r->menu_key = menu->hash;
    r->n_plugins = 0;
    for (uint32_t i = 0; i < menu->n_steps && i < RUNDOC_PLUGINS; i++) {
        struct rundoc_plugin *p = &r->plugin[r->n_plugins++];

        snprintf(p->step, sizeof p->step, "%s", menu->steps[i].name);
        snprintf(p->plugin, sizeof p->plugin, "%s", menu->steps[i].plugin->d.name);
        snprintf(p->version, sizeof p->version, "%s", menu->steps[i].plugin->d.version);
    }
    pthread_mutex_unlock(&r->lock);
}

/* ---------------------------------------------------------------- states */

bool runs_is_taking(const struct runs *r)
{
    return atomic_load_explicit(&r->is_taking, memory_order_relaxed);
}

const _Atomic uint64_t *runs_lumi(const struct runs *r)
{
    return &r->lumi;
}

/* What the shards see of the state. */
static void publish(struct runs *r)
{
    const bool is_on = r->number != 0,
               is_idle = r->state != RUN_draining && !r->config->runs.control;

    atomic_store(&r->lumi, is_on && r->numbers ? (uint64_t)r->number << 32 | r->block : 0);
    atomic_store(&r->is_taking, r->state == RUN_running || (!is_on && is_idle));
}

static void enter(struct runs *r, enum run_state to)
{
    if (run_enter(&r->state, to, r->number))
        publish(r);
}

void runs_begin(struct runs *r, const struct runs_hooks *hooks)
{
    pthread_mutex_lock(&r->lock);
    r->hooks = *hooks;
    enter(r, RUN_configured);
    pthread_mutex_unlock(&r->lock);
}

/* The command that was asked for last is over. */
static void finish(struct runs *r, int result, const char *text)
{
    tickets_end(&r->tickets, result, text);
    r->work = WORK_NONE;
}

static void fail(struct runs *r, const char *why)
{
    snprintf(r->why, sizeof r->why, "%s", why);
    log_error("run", "run control is in error", "why=\"%s\"", why);
    enter(r, RUN_error);
}

/* ---------------------------------------------------------------- commands */

static int check(const struct runs *r, const struct run_order *o, char *text, size_t bytes)
{
    if (!r->config->runs.control && !o->is_of_farm)
        return refuse(text, bytes,
                      "runs.control is off in the configuration: RoIs are taken whenever the "
                      "daemon is ready, and runs are the clients' own");
    if (r->work != WORK_NONE || r->state == RUN_draining)
        return refuse(text, bytes, "a command is being carried out while the state is %s",
                      run_state_name(r->state));
    if (r->is_of_farm && r->number && !o->is_of_farm)
        return refuse(text, bytes,
                      "run %u is the farm's, begun by %s: ask the supervisor (trigctl --farm)",
                      r->number, r->by);
    if (o->is_of_farm && o->command == RUN_DO_start && r->number)
        return refuse(text, bytes, "it is in run %u, begun by %s", r->number, r->by);
    if (o->is_of_farm && o->command == RUN_DO_start && r->state != RUN_error)
        return 0; /* a node is configured as soon as it is up */
    return run_allows(r->state, o->command, text, bytes);
}

static void ask_begin(struct runs *r, const struct run_order *o)
{
    r->number = o->number ? o->number : r->last + 1;
    r->block = o->block ? o->block : 1;
    r->is_of_farm = o->is_of_farm;
    r->numbers = o->is_of_farm ? o->numbers : r->config->runs.numbers;
    snprintf(r->by, sizeof r->by, "%s", o->by);
    r->work = WORK_BEGIN;
    r->hooks.ask_work(r->hooks.ctx);
}

static void begin_block(struct runs *r, uint32_t block)
{
    const uint64_t each = NS_PER_S * r->config->runs.lumi_block_s;

    r->block = block ? block : r->block + 1;
    r->block_ns = each && r->numbers && !r->is_of_farm ? clock_ns() + each : 0;
    publish(r);
    if (r->is_of_farm) {
        r->is_handing = true;
        r->hooks.ask_work(r->hooks.ctx);
    }
}

static void pause_run(struct runs *r, bool is_pause)
{
    if (is_pause)
        r->pause_ns = clock_ns();
    else
        r->paused_ns += clock_ns() - r->pause_ns;
    enter(r, is_pause ? RUN_paused : RUN_running);
}

static void ask_end(struct runs *r)
{
    if (r->state == RUN_paused)
        r->paused_ns += clock_ns() - r->pause_ns;
    enter(r, RUN_draining); /* runs_tick goes on when nothing is in flight */
}

static void say_state(const struct runs *r, char *text, size_t bytes)
{
    int n = snprintf(text, bytes, "%s", run_state_name(r->state));

    if (r->number && n > 0 && (size_t)n < bytes)
        snprintf(text + n, bytes - (size_t)n, ", run %u, lumi block %u", r->number, r->block);
}

/* What takes no time is over at once. */
static void carry_out(struct runs *r, const struct run_order *o)
{
    char text[256];

    switch (o->command) {
    case RUN_DO_configure:
        r->reload = r->hooks.ask_reload(r->hooks.ctx);
        r->work = WORK_CONFIGURE;
        return;
    case RUN_DO_start:
        ask_begin(r, o);
        return;
    case RUN_DO_stop:
        ask_end(r);
        return;
    case RUN_DO_block:
        begin_block(r, o->block);
        break;
    case RUN_DO_reset:
        r->why[0] = '\0';
        enter(r, RUN_initial);
        break;
    default:
        pause_run(r, o->command == RUN_DO_pause);
        break;
    }
    say_state(r, text, sizeof text);
    finish(r, 0, text);
}

int runs_ask(struct runs *r, const struct run_order *o, uint64_t *ret_ticket, char *text,
             size_t bytes)
{
    int result;

    pthread_mutex_lock(&r->lock);
    result =
        r->hooks.ctx ? check(r, o, text, bytes) : refuse(text, bytes, "the daemon is starting");
    if (result == 0) {
        *ret_ticket = tickets_next(&r->tickets);
        carry_out(r, o);
    }
    pthread_mutex_unlock(&r->lock);
    if (result == 0 && o->command == RUN_DO_pause)
        r->hooks.tell(r->hooks.ctx);
    return result;
}

int runs_look(struct runs *r, uint64_t ticket, char *text, size_t bytes)
{
    struct stats_global now;
    int result = -EINPROGRESS;

    stats_sum_global(r->stats, &now);
    pthread_mutex_lock(&r->lock);
    if (tickets_look(&r->tickets, ticket, &result, text, bytes)) {
        pthread_mutex_unlock(&r->lock);
        return result;
    }
    if (r->work == WORK_CONFIGURE) {
        r->hooks.look_reload(r->hooks.ctx, r->reload, text, bytes);
    } else if (r->state == RUN_draining && r->work == WORK_NONE) {
        snprintf(text, bytes, "%llu RoIs are in flight",
                 (unsigned long long)stats_get(&now.in_flight));
    } else {
        snprintf(text, bytes, "writing the document of run %u", r->number);
    }
    pthread_mutex_unlock(&r->lock);
    return result;
}

void runs_view(struct runs *r, struct run_view *ret_view)
{
    pthread_mutex_lock(&r->lock);
    *ret_view = (struct run_view){.is_controlled = r->config->runs.control || r->number,
                                  .numbers = r->number ? r->numbers : r->config->runs.numbers,
                                  .state = r->state,
                                  .number = r->work == WORK_BEGIN ? 0 : r->number,
                                  .block = r->number ? r->block : 0,
                                  .last = r->last,
                                  .began_unix_ns = r->number ? r->began_unix_ns : 0};
    snprintf(ret_view->by, sizeof ret_view->by, "%s", r->number ? r->by : "");
    snprintf(ret_view->why, sizeof ret_view->why, "%s", r->why);
    pthread_mutex_unlock(&r->lock);
}

/* ---------------------------------------------------------------- the main thread */

static void look_at_reload(struct runs *r)
{
    char text[256] = "";
    const int result = r->hooks.look_reload(r->hooks.ctx, r->reload, text, sizeof text);

    if (result == -EINPROGRESS)
        return;
    finish(r, result, result == 0 ? "configured" : text);
    if (result == 0)
        enter(r, RUN_configured);
    else
        fail(r, text);
}

void runs_tick(struct runs *r, bool is_empty)
{
    pthread_mutex_lock(&r->lock);
    if (r->work == WORK_CONFIGURE)
        look_at_reload(r);
    if (r->work == WORK_NONE && r->state == RUN_draining && is_empty) {
        r->work = WORK_END;
        r->hooks.ask_work(r->hooks.ctx);
    }
    if (r->block_ns && (r->state == RUN_running || r->state == RUN_paused) &&
        clock_ns() >= r->block_ns)
        begin_block(r, 0);
    pthread_mutex_unlock(&r->lock);
}

/* ---------------------------------------------------------------- documents and accounts */

static void fill(const struct runs *r, struct rundoc *d)
{
    *d = (struct rundoc){.program = "trigd",
                         .name = r->name,
                         .config_path = r->config_path,
                         .menu_file = r->config->menu,
                         .menu_key = r->menu_key,
                         .plugin = r->plugin,
                         .n_plugins = r->n_plugins,
                         .run = r->number,
                         .last_block = r->block,
                         .numbers = r->numbers,
                         .by = r->by,
                         .began_unix_ns = r->began_unix_ns,
                         .paused_ns = r->paused_ns,
                         .before = &r->before,
                         .accounts = r->accounts,
                         .n_errors = r->n_missing};
}

/* A node that was started again within a run has a second document of it. */
static int write_document(const struct runs *r, const struct rundoc *d)
{
    return r->config->runs.dir[0] ? rundoc_write(r->config->runs.dir, d, r->is_of_farm) : 0;
}

/* With the lock; others see from `work` that a command is being carried out. */
static void begin_run(struct runs *r)
{
    struct rundoc d;
    char text[256];
    int result;

    stats_sum_global(r->stats, &r->before);
    r->began_unix_ns = unix_ns();
    r->paused_ns = 0;
    r->n_missing = 0;
    fill(r, &d);
    pthread_mutex_unlock(&r->lock);
    result = write_document(r, &d);
    pthread_mutex_lock(&r->lock);
    if (result < 0) {
        rundoc_refusal(result, r->number, r->config->runs.dir, text, sizeof text);
        r->number = 0;
        finish(r, result, text);
        return;
    }
    if (r->number > r->last)
        r->last = r->number;
    r->work = WORK_NONE;
    if (!r->is_of_farm)
        begin_block(r, 1);
    enter(r, RUN_running);
    r->work = WORK_BEGIN; /* until the shards know */
    pthread_mutex_unlock(&r->lock);
    r->hooks.tell(r->hooks.ctx);
    pthread_mutex_lock(&r->lock);
    say_state(r, text, sizeof text);
    finish(r, 0, text);
}

/* Writes the document of the end.  Without the lock: no other thread changes the run now. */
static int write_end(struct runs *r, const char *why)
{
    struct stats_global after;
    struct rundoc d;

    stats_sum_global(r->stats, &after);
    fill(r, &d);
    d.after = &after;
    d.ended_unix_ns = unix_ns();
    d.why = why;
    return write_document(r, &d);
}

static void over(struct runs *r)
{
    account_free(r->accounts);
    r->accounts = NULL;
    r->number = 0;
    r->is_of_farm = false;
    r->block_ns = 0;
}

/* Copies accounts for the supervisor. */
static void hand(struct runs *r, const struct account *list)
{
    for (; list; list = account_next(list)) {
        struct runs_message *m = calloc(1, sizeof *m);

        if (m)
            m->n = account_pack(list, &m->bytes);
        if (!m || !m->n) {
            free(m);
            r->n_missing++;
            log_error("run", "no memory for the accounts of a lumi block", "run=%u", r->number);
            continue;
        }
        *r->last_message = m;
        r->last_message = &m->next;
    }
}

static void take_accounts(struct runs *r, bool is_over)
{
    uint32_t missing = 0;
    struct account *list;

    pthread_mutex_unlock(&r->lock);
    list = r->hooks.take_accounts(r->hooks.ctx, is_over, &missing);
    pthread_mutex_lock(&r->lock);
    r->n_missing += missing;
    if (r->is_of_farm)
        hand(r, list);
    r->accounts = account_merge(r->accounts, list);
}

static void end_run(struct runs *r)
{
    const uint32_t number = r->number;
    char text[256];
    int result;

    take_accounts(r, true);
    pthread_mutex_unlock(&r->lock);
    result = write_end(r, "stop");
    pthread_mutex_lock(&r->lock);
    over(r);
    if (result < 0) {
        snprintf(text, sizeof text,
                 "run %u is over, and its document cannot be written in %.160s; the log says why",
                 number, r->config->runs.dir);
        fail(r, text);
    } else {
        snprintf(text, sizeof text, "configured; run %u is over", number);
        enter(r, RUN_configured);
    }
    publish(r);
    finish(r, result, text);
}

void runs_work(struct runs *r)
{
    pthread_mutex_lock(&r->lock);
    if (r->is_handing && r->number && r->work == WORK_NONE)
        take_accounts(r, false);
    r->is_handing = false;
    if (r->work == WORK_BEGIN)
        begin_run(r);
    else if (r->work == WORK_END)
        end_run(r);
    pthread_mutex_unlock(&r->lock);
}

void runs_keep(struct runs *r, struct account *list)
{
    pthread_mutex_lock(&r->lock);
    if (r->number) {
        if (r->is_of_farm)
            hand(r, list);
        r->accounts = account_merge(r->accounts, list);
        list = NULL;
    }
    pthread_mutex_unlock(&r->lock);
    account_free(list);
}

bool runs_end(struct runs *r, struct account *list)
{
    bool is_on;

    pthread_mutex_lock(&r->lock);
    while (r->work == WORK_BEGIN || r->work == WORK_END) { /* the keeper writes its document */
        pthread_mutex_unlock(&r->lock);
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
        pthread_mutex_lock(&r->lock);
    }
    is_on = r->number != 0;
    if (is_on) {
        if (r->is_of_farm)
            hand(r, list);
        r->accounts = account_merge(r->accounts, list);
        if (write_end(r, "the daemon ends") < 0)
            log_error("run", "a run has no document of its end", "run=%u", r->number);
        over(r);
    }
    pthread_mutex_unlock(&r->lock);
    return is_on;
}

struct runs_message *runs_next_message(struct runs *r)
{
    struct runs_message *m;

    pthread_mutex_lock(&r->lock);
    m = r->first;
    if (m)
        r->first = m->next;
    if (!r->first)
        r->last_message = &r->first;
    pthread_mutex_unlock(&r->lock);
    return m;
}

void runs_free_message(struct runs_message *m)
{
    if (m)
        free(m->bytes);
    free(m);
}
