/* SPDX-License-Identifier: Apache-2.0 */
/* worker_guest.h - the guest of a worker process. */
#ifndef TRIGD_WORKER_GUEST_H
#define TRIGD_WORKER_GUEST_H
#include "exec/worker_wire.h"
#include "plugin/plugin_host.h"

struct worker_guest_place { /* the process where it runs, which outlives it */
    struct trg_device *device;
    const struct trg_host *host;
    struct plugin_host *plugins;
    _Atomic uint32_t *batches; /* that the lanes there work on */
    uint64_t spin_ns;          /* what threads there look for before they sleep */
};

struct worker_guest;
/* Starts its thread.  `fds`: its page and its plugin; the caller closes them.  NULL where it cannot
 * be started: the page says why, as far as there is one, and the log. */
struct worker_guest *worker_guest_open(const struct worker_guest_message *m, const int *fds,
                                       const struct worker_guest_place *place);
/* Tells it to stop and waits for it.  NULL is fine. */
void worker_guest_close(struct worker_guest *g);
#endif
