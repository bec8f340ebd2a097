/* SPDX-License-Identifier: Apache-2.0 */
/* batches.c - batches out to lanes and back, and what failed once more. */
#include <errno.h>
#include <string.h>

#include "clock.h"
#include "flow/batcher.h"
#include "flow/dispatch_inner.h"
#include "flow/value_guard.h"
#include "log.h"

#define AHEAD   4u       /* RoIs whose data is fetched before it is needed */
#define REST_NS NS_PER_S /* of a lane that lost its device and has no process to replace */

/* ---------------------------------------------------------------- RoIs of a batch that is back */

/* Takes what one step made of an RoI; false when it failed. */
static bool take_step(struct dispatch *d, struct engine *e, uint32_t step, struct roi *r)
{
    const struct trg_result *result = &pool_steps(d->pool, r)[step].result;

    if (result->status == TRG_FAILED) {
        stats_add(&e->step[step].stats->failed, 1);
        return false;
    }
    if (result->status == TRG_TRUNCATED) {
        r->status = TRIGD__V1__STATUS__TRUNCATED;
        r->wanted = result->wanted;
        r->kept = result->kept;
    }
    return true;
}

/* Adds the time of a batch to what an RoI spent in lanes; batches of several steps may overlap. */
static void add_lane_time(struct roi *r, const struct lane_done *b)
{
    uint64_t from = b->begun_ns > r->lane_until_ns ? b->begun_ns : r->lane_until_ns;

    if (b->ended_ns <= from)
        return;
    r->lane_ns += b->ended_ns - from;
    r->lane_until_ns = b->ended_ns;
}

static void fail_in_step(struct dispatch *d, uint32_t roi, uint32_t step, enum roi_end what,
                         int32_t number)
{
    rois_fail(d, roi, TRIGD__V1__STATUS__ALGO_FAILED,
              (struct roi_why){.what = (uint8_t)what, .step = (uint8_t)step, .number = number});
}

/* Whether values that a lane does not allow are the client's fault: it is refused for what it sent,
 * not for what a plugin made of the worker's copy, nor for memory that it has changed meanwhile. */
static bool is_refused(const struct dispatch *d, const struct engine *e, uint32_t head,
                       const struct roi *r, struct check_fault *ret_fault)
{
    if (value_guard_find(d->pool, r, r->kinds & e->step[head].gathers, ret_fault))
        return true;
    log_warn("dispatch", "a lane refuses values that are allowed", "step=%s run=%u l1id=%u roi=%u",
             e->menu->steps[head].name, r->info.run, r->info.l1id, r->info.roi_id);
    return false;
}

/* What a lane says of an RoI cannot be.  Other RoIs of its worker may have written over it, so that
 * it counts only against one that ran alone; whether it runs once more.  Not for memory that its
 * client can change: it could keep the retry lanes busy. */
static bool run_alone(struct dispatch *d, uint32_t engine, uint32_t head, const struct lane *l,
                      const struct lane_done *b, uint32_t roi, int error)
{
    if ((error == -ERANGE && dispatch_at(d, roi)->region) || (l->is_retry && b->n == 1) ||
        !d->engine[engine]->step[head].n_retries)
        return false;
    suspects_add(d->suspects[engine], head, &roi, 1);
    stats_add(&d->stats->g.retried, !l->is_retry);
    return true;
}

/* Moves an RoI on with what a lane made of it. */
static void use_result(struct dispatch *d, struct engine *e, uint32_t head, uint32_t roi)
{
    struct roi *r = dispatch_at(d, roi);
    /* members that need what the RoI lacks ran on nothing, for none of its chains */
    const uint64_t steps = plan_whole(e->menu->plan, e->menu->steps[head].members, r->kinds);
    uint32_t bad = MENU_STEPS_MAX;

    r->unseen &= ~e->step[head].gathers;
    for (uint64_t left = steps; left; left &= left - 1)
        if (!take_step(d, e, (uint32_t)__builtin_ctzll(left), r))
            bad = (uint32_t)__builtin_ctzll(left);
    if (bad == MENU_STEPS_MAX)
        rois_advance(d, roi, steps);
    else
        fail_in_step(d, roi, bad, ROI_END_STATUS, 0);
}

/* Takes back an RoI of a batch that did not fail as a whole. */
static void take_result(struct dispatch *d, uint32_t engine, uint32_t head, struct lane *l,
                        const struct lane_done *b, uint32_t i)
{
    struct engine *e = d->engine[engine];
    const uint32_t roi = b->roi[i];
    struct roi *r = dispatch_at(d, roi);
    const int error = lane_take(l, i);
    struct check_fault fault;
    const bool refused = error == -ERANGE && is_refused(d, e, head, r, &fault);

    if (error && !refused && run_alone(d, engine, head, l, b, roi, error))
        return;
    r->pending--;
    if (!error) {
        use_result(d, e, head, roi);
        return;
    }
    stats_add(&e->step[head].stats->failed, 1);
    if (refused) {
        rois_refuse(d, roi, &fault);
        return;
    }
    stats_add(&d->stats->g.plugin_errors, 1);
    fail_in_step(d, roi, head, ROI_END_CLAIM, 0);
}

