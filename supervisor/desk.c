/* SPDX-License-Identifier: Apache-2.0 */
#include "desk.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/notify.h"
#include "clock.h"
#include "log.h"
#include "monitor/commands.h"
#include "monitor/table.h"

#define CALL_MS 3000u
#define LIVE_NS NS_PER_S

static const char *const state_name[] = {"waiting", "ready", "draining", "stopping"};

struct request { /* to the I/O thread */
    struct desk *desk;
    const char *word;
    enum roll_kind kind;
    char *text;
    size_t bytes;
    struct table *table;
    const struct run_order *order;
    uint64_t ticket;
    struct run_view run;
    struct metrics *metrics;
};

static int call(struct desk *d, int (*fn)(void *arg), struct request *q)
{
    const int r = mailbox_call(d->mailbox, fn, q, CALL_MS);

    if (r == -ETIMEDOUT && q->text)
        snprintf(q->text, q->bytes, "the supervisor's loop did not answer");
    return r;
}

/* ---------------------------------------------------------------- the supervisor itself */

void desk_stop(struct desk *d, const char *why)
{
    const uint64_t now = clock_ns();

    if (atomic_load(&d->state) == STATE_STOPPING) {
        log_warn("farm", "asked to stop again: what is in flight is forced now", "by=%s", why);
        atomic_store(&d->stop_by_ns, now);
        return;
    }
    log_info("farm", "stopping: what is in flight is finished first", "by=%s drain_ms=%u", why,
             d->farm->config->limits.drain_ms);
    atomic_store(&d->stop_by_ns, now + NS_PER_MS * d->farm->config->limits.drain_ms);
    notify_stopping();
    d->farm->is_draining = true;
    atomic_store(&d->state, STATE_STOPPING);
}

static int on_state(void *arg)
{
    struct request *q = arg;
    struct desk *d = q->desk;
    const bool drains = !strcmp(q->word, "drain");

    if (!strcmp(q->word, "quit")) {
        desk_stop(d, "quit");
    } else if (atomic_load(&d->state) == STATE_STOPPING) {
        snprintf(q->text, q->bytes, "the supervisor is stopping");
        return -EBUSY;
    } else {
        d->farm->is_draining = drains;
        atomic_store(&d->state, drains             ? STATE_DRAINING
                                : d->farm->clients ? STATE_READY
                                                   : STATE_WAITING);
    }
    snprintf(q->text, q->bytes, "%s", state_name[atomic_load(&d->state)]);
    return 0;
}

static int go_to(struct desk *d, const char *word, char *text, size_t bytes)
{
    struct request q = {.desk = d, .word = word, .text = text, .bytes = bytes};

    return call(d, on_state, &q);
}

static int hook_drain(void *ctx, char *text, size_t bytes)
{
    return go_to(ctx, "drain", text, bytes);
}

static int hook_resume(void *ctx, char *text, size_t bytes)
{
    return go_to(ctx, "resume", text, bytes);
}

static int hook_quit(void *ctx, char *text, size_t bytes)
{
    return go_to(ctx, "quit", text, bytes);
}

/* ---------------------------------------------------------------- run control */

static int on_ask_run(void *arg)
{
    struct request *q = arg;

    return farmrun_ask(q->desk->farm, q->order, &q->ticket, q->text, q->bytes);
}

static int hook_ask_run(void *ctx, const struct run_order *order, uint64_t *ret_ticket, char *text,
                        size_t bytes)
{
    struct request q = {.desk = ctx, .order = order, .text = text, .bytes = bytes};
    const int r = call(ctx, on_ask_run, &q);

    *ret_ticket = q.ticket;
    return r;
}

static int on_look_run(void *arg)
{
    struct request *q = arg;

    return farmrun_look(q->desk->farm, q->ticket, q->text, q->bytes);
}

static int hook_look_run(void *ctx, uint64_t ticket, char *text, size_t bytes)
{
    struct request q = {.desk = ctx, .ticket = ticket, .text = text, .bytes = bytes};

    return call(ctx, on_look_run, &q);
}

