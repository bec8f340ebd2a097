/* SPDX-License-Identifier: Apache-2.0 */
/* Million updates of cells a second: the sizes of the exercise and a larger one, in every way. */
#include <stdlib.h>
#include <string.h>

#include "bench.h"
#include "naive.h"

static const char *const way_name[] = {"auto", "in place", "blocks"};
static const char *const store_name[] = {"float", "half"};

static struct lattice_setup cope(uint32_t nx, uint32_t ny, uint32_t storage)
{
    return (struct lattice_setup){
        .nx = nx, .ny = ny, .density = 0.1, .accel = 0.005, .omega = 1.85, .storage = storage};
}

/* Runs, each of `steps`, after one that warms up. */
static struct result measure(const struct device *device, const struct lattice_setup *setup,
                             const struct lattice_tuning *tuning, uint32_t steps, bool is_rate)
{
    unsigned char *kind = box(setup->nx, setup->ny);
    struct result r = {0};
    struct trg_queue *q;
    struct lattice *l = flow_open(device, setup, kind, tuning, &q);
    double *mean = malloc(steps * sizeof *mean); /* read, as a user does */

    if (!mean)
        die("out of memory");
    flow_run(l, q, steps < 200 ? steps : 200, mean);
    for (uint32_t i = 0; i < bench.runs; i++) {
        const double start = devices_seconds(device);
        double took;

        flow_run(l, q, steps, mean);
        took = devices_seconds(device) - start; /* the means are read */
        result_add(&r, is_rate ? 1e-6 * setup->nx * setup->ny * steps / took : took);
    }
    flow_close(l, q);
    free(kind);
    free(mean);
    return r;
}

static bool is_gpu(const struct device *device)
{
    return device->info.pci[0] != '\0';
}

static uint32_t steps_for(const struct device *device, uint32_t nx, uint32_t ny)
{
    const double cells = (double)nx * ny, updates = is_gpu(device) ? 4e9 : 4e7;
    const double steps = updates / cells / (bench.is_quick ? 4 : 1);

    return steps < 16 ? 16 : steps > 4096 ? 4096 : (uint32_t)steps / 16 * 16;
}

static bool is_wanted(uint32_t size)
{
    return !bench.size || bench.size == size;
}

static void speed_of(const struct device *device, uint32_t size, uint32_t store, uint32_t way)
{
    const struct lattice_setup setup = cope(size, size, store);
    const struct lattice_tuning tuning = {.way = way};
    const double goal = store || way                         ? 0
                        : is_gpu(device) && size % 1024 == 0 ? 50000
                        : device->info.is_host               ? 100
                                                             : 0;
    struct result r;

    if (!is_wanted(size) || (!is_gpu(device) && (way || size > 1024)))
        return;
    r = measure(device, &setup, &tuning, steps_for(device, size, size), true);
    result_report(
        &bench.out,
        &(struct result_figure){
            .unit = "MLUPS", .higher_is_better = true, .goal = goal, .device = name_of(device)},
        &r, "%ux%u, %s, %s", size, size, store_name[store], way_name[way]);
}

/* Of all steps that the report takes, mean speeds included. */
static void time_of(const struct device *device, uint32_t size, uint32_t steps, double goal)
{
    const struct lattice_setup setup = cope(size, size, 0);
    struct result r;

    if (!is_wanted(size))
        return;
    r = measure(device, &setup, NULL, steps, false);
    result_report(&bench.out,
                  &(struct result_figure){.unit = "s", .goal = goal, .device = name_of(device)}, &r,
                  "%ux%u, %u,%03u steps", size, size, steps / 1000, steps % 1000);
}

void bench_speed(const struct device *device)
{
    static const uint32_t sizes[] = {128, 256, 512, 1024, 2048, 4096};

    for (uint32_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++)
        for (uint32_t store = 0; store < 2; store++)
            for (uint32_t way = 0; way < 3; way++)
                speed_of(device, sizes[s], store, way);
    for (uint32_t i = 0; is_gpu(device) && i < 2; i++)
        time_of(device, i ? 1024 : 128, i ? 20000 : 40000, i ? 0.42 : 0.05);
}

