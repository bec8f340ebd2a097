/* SPDX-License-Identifier: Apache-2.0 */
#include "lanes.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "exec/stage.h"

struct slot {
    struct trg_queue *queue;
    struct trg_event *reached;
    struct trg_buffer *host, *dev; /* one buffer on the CPU */
    struct trg_batch batch;
    struct trg_roi_info *infos;
    struct trg_result *results;
    struct trg_output *outputs[TRG_OUTPUTS_MAX]; /* nobody wants them: no capacity */
    size_t bytes;                                /* of the staged input */
    uint64_t begun_ns;
};

struct lane {
    const struct lanes *all;
    uint32_t number;
    struct trg_algo *algo;
    struct slot slot[LANES_SLOTS_MAX];
    struct stage_source *sources;
    uint32_t next; /* RoI that is gathered next */
    pthread_t thread;
    uint32_t most_batches; /* 0: until the time is up */
    uint64_t rois, bytes, batches, busy_ns;
    uint64_t from_ns, to_ns;
    int result;
};

struct lanes {
    struct lanes_setup s;
    bool is_host;
    uint32_t max_items, max_items_roi;
    struct lane lane[LANES_MAX];
    pthread_barrier_t barrier;
    bool has_barrier;
    uint64_t run_ns;
};

static uint32_t most_outputs(const struct lanes *l)
{
    return l->s.plugin->n_outputs;
}

/* Puts the next RoIs into the slot's pinned memory. */
static void gather(struct lane *w, struct slot *s)
{
    const struct lanes_setup *o = &w->all->s;
    const enum trg_kind kind = o->plugin->d.consumes[0];
    const struct trg_kind_info *info = trg_kind_info(kind);

    for (uint32_t i = 0; i < o->batch; i++) {
        const struct generated *g = &o->rois[w->next];

        s->infos[i] = g->info;
        w->sources[i].n = g->n;
        for (uint32_t c = 0; c < info->n_columns; c++)
            w->sources[i].column[c] = generated_column(g, c);
        w->next = w->next + 1 == o->n_rois ? 0 : w->next + 1;
    }
    s->bytes = stage_fill(kind, o->batch, s->infos, w->sources, trg_buffer_host(s->host),
                          &s->batch.in[0].span);
}

static int copy_in(const struct lane *w, const struct slot *s)
{
    return w->all->is_host ? 0 : trg_write(s->queue, s->dev, 0, s->host, 0, s->bytes);
}

static int open_slot(struct lane *w, uint32_t number)
{
    const struct lanes_setup *o = &w->all->s;
    struct slot *s = &w->slot[number];
    size_t bytes = stage_bytes(o->plugin->d.consumes[0], o->batch, w->all->max_items);
    int r;

    s->infos = calloc(o->batch, sizeof *s->infos);
    s->results = calloc(o->batch, sizeof *s->results);
    if (!s->infos || !s->results)
        return -ENOMEM;
    for (uint32_t k = 0; k < most_outputs(w->all); k++) {
        s->outputs[k] = calloc(o->batch, sizeof **s->outputs);
        if (!s->outputs[k])
            return -ENOMEM;
    }
    r = trg_queue_new(o->device, &s->queue);
    if (r == 0 && o->trace)
        trace_queue(o->trace, s->queue, w->number * o->slots + number);
    if (r == 0)
        r = trg_event_new(o->device, &s->reached);
    if (r == 0)
        r = trg_buffer_new(o->device, TRG_MEM_PINNED, bytes, &s->host);
    s->dev = s->host;
    if (r == 0 && !w->all->is_host)
        r = trg_buffer_new(o->device, TRG_MEM_DEVICE, bytes, &s->dev);
    if (r < 0)
        return r;
    s->batch = (struct trg_batch){
        .slot = number, .n_rois = o->batch, .rois = s->infos, .results = s->results};
    memcpy(s->batch.outputs, s->outputs, sizeof s->outputs);
    s->batch.in[0].kind = o->plugin->d.consumes[0];
    s->batch.in[0].host = trg_buffer_host(s->host);
    s->batch.in[0].dev = s->dev;
    gather(w, s);
    r = copy_in(w, s);
    return r < 0 ? r : trg_finish(s->queue);
}