static int on_run(void *arg)
{
    struct request *q = arg;

    farmrun_view(q->desk->farm, &q->run);
    return 0;
}

static void hook_run(void *ctx, struct run_view *ret_view)
{
    struct request q = {.desk = ctx};

    if (call(ctx, on_run, &q) < 0)
        snprintf(q.run.why, sizeof q.run.why, "the supervisor's loop did not answer");
    *ret_view = q.run;
}

/* ---------------------------------------------------------------- how it is */

static const char *hook_state(void *ctx)
{
    const struct desk *d = ctx;

    return state_name[atomic_load(&d->state)];
}

static bool hook_is_live(void *ctx)
{
    const struct desk *d = ctx;

    return clock_ns() - atomic_load(&d->turned_ns) < LIVE_NS;
}

/* ---------------------------------------------------------------- rolls */

static int on_roll(void *arg)
{
    struct request *q = arg;
    const int r = roll_begin(q->desk->farm, q->kind, q->text, q->bytes);

    desk_tick(q->desk);
    return r;
}

void desk_tick(struct desk *d)
{
    const struct roll *r = &d->farm->roll;

    atomic_store(&d->is_rolling, r->kind != ROLL_NONE);
    if (r->kind == ROLL_NONE)
        atomic_store(&d->rolled, r->number);
}

/* One that cannot begin is over at once: how, its number's end tells. */
static uint64_t hook_ask_reload(void *ctx)
{
    struct desk *d = ctx;
    char text[FARM_SENTENCE] = "";
    struct request q = {.desk = d, .kind = ROLL_RELOAD, .text = text, .bytes = sizeof text};
    const int r = call(d, on_roll, &q);

    return r == 0 || r == -EBUSY ? atomic_load(&d->rolled) + 1 : UINT64_MAX;
}

static int on_look(void *arg)
{
    struct request *q = arg;
    const struct farm *f = q->desk->farm;
    const struct roll *r = &f->roll;

    if (r->kind == ROLL_NONE) {
        snprintf(q->text, q->bytes, "%s", r->text);
        return r->is_good ? 0 : -EIO;
    }
    snprintf(q->text, q->bytes, "node %s is renewed, %u of %llu are", f->node[r->node].name,
             r->n_done, (unsigned long long)f->c.nodes);
    return -EINPROGRESS;
}

static int hook_look_reload(void *ctx, uint64_t number, char *text, size_t bytes)
{
    struct request q = {.desk = ctx, .text = text, .bytes = bytes};

    if (number == UINT64_MAX) {
        snprintf(text, bytes, "the menu of the farm cannot be read; the log says why");
        return -EIO;
    }
    return call(ctx, on_look, &q);
}

static bool hook_is_reloading(void *ctx)
{
    const struct desk *d = ctx;

    return atomic_load(&d->is_rolling);
}

static int act_upgrade(void *ctx, const char *word, char *text, size_t bytes)
{
    struct request q = {.desk = ctx, .kind = ROLL_UPGRADE, .text = text, .bytes = bytes};

    (void)word;
    return call(ctx, on_roll, &q);
}

/* ---------------------------------------------------------------- nodes */

static int set_drained(struct request *q, bool is_drained)
{
    struct farm *f = q->desk->farm;
    const uint32_t node = node_find(f, q->word);

    if (node == FARM_NODES_NONE) {
        snprintf(q->text, q->bytes, "no node is called \"%.60s\"; `show nodes` lists them",
                 q->word);
        return -ENOENT;
    }
    f->node[node].is_drained = is_drained;
    snprintf(q->text, q->bytes, "%s", node_state(&f->node[node]));
    return 0;
}

static int on_drain_node(void *arg)
{
    return set_drained(arg, true);
}

static int on_resume_node(void *arg)
{
    return set_drained(arg, false);
}

static int act_drain_node(void *ctx, const char *word, char *text, size_t bytes)
{
    struct request q = {.desk = ctx, .word = word, .text = text, .bytes = bytes};

    return call(ctx, on_drain_node, &q);
}

