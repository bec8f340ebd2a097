/* SPDX-License-Identifier: Apache-2.0 */
/* One tree by more and more cores of the CPU, and what part of a build the host needs to enqueue
 * its kernels: all that launches from the device could save. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"
#include "clock.h"
#include "process.h"

static double wall_ms(void)
{
    return 1e-6 * (double)clock_ns();
}

/* Trees of n points in 3-D with a queue of their own, or the end of the program. */
static struct kd_forest *plant_3d(const struct device *device, uint32_t n, const float *points,
                                  struct trg_queue **ret_queue)
{
    struct kd_forest *f;

    if (trg_queue_new(device->d, ret_queue) < 0)
        die("no queue");
    f = plant(device, *ret_queue, 3, n, points);
    if (!f)
        die("no memory");
    return f;
}

static void build_by_cores(const struct device *device, uint32_t n, const float *points)
{
    const uint32_t most = process_cores(256);
    struct result_figure figure = {.unit = "ms", .baseline = "one core", .device = name_of(device)};
    struct trg_queue *q;
    struct kd_forest *f;

    f = plant_3d(device, n, points, &q);
    for (uint32_t cores = 1; cores <= most;
         cores = cores < most && 2 * cores > most ? most : 2 * cores) {
        struct result r = {0};

        for (uint32_t i = 0; i <= bench.runs; i++) {
            const double start = wall_ms();

            if (kd_build_by_cores(f, cores, n) < 0)
                die("a build failed");
            if (i > 0)
                result_add(&r, wall_ms() - start);
        }
        result_report(&bench.out, &figure, &r, "build %u points, 3-D, all cores, %u cores", n,
                      cores);
        if (cores == 1)
            figure.baseline_value = result_median(&r);
    }
    kd_forest_free(f);
    trg_queue_free(q);
}

void bench_cores(void)
{
    static const uint32_t sizes[] = {100000, 1000000, 10000000};

    for (uint32_t s = 0; s < (bench.is_quick ? 2u : 3u); s++) {
        float *points = make_points(3, sizes[s]);

        for (uint32_t i = 0; i < devices_count(); i++)
            if (devices_get(i)->info.is_host)
                build_by_cores(devices_get(i), sizes[s], points);
        free(points);
    }
}

/* ---------------------------------------------------------------- launches */

static void enqueue_on(const struct device *device, uint32_t n, const float *points)
{
    const struct result_figure figure = {.unit = "us", .device = name_of(device)};
    struct result enqueued = {0}, done = {0};
    struct trg_queue *q;
    struct kd_forest *f;

    f = plant_3d(device, n, points, &q);
    for (uint32_t i = 0; i <= bench.runs; i++) {
        const double start = wall_ms();
        double middle;

        if (kd_build(f, q, KD_BUILD_SORT, 1, n) < 0 || trg_flush(q) < 0)
            die("a build failed");
        middle = wall_ms();
        if (trg_finish(q) < 0)
            die("a build failed");
        if (i > 0) {
            result_add(&enqueued, 1e3 * (middle - start));
            result_add(&done, 1e3 * (wall_ms() - start));
        }
    }
    result_report(&bench.out, &figure, &enqueued,
                  "build %u points, 3-D, sort, enqueued by the host", n);
    result_report(&bench.out, &figure, &done, "build %u points, 3-D, sort, enqueued and done", n);
    kd_forest_free(f);
    trg_queue_free(q);
}

void bench_enqueue(void)
{
    static const uint32_t sizes[] = {10000, 100000, 1000000};

    for (uint32_t s = 0; s < 3; s++) {
        float *points = make_points(3, sizes[s]);

        for (uint32_t i = 0; i < devices_count(); i++)
            if (!devices_get(i)->info.is_host)
                enqueue_on(devices_get(i), sizes[s], points);
        free(points);
    }
}
