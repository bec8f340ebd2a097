/* SPDX-License-Identifier: Apache-2.0 */
#include "flow/dispatch.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "flow/batcher.h"
#include "flow/shm_guard.h"
#include "log.h"

#define ENGINES_MAX 3u

struct dispatch {
    const struct config *config;
    struct pool *pool;
    struct stats *stats;
    struct egress *out;
    void (*retire)(void *ctx, struct engine *e);
    void *ctx;
    struct engine *engine[ENGINES_MAX];
    uint32_t current;
    uint32_t oldest, newest; /* RoIs not decided, by arrival */
    uint32_t soft_checked;   /* the oldest RoI not yet past the soft limit */
    uint64_t soft_ns, hard_ns;
    uint64_t now_ns; /* of the RoI that is taken, or of the turn */
};

static struct roi *roi_at(const struct dispatch *d, uint32_t roi)
{
    return &d->pool->rois[roi];
}

/* ---------------------------------------------------------------- engines */

/* Shows an engine's menu to those who look at the counters. */
static void publish(struct dispatch *d, const struct engine *e)
{
    for (uint32_t i = 0; i < e->menu->n_chains; i++)
        atomic_store(&e->chain[i]->prescale, e->menu->chains[i].prescale);
    stats_set(&d->stats->g.menu_generation, e->generation);
}

int dispatch_open(const struct config *config, struct pool *pool, struct stats *stats,
                  struct egress *out, struct engine *engine,
                  void (*retire)(void *ctx, struct engine *e), void *ctx,
                  struct dispatch **ret_dispatch)
{
    struct dispatch *d = calloc(1, sizeof *d);

    if (!d)
        return -ENOMEM;
    d->config = config;
    d->pool = pool;
    d->stats = stats;
    d->out = out;
    d->retire = retire;
    d->ctx = ctx;
    d->engine[0] = engine;
    d->oldest = d->newest = d->soft_checked = POOL_NONE;
    d->soft_ns = NS_PER_MS * config->limits.soft_ms;
    d->hard_ns = NS_PER_MS * config->limits.hard_ms;
    publish(d, engine);
    *ret_dispatch = d;
    return 0;
}

void dispatch_close(struct dispatch *d)
{
    if (!d)
        return;
    for (uint32_t i = 0; i < ENGINES_MAX; i++)
        if (d->engine[i])
            d->retire(d->ctx, d->engine[i]);
    free(d);
}

struct engine *dispatch_engine(struct dispatch *d)
{
    return d->engine[d->current];
}

static bool is_idle(const struct engine *e)
{
    for (uint32_t i = 0; i < e->menu->n_steps; i++)
        for (uint32_t k = 0; k < e->step[i].n_lanes; k++)
            if (lane_outstanding(e->step[i].lane[k]))
                return false;
    return e->n_rois == 0;
}

static void retire_empty(struct dispatch *d)
{
    for (uint32_t i = 0; i < ENGINES_MAX; i++) {
        if (i == d->current || !d->engine[i] || !is_idle(d->engine[i]))
            continue;
        d->retire(d->ctx, d->engine[i]);
        d->engine[i] = NULL;
    }
}

int dispatch_swap(struct dispatch *d, struct engine *e)
{
    retire_empty(d);
    for (uint32_t i = 0; i < ENGINES_MAX; i++) {
        if (d->engine[i])
            continue;
        d->engine[i] = e;
        d->current = i;
        publish(d, e);
        return 0;
    }
    return -EBUSY;
}

int dispatch_set_prescale(struct dispatch *d, const char *chain, double prescale)
{
    struct engine *e = dispatch_engine(d);

    for (uint32_t i = 0; i < e->menu->n_chains; i++) {
        if (strcmp(e->menu->chains[i].name, chain) != 0)
            continue;
        log_info("dispatch", "prescale changed", "chain=%s old=%g new=%g", chain,
                 e->menu->chains[i].prescale, prescale);
        e->menu->chains[i].prescale = prescale;
        atomic_store(&e->chain[i]->prescale, prescale);
        return 0;
    }
    return -ENOENT;
}

/* ---------------------------------------------------------------- the list by arrival */

static void list_append(struct dispatch *d, uint32_t roi)
{
    struct roi *r = roi_at(d, roi);

    r->prev = d->newest;
    r->next = POOL_NONE;
    if (d->newest != POOL_NONE)
        roi_at(d, d->newest)->next = roi;
    else
        d->oldest = roi;
    d->newest = roi;
    if (d->soft_checked == POOL_NONE)
        d->soft_checked = roi;
}

