/* SPDX-License-Identifier: Apache-2.0 */
/* runbook.c - the documents of a farm's run, written on a thread of their own: the I/O thread waits
 * for no disk. */
#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "clock.h"
#include "farm.h"
#include "json.h"
#include "log.h"
#include "memstream.h"

struct runbook { /* copies of all that the document holds */
    struct rundoc doc;
    char folder[4096], by[FARM_NAME], why[FARM_SENTENCE];
    struct rundoc_plugin plugin[RUNDOC_PLUGINS];
    struct stats_global before, after;
    struct account *accounts;
    char *more;
    pthread_t thread;
    bool has_thread, is_anew;
    int result;
    _Atomic bool is_done;
};

/* ---------------------------------------------------------------- what a farm adds */

static void print_nodes(const struct farm *f, FILE *out)
{
    bool is_first = true;

    fputs(",\n \"nodes\": [", out);
    for (uint32_t i = 0; i < f->n_nodes; i++) {
        const struct node *n = &f->node[i];

        if (!n->is_used)
            continue;
        fputs(is_first ? "\n  {\"node\": " : ",\n  {\"node\": ", out);
        json_string(n->name, out);
        fputs(", \"endpoint\": ", out);
        json_string(n->endpoint, out);
        fputs(", \"trigd\": ", out);
        json_string(n->version, out);
        fprintf(out, ", \"credits\": %u", n->credits);
#define PRINT(name, kind, help) fprintf(out, ", \"" #name "\": %" PRIu64, n->c.name);
        FARM_NODE_COUNTERS(PRINT)
#undef PRINT
        fputc('}', out);
        is_first = false;
    }
    fputs("]", out);
}

static void print_losses(const struct farm *f, FILE *out)
{
    const struct farmrun *r = &f->run;
    char when[JSON_TIME];

    fputs(",\n \"nodes_lost\": [", out);
    for (uint32_t i = 0; i < r->n_losses && i < FARM_LOSSES; i++) {
        fputs(i ? ",\n  {\"node\": " : "\n  {\"node\": ", out);
        json_string(r->loss[i].name, out);
        fprintf(out, ", \"time\": \"%s\", \"rois\": %" PRIu64 ", \"why\": ",
                json_time(r->loss[i].unix_ns, when), r->loss[i].rois);
        json_string(r->loss[i].why, out);
        fputc('}', out);
    }
    fprintf(out, "], \"n_nodes_lost\": %u", r->n_losses);
}

static void print_farm(const struct farm *f, bool is_end, FILE *out)
{
    bool is_first = true;

    print_nodes(f, out);
    if (!is_end)
        return;
    print_losses(f, out);
    fputs(",\n \"farm\": {", out);
#define IS_counter 1
#define IS_gauge   0
#define PRINT(name, kind, help)                                     \
    fprintf(out, "%s\"" #name "\": %" PRIu64, is_first ? "" : ", ", \
            f->c.name - (IS_##kind ? f->run.farm_before.name : 0)); \
    is_first = false;
    FARM_COUNTERS(PRINT)
#undef PRINT
#undef IS_counter
#undef IS_gauge
    fputc('}', out);
}

static void print_more(const void *text, FILE *out)
{
    fputs(text, out);
}

/* ---------------------------------------------------------------- one document */

static void *write_it(void *arg)
{
    struct runbook *b = arg;

    b->result = rundoc_write(b->folder, &b->doc, b->is_anew);
    atomic_store(&b->is_done, true);
    return NULL;
}

static void fill(const struct farm *f, struct runbook *b)
{
    const struct farmrun *r = &f->run;

    snprintf(b->folder, sizeof b->folder, "%s", f->config->runs.dir);
    snprintf(b->by, sizeof b->by, "%s", r->by);
    memcpy(b->plugin, f->plugin, sizeof b->plugin);
    b->before = r->before;
    b->is_anew = r->is_adopted;
    stats_snapshot(&f->stats->g, &b->after);
    b->doc = (struct rundoc){.program = "trigsup",
                             .name = f->name,
                             .config_path = f->config_path,
                             .menu_file = f->config->menu,
                             .menu_key = f->menu_key,
                             .plugin = b->plugin,
                             .n_plugins = f->n_plugins,
                             .run = r->number,
                             .last_block = r->block,
                             .numbers = f->config->runs.numbers,
                             .by = b->by,
                             .why = b->why,
                             .began_unix_ns = r->began_unix_ns,
                             .paused_ns = r->paused_ns,
                             .before = &b->before,
                             .after = &b->after,
                             .n_errors = r->n_missing,
                             .more = print_more};
}

static int make_more(const struct farm *f, bool is_end, char **ret_text)
{
    size_t n;
    FILE *out = open_memstream(ret_text, &n);

    if (!out)
        return -ENOMEM;
    print_farm(f, is_end, out);
    return memstream_close(out, ret_text);
}

static void put_away(struct farm *f)
{
    struct runbook *b = f->run.book;

    f->run.book = NULL;
    account_free(b->accounts);
    free(b->more);
    free(b);
}

int runbook_begin(struct farm *f, const char *why)
{
    struct runbook *b = calloc(1, sizeof *b);
    struct timespec now;
    int r;

    if (!b)
        return -ENOMEM;
    f->run.book = b;
    fill(f, b);
    r = make_more(f, why != NULL, &b->more);
    b->doc.ctx = b->more;
    if (why) {
        clock_gettime(CLOCK_REALTIME, &now);
        b->doc.ended_unix_ns = (uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec;
        snprintf(b->why, sizeof b->why, "%s", why);
        b->doc.accounts = b->accounts = f->run.accounts;
        f->run.accounts = NULL;
    }
    if (!b->folder[0])
        atomic_store(&b->is_done, true);
    else if (r == 0)
        r = -pthread_create(&b->thread, NULL, write_it, b);
    b->has_thread = r == 0 && b->folder[0];
    if (r < 0)
        put_away(f);
    return r;
}

bool runbook_is_done(struct farm *f, bool is_to_wait, int *ret_result)
{
    struct runbook *b = f->run.book;

    if (!is_to_wait && !atomic_load(&b->is_done))
        return false;
    if (b->has_thread)
        pthread_join(b->thread, NULL);
    *ret_result = b->result;
    put_away(f);
    return true;
}
