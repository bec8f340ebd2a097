/* SPDX-License-Identifier: Apache-2.0 */
#include "exec/worker.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "clock.h"
#include "exec/runner.h"
#include "exec/worker_process.h"
#include "exec/worker_spare.h"
#include "log.h"

#define STEADY_NS     (10 * NS_PER_S) /* a process that lives so long has no bad record, */
#define STEADY        64u             /* nor has one that was through with so many batches */
#define PAUSE_MS      100u            /* after the second death in a row; doubles */
#define PAUSE_MAX_MS  30000u
#define QUARANTINE_MS 1000u
#define HANDOVER_MS   1 /* between looks whether dispatch has taken the RoIs of a dead worker */
#define END_MS        5000u

struct worker_lane { /* one runner */
    struct lane *lane[SHARDS_MAX];
    struct worker_lane_message *asked;     /* of a process: what opens it again */
    struct runner *runner;                 /* of threads */
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
    bool is_retry;
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
    uint64_t started_ns;
    uint64_t batches_before; /* what its lanes were through with when it started */
    int stop_fd;
    pthread_t watcher;
    bool has_watcher;
};

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

/* Batches that its lanes are through with, since the daemon's start. */
static uint64_t count_batches(const struct worker *w)
{
    uint64_t n = 0;

    for (uint32_t i = 0; i < w->n_lanes; i++)
        for (uint32_t k = 0; k < w->base.n_shards; k++)
            n += stats_get(&w->lane[i]->lane[k]->s.stats->batches);
    return n;
}

