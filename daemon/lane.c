/* SPDX-License-Identifier: Apache-2.0 */
#include "lane.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "buddy.h"
#include "clock.h"
#include "log.h"
#include "stage.h"

#define SPINS   64u       /* looks at a busy device before the thread naps */
#define NAP_NS  20000     /* nap while a device works */
#define IDLE_NS 100000000 /* longest sleep with nothing to do */

struct lane_slot {
    struct trg_queue *queue;
    struct trg_event *reached;
    struct trg_buffer *host[TRG_INPUTS_MAX], *dev[TRG_INPUTS_MAX];
    struct trg_batch batch;
    struct trg_output *outputs;
    struct trg_result *results;
    struct trg_roi_info *infos;
    uint32_t number; /* of the lane_batch in it */
    uint64_t begun_ns;
};

struct lane {
    struct lane_setup s;
    const struct plugin *plugin;
    struct trg_algo *algo;
    bool is_host;
    struct lane_slot slot[LANE_SLOTS_MAX];
    struct stage_source *sources; /* [max_rois], scratch of the thread */
    pthread_t thread;
    bool has_thread;
    _Atomic bool stop;

    uint64_t link_at; /* in the pool */
    struct lane_link *link;
    unsigned char *batches;
    size_t batch_bytes;
    uint32_t first, taken; /* of dispatch: oldest batch out, batches out */
};

static struct lane_batch *batch_at(struct lane *l, uint32_t number)
{
    return (struct lane_batch *)(void *)(l->batches + number * l->batch_bytes);
}

/* ---------------------------------------------------------------- the thread */

static const struct roi_collection *input_of(struct lane *l, const struct roi *r, uint32_t k,
                                             enum trg_kind *ret_kind)
{
    int32_t from = l->s.menu->steps[l->s.step].input[k];

    *ret_kind = l->plugin->d.consumes[k];
    return from < 0 ? &r->in[*ret_kind] : &pool_steps(l->s.pool, r)[from].product;
}

/* Gathers input k of all RoIs of a batch and enqueues its copy to the device. */
static int stage_input(struct lane *l, struct lane_slot *slot, const struct lane_batch *b,
                       uint32_t k)
{
    struct trg_input *in = &slot->batch.in[k];
    size_t bytes;

    for (uint32_t i = 0; i < b->n; i++) {
        const struct roi_collection *c = input_of(l, &l->s.pool->rois[b->roi[i]], k, &in->kind);
        const struct trg_kind_info *info = trg_kind_info(in->kind);

        l->sources[i].n = c->n;
        for (uint32_t col = 0; col < info->n_columns; col++)
            l->sources[i].column[col] = c->n ? pool_column(l->s.pool, in->kind, c, col) : NULL;
    }
    bytes = stage_fill(in->kind, b->n, slot->infos, l->sources, trg_buffer_host(slot->host[k]),
                       &in->span);
    in->host = trg_buffer_host(slot->host[k]);
    in->dev = slot->dev[k];
    if (l->is_host)
        return 0; /* one buffer is both */
    return trg_write(slot->queue, slot->dev[k], 0, slot->host[k], 0, bytes);
}

static void stage_outputs(struct lane *l, struct lane_slot *slot, const struct lane_batch *b)
{
    enum trg_kind kind = l->plugin->d.produces;
    const struct trg_kind_info *info = trg_kind_info(kind);

    for (uint32_t i = 0; info && i < b->n; i++) {
        const struct roi *r = &l->s.pool->rois[b->roi[i]];
        const struct roi_collection *c = &pool_steps(l->s.pool, r)[l->s.step].product;

        slot->outputs[i].capacity = c->capacity;
        slot->outputs[i].n = 0;
        for (uint32_t col = 0; col < info->n_columns; col++)
            slot->outputs[i].column[col] = pool_column(l->s.pool, kind, c, col);
    }
}

/* Stage and submit: everything that a slot needs to compute is enqueued. */
static int begin_batch(struct lane *l, struct lane_slot *slot, uint32_t number)
{
    const struct lane_batch *b = batch_at(l, number);
    int r;

    slot->number = number;
    slot->begun_ns = clock_ns();
    slot->batch.n_rois = b->n;
    for (uint32_t i = 0; i < b->n; i++)
        slot->infos[i] = l->s.pool->rois[b->roi[i]].info;
    memset(slot->results, 0, b->n * sizeof *slot->results);
    for (uint32_t k = 0; k < l->plugin->n_inputs; k++) {
        r = stage_input(l, slot, b, k);
        if (r < 0)
            return r;
    }
    stage_outputs(l, slot, b);
    r = l->plugin->d.submit(l->algo, &slot->batch, slot->queue);
    if (r < 0)
        return r;
    r = trg_event_record(slot->queue, slot->reached);
    if (r < 0)
        return r;
    return trg_flush(slot->queue);
}

