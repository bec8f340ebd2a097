/* SPDX-License-Identifier: Apache-2.0 */
/* Flows with known answers, on grids that are finer by steps of two. */
#include <math.h>
#include <stdlib.h>

#include "bench.h"
#include "truth.h"

static const char *const store_name[] = {"float", "half"};

/* An error, on grids of n; the goal is for single precision on the finest. */
static struct result_figure off(const struct device *device, const struct truth_run *run,
                                uint32_t n)
{
    return (struct result_figure){
        .unit = "", .goal = n == 256 && !run->storage ? 0.01 : 0, .device = name_of(device)};
}

static void cavities(const struct device *device, const struct truth_run *run)
{
    static const uint32_t reynolds[] = {100, 400, 1000};

    for (uint32_t r = 0; r < 3; r++)
        for (uint32_t n = 64; n <= (bench.is_quick ? 64u : 256u); n *= 2) {
            const struct result_figure f = off(device, run, n);
            struct truth_cavity c;
            const struct {
                const char *what;
                const double *value;
            } errors[] = {{"off Ghia, root mean square", &c.rms},
                          {"off Ghia, worst point", &c.worst},
                          {"extremes off Botella and Peyret", &c.extremes}};

            if (truth_cavity(run, n, reynolds[r], r ? 60 : 30, &c) < 0)
                die("the cavity failed");
            for (uint32_t i = 0; i < (reynolds[r] == 1000 ? 3 : 2); i++)
                result_report_value(&bench.out, &f, *errors[i].value, 0, 1,
                                    "cavity Re %u, %ux%u, %s: %s", reynolds[r], n, n,
                                    store_name[run->storage], errors[i].what);
        }
}

static void channels(const struct device *device, const struct truth_run *run)
{
    for (uint32_t n = 16; n <= (bench.is_quick ? 64u : 256u); n *= 2)
        for (uint32_t two = 0; two < 2; two++) {
            const struct result_figure f = off(device, run, n);
            double error;

            if (truth_poiseuille(run, n, 1.4, two ? 3.0 / 16 : 0, &error) < 0)
                die("the channel failed");
            result_report_value(&bench.out, &f, error, 0, 1,
                                "Poiseuille, %u cells, tau 1.4, %s, %s: off the parabola", n,
                                two ? "two relaxation times" : "BGK", store_name[run->storage]);
        }
}

static void vortices(const struct device *device, const struct truth_run *run)
{
    for (uint32_t n = 16; n <= (bench.is_quick ? 64u : 256u); n *= 2) {
        const struct result_figure f = off(device, run, n);
        double error;

        if (truth_taylor_green(run, n, &error) < 0)
            die("the vortices failed");
        result_report_value(&bench.out, &f, error, 0, 1,
                            "Taylor-Green, %ux%u, %s: off the exact flow", n, n,
                            store_name[run->storage]);
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
