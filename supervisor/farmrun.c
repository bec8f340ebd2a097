/* SPDX-License-Identifier: Apache-2.0 */
/* farmrun.c - run control of the farm: its nodes begin and end a run together, and only nodes that
 * are in the run get RoIs.
 *
 * Nodes hold the state: a supervisor that finds its nodes in a run that it did not begin takes it
 * over. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "clock.h"
#include "farm.h"
#include "log.h"
#include "refuse.h"
#include "rundoc.h"
#include "unixtime.h"

#define START_NS (5 * NS_PER_S)  /* longest wait for nodes to begin a run */
#define END_NS   (30 * NS_PER_S) /* and to end it */
#define AGAIN_NS NS_PER_S        /* between two orders to a node that did not carry out the first */
#define OTHER_NS (3 * NS_PER_S)  /* longer where another supervisor may be ending the run */

/* ---------------------------------------------------------------- states */

bool farmrun_is_taking(const struct farm *f)
{
    return !f->config->runs.control || f->run.state == RUN_running;
}

static void enter(struct farm *f, enum run_state to)
{
    run_enter(&f->run.state, to, f->run.number);
}

static void next_phase(struct farm *f, enum farmrun_phase phase)
{
    f->run.phase = phase;
    f->run.phase_ns = clock_ns();
}

static void finish(struct farm *f, int result, const char *text)
{
    tickets_end(&f->run.tickets, result, text);
    f->run.phase = FARMRUN_IDLE;
}

static void fail(struct farm *f, int result, const char *why)
{
    snprintf(f->run.why, sizeof f->run.why, "%s", why);
    log_error("run", "run control is in error", "why=\"%s\"", why);
    finish(f, result, why);
    enter(f, RUN_error);
}

void farmrun_open(struct farm *f)
{
    const struct config *c = f->config;

    f->run.state = RUN_configured;
    if (c->runs.control && c->runs.dir[0])
        f->run.last = rundoc_last(c->runs.dir);
}

/* ---------------------------------------------------------------- nodes */

static bool is_there(const struct node *n)
{
    return n->is_used && n->is_linked && !n->is_lost && !n->refusal[0];
}

static uint32_t count_in(const struct farm *f, uint32_t *ret_there)
{
    uint32_t in = 0;

    *ret_there = 0;
    for (uint32_t i = 0; i < f->n_nodes; i++) {
        *ret_there += is_there(&f->node[i]);
        in += is_there(&f->node[i]) && f->node[i].run == f->run.number;
    }
    return in;
}

static void order(struct farm *f, uint32_t node, Trigd__Farm__V1__Order__What what, uint64_t now)
{
    nodes_order(f, node, what);
    f->node[node].run_order = f->order;
    f->node[node].run_ns = now;
}

static void order_all(struct farm *f, Trigd__Farm__V1__Order__What what, uint64_t now)
{
    for (uint32_t i = 0; i < f->n_nodes; i++)
        if (is_there(&f->node[i]) && f->node[i].run == f->run.number)
            order(f, i, what, now);
}

/* Whether nodes of a run get RoIs that are not in it. */
static void look_outside(struct farm *f)
{
    const bool is_on = f->config->runs.control && f->run.number;

    for (uint32_t i = 0; i < f->n_nodes; i++)
        f->node[i].is_outside = is_on && f->node[i].run != f->run.number;
}

/* Nodes that are there begin the run that is on. */
static void call_in(struct farm *f, uint64_t now)
{
    const uint64_t again = f->run.is_adopted ? OTHER_NS : AGAIN_NS;

    for (uint32_t i = 0; i < f->n_nodes; i++) {
        struct node *n = &f->node[i];

        if (!is_there(n) || n->run == f->run.number || now < n->run_ns + again)
            continue;
        if (!f->run.is_adopted || n->run_ns)
            order(f, i, TRIGD__FARM__V1__ORDER__WHAT__RUN_BEGIN, now);
        else
            n->run_ns = now; /* of an adopted run: first look whether it ends */
    }
}

/* ---------------------------------------------------------------- commands */

static int check(const struct farm *f, const struct run_order *o, char *text, size_t bytes)
{
    const struct farmrun *r = &f->run;

    if (!f->config->runs.control)
        return refuse(text, bytes,
                      "runs.control is off in the supervisor's configuration: RoIs are taken "
                      "whenever there are nodes, and runs are the clients' own");
    if (r->phase != FARMRUN_IDLE)
        return refuse(text, bytes, "a command is being carried out while the state is %s",
                      run_state_name(r->state));
    if (o->command == RUN_DO_start && f->roll.kind != ROLL_NONE)
        return refuse(text, bytes, "nodes are being renewed; a run begins after that");
    return run_allows(r->state, o->command, text, bytes);
}

