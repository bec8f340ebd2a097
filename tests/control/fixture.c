/* SPDX-License-Identifier: Apache-2.0 */
#include "fixture.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---------------------------------------------------------------- hooks */

static int say(char *text, size_t bytes, const char *sentence)
{
    snprintf(text, bytes, "%s", sentence);
    return 0;
}

static int change(void *ctx, const struct change_order *order, char *text, size_t bytes)
{
    struct fixture *f = ctx;

    f->n_prescale++;
    f->n_changes = order->n;
    f->is_now = order->is_now;
    if (order->from)
        f->from = *order->from;
    if (order->n && strcmp(order->change[0].name, "HLT_a") != 0) {
        say(text, bytes, "there is no such chain");
        return -ENOENT;
    }
    if (order->n)
        f->prescale = order->change[0].prescale;
    return say(text, bytes, "prescale set");
}

static char *dump(void *ctx, enum control_dump what)
{
    (void)ctx;
    return strdup(what == CONTROL_DUMP_MENU ? "name: menu\n\nsteps:" : "prescales:\n  HLT_a: 2\n");
}

static int conditions(void *ctx, struct control_condition *list)
{
    (void)ctx;
    list[0] = (struct control_condition){.name = "beam_line",
                                         .table = "beam_lines",
                                         .key = 0xb3a,
                                         .rows = 1,
                                         .is_waiting = true,
                                         .next_key = 0xb3b,
                                         .next = {.run = 3, .block = 18}};
    list[1] = (struct control_condition){.name = "dead", .table = "dead", .is_optional = true};
    return 2;
}

static struct histogram *histogram(const char *name, uint32_t bins, uint32_t y_bins)
{
    struct histogram *h = calloc(1, sizeof *h);

    if (!h)
        return NULL;
    h->name = strdup(name);
    h->what = strdup("");
    h->x = (struct menu_axis){.bins = bins, .min = -1, .max = 3};
    h->y = (struct menu_axis){.bins = y_bins, .min = 0, .max = 1};
    h->count = calloc(histogram_cells(h), sizeof *h->count);
    return h;
}

/* Of two axes; of one whose binning a reload changed; with more bins than /metrics has buckets. */
static int histograms(void *ctx, struct histogram_list *ret_list)
{
    struct histogram *flat = histogram("flat", 2, 1), *before = histogram("z", 2, 0),
                     *now = histogram("z", 40, 0);

    (void)ctx;
    flat->next = before;
    before->next = now;
    for (uint32_t i = 0; i < 12; i++) /* rows of four: under, two bins, over */
        flat->count[i] = i;
    now->underflow = 3;
    now->count[0] = now->count[39] = 2;
    now->count[1] = 1;
    now->overflow = 5;
    now->nan = 7;
    *ret_list = (struct histogram_list){.first = flat};
    return 0;
}

static int drain(void *ctx, char *text, size_t bytes)
{
    ((struct fixture *)ctx)->n_drain++;
    return say(text, bytes, "draining");
}

static int resume(void *ctx, char *text, size_t bytes)
{
    ((struct fixture *)ctx)->n_resume++;
    return say(text, bytes, "ready");
}

static uint64_t ask_reload(void *ctx)
{
    return ++((struct fixture *)ctx)->n_reload;
}

/* Opens lanes as long as `is_reloading`, then fails. */
static int look_reload(void *ctx, uint64_t number, char *text, size_t bytes)
{
    (void)number;
    if (((struct fixture *)ctx)->is_reloading) {
        say(text, bytes, "opening lane a");
        return -EINPROGRESS;
    }
    say(text, bytes, "the menu is wrong; the old one stays");
    return -EINVAL;
}

static bool is_reloading(void *ctx)
{
    return ((struct fixture *)ctx)->is_reloading;
}

static int quit(void *ctx, char *text, size_t bytes)
{
    ((struct fixture *)ctx)->n_quit++;
    return say(text, bytes, "stopping");
}

/* Takes what the state of the fixture allows, at once. */
static int ask_run(void *ctx, const struct run_order *order, uint64_t *ret_ticket, char *text,
                   size_t bytes)
{
    struct fixture *f = ctx;
    const int r = run_allows(f->run.state, order->command, text, bytes);

    if (r < 0)
        return r;
    f->order = *order;
    *ret_ticket = ++f->n_orders;
    return 0;
}

static int look_run(void *ctx, uint64_t ticket, char *text, size_t bytes)
{
    (void)ctx;
    (void)ticket;
    return say(text, bytes, "done");
}

static void run(void *ctx, struct run_view *ret_view)
{
    *ret_view = ((struct fixture *)ctx)->run;
}

static const char *state(void *ctx)
{
    return ((struct fixture *)ctx)->state;
}

static bool is_live(void *ctx)
{
    return ((struct fixture *)ctx)->is_live;
}

/* ---------------------------------------------------------------- numbers */

#define SET(name, kind, help) stats_set(&e->name, n++);
static void count_daemon(struct stats_global *e, uint64_t n)
{
    STATS_GLOBAL(SET)
    stats_set(&e->received, 100);
    stats_set(&e->accepted, 30);
    stats_set(&e->rejected, 60);
    stats_set(&e->failed, 3);
    stats_set(&e->in_flight, 7);
    stats_set(&e->steps_down, 0);
}

