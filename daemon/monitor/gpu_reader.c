/* SPDX-License-Identifier: Apache-2.0 */
/* The process that reads GPUs.  NVML is opened here and nowhere else: its calls have been seen to
 * hang with a GPU that is lost, and to crash with a driver of another version.  Functions, types
 * and numbers are those of NVIDIA's NVML API reference. */
#include "monitor/gpu_reader.h"

#include <dlfcn.h>
#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "base/child.h"
#include "base/fdmessage.h"
#include "base/sandbox.h"
#include "log.h"
#include "monitor/gpu_wire.h"

#define LIBRARY   "libnvidia-ml.so.1"
#define READ_MS   1000
#define OF_DIE    0 /* NVML_TEMPERATURE_GPU */
#define N_ENTRIES (sizeof entries / sizeof *entries)

typedef struct nvml_device nvml_device;
struct nvml_pci {
    char bus_id_legacy[16];
    unsigned domain, bus, device, device_id, subsystem_id;
    char bus_id[32];
};
struct nvml_use {
    unsigned gpu, memory; /* % */
};
struct nvml_memory {
    unsigned long long total, free, used;
};

static struct {
    int (*init)(void);
    const char *(*error)(int result);
    int (*count)(unsigned *ret_n);
    int (*handle)(unsigned i, nvml_device **ret_device);
    int (*name)(nvml_device *d, char *name, unsigned bytes);
    int (*pci)(nvml_device *d, struct nvml_pci *ret_pci);
    int (*use)(nvml_device *d, struct nvml_use *ret_use);
    int (*memory)(nvml_device *d, struct nvml_memory *ret_memory);
    int (*temperature)(nvml_device *d, int sensor, unsigned *ret_c);
    int (*power)(nvml_device *d, unsigned *ret_mw);
    int (*energy)(nvml_device *d, unsigned long long *ret_mj);
} nvml;

static const struct {
    const char *name;
    void *to;
} entries[] = {{"nvmlInit_v2", &nvml.init},
               {"nvmlErrorString", &nvml.error},
               {"nvmlDeviceGetCount_v2", &nvml.count},
               {"nvmlDeviceGetHandleByIndex_v2", &nvml.handle},
               {"nvmlDeviceGetName", &nvml.name},
               {"nvmlDeviceGetPciInfo_v3", &nvml.pci},
               {"nvmlDeviceGetUtilizationRates", &nvml.use},
               {"nvmlDeviceGetMemoryInfo", &nvml.memory},
               {"nvmlDeviceGetTemperature", &nvml.temperature},
               {"nvmlDeviceGetPowerUsage", &nvml.power},
               {"nvmlDeviceGetTotalEnergyConsumption", &nvml.energy}};

static int open_library(struct gpu_message *m)
{
    void *library = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);

    if (!library) {
        snprintf(m->why, sizeof m->why, "%s", dlerror());
        return -ENOENT;
    }
    for (size_t i = 0; i < N_ENTRIES; i++) {
        void *found = dlsym(library, entries[i].name);

        if (!found) {
            snprintf(m->why, sizeof m->why, "%s has no %s", LIBRARY, entries[i].name);
            return -ENOENT;
        }
        memcpy(entries[i].to, &found, sizeof found);
    }
    return 0;
}

static int failed(struct gpu_message *m, const char *call, int result)
{
    snprintf(m->why, sizeof m->why, "%s: %s", call, nvml.error(result));
    return -EIO;
}

/* What one GPU tells; a part that it cannot tell is left out. */
static void read_gpu(nvml_device *d, struct gpu_reading *g)
{
    struct nvml_pci pci = {.bus_id = ""};
    struct nvml_memory memory;
    struct nvml_use use;
    unsigned long long energy;

    if (nvml.name(d, g->name, sizeof g->name) != 0)
        g->name[0] = '\0';
    if (nvml.pci(d, &pci) == 0)
        snprintf(g->pci, sizeof g->pci, "%.31s", pci.bus_id);
    if (nvml.use(d, &use) == 0) {
        g->use_percent = use.gpu;
        g->has |= GPU_HAS_USE;
    }
    if (nvml.memory(d, &memory) == 0) {
        g->memory_used = memory.used;
        g->memory_total = memory.total;
        g->has |= GPU_HAS_MEMORY;
    }
    if (nvml.temperature(d, OF_DIE, &g->temperature_c) == 0)
        g->has |= GPU_HAS_TEMPERATURE;
    if (nvml.power(d, &g->power_mw) == 0)
        g->has |= GPU_HAS_POWER;
    if (nvml.energy(d, &energy) == 0) {
        g->energy_mj = energy;
        g->has |= GPU_HAS_ENERGY;
    }
}

static int read_all(struct gpu_message *m)
{
    unsigned n;
    int r = nvml.count(&n);

    if (r != 0)
        return failed(m, "nvmlDeviceGetCount", r);
    for (unsigned i = 0; i < n && m->n < GPUS_MAX; i++) {
        nvml_device *d;

        if (nvml.handle(i, &d) == 0) /* else: it is lost, or not ours to see */
            read_gpu(d, &m->gpu[m->n++]);
    }
    return 0;
}

/* One that the daemon does not take at once is not sent: the next one is newer. */
static int send_message(const struct gpu_message *m)
{
    const size_t bytes = offsetof(struct gpu_message, gpu) + m->n * sizeof *m->gpu;
    const int r = fdmessage_send(CHILD_SOCKET, m, bytes, NULL, 0, MSG_DONTWAIT);

    return r == -EAGAIN ? 0 : r;
}

/* Whether the daemon ended it within the pause between two readings. */
static bool is_over(void)
{
    struct pollfd fd = {.fd = CHILD_SOCKET, .events = POLLIN};

    return poll(&fd, 1, READ_MS) != 0;
}

int gpu_reader_main(void)
{
    static struct gpu_message m;
    int r;

    child_enter();
    log_set_level(TRG_WARN);
    if (sandbox_enter() < 0)
        return 1;
    m.result = open_library(&m);
    if (m.result == 0 && (r = nvml.init()) != 0)
        m.result = failed(&m, "nvmlInit", r);
    while (m.result == 0) {
        m = (struct gpu_message){0};
        m.result = read_all(&m);
        if (m.result == 0 && (send_message(&m) < 0 || is_over()))
            return 0; /* without nvmlShutdown, which may hang as any other call */
    }
    return send_message(&m) < 0 ? 1 : 0;
}