/* What comes back of an RoI whose decision is out, or only waits for its event's, is not looked at.
 */
static void drop_result(struct dispatch *d, uint32_t roi)
{
    const bool is_early = dispatch_at(d, roi)->is_early;

    dispatch_at(d, roi)->pending--;
    stats_add(is_early ? &d->stats->g.early_results : &d->stats->g.late_results, 1);
    egress_let_go(d->out, roi);
}

/* Fetches what will be needed of RoIs further on in the batch. */
static void fetch_ahead(const struct dispatch *d, const struct engine *e, uint32_t head,
                        const struct lane_done *b, uint32_t i)
{
    if (i + 2 * AHEAD < b->n)
        pool_prefetch(d->pool, b->roi[i + 2 * AHEAD]);
    if (i + AHEAD < b->n)
        pool_prefetch_block(d->pool, b->roi[i + AHEAD], head, e->chains_bytes);
}

/* Takes back the RoIs of a batch that did not fail as a whole. */
static void take_results(struct dispatch *d, uint32_t engine, uint32_t head, struct lane *l,
                         const struct lane_done *b)
{
    for (uint32_t i = 0; i < b->n; i++) {
        struct roi *r = dispatch_at(d, b->roi[i]);

        fetch_ahead(d, d->engine[engine], head, b, i);
        add_lane_time(r, b);
        if (r->is_decided || r->is_ended)
            drop_result(d, b->roi[i]);
        else
            take_result(d, engine, head, l, b, i);
    }
}

/* ---------------------------------------------------------------- RoIs of a batch that failed */

/* Leaves in `roi` those that still wait for their decision; lets go of the others. */
static uint32_t undecided(struct dispatch *d, const struct lane_done *b, uint32_t *roi)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < b->n; i++) {
        struct roi *r = dispatch_at(d, b->roi[i]);

        add_lane_time(r, b);
        if (!r->is_decided && !r->is_ended)
            roi[n++] = b->roi[i];
        else
            drop_result(d, b->roi[i]);
    }
    return n;
}

static void fail_all(struct dispatch *d, struct engine *e, uint32_t head, const uint32_t *roi,
                     uint32_t n, struct roi_why why)
{
    for (uint32_t i = 0; i < n; i++) {
        if (dispatch_at(d, roi[i])->is_decided) { /* with its event, by one before it */
            drop_result(d, roi[i]);
            continue;
        }
        dispatch_at(d, roi[i])->pending--;
        stats_add(&e->step[head].stats->failed, 1);
        fail_in_step(d, roi[i], head, (enum roi_end)why.what, why.number);
    }
}

/* A batch of a retry lane failed again: in parts once more, or the culprit is found. */
static void fail_again(struct dispatch *d, uint32_t engine, uint32_t head, const struct lane *l,
                       const struct lane_done *b, const uint32_t *roi, uint32_t n)
{
    struct engine *e = d->engine[engine];

    if (n > 1)
        suspects_split(d->suspects[engine], head, roi, n);
    else if (n && culprit_is(d, l, b, roi[0]))
        fail_all(d, e, head, roi, 1, culprit_note(d, e, head, l, b, roi[0]));
    else if (n)
        suspects_add(d->suspects[engine], head, roi, n);
}

/* A batch failed as a whole, or its worker ended: each of its RoIs may have done it. */
static void take_failure(struct dispatch *d, uint32_t engine, uint32_t head, const struct lane *l,
                         const struct lane_done *b)
{
    struct engine *e = d->engine[engine];
    uint32_t *roi = l->batch[l->first].roi; /* sorted out in place */
    const uint32_t n = undecided(d, b, roi);

    if (l->is_retry) {
        fail_again(d, engine, head, l, b, roi, n);
    } else if (e->step[head].n_retries) {
        suspects_add(d->suspects[engine], head, roi, n);
        stats_add(&d->stats->g.retried, n);
    } else if (n) {
        log_warn("dispatch",
                 "RoIs of a failed batch cannot run again: their step has no retry lane",
                 "step=%s rois=%u", e->menu->steps[head].name, n);
        fail_all(d, e, head, roi, n, (struct roi_why){.what = ROI_END_NO_LANE});
    }
}

/* A device that is lost takes its worker with it, a plugin that says so alone its lane; one that is
 * a thread rests, but for the one retry lane of a CPU. */
