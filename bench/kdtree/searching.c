/* SPDX-License-Identifier: Apache-2.0 */
/* Searching boxes in one tree: nanoflann, by hand, depth first, breadth first with every gang. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "baseline.h"
#include "bench.h"

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
    struct result r = {0};
    size_t found = 0;

    if (!t)
        return 0;
    for (uint32_t i = 0; i < bench.runs; i++) {
        const double start = devices_seconds(NULL);

        found = 0;
        for (uint32_t q = 0; q < n; q++) {
            float low[KD_DIMS_MAX], high[KD_DIMS_MAX];

            for (uint32_t d = 0; d < b->k; d++) {
                low[d] = b->end[(size_t)d * b->n + q];
                high[d] = b->end[(size_t)(b->k + d) * b->n + q];
            }
            found += nanoflann_box(t, low, high);
        }
        result_add(&r, 1e-6 * n / (devices_seconds(NULL) - start));
    }
    b->expected = n == b->n ? found : 0;
    printf("%s: %.1f points in a box\n", figure, (double)found / n);
    result_report(
        &bench.out,
        &(struct result_figure){.unit = "Mq/s", .higher_is_better = true, .device = "cpu, 1 core"},
        &r, "%s, nanoflann", figure);
    nanoflann_free(t);
    return result_median(&r);
}

struct plan { /* of searches on a device */
    char figure[64];
    double goal, nanoflann; /* million queries/s; 0: none */
};

static void search_with(struct kd_forest *f, struct trg_queue *q, const struct device *device,
                        const struct boxes *b, enum kd_search how, uint32_t gang,
                        const struct plan *plan)
{
    const struct kd_queries_setup setup = {
        .max_queries = b->count, .gang = gang, .period_dim = KD_NO_PERIOD};
    struct kd_queries *s;
    struct result r = {0};
    char name[32];
    int error;

    snprintf(name, sizeof name, "%s", how == KD_SEARCH_HAND ? "by hand" : "depth first");
    if (how == KD_SEARCH_BREADTH_FIRST)
        snprintf(name, sizeof name, "breadth, %u", gang);
    if (how == KD_SEARCH_AUTO)
        snprintf(name, sizeof name, "auto, at most %u", gang);
    if (kd_queries_new(f, &setup, &s) < 0)
        die("no memory for queries");
    error = trg_fill(q, s->tree_of, 0, s->room * sizeof(uint32_t), 0);
    for (uint32_t d = 0; error == 0 && d < 2 * b->k; d++)
        error = kd_put(f, q, s->boxes, (size_t)d * s->room * sizeof(float),
                       b->end + (size_t)d * b->n, b->count * sizeof(float));
    for (uint32_t i = 0; error == 0 && i <= bench.runs; i++) {
        const double start = devices_seconds(device);

        error = kd_search(s, q, how, b->count, b->points);
        if (i > 0)
            result_add(&r, 1e-6 * b->count / (devices_seconds(device) - start));
    }
    if (error < 0)
        die("a search failed");
    if (b->expected && b->count == b->n && b->expected != s->n_results)
        die("a search found another number of points than nanoflann");
    result_report(&bench.out,
                  &(struct result_figure){.unit = "Mq/s",
                                          .higher_is_better = true,
                                          .goal = plan->goal,
                                          .baseline = "nanoflann",
                                          .baseline_value = plan->nanoflann,
                                          .device = name_of(device)},
                  &r, "%s, %s", plan->figure, name);
    kd_queries_free(s);
}

static void search_on(const struct device *device, const float *points, const struct boxes *all,
                      struct plan *plan)
{
    const bool cuda = !strcmp(device->info.backend, "cuda"), host = device->info.is_host;
    struct boxes b = *all;
    struct trg_queue *q;
    struct kd_forest *f;
    const double cpu_goal = plan->goal;

