/* SPDX-License-Identifier: Apache-2.0 */
#include "meter.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

/* Of NVML's interface, which is stable: a driver brings the library, not the header. */
typedef int (*nvml_init)(void);
typedef int (*nvml_find)(const char *pci, void **ret_device);
typedef int (*nvml_energy)(void *device, unsigned long long *ret_millijoule);

struct meter {
    void *library; /* NULL: the CPU */
    void *device;
    nvml_energy energy;
};

static int open_gpu(struct meter *m, const char *pci)
{
    nvml_init init;
    nvml_find find;

    m->library = dlopen("libnvidia-ml.so.1", RTLD_NOW);
    if (!m->library)
        return -1;
    init = (nvml_init)(void (*)(void))dlsym(m->library, "nvmlInit_v2");
    find = (nvml_find)(void (*)(void))dlsym(m->library, "nvmlDeviceGetHandleByPciBusId_v2");
    m->energy =
        (nvml_energy)(void (*)(void))dlsym(m->library, "nvmlDeviceGetTotalEnergyConsumption");
    return init && find && m->energy && init() == 0 && find(pci, &m->device) == 0 ? 0 : -1;
}

static double read_rapl(void)
{
    double sum = -1;

    for (int package = 0; package < 8; package++) {
        char path[80];
        unsigned long long microjoule;
        FILE *f;

        snprintf(path, sizeof path, "/sys/class/powercap/intel-rapl:%d/energy_uj", package);
        f = fopen(path, "r");
        if (!f)
            break;
        if (fscanf(f, "%llu", &microjoule) == 1)
            sum = (sum < 0 ? 0 : sum) + 1e-6 * (double)microjoule;
        fclose(f);
    }
    return sum;
}

struct meter *meter_open(const char *pci)
{
    struct meter *m = calloc(1, sizeof *m);

    if (m && (pci[0] ? open_gpu(m, pci) < 0 : read_rapl() < 0)) {
        meter_close(m);
        return NULL;
    }
    return m;
}

void meter_close(struct meter *m)
{
    if (m && m->library)
        dlclose(m->library);
    free(m);
}

double meter_joule(const struct meter *m)
{
    unsigned long long millijoule;

    if (!m->library)
        return read_rapl();
    return m->energy(m->device, &millijoule) == 0 ? 1e-3 * (double)millijoule : -1;
}
