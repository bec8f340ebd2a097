/* SPDX-License-Identifier: Apache-2.0 */
/* Connected components of random graphs, beside a serial union-find that reads the same bits. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "event.h"
#include "graphjob.h"
#include "parts.h"

struct serial {
    const uint32_t *matrix;
    uint32_t n, *parent;
};

static uint32_t find(uint32_t *parent, uint32_t k)
{
    while (parent[k] != k)
        k = parent[k] = parent[parent[k]];
    return k;
}

/* Union-find over the bits above the diagonal, as the kernel reads them. */
static int run_serial(void *arg, uint32_t times)
{
    const struct serial *s = arg;

    while (times--) {
        for (uint32_t i = 0; i < s->n; i++)
            s->parent[i] = i;
        for (uint32_t tile = 0; tile * 32 < s->n; tile++)
            for (uint32_t i = 0; i < s->n && i < tile * 32 + 32; i++)
                for (uint32_t w = s->matrix[tile * s->n + i]; w; w &= w - 1) {
                    const uint32_t j = tile * 32 + (uint32_t)__builtin_ctz(w);
                    uint32_t x = find(s->parent, i), y = find(s->parent, j);

                    s->parent[x < y ? y : x] = x < y ? x : y;
                }
        for (uint32_t i = 0; i < s->n; i++)
            s->parent[i] = find(s->parent, i);
    }
    return 0;
}

/* A random graph in the upper half of a full matrix, the same for every RoI. */
static void make_graph(uint32_t *m, uint32_t n, uint32_t n_rois, double degree)
{
    const size_t words = (size_t)n * ((n + 31) / 32);
    uint64_t random = 7;
    uint32_t edges = (uint32_t)(degree * n / 2);

    while (edges--) {
        uint32_t i = (uint32_t)(toy_uniform(&random) * n), j = (uint32_t)(toy_uniform(&random) * n);

        if (i < j)
            m[(j / 32) * n + i] |= 1u << (j % 32);
        else if (j < i)
            m[(i / 32) * n + j] |= 1u << (i % 32);
    }
    for (uint32_t r = 1; r < n_rois; r++)
        for (size_t w = 0; w < words; w++)
            m[r * words + w] = m[w];
}

static int measure_one(const struct bench *b, struct trg_device *device, uint32_t n, double degree,
                       uint32_t n_rois, uint32_t threads, const char *what)
{
    const size_t words = (size_t)n * ((n + 31) / 32) * n_rois;
    uint32_t *m = calloc(words, sizeof *m), *parent = calloc(n, sizeof *parent);
    float *columns = calloc((size_t)VX_COLUMNS * n * n_rois, sizeof *columns);
    const struct graph_case c = {.n = n,
                                 .n_rois = n_rois,
                                 .threads = threads,
                                 .columns = columns,
                                 .step = kit_components,
                                 .par = {.layout = VX_LAYOUT_FULL},
                                 .matrix = m,
                                 .words = words};
    struct timing serial, t;
    char name[64];
    int r = m && parent && columns ? 0 : -ENOMEM;

    if (r == 0) {
        struct serial s = {.matrix = m, .n = n, .parent = parent};

        make_graph(m, n, n_rois, degree);
        r = measure(b, &(struct work){run_serial, &s, true}, &serial);
    }
    if (r == 0)
        r = graph_case_measure(b, device, &c, &t);
    device_name(device, name, sizeof name);
    if (r == 0)
        report(b, &(struct figure){.what = what,
                                   .device = name,
                                   .unit = "graphs/s",
                                   .per_s = (double)threads * n_rois / t.us * 1e6,
                                   .t = t,
                                   .serial_per_s = 1 / serial.us * 1e6});
    free(m);
    free(parent);
    free(columns);
    return r;
}

static int one(const struct bench *b, struct trg_device *device, uint32_t n, double degree,
               uint32_t n_rois, uint32_t threads)
{
    char what[96];

    snprintf(what, sizeof what, "components, N %u, mean degree %.1f, %u graphs, %u threads", n,
             degree, n_rois, threads);
    return is_wanted(b, what) ? measure_one(b, device, n, degree, n_rois, threads, what) : 0;
}

int bench_components(const struct bench *b, struct trg_device *device)
{
    static const uint32_t sizes[] = {32, 100, 400, 1000, 4096};
    static const double degrees[] = {0.5, 2, 8};
    struct trg_device_info info;
    int r = 0;

    trg_device_info(device, &info);
    for (uint32_t s = 0; s < 5; s++)
        for (uint32_t d = 0; r == 0 && d < 3; d++) {
            double batch = (info.is_host || b->quick ? 4e6 : 4e8) / sizes[s] / sizes[s];

            batch = batch > 8192 ? 8192 : batch;
            r = one(b, device, sizes[s], degrees[d], 1, 1);
            if (r == 0 && batch >= 2)
                r = one(b, device, sizes[s], degrees[d], (uint32_t)batch, 1);
            if (r == 0 && info.is_host && b->cores > 1)
                r = one(b, device, sizes[s], degrees[d], batch < 2 ? 1 : (uint32_t)batch, b->cores);
        }
    return r;
}
