/* SPDX-License-Identifier: Apache-2.0 */
/* worker_spare.h - a process that has opened the device of a worker and the memory of co-located
 * clients, and takes its place when it ends (workers.spare).  On the worker's watcher only, but for
 * worker_spare_tend. */
#ifndef TRIGD_WORKER_SPARE_H
#define TRIGD_WORKER_SPARE_H
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "exec/worker_process.h"

struct worker_spare {
    pthread_mutex_t *lock;         /* of the process and of `shared` */
    struct worker_process process; /* without a pid: there is none */
    uint32_t *shared[SHARDS_MAX];  /* by region: epoch that it has mapped; the worker's memory */
    uint32_t n_regions[SHARDS_MAX];
    bool is_wanted;
    const struct worker_base *base;
    const char *name, *backend; /* of the worker; they outlive it */
    uint32_t index;
    struct stats_worker *stats;
};

/* Starts one where one is wanted and there is none; does not wait for the device. */
void worker_spare_begin(struct worker_spare *s);
/* On the I/O thread of a shard, now and then: lets it map the memory of clients, and forget that of
 * clients that are gone. */
void worker_spare_tend(struct worker_spare *s, uint32_t shard);
/* It becomes the process, from which worker_process_ready then gets its answer, and has mapped what
 * `shared` says; false: there is none. */
bool worker_spare_take(struct worker_spare *s, struct worker_process *process);
/* After its end: logs how it ended. */
void worker_spare_forget(struct worker_spare *s);
#endif
