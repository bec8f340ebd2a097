/* SPDX-License-Identifier: Apache-2.0 */
/* Building one tree: serial builders of the same host, and every builder of every device. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "baseline.h"
#include "bench.h"

/* Serial builds of the same points; returns the median of the nth_element one in ms, and checks the
 * device's trees against it later through `ret_ids`. */
static double build_serially(uint32_t n, const float *points, uint32_t *ret_ids)
{
    const struct result_figure f = {.unit = "ms", .device = "cpu, 1 core"};
    struct result nth = {0}, flann = {0};

    for (uint32_t i = 0; i < bench.runs; i++) {
        double start = devices_seconds(NULL);
        struct nanoflann_tree *t;

        serial_build(points, 3, n, ret_ids);
        result_add(&nth, 1e3 * (devices_seconds(NULL) - start));
        start = devices_seconds(NULL);
        t = nanoflann_build(points, 3, n);
        if (t)
            result_add(&flann, 1e3 * (devices_seconds(NULL) - start));
        nanoflann_free(t);
    }
    result_report(&bench.out, &f, &nth, "build %u points, 3-D, std::nth_element", n);
    if (flann.n)
        result_report(&bench.out, &f, &flann, "build %u points, 3-D, nanoflann", n);
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

/* Points in from pinned memory, a tree, its nodes and their numbers out again. */
static int build_with_copies(struct kd_forest *f, struct trg_queue *q, uint32_t n,
                             struct trg_buffer *host)
{
    const size_t column = n * sizeof(float), stride = f->room * sizeof(float);
    int r = 0;

    for (uint32_t d = 0; r == 0 && d < 3; d++)
        r = trg_write(q, f->points, d * stride, host, d * column, column);
    if (r == 0)
        r = kd_build(f, q, KD_BUILD_AUTO, 1, n);
    for (uint32_t d = 0; r == 0 && d < 3; d++)
        r = trg_read(q, host, (3 + d) * column, f->nodes, d * stride, column);
    if (r == 0)
        r = trg_read(q, host, 6 * column, f->ids, 0, column);
    return r < 0 ? r : trg_finish(q);
}

static void time_copies(const struct device *device, struct kd_forest *f, struct trg_queue *q,
                        uint32_t n, const float *points, struct result_figure figure)
{
    const size_t column = n * sizeof(float);
    struct trg_buffer *host;
    struct result r = {0};

    if (trg_buffer_new(device->d, TRG_MEM_PINNED, 7 * column, &host) < 0)
        die("no pinned memory");
    memcpy(trg_buffer_host(host), points, 3 * column);
    for (uint32_t i = 0; i <= bench.runs; i++) {
        const double start = devices_seconds(device);

        if (build_with_copies(f, q, n, host) < 0)
            die("a build failed");
        if (i > 0)
            result_add(&r, 1e3 * (devices_seconds(device) - start));
    }
    figure.goal = 0;
    result_report(&bench.out, &figure, &r, "build %u points, 3-D, auto, copies included", n);
    trg_buffer_free(host);
}

static void build_on(const struct device *device, uint32_t n, const float *points,
                     const uint32_t *want, double serial_ms)
{
    static const char *const names[] = {"auto", "groups", "sort", "select", "hand"};
    struct trg_queue *q;
    struct kd_forest *f;

    if (trg_queue_new(device->d, &q) < 0)
        die("no queue");
    f = plant(device, q, 3, n, points);
    if (!f) {
        printf("build %u points: %s has not enough memory\n", n, name_of(device));
        trg_queue_free(q);
        return;
    }
    for (enum kd_build how = KD_BUILD_GROUPS; how <= KD_BUILD_HAND; how++) {
        const bool cuda = !strcmp(device->info.backend, "cuda");
        const bool best = how == (device->info.is_host ? KD_BUILD_HAND : KD_BUILD_SORT);
        struct result_figure figure = {.unit = "ms",
                                       .baseline = "best serial",
                                       .baseline_value = serial_ms,
                                       .device = name_of(device)};
        struct result r = {0};

        if ((how == KD_BUILD_HAND && !device->info.is_host) ||
            (how == KD_BUILD_GROUPS && (n > 100000 || !cuda)) || (!best && n > 1000000 && !cuda))
            continue;
        if (best && cuda && n == 1000000)
            figure.goal = 5;
        if (best && device->info.is_host && n == 500000)
            figure.goal = serial_ms;
        for (uint32_t i = 0; i <= bench.runs; i++) {
            const double start = devices_seconds(device);

            if (kd_build(f, q, how, 1, n) < 0 || trg_finish(q) < 0)
                die("a build failed");
            if (i > 0) /* the first one warms up */
                result_add(&r, 1e3 * (devices_seconds(device) - start));
        }
        check_ids(f, q, n, want);
        result_report(&bench.out, &figure, &r, "build %u points, 3-D, %s", n, names[how]);
        if (best)
            time_copies(device, f, q, n, points, figure);
    }
    kd_forest_free(f);
    trg_queue_free(q);
}

void bench_build(void)
{
    const uint32_t runs = bench.runs;
    static const uint32_t sizes[] = {10000, 100000, 500000, 1000000, 10000000};

    for (uint32_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
        const uint32_t n = sizes[s];
        float *points;
        uint32_t *ids;
        double serial;

        if (bench.is_quick && n > 1000000)
            continue;
        if (n > 1000000)
            bench.runs = 2; /* each takes many seconds on one core */
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
    bench.runs = runs;
}