static void begin_block(struct farm *f, uint32_t block, uint64_t now)
{
    const uint64_t each = NS_PER_S * f->config->runs.lumi_block_s;

    f->run.block = block;
    f->run.block_ns = each && f->config->runs.numbers ? now + each : 0;
    if (block > 1)
        order_all(f, TRIGD__FARM__V1__ORDER__WHAT__RUN_BLOCK, now);
}

static void clear(struct farm *f)
{
    struct farmrun *r = &f->run;

    r->is_adopted = false;
    r->paused_ns = r->block_ns = 0;
    r->n_missing = r->n_losses = 0;
    r->began_unix_ns = unix_ns();
    stats_snapshot(&f->stats->g, &r->before);
    r->farm_before = f->c;
    account_free(r->accounts);
    r->accounts = NULL;
    for (uint32_t i = 0; i < f->n_nodes; i++)
        f->node[i].run_ns = 0;
}

static int ask_begin(struct farm *f, const struct run_order *o, char *text, size_t bytes)
{
    struct farmrun *r = &f->run;
    int error;

    clear(f);
    r->number = o->number ? o->number : r->last + 1;
    r->block = 1;
    snprintf(r->by, sizeof r->by, "%s", o->by);
    error = runbook_begin(f, NULL);
    if (error < 0) {
        r->number = 0;
        snprintf(text, bytes, "the document of the run cannot be begun: %s", strerror(-error));
        return error;
    }
    next_phase(f, FARMRUN_BEGINS);
    return 0;
}

static void say_state(const struct farm *f, char *text, size_t bytes)
{
    const struct farmrun *r = &f->run;
    uint32_t there;
    const uint32_t in = count_in(f, &there);

    if (r->number)
        snprintf(text, bytes, "%s, run %u, lumi block %u, %u of %u nodes", run_state_name(r->state),
                 r->number, r->block, in, there);
    else
        snprintf(text, bytes, "%s", run_state_name(r->state));
}

static void pause_run(struct farm *f, bool is_pause)
{
    if (is_pause)
        f->run.pause_ns = clock_ns();
    else
        f->run.paused_ns += clock_ns() - f->run.pause_ns;
    enter(f, is_pause ? RUN_paused : RUN_running);
}

/* Whether the command is over at once. */
static bool carry_out(struct farm *f, const struct run_order *o)
{
    switch (o->command) {
    case RUN_DO_configure:
        next_phase(f, FARMRUN_CONFIGURES);
        return false;
    case RUN_DO_stop:
        if (f->run.state == RUN_paused)
            f->run.paused_ns += clock_ns() - f->run.pause_ns;
        enter(f, RUN_draining);
        next_phase(f, FARMRUN_DRAINS);
        return false;
    case RUN_DO_block:
        begin_block(f, f->run.block + 1, clock_ns());
        return true;
    case RUN_DO_reset:
        f->run.why[0] = '\0';
        enter(f, RUN_initial);
        return true;
    case RUN_DO_pause:
    case RUN_DO_resume:
        pause_run(f, o->command == RUN_DO_pause);
        return true;
    default:
        return false;
    }
}

int farmrun_ask(struct farm *f, const struct run_order *o, uint64_t *ret_ticket, char *text,
                size_t bytes)
{
    char now[FARM_SENTENCE];
    int r = check(f, o, text, bytes);

    if (r == 0 && o->command == RUN_DO_start)
        r = ask_begin(f, o, text, bytes);
    if (r == 0 && o->command == RUN_DO_configure)
        r = roll_begin(f, ROLL_RELOAD, text, bytes);
    if (r < 0)
        return r;
    *ret_ticket = tickets_next(&f->run.tickets);
    if (carry_out(f, o)) {
        say_state(f, now, sizeof now);
        finish(f, 0, now);
    }
    return 0;
}

