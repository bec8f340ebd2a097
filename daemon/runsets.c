/* SPDX-License-Identifier: Apache-2.0 */
#include "runsets.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/wholefile.h"
#include "log.h"
#include "memstream.h"

#define CALL_MS 3000u /* longest wait for a shard */

struct request {
    const struct runcontrol *run;
    enum control_dump what;
    struct lumi at; /* of runsets_keep */
    struct kept *kept;
    uint32_t n_kept;
    char *text;
    size_t bytes;
};

struct kept { /* what holds from a lumi block on */
    struct lumi at;
    uint64_t key[CONTROL_DUMPS];
};

static const struct menu *menu_of(const struct request *q)
{
    return dispatch_engine(shard_dispatch(q->run->shard[0]))->menu;
}

/* ---------------------------------------------------------------- dumps */

static void print_prescales(const struct menu *m, const struct prescales *set, FILE *out)
{
    fputs("prescales:\n", out);
    for (uint32_t i = 0; i < m->n_chains; i++)
        fprintf(out, "  %s: %.17g\n", m->chains[i].name, set->value[i]);
}

static void print_conditions(const struct conditions *set, FILE *out)
{
    fputs(set->key ? "conditions:\n" : "conditions: {}\n", out);
    for (uint32_t i = 0; i < set->n; i++)
        if (set->of[i])
            condition_print(set->of[i], out);
}

/* Prescales or conditions in force in a lumi block, or where `out` is NULL their key. */
static uint64_t print_set(const struct request *q, struct lumi at, FILE *out)
{
    const bool is_prescales = q->what == CONTROL_DUMP_PRESCALES;
    const struct menu *m = menu_of(q);
    struct conditions conditions;
    struct prescales prescales;
    uint64_t key;

    change_book_fill(q->run->book, at, m, &prescales, &conditions);
    key = is_prescales ? prescales.key : conditions.key;
    if (out && is_prescales)
        print_prescales(m, &prescales, out);
    else if (out)
        print_conditions(&conditions, out);
    conditions_drop(&conditions);
    return key;
}

static void print_in_force(const struct request *q, FILE *out)
{
    const char *what = q->what == CONTROL_DUMP_PRESCALES ? "prescale set" : "conditions";
    struct lumi newest, from;

    change_book_state(q->run->book, &newest, &from);
    fprintf(out, "# %s %016" PRIx64 " of menu %016" PRIx64 "\n", what, print_set(q, newest, NULL),
            menu_of(q)->hash);
    if (lumi_is_before(newest, from))
        fprintf(out, "# from run %u, lumi block %u on: %016" PRIx64 "\n", from.run, from.block,
                print_set(q, from, NULL));
    print_set(q, newest, out);
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
    print_in_force(q, out);
    return memstream_close(out, &q->text);
}

char *runsets_dump(void *runcontrol, enum control_dump what)
{
    const struct runcontrol *run = runcontrol;
    struct request q = {.run = run, .what = what};

    return mailbox_call(shard_mailbox(run->shard[0]), on_dump, &q, CALL_MS) < 0 ? NULL : q.text;
}

/* ---------------------------------------------------------------- files */

static const char *const kind_name[CONTROL_DUMPS] = {[CONTROL_DUMP_MENU] = "menu",
                                                     [CONTROL_DUMP_PRESCALES] = "prescales",
                                                     [CONTROL_DUMP_CONDITIONS] = "conditions"};

/* The keys of all that is in force or waits. */
static int on_keys(void *arg)
{
    struct request *q = arg;
    struct lumi start[CHANGE_STARTS];
    const uint32_t n = change_book_starts(q->run->book, start);

    q->kept = calloc(n, sizeof *q->kept);
    if (!q->kept)
        return -ENOMEM;
    q->n_kept = n;
    for (uint32_t i = 0; i < q->n_kept; i++) {
        struct request one = *q;

        q->kept[i].at = start[i];
        q->kept[i].key[CONTROL_DUMP_MENU] = menu_of(q)->hash;
        for (one.what = CONTROL_DUMP_PRESCALES; one.what < CONTROL_DUMPS; one.what++)
            q->kept[i].key[one.what] = print_set(&one, start[i], NULL);
    }
    return 0;
}

/* One of them as text. */
static int on_text(void *arg)
{
    struct request *q = arg;
    FILE *out;

    if (q->what == CONTROL_DUMP_MENU)
        return on_dump(q);
    out = open_memstream(&q->text, &q->bytes);
    if (!out)
        return -ENOMEM;
    print_set(q, q->at, out);
    return memstream_close(out, &q->text);
}

static int call(struct request *q, bool is_shard, int (*work)(void *))
{
    return is_shard ? work(q) : mailbox_call(shard_mailbox(q->run->shard[0]), work, q, CALL_MS);
}

static void print_text(const void *text, FILE *out)
{
    fputs(text, out);
}

/* Writes one, unless it is there. */
static int keep_one(const struct runcontrol *run, const struct kept *k, enum control_dump what,
                    bool is_shard)
{
    struct request q = {.run = run, .what = what, .at = k->at};
    char folder[4096], name[64], path[4200];
    int r;

    snprintf(folder, sizeof folder, "%s/sets", run->config->state_dir);
    snprintf(name, sizeof name, "%s-%016" PRIx64 ".yaml", kind_name[what], k->key[what]);
    snprintf(path, sizeof path, "%s/%s", folder, name);
    if (access(path, F_OK) == 0)
        return 0;
    r = call(&q, is_shard, on_text);
    if (r == 0)
        r = wholefile_write(folder, name, print_text, q.text);
    free(q.text);
    return r == -EEXIST ? 0 : r;
}

static void keep(const struct runcontrol *run, bool is_shard)
{
    struct request q = {.run = run};
    int r;

    if (!run->config->state_dir[0])
        return;
    r = call(&q, is_shard, on_keys);
    for (uint32_t i = 0; i < q.n_kept; i++)
        for (enum control_dump what = CONTROL_DUMP_MENU; r == 0 && what < CONTROL_DUMPS; what++)
            r = keep_one(run, &q.kept[i], what, is_shard);
    free(q.kept);
    if (!is_shard && r == -ETIMEDOUT && atomic_load(&run->is_over))
        return; /* runsets_keep_last follows */
    if (r < 0)
        log_error("daemon", "menu, prescales and conditions cannot be kept",
                  "folder=\"%s/sets\" error=\"%s\"", run->config->state_dir, strerror(-r));
}

void runsets_keep(const struct runcontrol *r)
{
    keep(r, false);
}

void runsets_keep_last(const struct runcontrol *r)
{
    keep(r, true);
}