static void list_remove(struct dispatch *d, uint32_t roi)
{
    struct roi *r = roi_at(d, roi);

    if (d->soft_checked == roi)
        d->soft_checked = r->next;
    if (r->prev != POOL_NONE)
        roi_at(d, r->prev)->next = r->next;
    else
        d->oldest = r->next;
    if (r->next != POOL_NONE)
        roi_at(d, r->next)->prev = r->prev;
    else
        d->newest = r->prev;
}

static void decide(struct dispatch *d, uint32_t roi)
{
    list_remove(d, roi);
    decide_roi(d->out, d->engine[roi_at(d, roi)->engine], roi);
}

/* Ends an RoI that holds a value that is not allowed. */
static void refuse(struct dispatch *d, uint32_t roi, const struct check_fault *fault)
{
    struct roi *r = roi_at(d, roi);
    struct wire_error error;

    check_say(fault, d->pool->max_layer, r->token, &error);
    list_remove(d, roi);
    decide_refused(d->out, d->engine[r->engine], roi, &error);
}

/* Decides an RoI whose chains have all ended, unless values that no step has read are wrong. */
static void conclude(struct dispatch *d, uint32_t roi)
{
    struct check_fault fault;

    if (roi_at(d, roi)->unseen && shm_guard_rest(d->pool, roi_at(d, roi), &fault))
        refuse(d, roi, &fault);
    else
        decide(d, roi);
}

/* ---------------------------------------------------------------- chains and steps */

/* Moves a chain on over the steps that are done; returns the step it waits for, or -1. */
static int32_t advance_chain(struct dispatch *d, struct engine *e, struct roi *r, uint32_t chain)
{
    const struct menu_chain *c = &e->menu->chains[chain];
    uint8_t *state = (uint8_t *)pool_at(d->pool, r->chains) + chain;

    while (*state >= CHAIN_RUNNING) {
        uint32_t k = *state - (uint32_t)CHAIN_RUNNING;

        if (k == c->n_steps) {
            *state = CHAIN_PASSED;
        } else if (!(r->done >> c->steps[k].step & 1)) {
            return (int32_t)c->steps[k].step;
        } else if (decide_holds(e, pool_steps(d->pool, r), chain, k)) {
            ++*state;
        } else {
            *state = CHAIN_FAILED; /* with pass_through, decide accepts it all the same */
        }
    }
    return -1;
}

/* The group whose batches `step` runs in, by its head; while an input of the head is missing, the
 * groups that make it instead. */
static uint64_t with_inputs(const struct engine *e, const struct roi *r, uint32_t step)
{
    uint32_t head = e->menu->steps[step].head;
    const struct menu_step *m = &e->menu->steps[head];
    uint64_t missing = 0;

    for (uint32_t k = 0; k < m->plugin->n_inputs; k++)
        if (m->input[k] >= 0 && !(r->done >> m->input[k] & 1))
            missing |= with_inputs(e, r, (uint32_t)m->input[k]);
    return missing ? missing : 1ull << head;
}

static void enqueue(struct dispatch *d, struct engine *e, uint32_t step, uint32_t roi)
{
    struct engine_step *s = &e->step[step];
    struct roi *r = roi_at(d, roi);

    s->queue[(s->first + s->n++) % e->capacity] =
        (struct engine_entry){.roi = roi, .since_ns = d->now_ns};
    s->n_items += lane_items(d->pool, &s->input[0], roi);
    r->asked |= 1ull << step;
    r->pending++;
    stats_set(&s->stats->queued, s->n);
}

/* Queues the RoI for what its chains wait for; decides it when none waits. */
static void advance(struct dispatch *d, uint32_t roi)
{
    struct roi *r = roi_at(d, roi);
    struct engine *e = d->engine[r->engine];
    uint64_t wanted = 0;

    for (uint32_t i = 0; i < e->menu->n_chains; i++) {
        int32_t step = advance_chain(d, e, r, i);

        if (step >= 0)
            wanted |= with_inputs(e, r, (uint32_t)step);
    }
    if (!wanted) {
        conclude(d, roi);
        return;
    }
    for (wanted &= ~r->asked; wanted; wanted &= wanted - 1)
        enqueue(d, e, (uint32_t)__builtin_ctzll(wanted), roi);
}

static void seed_chains(struct dispatch *d, struct engine *e, struct roi *r)
{
    uint8_t *state = pool_at(d->pool, r->chains);

    for (uint32_t i = 0; i < e->menu->n_chains; i++) {
        const struct menu_chain *c = &e->menu->chains[i];

        state[i] = CHAIN_UNSEEDED;
        if (c->l1_mask && !(c->l1_mask & r->info.l1_bits))
            continue;
        stats_add(&e->chain[i]->seeded, 1);
        if (menu_prescale(c->id, c->prescale, r->info.run, r->info.l1id, r->info.bcid)) {
            state[i] = CHAIN_RUNNING;
            stats_add(&e->chain[i]->run, 1);
        } else {
            state[i] = CHAIN_PRESCALED;
            stats_add(&e->chain[i]->prescaled, 1);
        }
    }
}

