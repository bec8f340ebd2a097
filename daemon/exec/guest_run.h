/* SPDX-License-Identifier: Apache-2.0 */
/* guest_run.h - the thread of a guest, in a worker process: gives it slices of work as long as its
 * device has nothing to do for RoIs.
 *
 *     open; then, in turn
 *         told to stop:             save, close
 *         told to pause:            save once, wait
 *         the device has a batch:   wait (not with is_partition)
 *         else:                     submit a slice, wait for it, collect; now and then save
 *
 * On the host the thread is SCHED_IDLE: it runs where no other thread wants the core, whatever the
 * page says.  On a GPU it is an ordinary one, since it shares the driver's locks with lanes.
 */
#ifndef TRIGD_GUEST_RUN_H
#define TRIGD_GUEST_RUN_H
#include <sched.h>

#include "exec/guest_page.h"
#include "plugin/plugin_host.h"

struct guest_run_setup { /* what it points to outlives the run */
    const struct plugin *plugin;
    const void *params;
    struct trg_device *device;
    const struct trg_host *host;
    struct guest_page *page;
    const char *name;
    const char *folder;
    bool is_partition;
    uint32_t percent; /* of the multiprocessors, with is_partition */
    uint32_t slice_us;
    uint32_t checkpoint_s; /* 0: only at the end */
    uint32_t memory_mbytes;
    _Atomic uint32_t *batches; /* that lanes of the device work on now; NULL: as the page says */
    uint64_t spin_ns;          /* looking for the end of a batch before it naps */
    bool has_cpus;
    cpu_set_t cpus;
};

struct guest_run;
/* Starts the thread, which opens the guest: what goes wrong there is said in the page and the log.
 */
int guest_run_start(const struct guest_run_setup *setup, struct guest_run **ret_run);
/* Tells it to stop, and waits for the thread.  NULL is fine. */
void guest_run_end(struct guest_run *r);
#endif
