/* SPDX-License-Identifier: Apache-2.0 */
/* worker_process.h - a worker process as the front sees it: started, asked, ended. */
#ifndef TRIGD_WORKER_PROCESS_H
#define TRIGD_WORKER_PROCESS_H
#include <stdint.h>

#include "base/child.h"
#include "exec/life.h"
#include "exec/worker.h"
#include "exec/worker_wire.h"

struct worker_process {
    struct child child;
    struct life *life; /* NULL: there is no process, or it is a probe */
    uint32_t n_starts;
    bool
        is_quiet; /* logs nothing until the device is open, nor of the lanes that it is asked for */
    bool is_spare;  /* tells the process that it is not needed yet */
    int stop_fd[3]; /* one of them is readable: no answer is waited for; -1: none */
};

/* Starts the program again as a worker and has it open a device, which takes a GPU's driver some
 * tenths of a second; does not wait for it. */
int worker_process_begin(struct worker_process *p, const struct worker_base *base,
                         const char *backend, uint32_t index);
/* Waits until it has done so.  -ENOENT, -ENODEV: there is no such device; -EOWNERDEAD: it ended;
 * then it is ended and forgotten. */
int worker_process_ready(struct worker_process *p, struct trg_device_info *ret_info);
/* What opens the runner of a lane (which of the shards' is the same), on the cores of the calling
 * thread.  The caller frees it.  -ENAMETOOLONG (logged). */
int worker_lane_describe(const struct lane *lane, struct worker_lane_message **ret_message);
/* Has it open the runner of a lane of each shard; takes as long as a compiler does. */
int worker_process_lane(struct worker_process *p, struct lane *const *lanes, uint32_t n_shards,
                        const struct worker_lane_message *message);
/* Hands over the memory of a client, read-only, or takes it back.  Never waits: -EAGAIN. */
int worker_process_region(struct worker_process *p, uint32_t shard,
                          const struct shm_region *region);
int worker_process_forget(struct worker_process *p, uint32_t shard, uint32_t number,
                          uint32_t epoch);
/* Has it start the thread of a guest.  Never waits: -EAGAIN. */
int worker_process_guest(struct worker_process *p, const struct worker_guest_message *message,
                         int page_fd, int plugin_fd);
/* Lets it end within that time, else kills it; none is fine. */
void worker_process_end(struct worker_process *p, uint32_t within_ms);
/* After its end: logs how it ended, forgets it.  Returns the status of waitpid. */
int worker_process_reap(struct worker_process *p, const char *name);

/* The devices of one backend, opened and described by a process that then ends: a driver that
 * crashes costs that backend.  Fills at most `most`; returns how many there are.  -EOWNERDEAD. */
int worker_process_probe(const struct worker_base *base, const char *backend,
                         struct trg_device_info *infos, uint32_t most);
#endif
