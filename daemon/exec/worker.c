/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "clock.h"
#include "exec/worker_inner.h"
#include "log.h"

#define END_MS 5000u

/* ---------------------------------------------------------------- opening */

static int open_device(struct worker *w)
{
    int r = backends_device(w->base.backends, w->backend, w->index, &w->device);

    if (r < 0)
        return r;
    trg_device_info(w->device, &w->info);
    for (uint32_t i = 0; i < w->base.n_shards; i++)
        w->part[i].memory = (struct runner_memory){.base = w->base.shard[i].pool->base,
                                                   .max_layer = w->base.config->clients.max_layer};
    return 0;
}

static int open_all(struct worker *w)
{
    if (!w->base.is_process)
        return open_device(w);
    for (uint32_t i = 0; i < w->base.n_shards; i++) {
        struct shm_geometry g = {0};

        if (w->base.shard[i].regions)
            shm_window_geometry(w->base.shard[i].regions, &g);
        w->part[i].n_regions = g.n;
        w->part[i].shared = calloc(g.n + 1u, sizeof *w->part[i].shared);
        w->spare.n_regions[i] = g.n;
        w->spare.shared[i] = calloc(g.n + 1u, sizeof *w->spare.shared[i]);
        if (!w->part[i].shared || !w->spare.shared[i])
            return -ENOMEM;
    }
    w->stop_fd = eventfd(0, EFD_CLOEXEC);
    w->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (w->stop_fd < 0 || w->wake_fd < 0)
        return -errno;
    w->process.stop_fd[0] = w->base.opening->told_fd;
    w->process.stop_fd[1] = w->base.opening->cancel_fd;
    w->process.stop_fd[2] = w->stop_fd;
    return worker_start_process(w);
}

int worker_open(const struct worker_base *base, const struct worker_setup *setup,
                struct worker **ret_worker)
{
    struct worker *w = calloc(1, sizeof *w);
    int r;

    if (!w)
        return -ENOMEM;
    w->base = *base;
    snprintf(w->name, sizeof w->name, "%s", setup->name);
    snprintf(w->backend, sizeof w->backend, "%s", setup->backend);
    w->index = setup->index;
    w->is_retry = setup->is_retry;
    w->is_beside = setup->is_beside;
    w->stop_fd = w->wake_fd = -1;
    child_init(&w->process.child);
    pthread_mutex_init(&w->lock, NULL);
    w->stats = stats_worker_get(base->shard[0].stats, setup->name);
    w->spare = (struct worker_spare){.lock = &w->lock,
                                     .is_wanted = base->config->workers.spare && !w->is_retry,
                                     .base = &w->base,
                                     .name = w->name,
                                     .backend = w->backend,
                                     .index = w->index,
                                     .stats = w->stats};
    child_init(&w->spare.process.child);
    r = w->stats ? open_all(w) : -ENOSPC;
    if (r < 0) {
        worker_close(w);
        return r;
    }
    *ret_worker = w;
    return 0;
}

int worker_watch(struct worker *w)
{
    int r;

    worker_lanes_show(w);
    if (!w->base.is_process)
        return 0;
    w->batches_before = worker_batches(w); /* lanes of that name may have been there before */
    r = -pthread_create(&w->watcher, NULL, worker_watcher, w);
    w->has_watcher = r == 0;
    return r;
}

void worker_close(struct worker *w)
{
    const uint64_t one = 1;

    if (!w)
        return;
    if (w->has_watcher) {
        if (write(w->stop_fd, &one, sizeof one) < 0)
            log_error("worker", "cannot stop a watcher", "error=\"%s\"", strerror(errno));
        pthread_join(w->watcher, NULL);
    }
    worker_process_end(&w->process, END_MS);
    worker_process_end(&w->spare.process, END_MS);
    for (uint32_t i = 0; i < w->n_lanes; i++) {
        runner_close(w->lane[i]->runner);
        free(w->lane[i]->asked);
        free(w->lane[i]);
    }
    if (w->stop_fd >= 0)
        close(w->stop_fd);
    if (w->wake_fd >= 0)
        close(w->wake_fd);
    pthread_mutex_destroy(&w->lock);
    if (w->stats)
        stats_worker_put(w->stats);
    for (uint32_t i = 0; i < w->base.n_shards; i++) {
        free(w->part[i].shared);
        free(w->spare.shared[i]);
    }
    free(w->lane);
    free(w);
}

/* ---------------------------------------------------------------- looking at it */

const struct trg_device_info *worker_device(const struct worker *w)
{
    return &w->info;
}

uint32_t worker_lanes(const struct worker *w)
{
    return w->n_lanes;
}

struct lane *worker_lane(const struct worker *w, uint32_t shard, uint32_t i)
{
    return w->lane[i]->lane[shard];
}

bool worker_is_quarantined(const struct worker *w)
{
    return worker_is_down(w) && worker_pause_ms(w) >= WORKER_QUARANTINE_MS;
}

/* ---------------------------------------------------------------- guests */

uint32_t worker_life(const struct worker *w)
{
    return atomic_load(&w->deaths);
}

int worker_guest(struct worker *w, const struct worker_guest_message *message, int page_fd,
                 int plugin_fd, uint32_t *ret_life)
{
    int r;

    pthread_mutex_lock(&w->lock);
    *ret_life = worker_life(w);
    r = worker_is_down(w) || atomic_load(&w->is_ending)
            ? -EAGAIN
            : worker_process_guest(&w->process, message, page_fd, plugin_fd);
    pthread_mutex_unlock(&w->lock);
    return r == -EPIPE || r == -ECONNRESET ? -EAGAIN : r;
}

