/* SPDX-License-Identifier: Apache-2.0 */
/* Flows with known answers, on grids that are finer by steps of two. */
#include <math.h>
#include <stdlib.h>

#include "bench.h"
#include "truth.h"

static const char *const store_name[] = {"float", "half"};

static void report_error(const struct device *device, const char *figure, double goal, double error)
{
    report_value(
        &(struct row){.figure = figure, .device = name_of(device), .unit = "", .goal = goal},
        error);
}

static void report_cavity(const struct device *device, const struct truth_run *run, uint32_t n,
                          uint32_t reynolds, const char *what, double goal, double error)
{
    char figure[160];

    snprintf(figure, sizeof figure, "cavity Re %u, %ux%u, %s: %s", reynolds, n, n,
             store_name[run->storage], what);
    report_error(device, figure, goal, error);
}

static void cavities(const struct device *device, const struct truth_run *run)
{
    static const uint32_t reynolds[] = {100, 400, 1000};

    for (uint32_t r = 0; r < 3; r++)
        for (uint32_t n = 64; n <= (bench.is_quick ? 64u : 256u); n *= 2) {
            const double goal = n == 256 && !run->storage ? 0.01 : 0;
            struct truth_cavity c;

            if (truth_cavity(run, n, reynolds[r], r ? 60 : 30, &c) < 0)
                die("the cavity failed");
            report_cavity(device, run, n, reynolds[r], "off Ghia, root mean square", goal, c.rms);
            report_cavity(device, run, n, reynolds[r], "off Ghia, worst point", goal, c.worst);
            if (reynolds[r] == 1000)
                report_cavity(device, run, n, reynolds[r], "extremes off Botella and Peyret", goal,
                              c.extremes);
        }
}

static void channels(const struct device *device, const struct truth_run *run)
{
    for (uint32_t n = 16; n <= (bench.is_quick ? 64u : 256u); n *= 2)
        for (uint32_t two = 0; two < 2; two++) {
            char figure[160];
            double error;

            if (truth_poiseuille(run, n, 1.4, two ? 3.0 / 16 : 0, &error) < 0)
                die("the channel failed");
            snprintf(figure, sizeof figure,
                     "Poiseuille, %u cells, tau 1.4, %s, %s: off the parabola", n,
                     two ? "two relaxation times" : "BGK", store_name[run->storage]);
            report_error(device, figure, n == 256 && !run->storage ? 0.01 : 0, error);
        }
}

static void vortices(const struct device *device, const struct truth_run *run)
{
    for (uint32_t n = 16; n <= (bench.is_quick ? 64u : 256u); n *= 2) {
        char figure[160];
        double error;

        if (truth_taylor_green(run, n, &error) < 0)
            die("the vortices failed");
        snprintf(figure, sizeof figure, "Taylor-Green, %ux%u, %s: off the exact flow", n, n,
                 store_name[run->storage]);
        report_error(device, figure, n == 256 && !run->storage ? 0.01 : 0, error);
    }
}

void bench_physics(const struct device *device)
{
    const bool is_gpu = device->info.pci[0] != '\0';

    for (uint32_t store = 0; store < (is_gpu ? 2u : 1u); store++) {
        const struct truth_run run = {.device = device->d, .storage = store};

        channels(device, &run);
        vortices(device, &run);
        cavities(device, &run);
    }
}
