/* SPDX-License-Identifier: Apache-2.0 */
#include "runcontrol.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/notify.h"
#include "clock.h"
#include "log.h"
#include "runmenu.h"
#include "runsets.h"

#define CALL_MS 3000u /* longest wait of an operator's command for a shard */

enum state { STARTING, READY, DRAINING, DRAINED, STOPPING };
static const char *const state_name[] = {"starting", "ready", "draining", "drained", "stopping"};

/* ---------------------------------------------------------------- states */

static enum state state_of(const struct runcontrol *r)
{
    return (enum state)atomic_load(&r->state);
}

static void enter(struct runcontrol *r, enum state to)
{
    enum state from = (enum state)atomic_exchange(&r->state, (int)to);

    log_info("daemon", "state", "from=%s to=%s", state_name[from], state_name[to]);
}

void runcontrol_ready(struct runcontrol *r)
{
    enter(r, READY);
}

void runcontrol_stop(struct runcontrol *r, const char *why)
{
    uint64_t now = clock_ns();

    if (state_of(r) == STOPPING) {
        log_warn("daemon", "asked to stop again: what is in flight is forced now", "by=%s", why);
        atomic_store(&r->stop_by_ns, now);
        return;
    }
    log_info("daemon", "stopping: what is in flight is finished first", "by=%s drain_ms=%u", why,
             r->config->limits.drain_ms);
    atomic_store(&r->stop_by_ns, now + NS_PER_MS * r->config->limits.drain_ms);
    notify_stopping();
    enter(r, STOPPING);
}

void runcontrol_order(const struct runcontrol *r, int fd, struct shard_order *ret_order)
{
    const enum state now = state_of(r);

    *ret_order = (struct shard_order){.is_taking = now == READY && runs_is_taking(r->runs),
                                      .is_ending = now == STOPPING,
                                      .stop_by_ns = atomic_load(&r->stop_by_ns),
                                      .fd = fd};
}

/* Whether no shard takes RoIs or has any. */
static bool has_nothing(const struct runcontrol *r)
{
    bool is_empty = true;

    for (uint32_t i = 0; i < r->n_shards; i++)
        is_empty &=
            !shard_is_taking(r->shard[i]) && !stats_get(&shard_stats(r->shard[i])->g.in_flight);
    return is_empty;
}

void runcontrol_tick(struct runcontrol *r)
{
    runs_tick(r->runs, has_nothing(r));
}

void runcontrol_look(struct runcontrol *r)
{
    bool is_at_end = true;

    switch (state_of(r)) {
    case DRAINING:
        if (!has_nothing(r))
            break;
        enter(r, DRAINED);
        keeper_ask_accounts(r->keeper);
        break;
    case STOPPING:
        for (uint32_t i = 0; i < r->n_shards; i++)
            is_at_end &= shard_is_done(r->shard[i]);
        if (is_at_end)
            atomic_store(&r->is_over, true);
        break;
    default:
        break;
    }
}

bool runcontrol_is_live(const struct runcontrol *r)
{
    bool is_live = true;

    for (uint32_t i = 0; i < r->n_shards; i++)
        is_live &= shard_is_live(r->shard[i]);
    return is_live;
}

/* ---------------------------------------------------------------- requests to a shard */

struct request {
    struct runcontrol *run;
    struct shard *shard;
    enum state to;
    struct engine *engine;
    char *text;
    size_t bytes;
};

/* On the thread of shard 0, which alone moves the state. */
static int on_state(void *arg)
{
    struct request *q = arg;
    enum state now = state_of(q->run);

    if (now == STOPPING) {
        snprintf(q->text, q->bytes, "the daemon is stopping");
        return -EBUSY;
    }
    if (q->to == STOPPING)
        runcontrol_stop(q->run, "quit");
    else if (q->to != now && !(q->to == DRAINING && now == DRAINED))
        enter(q->run, q->to);
    snprintf(q->text, q->bytes, "%s", state_name[state_of(q->run)]);
    return 0;
}

/* In a shard that did this the next turn knows of what was there before. */
static int on_nothing(void *arg)
{
    (void)arg;
    return 0;
}

void runcontrol_tell(const struct runcontrol *r)
{
    for (uint32_t i = 0; i < r->n_shards; i++)
        mailbox_call(shard_mailbox(r->shard[i]), on_nothing, NULL, CALL_MS);
}

