/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>

#include "clock.h"
#include "exec/lane_inner.h"
#include "exec/stage.h"
#include "log.h"

#define SPINS   8u        /* least looks at a busy device before the thread naps */
#define NAP_NS  20000     /* nap while a device works */
#define SLACK   1000ul    /* of naps; the kernel's default would make them 70 us long */
#define IDLE_NS 100000000 /* longest sleep with nothing to do */

struct lane_batch *lane_batch_at(struct lane *l, uint32_t number)
{
    return (struct lane_batch *)(void *)(l->batches + number * l->batch_bytes);
}

/* ---------------------------------------------------------------- a batch in */

/* Where the columns of one collection of all RoIs of a batch lie. */
static void find_sources(struct lane *l, const struct lane_batch *b, const struct lane_input *from)
{
    const struct trg_kind_info *info = trg_kind_info(from->kind);

    for (uint32_t i = 0; i < b->n; i++) {
        const struct roi *r = &l->s.pool->rois[b->roi[i]];
        const struct roi_collection *c =
            from->from < 0 ? &r->in[from->kind]
                           : &pool_steps(l->s.pool, r)[from->from].product[from->product];

        l->sources[i].n = c->n;
        l->sources[i].quantum = c->is_quantized ? &r->quantum : NULL;
        for (uint32_t col = 0; col < info->n_columns; col++)
            l->sources[i].column[col] = c->n ? pool_column(l->s.pool, from->kind, c, col) : NULL;
        /* what lies in a client's memory has not been checked, and may change */
        l->sources[i].guard = from->from < 0 && r->region ? &l->guards[i] : NULL;
        l->guards[i] = (struct stage_guard){.max_layer = l->s.pool->max_layer};
    }
}

/* Notes what was found wrong; dispatch answers it. */
static void note_faults(struct lane *l, const struct lane_batch *b)
{
    for (uint32_t i = 0; i < b->n; i++) {
        const struct stage_guard *guard = l->sources[i].guard;

        if (guard && guard->fault.code)
            pool_steps(l->s.pool, &l->s.pool->rois[b->roi[i]])[l->s.step].fault = guard->fault;
    }
}

/* Gathers one collection of all RoIs of a batch and enqueues its copy to the device. */
static int stage_input(struct lane *l, struct lane_slot *slot, const struct lane_batch *b,
                       uint32_t k)
{
    const struct lane_input *from = &l->s.inputs[k];
    struct trg_input *in = &slot->staged[k];
    size_t bytes;

    find_sources(l, b, from);
    bytes = stage_fill(from->kind, b->n, slot->infos, l->sources, trg_buffer_host(slot->host[k]),
                       &in->span);
    note_faults(l, b);
    in->kind = from->kind;
    in->host = trg_buffer_host(slot->host[k]);
    in->dev = slot->dev[k];
    if (l->is_host)
        return 0; /* one buffer is both */
    return trg_write(slot->queue, slot->dev[k], 0, slot->host[k], 0, bytes);
}

static void stage_outputs(struct lane *l, const struct lane_member *m, struct lane_part *part,
                          const struct lane_batch *b)
{
    for (uint32_t k = 0; k < m->plugin->n_outputs; k++) {
        enum trg_kind kind = m->plugin->d.produces[k];
        const struct trg_kind_info *info = trg_kind_info(kind);

        for (uint32_t i = 0; i < b->n; i++) {
            const struct roi *r = &l->s.pool->rois[b->roi[i]];
            const struct roi_collection *c = &pool_steps(l->s.pool, r)[m->step].product[k];
            struct trg_output *out = &part->outputs[k][i];

            out->capacity = c->capacity;
            out->n = 0;
            for (uint32_t col = 0; col < info->n_columns; col++)
                out->column[col] = c->capacity ? pool_column(l->s.pool, kind, c, col) : NULL;
        }
    }
}

/* Gives a member its inputs and lets it enqueue its work. */
static int submit_member(struct lane *l, struct lane_slot *slot, uint32_t number,
                         const struct lane_batch *b)
{
    struct lane_member *m = &l->member[number];
    struct lane_part *part = &slot->part[number];

    part->batch.n_rois = b->n;
    memset(part->results, 0, b->n * sizeof *part->results);
    for (uint32_t k = 0; k < m->plugin->n_inputs; k++) {
        if (m->source[k].is_staged)
            part->batch.in[k] = slot->staged[m->source[k].at];
        else
            part->batch.in[k].span.n_rois = b->n; /* the rest is as lane_open found it */
    }
    stage_outputs(l, m, part, b);
    return m->plugin->d.submit(m->algo, &part->batch, slot->queue);
}