static int act_resume_node(void *ctx, const char *word, char *text, size_t bytes)
{
    struct request q = {.desk = ctx, .word = word, .text = text, .bytes = bytes};

    return call(ctx, on_resume_node, &q);
}

/* ---------------------------------------------------------------- tables */

#define COLUMN(name, kind, help) table_column(t, #name, true);
#define CELL(name, kind, help)   table_cell(t, "%llu", (unsigned long long)c->name);

static int on_show_farm(void *arg)
{
    const struct request *q = arg;
    const struct farm_counters *c = &q->desk->farm->c;
    struct table *t = q->table;

    table_column(t, "supervisor", false);
    table_column(t, "menu_key", false);
    FARM_COUNTERS(COLUMN)
    table_cell(t, "%s", q->desk->farm->name);
    table_cell(t, "%016llx", (unsigned long long)q->desk->farm->menu_key);
    FARM_COUNTERS(CELL)
    return 0;
}

static void node_row(const struct farm *f, uint32_t i, struct table *t)
{
    const struct node *n = &f->node[i];
    const struct farm_node_counters *c = &n->c;

    table_cell(t, "%s", n->name);
    table_cell(t, "%s", node_state(n));
    table_cell(t, "%s", n->endpoint);
    table_cell(t, "%s", n->version);
    table_cell(t, "%u", n->n_links);
    table_cell(t, "%u", n->credits);
    table_cell(t, "%.1f", links_rate(f, n));
    table_cell(t, "%lld", (long long)(n->clock_ns / (int64_t)NS_PER_MS));
    FARM_NODE_COUNTERS(CELL)
    table_cell(t, "%llu", (unsigned long long)n->received);
    table_cell(t, "%s", n->refusal);
}

static void refusal_row(const struct farm *f, uint32_t i, struct table *t)
{
    const struct farm_node_counters nothing = {.given = 0}, *c = &nothing;

    table_cell(t, "%s", f->refusal[i].name);
    table_cell(t, "refused");
    table_cell(t, "%s", "");
    table_cell(t, "%s", "");
    for (uint32_t k = 0; k < 4; k++)
        table_cell(t, "0");
    FARM_NODE_COUNTERS(CELL)
    table_cell(t, "0");
    table_cell(t, "%s", f->refusal[i].why);
}

static int on_show_nodes(void *arg)
{
    const struct request *q = arg;
    const struct farm *f = q->desk->farm;
    struct table *t = q->table;

    table_column(t, "node", false);
    table_column(t, "state", false);
    table_column(t, "endpoint", false);
    table_column(t, "version", false);
    table_column(t, "shards", true);
    table_column(t, "credits", true);
    table_column(t, "rate_per_s", true);
    table_column(t, "clock_ms", true);
    FARM_NODE_COUNTERS(COLUMN)
    table_column(t, "received", true);
    table_column(t, "why", false);
    for (uint32_t i = 0; i < f->n_nodes; i++)
        if (f->node[i].is_used)
            node_row(f, i, t);
    for (uint32_t i = 0; i < f->n_refusals; i++)
        if (node_find(f, f->refusal[i].name) == FARM_NODES_NONE)
            refusal_row(f, i, t);
    return 0;
}

static int show_farm(void *ctx, struct table *t)
{
    struct request q = {.desk = ctx, .table = t};

    return call(ctx, on_show_farm, &q);
}

static int show_nodes(void *ctx, struct table *t)
{
    struct request q = {.desk = ctx, .table = t};

    return call(ctx, on_show_nodes, &q);
}

/* ---------------------------------------------------------------- metrics */

struct metrics { /* copies for the HTTP thread */
    struct farm_counters farm;
    struct node_metrics {
        char name[FARM_NAME];
        bool is_serving;
        double rate_per_s;
        struct farm_node_counters c;
    } node[FARM_NODES];
    uint32_t n;
};

static int on_metrics(void *arg)
{
    const struct request *q = arg;
    const struct farm *f = q->desk->farm;
    struct metrics *m = q->metrics;

    m->farm = f->c;
    for (uint32_t i = 0; i < f->n_nodes; i++) {
        struct node_metrics *to = &m->node[m->n];

        if (!f->node[i].is_used)
            continue;
        m->n++;
        snprintf(to->name, sizeof to->name, "%s", f->node[i].name);
        to->is_serving = node_serves(&f->node[i]);
        to->rate_per_s = links_rate(f, &f->node[i]);
        to->c = f->node[i].c;
    }
    return 0;
}

