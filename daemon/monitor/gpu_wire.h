/* SPDX-License-Identifier: Apache-2.0 */
/* gpu_wire.h - messages of the process that reads GPUs: one each second, or one with the reason why
 * it ends. */
#ifndef TRIGD_GPU_WIRE_H
#define TRIGD_GPU_WIRE_H
#include <stddef.h>
#include <stdint.h>

#define GPUS_MAX 32u /* of a host; more are not read */

enum gpu_has { /* what the driver could tell; others are 0 */
               GPU_HAS_USE = 1,
               GPU_HAS_MEMORY = 2,
               GPU_HAS_TEMPERATURE = 4,
               GPU_HAS_POWER = 8,
               GPU_HAS_ENERGY = 16
};

struct gpu_reading {
    char pci[32], name[96];
    uint32_t has;         /* enum gpu_has */
    uint32_t use_percent; /* part of the time with a kernel on it, of the driver's last period */
    uint32_t temperature_c, power_mw;
    uint64_t memory_used, memory_total; /* bytes */
    uint64_t energy_mj;                 /* since the driver was loaded */
};

struct gpu_message {
    int32_t result; /* 0; -ENOENT: there is no NVML here; -EIO: it failed */
    uint32_t n;
    char why[160];
    struct gpu_reading gpu[GPUS_MAX];
};
#endif