/* ---------------------------------------------------------------- shapes */

static void shape(const struct device *device, uint32_t size, uint32_t store,
                  struct lattice_tuning tuning)
{
    const struct lattice_setup setup = cope(size, size, store);
    char way[64];
    struct result r;

    if (tuning.group_size > device->info.group_max)
        return;
    r = measure(device, &setup, &tuning, steps_for(device, size, size), true);
    if (tuning.way == LATTICE_WAY_BLOCKS)
        snprintf(way, sizeof way, "%u steps, tile 32x%u", tuning.block_steps, tuning.tile_rows);
    else
        snprintf(way, sizeof way, "in place");
    result_report(&bench.out,
                  &(struct result_figure){
                      .unit = "MLUPS", .higher_is_better = true, .device = name_of(device)},
                  &r, "%ux%u, %s, %s, group %u", size, size, store_name[store], way,
                  tuning.group_size);
}

void bench_sweep(const struct device *device)
{
    static const uint32_t sizes[] = {128, 256, 1024, 4096};
    static const uint32_t groups[] = {128, 256, 384, 512, 640, 768, 1024};
    static const struct {
        uint32_t steps, rows;
    } blocks[] = {{2, 16}, {2, 32}, {4, 24}, {4, 32},  {6, 20},
                  {6, 32}, {8, 24}, {8, 32}, {10, 28}, {10, 32}};

    for (uint32_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++) {
        if (!is_wanted(sizes[s]))
            continue;
        for (uint32_t store = 0; store < 2; store++)
            for (uint32_t g = 0; g < sizeof groups / sizeof groups[0]; g++)
                shape(device, sizes[s], store,
                      (struct lattice_tuning){.way = LATTICE_WAY_INPLACE, .group_size = groups[g]});
        for (uint32_t b = 0; b < sizeof blocks / sizeof blocks[0]; b++)
            for (uint32_t g = 2; g < 2 * sizeof groups / sizeof groups[0]; g++)
                shape(device, sizes[s], g % 2,
                      (struct lattice_tuning){.way = LATTICE_WAY_BLOCKS,
                                              .block_steps = blocks[b].steps,
                                              .tile_rows = blocks[b].rows,
                                              .group_size = groups[g / 2]});
    }
}

/* ---------------------------------------------------------------- the course's program */

static void course(const char *figure,
                   int new_grid(const struct naive_setup *, struct naive_float_grid **),
                   double step(struct naive_float_grid *),
                   void free_grid(struct naive_float_grid *))
{
    static const uint32_t sizes[] = {128, 1024};

    for (uint32_t s = 0; s < 2; s++) {
        unsigned char *kind = box(sizes[s], sizes[s]);
        const struct naive_setup setup = {.nx = sizes[s],
                                          .ny = sizes[s],
                                          .density = 0.1,
                                          .accel = 0.005,
                                          .omega = 1.85,
                                          .kind = kind};
        const uint32_t steps = s ? 20 : 1000;
        struct naive_float_grid *g;
        struct result r = {0};

        if (new_grid(&setup, &g) < 0)
            die("out of memory");
        (void)step(g);
        for (uint32_t i = 0; i < bench.runs; i++) {
            const double start = devices_seconds(NULL);

            for (uint32_t k = 0; k < steps; k++)
                (void)step(g);
            result_add(&r, 1e-6 * sizes[s] * sizes[s] * steps / (devices_seconds(NULL) - start));
        }
        result_report(&bench.out,
                      &(struct result_figure){
                          .unit = "MLUPS", .higher_is_better = true, .device = "one core"},
                      &r, "%ux%u, %s", sizes[s], sizes[s], figure);
        free_grid(g);
        free(kind);
    }
}

void bench_course(void)
{
    course("the course's program, -O3", naive_float_new, naive_float_step, naive_float_free);
}
