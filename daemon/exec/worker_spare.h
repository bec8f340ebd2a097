/* SPDX-License-Identifier: Apache-2.0 */
/* worker_spare.h - a process that has opened the device of a worker, and takes its place when it
 * ends (workers.spare).  On the worker's watcher only. */
#ifndef TRIGD_WORKER_SPARE_H
#define TRIGD_WORKER_SPARE_H
#include <stdbool.h>
#include <stdint.h>

#include "exec/worker_process.h"

struct worker_spare {
    struct worker_process process; /* without a pid: there is none */
    bool is_wanted;
    const struct worker_base *base;
    const char *name, *backend; /* of the worker; they outlive it */
    uint32_t index;
    struct stats_worker *stats;
};

/* Starts one where one is wanted and there is none; does not wait for the device. */
void worker_spare_begin(struct worker_spare *s);
/* It becomes the process, from which worker_process_ready then gets its answer; false: there is
 * none. */
bool worker_spare_take(struct worker_spare *s, struct worker_process *process);
/* After its end: logs how it ended. */
void worker_spare_forget(struct worker_spare *s);
#endif
