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
#include "log.h"

#define STEADY_NS     (10 * NS_PER_S) /* a process that lives so long has no bad record */
#define PAUSE_MS      100u            /* after the second death in a row; doubles */
#define PAUSE_MAX_MS  30000u
#define QUARANTINE_MS 1000u
#define HANDOVER_MS   1 /* between looks whether dispatch has taken the RoIs of a dead worker */
#define END_MS        5000u

struct worker {
    struct worker_base base;
    char name[STATS_NAME];
    char backend[16];
    uint32_t index;
    bool is_retry;
    struct trg_device_info info;
    struct stats_worker *stats;
    uint32_t n_lanes;
    struct lane **lane;
    struct worker_lane_message **asked; /* of a process: what opens each lane again */
    struct runner **runner;             /* of threads */
    struct trg_device *device;          /* the same */
    struct runner_memory memory;        /* the same */

    struct worker_process process;
    pthread_mutex_t lock; /* of `process`: dispatch may use it while the state is UP */
    bool is_ending;       /* it was killed; of the I/O thread */
    uint32_t *shared;     /* by region: epoch that the process has mapped; of the I/O thread */
    uint32_t n_regions;
    _Atomic int state;
    _Atomic uint32_t pause_ms; /* before the next start */
    uint64_t started_ns;
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
    w->memory = (struct runner_memory){.base = w->base.pool->base,
                                       .max_layer = w->base.config->clients.max_layer};
    return 0;
}

static int start_process(struct worker *w)
{
    int r = worker_process_start(&w->process, &w->base, w->backend, w->index, &w->info);

    w->started_ns = clock_ns();
    if (r == 0)
        stats_set(&w->stats->pid, (uint64_t)w->process.pid);
    return r;
}

static int open_all(struct worker *w)
{
    struct shm_geometry g = {0};

    if (!w->base.is_process)
        return open_device(w);
    if (w->base.regions)
        shm_window_geometry(w->base.regions, &g);
    w->n_regions = g.n;
    w->shared = calloc(g.n + 1u, sizeof *w->shared);
    w->stop_fd = eventfd(0, EFD_CLOEXEC);
    if (!w->shared || w->stop_fd < 0)
        return -ENOMEM;
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
    worker_process_init(&w->process);
    pthread_mutex_init(&w->lock, NULL);
    w->stats = stats_worker_get(base->stats, setup->name);
    r = w->stats ? open_all(w) : -ENOSPC;
    if (r < 0) {
        worker_close(w);
        return r;
    }
    *ret_worker = w;
    return 0;
}

/* ---------------------------------------------------------------- lanes */

static int grow(struct worker *w)
{
    const size_t n = w->n_lanes + 1u;
    struct lane **lane = realloc(w->lane, n * sizeof(struct lane *));
    struct worker_lane_message **asked;
    struct runner **runner;

    if (!lane)
        return -ENOMEM;
    w->lane = lane;
    asked = realloc(w->asked, n * sizeof(struct worker_lane_message *));
    if (!asked)
        return -ENOMEM;
    w->asked = asked;
    runner = realloc(w->runner, n * sizeof(struct runner *));
    if (!runner)
        return -ENOMEM;
    w->runner = runner;
    w->asked[w->n_lanes] = NULL;
    w->runner[w->n_lanes] = NULL;
    return 0;
}

static int add_thread(struct worker *w, struct lane *lane, struct runner **ret_runner)
{
    const struct runner_setup setup = {.arena = &lane->arena,
                                       .memory = &w->memory,
                                       .group = lane->s.group,
                                       .device = w->device,
                                       .host = w->base.host,
                                       .name = lane->s.stats->name,
                                       .warm_up = lane->s.warm_up,
                                       .done_fd = w->base.bell->event_fd,
                                       .sleeping = w->base.bell->sleeping,
                                       .spin_ns = w->base.spin_ns};

    return runner_open(&setup, ret_runner);
}

int worker_add(struct worker *w, struct lane *lane)
{
    int r = grow(w);

    if (r < 0)
        return r;
    lane->worker = w;
    w->lane[w->n_lanes] = lane;
    if (w->base.is_process) {
        r = worker_lane_describe(lane, &w->asked[w->n_lanes]);
        if (r < 0)
            return r;
        if (atomic_load(&w->state) == WORKER_UP)
            r = worker_process_lane(&w->process, lane, w->asked[w->n_lanes]);
        else
            r = -EOWNERDEAD;
        if (r < 0) { /* the others of this process are not used either: it starts again */
            worker_process_end(&w->process, 0);
            atomic_store(&w->state, WORKER_DEAD);
            for (uint32_t i = 0; i < w->n_lanes; i++)
                w->lane[i]->is_up = false;
        }
    } else {
        r = add_thread(w, lane, &w->runner[w->n_lanes]);
    }
    w->n_lanes++;
    lane->is_up = r == 0;
    return r;
}

/* ---------------------------------------------------------------- the watcher */

static void ring_bell(const struct worker *w)
{
    const uint64_t one = 1;

    if (write(w->base.bell->event_fd, &one, sizeof one) < 0 && errno != EAGAIN)
        log_error("worker", "cannot wake the dispatcher", "error=\"%s\"", strerror(errno));
}

/* Sleeps; whether the watcher is to stop. */
static bool sleep_or_stop(const struct worker *w, int ms)
{
    struct pollfd p = {.fd = w->stop_fd, .events = POLLIN};

    return poll(&p, 1, ms) > 0;
}

/* Waits for the end of the process; whether the watcher is to stop before. */
static bool await_end(const struct worker *w)
{
    struct pollfd p[2] = {{.fd = w->stop_fd, .events = POLLIN},
                          {.fd = w->process.pidfd, .events = POLLIN}};

    while (poll(p, 2, -1) < 0 && errno == EINTR) {
    }
    return p[0].revents != 0;
}