/* Copies the results of a batch to where decide looks for them. */
static void store_results(struct lane *l, struct lane_slot *slot, const struct lane_batch *b)
{
    for (uint32_t i = 0; i < b->n; i++) {
        struct roi_step *step = &pool_steps(l->s.pool, &l->s.pool->rois[b->roi[i]])[l->s.step];

        step->result = slot->results[i];
        step->product.n = slot->outputs[i].n < step->product.capacity ? slot->outputs[i].n
                                                                      : step->product.capacity;
        step->product.is_there = true;
    }
}

static void count_batch(struct lane *l, const struct lane_slot *slot, const struct lane_batch *b)
{
    uint64_t ns = clock_ns() - slot->begun_ns;

    stats_add(&l->s.stats->batches, 1);
    stats_add(&l->s.stats->rois, b->n);
    stats_add(&l->s.stats->items, slot->batch.in[0].span.n_items);
    stats_add(&l->s.stats->busy_ns, ns);
    if (b->error)
        stats_add(&l->s.stats->failed_batches, 1);
    latency_add(l->s.latency, ns);
}

/* Hands a batch back, with its results or its error. */
static void end_batch(struct lane *l, struct lane_slot *slot, int error)
{
    struct lane_batch *b = batch_at(l, slot->number);

    if (!error)
        error = l->plugin->d.collect(l->algo, &slot->batch);
    b->error = error < 0 ? error : 0;
    if (!b->error)
        store_results(l, slot, b);
    else
        log_warn("lane", "a batch failed", "lane=\"%s\" rois=%u error=\"%s\"", l->s.stats->name,
                 b->n, strerror(-b->error));
    count_batch(l, slot, b);
    ring_push(&l->link->out, slot->number); /* never full: fewer batches than places */
    if (atomic_load_explicit(l->s.done_sleeping, memory_order_seq_cst)) {
        uint64_t one = 1;

        if (write(l->s.done_fd, &one, sizeof one) < 0 && errno != EAGAIN)
            log_error("lane", "cannot wake the dispatcher", "error=\"%s\"", strerror(errno));
    }
}

struct running { /* slots in flight, oldest first */
    uint32_t first, n;
};