static int open_lane(struct lanes *l, uint32_t number)
{
    struct lane *w = &l->lane[number];
    const struct trg_limits limits = {.size = sizeof limits,
                                      .slots = l->s.slots,
                                      .max_rois = l->s.batch,
                                      .max_items = l->max_items,
                                      .max_items_roi = l->max_items_roi};
    int r = 0;

    w->all = l;
    w->number = number;
    w->next = (uint32_t)((uint64_t)number * l->s.n_rois / l->s.lanes);
    w->sources = calloc(l->s.batch, sizeof *w->sources);
    if (!w->sources)
        return -ENOMEM;
    for (uint32_t i = 0; r == 0 && i < l->s.slots; i++)
        r = open_slot(w, i);
    if (r == 0)
        r = l->s.plugin->d.create(l->s.host, l->s.params, l->s.device, &limits, &w->algo);
    return r;
}

static int refuse(const struct lanes_setup *s, char *why, size_t bytes)
{
    const struct plugin *p = s->plugin;

    why[0] = '\0';
    if (p->n_inputs != 1)
        snprintf(why, bytes, "plugin %s has %u inputs; only those with one are measured", p->d.name,
                 p->n_inputs);
    else if (!s->n_rois || s->rois[0].kind != p->d.consumes[0])
        snprintf(why, bytes, "plugin %s consumes %s, which this sample does not hold", p->d.name,
                 trg_kind_info(p->d.consumes[0])->name);
    else if (!s->lanes || s->lanes > LANES_MAX || !s->slots || s->slots > LANES_SLOTS_MAX)
        snprintf(why, bytes, "1 to %u lanes with 1 to %u slots can be measured", LANES_MAX,
                 LANES_SLOTS_MAX);
    return why[0] ? -EINVAL : 0;
}

int lanes_open(const struct lanes_setup *setup, struct lanes **ret_lanes, char *why,
               size_t why_bytes)
{
    struct trg_device_info info;
    struct lanes *l;
    int r = refuse(setup, why, why_bytes);

    if (r < 0)
        return r;
    l = calloc(1, sizeof *l);
    if (!l)
        return -ENOMEM;
    l->s = *setup;
    trg_device_info(setup->device, &info);
    l->is_host = info.is_host != 0;
    for (uint32_t i = 0; i < setup->n_rois; i++)
        if (setup->rois[i].n > l->max_items_roi)
            l->max_items_roi = setup->rois[i].n;
    l->max_items = setup->batch * l->max_items_roi;
    for (uint32_t i = 0; r == 0 && i < setup->lanes; i++)
        r = open_lane(l, i);
    if (r == 0)
        r = -pthread_barrier_init(&l->barrier, NULL, setup->lanes);
    l->has_barrier = r == 0;
    if (r < 0) {
        snprintf(why, why_bytes, "cannot open the lanes: %s", strerror(-r));
        lanes_close(l);
        return r;
    }
    *ret_lanes = l;
    return 0;
}

static void close_slot(struct slot *s)
{
    trg_queue_free(s->queue);
    trg_event_free(s->reached);
    if (s->dev != s->host)
        trg_buffer_free(s->dev);
    trg_buffer_free(s->host);
    free(s->infos);
    free(s->results);
    for (uint32_t k = 0; k < TRG_OUTPUTS_MAX; k++)
        free(s->outputs[k]);
}

void lanes_close(struct lanes *l)
{
    if (!l)
        return;
    for (uint32_t i = 0; i < l->s.lanes; i++) {
        l->s.plugin->d.destroy(l->lane[i].algo);
        for (uint32_t k = 0; k < l->s.slots; k++)
            close_slot(&l->lane[i].slot[k]);
        free(l->lane[i].sources);
    }
    if (l->has_barrier)
        pthread_barrier_destroy(&l->barrier);
    free(l);
}

/* ---------------------------------------------------------------- running */

