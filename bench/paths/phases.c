/* SPDX-License-Identifier: Apache-2.0 */
#include "phases.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "exec/stage.h"

struct lane {
    struct pa_pipeline pipeline;
    struct trg_queue *queue;
    struct trg_event *mark[PA_PHASES + 1];
    struct reading { /* CPU time of the thread in a phase, and when it ended */
        struct lane *lane;
        double us;
    } reading[PA_PHASES + 1];
    double last_us;
    struct trg_buffer *host[2], *dev[2];
    size_t bytes[2];
    struct trg_batch batch;
    struct trg_roi_info *infos;
    struct trg_output *outputs;
    bool is_host;
    clockid_t clock; /* see struct timing */
};

static const enum trg_kind kinds[2] = {TRG_HITS, TRG_DOUBLETS};

static uint32_t most_items(const struct roi *rois, uint32_t n)
{
    uint32_t items[2] = {0};

    for (uint32_t i = 0; i < n; i++) {
        items[0] += rois[i].n_hits;
        items[1] += rois[i].n_doublets;
    }
    return items[0] > items[1] ? items[0] : items[1];
}

static int stage(struct lane *l, struct trg_device *device, const struct roi *rois, uint32_t n,
                 uint32_t k)
{
    struct stage_source *sources = calloc(n, sizeof *sources);
    size_t bytes = stage_bytes(kinds[k], n, most_items(rois, n));
    int r = sources ? trg_buffer_new(device, TRG_MEM_PINNED, bytes, &l->host[k]) : -ENOMEM;

    for (uint32_t i = 0; r == 0 && i < n; i++)
        sources[i] = k ? (struct stage_source){.n = rois[i].n_doublets,
                                               .column = {rois[i].inner, rois[i].outer}}
                       : (struct stage_source){.n = rois[i].n_hits,
                                               .column = {rois[i].x, rois[i].y, rois[i].z,
                                                          rois[i].layer, rois[i].id}};
    l->dev[k] = l->host[k];
    if (r == 0 && !l->is_host)
        r = trg_buffer_new(device, TRG_MEM_DEVICE, bytes, &l->dev[k]);
    if (r == 0) {
        l->bytes[k] = stage_fill(kinds[k], n, l->infos, sources, trg_buffer_host(l->host[k]),
                                 &l->batch.in[k].span);
        l->batch.in[k].kind = kinds[k];
        l->batch.in[k].host = trg_buffer_host(l->host[k]);
        l->batch.in[k].dev = l->dev[k];
    }
    free(sources);
    return r;
}

int lane_open(const struct algo_host *h, struct trg_device *device, const struct pa_config *config,
              const struct roi *rois, uint32_t n, struct lane **ret_lane)
{
    struct trg_limits limits = {.size = sizeof limits,
                                .slots = 1,
                                .max_rois = n,
                                .max_items = most_items(rois, n),
                                .max_items_roi = most_items(rois, n)};
    struct lane *l = calloc(1, sizeof *l);
    struct trg_device_info info;
    int r;

    if (!l)
        return -ENOMEM;
    trg_device_info(device, &info);
    l->is_host = info.is_host != 0;
    l->clock = l->is_host    ? CLOCK_THREAD_CPUTIME_ID
               : info.pci[0] ? CLOCK_MONOTONIC
                             : CLOCK_PROCESS_CPUTIME_ID;
    l->infos = calloc(n, sizeof *l->infos);
    l->outputs = calloc(n, sizeof *l->outputs);
    r = l->infos && l->outputs ? pa_open(&l->pipeline, &h->host, config, device, &limits) : -ENOMEM;
    if (r == 0)
        r = trg_queue_new(device, &l->queue);
    for (uint32_t i = 0; r == 0 && i <= PA_PHASES; i++)
        r = trg_event_new(device, &l->mark[i]);
    l->batch = (struct trg_batch){.n_rois = n, .rois = l->infos};
    for (uint32_t k = 0; r == 0 && k < 2; k++)
        r = stage(l, device, rois, n, k);
    l->batch.outputs[0] = l->batch.outputs[1] = l->outputs;
    for (uint32_t i = 0; r == 0 && i < n; i++)
        l->outputs[i].capacity = 1; /* the columns are wanted */
    if (r < 0) {
        lane_close(l);
        return r;
    }
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
    trg_queue_free(l->queue);
    for (uint32_t k = 0; k < 2; k++) {
        if (l->dev[k] != l->host[k])
            trg_buffer_free(l->dev[k]);
        trg_buffer_free(l->host[k]);
    }
    free(l->infos);
    free(l->outputs);
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

    if (l->is_host)
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
    int r = 0;

    for (uint32_t i = 0; i <= PA_PHASES; i++)
        l->reading[i] = (struct reading){.lane = l};
    for (uint32_t k = 0; r == 0 && k < 2 && !l->is_host; k++)
        r = trg_write(l->queue, l->dev[k], 0, l->host[k], 0, l->bytes[k]);
    if (r == 0)
        r = pa_enqueue(&l->pipeline, &l->batch, l->queue, &watcher);
    if (r == 0)
        r = trg_finish(l->queue);
    ret_timing->wall = clock_us(l->clock) - start;
    for (uint32_t i = 0; r == 0 && i < PA_PHASES; i++)
        r = phase_us(l, i, &ret_timing->phase[i]);
    return r;
}

void lane_counts(const struct lane *l, struct pa_summary *ret_sum)
{
    const struct pa_summary *s = trg_buffer_host(l->pipeline.slot[0].summary_host);

    memset(ret_sum, 0, sizeof *ret_sum);
    for (uint32_t i = 0; i < l->batch.n_rois; i++) {
        ret_sum->n_doublets += s[i].n_doublets;
        ret_sum->n_links = pa_add(ret_sum->n_links, s[i].n_links);
        ret_sum->n_links_kept += s[i].n_links_kept;
        ret_sum->n_paths = pa_add(ret_sum->n_paths, s[i].n_paths);
        ret_sum->n_paths_kept += s[i].n_paths_kept;
        ret_sum->n_candidates_kept += s[i].n_candidates_kept;
    }
}