int farmrun_look(struct farm *f, uint64_t ticket, char *text, size_t bytes)
{
    int result = -EINPROGRESS;

    if (tickets_look(&f->run.tickets, ticket, &result, text, bytes))
        return result;
    if (f->run.phase == FARMRUN_DRAINS)
        snprintf(text, bytes, "%llu RoIs are in flight",
                 (unsigned long long)stats_get(&f->stats->g.in_flight));
    else if (f->run.phase == FARMRUN_CONFIGURES)
        snprintf(text, bytes, "%u of %llu nodes have the menu", f->roll.n_done,
                 (unsigned long long)f->c.nodes);
    else if (f->run.phase == FARMRUN_STARTS || f->run.phase == FARMRUN_ENDS)
        say_state(f, text, bytes);
    else
        snprintf(text, bytes, "writing the document of run %u", f->run.number);
    return result;
}

void farmrun_view(const struct farm *f, struct run_view *ret_view)
{
    const struct farmrun *r = &f->run;
    const bool is_on = r->number && r->phase != FARMRUN_BEGINS;

    *ret_view = (struct run_view){.is_controlled = f->config->runs.control,
                                  .numbers = f->config->runs.numbers,
                                  .state = r->state,
                                  .number = is_on ? r->number : 0,
                                  .block = is_on ? r->block : 0,
                                  .last = r->last,
                                  .began_unix_ns = is_on ? r->began_unix_ns : 0};
    snprintf(ret_view->by, sizeof ret_view->by, "%s", is_on ? r->by : "");
    snprintf(ret_view->why, sizeof ret_view->why, "%s", r->why);
}

/* ---------------------------------------------------------------- phases */

static void look_at_roll(struct farm *f)
{
    if (f->roll.kind != ROLL_NONE)
        return;
    if (!f->roll.is_good) {
        fail(f, -EIO, f->roll.text);
        return;
    }
    enter(f, RUN_configured);
    finish(f, 0, "configured");
}

static void look_at_beginning(struct farm *f, uint64_t now)
{
    struct farmrun *r = &f->run;
    char text[FARM_SENTENCE];
    int result;

    if (!runbook_is_done(f, false, &result))
        return;
    if (result < 0) {
        rundoc_refusal(result, r->number, f->config->runs.dir, text, sizeof text);
        r->number = 0;
        finish(f, result, text);
        return;
    }
    if (r->number > r->last)
        r->last = r->number;
    begin_block(f, 1, now);
    enter(f, RUN_running);
    next_phase(f, FARMRUN_STARTS);
}

static void look_at_start(struct farm *f, uint64_t now)
{
    char text[FARM_SENTENCE];
    uint32_t there;

    if (count_in(f, &there) < there && now < f->run.phase_ns + START_NS)
        return;
    say_state(f, text, sizeof text);
    finish(f, 0, text);
}

static void look_at_drain(struct farm *f, uint64_t now)
{
    if (stats_get(&f->stats->g.in_flight))
        return;
    order_all(f, TRIGD__FARM__V1__ORDER__WHAT__RUN_END, now);
    next_phase(f, FARMRUN_ENDS);
}

/* Nodes whose accounts may still come. */
static uint32_t count_ending(const struct farm *f)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < f->n_nodes; i++)
        n +=
            is_there(&f->node[i]) && (f->node[i].run == f->run.number || f->node[i].run_order != 0);
    return n;
}

static void look_at_end(struct farm *f, uint64_t now)
{
    const uint32_t in = count_ending(f);

    if (in && now < f->run.phase_ns + END_NS)
        return;
    f->run.n_missing += in;
    if (runbook_begin(f, "stop") < 0)
        fail(f, -ENOMEM, "there is no memory for the document of the run");
    else
        next_phase(f, FARMRUN_WRITES);
}

static void over(struct farm *f)
{
    f->run.over = f->run.number;
    f->run.number = 0;
    f->run.is_adopted = false;
}

static void look_at_document(struct farm *f)
{
    const uint32_t number = f->run.number;
    char text[FARM_SENTENCE];
    int result;

    if (!runbook_is_done(f, false, &result))
        return;
    over(f);
    if (result < 0) {
        snprintf(text, sizeof text,
                 "run %u is over, and its document cannot be written in %.150s; the log says why",
                 number, f->config->runs.dir);
        fail(f, result, text);
        return;
    }
    enter(f, RUN_configured);
    snprintf(text, sizeof text, "configured; run %u is over", number);
    finish(f, 0, text);
}

/* A run that another supervisor began: it is over when no node is in it any more. */
static void look_at_adopted(struct farm *f)
{
    uint32_t there;

    if (!f->run.is_adopted || f->run.phase != FARMRUN_IDLE || !f->run.number ||
        count_in(f, &there) || !there)
        return;
    log_info("run", "the nodes have ended the run of another supervisor", "run=%u", f->run.number);
    tickets_next(&f->run.tickets);
    enter(f, RUN_draining);
    next_phase(f, FARMRUN_DRAINS);
}

