/* SPDX-License-Identifier: Apache-2.0 */
/* Adjacency for N tracks, alone and many events in a launch: figures 8.2 and 8.3 of the thesis. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "event.h"
#include "graphjob.h"
#include "parts.h"
#include "reference.h"

static const uint32_t sizes[] = {10, 30, 100, 400, 1000, 4100};
#define SIZES 6u

static double serial_rate[SIZES]; /* pairs a second */

static void make_lines(uint32_t n, uint32_t copies, struct ref_line *l, float *columns)
{
    uint64_t random = 1;

    for (uint32_t i = 0; i < n; i++) {
        const double tx = 0.1 * toy_gauss(&random), ty = 0.1 * toy_gauss(&random);
        const double norm = sqrt(1 + tx * tx + ty * ty);
        const double v[VX_COLUMNS] = {toy_gauss(&random),
                                      toy_gauss(&random),
                                      50 * toy_gauss(&random),
                                      tx / norm,
                                      ty / norm,
                                      1 / norm,
                                      1e-4};

        for (uint32_t k = 0; k < 3; k++) {
            l[i].p[k] = v[k];
            l[i].u[k] = v[3 + k];
        }
        for (uint32_t c = 0; c < VX_COLUMNS; c++)
            for (uint32_t r = 0; r < copies; r++)
                columns[((size_t)c * copies + r) * n + i] = (float)v[c];
    }
}

struct serial {
    const struct ref_line *l;
    uint32_t n;
    volatile uint32_t edges; /* so that the loop stays */
};

static int run_serial(void *arg, uint32_t times)
{
    struct serial *s = arg;

    while (times--) {
        uint32_t edges = 0;

        for (uint32_t i = 0; i < s->n; i++)
            for (uint32_t j = i + 1; j < s->n; j++)
                edges += ref_distance(&s->l[i], &s->l[j]) < 0.1;
        s->edges = edges;
    }
    return 0;
}

/* One size and layout on `threads` threads (the host) or one. */
static int measure_one(const struct bench *b, struct trg_device *device, uint32_t size,
                       uint32_t layout, uint32_t n_rois, uint32_t threads, const char *what)
{
    const uint32_t n = sizes[size];
    struct ref_line *l = calloc(n, sizeof *l);
    float *columns = calloc((size_t)VX_COLUMNS * n * n_rois, sizeof *columns);
    struct graph_case c = {.n = n,
                           .n_rois = n_rois,
                           .threads = threads,
                           .columns = columns,
                           .step = kit_adjacency,
                           .par = {.doca_max = 0.1f, .parallel_sin2 = 1e-8f, .layout = layout}};
    struct trg_device_info info;
    struct timing t;
    char name[64];
    int r = l && columns ? 0 : -ENOMEM;

    trg_device_info(device, &info);
    device_name(device, name, sizeof name);
    if (r == 0) {
        make_lines(n, n_rois, l, columns);
        c.par.parts = info.is_host ? 1 : 4 * info.units / n_rois;
        c.par.parts = c.par.parts > 32 ? 32 : c.par.parts ? c.par.parts : 1;
    }
    if (r == 0 && serial_rate[size] <= 0) {
        struct serial s = {.l = l, .n = n};

        r = measure(b, &(struct work){run_serial, &s, true}, &t);
        serial_rate[size] = n * (n - 1) / 2.0 / t.us * 1e6;
    }
    if (r == 0)
        r = graph_case_measure(b, device, &c, &t);
    if (r == 0)
        report(b, &(struct figure){.what = what,
                                   .device = name,
                                   .unit = "pairs/s",
                                   .per_s = (double)threads * n_rois * n * (n - 1) / 2 / t.us * 1e6,
                                   .t = t,
                                   .serial_per_s = serial_rate[size]});
    free(l);
    free(columns);
    return r;
}

static int one(const struct bench *b, struct trg_device *device, uint32_t size, uint32_t layout,
               uint32_t n_rois, uint32_t threads)
{
    static const char *const names[] = {"full", "compute-symmetric", "memory-symmetric"};
    char what[96];

    snprintf(what, sizeof what, "adjacency %s, N %u, %u events, %u threads", names[layout],
             sizes[size], n_rois, threads);
    return is_wanted(b, what) ? measure_one(b, device, size, layout, n_rois, threads, what) : 0;
}

int bench_adjacency(const struct bench *b, struct trg_device *device)
{
    struct trg_device_info info;
    int r = 0;

    trg_device_info(device, &info);
    for (uint32_t s = 0; r == 0 && s < SIZES - (b->quick ? 1 : 0); s++)
        for (uint32_t layout = 0; r == 0 && layout < 3; layout++) {
            /* so many events that 6e8 pairs, or 16384 events, are in a launch of a GPU */
            double batch = (info.is_host || b->quick ? 4e6 : 12e8) / sizes[s] / sizes[s];

            batch = batch > 16384 ? 16384 : batch;
            r = one(b, device, s, layout, 1, 1);
            if (r == 0 && batch >= 2)
                r = one(b, device, s, layout, (uint32_t)batch, 1);
            if (r == 0 && info.is_host && b->cores > 1)
                r = one(b, device, s, layout, batch < 2 ? 1 : (uint32_t)batch, b->cores);
        }
    return r;
}
