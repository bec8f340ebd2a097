/* SPDX-License-Identifier: Apache-2.0 */
/* Points counted in balls and boxes, and what the copies to the device and back add. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"

#define POINTS  500000u
#define HITS    478.0
#define CHECKED 20u /* queries that are counted one point after the other, too */

/* cudaKDTree (57fb259), its stack-based traversal, points counted within a radius: the best of its
 * three on an H200. */
#define PEER       "cudaKDTree, H200"
#define PEER_VALUE 47.9

struct regions { /* around random places in the cube, wholly inside it, with HITS points each */
    enum kd_region kind;
    uint32_t n;
    double half;  /* radius, or half of a side */
    float *value; /* balls: [4][n]; boxes: [6][n] */
};

static struct regions make_regions(enum kd_region kind, uint32_t n)
{
    const double volume = HITS / POINTS, pi = 3.14159265358979323846;
    struct regions r = {.kind = kind, .n = n};
    uint64_t state = 2;

    r.half = kind == KD_BALLS ? cbrt(0.75 * volume / pi) : 0.5 * cbrt(volume);
    r.value = malloc((size_t)6 * n * sizeof *r.value);
    if (!r.value)
        die("out of memory");
    for (uint32_t q = 0; q < n; q++)
        for (uint32_t d = 0; d < 3; d++) {
            const float at = random_unit(&state) * (float)(1 - 2 * r.half) + (float)r.half;

            r.value[(size_t)d * n + q] = kind == KD_BALLS ? at : at - (float)r.half;
            r.value[(size_t)(3 + d) * n + q] =
                kind == KD_BALLS ? (float)r.half : at + (float)r.half;
        }
    return r;
}

static bool is_inside(const struct regions *r, uint32_t q, const float *points, uint32_t i)
{
    float sum = 0;

    for (uint32_t d = 0; d < 3; d++) {
        const float x = points[(size_t)d * POINTS + i], low = r->value[(size_t)d * r->n + q];

        if (r->kind == KD_BOXES && !(x >= low && x <= r->value[(size_t)(3 + d) * r->n + q]))
            return false;
        sum += (x - low) * (x - low);
    }
    return r->kind == KD_BOXES || sum <= (float)r->half * (float)r->half;
}

static void check(const struct regions *r, const float *points, const uint32_t *counts)
{
    double sum = 0;

    for (uint32_t q = 0; q < r->n; q++)
        sum += counts[q];
    if (fabs(sum / r->n - HITS) > 10)
        die("regions do not hold as many points as they should");
    for (uint32_t q = 0; q < CHECKED; q++) {
        uint32_t n = 0;

        for (uint32_t i = 0; i < POINTS; i++)
            n += is_inside(r, q, points, i);
        if (n != counts[q])
            die("a count is wrong");
    }
}

/* Pinned memory for the regions and the counts. */
struct transfer {
    struct trg_buffer *in, *out;
};

static struct transfer transfer_new(const struct device *device, const struct regions *r)
{
    const size_t column = r->n * sizeof(float);
    struct transfer t;

    if (trg_buffer_new(device->d, TRG_MEM_PINNED, 6 * column, &t.in) < 0 ||
        trg_buffer_new(device->d, TRG_MEM_PINNED, column, &t.out) < 0)
        die("no pinned memory");
    memcpy(trg_buffer_host(t.in), r->value, 6 * column);
    return t;
}

/* Regions in, counted, counts out; without the copies when `t` is NULL. */
static int count_once(struct kd_queries *s, struct trg_queue *q, const struct regions *r,
                      const struct transfer *t)
{
    const size_t column = r->n * sizeof(float);
    const uint32_t columns = r->kind == KD_BALLS ? 4 : 6;
    int e = 0;

    for (uint32_t c = 0; t && e == 0 && c < columns; c++)
        e = trg_write(q, s->boxes, c * (size_t)s->room * sizeof(float), t->in, c * column, column);
    if (e == 0)
        e = kd_count(s, q, r->kind, r->n);
    if (t && e == 0)
        e = trg_read(q, t->out, 0, s->counts, 0, column);
    return e < 0 ? e : trg_finish(q);
}

static void count_on(const struct device *device, const float *points, const struct regions *r)
{
    const bool cuda = !strcmp(device->info.backend, "cuda");
    const struct kd_queries_setup setup = {
        .max_queries = r->n, .gang = 1, .period_dim = KD_NO_PERIOD};
    const struct transfer t = transfer_new(device, r);
    const struct result_figure figure = {
        .device = name_of(device),
        .unit = "Mq/s",
        .higher_is_better = true,
        .goal = cuda && r->kind == KD_BALLS ? 60 : 0,
        .baseline = PEER,
        .baseline_value = device->info.pci[0] && r->kind == KD_BALLS ? PEER_VALUE : 0};
    struct kd_queries *s;
    struct kd_forest *f;
    struct trg_queue *q;

    if (trg_queue_new(device->d, &q) < 0)
        die("no queue");
    f = plant(device, q, 3, POINTS, points);
    if (!f || kd_build(f, q, KD_BUILD_AUTO, 1, POINTS) < 0 || kd_queries_new(f, &setup, &s) < 0 ||
        trg_fill(q, s->tree_of, 0, s->room * sizeof(uint32_t), 0) < 0)
        die("no tree to search");
    for (int copies = 1; copies >= 0; copies--) { /* the copies leave the regions there */
        struct result result = {0};

        for (uint32_t i = 0; i <= bench.runs; i++) {
            const double start = devices_seconds(device);

            if (count_once(s, q, r, copies ? &t : NULL) < 0)
                die("counting failed");
            if (i > 0)
                result_add(&result, 1e-6 * r->n / (devices_seconds(device) - start));
        }
        if (copies)
            check(r, points, trg_buffer_host(t.out));
        result_report(&bench.out, &figure, &result, "count %s, 500000 points, 478 in it, %s",
                      r->kind == KD_BALLS ? "within a radius" : "in boxes",
                      copies ? "copies included" : "on the device");
    }
    trg_buffer_free(t.in);
    trg_buffer_free(t.out);
    kd_queries_free(s);
    kd_forest_free(f);
    trg_queue_free(q);
}

void bench_count(void)
{
    float *points = make_points(3, POINTS);

    for (enum kd_region kind = KD_BOXES; kind <= KD_BALLS; kind++)
        for (uint32_t i = 0; i < devices_count(); i++) {
            const bool gpu = devices_get(i)->info.pci[0] != 0;
            struct regions r = make_regions(kind, bench.is_quick ? 5000 : gpu ? 1000000 : 50000);

            count_on(devices_get(i), points, &r);
            free(r.value);
        }
    free(points);
}