static void head(const char *name, const char *kind, const char *help, FILE *out)
{
    const char *end = !strcmp(kind, "counter") ? "_total" : "";

    fprintf(out, "# HELP trigd_%s%s %s\n# TYPE trigd_%s%s %s\n", name, end, help, name, end, kind);
}

static void print_farm(const struct metrics *m, FILE *out)
{
#define PRINT(name, kind, help)                                                    \
    head("farm_" #name, #kind, help, out);                                         \
    fprintf(out, "trigd_farm_" #name "%s %llu\n", #kind[0] == 'c' ? "_total" : "", \
            (unsigned long long)m->farm.name);
    FARM_COUNTERS(PRINT)
#undef PRINT
}

/* Names of nodes hold neither quotes nor backslashes. */
static void print_nodes(const struct metrics *m, FILE *out)
{
#define PRINT(member, kind, help)                                    \
    head("node_" #member, #kind, help, out);                         \
    for (uint32_t i = 0; i < m->n; i++)                              \
        fprintf(out, "trigd_node_" #member "%s{node=\"%s\"} %llu\n", \
                #kind[0] == 'c' ? "_total" : "", m->node[i].name,    \
                (unsigned long long)m->node[i].c.member);
    FARM_NODE_COUNTERS(PRINT)
#undef PRINT
    head("node_serving", "gauge", "1: the node gets RoIs", out);
    for (uint32_t i = 0; i < m->n; i++)
        fprintf(out, "trigd_node_serving{node=\"%s\"} %d\n", m->node[i].name,
                m->node[i].is_serving);
    head("node_rate", "gauge", "measured rate, RoIs a second", out);
    for (uint32_t i = 0; i < m->n; i++)
        fprintf(out, "trigd_node_rate{node=\"%s\"} %.1f\n", m->node[i].name, m->node[i].rate_per_s);
}

static void print_metrics(void *ctx, FILE *out)
{
    struct metrics *m = calloc(1, sizeof *m);
    struct request q = {.desk = ctx, .metrics = m};

    if (m && call(ctx, on_metrics, &q) == 0) {
        print_farm(m, out);
        print_nodes(m, out);
    }
    free(m);
}

static const struct control_extra extra[] = {
    {.words = "show farm",
     .args = "",
     .help = "the farm's account beside its ledger",
     .show = show_farm},
    {.words = "show nodes",
     .args = "",
     .help = "nodes with their states and accounts",
     .show = show_nodes},
    {.words = "drain node",
     .args = "NAME",
     .help = "send a node no more RoIs",
     .act = act_drain_node},
    {.words = "resume node", .args = "NAME", .help = "send it RoIs again", .act = act_resume_node},
    {.words = "upgrade",
     .args = "",
     .help = "end the nodes one after the other, each after the return of the one before",
     .act = act_upgrade},
};

void desk_describe(FILE *out)
{
    control_describe(extra, sizeof extra / sizeof *extra, out);
}

void desk_view(struct desk *d, struct control_view *ret_view)
{
    const struct farm *f = d->farm;

    *ret_view = (struct control_view){.shards = &f->set,
                                      .config = f->config,
                                      .config_path = f->config_path,
                                      .hooks = {.ctx = d,
                                                .drain = hook_drain,
                                                .resume = hook_resume,
                                                .ask_reload = hook_ask_reload,
                                                .look_reload = hook_look_reload,
                                                .is_reloading = hook_is_reloading,
                                                .quit = hook_quit,
                                                .ask_run = hook_ask_run,
                                                .look_run = hook_look_run,
                                                .run = hook_run,
                                                .state = hook_state,
                                                .is_live = hook_is_live},
                                      .extra = extra,
                                      .n_extra = sizeof extra / sizeof *extra,
                                      .metrics = print_metrics};
}