static void judge_lane(struct dispatch *d, struct lane *l, int error, bool is_lost)
{
    if (error != -ENODEV)
        return;
    if (!is_lost && worker_close_lane(l->worker, l, error) == 0) {
        l->is_up = false;
        return;
    }
    if (worker_kill(l->worker, "its device is lost") != -ENOTSUP ||
        (l->is_retry && worker_device(l->worker)->is_host))
        return;
    log_error("dispatch", "a lane rests: its device is lost", "lane=\"%s\"", l->s.stats->name);
    l->is_up = false;
    l->rests_until_ns = d->now_ns + REST_NS * (l->failures + 1ull);
}

/* ---------------------------------------------------------------- batches back */

static bool take_finished(struct dispatch *d, uint32_t engine, uint32_t head, struct lane *l)
{
    struct engine_step *s = &d->engine[engine]->step[head];
    struct lane_done b;
    bool did = false;

    while (lane_finished(l, &b)) {
        latency_add(&d->stats->stage[STATS_STAGE_begin], b.begun_ns - b.closed_ns);
        latency_add(&d->stats->stage[STATS_STAGE_back], clock_ns() - b.ended_ns);
        egress_batch(d->out, l->s.stats, &b);
        if (!l->is_retry)
            batcher_back(s, b.ended_ns - b.begun_ns);
        if (b.error) {
            take_failure(d, engine, head, l, &b);
        } else {
            step_record_good(&d->engine[engine]->of->record[head]);
            take_results(d, engine, head, l, &b);
        }
        lane_release(l, &b);
        judge_lane(d, l, b.error, b.is_lost);
        if (l->is_retry) /* after it is known to be ending: no shard may give it one more */
            worker_unreserve(l->worker, l->s.shard);
        did = true;
    }
    return did;
}

/* ---------------------------------------------------------------- batches out */

static void count_members(struct engine *e, uint32_t head, uint32_t n_rois)
{
    for (uint64_t left = e->menu->steps[head].members; left; left &= left - 1) {
        struct stats_step *stats = e->step[__builtin_ctzll(left)].stats;

        stats_add(&stats->batches, 1);
        stats_add(&stats->rois, n_rois);
    }
}

/* Whether a batch of so many items would be back by then, as far as is known. */
static bool is_in_time(const struct lane *l, uint64_t items, uint64_t until_ns, uint64_t now)
{
    return until_ns == UINT64_MAX || !lane_is_known(l) ||
           lane_expected_end(l, items, now) <= until_ns;
}

/* Moves waiting RoIs into a batch as far as the limits allow, and the deadlines of those in it.  An
 * RoI that would miss its own even in a batch of its own goes to no device. */
static void fill_batch(struct dispatch *d, struct engine *e, uint32_t step, struct lane *l,
                       uint64_t now)
{
    struct engine_step *s = &e->step[step];
    const struct engine_entry *entry;
    uint64_t until = UINT64_MAX, all = 0; /* the earliest deadline and the items of the batch */

    lane_begin(l);
    while ((entry = batcher_next(s)) != NULL) {
        const uint32_t roi = entry->roi, items = dispatch_items(d, s, roi);
        const uint64_t since_ns = entry->since_ns;
        const uint64_t own =
            dispatch_at(d, roi)->deadline_ns ? dispatch_at(d, roi)->deadline_ns : UINT64_MAX;

        if (!is_in_time(l, items, own, now)) {
            rois_give_up(d, roi, step); /* leaves the batcher */
            continue;
        }
        until = own < until ? own : until;
        if (!is_in_time(l, all + items, until, now) || !lane_put(l, roi))
            break;
        latency_add(&d->stats->stage[STATS_STAGE_queue],
                    now > since_ns ? now - since_ns : 0); /* it may be of this turn */
        batcher_remove(s, roi, items);
        all += items;
    }
}

static bool close_batches(struct dispatch *d, struct engine *e, uint32_t step, uint64_t now)
{
    struct engine_step *s = &e->step[step];
    bool did = false;

    while (s->n_waiting) {
        struct lane *lane = batcher_lane(s, now);
        stats_u64 *why = lane ? batcher_closes(s, lane, now) : NULL;

        if (!why)
            break;
        fill_batch(d, e, step, lane, now);
        if (!lane_filled(lane))
            break; /* a client's memory cannot be shared with the worker just now */
        stats_add(why, 1);
        count_members(e, step, lane_filled(lane));
        batcher_out(s, now);
        lane_submit(lane, now);
        did = true;
    }
    return did;
}

/* Whether the worker of a retry lane has nothing else to do: a batch runs there alone. */
static bool is_alone(struct worker *w, uint32_t shard)
{
    for (uint32_t i = 0; i < worker_lanes(w); i++)
        if (lane_outstanding(worker_lane(w, shard, i)))
            return false;
    return worker_reserve(w, shard);
}

