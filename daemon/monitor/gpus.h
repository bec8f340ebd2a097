/* SPDX-License-Identifier: Apache-2.0 */
/* gpus.h - use, memory, temperature, power and energy of the NVIDIA GPUs of this host, read once a
 * second through NVML by a process of its own (gpu_reader.h).
 *
 * A thread receives the process's messages.  If the process hangs or ends, it is restarted after a
 * pause that grows from setup.retry_ms to a minute; until then there are no readings, and nothing
 * else changes.  A process that not even SIGKILL ends, because it is in the driver, is left behind.
 */
#ifndef TRIGD_GPUS_H
#define TRIGD_GPUS_H
#include <stdbool.h>

#include "exec/devices.h"
#include "monitor/gpu_wire.h"

#define GPUS_HANG_MS  5000u
#define GPUS_RETRY_MS 1000u

struct gpus_setup {
    uint32_t hang_ms;  /* without a message: it hangs; readings older than that are not shown */
    uint32_t retry_ms; /* first pause before it is started again */
};

struct gpu {
    struct gpu_reading now;
    double watts; /* mean of the last 10 s, from its energy; NAN: not known yet */
};

struct gpus_counts {
    uint32_t ended, hung; /* times that the process ended by itself, or was ended */
    bool is_given_up;     /* there is no NVML here, or a process was left behind */
};

struct gpus;
int gpus_start(const struct gpus_setup *setup, struct gpus **ret_gpus);
void gpus_stop(struct gpus *g); /* NULL is fine */
/* The last readings; how many.  Any thread; NULL: 0. */
uint32_t gpus_look(struct gpus *g, struct gpu list[GPUS_MAX]);
void gpus_count(struct gpus *g, struct gpus_counts *ret_counts);
/* The one at a PCI address as a backend spells it ("0000:65:00.0"); NULL: none. */
const struct gpu *gpus_find(const struct gpu *list, uint32_t n, const char *pci);
/* The device of the daemon that a GPU is, "cuda:0", or "nvml:I" when no backend has it. */
void gpus_name(const struct devices *d, const struct gpu_reading *gpu, uint32_t i, char *name,
               size_t bytes);
#endif
