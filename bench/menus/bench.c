/* SPDX-License-Identifier: Apache-2.0 */
/* bench_menus - what a menu costs an RoI: seeds, prescales, cuts, the decision and the accounts, of
 * a random menu on random events whose steps have returned; RoI by RoI, as in the daemon, and in
 * groups of 64 (groups.h), with the same decisions. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "args.h"
#include "clock.h"
#include "flow/accounts.h"
#include "groups.h"
#include "log.h"
#include "random_menu.h"
#include "result.h"

#define EVENTS  512u
#define A_TURN  32u /* RoIs of a turn of the loop */
#define GOAL_US 2.0

struct bench {
    uint32_t runs, n_chains, n_steps;
    const char *only; /* some or all; NULL: both */
    uint64_t seed;
    struct results out;
    struct random_menu random;
    struct random_event event[EVENTS];
    struct engine engine;
    struct accounts *accounts;
    void *chains;
    struct groups *groups;
    void *chains_of_group[GROUP_ROIS];
};

/* The way of one RoI through menu and accounts, all lanes being at once.  Not inlined: valgrind
 * --tool=callgrind --toggle-collect=decide counts its instructions. */
static __attribute__((noinline)) void decide(struct bench *b, const struct random_event *e)
{
    const struct plan *p = b->engine.menu->plan;
    const struct chains_event ev = {.info = &e->info, .type = e->type, .kinds = e->kinds};
    struct roi roi = {.account = accounts_enter(b->accounts, &b->engine, &e->info)};
    uint64_t done = 0, asked = 0, waits;

    memset(b->chains, 0, chains_bytes(p));
    waits = chains_seed(p, accounts_prescales(b->accounts, roi.account), &ev, b->chains);
    accounts_seeded(b->accounts, roi.account, b->chains);
    while (chains_run(b->chains)) {
        uint64_t fresh;

        for (; waits; waits &= waits - 1)
            asked |= plan_to_run(p, (uint32_t)__builtin_ctzll(waits), done);
        fresh = asked & ~done; /* one by one, as batches come back */
        fresh = b->engine.menu->steps[__builtin_ctzll(fresh)].members;
        done |= fresh;
        waits = chains_advance(p, e->step, done, fresh, b->chains);
    }
    roi.streams = chains_conclude(p, e->step, done, b->chains);
    roi.accept = roi.streams != 0;
    accounts_decided(b->accounts, &roi, b->chains, false);
}

/* The same of a group that starts with an event. */
static __attribute__((noinline)) void decide_group(struct bench *b, const struct random_event *e)
{
    const struct plan *p = b->engine.menu->plan;
    const struct roi_step *steps[GROUP_ROIS];
    uint64_t streams[GROUP_ROIS];
    struct roi roi[GROUP_ROIS];

    for (uint32_t k = 0; k < GROUP_ROIS; k++) {
        const struct chains_event ev = {.info = &e[k].info, .type = e[k].type, .kinds = e[k].kinds};
        void *const state = b->chains_of_group[k];

        roi[k] = (struct roi){.account = accounts_enter(b->accounts, &b->engine, &e[k].info)};
        chains_select(p, accounts_prescales(b->accounts, roi[k].account), &ev, state);
        accounts_seeded(b->accounts, roi[k].account, state);
        steps[k] = e[k].step;
    }
    groups_decide(b->groups, steps, b->chains_of_group, streams);
    for (uint32_t k = 0; k < GROUP_ROIS; k++) {
        roi[k].streams = streams[k];
        roi[k].accept = streams[k] != 0;
        accounts_decided(b->accounts, &roi[k], b->chains_of_group[k], false);
    }
}

/* Has the results near, as lanes just wrote them. */
static void fetch(const struct random_event *e)
{
    static volatile uint32_t sink;

    for (uint32_t s = 0; s < MENU_STEPS_MAX;
         s++) /* the ends of what is read: it may lie on two lines */
        sink = e->step[s].result.status + (uint32_t)(e->step[s].result.value[1] > 0);
    (void)sink;
}

static double time_fetch(const struct bench *b)
{
    uint64_t from = clock_thread_ns();

    for (uint32_t i = 0; i < EVENTS; i++)
        fetch(&b->event[i]);
    return (double)(clock_thread_ns() - from) * 1e-3 / EVENTS;
}

static double time_menu(struct bench *b)
{
    uint64_t from = clock_thread_ns();

    for (uint32_t i = 0; i < EVENTS; i++) {
        fetch(&b->event[i]);
        decide(b, &b->event[i]);
        if (i % A_TURN == A_TURN - 1)
            accounts_flush(b->accounts);
    }
    return (double)(clock_thread_ns() - from) * 1e-3 / EVENTS;
}

static double time_groups(struct bench *b)
{
    uint64_t from = clock_thread_ns();

    for (uint32_t i = 0; i < EVENTS; i += GROUP_ROIS) {
        for (uint32_t k = 0; k < GROUP_ROIS; k++)
            fetch(&b->event[i + k]);
        decide_group(b, &b->event[i]);
        accounts_flush(b->accounts);
    }
    return (double)(clock_thread_ns() - from) * 1e-3 / EVENTS;
}

/* Whether RoIs have the same sets of chains both ways. */
static int compare(struct bench *b)
{
    const struct plan *p = b->engine.menu->plan;

    for (uint32_t i = 0; i < EVENTS; i++) {
        if (i % GROUP_ROIS == 0)
            decide_group(b, &b->event[i]);
        decide(b, &b->event[i]);
        for (enum chains_set set = 0; set < CHAINS_SETS; set++)
            if (memcmp(chains_of(p, b->chains, set),
                       chains_of(p, b->chains_of_group[i % GROUP_ROIS], set),
                       p->n_words * sizeof(uint64_t)) != 0) {
                fprintf(stderr, "event %u: its group decides differently (set %d)\n", i, (int)set);
                return -EPROTO;
            }
    }
    accounts_flush(b->accounts);
    return 0;
}

