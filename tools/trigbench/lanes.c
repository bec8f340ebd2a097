/* SPDX-License-Identifier: Apache-2.0 */
#include "lanes.h"

#include <errno.h>
#include <stdlib.h>

#include "clock.h"
#include "crew.h"
#include "drive.h"
#include "pulled.h"

struct lane {
    const struct lanes *all;
    uint32_t number;
    struct drive *drive;
    uint32_t next; /* RoI that is gathered next */
    uint64_t begun_ns[TRG_SLOTS_MAX];
    uint64_t begun, rois, bytes, batches, busy_ns; /* of the run */
    uint64_t from_ns, to_ns;
};

struct lanes {
    struct lanes_setup s;
    struct lane lane[LANES_MAX];
    struct pulled *pulled; /* NULL: copies are others */
    uint64_t run_ns;       /* of the run, if ... */
    uint32_t most_batches; /* ... this is 0 */
};

/* ---------------------------------------------------------------- opening */

/* Bounds for batches of consecutive RoIs, which may begin with any. */
static struct trg_limits limits_of(const struct lanes_setup *s)
{
    struct trg_limits limits = {.size = sizeof limits, .slots = s->slots, .max_rois = s->batch};

    for (uint32_t k = 0; k < s->plugin->n_inputs; k++) {
        uint64_t items = 0;

        for (uint64_t i = 0; i < (uint64_t)s->n_rois + s->batch; i++) {
            const uint32_t n = s->rois[i % s->n_rois].input[k].n;

            items += n;
            if (i >= s->batch)
                items -= s->rois[(i - s->batch) % s->n_rois].input[k].n;
            limits.max_items_roi = n > limits.max_items_roi ? n : limits.max_items_roi;
            limits.max_items = items > limits.max_items ? (uint32_t)items : limits.max_items;
        }
    }
    return limits;
}

/* Puts the next RoIs into the slot's pinned memory. */
static void gather(struct lane *w, struct drive_slot *s)
{
    const struct lanes_setup *o = &w->all->s;

    for (uint32_t i = 0; i < o->batch; i++) {
        const struct lanes_roi *roi = &o->rois[w->next];

        s->infos[i] = roi->info;
        for (uint32_t k = 0; k < w->drive->n_inputs; k++)
            w->drive->sources[k][i] = roi->input[k];
        w->next = w->next + 1 == o->n_rois ? 0 : w->next + 1;
    }
    drive_gather(w->drive, s, o->batch);
}

static int fill_slot(struct lane *w, struct drive_slot *s)
{
    const struct lanes_setup *o = &w->all->s;
    int r;

    if (o->trace)
        trace_queue(o->trace, s->queue, w->number * o->slots + s->batch.slot);
    gather(w, s);
    r = drive_copy_in(w->drive, s);
    return r < 0 ? r : trg_finish(s->queue);
}

static int open_lane(struct lanes *l, uint32_t number)
{
    struct lane *w = &l->lane[number];
    const struct drive_setup setup = {.host = l->s.host,
                                      .plugin = &l->s.plugin->d,
                                      .config = l->s.params,
                                      .device = l->s.device,
                                      .limits = limits_of(&l->s)};
    int r = drive_open(&setup, &w->drive);

    w->all = l;
    w->number = number;
    w->next = (uint32_t)((uint64_t)number * l->s.n_rois / l->s.lanes);
    for (uint32_t i = 0; r == 0 && i < l->s.slots; i++)
        r = fill_slot(w, &w->drive->slot[i]);
    return r < 0 ? r : drive_create(w->drive);
}

int lanes_open(const struct lanes_setup *setup, struct lanes **ret_lanes)
{
    struct lanes *l = calloc(1, sizeof *l);
    int r = 0;

    if (!l)
        return -ENOMEM;
    l->s = *setup;
    if (setup->copies == LANES_PULL)
        r = pulled_open(setup, &l->pulled);
    for (uint32_t i = 0; r == 0 && i < setup->lanes; i++)
        r = open_lane(l, i);
    if (r < 0) {
        lanes_close(l);
        return r;
    }
    *ret_lanes = l;
    return 0;
}

void lanes_close(struct lanes *l)
{
    if (!l)
        return;
    for (uint32_t i = 0; i < l->s.lanes; i++)
        drive_close(l->lane[i].drive);
    pulled_close(l->pulled);
    free(l);
}

/* ---------------------------------------------------------------- running */

/* Has the next RoIs, or those of the slot, on their way to the device. */
static int copy_in(struct lane *w, struct drive_slot *s)
{
    const struct lanes *l = w->all;
    const uint32_t first = w->next;

    if (l->s.copies == LANES_DEVICE)
        return 0;
    if (l->s.copies != LANES_PULL)
        return drive_copy_in(w->drive, s);
    for (uint32_t i = 0; i < l->s.batch; i++)
        s->infos[i] = l->s.rois[(first + i) % l->s.n_rois].info;
    w->next = (first + l->s.batch) % l->s.n_rois;
    return pulled_copy_in(l->pulled, w->drive, s, first, l->s.batch);
}

static int begin(void *ctx, struct drive_slot *s)
{
    struct lane *w = ctx;
    const struct lanes *l = w->all;
    const uint64_t before = clock_ns();
    uint64_t gathered;
    int r;

    if (l->most_batches ? w->begun == l->most_batches : before >= w->from_ns + l->run_ns)
        return 0;
    w->begun++;
    w->begun_ns[s->batch.slot] = before;
    if (l->s.copies == LANES_GATHER)
        gather(w, s);
    gathered = clock_ns();
    r = copy_in(w, s);
    if (r == 0)
        r = drive_submit(w->drive, s);
    if (l->s.trace) {
        if (l->s.copies == LANES_GATHER)
            trace_host(l->s.trace, w->number, "gather", before, gathered);
        trace_host(l->s.trace, w->number, "submit", gathered, clock_ns());
    }
    return r < 0 ? r : 1;
}

static int end(void *ctx, struct drive_slot *s)
{
    struct lane *w = ctx;
    int r = trg_event_wait(s->reached);
    const uint64_t reached = clock_ns();
    uint64_t now;

    if (r == 0)
        r = drive_collect(w->drive, s);
    now = clock_ns();
    trace_host(w->all->s.trace, w->number, "collect", reached, now);
    w->busy_ns += now - w->begun_ns[s->batch.slot];
    w->rois += s->batch.n_rois;
    for (uint32_t k = 0; k < w->drive->n_inputs; k++)
        w->bytes += s->staged[k];
    w->batches++;
    return r;
}

static int run_lane(void *arg)
{
    struct lane *w = arg;
    int r;

    w->begun = w->rois = w->bytes = w->batches = w->busy_ns = 0;
    w->from_ns = clock_ns();
    r = drive_run(
        w->drive,
        &(struct drive_loop){.begin = begin, .end = end, .ctx = w, .in_flight = w->all->s.slots});
    w->to_ns = clock_ns();
    return r;
}

static int run_all(struct lanes *l, uint64_t ns, uint32_t batches)
{
    struct crew_time time;

    l->run_ns = ns;
    l->most_batches = batches;
    return crew_run(l->s.lanes, run_lane, l->lane, sizeof *l->lane, &time);
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
