/* SPDX-License-Identifier: Apache-2.0 */
#include "phases.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "drive.h"

struct lane {
    struct pa_pipeline pipeline;
    struct drive *drive; /* of one slot, without an algo */
    struct drive_slot *slot;
    struct trg_event *mark[PA_PHASES + 1];
    struct reading { /* CPU time of the thread in a phase, and when it ended */
        struct lane *lane;
        double us;
    } reading[PA_PHASES + 1];
    double last_us;
    clockid_t clock; /* see struct timing */
};

static struct trg_limits limits_of(const struct roi *rois, uint32_t n)
{
    uint32_t items[2] = {0}, most;

    for (uint32_t i = 0; i < n; i++) {
        items[0] += rois[i].n_hits;
        items[1] += rois[i].n_doublets;
    }
    most = items[0] > items[1] ? items[0] : items[1];
    return (struct trg_limits){.size = sizeof(struct trg_limits),
                               .slots = 1,
                               .max_rois = n,
                               .max_items = most,
                               .max_items_roi = most};
}

static void gather(struct lane *l, const struct roi *rois, uint32_t n)
{
    for (uint32_t k = 0; k < l->drive->n_inputs; k++)
        for (uint32_t i = 0; i < n; i++)
            l->drive->sources[k][i] =
                l->drive->consumes[k] == TRG_DOUBLETS
                    ? (struct stage_source){.n = rois[i].n_doublets,
                                            .column = {rois[i].inner, rois[i].outer}}
                    : (struct stage_source){
                          .n = rois[i].n_hits,
                          .column = {rois[i].x, rois[i].y, rois[i].z, rois[i].layer, rois[i].id}};
    for (uint32_t k = 0; k < l->drive->n_outputs; k++)
        for (uint32_t i = 0; i < n; i++)
            l->slot->batch.outputs[k][i].capacity = 1; /* the columns are wanted */
    drive_gather(l->drive, l->slot, n);
}

int lane_open(const struct algo_host *h, struct trg_device *device, const struct pa_config *config,
              const struct roi *rois, uint32_t n, struct lane **ret_lane)
{
    const struct drive_setup setup = {.host = &h->host,
                                      .plugin = &h->plugin->d,
                                      .config = config,
                                      .device = device,
                                      .limits = limits_of(rois, n)};
    struct lane *l = calloc(1, sizeof *l);
    struct trg_device_info info;
    int r;

    if (!l)
        return -ENOMEM;
    trg_device_info(device, &info);
    l->clock = info.is_host  ? CLOCK_THREAD_CPUTIME_ID
               : info.pci[0] ? CLOCK_MONOTONIC
                             : CLOCK_PROCESS_CPUTIME_ID;
    r = drive_open(&setup, &l->drive);
    if (r == 0)
        r = pa_open(&l->pipeline, &h->host, config, device, &setup.limits);
    for (uint32_t i = 0; r == 0 && i <= PA_PHASES; i++)
        r = trg_event_new(device, &l->mark[i]);
    if (r < 0) {
        lane_close(l);
        return r;
    }
    l->slot = &l->drive->slot[0];
    gather(l, rois, n);
    *ret_lane = l;
    return 0;
}

void lane_close(struct lane *l)
{
    if (!l)
        return;
    pa_close(&l->pipeline);
    for (uint32_t i = 0; i <= PA_PHASES; i++)
        trg_event_free(l->mark[i]);
    drive_close(l->drive);
    free(l);
}

void lane_width(struct lane *l, uint32_t units, uint32_t portion)
{
    l->pipeline.device.units = units ? units : l->pipeline.device.units;
    l->pipeline.par.portion = portion ? portion : l->pipeline.par.portion;
}

void lane_rounds(struct lane *l, uint32_t rounds)
{
    l->pipeline.rounds = rounds;
}

static double clock_us(clockid_t clock)
{
    struct timespec t;

    clock_gettime(clock, &t);
    return 1e6 * (double)t.tv_sec + 1e-3 * (double)t.tv_nsec;
}

/* Adds to a phase what has passed since the mark before; reading 0 is where phases begin. */
static void read_clock(void *reading)
{
    struct reading *r = reading;
    double now = clock_us(r->lane->clock);

    r->us += now - r->lane->last_us;
    r->lane->last_us = now;
}

static int mark(void *ctx, struct trg_queue *q, uint32_t i)
{
    struct lane *l = ctx;
    int r;

    if (l->drive->is_host)
        return trg_host_call(q, read_clock, &l->reading[i]);
    if (l->clock == CLOCK_MONOTONIC)
        return trg_event_record(q, l->mark[i]);
    r = trg_finish(q);
    read_clock(&l->reading[i]);
    return r;
}

static int phase_us(const struct lane *l, uint32_t phase, double *ret_us)
{
    if (l->clock == CLOCK_MONOTONIC)
        return trg_event_elapsed(l->mark[phase], l->mark[phase + 1], ret_us);
    *ret_us = l->reading[phase + 1].us;
    return 0;
}

int lane_run(struct lane *l, struct timing *ret_timing)
{
    const struct pa_watcher watcher = {mark, l};
    double start = clock_us(l->clock);
    int r;

    for (uint32_t i = 0; i <= PA_PHASES; i++)
        l->reading[i] = (struct reading){.lane = l};
    r = drive_copy_in(l->drive, l->slot);
    if (r == 0)
        r = pa_enqueue(&l->pipeline, &l->slot->batch, l->slot->queue, &watcher);
    if (r == 0)
        r = trg_finish(l->slot->queue);
    ret_timing->wall = clock_us(l->clock) - start;
    for (uint32_t i = 0; r == 0 && i < PA_PHASES; i++)
        r = phase_us(l, i, &ret_timing->phase[i]);
    return r;
}

void lane_counts(const struct lane *l, struct pa_summary *ret_sum)
{
    const struct pa_summary *s = trg_buffer_host(l->pipeline.slot[0].summary_host);

    memset(ret_sum, 0, sizeof *ret_sum);
    for (uint32_t i = 0; i < l->slot->batch.n_rois; i++) {
        ret_sum->n_doublets += s[i].n_doublets;
        ret_sum->n_links = pa_add(ret_sum->n_links, s[i].n_links);
        ret_sum->n_paths = pa_add(ret_sum->n_paths, s[i].n_paths);
        ret_sum->n_paths_kept += s[i].n_paths_kept;
        ret_sum->n_candidates_kept += s[i].n_candidates_kept;
    }
}