static double count_seeded(const struct bench *b)
{
    uint64_t n = 0;

    for (uint32_t i = 0; i < EVENTS; i++) {
        const struct trg_roi_info *info = &b->event[i].info;

        for (uint32_t k = 0; k < b->n_chains; k++) {
            const struct random_chain *c = &b->random.chain[k];

            n += (!c->l1_mask || c->l1_mask & info->l1_bits) &&
                 (!c->types || c->types >> b->event[i].type & 1);
        }
    }
    return (double)n / EVENTS;
}

/* ---------------------------------------------------------------- one menu */

static int prepare(struct bench *b, struct plugin_host *host, struct stats *stats,
                   struct change_book *book, uint32_t seeds)
{
    uint64_t state = b->seed;
    struct menu *m = NULL;
    int r;

    random_menu_make(&state, b->n_chains, b->n_steps, seeds, &b->random);
    for (uint32_t i = 0; i < EVENTS; i++) {
        random_event_make(&state, &b->random, 3, 0, &b->event[i]);
        b->event[i].info.run = b->event[i].info.lumi_block = 1; /* as they follow each other */
    }
    r = random_menu_load(&b->random, host, &m);
    b->engine.menu = m;
    if (r < 0)
        return r;
    for (uint32_t i = 0; i < b->n_chains; i++)
        b->engine.chain[i] = stats_chain_get(stats, b->engine.menu->chains[i].name);
    r = accounts_new(book, &b->accounts);
    if (r == 0)
        r = accounts_begin(b->accounts, &b->engine);
    if (r == 0)
        r = groups_new(m, &b->groups);
    b->chains = malloc(chains_bytes(m->plan));
    for (uint32_t k = 0; k < GROUP_ROIS; k++) {
        b->chains_of_group[k] = calloc(1, chains_bytes(m->plan));
        if (!b->chains_of_group[k])
            return -ENOMEM;
    }
    return r == 0 && !b->chains ? -ENOMEM : r;
}

static void end(struct bench *b)
{
    accounts_free(b->accounts);
    free(b->chains);
    groups_free(b->groups);
    for (uint32_t k = 0; k < GROUP_ROIS; k++) {
        free(b->chains_of_group[k]);
        b->chains_of_group[k] = NULL;
    }
    b->groups = NULL;
    menu_free((struct menu *)(uintptr_t)b->engine.menu);
    b->accounts = NULL;
    b->chains = NULL;
    b->engine.menu = NULL;
}

static int measure(struct bench *b, struct plugin_host *host, uint32_t seeds, const char *which)
{
    struct result menu = {.n = 0}, groups = {.n = 0};
    struct change_book *book = NULL;
    struct stats *stats = NULL;
    int r = stats_new(&stats);

    if (r == 0)
        r = change_book_new(&book);
    if (r == 0)
        r = prepare(b, host, stats, book, seeds);
    if (r == 0)
        r = compare(b);
    for (uint32_t i = 0; r == 0 && i < b->runs; i++) {
        result_add(&menu, time_menu(b) - time_fetch(b));
        result_add(&groups, time_groups(b) - time_fetch(b));
    }
    if (r == 0) {
        result_report(&b->out, &(struct result_figure){.unit = "us", .goal = GOAL_US}, &menu,
                      "%u chains, %u steps, %s: an RoI", b->n_chains, b->n_steps, which);
        result_report(&b->out,
                      &(struct result_figure){.unit = "us",
                                              .goal = GOAL_US,
                                              .baseline = "RoI by RoI",
                                              .baseline_value = result_median(&menu)},
                      &groups, "%u chains, %u steps, %s: an RoI, in groups of %u", b->n_chains,
                      b->n_steps, which, GROUP_ROIS);
        printf("  %.1f chains seeded an RoI\n", count_seeded(b));
    }
    end(b);
    change_book_free(book);
    stats_free(stats);
    return r;
}

int main(int argc, char **argv)
{
    static struct bench b = {
        .runs = 21, .n_chains = 500, .n_steps = 60, .seed = 1, .out = {.bench = "menus"}};
    const struct arg table[] = {
        {"chains", ARG_U32, &b.n_chains, 1, MENU_CHAINS_MAX, "N", "of the menu (default 500)"},
        {"steps", ARG_U32, &b.n_steps, 1, MENU_STEPS_MAX, "N", "of the menu (default 60)"},
        {"only", ARG_TEXT, &b.only, 0, 0, "some|all", "one of the two kinds of menus"},
        {"runs", ARG_U32, &b.runs, 1, RESULT_RUNS_MAX, "N", "of which the median counts (21)"},
        {"seed", ARG_U64, &b.seed, 0, 0, "N", "of menu and events (default 1)"},
        {"json", ARG_APPEND, &b.out.json, 0, 0, "FILE", "append figures, one a line"},
        {0}};
    char folder[] = PLUGINS, *paths[] = {folder};
    struct plugin_host *host;
    int r = args_parse(argc, argv, NULL, table);

    if (r != ARGS_OK)
        return r == ARGS_HELP ? 0 : 2;
    log_set_level(TRG_ERROR);
    r = plugin_host_new(paths, 1, &host);
    if (r == 0 && !(b.only && !strcmp(b.only, "all")))
        r = measure(&b, host, 3, "1 to 3 level-1 items a chain, 3 of 32 fire");
    if (r == 0 && !(b.only && !strcmp(b.only, "some")))
        r = measure(&b, host, 0, "all chains seeded");
    plugin_host_free(host);
    return result_end(&b.out, r);
}