static int begin(struct lane *w, struct slot *s)
{
    const struct lanes_setup *o = &w->all->s;
    uint64_t before = clock_ns(), gathered;
    int r = 0;

    s->begun_ns = before;
    if (o->copies == LANES_GATHER)
        gather(w, s);
    gathered = clock_ns();
    if (o->copies != LANES_DEVICE)
        r = copy_in(w, s);
    memset(s->results, 0, o->batch * sizeof *s->results);
    if (r == 0)
        r = o->plugin->d.submit(w->algo, &s->batch, s->queue);
    if (r == 0)
        r = trg_event_record(s->queue, s->reached);
    if (r == 0)
        r = trg_flush(s->queue);
    if (o->trace) {
        if (o->copies == LANES_GATHER)
            trace_host(o->trace, w->number, "gather", before, gathered);
        trace_host(o->trace, w->number, "submit", gathered, clock_ns());
    }
    return r;
}

static int end(struct lane *w, struct slot *s)
{
    const struct lanes_setup *o = &w->all->s;
    int r = trg_event_wait(s->reached);
    uint64_t reached = clock_ns(), now;

    if (r == 0)
        r = o->plugin->d.collect(w->algo, &s->batch);
    now = clock_ns();
    trace_host(o->trace, w->number, "collect", reached, now);
    w->busy_ns += now - s->begun_ns;
    w->rois += o->batch;
    w->bytes += s->bytes;
    w->batches++;
    return r;
}

static void *run_lane(void *arg)
{
    struct lane *w = arg;
    const uint32_t slots = w->all->s.slots;
    uint64_t begun = 0, ended = 0, stop;

    w->result = 0;
    pthread_barrier_wait((pthread_barrier_t *)&w->all->barrier);
    w->from_ns = clock_ns();
    stop = w->from_ns + w->all->run_ns;
    for (;;) {
        bool more = w->most_batches ? begun < w->most_batches : clock_ns() < stop;
        int r;

        if (more && begun - ended < slots) {
            r = begin(w, &w->slot[begun % slots]);
            begun++;
        } else if (ended < begun) {
            r = end(w, &w->slot[ended % slots]);
            ended++;
        } else {
            break;
        }
        if (r < 0) {
            w->result = r;
            break;
        }
    }
    w->to_ns = clock_ns();
    return NULL;
}

static int run_all(struct lanes *l, uint64_t ns, uint32_t batches)
{
    int r = 0;

    l->run_ns = ns;
    for (uint32_t i = 0; i < l->s.lanes; i++) {
        struct lane *w = &l->lane[i];

        w->most_batches = batches;
        w->rois = w->bytes = w->batches = w->busy_ns = 0;
        if (pthread_create(&w->thread, NULL, run_lane, w)) {
            fprintf(stderr, "trigbench: no thread for lane %u\n", i);
            exit(1); /* the others wait for it at the barrier */
        }
    }
    for (uint32_t i = 0; i < l->s.lanes; i++) {
        pthread_join(l->lane[i].thread, NULL);
        r = r < 0 ? r : l->lane[i].result;
        for (uint32_t k = 0; k < l->s.slots; k++) {
            int e = trg_finish(l->lane[i].slot[k].queue);

            r = r < 0 ? r : e;
        }
    }
    return r;
}

int lanes_run_batches(struct lanes *l, uint32_t batches)
{
    return run_all(l, 0, batches);
}

int lanes_run(struct lanes *l, double seconds, struct lanes_rate *ret_rate)
{
    struct lanes_rate rate = {0};
    uint64_t batches = 0, busy_ns = 0;
    int r = run_all(l, 0, l->s.slots);

    if (r == 0)
        r = run_all(l, (uint64_t)(seconds * 1e9), 0);
    if (r < 0)
        return r;
    for (uint32_t i = 0; i < l->s.lanes; i++) {
        const struct lane *w = &l->lane[i];
        double s = (double)(w->to_ns - w->from_ns) * 1e-9;

        rate.rois_per_s += (double)w->rois / s;
        rate.bytes_per_s += (double)w->bytes / s;
        batches += w->batches;
        busy_ns += w->busy_ns;
    }
    rate.batch_us = batches ? (double)busy_ns * 1e-3 / (double)batches : 0;
    *ret_rate = rate;
    return 0;
}
