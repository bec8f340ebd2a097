/* SPDX-License-Identifier: Apache-2.0 */
#include "exec/worker_spare.h"

#include <poll.h>
#include <stdio.h>
#include <string.h>

#include "log.h"

void worker_spare_begin(struct worker_spare *s)
{
    struct worker_process p = s->process;
    int r;

    if (!s->is_wanted || s->process.child.pid)
        return;
    p.is_spare = true;
    r = worker_process_begin(&p, s->base, s->backend, s->index);
    if (r < 0) {
        log_warn("worker", "a spare cannot be started", "worker=\"%s\" error=\"%s\"", s->name,
                 strerror(-r));
        return;
    }
    pthread_mutex_lock(s->lock);
    s->process = p;
    for (uint32_t i = 0; i < s->base->n_shards; i++)
        memset(s->shared[i], 0, s->n_regions[i] * sizeof *s->shared[i]);
    pthread_mutex_unlock(s->lock);
    stats_set(&s->stats->spare, (uint64_t)p.child.pid);
}

/* Has it map a region, or what is there now; false: not now. */
static bool tend_one(struct worker_spare *s, uint32_t shard, const struct shm_region *region)
{
    uint32_t *shared = &s->shared[shard][region->number - 1];
    const uint32_t epoch = region->fd >= 0 ? region->epoch : 0;
    int r = 0;

    if (*shared == epoch)
        return true;
    r = epoch ? worker_process_region(&s->process, shard, region)
              : worker_process_forget(&s->process, shard, region->number, *shared);
    if (r == 0)
        *shared = epoch;
    return r == 0;
}

void worker_spare_tend(struct worker_spare *s, uint32_t shard)
{
    struct shm_window *regions = s->base->shard[shard].regions;

    if (!s->is_wanted)
        return;
    pthread_mutex_lock(s->lock);
    for (uint32_t i = 0; s->process.child.pid && i < s->n_regions[shard]; i++)
        if (!tend_one(s, shard, shm_window_region(regions, i + 1)))
            break;
    pthread_mutex_unlock(s->lock);
}

void worker_spare_forget(struct worker_spare *s)
{
    char name[STATS_NAME + 8];

    snprintf(name, sizeof name, "%s (spare)", s->name);
    pthread_mutex_lock(s->lock);
    worker_process_reap(&s->process, name);
    pthread_mutex_unlock(s->lock);
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
    pthread_mutex_lock(s->lock);
    process->child = s->process.child;
    process->life = s->process.life;
    s->process.life = NULL;
    child_init(&s->process.child);
    pthread_mutex_unlock(s->lock);
    process->n_starts++;
    stats_set(&s->stats->spare, 0);
    return true;
}
