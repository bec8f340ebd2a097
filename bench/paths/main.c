/* SPDX-License-Identifier: Apache-2.0 */
/* bench_paths: the phases of the path finder, apart and together, one event and batches, on every
 * device; and TrackML event 1001 beside HSF TrickTrack.  With --curves: the same with more and more
 * threads. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "args.h"
#include "bench.h"
#include "crew.h"
#include "events.h"
#include "process.h"
#include "trackml.h"

static void report(const struct sample *s, const char *device, const char *growth,
                   const struct timing *t, double spread, bool is_cuda)
{
    const struct result_figure f = {.unit = "us", .device = device},
                               judged = {.unit = "us",
                                         .goal = s->goal_us[is_cuda],
                                         .baseline = "HSF TrickTrack, one core",
                                         .baseline_value = s->base_us,
                                         .device = device};
    double graph = (t->phase[0] + t->phase[1] + t->phase[2]) / s->n;

    printf("%-14s %4u %-8s %-26.26s", s->name, s->n, growth, device);
    for (uint32_t k = 0; k < PA_PHASES; k++) {
        printf(" %10.1f", t->phase[k] / s->n);
        result_report_value(&bench.out, &f, t->phase[k] / s->n, spread * t->phase[k] / s->n,
                            bench.runs, "%s, %u RoIs, %s, %s: %s, each RoI", s->name, s->n, device,
                            growth, phase_names[k]);
    }
    printf(" %10.1f %10.1f\n", graph, t->wall / s->n);
    fflush(stdout);
    result_report_value(&bench.out, &judged, graph, spread * graph, bench.runs,
                        "%s, %u RoIs, %s, %s: three phases, each RoI", s->name, s->n, device,
                        growth);
    result_report_value(&bench.out, &f, t->wall / s->n, spread * t->wall / s->n, bench.runs,
                        "%s, %u RoIs, %s, %s: to candidates, with copies, each RoI", s->name, s->n,
                        device, growth);
}

static void on_device(const struct algo_place *p, const struct sample *s, const char *growth)
{
    struct pa_config c;
    struct timing t;
    struct lane *l;
    char name[64];
    double spread;

    set(&c, s->options, growth);
    snprintf(name, sizeof name, "%s %.40s", p->backend, p->info.name);
    if (lane_open(&host, p->device, &c, s->rois, s->n, &l) < 0) {
        fprintf(stderr, "bench_paths: no lane on %s for %s\n", p->backend, s->name);
        return;
    }
    if (measure(l, &t, &spread) == 0)
        report(s, name, growth, &t, spread, !strcmp(p->backend, "cuda"));
    lane_close(l);
}

static void counts(const struct sample *s)
{
    struct pa_config c;
    struct pa_summary sum;
    struct trg_device *cpu;
    struct timing t;
    struct lane *l;
    uint32_t hits = 0;

    set(&c, s->options, "auto");
    for (uint32_t i = 0; i < s->n; i++)
        hits += s->rois[i].n_hits;
    if (backends_device(host.backends, "cpu", 0, &cpu) < 0 ||
        lane_open(&host, cpu, &c, s->rois, s->n, &l) < 0)
        return;
    if (lane_run(l, &t) == 0) {
        lane_counts(l, &sum);
        printf("# %s: %u RoIs, %u hits, %u doublets, %u links, %u paths (%u kept), "
               "%u candidates\n",
               s->name, s->n, hits, sum.n_doublets, sum.n_links, sum.n_paths, sum.n_paths_kept,
               sum.n_candidates_kept);
    }
    lane_close(l);
}

static void everywhere(const struct sample *s)
{
    static const char *const growths[] = {"depth", "scan", "breadth"};
    struct algo_place place[ALGO_PLACES_MAX];
    struct trg_device *cpu;
    struct pa_config c;
    struct timing t;
    struct lane *l;
    double spread;
    uint32_t n;

    if (bench.is_curves) {
        curves(s, bench.backend);
        return;
    }
    counts(s);
    n = algo_host_places(&host, bench.backend, place);
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t g = place[i].info.is_host ? 0 : 1; g < 3; g++)
            on_device(&place[i], s, growths[g]);
    if (bench.backend && strcmp(bench.backend, "cpu") != 0)
        return;
    set(&c, s->options, "auto");
    if (backends_device(host.backends, "cpu", 0, &cpu) == 0 &&
        lane_open(&host, cpu, &c, s->rois, s->n, &l) == 0) {
        int r = measure(l, &t, &spread);

        lane_close(l);
        if (r == 0)
            side_by_side(s, process_cores(CREW_MAX), t.wall);
    }
}

/* ---------------------------------------------------------------- samples */

/* Cuts so loose that an RoI has many more links than doublets, with room for them and without. */
#define LOOSE                                                                                      \
    "theta_cut", "0.03", "theta_cut_forward", "0.03", "hard_pt_gev", "0.2", "origin_tolerance_mm", \
        "10", "origin_tolerance_outer_mm", "10", "duplicates", "keep"