/* Counts a death and says how long to wait before the next start. */
static void note_death(struct worker *w)
{
    const uint32_t before = atomic_load(&w->pause_ms);
    uint32_t pause = 0;

    if (!w->is_retry && clock_ns() - w->started_ns < STEADY_NS)
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
        arena_reset(&w->lane[i]->arena);
        r = worker_process_lane(&w->process, w->lane[i], w->asked[i]);
    }
    if (r < 0) {
        log_error("worker", "a worker cannot be started again", "worker=\"%s\" error=\"%s\"",
                  w->name, strerror(-r));
        worker_process_end(&w->process, 0);
        note_death(w);
        if (!atomic_load(&w->pause_ms))
            atomic_store(&w->pause_ms, PAUSE_MS);
    }
    return r;
}

/* From the end of a process to the start of the next; whether the watcher is to stop. */
static bool replace(struct worker *w)
{
    ring_bell(w);
    while (atomic_load(&w->state) == WORKER_DEAD)
        if (sleep_or_stop(w, HANDOVER_MS))
            return true;
    do {
        if (sleep_or_stop(w, (int)atomic_load(&w->pause_ms)))
            return true;
    } while (start_again(w) < 0);
    memset(w->shared, 0, w->n_regions * sizeof *w->shared);
    log_info("worker", "a worker was started again", "worker=\"%s\" pid=%d lanes=%u ms=%llu",
             w->name, (int)w->process.pid, w->n_lanes,
             (unsigned long long)((clock_ns() - w->started_ns) / NS_PER_MS));
    stats_add(&w->stats->restarts, 1);
    atomic_store(&w->state, WORKER_READY);
    ring_bell(w);
    return false;
}

static void *watch(void *arg)
{
    struct worker *w = arg;

    for (;;) {
        if (atomic_load(&w->state) == WORKER_DEAD) { /* while its lanes were opened */
            note_death(w);
            atomic_store(&w->pause_ms, QUARANTINE_MS);
        } else {
            if (await_end(w))
                return NULL;
            atomic_store(&w->state, WORKER_DEAD);
            pthread_mutex_lock(&w->lock);
            worker_process_reap(&w->process, w->name);
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
    worker_process_end(&w->process, END_MS);
    for (uint32_t i = 0; i < w->n_lanes; i++) {
        runner_close(w->runner[i]);
        free(w->asked[i]);
    }
    if (w->stop_fd >= 0)
        close(w->stop_fd);
    pthread_mutex_destroy(&w->lock);
    if (w->stats)
        stats_worker_put(w->stats);
    free(w->shared);
    free(w->lane);
    free(w->asked);
    free(w->runner);
    free(w);
}

/* ---------------------------------------------------------------- looking at it */

const struct trg_device_info *worker_device(const struct worker *w)
{
    return &w->info;
}

enum worker_state worker_state(const struct worker *w)
{
    return (enum worker_state)atomic_load(&w->state);
}

uint32_t worker_lanes(const struct worker *w)
{
    return w->n_lanes;
}

struct lane *worker_lane(const struct worker *w, uint32_t i)
{
    return w->lane[i];
}

bool worker_is_quarantined(const struct worker *w)
{
    return worker_state(w) != WORKER_UP && atomic_load(&w->pause_ms) >= QUARANTINE_MS;
}

/* ---------------------------------------------------------------- dispatch's side */

int worker_kill(struct worker *w, const char *why)
{
    int r = 0;

    if (!w->base.is_process)
        return -ENOTSUP;
    pthread_mutex_lock(&w->lock);
    if (worker_state(w) == WORKER_UP && !w->is_ending) {
        log_error("worker", "a worker is ended", "worker=\"%s\" why=\"%s\"", w->name, why);
        r = worker_process_kill(&w->process);
        w->is_ending = true;
    } else {
        r = -EALREADY;
    }
    pthread_mutex_unlock(&w->lock);
    return r;
}

void worker_count_hang(struct worker *w)
{
    stats_add(&w->stats->hangs, 1);
}

void worker_emptied(struct worker *w)
{
    atomic_store(&w->state, WORKER_EMPTY);
}

void worker_take(struct worker *w)
{
    for (uint32_t i = 0; i < w->n_lanes; i++) {
        lane_restart(w->lane[i]);
        w->lane[i]->is_up = true;
    }
    w->is_ending = false;
    atomic_store(&w->state, WORKER_UP);
}

int worker_share(struct worker *w, uint32_t number)
{
    const struct shm_region *region = shm_window_region(w->base.regions, number);
    int r;

    if (!w->base.is_process || w->shared[number - 1] == region->epoch)
        return 0;
    pthread_mutex_lock(&w->lock);
    r = worker_state(w) == WORKER_UP ? worker_process_region(&w->process, region) : -EAGAIN;
    pthread_mutex_unlock(&w->lock);
    if (r == 0)
        w->shared[number - 1] = region->epoch;
    return r;
}

void worker_forget(struct worker *w)
{
    if (!w->base.is_process)
        return;
    pthread_mutex_lock(&w->lock);
    for (uint32_t i = 0; worker_state(w) == WORKER_UP && i < w->n_regions; i++) {
        const struct shm_region *region = shm_window_region(w->base.regions, i + 1);

        if (w->shared[i] && (region->fd < 0 || region->epoch != w->shared[i]) &&
            worker_process_forget(&w->process, i + 1, w->shared[i]) == 0)
            w->shared[i] = 0;
    }
    pthread_mutex_unlock(&w->lock);
}
