/* SPDX-License-Identifier: Apache-2.0 */
/* worker_inner.h - the parts of a worker: its process and lanes (worker_lanes.c), the thread that
 * starts it again (worker_watch.c), and the whole (worker.c).  Each calls the ones before it. */
#ifndef TRIGD_WORKER_INNER_H
#define TRIGD_WORKER_INNER_H
#include <pthread.h>
#include <stdatomic.h>

#include "exec/runner.h"
#include "exec/worker.h"
#include "exec/worker_process.h"
#include "exec/worker_spare.h"

#define WORKER_QUARANTINE_MS 1000u

struct worker_lane { /* one runner */
    struct lane *lane[SHARDS_MAX];
    struct worker_lane_message *asked; /* of a process: what opens it again */
    int error;               /* why it is aside: the process runs without it; 0: it is not */
    bool is_closed;          /* it is aside since it failed in service: it did open */
    uint32_t ends;           /* of the process while it was opened, in a row */
    uint32_t pause_ms;       /* the last one before it was tried again */
    uint64_t again_ns;       /* when it is tried again */
    uint64_t opened_ns;      /* the last time */
    uint64_t batches_before; /* that it had finished by then */
    struct runner *runner;   /* of threads */
    struct runner_shard shard[SHARDS_MAX]; /* the same */
};

struct worker_part {             /* of one shard */
    struct runner_memory memory; /* of threads */
    uint32_t *shared;            /* by region: epoch that the process has mapped */
    uint32_t n_regions;
    _Atomic uint32_t emptied; /* the death after which it had no RoI there any more */
    uint32_t taken;           /* the death after which it took the worker again */
};

struct worker {
    struct worker_base base;
    char name[STATS_NAME];
    char backend[16];
    uint32_t index;
    bool is_retry, is_beside;
    struct trg_device_info info;
    struct stats_worker *stats;
    uint32_t n_lanes;
    struct worker_lane **lane;
    struct trg_device *device; /* of threads */

    struct worker_process process;
    struct worker_spare spare; /* the watcher's */
    pthread_mutex_t lock;      /* of `process`: dispatch may use it while the worker is up */
    _Atomic bool is_ending;    /* it was killed; set with the lock */
    _Atomic int last_end;      /* status of the last process that ended, */
    _Atomic bool was_ended;    /* and whether worker_kill did it */
    _Atomic uint32_t deaths;   /* times two, and one while it is down */
    _Atomic uint32_t owner;    /* of a retry worker: the shard that has it, from 1; 0: none */
    struct worker_part part[SHARDS_MAX];
    _Atomic uint32_t pause_ms; /* before the next start */
    _Atomic bool is_excused;   /* since the last death an RoI was found to be the reason of one */
    uint64_t started_ns;
    uint64_t batches_before; /* what its lanes were through with when it started */
    int said;                /* why it could not be started again, as far as was logged */
    int stop_fd;
    int wake_fd; /* dispatch has closed a lane */
    pthread_t watcher;
    bool has_watcher;
    bool is_shown; /* worker_lanes_show was called */
};

static inline bool worker_is_down(const struct worker *w)
{
    return atomic_load(&w->deaths) & 1;
}

/* ---- worker_lanes.c ---- */

/* Batches that its lanes are through with, since the daemon's start. */
uint64_t worker_batches(const struct worker *w);
/* Starts the process, or takes the spare; waits until it has opened the device. */
int worker_start_process(struct worker *w);
/* The same, and opens its lanes, but for those that are put aside.  One under which the process
 * ends twice in a row is, and with it those of its step; the process is started again each time. */
int worker_bring_up(struct worker *w);
/* Its generation is complete: from now on the counters tell which lanes are down.  Until then those
 * of the same names may serve. */
void worker_lanes_show(struct worker *w);
/* Its process has ended. */
void worker_lanes_shut(struct worker *w);
/* When worker_lanes_try has to be called, for poll; -1: not before dispatch writes wake_fd. */
int worker_lanes_due_ms(const struct worker *w);
/* Puts lanes aside that dispatch has closed, and tries those again whose pause is over: first each
 * in a process of its own, since it may end it, then in that of the others. */
void worker_lanes_try(struct worker *w);

/* ---- worker_watch.c ---- */

/* The pause before the next start; short once the reason of the last death, or of one before it, is
 * known. */
uint32_t worker_pause_ms(const struct worker *w);
/* The thread that starts the worker again whenever its process ends; ends at stop_fd. */
void *worker_watcher(void *worker);
#endif
