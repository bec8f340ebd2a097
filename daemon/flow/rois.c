/* SPDX-License-Identifier: Apache-2.0 */
/* rois.c - the RoIs in flight: their list by arrival, their chains, what they wait for. */
#include "clock.h"
#include "flow/batcher.h"
#include "flow/dispatch_inner.h"
#include "flow/value_guard.h"
#include "log.h"

/* ---------------------------------------------------------------- the list by arrival */

static void list_append(struct dispatch *d, uint32_t roi)
{
    struct roi *r = dispatch_at(d, roi);

    r->prev = d->newest;
    r->next = POOL_NONE;
    if (d->newest != POOL_NONE)
        dispatch_at(d, d->newest)->next = roi;
    else
        d->oldest = roi;
    d->newest = roi;
    if (d->soft_checked == POOL_NONE)
        d->soft_checked = roi;
}

static void list_remove(struct dispatch *d, uint32_t roi)
{
    struct roi *r = dispatch_at(d, roi);

    if (d->soft_checked == roi)
        d->soft_checked = r->next;
    if (r->prev != POOL_NONE)
        dispatch_at(d, r->prev)->next = r->next;
    else
        d->oldest = r->next;
    if (r->next != POOL_NONE)
        dispatch_at(d, r->next)->prev = r->prev;
    else
        d->newest = r->prev;
}

/* ---------------------------------------------------------------- the end */

static uint32_t items_of(const struct dispatch *d, const struct engine_step *s, uint32_t roi)
{
    return lane_collection(d->pool, dispatch_at(d, roi), &s->group.input[0])->n;
}

/* Takes an RoI out of what it waits in; batches in flight bring it back themselves. */
static void leave_queues(struct dispatch *d, uint32_t roi)
{
    struct roi *r = dispatch_at(d, roi);
    struct engine *e = d->engine[r->engine];

    for (uint64_t left = r->asked & ~r->done; r->pending && left; left &= left - 1) {
        struct engine_step *s = &e->step[__builtin_ctzll(left)];

        if (s->group.n_inputs && batcher_remove(s, e->capacity, roi, items_of(d, s, roi)))
            r->pending--;
    }
    while (r->pending && suspects_remove(d->suspects, roi))
        r->pending--;
}

static void leave(struct dispatch *d, uint32_t roi)
{
    if (dispatch_at(d, roi)->pending)
        leave_queues(d, roi);
    list_remove(d, roi);
}

void rois_decide(struct dispatch *d, uint32_t roi)
{
    leave(d, roi);
    decide_roi(d->out, d->engine[dispatch_at(d, roi)->engine], roi);
}

void rois_fail(struct dispatch *d, uint32_t roi, uint32_t status, struct roi_why why)
{
    dispatch_at(d, roi)->status = (uint8_t)status;
    dispatch_at(d, roi)->why = why;
    rois_decide(d, roi);
}

void rois_refuse(struct dispatch *d, uint32_t roi, const struct check_fault *fault)
{
    struct roi *r = dispatch_at(d, roi);
    struct wire_error error;

    check_say(fault, d->pool->max_layer, r->token, &error);
    leave(d, roi);
    decide_refused(d->out, d->engine[r->engine], roi, &error);
}

/* Decides an RoI whose chains have all ended, unless values that no step has read are wrong. */
static void conclude(struct dispatch *d, uint32_t roi)
{
    struct check_fault fault;

    if (dispatch_at(d, roi)->unseen && value_guard_rest(d->pool, dispatch_at(d, roi), &fault))
        rois_refuse(d, roi, &fault);
    else
        rois_decide(d, roi);
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
        } else if (decide_goes_on(e, pool_steps(d->pool, r), chain, k)) {
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
    struct roi *r = dispatch_at(d, roi);

    batcher_put(&e->step[step], e->capacity, roi, items_of(d, &e->step[step], roi), d->now_ns);
    r->asked |= 1ull << step;
    r->pending++;
}

void rois_advance(struct dispatch *d, uint32_t roi)
{
    struct roi *r = dispatch_at(d, roi);
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
        if (menu_prescale(c->id, e->prescale[i], r->info.run, r->info.l1id, r->info.bcid)) {
            state[i] = CHAIN_RUNNING;
            stats_add(&e->chain[i]->run, 1);
        } else {
            state[i] = CHAIN_PRESCALED;
            stats_add(&e->chain[i]->prescaled, 1);
        }
    }
}

void rois_take(struct dispatch *d, uint32_t roi)
{
    struct roi *r = dispatch_at(d, roi);

    d->now_ns = r->received_ns;
    r->engine = d->current;
    d->engine[d->current]->n_rois++;
    list_append(d, roi);
    seed_chains(d, d->engine[d->current], r);
    if (!d->poison || !poison_knows(d->poison, d->pool, r)) {
        rois_advance(d, roi);
        return;
    }
    stats_add(&d->stats->g.poison_known, 1);
    rois_fail(d, roi, TRIGD__V1__STATUS__ALGO_FAILED, (struct roi_why){.what = ROI_END_KNOWN});
}

/* ---------------------------------------------------------------- deadlines */

void rois_check_limits(struct dispatch *d, uint64_t now)
{
    while (d->soft_ns && d->soft_checked != POOL_NONE &&
           now >= dispatch_at(d, d->soft_checked)->received_ns + d->soft_ns) {
        dispatch_at(d, d->soft_checked)->is_late = true;
        d->soft_checked = dispatch_at(d, d->soft_checked)->next;
    }
    while (d->hard_ns && d->oldest != POOL_NONE &&
           now >= dispatch_at(d, d->oldest)->received_ns + d->hard_ns) {
        struct roi *r = dispatch_at(d, d->oldest);

        r->is_late = true;
        log_warn("dispatch", "an RoI passed the hard limit", "run=%u l1id=%u roi=%u limit_ms=%u",
                 r->info.run, r->info.l1id, r->info.roi_id, d->config->limits.hard_ms);
        rois_fail(d, d->oldest, TRIGD__V1__STATUS__TIMEOUT,
                  (struct roi_why){.what = ROI_END_HARD_LIMIT});
    }
}

uint64_t rois_due_ns(const struct dispatch *d)
{
    uint64_t due = UINT64_MAX;

    if (d->hard_ns && d->oldest != POOL_NONE)
        due = dispatch_at(d, d->oldest)->received_ns + d->hard_ns;
    if (d->soft_ns && d->soft_checked != POOL_NONE &&
        dispatch_at(d, d->soft_checked)->received_ns + d->soft_ns < due)
        due = dispatch_at(d, d->soft_checked)->received_ns + d->soft_ns;
    return due;
}
