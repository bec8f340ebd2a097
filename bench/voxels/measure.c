/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "bench.h"
#include "clock.h"

#define GIGA 1e9

static double now(const struct work *w)
{
    return 1e-9 * (double)(w->on_host ? clock_thread_ns() : clock_ns());
}

static int time_of(const struct work *w, uint32_t times, double *ret_seconds)
{
    const double begin = now(w);
    const int r = w->run(w->arg, times);

    *ret_seconds = now(w) - begin;
    return r;
}

/* How often it is done so that a run takes the time that is wanted. */
static int find_times(const struct bench *b, const struct work *w, uint32_t *ret_times)
{
    double took = 0;
    int r = w->run(w->arg, 1);

    *ret_times = 1;
    while (r == 0) {
        r = time_of(w, *ret_times, &took);
        if (took > 0.2 * b->seconds || *ret_times > 1u << 24)
            break;
        *ret_times *= 2;
    }
    if (took > 0)
        *ret_times = (uint32_t)(b->seconds / took * *ret_times) + 1u;
    return r;
}

/* Seconds of each run, and how often the work was done in it; nothing where the figure is not
 * asked for. */
static int time_runs(const struct bench *b, const char *figure, const struct work *w,
                     struct result *ret_seconds, uint32_t *ret_times)
{
    struct result seconds = {0};
    int r;

    if (b->match && !strstr(figure, b->match))
        return 0;
    r = find_times(b, w, ret_times);
    for (uint32_t i = 0; r == 0 && i < b->runs; i++) {
        double took;

        r = time_of(w, *ret_times, &took);
        result_add(&seconds, took);
    }
    if (r == 0)
        *ret_seconds = seconds;
    return r;
}

static void report(const struct bench *b, const struct place *p, const char *figure,
                   struct result_figure how, const struct result *values)
{
    char device[160];

    snprintf(device, sizeof device, "%s, %s", p->info.backend, p->info.name);
    how.device = device;
    result_report(&b->out, &how, values, "%s", figure);
}

int measure(const struct bench *b, const struct place *p, const char *figure, const struct work *w,
            double goal, double *ret_per_s)
{
    const struct result_figure how = {
        .unit = "Gvoxel/s", .higher_is_better = true, .goal = goal / GIGA};
    struct result seconds = {0}, rate = {0};
    uint32_t times = 0;
    const int r = time_runs(b, figure, w, &seconds, &times);

    *ret_per_s = 0;
    if (r < 0 || !seconds.n)
        return r;
    for (uint32_t i = 0; i < seconds.n; i++)
        result_add(&rate, w->voxels * times / seconds.run[i] / GIGA);
    *ret_per_s = GIGA * result_median(&rate);
    report(b, p, figure, how, &rate);
    return 0;
}

int measure_time(const struct bench *b, const struct place *p, const char *figure,
                 const struct work *w)
{
    const struct result_figure how = {.unit = "us"};
    struct result seconds = {0}, each = {0};
    uint32_t times = 0;
    const int r = time_runs(b, figure, w, &seconds, &times);

    if (r < 0 || !seconds.n)
        return r;
    for (uint32_t i = 0; i < seconds.n; i++)
        result_add(&each, 1e6 * seconds.run[i] / times);
    report(b, p, figure, how, &each);
    return 0;
}
