/* SPDX-License-Identifier: Apache-2.0 */
#include "bench.h"

#include <stdio.h>
#include <stdlib.h>

struct bench bench = {.runs = 5, .out = {.bench = "kdtree"}};

void die(const char *what)
{
    fprintf(stderr, "bench_kdtree: %s\n", what);
    exit(1);
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
