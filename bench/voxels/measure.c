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

static void report(const struct bench *b, const struct place *p, const char *figure, double goal,
                   const struct result *per_s)
{
    char device[160];
    struct result scaled = *per_s;

    snprintf(device, sizeof device, "%s, %s", p->info.backend, p->info.name);
    for (uint32_t i = 0; i < scaled.n; i++)
        scaled.run[i] /= GIGA;
    result_report(
        &b->out,
        &(struct result_figure){
            .unit = "Gvoxel/s", .higher_is_better = true, .goal = goal / GIGA, .device = device},
        &scaled, "%s", figure);
}

int measure(const struct bench *b, const struct place *p, const char *figure, const struct work *w,
            double goal, double *ret_per_s)
{
    struct result per_s = {0};
    uint32_t times;
    int r;

    *ret_per_s = 0;
    if (b->match && !strstr(figure, b->match))
        return 0;
    r = find_times(b, w, &times);
    for (uint32_t i = 0; r == 0 && i < b->runs; i++) {
        double seconds;

        r = time_of(w, times, &seconds);
        result_add(&per_s, w->voxels * times / seconds);
    }
    if (r < 0)
        return r;
    *ret_per_s = result_median(&per_s);
    report(b, p, figure, goal, &per_s);
    return 0;
}