#define COUNT(kind, KIND)                                        \
    static void count_##kind(struct stats_##kind *e, uint64_t n) \
    {                                                            \
        STATS_##KIND(SET)                                        \
    }
COUNT(chain, CHAIN)
COUNT(step, STEP)
COUNT(lane, LANE)
COUNT(worker, WORKER)
COUNT(client, CLIENT)
#undef COUNT
#undef SET

/* Each counter has a number of its own. */
static void count(struct stats *s)
{
    struct stats_chain *chain = stats_chain_get(s, "HLT_a");
    struct stats_lane *lane = stats_lane_get(s, "step_a@cpu:0/0", "a, \"device\"", 2);

    count_daemon(&s->g, 1000);
    count_chain(chain, 2000);
    atomic_store(&chain->prescale, 2.5);
    count_step(stats_step_get(s, "step_a", "plugin_a"), 3000);
    count_lane(lane, 4000);
    latency_add(&lane->latency, 150000);
    count_client(stats_client_get(s, "client-a"), 5000);
    count_worker(stats_worker_get(s, "cpu:0/1"), 6000);
    for (uint64_t i = 1; i <= 1000; i++) /* 1 us .. 1 ms */
        latency_add(&s->stage[STATS_STAGE_total], i * 1000);
}

int fixture_init(struct fixture *f)
{
    int r;

    memset(f, 0, sizeof *f);
    r = stats_new(&f->stats);
    if (r < 0)
        return r;
    count(f->stats);
    f->state = "ready";
    f->is_live = true;
    f->config.control.act_group = "";
    f->who = (struct control_who){.name = "tester (uid 1, pid 2)", .may_act = true};
    f->shards = (struct stats_set){.n = 1, .of = {f->stats}};
    f->view = (struct control_view){.shards = &f->shards,
                                    .stats = f->stats,
                                    .config = &f->config,
                                    .config_path = "test.yaml",
                                    .hooks = {.ctx = f,
                                              .change = change,
                                              .conditions = conditions,
                                              .histograms = histograms,
                                              .dump = dump,
                                              .drain = drain,
                                              .resume = resume,
                                              .ask_reload = ask_reload,
                                              .look_reload = look_reload,
                                              .is_reloading = is_reloading,
                                              .quit = quit,
                                              .ask_run = ask_run,
                                              .look_run = look_run,
                                              .run = run,
                                              .state = state,
                                              .is_live = is_live}};
    return 0;
}

void fixture_fini(struct fixture *f)
{
    stats_free(f->stats);
}

/* ---------------------------------------------------------------- a JSON checker */

static bool value(const char **p);

static void space(const char **p)
{
    *p += strspn(*p, " \t\r\n");
}

static bool string(const char **p)
{
    if (*(*p)++ != '"')
        return false;
    for (; **p != '"'; (*p)++) {
        if ((unsigned char)**p < 0x20)
            return false;
        if (**p != '\\')
            continue;
        ++*p;
        if (**p == 'u') {
            for (int i = 0; i < 4; i++)
                if (!isxdigit((unsigned char)*++*p))
                    return false;
        } else if (!**p || !strchr("\"\\/bfnrt", **p)) {
            return false;
        }
    }
    ++*p;
    return true;
}

static bool number(const char **p)
{
    const char *digits;

    *p += **p == '-';
    digits = *p;
    *p += strspn(*p, "0123456789");
    if (*p == digits || (*digits == '0' && *p > digits + 1))
        return false;
    if (**p == '.') {
        digits = ++*p;
        *p += strspn(*p, "0123456789");
        if (*p == digits)
            return false;
    }
    if (**p == 'e' || **p == 'E') {
        ++*p;
        *p += **p == '-' || **p == '+';
        digits = *p;
        *p += strspn(*p, "0123456789");
        return *p > digits;
    }
    return true;
}

/* An object or a list; `close` ends it. */
static bool members(const char **p, char close)
{
    ++*p;
    space(p);
    if (**p == close) {
        ++*p;
        return true;
    }
    for (;;) {
        if (close == '}') {
            space(p);
            if (!string(p))
                return false;
            space(p);
            if (*(*p)++ != ':')
                return false;
        }
        if (!value(p))
            return false;
        if (**p == ',') {
            ++*p;
            continue;
        }
        return *(*p)++ == close;
    }
}

static bool value(const char **p)
{
    static const char *const words[] = {"true", "false", "null"};
    bool good = false;

    space(p);
    if (**p == '{' || **p == '[') {
        good = members(p, **p == '{' ? '}' : ']');
    } else if (**p == '"') {
        good = string(p);
    } else if (**p == '-' || isdigit((unsigned char)**p)) {
        good = number(p);
    } else {
        for (size_t i = 0; i < 3 && !good; i++) {
            good = !strncmp(*p, words[i], strlen(words[i]));
            if (good)
                *p += strlen(words[i]);
        }
    }
    if (good)
        space(p);
    return good;
}

bool fixture_is_json(const char *text)
{
    return value(&text) && !*text;
}
