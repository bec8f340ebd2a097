/* SPDX-License-Identifier: Apache-2.0 */
#include "exec/worker_spare.h"

#include <poll.h>
#include <stdio.h>
#include <string.h>

#include "log.h"

void worker_spare_begin(struct worker_spare *s)
{
    int r;

    if (!s->is_wanted || s->process.child.pid)
        return;
    r = worker_process_begin(&s->process, s->base, s->backend, s->index);
    if (r < 0)
        log_warn("worker", "a spare cannot be started", "worker=\"%s\" error=\"%s\"", s->name,
                 strerror(-r));
    else
        stats_set(&s->stats->spare, (uint64_t)s->process.child.pid);
}

void worker_spare_forget(struct worker_spare *s)
{
    char name[STATS_NAME + 8];

    snprintf(name, sizeof name, "%s (spare)", s->name);
    worker_process_reap(&s->process, name);
    stats_set(&s->stats->spare, 0);
}

bool worker_spare_take(struct worker_spare *s, struct worker_process *process)
{
    struct pollfd ended = {.fd = s->process.child.pidfd, .events = POLLIN};

    if (!s->process.child.pid)
        return false;
    if (poll(&ended, 1, 0) > 0) {
        worker_spare_forget(s);
        return false;
    }
    process->child = s->process.child;
    process->life = s->process.life;
    s->process.life = NULL;
    process->n_starts++;
    child_init(&s->process.child);
    stats_set(&s->stats->spare, 0);
    return true;
}
