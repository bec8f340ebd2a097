/* SPDX-License-Identifier: Apache-2.0 */
/* A libnvidia-ml.so.1 with two GPUs, of which the second one tells less.  The file that FAKE_NVML
 * names says how it behaves from now on: values, still (of energy), hang, crash or fail. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define NOT_SUPPORTED 3
#define GPU_IS_LOST   15

struct nvml_device {
    int i;
};
static struct nvml_device device[2] = {{0}, {1}};
static unsigned long long energy_mj = 1000000;

#pragma GCC visibility push(default)
int nvmlInit_v2(void);
const char *nvmlErrorString(int result);
int nvmlDeviceGetCount_v2(unsigned *n);
int nvmlDeviceGetHandleByIndex_v2(unsigned i, struct nvml_device **ret_device);
int nvmlDeviceGetName(struct nvml_device *d, char *name, unsigned bytes);
int nvmlDeviceGetPciInfo_v3(struct nvml_device *d, void *pci);
int nvmlDeviceGetUtilizationRates(struct nvml_device *d, unsigned *use);
int nvmlDeviceGetMemoryInfo(struct nvml_device *d, unsigned long long *memory);
int nvmlDeviceGetTemperature(struct nvml_device *d, int sensor, unsigned *c);
int nvmlDeviceGetPowerUsage(struct nvml_device *d, unsigned *mw);
int nvmlDeviceGetTotalEnergyConsumption(struct nvml_device *d, unsigned long long *mj);
#pragma GCC visibility pop

int nvmlInit_v2(void)
{
    return 0;
}

const char *nvmlErrorString(int result)
{
    return result == GPU_IS_LOST ? "GPU is lost" : "Unknown Error";
}

/* What the file says. */
static char behaviour(void)
{
    const char *path = getenv("FAKE_NVML");
    FILE *f = path ? fopen(path, "r") : NULL;
    int c = f ? fgetc(f) : 'v';

    if (f)
        fclose(f);
    return (char)c;
}

int nvmlDeviceGetCount_v2(unsigned *n)
{
    const char c = behaviour();

    *n = 2;
    if (c == 'c')
        raise(SIGSEGV);
    while (c == 'h')
        pause();
    return c == 'f' ? GPU_IS_LOST : 0;
}

int nvmlDeviceGetHandleByIndex_v2(unsigned i, struct nvml_device **ret_device)
{
    *ret_device = &device[i];
    return 0;
}

int nvmlDeviceGetName(struct nvml_device *d, char *name, unsigned bytes)
{
    snprintf(name, bytes, d->i ? "A \"quoted\" name" : "NVIDIA Test 1000");
    return 0;
}

int nvmlDeviceGetPciInfo_v3(struct nvml_device *d, void *pci)
{
    /* bus_id is behind bus_id_legacy[16] and five numbers */
    snprintf((char *)pci + 16 + 5 * sizeof(unsigned), 32, "00000000:%s:00.0", d->i ? "AF" : "65");
    return 0;
}

int nvmlDeviceGetUtilizationRates(struct nvml_device *d, unsigned *use)
{
    use[0] = 42;
    use[1] = 7;
    return d->i ? NOT_SUPPORTED : 0;
}

int nvmlDeviceGetMemoryInfo(struct nvml_device *d, unsigned long long *memory)
{
    memory[0] = 1ull << 33;
    memory[2] = 3ull << 30;
    memory[1] = memory[0] - memory[2];
    return d->i ? NOT_SUPPORTED : 0;
}

int nvmlDeviceGetTemperature(struct nvml_device *d, int sensor, unsigned *c)
{
    *c = 51 + (unsigned)d->i;
    return sensor;
}

int nvmlDeviceGetPowerUsage(struct nvml_device *d, unsigned *mw)
{
    *mw = 250500;
    return d->i ? NOT_SUPPORTED : 0;
}

int nvmlDeviceGetTotalEnergyConsumption(struct nvml_device *d, unsigned long long *mj)
{
    *mj = energy_mj;
    if (behaviour() != 's')
        energy_mj += 300000;
    return d->i ? NOT_SUPPORTED : 0;
}
