/* SPDX-License-Identifier: Apache-2.0 */
#include "runmenu.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/wholefile.h"
#include "log.h"
#include "menu/prescale_file.h"
#include "refuse.h"

#define CALL_MS 3000u /* longest wait of an operator's command for a shard */

struct request {
    const struct runcontrol *run;
    struct shard *shard;
    const struct change_order *order;
    struct lumi from;
    uint64_t key;
    char *text; /* where a sentence goes */
    size_t bytes;
    struct control_condition *list;
    struct account *taken;
    struct histogram_list histograms;
    bool is_taken; /* those */
};

static const struct menu *menu_of(const struct request *q)
{
    return dispatch_engine(shard_dispatch(q->shard))->menu;
}

/* ---------------------------------------------------------------- changes */

static const char *const kind_name[] = {
    [CHANGE_PRESCALE] = "prescale set", [CHANGE_CONDITION] = "conditions"};

static bool has_chain(const struct menu *m, const char *name)
{
    for (uint32_t i = 0; i < m->n_chains; i++)
        if (!strcmp(m->chains[i].name, name))
            return true;
    return false;
}

static const struct condition_need *find_need(const struct menu *m, const char *name)
{
    for (uint32_t i = 0; i < m->n_conditions; i++)
        if (!strcmp(m->condition[i].name, name))
            return &m->condition[i];
    return NULL;
}

int runmenu_start_prescales(const char *path, const struct menu *m, struct change_book *book)
{
    struct change_order order = {.what = CHANGE_PRESCALE, .is_whole = true};
    struct change *list;
    struct lumi from;
    int r;

    if (!path[0])
        return 0;
    r = prescales_read(path, &list, &order.n);
    if (r < 0)
        return r;
    for (uint32_t i = 0; r == 0 && i < order.n; i++)
        if (!has_chain(m, list[i].name)) {
            log_error("config", "prescales names a chain that the menu has not",
                      "file=\"%s\" chain=\"%s\"", path, list[i].name);
            r = -EINVAL;
        }
    order.change = list;
    if (r == 0 && book)
        r = change_book_change(book, &order, &from);
    free(list);
    return r;
}

int runmenu_check_prescales(const char *path, const struct menu *m)
{
    return runmenu_start_prescales(path, m, NULL);
}

static int check_change(const struct request *q, const struct change *c)
{
    const struct condition_need *need;

    if (c->what == CHANGE_PRESCALE && !has_chain(menu_of(q), c->name))
        return refuse(q->text, q->bytes, "there is no chain \"%s\" in the running menu", c->name);
    if (c->what == CHANGE_PRESCALE)
        return 0;
    need = find_need(menu_of(q), c->name);
    if (!need)
        return refuse(q->text, q->bytes, "no plugin of the running menu needs the condition \"%s\"",
                      c->name);
    if (need->table->hash != c->condition->table->hash)
        return refuse(q->text, q->bytes,
                      "the condition \"%s\" has other columns in the running menu's plugin than in "
                      "the one that was loaded last: reload first",
                      c->name);
    return 0;
}

/* Without changes the menu must have what it needs from the configuration's file. */
static int check_whole(const struct request *q)
{
    const struct menu *m = menu_of(q);

    for (uint32_t i = 0; q->order->is_whole && i < m->n_conditions; i++)
        if (q->order->what == CHANGE_CONDITION && !m->base[i] && !m->condition[i].is_optional)
            return refuse(q->text, q->bytes,
                          "the menu needs the condition \"%s\", which the configuration's file of "
                          "conditions does not give",
                          m->condition[i].name);
    return 0;
}

static uint64_t key_at(const struct request *q, struct lumi at)
{
    struct conditions conditions;
    struct prescales prescales;

    change_book_fill(q->run->book, at, menu_of(q), &prescales, &conditions);
    conditions_drop(&conditions);
    return q->order->what == CHANGE_PRESCALE ? prescales.key : conditions.key;
}

static int say_refusal(const struct request *q, int r)
{
    const char *what = kind_name[q->order->what];
    struct lumi newest, last;

    change_book_state(q->run->book, &newest, &last);
    if (r == -ESTALE)
        snprintf(q->text, q->bytes,
                 "RoIs of run %u, lumi block %u have come already; a later one is allowed, or now",
                 newest.run, newest.block);
    else if (r == -EEXIST)
        snprintf(
            q->text, q->bytes,
            "a change waits for run %u, lumi block %u; the same one or a later one is allowed, "
            "or now",
            last.run, last.block);
    else
        snprintf(q->text, q->bytes, "the %s cannot be changed: %s", what, strerror(-r));
    return r;
}