static int go_to(struct runcontrol *run, enum state to, char *text, size_t bytes)
{
    struct request q = {.run = run, .to = to, .text = text, .bytes = bytes};
    int r = mailbox_call(shard_mailbox(run->shard[0]), on_state, &q, CALL_MS);

    for (uint32_t i = 1; r == 0 && to != STOPPING && i < run->n_shards; i++)
        r = mailbox_call(shard_mailbox(run->shard[i]), on_nothing, NULL, CALL_MS);
    if (r == -ETIMEDOUT)
        snprintf(text, bytes, "the daemon's loop did not answer");
    return r;
}

static int hook_drain(void *ctx, char *text, size_t bytes)
{
    return go_to(ctx, DRAINING, text, bytes);
}

static int hook_resume(void *ctx, char *text, size_t bytes)
{
    return go_to(ctx, READY, text, bytes);
}

static int hook_quit(void *ctx, char *text, size_t bytes)
{
    return go_to(ctx, STOPPING, text, bytes);
}

static uint64_t hook_ask_reload(void *ctx)
{
    const struct runcontrol *run = ctx;

    return keeper_ask_reload(run->keeper);
}

static int hook_look_reload(void *ctx, uint64_t number, char *text, size_t bytes)
{
    const struct runcontrol *run = ctx;

    return keeper_look(run->keeper, number, text, bytes);
}

static bool hook_is_reloading(void *ctx)
{
    const struct runcontrol *run = ctx;

    return keeper_is_reloading(run->keeper);
}

static int hook_ask_run(void *ctx, const struct run_order *order, uint64_t *ret_ticket, char *text,
                        size_t bytes)
{
    const struct runcontrol *run = ctx;

    return runs_ask(run->runs, order, ret_ticket, text, bytes);
}

static int hook_look_run(void *ctx, uint64_t ticket, char *text, size_t bytes)
{
    const struct runcontrol *run = ctx;

    return runs_look(run->runs, ticket, text, bytes);
}

static void hook_run(void *ctx, struct run_view *ret_view)
{
    const struct runcontrol *run = ctx;

    runs_view(run->runs, ret_view);
}

static const char *hook_state(void *ctx)
{
    return state_name[state_of(ctx)];
}

static bool hook_is_live(void *ctx)
{
    return runcontrol_is_live(ctx);
}

void runcontrol_hooks(struct runcontrol *r, struct control_hooks *ret_hooks)
{
    *ret_hooks = (struct control_hooks){.ctx = r,
                                        .change = runmenu_change,
                                        .dump = runsets_dump,
                                        .conditions = runmenu_conditions,
                                        .histograms = runmenu_histograms,
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
                                        .is_live = hook_is_live};
}

/* ---------------------------------------------------------------- menu generations */

static int on_prepare(void *arg)
{
    struct request *q = arg;

    return dispatch_prepare(shard_dispatch(q->shard), q->engine);
}

static int on_swap(void *arg)
{
    struct request *q = arg;

    dispatch_swap(shard_dispatch(q->shard));
    return 0;
}

static int on_abandon(void *arg)
{
    struct request *q = arg;

    dispatch_abandon(shard_dispatch(q->shard));
    return 0;
}

/* For a shard that has the engine prepared: nothing but the end of the daemon keeps it from that,
 * and then it retires the engine with its others. */
static int insist(const struct runcontrol *run, uint32_t shard, int (*fn)(void *arg))
{
    struct request q = {.shard = run->shard[shard]};
    int r;

    do
        r = mailbox_call(shard_mailbox(run->shard[shard]), fn, &q, CALL_MS);
    while (r == -ETIMEDOUT && !atomic_load(&run->is_over));
    return r;
}

/* The first n shards have prepared. */
static void give_up(const struct runcontrol *run, struct generation *g, uint32_t n)
{
    for (uint32_t i = 0; i < run->n_shards; i++)
        if (i >= n || insist(run, i, on_abandon) == 0)
            engine_leave(g->engine[i]);
}

int runcontrol_swap(void *runcontrol, struct generation *g)
{
    struct runcontrol *run = runcontrol;

    for (uint32_t i = 0; i < run->n_shards; i++) {
        struct request q = {.shard = run->shard[i], .engine = g->engine[i]};
        int r = mailbox_call(shard_mailbox(run->shard[i]), on_prepare, &q, CALL_MS);

        if (r < 0) {
            give_up(run, g, i);
            return r;
        }
    }
    for (uint32_t i = 0; i < run->n_shards; i++)
        insist(run, i, on_swap);
    return 0;
}
