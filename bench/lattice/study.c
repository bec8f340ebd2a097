/* SPDX-License-Identifier: Apache-2.0 */
/* The report's steps, one after the other, and lattice beside them: by size, by work-group (figure
 * 1), and by the part of the cells that are obstacles. */
#include "study.h"

#include <stdlib.h>

#include "bench.h"

static uint32_t steps_of(const struct device *device, uint32_t cells)
{
    const uint32_t updates = device->info.pci[0] ? 400000000u : 4000000u;
    const uint32_t steps = updates / cells;

    return steps < 8 ? 8 : steps > 1000 ? 1000 : steps;
}

static struct result measure(const struct device *device, const struct study_setup *setup)
{
    const uint32_t cells = setup->nx * setup->ny, steps = steps_of(device, cells);
    double *mean = malloc(steps * sizeof *mean);
    struct result r = {0};
    struct trg_queue *q;
    struct study *s;

    if (!mean || study_open(device->d, setup, &s) < 0 || trg_queue_new(device->d, &q) < 0)
        die("no study of %u x %u", setup->nx, setup->ny);
    for (uint32_t i = 0; i <= bench.runs; i++) {
        const double start = devices_seconds(device);

        if (study_run(s, q, steps, mean) < 0)
            die("the study failed");
        if (i > 0)
            result_add(&r, 1e-6 * cells * steps / (devices_seconds(device) - start));
    }
    trg_queue_free(q);
    study_close(s);
    free(mean);
    return r;
}

static void row(const struct device *device, const struct study_setup *setup, const char *what)
{
    const struct result r = measure(device, setup);

    result_report(&bench.out,
                  &(struct result_figure){
                      .unit = "MLUPS", .higher_is_better = true, .device = name_of(device)},
                  &r, "study %ux%u, %s%s, group %u", setup->nx, setup->ny,
                  study_name(setup->variant), what, setup->group);
}

static void by_obstacles(const struct device *device)
{
    static const char *const part_name[] = {", 10 % obstacles", ", 50 % obstacles",
                                            ", 90 % obstacles"};

    for (uint32_t p = 0; p < 3; p++) {
        unsigned char *kind = box(256, 256);
        uint64_t state = 1;

        for (size_t i = 0; i < 65536; i++)
            if (devices_random(&state) % 10 < 1 + 4 * p)
                kind[i] = LATTICE_SOLID;
        for (int v = STUDY_FUSED; v <= STUDY_MASKED; v++)
            row(device,
                &(struct study_setup){256, 256, 0.1, 0.005, 1.85, kind, (enum study_variant)v, 128},
                part_name[p]);
        free(kind);
    }
}

void bench_study(const struct device *device)
{
    static const uint32_t sizes[][2] = {{128, 128}, {128, 256}, {256, 256}, {1024, 1024}};

    for (uint32_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++) {
        unsigned char *kind = box(sizes[s][0], sizes[s][1]);
        struct study_setup setup = {sizes[s][0], sizes[s][1], 0.1,        0.005,
                                    1.85,        kind,        STUDY_FIVE, 128};

        for (int v = 0; v < STUDY_VARIANTS; v++) {
            setup.variant = (enum study_variant)v;
            row(device, &setup, "");
        }
        setup.variant = STUDY_FIVE;
        for (setup.group = 16; s == 2 && setup.group <= STUDY_GROUP_MAX; setup.group *= 2)
            if (setup.group != 128)
                row(device, &setup, "");
        free(kind);
    }
    by_obstacles(device);
}