static void loose_cuts(const struct roi *rois)
{
    static const char *const room[] = {LOOSE, "links_per_doublet", "16", NULL};
    static const char *const no_room[] = {LOOSE, "links_per_doublet", "1", NULL};

    everywhere(&(struct sample){.name = "pixel200 loose", .rois = rois, .n = 1, .options = room});
    everywhere(
        &(struct sample){.name = "pixel200 no room", .rois = rois, .n = 1, .options = no_room});
}

static void events(const char *preset, uint32_t batch)
{
    static const char *const none[] = {NULL};
    struct event *e = calloc(batch, sizeof *e);
    struct roi *rois = calloc(batch, sizeof *rois);

    for (uint32_t i = 0; e && rois && i < batch; i++) {
        if (event_make(&host, preset, 1, i, none, &e[i]) < 0)
            exit(1);
        rois[i] = e[i].roi;
    }
    everywhere(&(struct sample){.name = preset, .rois = rois, .n = 1, .options = none});
    if (batch > 1)
        everywhere(&(struct sample){.name = preset, .rois = rois, .n = batch, .options = none});
    if (!strcmp(preset, "pixel200"))
        loose_cuts(rois);
    for (uint32_t i = 0; e && i < batch; i++)
        event_fini(&e[i]);
    free(e);
    free(rois);
}

/* The cuts of the golden files, sets A and C; 2 T are not what their authors cut with. */
#define GOLDEN(theta, pt, tolerance)                                                          \
    "theta_cut", theta, "theta_cut_forward", theta, "hard_pt_gev", pt, "origin_tolerance_mm", \
        tolerance, "origin_tolerance_outer_mm", tolerance, "field_t", "3.834060"

static void trackml(void)
{
    static const char *const tight[] = {GOLDEN("0.02", "0.5", "3.02"), "links_per_doublet", "8",
                                        NULL};
    static const char *const loose[] = {
        GOLDEN("0.15", "0.2", "10.02"), "links_per_doublet", "16", "duplicates", "keep", NULL};
    /* the same with room for 7.7 of its 18.4 million links */
    static const char *const no_room[] = {
        GOLDEN("0.15", "0.2", "10.02"), "links_per_doublet", "4", "duplicates", "keep", NULL};
    struct roi roi;

    if (trackml_read(0.05, 250, &roi) < 0) {
        printf("# TrackML event 1001 is not there (TRIGD_DATA)\n");
        return;
    }
    everywhere(&(struct sample){.name = "trackml tight",
                                .rois = &roi,
                                .n = 1,
                                .options = tight,
                                .goal_us = {329e3 / 3, 329e3 / 300},
                                .base_us = 329e3});
    roi_fini(&roi);
    if (trackml_read(0.15, 300, &roi) < 0)
        return;
    everywhere(&(struct sample){
        .name = "trackml loose", .rois = &roi, .n = 1, .options = loose, .base_us = 29e6});
    everywhere(&(struct sample){
        .name = "trackml no room", .rois = &roi, .n = 1, .options = no_room, .base_us = 29e6});
    roi_fini(&roi);
}

int main(int argc, char **argv)
{
    const char *only = NULL;
    bool quick = false;
    const struct arg table[] = {
        {"quick", ARG_FLAG, &quick, 0, 0, NULL, "single events, fewer runs"},
        {"curves", ARG_FLAG, &bench.is_curves, 0, 0, NULL, "with more and more threads"},
        {"only", ARG_TEXT, &only, 0, 0, "SAMPLE", "pixel50, pixel140, pixel200 or trackml"},
        {"backend", ARG_TEXT, &bench.backend, 0, 0, "NAME", "only its devices"},
        {"json", ARG_APPEND, &bench.out.json, 0, 0, "FILE", "append figures, one a line"},
        {0}};
    const int r = args_parse(argc, argv, NULL, table);

    if (r != ARGS_OK)
        return r == ARGS_HELP ? 0 : 2;
    bench.runs = quick ? 5 : bench.runs;
    if (setenv("TRIGD_DEVICE_TIMES", "1", 1)) /* phases are timed by the device */
        return 1;
    if (algo_host_open(&host, "paths") < 0)
        return 1;
    printf("us for each RoI\n%-14s %4s %-8s %-26s", "sample", "RoIs", "growth", "device");
    for (uint32_t k = 0; k < PA_PHASES; k++)
        printf(" %10s", phase_names[k]);
    printf(" %10s %10s\n", "1 to 3", "with copies");
    for (uint32_t i = 0; i < 3; i++) {
        static const char *const presets[] = {"pixel50", "pixel140", "pixel200"};
        static const uint32_t batches[] = {64, 16, 8};

        if (!only || !strcmp(only, presets[i]))
            events(presets[i], quick ? 1 : batches[i]);
    }
    if (!only || !strcmp(only, "trackml"))
        trackml();
    algo_host_close(&host);
    return result_end(&bench.out, 0);
}
