/* SPDX-License-Identifier: Apache-2.0 */
/* show_devices.c - `show devices`: what the backends know of a device, and what NVML reads of it.
 */
#include <math.h>
#include <string.h>

#include "monitor/show.h"

#define WINDOW_10S 1u

struct rate { /* of the lanes of a device */
    const char *device;
    double rois_per_s;
};

static void find_rate(void *ctx, const struct windows_row *row)
{
    struct rate *r = ctx;

    if (!strcmp(row->name, r->device))
        r->rois_per_s = row->rate[0];
}

/* Energy for each RoI of the device's lanes within the last 10 s, mJ; what it takes while idle is
 * part of it. */
static void energy_cell(const struct control_view *v, struct table *t, const char *device,
                        const struct gpu *g)
{
    struct rate r = {.device = device};

    if (g && !isnan(g->watts) && v->windows)
        windows_each(v->windows, WINDOWS_OF_DEVICE, WINDOW_10S, find_rate, &r);
    if (g && r.rois_per_s > 0)
        table_cell(t, "%.3f", g->watts / r.rois_per_s * 1e3);
    else
        table_cell(t, "%s", "");
}

/* A number that the driver told, else an empty cell. */
static void told_cell(struct table *t, const struct gpu *g, enum gpu_has what, const char *format,
                      double value)
{
    char text[32] = "";

    if (g && (g->now.has & what))
        snprintf(text, sizeof text, format, value);
    table_cell(t, "%s", text);
}

static void gpu_cells(const struct control_view *v, struct table *t, const char *device,
                      const struct gpu *g)
{
    const struct gpu_reading none = {.has = 0}, *now = g ? &g->now : &none;

    told_cell(t, g, GPU_HAS_USE, "%.0f", now->use_percent);
    told_cell(t, g, GPU_HAS_MEMORY, "%.0f", (double)(now->memory_used >> 20));
    told_cell(t, g, GPU_HAS_TEMPERATURE, "%.0f", now->temperature_c);
    told_cell(t, g, GPU_HAS_POWER, "%.1f", now->power_mw * 1e-3);
    told_cell(t, g, GPU_HAS_ENERGY, "%.0f", (double)now->energy_mj * 1e-3);
    energy_cell(v, t, device, g);
}

static void device_row(const struct control_view *v, struct table *t, const char *backend,
                       uint32_t index, const struct gpu *list, uint32_t n)
{
    struct trg_device_info info;
    char name[32];

    if (devices_info(v->devices, backend, index, &info) < 0)
        return;
    snprintf(name, sizeof name, "%s:%u", backend, index);
    table_cell(t, "%s", name);
    table_cell(t, "%s", info.name);
    table_cell(t, "%s", info.driver);
    table_cell(t, "%u", info.units);
    table_cell(t, "%llu", (unsigned long long)(info.memory_bytes >> 20));
    gpu_cells(v, t, name, gpus_find(list, n, info.pci));
}

/* A GPU of the host that no backend has. */
static void other_row(const struct control_view *v, struct table *t, const struct gpu *g,
                      uint32_t i)
{
    char name[32];

    gpus_name(v->devices, &g->now, i, name, sizeof name);
    if (strncmp(name, "nvml:", 5) != 0)
        return;
    table_cell(t, "%s", name);
    table_cell(t, "%s", g->now.name);
    table_cell(t, "%s", "");
    table_cell(t, "%s", "");
    told_cell(t, g, GPU_HAS_MEMORY, "%.0f", (double)(g->now.memory_total >> 20));
    gpu_cells(v, t, name, g);
}

void show_devices(const struct control_view *v, struct table *t)
{
    static const char *const number[] = {"units",       "memory_mbytes", "use_percent",
                                         "used_mbytes", "temperature_c", "power_w",
                                         "energy_j",    "mj_per_roi"};
    struct gpu list[GPUS_MAX];
    const uint32_t n_gpus = gpus_look(v->gpus, list);

    table_column(t, "device", false);
    table_column(t, "name", false);
    table_column(t, "driver", false);
    for (size_t i = 0; i < sizeof number / sizeof *number; i++)
        table_column(t, number[i], true);
    for (uint32_t i = 0; v->devices && i < devices_backends(v->devices); i++) {
        uint32_t n;
        const char *name = devices_backend(v->devices, i, &n);

        for (uint32_t k = 0; k < n; k++)
            device_row(v, t, name, k, list, n_gpus);
    }
    for (uint32_t i = 0; v->devices && i < n_gpus; i++)
        other_row(v, t, &list[i], i);
}