/* A retry lane for the next batch, its worker reserved; NULL: none just now. */
static struct lane *retry_lane(const struct engine_step *s)
{
    for (uint32_t i = 0; i < s->n_retries; i++)
        if (lane_has_room(s->retry[i]) && is_alone(s->retry[i]->worker, s->retry[i]->s.shard))
            return s->retry[i];
    return NULL;
}

/* Whether some retry lane would be through with an RoI in time. */
static bool is_in_time_again(struct dispatch *d, const struct engine_step *s, uint32_t roi,
                             uint64_t own, uint64_t now)
{
    for (uint32_t i = 0; i < s->n_retries; i++)
        if (is_in_time(s->retry[i], dispatch_items(d, s, roi), own, now))
            return true;
    return false;
}

/* Gives up one of the next suspects that would miss its deadline; false: there is none. */
static bool give_up_one(struct dispatch *d, uint32_t engine, uint32_t step, uint64_t now)
{
    const struct engine_step *s = &d->engine[engine]->step[step];
    const struct suspects *all = d->suspects[engine];

    if (deadlines_first(d->deadlines) == POOL_NONE)
        return false; /* groups may be large */
    for (uint32_t roi = suspects_first(all, step); roi != POOL_NONE;
         roi = suspects_after(all, step, roi)) {
        const uint64_t own = dispatch_at(d, roi)->deadline_ns;

        if (!own || is_in_time_again(d, s, roi, own, now))
            continue;
        rois_give_up(d, roi, s->group.step);
        return true;
    }
    return false;
}

/* Puts the next suspects of a step into a batch, as many as fit; returns how many. */
static uint32_t fill_again(struct dispatch *d, uint32_t engine, uint32_t step, struct lane *l)
{
    struct suspects *all = d->suspects[engine];
    uint32_t next, put = 0;

    lane_begin(l);
    for (uint32_t roi = suspects_first(all, step); roi != POOL_NONE && lane_put(l, roi);
         roi = next, put++) {
        next = suspects_after(all, step, roi);
        suspects_remove(all, step, roi);
    }
    return put;
}

/* Runs the next suspects of a step. */
static bool run_suspects(struct dispatch *d, uint32_t engine, uint32_t step, uint64_t now)
{
    struct lane *l;
    uint32_t put;

    if (suspects_first(d->suspects[engine], step) == POOL_NONE)
        return false;
    if (give_up_one(d, engine, step, now))
        return true; /* the group is another one now */
    l = retry_lane(&d->engine[engine]->step[step]);
    if (!l)
        return false;
    put = fill_again(d, engine, step, l);
    if (!put) {
        worker_unreserve(l->worker, l->s.shard);
        return false;
    }
    count_members(d->engine[engine], step, put);
    lane_submit(l, now);
    return true;
}

/* ---------------------------------------------------------------- workers */

void batches_take_orphans(struct dispatch *d, uint32_t engine, uint32_t head, struct lane *l)
{
    struct engine_step *s = &d->engine[engine]->step[head];
    struct lane_done b;

    l->is_up = false;
    take_finished(d, engine, head, l); /* what was complete before the end counts */
    while (lane_orphan(l, &b)) {
        egress_batch(d->out, l->s.stats, &b);
        if (!l->is_retry)
            batcher_back(s, 0);
        take_failure(d, engine, head, l, &b);
        lane_drop(l);
    }
}

/* ---------------------------------------------------------------- the turn */

static bool take_of_step(struct dispatch *d, uint32_t engine, uint32_t step)
{
    struct engine_step *s = &d->engine[engine]->step[step];
    bool did = false;

    for (uint32_t k = 0; k < s->n_lanes && s->n_out; k++)
        did |= take_finished(d, engine, step, s->lane[k]);
    for (uint32_t k = 0; k < s->n_retries; k++)
        did |= take_finished(d, engine, step, s->retry[k]);
    return did;
}

bool batches_take(struct dispatch *d)
{
    bool did = false;

    for (uint32_t i = 0; i < ENGINES_MAX; i++)
        for (uint32_t step = 0; d->engine[i] && step < d->engine[i]->menu->n_steps; step++)
            did |= take_of_step(d, i, step);
    return did;
}

bool batches_give(struct dispatch *d, uint64_t now_ns)
{
    bool did = false;

    for (uint32_t i = 0; i < ENGINES_MAX; i++) {
        struct engine *e = d->engine[i];

        for (uint32_t step = 0; e && step < e->menu->n_steps; step++) {
            did |= close_batches(d, e, step, now_ns);
            if (e->step[step].n_retries)
                did |= run_suspects(d, i, step, now_ns);
        }
    }
    return did;
}