void dispatch_roi(struct dispatch *d, uint32_t roi)
{
    struct roi *r = roi_at(d, roi);

    d->now_ns = r->received_ns;
    r->engine = d->current;
    d->engine[d->current]->n_rois++;
    list_append(d, roi);
    seed_chains(d, d->engine[d->current], r);
    advance(d, roi);
}

/* ---------------------------------------------------------------- batches back */

/* Takes what one step made of an RoI; false when it failed. */
static bool take_step(struct dispatch *d, struct engine *e, uint32_t step, struct roi *r, int error)
{
    const struct trg_result *result = &pool_steps(d->pool, r)[step].result;

    if (error || result->status == TRG_FAILED) {
        stats_add(&e->step[step].stats->failed, 1);
        r->status = TRIGD__V1__STATUS__ALGO_FAILED;
        return false;
    }
    if (result->status == TRG_TRUNCATED) {
        r->status = TRIGD__V1__STATUS__TRUNCATED;
        r->wanted = result->wanted;
        r->kept = result->kept;
    }
    r->done |= 1ull << step;
    return true;
}

/* Adds the time of a batch to what an RoI spent in lanes; batches of several steps may overlap. */
static void add_lane_time(struct roi *r, const struct lane_batch *b)
{
    uint64_t from = b->begun_ns > r->lane_until_ns ? b->begun_ns : r->lane_until_ns;

    if (b->ended_ns <= from)
        return;
    r->lane_ns += b->ended_ns - from;
    r->lane_until_ns = b->ended_ns;
}

/* Takes back an RoI from a batch of the group of step `head`. */
static void take_result(struct dispatch *d, struct engine *e, uint32_t head, uint32_t roi,
                        const struct lane_batch *b)
{
    struct roi *r = roi_at(d, roi);
    const struct check_fault *fault = &pool_steps(d->pool, r)[head].fault;
    bool good = true;

    r->pending--;
    r->unseen &= ~e->step[head].gathers;
    add_lane_time(r, b);
    if (r->is_decided) {
        stats_add(&d->stats->g.late_results, 1);
        egress_let_go(d->out, roi);
        return;
    }
    if (fault->code) {
        stats_add(&e->step[head].stats->failed, 1);
        refuse(d, roi, fault);
        return;
    }
    for (uint64_t left = e->menu->steps[head].members; left; left &= left - 1)
        good &= take_step(d, e, (uint32_t)__builtin_ctzll(left), r, b->error);
    if (good)
        advance(d, roi);
    else
        decide(d, roi);
}

/* Takes back what the lanes of one step have finished. */
static bool take_finished(struct dispatch *d, struct engine *e, uint32_t step)
{
    struct engine_step *s = &e->step[step];
    bool did = false;

    for (uint32_t k = 0; k < s->n_lanes; k++) {
        struct lane_batch *b;

        while ((b = lane_finished(s->lane[k])) != NULL) {
            batcher_back(s, b);
            latency_add(&d->stats->stage[STATS_STAGE_begin], b->begun_ns - b->closed_ns);
            latency_add(&d->stats->stage[STATS_STAGE_back], clock_ns() - b->ended_ns);
            for (uint32_t i = 0; i < b->n; i++)
                take_result(d, e, step, b->roi[i], b);
            lane_release(s->lane[k]);
            did = true;
        }
    }
    return did;
}

/* ---------------------------------------------------------------- batches out */

/* Moves waiting RoIs into a batch, oldest first, as far as the limits allow. */
static void fill_batch(struct dispatch *d, struct engine *e, uint32_t step, struct lane_batch *b,
                       uint64_t now)
{
    struct engine_step *s = &e->step[step];
    uint64_t items[LANE_INPUTS_MAX] = {0};

    b->n = 0;
    b->error = 0;
    while (s->n && b->n < s->batching.max_rois) {
        struct engine_entry *entry = &s->queue[s->first];
        struct roi *r = roi_at(d, entry->roi);

        if (!r->is_decided && !lane_fits(d->pool, s->input, s->n_inputs, entry->roi, items))
            break; /* never the first: one RoI always fits */
        s->first = (s->first + 1) % e->capacity;
        s->n--;
        s->n_items -= lane_items(d->pool, &s->input[0], entry->roi);
        if (r->is_decided) { /* timed out while it waited */
            r->pending--;
            egress_let_go(d->out, entry->roi);
            continue;
        }
        latency_add(&d->stats->stage[STATS_STAGE_queue],
                    now > entry->since_ns ? now - entry->since_ns : 0); /* it may be of this turn */
        b->roi[b->n++] = entry->roi;
    }
    stats_set(&s->stats->queued, s->n);
}

