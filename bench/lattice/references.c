/* SPDX-License-Identifier: Apache-2.0 */
/* The four runs that the exercise gives the answers of: every row of its mean speeds. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"
#include "naive.h"

struct run {
    uint32_t nx, ny, steps;
    double accel;
};
static const struct run runs[] = {{128, 128, 40000, 0.005},
                                  {128, 256, 40000, 0.005},
                                  {256, 256, 80000, 0.005},
                                  {1024, 1024, 20000, 0.01}};

struct rows { /* as they stand in the file */
    uint32_t n;
    uint32_t step[1000];
    double mean[1000];
};

static void read_rows(const struct run *run, struct rows *rows)
{
    char path[4096], line[256];
    FILE *f;

    snprintf(path, sizeof path, "%s/%ux%u-mean-speed.csv", bench.data, run->nx, run->ny);
    f = fopen(path, "r");
    if (!f)
        die("%s cannot be read", path);
    rows->n = 0;
    while (fgets(line, sizeof line, f) && rows->n < 1000) {
        char *comma;
        const unsigned long step = strtoul(line, &comma, 10);

        if (comma == line || *comma != ',')
            continue; /* the head */
        rows->step[rows->n] = (uint32_t)step;
        rows->mean[rows->n++] = strtod(comma + 1, NULL);
    }
    fclose(f);
    if (!rows->n || rows->step[rows->n - 1] != run->steps - 1)
        die("%s does not have %u steps", path, run->steps);
}

static unsigned char *read_kind(const struct run *run)
{
    unsigned char *kind = calloc(run->nx, run->ny);
    struct lattice_why why;
    char path[4096];

    snprintf(path, sizeof path, "%s/%ux%u-obstacles.csv", bench.data, run->nx, run->ny);
    if (!kind)
        die("out of memory");
    if (lattice_read_obstacles(path, run->nx, run->ny, kind, &why) < 0)
        die("%s", why.text);
    return kind;
}

static void oracle(const struct run *run, const unsigned char *kind, double *mean)
{
    const struct naive_setup setup = {.nx = run->nx,
                                      .ny = run->ny,
                                      .density = 0.1,
                                      .accel = run->accel,
                                      .omega = 1.85,
                                      .kind = kind};
    struct naive_double_grid *g;

    if (naive_double_new(&setup, &g) < 0)
        die("out of memory");
    for (uint32_t i = 0; i < run->steps; i++)
        mean[i] = naive_double_step(g);
    naive_double_free(g);
}

static void compare(const struct run *run, const struct rows *rows, const double *mean,
                    const char *how, const char *device, double goal)
{
    double worst = 0;

    for (uint32_t i = 0; i < rows->n; i++) {
        const double error = fabs(mean[rows->step[i]] / rows->mean[i] - 1);

        worst = error > worst || isnan(error) ? error : worst;
    }
    result_report_value(
        &bench.out, &(struct result_figure){.unit = "", .goal = goal, .device = device}, worst, 0,
        1, "reference %ux%u, %s: worst of %u rows", run->nx, run->ny, how, rows->n);
    printf("    last %.12e, reference %.12e\n", mean[run->steps - 1], rows->mean[rows->n - 1]);
}

static void on_device(const struct device *device, const struct run *run, const struct rows *rows,
                      const unsigned char *kind, double *mean)
{
    static const char *const stores[] = {"float", "half"};

    for (uint32_t store = 0; store < 2; store++) {
        const struct lattice_setup setup = {.nx = run->nx,
                                            .ny = run->ny,
                                            .density = 0.1,
                                            .accel = run->accel,
                                            .omega = 1.85,
                                            .storage = store};
        struct trg_queue *q;
        struct lattice *l = flow_open(device, &setup, kind, NULL, &q);
        const double start = devices_seconds(device);

        flow_run(l, q, run->steps, mean);
        result_report_value(&bench.out,
                            &(struct result_figure){.unit = "s", .device = name_of(device)},
                            devices_seconds(device) - start, 0, 1, "reference %ux%u, %s: all steps",
                            run->nx, run->ny, stores[store]);
        compare(run, rows, mean, stores[store], name_of(device), store ? 0 : 3e-4);
        flow_close(l, q);
        if (device->info.is_host)
            break; /* halves are made in software there */
    }
}

void bench_references(const struct device *device)
{
    struct rows *rows = malloc(sizeof *rows);
    double *mean = malloc(80000 * sizeof *mean);

    if (!bench.data)
        die("--data names no folder of the reference runs");
    if (!rows || !mean)
        die("out of memory");
    for (size_t i = 0; i < sizeof runs / sizeof runs[0]; i++) {
        unsigned char *kind;

        if (bench.is_quick && runs[i].nx > 128)
            break;
        kind = read_kind(&runs[i]);
        read_rows(&runs[i], rows);
        if (device) {
            on_device(device, &runs[i], rows, kind, mean);
        } else {
            oracle(&runs[i], kind, mean);
            compare(&runs[i], rows, mean, "double", "one core", 1e-9);
        }
        free(kind);
    }
    free(rows);
    free(mean);
}
