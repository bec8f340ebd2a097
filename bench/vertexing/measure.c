/* SPDX-License-Identifier: Apache-2.0 */
#include "measure.h"

#include <stdio.h>
#include <string.h>

#include "clock.h"
#include "crew.h"

#define RUNS_MAX 15u

struct share { /* of one thread */
    const struct work *work;
    uint32_t times;
};

static int run_share(void *arg)
{
    const struct share *s = arg;

    return s->work->run(s->work->arg, s->times);
}

/* Time in us of `times` times on all threads. */
static int once(const struct work *w, uint32_t threads, uint32_t times, double *ret_us)
{
    struct share share[CREW_MAX];
    struct crew_time time;
    int r;

    for (uint32_t i = 0; i < threads; i++)
        share[i] = (struct share){&w[i], times};
    r = crew_run(threads, run_share, share, sizeof *share, &time);
    *ret_us = 1e6 * (threads == 1 && w[0].on_host ? time.thread_s : time.wall_s);
    return r;
}

bool is_wanted(const struct bench *b, const char *what)
{
    return !b->match || strstr(what, b->match);
}

int measure_all(const struct bench *b, const struct work *w, uint32_t threads,
                struct timing *ret_timing)
{
    const double end = (double)clock_ns() * 1e-3 + 1e3 * b->cell_ms;
    struct result us = {.n = 0};
    uint32_t times = 1;
    double one;
    int r;

    threads = threads < CREW_MAX ? threads : CREW_MAX;
    for (;;) { /* warms up, and finds out how often */
        r = once(w, threads, times, &one);
        if (r < 0)
            return r;
        if (one >= 1e3 * b->min_ms || times > 1u << 24 || (double)clock_ns() * 1e-3 > end)
            break;
        times *= one < 100 * b->min_ms ? 8 : 2;
    }
    do {
        r = once(w, threads, times, &one);
        if (r < 0)
            return r;
        result_add(&us, one / times);
    } while (us.n < b->runs && us.n < RUNS_MAX && (double)clock_ns() * 1e-3 < end);
    *ret_timing =
        (struct timing){result_median(&us), 2 * result_spread(&us) / result_median(&us), us.n};
    return 0;
}

int measure(const struct bench *b, const struct work *w, struct timing *ret_timing)
{
    return measure_all(b, w, 1, ret_timing);
}

/* ---------------------------------------------------------------- figures */

void report(const struct bench *b, const struct figure *f)
{
    result_report_value(&b->out,
                        &(struct result_figure){.unit = f->unit,
                                                .higher_is_better = true,
                                                .baseline = "serial double precision, one core",
                                                .baseline_value = f->serial_per_s,
                                                .device = f->device},
                        f->per_s, 0.5 * f->t.spread * f->per_s, f->t.runs, "%s, %s", f->what,
                        f->device);
}

void device_name(struct trg_device *device, char *text, size_t bytes)
{
    struct trg_device_info info;

    trg_device_info(device, &info);
    snprintf(text, bytes, "%s, %.24s", info.backend, info.name);
}