static void count_members(struct engine *e, uint32_t head, uint32_t n_rois)
{
    for (uint64_t left = e->menu->steps[head].members; left; left &= left - 1) {
        struct stats_step *stats = e->step[__builtin_ctzll(left)].stats;

        stats_add(&stats->batches, 1);
        stats_add(&stats->rois, n_rois);
    }
}

static bool close_batches(struct dispatch *d, struct engine *e, uint32_t step, uint64_t now)
{
    struct engine_step *s = &e->step[step];
    bool did = false;

    while (s->n) {
        struct lane *lane = batcher_lane(s);
        stats_u64 *why = lane ? batcher_closes(s, lane, now) : NULL;
        struct lane_batch *b;

        if (!why)
            break;
        b = lane_begin(lane);
        fill_batch(d, e, step, b, now);
        if (!b->n)
            break;
        stats_add(why, 1);
        count_members(e, step, b->n);
        batcher_out(s, b, now);
        lane_submit(lane);
        did = true;
    }
    return did;
}

/* ---------------------------------------------------------------- deadlines */

static void check_limits(struct dispatch *d, uint64_t now)
{
    while (d->soft_ns && d->soft_checked != POOL_NONE &&
           now >= roi_at(d, d->soft_checked)->received_ns + d->soft_ns) {
        roi_at(d, d->soft_checked)->is_late = true;
        d->soft_checked = roi_at(d, d->soft_checked)->next;
    }
    while (d->hard_ns && d->oldest != POOL_NONE &&
           now >= roi_at(d, d->oldest)->received_ns + d->hard_ns) {
        struct roi *r = roi_at(d, d->oldest);

        r->is_late = true;
        r->status = TRIGD__V1__STATUS__TIMEOUT;
        log_warn("dispatch", "an RoI passed the hard limit", "run=%u l1id=%u roi=%u limit_ms=%u",
                 r->info.run, r->info.l1id, r->info.roi_id, d->config->limits.hard_ms);
        decide(d, d->oldest);
    }
}

void dispatch_force_all(struct dispatch *d, uint32_t status)
{
    while (d->oldest != POOL_NONE) {
        roi_at(d, d->oldest)->status = (uint8_t)status;
        decide(d, d->oldest);
    }
}

/* ---------------------------------------------------------------- the turn */

bool dispatch_turn(struct dispatch *d, uint64_t now_ns)
{
    bool did = false;

    d->now_ns = now_ns;
    for (uint32_t i = 0; i < ENGINES_MAX; i++) {
        struct engine *e = d->engine[i];

        for (uint32_t step = 0; e && step < e->menu->n_steps; step++)
            did |= take_finished(d, e, step);
        for (uint32_t step = 0; e && step < e->menu->n_steps; step++)
            did |= close_batches(d, e, step, now_ns);
    }
    check_limits(d, now_ns);
    retire_empty(d);
    return did;
}

bool dispatch_has_work(const struct dispatch *d, uint64_t now_ns)
{
    for (uint32_t i = 0; i < ENGINES_MAX; i++)
        for (uint32_t s = 0; d->engine[i] && s < d->engine[i]->menu->n_steps; s++)
            if (batcher_has_work(&d->engine[i]->step[s], now_ns))
                return true;
    return false;
}

bool dispatch_has_waiting(const struct dispatch *d)
{
    for (uint32_t i = 0; i < ENGINES_MAX; i++)
        for (uint32_t s = 0; d->engine[i] && s < d->engine[i]->menu->n_steps; s++)
            if (d->engine[i]->step[s].n)
                return true;
    return false;
}

bool dispatch_is_idle(const struct dispatch *d)
{
    for (uint32_t i = 0; i < ENGINES_MAX; i++)
        if (d->engine[i] && !is_idle(d->engine[i]))
            return false;
    return true;
}

static uint64_t earlier(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

uint64_t dispatch_due_ns(const struct dispatch *d, uint64_t now_ns)
{
    uint64_t due = UINT64_MAX;

    if (d->hard_ns && d->oldest != POOL_NONE)
        due = earlier(due, roi_at(d, d->oldest)->received_ns + d->hard_ns);
    if (d->soft_ns && d->soft_checked != POOL_NONE)
        due = earlier(due, roi_at(d, d->soft_checked)->received_ns + d->soft_ns);
    for (uint32_t i = 0; i < ENGINES_MAX; i++) {
        struct engine *e = d->engine[i];

        for (uint32_t s = 0; e && s < e->menu->n_steps; s++)
            due = earlier(due, batcher_due_ns(&e->step[s]));
    }
    return due > now_ns ? due : now_ns;
}