/* Starts the next batch of the ring in the next free slot; false when there is none. */
static bool start_next(struct lane *l, struct running *run)
{
    struct lane_slot *slot = &l->slot[(run->first + run->n) % l->s.limits.slots];
    uint32_t number;
    int r;

    if (run->n == l->s.limits.slots || !ring_pop(&l->link->in, &number))
        return false;
    r = begin_batch(l, slot, number);
    if (r < 0) {
        /* what was enqueued before the failure may still use the slot's memory */
        trg_finish(slot->queue);
        while (run->n) { /* keep the order of return */
            struct lane_slot *old = &l->slot[run->first % l->s.limits.slots];

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

/* Looks at the oldest slot; true when it was finished and handed back. */
static bool finish_oldest(struct lane *l, struct running *run, uint32_t *spins)
{
    struct lane_slot *slot = &l->slot[run->first % l->s.limits.slots];
    int r = trg_event_query(slot->reached);

    if (r == -EAGAIN) {
        struct timespec nap = {.tv_nsec = NAP_NS};

        if (++*spins > SPINS)
            nanosleep(&nap, NULL);
        return false;
    }
    *spins = 0;
    end_batch(l, slot, r);
    run->first++;
    run->n--;
    stats_set(&l->s.stats->in_flight, run->n);
    return true;
}

static void *lane_run(void *arg)
{
    struct lane *l = arg;
    struct running run = {0};
    uint32_t spins = 0;

    for (;;) {
        bool started = start_next(l, &run);

        if (run.n) {
            /* with a free slot and work for it, fill that first */
            if (!started || run.n == l->s.limits.slots)
                finish_oldest(l, &run, &spins);
            continue;
        }
        if (started)
            continue;
        if (atomic_load(&l->stop))
            return NULL;
        ring_wait(&l->link->in, IDLE_NS);
    }
}

/* ---------------------------------------------------------------- opening */

static int open_inputs(struct lane *l, struct lane_slot *slot)
{
    for (uint32_t k = 0; k < l->plugin->n_inputs; k++) {
        size_t bytes =
            stage_bytes(l->plugin->d.consumes[k], l->s.limits.max_rois, l->s.limits.max_items);
        int r = trg_buffer_new(l->s.device, TRG_MEM_PINNED, bytes, &slot->host[k]);

        if (r < 0)
            return r;
        if (l->is_host) {
            slot->dev[k] = slot->host[k];
            continue;
        }
        r = trg_buffer_new(l->s.device, TRG_MEM_DEVICE, bytes, &slot->dev[k]);
        if (r < 0)
            return r;
    }
    return 0;
}

static int open_slot(struct lane *l, uint32_t number)
{
    struct lane_slot *slot = &l->slot[number];
    uint32_t n = l->s.limits.max_rois;
    int r;

    slot->outputs = calloc(n, sizeof *slot->outputs);
    slot->results = calloc(n, sizeof *slot->results);
    slot->infos = calloc(n, sizeof *slot->infos);
    if (!slot->outputs || !slot->results || !slot->infos)
        return -ENOMEM;
    slot->batch = (struct trg_batch){
        .slot = number, .rois = slot->infos, .results = slot->results, .outputs = slot->outputs};
    r = trg_queue_new(l->s.device, &slot->queue);
    if (r < 0)
        return r;
    r = trg_event_new(l->s.device, &slot->reached);
    if (r < 0)
        return r;
    return open_inputs(l, slot);
}

static int open_link(struct lane *l)
{
    size_t head = pool_align(sizeof(struct lane_link));

    l->batch_bytes =
        pool_align(sizeof(struct lane_batch) + (size_t)l->s.limits.max_rois * sizeof(uint32_t));
    l->link_at = pool_alloc(l->s.pool, head + l->batch_bytes * l->s.limits.slots);
    if (l->link_at == BUDDY_NONE) {
        log_error("lane", "the pool has no room for a lane's batches", "lane=\"%s\"",
                  l->s.stats->name);
        return -ENOMEM;
    }
    l->link = pool_at(l->s.pool, l->link_at);
    memset(l->link, 0, sizeof *l->link);
    l->batches = (unsigned char *)l->link + head;
    return 0;
}

static int open_all(struct lane *l)
{
    struct trg_device_info info;
    int r;

    trg_device_info(l->s.device, &info);
    l->is_host = info.is_host != 0;
    r = open_link(l);
    if (r < 0)
        return r;
    l->sources = calloc(l->s.limits.max_rois, sizeof *l->sources);
    if (!l->sources)
        return -ENOMEM;
    for (uint32_t i = 0; i < l->s.limits.slots; i++) {
        r = open_slot(l, i);
        if (r < 0)
            return r;
    }
    r = l->plugin->d.create(l->s.host, l->s.menu->steps[l->s.step].params, l->s.device,
                            &l->s.limits, &l->algo);
    if (r < 0)
        return r;
    r = -pthread_create(&l->thread, NULL, lane_run, l);
    if (r < 0)
        return r;
    l->has_thread = true;
    return 0;
}

int lane_open(const struct lane_setup *setup, struct lane **ret_lane)
{
    struct lane *l = calloc(1, sizeof *l);
    int r;

    if (!l)
        return -ENOMEM;
    l->s = *setup;
    l->plugin = setup->menu->steps[setup->step].plugin;
    l->link_at = BUDDY_NONE;
    r = open_all(l);
    if (r < 0) {
        log_error("lane", "cannot open a lane", "lane=\"%s\" error=\"%s\"", setup->stats->name,
                  strerror(-r));
        lane_close(l);
        return r;
    }
    *ret_lane = l;
    return 0;
}

static void close_slot(struct lane_slot *slot)
{
    trg_queue_free(slot->queue);
    trg_event_free(slot->reached);
    for (uint32_t k = 0; k < TRG_INPUTS_MAX; k++) {
        if (slot->dev[k] != slot->host[k])
            trg_buffer_free(slot->dev[k]);
        trg_buffer_free(slot->host[k]);
    }
    free(slot->outputs);
    free(slot->results);
    free(slot->infos);
}

void lane_close(struct lane *l)
{
    if (!l)
        return;
    if (l->has_thread) {
        atomic_store(&l->stop, true);
        ring_wake(&l->link->in);
        pthread_join(l->thread, NULL);
    }
    if (l->algo)
        l->plugin->d.destroy(l->algo);
    for (uint32_t i = 0; i < l->s.limits.slots; i++)
        close_slot(&l->slot[i]);
    free(l->sources);
    if (l->link_at != BUDDY_NONE)
        pool_release(l->s.pool, l->link_at);
    free(l);
}

/* ---------------------------------------------------------------- dispatch's side */

struct lane_batch *lane_begin(struct lane *l)
{
    if (l->taken == l->s.limits.slots)
        return NULL;
    return batch_at(l, (l->first + l->taken) % l->s.limits.slots);
}

void lane_submit(struct lane *l)
{
    ring_push(&l->link->in, (l->first + l->taken++) % l->s.limits.slots);
    ring_wake(&l->link->in);
}

struct lane_batch *lane_finished(struct lane *l)
{
    if (ring_is_empty(&l->link->out))
        return NULL;
    return batch_at(l, l->first);
}

void lane_release(struct lane *l)
{
    uint32_t number;

    ring_pop(&l->link->out, &number);
    l->first = (l->first + 1) % l->s.limits.slots;
    l->taken--;
}

bool lane_has_room(const struct lane *l)
{
    return l->taken < l->s.limits.slots;
}

uint32_t lane_outstanding(const struct lane *l)
{
    return l->taken;
}
