/* SPDX-License-Identifier: Apache-2.0 */
#include "runmenu.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/folder.h"
#include "log.h"

#define CALL_MS 3000u /* longest wait of an operator's command for a shard */

struct request {
    const struct runcontrol *run;
    struct shard *shard;
    const struct prescale_order *order;
    enum control_dump what;
    struct lumi from;
    uint64_t key;
    char *text; /* of a dump; or where a sentence goes */
    size_t bytes;
    struct account *taken;
};

static const struct menu *menu_of(const struct request *q)
{
    return dispatch_engine(shard_dispatch(q->shard))->menu;
}

/* ---------------------------------------------------------------- prescales */

static bool has_chain(const struct menu *m, const char *name)
{
    for (uint32_t i = 0; i < m->n_chains; i++)
        if (!strcmp(m->chains[i].name, name))
            return true;
    return false;
}

static uint64_t key_at(const struct request *q, struct lumi at)
{
    struct prescales set;

    prescale_book_fill(q->run->book, at, menu_of(q), &set);
    return set.key;
}

static int on_change(void *arg)
{
    struct request *q = arg;
    const struct prescale_order *o = q->order;
    int r;

    for (uint32_t i = 0; i < o->n; i++)
        if (!has_chain(menu_of(q), o->change[i].chain)) {
            snprintf(q->text, q->bytes, "there is no chain \"%s\" in the running menu",
                     o->change[i].chain);
            return -ENOENT;
        }
    r = prescale_book_change(q->run->book, o->change, o->n, o->is_whole, o->is_now, &q->from);
    if (r < 0)
        snprintf(q->text, q->bytes, "the prescales cannot be changed: %s", strerror(-r));
    else
        q->key = key_at(q, q->from);
    return r;
}

static int on_forget(void *arg)
{
    struct request *q = arg;
    struct dispatch *d = shard_dispatch(q->shard);

    accounts_forget_prescales(dispatch_accounts(d), dispatch_engine(d));
    return 0;
}

int runmenu_prescale(void *runcontrol, const struct prescale_order *order, char *text, size_t bytes)
{
    const struct runcontrol *run = runcontrol;
    struct request q = {
        .run = run, .shard = run->shard[0], .order = order, .text = text, .bytes = bytes};
    bool is_at_once;
    int r = mailbox_call(shard_mailbox(run->shard[0]), on_change, &q, CALL_MS);

    if (r == -ETIMEDOUT)
        snprintf(text, bytes, "the daemon's loop did not answer");
    if (r < 0)
        return r;
    is_at_once = order->is_now || (!q.from.run && !q.from.block);
    for (uint32_t i = 0; is_at_once && r == 0 && i < run->n_shards; i++) {
        struct request forget = {.shard = run->shard[i]};

        r = mailbox_call(shard_mailbox(run->shard[i]), on_forget, &forget, CALL_MS);
    }
    if (r < 0)
        snprintf(text, bytes,
                 "a shard did not answer: it goes on with the old prescales until the "
                 "next lumi block");
    else if (is_at_once)
        snprintf(text, bytes, "prescale set %016" PRIx64 " from now on", q.key);
    else
        snprintf(text, bytes, "prescale set %016" PRIx64 " from run %u, lumi block %u on", q.key,
                 q.from.run, q.from.block);
    log_info("daemon", "prescales changed", "key=%016" PRIx64 " run=%u lumi_block=%u now=%d", q.key,
             q.from.run, q.from.block, is_at_once);
    return r;
}

/* ---------------------------------------------------------------- dumps */

static void print_prescales(const struct request *q, FILE *out)
{
    const struct menu *m = menu_of(q);
    struct lumi newest, from;
    struct prescales set;

    prescale_book_state(q->run->book, &newest, &from);
    prescale_book_fill(q->run->book, newest, m, &set);
    fprintf(out, "# prescale set %016" PRIx64 " of menu %016" PRIx64 "\n", set.key, m->hash);
    if (lumi_is_before(newest, from))
        fprintf(out, "# from run %u, lumi block %u on: %016" PRIx64 "\n", from.run, from.block,
                key_at(q, from));
    fputs("prescales:\n", out);
    for (uint32_t i = 0; i < m->n_chains; i++)
        fprintf(out, "  %s: %.17g\n", m->chains[i].name, set.value[i]);
}

static int on_dump(void *arg)
{
    struct request *q = arg;
    FILE *out;

    if (q->what == CONTROL_DUMP_MENU) {
        q->text = strdup(menu_of(q)->text);
        return q->text ? 0 : -ENOMEM;
    }
    out = open_memstream(&q->text, &q->bytes);
    if (!out)
        return -ENOMEM;
    print_prescales(q, out);
    if (fclose(out) == 0)
        return 0;
    free(q->text);
    return -ENOMEM;
}

char *runmenu_dump(void *runcontrol, enum control_dump what)
{
    const struct runcontrol *run = runcontrol;
    struct request q = {.run = run, .shard = run->shard[0], .what = what};

    return mailbox_call(shard_mailbox(run->shard[0]), on_dump, &q, CALL_MS) < 0 ? NULL : q.text;
}

/* ---------------------------------------------------------------- accounts */

static int on_take(void *arg)
{
    struct request *q = arg;

    q->taken = accounts_take(dispatch_accounts(shard_dispatch(q->shard)));
    return 0;
}

static int print_into(const char *path, const struct account *list)
{
    FILE *out = fopen(path, "wxe");
    int r = 0;

    if (!out)
        return -errno;
    account_print(list, out);
    if (fflush(out) != 0 || fsync(fileno(out)) < 0)
        r = -errno;
    if (fclose(out) != 0 && r == 0)
        r = -errno;
    return r;
}

/* A file appears whole, under a name of its own. */
static int write_file(const char *folder, const struct account *list)
{
    char partial[4096], path[4096];
    struct timespec now;
    int r = folder_make(folder);

    clock_gettime(CLOCK_REALTIME, &now);
    snprintf(path, sizeof path, "%.3900s/accounts-%lld.%03ld-%ld.json", folder,
             (long long)now.tv_sec, now.tv_nsec / 1000000, (long)getpid());
    snprintf(partial, sizeof partial, "%.4000s.partial", path);
    if (r == 0)
        r = print_into(partial, list);
    if (r == 0 && rename(partial, path) < 0)
        r = -errno;
    if (r < 0)
        log_error("daemon", "accounts cannot be written: they are lost", "file=\"%s\" error=\"%s\"",
                  path, strerror(-r));
    else
        log_info("daemon", "accounts written", "file=\"%s\"", path);
    return r;
}

static void write_all(const struct runcontrol *run, struct account *list)
{
    if (list && run->config->accounts_dir[0])
        write_file(run->config->accounts_dir, list);
    account_free(list);
}

void runmenu_write_accounts(void *runcontrol)
{
    const struct runcontrol *run = runcontrol;
    struct account *all = NULL;

    for (uint32_t i = 0; i < run->n_shards; i++) {
        struct request q = {.shard = run->shard[i]};

        if (mailbox_call(shard_mailbox(run->shard[i]), on_take, &q, CALL_MS) == 0)
            all = account_merge(all, q.taken);
    }
    write_all(run, all);
}

void runmenu_end_accounts(const struct runcontrol *run)
{
    struct account *all = NULL;

    for (uint32_t i = 0; i < run->n_shards; i++)
        all = account_merge(all, accounts_take(dispatch_accounts(shard_dispatch(run->shard[i]))));
    write_all(run, all);
}
