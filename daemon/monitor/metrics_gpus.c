/* SPDX-License-Identifier: Apache-2.0 */
/* metrics_gpus.c - the GPUs of the host on the metrics page: a series for each, under the name of
 * the daemon's device. */
#include "monitor/http.h"

struct family {
    const char *name, *kind, *help;
    uint32_t has;
    double (*value)(const struct gpu_reading *g);
};

static double use(const struct gpu_reading *g)
{
    return g->use_percent * 1e-2;
}

static double memory_used(const struct gpu_reading *g)
{
    return (double)g->memory_used;
}

static double memory_total(const struct gpu_reading *g)
{
    return (double)g->memory_total;
}

static double temperature(const struct gpu_reading *g)
{
    return g->temperature_c;
}

static double power(const struct gpu_reading *g)
{
    return g->power_mw * 1e-3;
}

static double energy(const struct gpu_reading *g)
{
    return (double)g->energy_mj * 1e-3;
}

static const struct family families[] = {
    {"use_ratio", "gauge", "part of the time with a kernel on the GPU", GPU_HAS_USE, use},
    {"memory_used_bytes", "gauge", "memory of the GPU in use, by all processes", GPU_HAS_MEMORY,
     memory_used},
    {"memory_bytes", "gauge", "memory of the GPU", GPU_HAS_MEMORY, memory_total},
    {"temperature_celsius", "gauge", "temperature of the GPU", GPU_HAS_TEMPERATURE, temperature},
    {"power_watts", "gauge", "power that the GPU draws", GPU_HAS_POWER, power},
    {"energy_joules_total", "counter", "energy since the driver was loaded", GPU_HAS_ENERGY,
     energy}};

void metrics_gpus(const struct control_view *v, FILE *out)
{
    struct gpus_counts counts;
    struct gpu list[GPUS_MAX];
    const uint32_t n = gpus_look(v->gpus, list);
    char name[32];

    if (!v->gpus)
        return;
    for (size_t f = 0; f < sizeof families / sizeof *families; f++) {
        const struct family *of = &families[f];

        fprintf(out, "# HELP trigd_gpu_%s %s\n# TYPE trigd_gpu_%s %s\n", of->name, of->help,
                of->name, of->kind);
        for (uint32_t i = 0; i < n; i++) {
            if (!(list[i].now.has & of->has))
                continue;
            gpus_name(v->devices, &list[i].now, i, name, sizeof name);
            fprintf(out, "trigd_gpu_%s{device=\"%s\"} %.12g\n", of->name, name,
                    of->value(&list[i].now));
        }
    }
    gpus_count(v->gpus, &counts);
    fprintf(out,
            "# HELP trigd_gpu_reader_ended_total times that the process that reads GPUs ended\n"
            "# TYPE trigd_gpu_reader_ended_total counter\ntrigd_gpu_reader_ended_total %u\n"
            "# HELP trigd_gpu_reader_hung_total times that it hung and was ended\n"
            "# TYPE trigd_gpu_reader_hung_total counter\ntrigd_gpu_reader_hung_total %u\n",
            counts.ended, counts.hung);
}
