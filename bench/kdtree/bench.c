/* SPDX-License-Identifier: Apache-2.0 */
/* bench_kdtree - k-d trees on every device: building them, and searching boxes, beside
 * std::nth_element and nanoflann on the same host.
 *
 *     TRIGD_BUILD=build/release build/release/bench/bench_kdtree [--quick] [--device BACKEND]
 *         [--json FILE] [--only doublets|build|search|gangs]
 *
 * Points are uniform in the unit cube.  Building is from points on the device to a tree there;
 * searching is from boxes on the device to results there, counting, adding up and filling included.
 */
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "baseline.h"
#include "bench.h"
#include "events.h"

static FILE *json;
static const char *only; /* backend */
static const char *part; /* of the measurements; NULL: all */
struct bench bench = {.runs = 5};

double seconds(const struct device *device)
{
    const clockid_t clock = !device || device->info.is_host ? CLOCK_THREAD_CPUTIME_ID
                            : device->info.pci[0]           ? CLOCK_MONOTONIC
                                                            : CLOCK_PROCESS_CPUTIME_ID;
    struct timespec t;

    clock_gettime(clock, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

void die(const char *what)
{
    fprintf(stderr, "bench_kdtree: %s\n", what);
    exit(1);
}

/* ---------------------------------------------------------------- telling it */

void tell(const struct row *row, const struct result *r)
{
    const double value = result_median(r);
    char figure[160];

    printf("%-34s %-22s %-16s %10.4g %-4s +- %.2g", row->figure, row->device, row->how, value,
           row->unit, result_spread(r));
    if (row->baseline_value > 0)
        printf("   %.2f x %s",
               row->higher ? value / row->baseline_value : row->baseline_value / value,
               row->baseline);
    if (row->goal > 0)
        printf("   goal %s %.4g: %s", row->higher ? ">=" : "<=", row->goal,
               (row->higher ? value >= row->goal : value <= row->goal) ? "met" : "not met");
    printf("\n");
    fflush(stdout);
    snprintf(figure, sizeof figure, "%s, %s", row->figure, row->how);
    result_write(
        json,
        &(struct result_figure){.bench = "kdtree",
                                .figure = figure,
                                .unit = row->unit,
                                .command = bench.is_quick ? "bench_kdtree --quick" : "bench_kdtree",
                                .higher_is_better = row->higher,
                                .goal = row->goal,
                                .baseline = row->baseline_value > 0 ? row->baseline : NULL,
                                .baseline_value = row->baseline_value,
                                .device = row->device},
        r);
}

/* ---------------------------------------------------------------- points and trees */

float random_unit(uint64_t *state)
{
    return (float)(devices_random(state) >> 8) * (1.0f / 16777216.0f);
}

float *make_points(uint32_t k, uint32_t n)
{
    float *p = malloc((size_t)k * n * sizeof *p);
    uint64_t state = 1;

    if (!p)
        die("out of memory");
    for (size_t i = 0; i < (size_t)k * n; i++)
        p[i] = random_unit(&state);
    return p;
}

struct kd_forest *plant(const struct device *device, struct trg_queue *q, uint32_t k, uint32_t n,
                        const float *points)
{
    const struct kd_forest_setup setup = {
        .device = device->d, .k = k, .max_points = n, .max_trees = 1, .large = 1};
    const uint32_t tree[2] = {0, n};
    struct kd_forest *f;
    int r;

    if (kd_forest_new(&setup, &f) < 0)
        return NULL;
    r = kd_put(f, q, f->trees, 0, tree, sizeof tree);
    for (uint32_t d = 0; r == 0 && d < k; d++)
        r = kd_put(f, q, f->points, (size_t)d * f->room * sizeof(float), points + (size_t)d * n,
                   n * sizeof(float));
    if (r < 0)
        die("cannot copy points");
    return f;
}

const char *name_of(const struct device *device)
{
    static char name[64];

    snprintf(name, sizeof name, "%s %.14s", device->info.backend, device->info.name);
    return name;
}

/* ---------------------------------------------------------------- doublets of events */

/* Events per second of one lane with one batch in flight, copies in included. */
static void events_on(const struct device *device, const char *preset,
                      const struct generated *events, uint32_t n, bool to_host)
{
    struct doublets_config c;
    struct lane *l;
    struct result r = {0};
    char figure[64];
    const struct row row = {.figure = figure,
                            .device = name_of(device),
                            .how = to_host ? "to the host" : "on the device",
                            .unit = "k/s",
                            .higher = true};

    events_config(&c);
    snprintf(figure, sizeof figure, "doublets of %s, batches of %u", preset, n);
    l = lane_open(device, &c, events, n);
    if (!l)
        die("no lane");
    for (uint32_t i = 0; i <= bench.runs; i++) {
        const uint32_t rounds = i ? 3 : 1;
        const double start = seconds(device);

        for (uint32_t k = 0; k < rounds; k++)
            if (lane_run(l, to_host) < 0)
                die("the plugin failed");
        if (i > 0)
            result_add(&r, 1e-3 * n * rounds / (seconds(device) - start));
    }
    tell(&row, &r);
    lane_close(l);
}

static void bench_events(void)
{
    static const char *const presets[] = {"pixel", "pixel50", "pixel140", "pixel200"};

    for (uint32_t p = 0; p < 4; p++) {
        const uint32_t n = p ? 16 : 256;
        struct generated *events = events_make(presets[p], 0, n);

        if (!events)
            die("no events");
        for (uint32_t i = 0; i < devices_count(); i++)
            for (int to_host = 0; to_host < 2; to_host++)
                events_on(devices_get(i), presets[p], events, n, to_host);
        events_free(events, n);
    }
}

int main(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        if (!strcmp(argv[i], "--quick")) {
            bench.is_quick = true;
            bench.runs = 3;
        } else if (!strcmp(argv[i], "--json") && i + 1 < argc) {
            json = fopen(argv[++i], "a");
            if (!json)
                die("cannot open the JSON file");
        } else if (!strcmp(argv[i], "--only") && i + 1 < argc) {
            part = argv[++i];
        } else if (!strcmp(argv[i], "--device") && i + 1 < argc) {
            only = argv[++i];
        } else {
            fprintf(stderr, "usage: bench_kdtree [--quick] [--device BACKEND] [--json FILE]\n"
                            "           [--only doublets|build|search|gangs]\n");
            return 2;
        }
    }
    if (!devices_open(only))
        die("there is no device; TRIGD_BUILD must name the build folder");
    if (!nanoflann_is_here())
        printf("nanoflann was not there when this was built: its rows are left out\n");
    if (!part || !strcmp(part, "doublets"))
        bench_events();
    if (!part || !strcmp(part, "build"))
        bench_build();
    if (!part || !strcmp(part, "search")) {
        bench_search(3, 500000, 478, 0.15);
        bench_search(5, 500000, 5.6, 0.3);
    }
    if (!part || !strcmp(part, "gangs"))
        bench_gangs();
    devices_close();
    return json && fclose(json) ? 1 : 0;
}
