/* SPDX-License-Identifier: Apache-2.0 */
#include "measure.h"

#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "crew.h"

#define FEW      64u /* RoIs that tell how fast it is about */
#define PATIENCE 0.3 /* seconds after which no further run begins */

void report(const struct bench *b, const struct way *w, const struct result *rates)
{
    result_report(
        &b->out,
        &(struct result_figure){.unit = "RoIs/s",
                                .higher_is_better = true,
                                .baseline = "serial brute force, double precision, one core",
                                .baseline_value = w->base,
                                .device = w->device_name},
        rates, "%s, %s", w->figure, w->device_name);
}

/* ---------------------------------------------------------------- lanes */

struct job { /* one lane's share on a device */
    struct batches *batches;
    const struct event *events;
    struct trg_result *results;
    uint32_t n, rounds;
};

static int run_job(void *arg)
{
    const struct job *j = arg;
    int r = 0;

    for (uint32_t i = 0; i < j->rounds && r == 0; i++)
        r = hough_run(j->batches, j->events, j->n, j->results, NULL);
    return r;
}

static enum way_clock clock_for(const struct trg_device_info *info, uint32_t lanes)
{
    if (info->is_host)
        return lanes == 1 ? BY_THREAD : BY_WALL;
    return info->pci[0] ? BY_WALL : BY_PROCESS;
}

struct way way_on(const struct algo_place *p, uint32_t batch, uint32_t lanes,
                  char name[WAY_NAME_BYTES])
{
    snprintf(name, WAY_NAME_BYTES, "%s, %.20s, %u lane%s", p->backend, p->info.name, lanes,
             lanes > 1 ? "s" : "");
    return (struct way){.device_name = name,
                        .device = p->device,
                        .lanes = lanes,
                        .batch = batch,
                        .clock = clock_for(&p->info, lanes)};
}

/* RoIs/s of the lanes with n RoIs each, some times; 0 when one failed. */
static double rate_of(struct job *jobs, const struct way *w, uint32_t n, uint32_t rounds)
{
    struct crew_time time;
    int r;

    for (uint32_t i = 0; i < w->lanes; i++) {
        jobs[i].n = n;
        jobs[i].rounds = rounds;
    }
    r = crew_run(w->lanes, run_job, jobs, sizeof *jobs, &time);
    if (r < 0) {
        fprintf(stderr, "bench_hough: %s: %s\n", w->figure, strerror(-r));
        return 0;
    }
    return (double)w->lanes * rounds * n /
           (w->clock == BY_THREAD    ? time.thread_s
            : w->clock == BY_PROCESS ? time.process_s
                                     : time.wall_s);
}

/* The runs of a figure, after a batch that warms up (drivers translate kernels only then) and one
 * run of few RoIs that tells how many to take; where that takes long already it is all. */
static void run_all(const struct bench *b, struct job *jobs, const struct way *w,
                    const struct sample *s, struct result *rates)
{
    const uint32_t few = w->batch > FEW ? w->batch : FEW, least = few < s->n ? few : s->n;
    const bool is_warm = w->clock == BY_THREAD || rate_of(jobs, w, w->batch, 1) > 0;
    const uint64_t start = clock_ns();
    const double first = is_warm ? rate_of(jobs, w, least, 1) : 0;
    const double fit = first * w->seconds / w->lanes; /* RoIs of a lane in a run */
    const uint32_t n = fit < least ? least : fit < s->n ? (uint32_t)fit : s->n;

    if (first <= 0)
        return;
    if ((double)(clock_ns() - start) * 1e-9 > PATIENCE)
        result_add(rates, first);
    while (rates->n < b->runs &&
           (rates->n == 0 || (double)(clock_ns() - start) * 1e-9 < PATIENCE + b->runs * w->seconds))
        result_add(rates, rate_of(jobs, w, n, (uint32_t)(fit / n) + 1));
}

double measure(const struct bench *b, const struct way *w, const struct hough_config *c,
               const struct sample *s)
{
    struct batches_setup setup = {.device = w->device,
                                  .host = &b->host.host,
                                  .plugin = &b->host.plugin->d,
                                  .config = c,
                                  .slots = 3,
                                  .max_rois = w->batch,
                                  .max_items = w->batch * s->most_hits};
    struct job jobs[LANES_MAX];
    struct result rates = {.n = 0};
    bool good = true;

    if (b->only && !strstr(w->figure, b->only))
        return 0;
    memset(jobs, 0, sizeof jobs);
    for (uint32_t i = 0; i < w->lanes; i++) {
        jobs[i].events = s->events;
        jobs[i].results = calloc(s->n, sizeof *jobs[i].results);
        good &= jobs[i].results && batches_open(&setup, &jobs[i].batches) == 0;
    }
    if (good)
        run_all(b, jobs, w, s, &rates);
    if (rates.n && result_median(&rates) > 0)
        report(b, w, &rates);
    else
        fprintf(stderr, "bench_hough: %s, %s: no room or no answer\n", w->figure, w->device_name);
    for (uint32_t i = 0; i < w->lanes; i++) {
        batches_close(jobs[i].batches);
        free(jobs[i].results);
    }
    return rates.n ? result_median(&rates) : 0;
}

void for_all_devices(const struct bench *b,
                     void (*measure_on)(const struct bench *b, const struct algo_place *p,
                                        void *arg),
                     void *arg)
{
    struct algo_place place[ALGO_PLACES_MAX];
    const uint32_t n = algo_host_places(&b->host, NULL, place);

    for (uint32_t i = 0; i < n; i++)
        if (place[i].index == 0)
            measure_on(b, &place[i], arg);
}