int worker_cpu_ns(struct worker *w, uint64_t *ret_ns)
{
    struct timespec t;
    clockid_t clock;
    int r;

    pthread_mutex_lock(&w->lock);
    r = worker_is_down(w) ? -EAGAIN : -clock_getcpuclockid(w->process.child.pid, &clock);
    if (r == 0)
        r = clock_gettime(clock, &t) < 0 ? -errno : 0;
    pthread_mutex_unlock(&w->lock);
    if (r == 0)
        *ret_ns = (uint64_t)t.tv_sec * NS_PER_S + (uint64_t)t.tv_nsec;
    return r;
}

/* ---------------------------------------------------------------- dispatch's side */

int worker_kill(struct worker *w, const char *why)
{
    int r = 0;

    if (!w->base.is_process)
        return -ENOTSUP;
    pthread_mutex_lock(&w->lock);
    if (!worker_is_down(w) && !atomic_load(&w->is_ending)) {
        log_error("worker", "a worker is ended", "worker=\"%s\" why=\"%s\"", w->name, why);
        r = child_kill(&w->process.child);
        atomic_store(&w->is_ending, true);
    } else {
        r = -EALREADY;
    }
    pthread_mutex_unlock(&w->lock);
    return r;
}

static int wake(const struct worker *w)
{
    const uint64_t one = 1;

    return write(w->wake_fd, &one, sizeof one) < 0 && errno != EAGAIN ? -errno : 0;
}

int worker_close_lane(struct worker *w, struct lane *l, int error)
{
    if (!w->base.is_process || w->is_retry)
        return -ENOTSUP;
    for (uint32_t i = 0; i < w->base.n_shards; i++)
        atomic_store(&l->sibling[i]->is_open, false);
    atomic_store(&l->failed, error);
    return wake(w);
}

void worker_count_hang(struct worker *w)
{
    atomic_fetch_add_explicit(&w->stats->hangs, 1, memory_order_relaxed);
}

int worker_last_end(const struct worker *w, bool *ret_was_ended)
{
    *ret_was_ended = atomic_load(&w->was_ended);
    return atomic_load(&w->last_end);
}

void worker_excuse(struct worker *w)
{
    atomic_store(&w->is_excused, true);
}

void worker_excuse_lane(struct worker *w, struct lane *l)
{
    int r;

    if (!w->base.is_process)
        return;
    atomic_store(&l->is_excused, true);
    r = wake(w);
    if (r < 0)
        log_error("worker", "cannot wake a watcher", "worker=\"%s\" error=\"%s\"", w->name,
                  strerror(-r));
}

enum worker_news worker_news(const struct worker *w, uint32_t shard)
{
    const uint32_t deaths = atomic_load(&w->deaths);
    const struct worker_part *p = &w->part[shard];

    if (deaths & 1)
        return atomic_load(&p->emptied) == deaths ? WORKER_NO_NEWS : WORKER_DIED;
    return p->taken == deaths ? WORKER_NO_NEWS : WORKER_BACK;
}

void worker_emptied(struct worker *w, uint32_t shard)
{
    atomic_store(&w->part[shard].emptied, atomic_load(&w->deaths));
}

bool worker_serves(const struct worker *w, uint32_t shard)
{
    return !worker_is_down(w) && worker_news(w, shard) == WORKER_NO_NEWS;
}

bool worker_take(struct worker *w, uint32_t shard)
{
    const uint32_t deaths = atomic_load(&w->deaths);

    if (deaths & 1)
        return false; /* gone again */
    w->part[shard].taken = deaths;
    return true;
}

int worker_share(struct worker *w, uint32_t shard, uint32_t number)
{
    struct worker_part *p = &w->part[shard];
    const struct shm_region *region = shm_window_region(w->base.shard[shard].regions, number);
    int r;

    if (!w->base.is_process || p->shared[number - 1] == region->epoch)
        return 0;
    pthread_mutex_lock(&w->lock);
    r = worker_is_down(w) ? -EAGAIN : worker_process_region(&w->process, shard, region);
    pthread_mutex_unlock(&w->lock);
    if (r == 0)
        p->shared[number - 1] = region->epoch;
    return r;
}

void worker_tend_regions(struct worker *w, uint32_t shard)
{
    struct worker_part *p = &w->part[shard];

    if (!w->base.is_process)
        return;
    worker_spare_tend(&w->spare, shard);
    pthread_mutex_lock(&w->lock);
    for (uint32_t i = 0; !worker_is_down(w) && i < p->n_regions; i++) {
        const struct shm_region *region = shm_window_region(w->base.shard[shard].regions, i + 1);

        if (p->shared[i] && (region->fd < 0 || region->epoch != p->shared[i]) &&
            worker_process_forget(&w->process, shard, i + 1, p->shared[i]) == 0)
            p->shared[i] = 0;
    }
    pthread_mutex_unlock(&w->lock);
}

bool worker_reserve(struct worker *w, uint32_t shard)
{
    uint32_t none = 0;

    if (!atomic_compare_exchange_strong(&w->owner, &none, shard + 1) && none != shard + 1)
        return false;
    if (!worker_is_down(w) && !atomic_load(&w->is_ending)) /* an owner ends it before it lets go */
        return true;
    worker_unreserve(w, shard);
    return false;
}

void worker_unreserve(struct worker *w, uint32_t shard)
{
    uint32_t mine = shard + 1;

    atomic_compare_exchange_strong(&w->owner, &mine, 0);
}