static int on_change(void *arg)
{
    struct request *q = arg;
    const struct change_order *o = q->order;
    int r = check_whole(q);

    for (uint32_t i = 0; r == 0 && i < o->n; i++)
        r = check_change(q, &o->change[i]);
    if (r < 0)
        return r;
    r = change_book_change(q->run->book, o, &q->from);
    if (r < 0)
        return say_refusal(q, r);
    q->key = key_at(q, q->from);
    return 0;
}

static int on_forget(void *arg)
{
    struct request *q = arg;
    struct dispatch *d = shard_dispatch(q->shard);

    accounts_forget_sets(dispatch_accounts(d), dispatch_engine(d));
    return 0;
}

int runmenu_change(void *runcontrol, const struct change_order *order, char *text, size_t bytes)
{
    const char *what = kind_name[order->what];
    const struct runcontrol *run = runcontrol;
    struct request q = {
        .run = run, .shard = run->shard[0], .order = order, .text = text, .bytes = bytes};
    bool is_at_once;
    int r = mailbox_call(shard_mailbox(run->shard[0]), on_change, &q, CALL_MS);

    if (r == -ETIMEDOUT)
        snprintf(text, bytes, "the daemon's loop did not answer");
    if (r < 0)
        return r;
    is_at_once = !q.from.run && !q.from.block;
    for (uint32_t i = 0; is_at_once && r == 0 && i < run->n_shards; i++) {
        struct request forget = {.shard = run->shard[i]};

        r = mailbox_call(shard_mailbox(run->shard[i]), on_forget, &forget, CALL_MS);
    }
    if (r < 0)
        snprintf(text, bytes,
                 "a shard did not answer: it goes on with the old %s until the next "
                 "lumi block",
                 what);
    else if (is_at_once)
        snprintf(text, bytes, "%s %016" PRIx64 " from now on", what, q.key);
    else
        snprintf(text, bytes, "%s %016" PRIx64 " from run %u, lumi block %u on", what, q.key,
                 q.from.run, q.from.block);
    log_info("daemon", order->what == CHANGE_PRESCALE ? "prescales changed" : "conditions changed",
             "key=%016" PRIx64 " run=%u lumi_block=%u now=%d", q.key, q.from.run, q.from.block,
             is_at_once);
    keeper_ask_run(run->keeper); /* which keeps the set */
    return r;
}

/* ---------------------------------------------------------------- conditions */

static int on_list(void *arg)
{
    struct request *q = arg;
    const struct menu *m = menu_of(q);
    struct conditions now, next;
    struct lumi newest, from;

    change_book_state(q->run->book, &newest, &from);
    change_book_fill(q->run->book, newest, m, NULL, &now);
    change_book_fill(q->run->book, from, m, NULL, &next);
    for (uint32_t i = 0; i < m->n_conditions; i++) {
        struct control_condition *c = &q->list[i];

        *c = (struct control_condition){.is_optional = m->condition[i].is_optional,
                                        .is_of_operator = now.of[i] != m->base[i],
                                        .key = now.of[i] ? now.of[i]->key : 0,
                                        .next_key = next.of[i] ? next.of[i]->key : 0,
                                        .rows = now.of[i] ? now.of[i]->n : 0,
                                        .next = from};
        c->is_waiting = lumi_is_before(newest, from) && c->key != c->next_key;
        snprintf(c->name, sizeof c->name, "%s", m->condition[i].name);
        snprintf(c->table, sizeof c->table, "%s", m->condition[i].table->name);
    }
    conditions_drop(&now);
    conditions_drop(&next);
    return (int)m->n_conditions;
}

int runmenu_conditions(void *runcontrol, struct control_condition *list)
{
    const struct runcontrol *run = runcontrol;
    struct request q = {.run = run, .shard = run->shard[0], .list = list};

    return mailbox_call(shard_mailbox(run->shard[0]), on_list, &q, CALL_MS);
}

/* ---------------------------------------------------------------- histograms */

static int on_copy(void *arg)
{
    struct request *q = arg;

    return histograms_copy(dispatch_histograms(shard_dispatch(q->shard)), q->is_taken,
                           &q->histograms);
}