int lane_begin_batch(struct lane *l, struct lane_slot *slot, uint32_t number)
{
    const struct lane_batch *b = lane_batch_at(l, number);
    int r = 0;

    slot->number = number;
    slot->begun_ns = clock_ns();
    for (uint32_t i = 0; i < b->n; i++)
        slot->infos[i] = l->s.pool->rois[b->roi[i]].info;
    for (uint32_t k = 0; r == 0 && k < l->s.n_inputs; k++)
        r = stage_input(l, slot, b, k);
    for (uint32_t m = 0; r == 0 && m < l->n_members; m++)
        r = submit_member(l, slot, m, b);
    if (r == 0)
        r = trg_event_record(slot->queue, slot->reached);
    return r < 0 ? r : trg_flush(slot->queue);
}

/* ---------------------------------------------------------------- a batch out */

/* Copies a member's results of a batch to where decide looks for them. */
static void store_results(struct lane *l, const struct lane_member *m, const struct lane_part *part,
                          const struct lane_batch *b)
{
    for (uint32_t i = 0; i < b->n; i++) {
        struct roi_step *step = &pool_steps(l->s.pool, &l->s.pool->rois[b->roi[i]])[m->step];

        step->result = part->results[i];
        for (uint32_t k = 0; k < m->plugin->n_outputs; k++) {
            struct roi_collection *c = &step->product[k];
            uint32_t n = part->outputs[k][i].n;

            c->n = n < c->capacity ? n : c->capacity;
            c->is_there = true;
        }
    }
}

int lane_collect(struct lane *l, struct lane_slot *slot, const struct lane_batch *b)
{
    for (uint32_t k = 0; k < l->n_members; k++) {
        int r = l->member[k].plugin->d.collect(l->member[k].algo, &slot->part[k].batch);

        if (r < 0)
            return r;
        store_results(l, &l->member[k], &slot->part[k], b);
    }
    return 0;
}

static void count_batch(struct lane *l, const struct lane_slot *slot, const struct lane_batch *b)
{
    uint64_t ns = b->ended_ns - b->begun_ns;

    stats_add(&l->s.stats->batches, 1);
    stats_add(&l->s.stats->rois, b->n);
    stats_add(&l->s.stats->items, slot->staged[0].span.n_items);
    stats_add(&l->s.stats->busy_ns, ns);
    if (b->error)
        stats_add(&l->s.stats->failed_batches, 1);
    latency_add(l->s.latency, ns);
}

/* Wakes the dispatcher if it waits at least as much as `least` says; one lane is enough. */
static void wake_dispatcher(struct lane *l, uint32_t least)
{
    uint64_t one = 1;

    if (atomic_load_explicit(l->s.done_sleeping, memory_order_seq_cst) < least ||
        !atomic_exchange(l->s.done_sleeping, LANE_AWAKE))
        return;
    if (write(l->s.done_fd, &one, sizeof one) < 0 && errno != EAGAIN)
        log_error("lane", "cannot wake the dispatcher", "error=\"%s\"", strerror(errno));
}

/* Hands a batch back, with its results or its error. */
static void end_batch(struct lane *l, struct lane_slot *slot, int error)
{
    struct lane_batch *b = lane_batch_at(l, slot->number);

    if (!error)
        error = lane_collect(l, slot, b);
    b->error = error < 0 ? error : 0;
    if (b->error)
        log_warn("lane", "a batch failed", "lane=\"%s\" rois=%u error=\"%s\"", l->s.stats->name,
                 b->n, strerror(-b->error));
    b->begun_ns = slot->begun_ns;
    b->ended_ns = clock_ns();
    count_batch(l, slot, b);
    if (l->is_host)
        atomic_fetch_add(&l->link->begun, 1);
    ring_push(&l->link->out, slot->number); /* never full: fewer batches than places */
    wake_dispatcher(l, LANE_SLEEPS);
}

/* ---------------------------------------------------------------- the thread */

struct running { /* slots in flight, oldest first */
    uint32_t first, n;
    uint32_t looks; /* at the oldest since something last happened */
    uint64_t looked_ns;
};