void farmrun_tick(struct farm *f, uint64_t now)
{
    struct farmrun *r = &f->run;

    if (!f->config->runs.control)
        return;
    if (r->phase == FARMRUN_CONFIGURES)
        look_at_roll(f);
    else if (r->phase == FARMRUN_BEGINS)
        look_at_beginning(f, now);
    else if (r->phase == FARMRUN_STARTS)
        look_at_start(f, now);
    else if (r->phase == FARMRUN_DRAINS)
        look_at_drain(f, now);
    else if (r->phase == FARMRUN_ENDS)
        look_at_end(f, now);
    else if (r->phase == FARMRUN_WRITES)
        look_at_document(f);
    look_at_adopted(f);
    if (r->state == RUN_running || r->state == RUN_paused) {
        call_in(f, now);
        if (r->block_ns && now >= r->block_ns)
            begin_block(f, r->block + 1, now);
    }
    look_outside(f);
}

/* ---------------------------------------------------------------- from nodes */

static void adopt(struct farm *f, uint32_t node, uint32_t run, uint32_t block)
{
    clear(f);
    f->run.is_adopted = true;
    f->run.number = run;
    if (run > f->run.last)
        f->run.last = run;
    begin_block(f, block, clock_ns());
    snprintf(f->run.by, sizeof f->run.by, "taken over from node %.40s", f->node[node].name);
    log_info("run", "taken over from nodes that are in it", "run=%u lumi_block=%u node=\"%s\"", run,
             block, f->node[node].name);
    enter(f, RUN_running);
}

void farmrun_heard(struct farm *f, uint32_t node, uint32_t run, uint32_t block)
{
    struct farmrun *r = &f->run;
    struct node *n = &f->node[node];

    if (!f->config->runs.control)
        return;
    if (run && !r->number && run != r->over && r->phase == FARMRUN_IDLE &&
        (r->state == RUN_configured || r->state == RUN_initial))
        adopt(f, node, run, block);
    if (n->run != run)
        n->run_ns = clock_ns();
    n->run = run;
    if (r->is_adopted && run == r->number && block > r->block)
        r->block = block; /* as the other supervisor counts them */
    if (run && run == r->over && !r->number && !n->run_order) { /* it was away when that ended */
        r->number = run;
        order(f, node, TRIGD__FARM__V1__ORDER__WHAT__RUN_END, clock_ns());
        r->number = 0;
    }
    n->is_outside = r->number && n->run != r->number;
}

void farmrun_done(struct farm *f, uint32_t node, uint64_t number, bool is_good, const char *text)
{
    struct node *n = &f->node[node];

    if (n->run_order != number)
        return;
    n->run_order = 0;
    if (!is_good)
        log_error("run", "a node did not follow run control", "node=\"%s\" why=\"%.200s\"", n->name,
                  text);
}

void farmrun_account(struct farm *f, uint32_t node, const Trigd__Farm__V1__Account *m)
{
    struct account *a = f->run.number ? account_unpack(m) : NULL;

    if (a) {
        f->run.accounts = account_merge(f->run.accounts, a);
        return;
    }
    f->run.n_missing++;
    log_error("run", "the account of a lumi block is no part of the run's document",
              "node=\"%s\" run=%u lumi_block=%u", f->node[node].name, m->run, m->lumi_block);
}

void farmrun_lost(struct farm *f, uint32_t node, const char *why)
{
    struct farmrun *r = &f->run;

    if (!r->number)
        return;
    if (r->n_losses < FARM_LOSSES) {
        snprintf(r->loss[r->n_losses].name, FARM_NAME, "%s", f->node[node].name);
        snprintf(r->loss[r->n_losses].why, FARM_NAME, "%s", why);
        r->loss[r->n_losses].unix_ns = unix_ns();
        r->loss[r->n_losses].rois = f->node[node].c.in_flight;
    }
    r->n_losses++;
}

void farmrun_close(struct farm *f)
{
    struct farmrun *r = &f->run;
    int result;

    if (!r->book && r->number && runbook_begin(f, "the supervisor ends; the nodes go on") < 0)
        log_error("run", "a run has no document of its end", "run=%u", r->number);
    if (r->book)
        runbook_is_done(f, true, &result);
    account_free(r->accounts);
}