    if (trg_queue_new(device->d, &q) < 0)
        die("no queue");
    f = plant(device, q, b.k, b.points, points);
    if (!f || kd_build(f, q, KD_BUILD_AUTO, 1, b.points) < 0)
        die("no tree to search");
    if (host)
        search_with(f, q, device, &b, KD_SEARCH_HAND, 1, plan);
    b.count = host ? b.n / 10 : b.n; /* these are slow there */
    plan->goal = cuda ? (b.k == 3 ? 10 : 20) : 0;
    search_with(f, q, device, &b, KD_SEARCH_DEPTH_FIRST, 1, plan);
    for (uint32_t gang = 1; gang <= (host ? 1u : 32u); gang *= 2)
        search_with(f, q, device, &b, KD_SEARCH_BREADTH_FIRST, gang, plan);
    if (!host)
        search_with(f, q, device, &b, KD_SEARCH_AUTO, 32, plan);
    plan->goal = cpu_goal;
    kd_forest_free(f);
    trg_queue_free(q);
}

/* What stands today is of ANCHORS: 0.10 (FKDTree) and 0.2 million queries/s (ACTS) on one core. */
void bench_search(uint32_t k, uint32_t points, double hits, double goal)
{
    const uint32_t n = bench.is_quick ? 5000 : hits > 100 ? 50000 : 200000;
    float *p = make_points(k, points);
    struct plan plan = {.goal = 0};

    snprintf(plan.figure, sizeof plan.figure, "search %u points, %u-D, %.3g hits", points, k, hits);
    for (uint32_t i = 0; i < devices_count(); i++) {
        /* a GPU is filled by more queries than a core is kept busy with */
        const bool cuda = !strcmp(devices_get(i)->info.backend, "cuda");
        struct boxes b = make_boxes(k, points, cuda && !bench.is_quick ? 4 * n : n, hits);

        if (i == 0)
            plan.nanoflann = search_nanoflann(&b, p, plan.figure);
        plan.goal = devices_get(i)->info.is_host ? goal : 0;
        search_on(devices_get(i), p, &b, &plan);
        free(b.end);
    }
    free(p);
}

static void gangs_on(const struct device *device, const struct boxes *b, const float *points,
                     const struct plan *plan)
{
    struct trg_queue *q;
    struct kd_forest *f;

    if (trg_queue_new(device->d, &q) < 0)
        die("no queue");
    f = plant(device, q, b->k, b->points, points);
    if (!f || kd_build(f, q, KD_BUILD_AUTO, 1, b->points) < 0)
        die("no tree to search");
    search_with(f, q, device, b, KD_SEARCH_DEPTH_FIRST, 1, plan);
    for (uint32_t gang = 1; gang <= 32; gang *= 2) {
        search_with(f, q, device, b, KD_SEARCH_BREADTH_FIRST, gang, plan);
        search_with(f, q, device, b, KD_SEARCH_AUTO, gang, plan);
    }
    kd_forest_free(f);
    trg_queue_free(q);
}

void bench_gangs(void)
{
    static const struct {
        uint32_t k, points, queries;
        double hits;
    } list[] = {{3, 500000, 200000, 478}, {5, 500000, 800000, 5.6}, {2, 500000, 800000, 30},
                {3, 500000, 800000, 20},  {8, 500000, 50000, 5},    {3, 10000, 800000, 1},
                {3, 1000000, 20000, 5000}};

    for (uint32_t i = 0; i < sizeof list / sizeof *list; i++) {
        float *points = make_points(list[i].k, list[i].points);
        struct plan plan = {.goal = 0};

        snprintf(plan.figure, sizeof plan.figure, "gangs: %u points, %u-D, %.3g hits",
                 list[i].points, list[i].k, list[i].hits);
        for (uint32_t k = 0; k < devices_count(); k++) {
            const struct device *device = devices_get(k);
            struct boxes b = make_boxes(
                list[i].k, list[i].points,
                device->info.pci[0] && !bench.is_quick ? list[i].queries : list[i].queries / 400,
                list[i].hits);

            if (!device->info.is_host)
                gangs_on(device, &b, points, &plan);
            free(b.end);
        }
        free(points);
    }
}