/* Starts the next batch of the ring in the next free slot; false when there is none. */
static bool start_next(struct lane *l, struct running *run)
{
    struct lane_slot *slot = &l->slot[(run->first + run->n) % l->s.slots];
    uint32_t number;
    int r;

    if (run->n == l->s.slots || !ring_pop(&l->link->in, &number))
        return false;
    r = lane_begin_batch(l, slot, number);
    if (!l->is_host) {
        atomic_fetch_add(&l->link->begun, 1);
        wake_dispatcher(l, LANE_SLEEPS_ON);
    }
    if (r < 0) {
        /* what was enqueued before the failure may still use the slot's memory */
        trg_finish(slot->queue);
        while (run->n) { /* keep the order of return */
            struct lane_slot *old = &l->slot[run->first % l->s.slots];

            end_batch(l, old, trg_event_wait(old->reached));
            run->first++;
            run->n--;
        }
        end_batch(l, slot, r);
        run->first++;
        return true;
    }
    if (run->n)
        stats_add(&l->s.stats->overlapped, 1);
    run->n++;
    stats_set(&l->s.stats->in_flight, run->n);
    return true;
}

/* The device works: looks again at once for a while, then naps. */
static void wait_for_device(const struct lane *l, struct running *run)
{
    struct timespec nap = {.tv_nsec = NAP_NS};

    if (!run->looks++)
        run->looked_ns = clock_ns();
    if (run->looks > SPINS && clock_ns() >= run->looked_ns + l->s.spin_ns)
        nanosleep(&nap, NULL);
    else
        clock_relax_long(); /* the driver has one lock for those who look and those who enqueue */
}

/* Looks at the oldest slot; true when it was finished and handed back. */
static bool finish_oldest(struct lane *l, struct running *run)
{
    struct lane_slot *slot = &l->slot[run->first % l->s.slots];
    int r = trg_event_query(slot->reached);

    if (r == -EAGAIN) {
        wait_for_device(l, run);
        return false;
    }
    run->looks = 0;
    end_batch(l, slot, r);
    run->first++;
    run->n--;
    stats_set(&l->s.stats->in_flight, run->n);
    return true;
}

static void wait_for_batch(struct lane *l)
{
    uint64_t until = clock_ns() + l->s.spin_ns;

    while (clock_ns() < until) {
        if (!ring_is_empty(&l->link->in) || atomic_load(&l->stop))
            return;
        clock_relax_long(); /* the core's other half may be the I/O thread's */
    }
    ring_wait(&l->link->in, IDLE_NS);
}

void *lane_run(void *arg)
{
    struct lane *l = arg;
    struct running run = {0};

    prctl(PR_SET_TIMERSLACK, SLACK);
    for (;;) {
        bool started = start_next(l, &run);

        if (run.n) {
            /* with a free slot and work for it, fill that first */
            if (!started || run.n == l->s.slots)
                finish_oldest(l, &run);
            continue;
        }
        if (started)
            continue;
        if (atomic_load(&l->stop))
            return NULL;
        wait_for_batch(l);
    }
}

/* ---------------------------------------------------------------- dispatch's side */

bool lane_fits(const struct pool *pool, const struct lane_input *inputs, uint32_t n_inputs,
               uint32_t roi, uint64_t *items)
{
    for (uint32_t k = 0; k < n_inputs; k++)
        if (items[k] + lane_items(pool, &inputs[k], roi) > inputs[k].max_items)
            return false;
    for (uint32_t k = 0; k < n_inputs; k++)
        items[k] += lane_items(pool, &inputs[k], roi);
    return true;
}

struct lane_batch *lane_begin(struct lane *l)
{
    if (l->taken == l->s.slots)
        return NULL;
    return lane_batch_at(l, (l->first + l->taken) % l->s.slots);
}

void lane_submit(struct lane *l)
{
    l->submitted++;
    ring_push(&l->link->in, (l->first + l->taken++) % l->s.slots);
    ring_wake(&l->link->in);
}

struct lane_batch *lane_finished(struct lane *l)
{
    if (ring_is_empty(&l->link->out))
        return NULL;
    return lane_batch_at(l, l->first);
}

void lane_release(struct lane *l)
{
    uint32_t number;

    ring_pop(&l->link->out, &number);
    l->first = (l->first + 1) % l->s.slots;
    l->taken--;
}

uint32_t lane_ahead(const struct lane *l)
{
    return l->submitted - atomic_load_explicit(&l->link->begun, memory_order_seq_cst);
}

bool lane_has_room(const struct lane *l)
{
    return l->taken < l->s.slots;
}

uint32_t lane_outstanding(const struct lane *l)
{
    return l->taken;
}