static int start_process(struct worker *w)
{
    int r = worker_spare_take(&w->spare, &w->process)
                ? 0
                : worker_process_begin(&w->process, &w->base, w->backend, w->index);

    if (r == 0)
        r = worker_process_ready(&w->process, &w->info);
    w->started_ns = clock_ns();
    w->batches_before = count_batches(w);
    if (r == 0)
        stats_set(&w->stats->pid, (uint64_t)w->process.child.pid);
    return r;
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
        if (!w->part[i].shared)
            return -ENOMEM;
    }
    w->stop_fd = eventfd(0, EFD_CLOEXEC);
    if (w->stop_fd < 0)
        return -errno;
    w->process.stop_fd[0] = w->base.opening->told_fd;
    w->process.stop_fd[1] = w->base.opening->cancel_fd;
    w->process.stop_fd[2] = w->stop_fd;
    return start_process(w);
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
    w->stop_fd = -1;
    child_init(&w->process.child);
    pthread_mutex_init(&w->lock, NULL);
    w->stats = stats_worker_get(base->shard[0].stats, setup->name);
    w->spare = (struct worker_spare){.is_wanted = base->config->workers.spare && !w->is_retry,
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

/* ---------------------------------------------------------------- lanes */

static int add_place(struct worker *w, struct lane *const *lanes)
{
    struct worker_lane **all = realloc(w->lane, (w->n_lanes + 1u) * sizeof(struct worker_lane *));
    struct worker_lane *l;

    if (!all)
        return -ENOMEM;
    w->lane = all;
    l = calloc(1, sizeof *l);
    if (!l)
        return -ENOMEM;
    for (uint32_t i = 0; i < w->base.n_shards; i++) {
        l->lane[i] = lanes[i];
        lanes[i]->worker = w;
        lanes[i]->sibling = l->lane;
    }
    w->lane[w->n_lanes++] = l;
    return 0;
}

static int open_thread(struct worker *w, struct worker_lane *l, const struct lane *first)
{
    const struct runner_setup setup = {.n_shards = w->base.n_shards,
                                       .shard = l->shard,
                                       .group = first->s.group,
                                       .device = w->device,
                                       .host = w->base.host,
                                       .name = first->s.stats->name,
                                       .warm_up = first->s.warm_up,
                                       .rank = first->s.rank,
                                       .spin_ns = w->base.spin_ns};

    for (uint32_t i = 0; i < w->base.n_shards; i++) {
        lane_reset_conditions(l->lane[i]);
        l->shard[i] = (struct runner_shard){.arena = l->lane[i]->arena,
                                            .memory = &w->part[i].memory,
                                            .done_fd = w->base.shard[i].bell->event_fd,
                                            .sleeping = w->base.shard[i].bell->sleeping};
    }
    return runner_open(&setup, &l->runner);
}

static bool is_down(const struct worker *w)
{
    return atomic_load(&w->deaths) & 1;
}

static void set_up(struct worker *w, bool is_up)
{
    for (uint32_t i = 0; i < w->n_lanes; i++)
        for (uint32_t k = 0; k < w->base.n_shards; k++)
            w->lane[i]->lane[k]->is_up = is_up;
}

static int open_in_process(struct worker *w, struct worker_lane *l)
{
    int r = worker_lane_describe(l->lane[0], &l->asked);

    if (r < 0)
        return r;
    r = is_down(w) ? -EOWNERDEAD
                   : worker_process_lane(&w->process, l->lane, w->base.n_shards, l->asked);
    if (r < 0 &&
        !is_down(w)) { /* the others of this process are not used either: it starts again */
        child_end(&w->process.child, 0);
        atomic_fetch_add(&w->deaths, 3); /* one more death, and down */
    }
    return r;
}

int worker_add(struct worker *w, struct lane *const *lanes)
{
    int r = add_place(w, lanes);
    struct worker_lane *l;

    if (r < 0)
        return r;
    l = w->lane[w->n_lanes - 1];
    r = w->base.is_process ? open_in_process(w, l) : open_thread(w, l, lanes[0]);
    if (r < 0 && w->base.is_process)
        set_up(w, false);
    for (uint32_t i = 0; i < w->base.n_shards; i++)
        lanes[i]->is_up = r == 0;
    return r;
}

/* ---------------------------------------------------------------- the watcher */

static void ring_bell(const struct worker *w)
{
    const uint64_t one = 1;

    for (uint32_t i = 0; i < w->base.n_shards; i++)
        if (write(w->base.shard[i].bell->event_fd, &one, sizeof one) < 0 && errno != EAGAIN)
            log_error("worker", "cannot wake the dispatcher", "error=\"%s\"", strerror(errno));
}

/* Sleeps; whether the watcher is to stop. */
static bool sleep_or_stop(const struct worker *w, int ms)
{
    struct pollfd p = {.fd = w->stop_fd, .events = POLLIN};

    return poll(&p, 1, ms) > 0;
}

/* Waits for the end of the process; whether the watcher is to stop before. */
static bool await_end(struct worker *w)
{
    struct pollfd p[3] = {{.fd = w->stop_fd, .events = POLLIN},
                          {.fd = w->process.child.pidfd, .events = POLLIN}};

    do {
        p[2] = (struct pollfd){.fd = w->spare.process.child.pidfd, .events = POLLIN};
        if (poll(p, 3, -1) > 0 && p[2].revents)
            worker_spare_forget(&w->spare); /* another one begins with the next process */
    } while (!p[0].revents && !p[1].revents);
    return p[0].revents != 0;
}

/* Counts a death and says how long to wait before the next start: the longer, the more often it
 * died without having been of use.  One RoI that ends a worker now and then costs the others no
 * pause. */
static void note_death(struct worker *w)
{
    const uint32_t before = atomic_load(&w->pause_ms);
    const bool is_steady =
        clock_ns() - w->started_ns >= STEADY_NS || count_batches(w) - w->batches_before >= STEADY;
    uint32_t pause = 0;

    if (!w->is_retry && !is_steady)
        pause = before ? 2 * before : w->process.n_starts > 1 ? PAUSE_MS : 0;
    atomic_store(&w->pause_ms, pause < PAUSE_MAX_MS ? pause : PAUSE_MAX_MS);
    stats_add(&w->stats->deaths, 1);
    stats_set(&w->stats->pid, 0);
}

/* Starts the process and its lanes again.  Their arenas are empty. */
static int start_again(struct worker *w)
{
    int r = start_process(w);

    for (uint32_t i = 0; r == 0 && i < w->n_lanes; i++) {
        for (uint32_t k = 0; k < w->base.n_shards; k++)
            arena_reset(&w->lane[i]->lane[k]->arena);
        r = worker_process_lane(&w->process, w->lane[i]->lane, w->base.n_shards, w->lane[i]->asked);
    }
    if (r == -EINTR) {
        child_end(&w->process.child, 0);
    } else if (r < 0) {
        log_error("worker", "a worker cannot be started again", "worker=\"%s\" error=\"%s\"",
                  w->name, strerror(-r));
        child_end(&w->process.child, 0);
        note_death(w);
        if (!atomic_load(&w->pause_ms))
            atomic_store(&w->pause_ms, PAUSE_MS);
    }
    return r;
}

/* Whether no shard has an RoI in a dead worker any more. */
static bool is_empty(const struct worker *w)
{
    bool yes = true;

    for (uint32_t i = 0; i < w->base.n_shards; i++)
        yes &= atomic_load(&w->part[i].emptied) == atomic_load(&w->deaths);
    return yes;
}

/* From the end of a process to the start of the next; whether the watcher is to stop. */
static bool replace(struct worker *w)
{
    const uint32_t pause = atomic_load(&w->pause_ms);

    ring_bell(w);
    while (!is_empty(w))
        if (sleep_or_stop(w, HANDOVER_MS))
            return true;
    do {
        if (sleep_or_stop(w, (int)atomic_load(&w->pause_ms)))
            return true;
    } while (start_again(w) < 0);
    for (uint32_t i = 0; i < w->base.n_shards; i++)
        memset(w->part[i].shared, 0, w->part[i].n_regions * sizeof *w->part[i].shared);
    log_info("worker", "a worker was started again", "worker=\"%s\" pid=%d lanes=%u ms=%llu",
             w->name, (int)w->process.child.pid, w->n_lanes,
             (unsigned long long)((clock_ns() - w->started_ns) / NS_PER_MS));
    stats_add(&w->stats->restarts, 1);
    pthread_mutex_lock(&w->lock);
    atomic_store(&w->is_ending, false);
    atomic_store(&w->owner, 0);
    atomic_store(&w->pause_ms, pause); /* its device may have been away: no fault of this process */
    atomic_fetch_sub(&w->deaths, 1);
    pthread_mutex_unlock(&w->lock);
    ring_bell(w);
    return false;
}

static void *watch(void *arg)
{
    struct worker *w = arg;

    w->process.stop_fd[0] = -1; /* RoIs in flight are finished, which may need this worker */
    for (;;) {
        if (is_down(w)) { /* while its lanes were opened */
            note_death(w);
            atomic_store(&w->pause_ms, QUARANTINE_MS);
        } else {
            worker_spare_begin(&w->spare);
            if (await_end(w))
                return NULL;
            pthread_mutex_lock(&w->lock);
            atomic_store(&w->last_end, worker_process_reap(&w->process, w->name));
            atomic_store(&w->was_ended, atomic_load(&w->is_ending));
            atomic_fetch_add(&w->deaths, 3); /* one more death, and down */
            pthread_mutex_unlock(&w->lock);
            note_death(w);
        }
        if (replace(w))
            return NULL;
    }
}

int worker_watch(struct worker *w)
{
    int r;

    if (!w->base.is_process)
        return 0;
    w->batches_before = count_batches(w); /* lanes of that name may have been there before */
    r = -pthread_create(&w->watcher, NULL, watch, w);
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
    child_end(&w->process.child, END_MS);
    child_end(&w->spare.process.child, END_MS);
    for (uint32_t i = 0; i < w->n_lanes; i++) {
        runner_close(w->lane[i]->runner);
        free(w->lane[i]->asked);
        free(w->lane[i]);
    }
    if (w->stop_fd >= 0)
        close(w->stop_fd);
    pthread_mutex_destroy(&w->lock);
    if (w->stats)
        stats_worker_put(w->stats);
    for (uint32_t i = 0; i < w->base.n_shards; i++)
        free(w->part[i].shared);
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
    return is_down(w) && atomic_load(&w->pause_ms) >= QUARANTINE_MS;
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
    r = is_down(w) || atomic_load(&w->is_ending)
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
    r = is_down(w) ? -EAGAIN : -clock_getcpuclockid(w->process.child.pid, &clock);
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
    if (!is_down(w) && !atomic_load(&w->is_ending)) {
        log_error("worker", "a worker is ended", "worker=\"%s\" why=\"%s\"", w->name, why);
        r = child_kill(&w->process.child);
        atomic_store(&w->is_ending, true);
    } else {
        r = -EALREADY;
    }
    pthread_mutex_unlock(&w->lock);
    return r;
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
    r = is_down(w) ? -EAGAIN : worker_process_region(&w->process, shard, region);
    pthread_mutex_unlock(&w->lock);
    if (r == 0)
        p->shared[number - 1] = region->epoch;
    return r;
}

void worker_forget(struct worker *w, uint32_t shard)
{
    struct worker_part *p = &w->part[shard];

    if (!w->base.is_process)
        return;
    pthread_mutex_lock(&w->lock);
    for (uint32_t i = 0; !is_down(w) && i < p->n_regions; i++) {
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
    if (!is_down(w) && !atomic_load(&w->is_ending)) /* an owner ends it before it lets go */
        return true;
    worker_unreserve(w, shard);
    return false;
}

void worker_unreserve(struct worker *w, uint32_t shard)
{
    uint32_t mine = shard + 1;

    atomic_compare_exchange_strong(&w->owner, &mine, 0);
}