/* Adds up those of all shards.  Returns how many answered. */
static uint32_t gather_histograms(const struct runcontrol *run, bool is_taken,
                                  struct histogram_list *ret_list)
{
    uint32_t n = 0;

    *ret_list = (struct histogram_list){.first = NULL};
    for (uint32_t i = 0; i < run->n_shards; i++) {
        struct request q = {.shard = run->shard[i], .is_taken = is_taken};

        if (mailbox_call(shard_mailbox(run->shard[i]), on_copy, &q, CALL_MS) < 0)
            continue;
        histograms_merge(ret_list, &q.histograms);
        n++;
    }
    return n;
}

int runmenu_histograms(void *runcontrol, struct histogram_list *ret_list)
{
    const struct runcontrol *run = runcontrol;

    if (gather_histograms(run, false, ret_list) == run->n_shards)
        return 0;
    histograms_drop(ret_list);
    return -ETIMEDOUT;
}

/* ---------------------------------------------------------------- accounts and files */

static int on_take(void *arg)
{
    struct request *q = arg;

    q->taken = accounts_take(dispatch_accounts(shard_dispatch(q->shard)));
    return 0;
}

struct output { /* a file of what was counted */
    const char *what, *folder;
    void (*print)(const void *counted, FILE *out);
    const void *counted;
};

/* A file appears whole, under a name of its own. */
static void write_file(const struct output *o)
{
    char name[128];
    struct timespec now;
    int r;

    clock_gettime(CLOCK_REALTIME, &now);
    snprintf(name, sizeof name, "%s-%lld.%03ld-%ld.json", o->what, (long long)now.tv_sec,
             now.tv_nsec / 1000000, (long)getpid());
    r = wholefile_write(o->folder, name, o->print, o->counted);
    if (r < 0)
        log_error("daemon", "a file of counts cannot be written: they are lost",
                  "file=\"%s/%s\" error=\"%s\"", o->folder, name, strerror(-r));
    else
        log_info("daemon", "counts written", "file=\"%s/%s\"", o->folder, name);
}

static void print_accounts(const void *list, FILE *out)
{
    account_print(list, out);
}

static void print_histograms(const void *list, FILE *out)
{
    histograms_print(list, out);
}

static void write_all(const struct runcontrol *run, const struct account *list)
{
    if (list && run->config->accounts_dir[0])
        write_file(&(struct output){"accounts", run->config->accounts_dir, print_accounts, list});
}

static void write_histograms(const struct runcontrol *run, struct histogram_list *list)
{
    if (list->has_runs && list->first && run->config->histograms_dir[0])
        write_file(
            &(struct output){"histograms", run->config->histograms_dir, print_histograms, list});
    histograms_drop(list);
}

struct account *runmenu_take_accounts(const struct runcontrol *run, bool is_over,
                                      uint32_t *ret_missing)
{
    struct histogram_list histograms;
    struct account *all = NULL;

    for (uint32_t i = 0; i < run->n_shards; i++) {
        struct request q = {.shard = run->shard[i]};

        if (mailbox_call(shard_mailbox(run->shard[i]), on_take, &q, CALL_MS) == 0)
            all = account_merge(all, q.taken);
        else
            ++*ret_missing;
    }
    if (is_over) {
        gather_histograms(run, true, &histograms);
        write_histograms(run, &histograms);
    }
    return all;
}

void runmenu_write_accounts(void *runcontrol)
{
    const struct runcontrol *run = runcontrol;
    uint32_t missing = 0;
    struct account *all = runmenu_take_accounts(run, true, &missing);

    write_all(run, all);
    runs_keep(run->runs, all);
}

void runmenu_end_accounts(const struct runcontrol *run)
{
    struct histogram_list histograms = {.first = NULL}, one;
    struct account *all = NULL;

    for (uint32_t i = 0; i < run->n_shards; i++)
        all = account_merge(all, accounts_take(dispatch_accounts(shard_dispatch(run->shard[i]))));
    if (!runs_end(run->runs, all)) {
        write_all(run, all);
        account_free(all);
    }
    for (uint32_t i = 0; i < run->n_shards; i++)
        if (histograms_copy(dispatch_histograms(shard_dispatch(run->shard[i])), true, &one) == 0)
            histograms_merge(&histograms, &one);
    write_histograms(run, &histograms);
}
