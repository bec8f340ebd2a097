/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "bench.h"
#include "crew.h"
#include "process.h"

/* One point of a curve: phases `first` to `last`, us for each RoI. */
static void point(const struct sample *s, struct lane *l, const char *device, const char *what,
                  uint32_t n, enum pa_phase first, enum pa_phase last)
{
    const struct result_figure f = {.unit = "us", .device = device};
    struct timing t;
    double spread;

    if (measure(l, &t, &spread) < 0)
        return;
    printf("%-14s %4u %-26.26s %-12s %6u", s->name, s->n, device, what, n);
    for (uint32_t k = first; k <= last; k++) {
        printf(" %10.1f", t.phase[k] / s->n);
        result_report_value(&bench.out, &f, t.phase[k] / s->n, spread * t.phase[k] / s->n,
                            bench.runs, "curve: %s, %u RoIs, %s, %s %u: %s, each RoI", s->name,
                            s->n, device, what, n, phase_names[k]);
    }
    printf("\n");
    fflush(stdout);
}

static void on_gpu(const struct sample *s, const struct algo_place *p)
{
    const struct trg_device_info info = p->info;
    struct pa_config c;
    struct lane *l;
    char name[64];

    snprintf(name, sizeof name, "%s %.40s", p->backend, info.name);
    set(&c, s->options, "auto");
    c.choice = PA_CHOOSE_DEVICE; /* with as many rounds as the curve says */
    if (lane_open(&host, p->device, &c, s->rois, s->n, &l) < 0)
        return;
    for (uint32_t units = 1; units < info.units; units *= 2) {
        lane_width(l, units, 0);
        point(s, l, name, "units", units, PA_PHASE_STARTS, PA_PHASE_PATHS);
    }
    lane_width(l, info.units, 0);
    point(s, l, name, "units", info.units, PA_PHASE_STARTS, PA_PHASE_PATHS);
    for (uint32_t portion = 2; portion <= 64; portion *= 2) {
        lane_width(l, 0, portion);
        point(s, l, name, "portion", portion, PA_PHASE_STARTS, PA_PHASE_PATHS);
    }
    lane_width(l, 0, PA_PORTION);
    for (uint32_t rounds = 0; c.duplicates && rounds <= 8; rounds += 2) {
        lane_rounds(l, rounds);
        point(s, l, name, "rounds", rounds, PA_PHASE_FIT, PA_PHASE_FIT);
    }
    lane_close(l);
}

static void on_cores(const struct sample *s)
{
    struct trg_device *cpu;
    struct pa_config c;
    struct timing t;
    struct lane *l;
    double spread;
    int r;

    set(&c, s->options, "auto");
    if (backends_device(host.backends, "cpu", 0, &cpu) < 0 ||
        lane_open(&host, cpu, &c, s->rois, s->n, &l) < 0)
        return;
    r = measure(l, &t, &spread);
    lane_close(l);
    for (uint32_t n = 1; r == 0 && n < process_cores(CREW_MAX); n *= 2)
        side_by_side(s, n, t.wall);
    if (r == 0)
        side_by_side(s, process_cores(CREW_MAX), t.wall);
}

void curves(const struct sample *s, const char *backend)
{
    struct algo_place place[ALGO_PLACES_MAX];
    const uint32_t n = algo_host_places(&host, backend, place);

    for (uint32_t i = 0; i < n; i++)
        if (place[i].info.is_host)
            on_cores(s);
        else if (!place[i].index)
            on_gpu(s, &place[i]);
}
