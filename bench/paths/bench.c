/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"
#include "crew.h"
#include "process.h"

struct algo_host host;
struct bench bench = {.runs = 11, .out = {.bench = "paths", .has_table = true}};
const char *const phase_names[PA_PHASES] = {"starts", "links", "paths", "fit", "products"};

/* ---------------------------------------------------------------- phases */

void set(struct pa_config *c, const char *const *options, const char *growth)
{
    if (algo_configure(host.plugin, NULL, options, c) < 0 ||
        plugin_set(host.plugin, "growth", growth, c, NULL, 0) < 0)
        exit(1);
}

int measure(struct lane *l, struct timing *ret, double *ret_spread)
{
    struct result phase[PA_PHASES] = {{.n = 0}}, wall = {.n = 0};

    for (uint32_t i = 0; i <= bench.runs; i++) { /* the first run warms up */
        struct timing t;

        if (lane_run(l, &t) < 0)
            return -1;
        for (uint32_t k = 0; i && k < PA_PHASES; k++)
            result_add(&phase[k], t.phase[k]);
        if (i)
            result_add(&wall, t.wall);
    }
    for (uint32_t k = 0; k < PA_PHASES; k++)
        ret->phase[k] = result_median(&phase[k]);
    ret->wall = result_median(&wall);
    *ret_spread = result_spread(&wall) / ret->wall;
    return 0;
}

/* ---------------------------------------------------------------- all cores */

struct job {
    struct lane *lane;
    uint32_t rounds;
};

static int work(void *arg)
{
    const struct job *j = arg;
    struct timing t;
    int r = 0;

    for (uint32_t i = 0; r == 0 && i < j->rounds; i++)
        r = lane_run(j->lane, &t);
    return r;
}

/* One round to warm up, then as many as take about 0.3 s; RoIs a second, or 0. */
static double rate_of(struct job *jobs, uint32_t lanes, uint32_t rois, double once_us)
{
    struct crew_time time;

    for (int is_warm = 0; is_warm < 2; is_warm++) {
        for (uint32_t i = 0; i < lanes; i++)
            jobs[i].rounds = is_warm ? (uint32_t)(300e3 / once_us) + 1 : 1;
        if (crew_run(lanes, work, jobs, sizeof *jobs, &time) < 0)
            return 0;
    }
    return (double)lanes * jobs[0].rounds * rois / time.wall_s;
}

void side_by_side(const struct sample *s, uint32_t n, double once_us)
{
    struct job job[CREW_MAX];
    struct trg_device *cpu;
    struct pa_config c;
    uint32_t opened = 0;
    double rate = 0;

    n = n < CREW_MAX ? n : CREW_MAX;
    set(&c, s->options, "auto");
    if (backends_device(host.backends, "cpu", 0, &cpu) < 0)
        return;
    while (opened < n && lane_open(&host, cpu, &c, s->rois, s->n, &job[opened].lane) == 0)
        opened++;
    if (opened == n)
        rate = rate_of(job, n, s->n, once_us);
    if (rate > 0) {
        printf("%-14s %4u %-8s %u lanes on %u cores: %.0f RoIs/s\n", s->name, s->n, "auto", n,
               process_cores(CREW_MAX), rate);
        result_report_value(&bench.out,
                            &(struct result_figure){.unit = "RoIs/s", .higher_is_better = true},
                            rate, 0, bench.runs, "%s, %u RoIs, %u lanes on %u cores", s->name, s->n,
                            n, process_cores(CREW_MAX));
    }
    while (opened)
        lane_close(job[--opened].lane);
}
