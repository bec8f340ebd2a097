/* SPDX-License-Identifier: Apache-2.0 */
/* bench_kdtree - k-d trees on every device: building them, and searching boxes, beside
 * std::nth_element and nanoflann on the same host.
 *
 *     TRIGD_BUILD=build/release build/release/bench/bench_kdtree [--quick] [--device BACKEND]
 *         [--json FILE] [--only doublets|build|search]
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
#include "devices.h"
#include "events.h"
#include "kdtree.h"
#include "result.h"

static FILE *json;
static bool quick;
static const char *only; /* backend */
static const char *part; /* of the measurements; NULL: all */
static uint32_t n_runs = 5;

/* Time: of this thread on a core for what runs there, so that other programs disturb it less; of
 * the wall for other devices. */
static double seconds(bool host)
{
    struct timespec t;

    clock_gettime(host ? CLOCK_THREAD_CPUTIME_ID : CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void die(const char *what)
{
    fprintf(stderr, "bench_kdtree: %s\n", what);
    exit(1);
}

/* ---------------------------------------------------------------- telling it */

struct row {
    const char *figure, *device, *how, *unit;
    bool higher;
    double goal;
    const char *baseline;
    double baseline_value;
};

static void tell(const struct row *row, const struct result *r)
{
    const double value = result_median(r);
    char date[32] = "";
    time_t now = time(NULL);

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
    if (!json)
        return;
    strftime(date, sizeof date, "%Y-%m-%dT%H:%M:%SZ", gmtime(&now));
    fprintf(json,
            "{\"bench\": \"kdtree\", \"figure\": \"%s, %s\", \"value\": %.6g, \"unit\": \"%s\", "
            "\"better\": \"%s\"",
            row->figure, row->how, value, row->unit, row->higher ? "higher" : "lower");
    if (row->goal > 0)
        fprintf(json, ", \"goal\": %.6g", row->goal);
    if (row->baseline_value > 0)
        fprintf(json, ", \"baseline\": {\"name\": \"%s\", \"value\": %.6g}", row->baseline,
                row->baseline_value);
    fprintf(
        json,
        ", \"runs\": %u, \"spread\": %.3g, \"machine\": \"%s\", \"device\": \"%s\", \"commit\": "
        "\"%s\", \"date\": \"%s\", \"command\": \"bench_kdtree%s\"}\n",
        r->n, result_spread(r), getenv("TRIGD_MACHINE") ? getenv("TRIGD_MACHINE") : "desk",
        row->device, getenv("TRIGD_COMMIT") ? getenv("TRIGD_COMMIT") : "", date,
        quick ? " --quick" : "");
}

/* ---------------------------------------------------------------- points and trees */

static float random_unit(uint64_t *state)
{
    return (float)(devices_random(state) >> 8) * (1.0f / 16777216.0f);
}

static float *make_points(uint32_t k, uint32_t n)
{
    float *p = malloc((size_t)k * n * sizeof *p);
    uint64_t state = 1;

    if (!p)
        die("out of memory");
    for (size_t i = 0; i < (size_t)k * n; i++)
        p[i] = random_unit(&state);
    return p;
}

static struct kd_forest *plant(const struct device *device, struct trg_queue *q, uint32_t k,
                               uint32_t n, const float *points)
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

static const char *name_of(const struct device *device)
{
    static char name[64];

    snprintf(name, sizeof name, "%s %.14s", device->info.backend, device->info.name);
    return name;
}

/* ---------------------------------------------------------------- building */

/* Serial builds of the same points; returns the median of the nth_element one in ms, and checks the
 * device's trees against it later through `ret_ids`. */
static double build_serially(uint32_t n, const float *points, uint32_t *ret_ids)
{
    char figure[64];
    struct result nth = {0}, flann = {0};
    struct row row = {.figure = figure, .device = "cpu, 1 core", .unit = "ms"};

    snprintf(figure, sizeof figure, "build %u points, 3-D", n);
    for (uint32_t i = 0; i < n_runs; i++) {
        double start = seconds(true);
        struct nanoflann_tree *t;

        serial_build(points, 3, n, ret_ids);
        result_add(&nth, 1e3 * (seconds(true) - start));
        start = seconds(true);
        t = nanoflann_build(points, 3, n);
        if (t)
            result_add(&flann, 1e3 * (seconds(true) - start));
        nanoflann_free(t);
    }
    row.how = "std::nth_element";
    tell(&row, &nth);
    row.how = "nanoflann";
    if (flann.n)
        tell(&row, &flann);
    return flann.n && result_median(&flann) < result_median(&nth) ? result_median(&flann)
                                                                  : result_median(&nth);
}

static void check_ids(struct kd_forest *f, struct trg_queue *q, uint32_t n, const uint32_t *want)
{
    uint32_t *ids = malloc(n * sizeof *ids);

    if (!ids || kd_get(f, q, f->ids, 0, ids, n * sizeof *ids) < 0 ||
        memcmp(ids, want, n * sizeof *ids) != 0)
        die("a tree is not the same as the serial one");
    free(ids);
}

static void build_on(const struct device *device, uint32_t n, const float *points,
                     const uint32_t *want, double serial_ms)
{
    static const char *const names[] = {"auto", "groups", "sort", "select", "hand"};
    struct trg_queue *q;
    struct kd_forest *f;
    char figure[64];

    if (trg_queue_new(device->d, &q) < 0)
        die("no queue");
    f = plant(device, q, 3, n, points);
    if (!f) {
        printf("build %u points: %s has not enough memory\n", n, name_of(device));
        trg_queue_free(q);
        return;
    }
    snprintf(figure, sizeof figure, "build %u points, 3-D", n);
    for (enum kd_build how = KD_BUILD_GROUPS; how <= KD_BUILD_HAND; how++) {
        const bool cuda = !strcmp(device->info.backend, "cuda");
        const bool best = how == (device->info.is_host ? KD_BUILD_HAND : KD_BUILD_SORT);
        struct row row = {.figure = figure,
                          .device = name_of(device),
                          .how = names[how],
                          .unit = "ms",
                          .baseline = "best serial",
                          .baseline_value = serial_ms};
        struct result r = {0};

        if ((how == KD_BUILD_HAND && !device->info.is_host) ||
            (how == KD_BUILD_GROUPS && (n > 100000 || !cuda)) || (!best && n > 1000000 && !cuda))
            continue;
        if (best && cuda && n == 1000000)
            row.goal = 5;
        if (best && device->info.is_host && n == 500000)
            row.goal = serial_ms;
        for (uint32_t i = 0; i <= n_runs; i++) {
            const double start = seconds(device->info.is_host != 0);

            if (kd_build(f, q, how, 1, n) < 0 || trg_finish(q) < 0)
                die("a build failed");
            if (i > 0) /* the first one warms up */
                result_add(&r, 1e3 * (seconds(device->info.is_host != 0) - start));
        }
        check_ids(f, q, n, want);
        tell(&row, &r);
    }
    kd_forest_free(f);
    trg_queue_free(q);
}

static void bench_build(void)
{
    const uint32_t runs = n_runs;
    static const uint32_t sizes[] = {10000, 100000, 500000, 1000000, 10000000};

    for (uint32_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
        const uint32_t n = sizes[s];
        float *points;
        uint32_t *ids;
        double serial;

        if (quick && n > 1000000)
            continue;
        if (n > 1000000)
            n_runs = 2; /* each takes many seconds on one core */
        points = make_points(3, n);
        ids = malloc(n * sizeof *ids);
        if (!ids)
            die("out of memory");
        serial = build_serially(n, points, ids);
        for (uint32_t i = 0; i < devices_count(); i++)
            build_on(devices_get(i), n, points, ids, serial);
        free(points);
        free(ids);
    }
    n_runs = runs;
}

/* ---------------------------------------------------------------- searching */

struct boxes { /* around random places in the cube, wholly inside it */
    uint32_t k, n, points;
    uint32_t count; /* of the n boxes: those that are searched */
    double side;
    float *end; /* [2][k][n] */
    size_t expected;
};

static struct boxes make_boxes(uint32_t k, uint32_t points, uint32_t n, double hits)
{
    struct boxes b = {
        .k = k, .n = n, .count = n, .points = points, .side = pow(hits / points, 1.0 / k)};
    uint64_t state = 2;

    b.end = malloc((size_t)2 * k * n * sizeof *b.end);
    if (!b.end)
        die("out of memory");
    for (uint32_t q = 0; q < n; q++)
        for (uint32_t d = 0; d < k; d++) {
            const float low = random_unit(&state) * (float)(1 - b.side);

            b.end[(size_t)d * n + q] = low;
            b.end[(size_t)(k + d) * n + q] = low + (float)b.side;
        }
    return b;
}

static double search_nanoflann(struct boxes *b, const float *points, const char *figure)
{
    struct nanoflann_tree *t = nanoflann_build(points, b->k, b->points);
    const uint32_t n = b->count < 20000 ? b->count : 20000;
    struct row row = {.figure = figure,
                      .device = "cpu, 1 core",
                      .how = "nanoflann",
                      .unit = "Mq/s",
                      .higher = true};
    struct result r = {0};
    size_t found = 0;

    if (!t)
        return 0;
    for (uint32_t i = 0; i < n_runs; i++) {
        const double start = seconds(true);

        found = 0;
        for (uint32_t q = 0; q < n; q++) {
            float low[KD_DIMS_MAX], high[KD_DIMS_MAX];

            for (uint32_t d = 0; d < b->k; d++) {
                low[d] = b->end[(size_t)d * b->n + q];
                high[d] = b->end[(size_t)(b->k + d) * b->n + q];
            }
            found += nanoflann_box(t, low, high);
        }
        result_add(&r, 1e-6 * n / (seconds(true) - start));
    }
    b->expected = n == b->n ? found : 0;
    printf("%s: %.1f points in a box\n", figure, (double)found / n);
    tell(&row, &r);
    nanoflann_free(t);
    return result_median(&r);
}

static void search_with(struct kd_forest *f, struct trg_queue *q, const struct device *device,
                        const struct boxes *b, enum kd_search how, uint32_t gang,
                        const struct row *with)
{
    const struct kd_queries_setup setup = {
        .max_queries = b->count, .gang = gang, .period_dim = KDQ_NO_PERIOD};
    struct kd_queries *s;
    struct result r = {0};
    struct row row = *with;
    char name[32];
    int error;

    snprintf(name, sizeof name, "%s", how == KD_SEARCH_HAND ? "by hand" : "depth first");
    if (how == KD_SEARCH_BREADTH_FIRST)
        snprintf(name, sizeof name, "breadth, %u", gang);
    if (kd_queries_new(f, &setup, &s) < 0)
        die("no memory for queries");
    error = trg_fill(q, s->tree_of, 0, s->room * sizeof(uint32_t), 0);
    for (uint32_t d = 0; error == 0 && d < 2 * b->k; d++)
        error = kd_put(f, q, s->boxes, (size_t)d * s->room * sizeof(float),
                       b->end + (size_t)d * b->n, b->count * sizeof(float));
    for (uint32_t i = 0; error == 0 && i <= n_runs; i++) {
        const double start = seconds(device->info.is_host != 0);

        error = kd_search(s, q, how, b->count, b->points);
        if (i > 0)
            result_add(&r, 1e-6 * b->count / (seconds(device->info.is_host != 0) - start));
    }
    if (error < 0)
        die("a search failed");
    if (b->expected && b->count == b->n && b->expected != s->n_results)
        die("a search found another number of points than nanoflann");
    row.how = name;
    row.device = name_of(device);
    tell(&row, &r);
    kd_queries_free(s);
}

static void search_on(const struct device *device, const float *points, const struct boxes *all,
                      struct row *row)
{
    const bool cuda = !strcmp(device->info.backend, "cuda"), host = device->info.is_host;
    struct boxes b = *all;
    struct trg_queue *q;
    struct kd_forest *f;
    const double cpu_goal = row->goal;

    if (trg_queue_new(device->d, &q) < 0)
        die("no queue");
    f = plant(device, q, b.k, b.points, points);
    if (!f || kd_build(f, q, KD_BUILD_AUTO, 1, b.points) < 0)
        die("no tree to search");
    if (host)
        search_with(f, q, device, &b, KD_SEARCH_HAND, 1, row);
    b.count = host ? b.n / 10 : b.n; /* these are slow there */
    row->goal = cuda ? (b.k == 3 ? 10 : 20) : 0;
    search_with(f, q, device, &b, KD_SEARCH_DEPTH_FIRST, 1, row);
    for (uint32_t gang = 1; gang <= (host ? 1u : 32u); gang *= 2)
        search_with(f, q, device, &b, KD_SEARCH_BREADTH_FIRST, gang, row);
    row->goal = cpu_goal;
    kd_forest_free(f);
    trg_queue_free(q);
}

/* What stands today is of ANCHORS: 0.10 (FKDTree) and 0.2 million queries/s (ACTS) on one core. */
static void bench_search(uint32_t k, uint32_t points, double hits, double goal)
{
    const uint32_t n = quick ? 5000 : hits > 100 ? 50000 : 200000;
    float *p = make_points(k, points);
    char figure[64];
    struct row row = {.figure = figure, .unit = "Mq/s", .higher = true, .baseline = "nanoflann"};

    snprintf(figure, sizeof figure, "search %u points, %u-D, %.3g hits", points, k, hits);
    for (uint32_t i = 0; i < devices_count(); i++) {
        /* a GPU is filled by more queries than a core is kept busy with */
        const bool cuda = !strcmp(devices_get(i)->info.backend, "cuda");
        struct boxes b = make_boxes(k, points, cuda && !quick ? 4 * n : n, hits);

        if (i == 0)
            row.baseline_value = search_nanoflann(&b, p, figure);
        row.goal = devices_get(i)->info.is_host ? goal : 0;
        search_on(devices_get(i), p, &b, &row);
        free(b.end);
    }
    free(p);
}

/* ---------------------------------------------------------------- doublets of events */

/* Events per second of one lane with one batch in flight, copies in included. */
static void events_on(const struct device *device, const char *preset,
                      const struct generated *events, uint32_t n, bool to_host)
{
    struct kdd_config c;
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
    for (uint32_t i = 0; i <= n_runs; i++) {
        const uint32_t rounds = i ? 3 : 1;
        const double start = seconds(device->info.is_host != 0);

        for (uint32_t k = 0; k < rounds; k++)
            if (lane_run(l, to_host) < 0)
                die("the plugin failed");
        if (i > 0)
            result_add(&r, 1e-3 * n * rounds / (seconds(device->info.is_host != 0) - start));
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
            quick = true;
            n_runs = 3;
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
                            "           [--only doublets|build|search]\n");
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
    devices_close();
    return json && fclose(json) ? 1 : 0;
}
