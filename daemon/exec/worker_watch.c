/* SPDX-License-Identifier: Apache-2.0 */
/* worker_watch.c - the end of a worker's process is seen, and another one started. */
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

#include "clock.h"
#include "exec/worker_inner.h"
#include "log.h"

#define STEADY_NS    (10 * NS_PER_S) /* a process that lives so long has no bad record, */
#define STEADY       64u             /* nor has one that was through with so many batches */
#define PAUSE_MS     100u            /* after the second death in a row; doubles */
#define PAUSE_MAX_MS 30000u
#define HANDOVER_MS  1 /* between looks whether dispatch has taken the RoIs of a dead worker */

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

/* Waits for the end of the process, and tries lanes meanwhile that are aside; whether the watcher
 * is to stop before. */
static bool await_end(struct worker *w)
{
    struct pollfd p[5] = {{.fd = w->stop_fd, .events = POLLIN},
                          {.fd = w->process.child.pidfd, .events = POLLIN},
                          {.fd = life_fd(w->process.life), .events = POLLIN},
                          {.fd = w->wake_fd, .events = POLLIN}};

    for (;;) {
        p[4] = (struct pollfd){.fd = w->spare.process.child.pidfd, .events = POLLIN};
        if (poll(p, 5, worker_lanes_due_ms(w)) < 0)
            continue;
        if (p[4].revents)
            worker_spare_forget(&w->spare); /* another one begins with the next process */
        if (p[0].revents || p[1].revents || p[2].revents)
            return p[0].revents != 0;
        worker_lanes_try(w);
    }
}

/* Counts a death and says how long to wait before the next start: the longer, the more often it
 * died without having been of use and without a known reason.  RoIs that end a worker now and then
 * cost the others no pause, and many of them a short one. */
static void note_death(struct worker *w)
{
    const uint64_t batches = worker_batches(w) - w->batches_before;
    const bool is_steady = clock_ns() - w->started_ns >= STEADY_NS || batches >= STEADY;
    const bool is_excused = atomic_exchange(&w->is_excused, false);
    const uint32_t before = is_excused ? 0 : atomic_load(&w->pause_ms);
    uint32_t pause = 0;

    if (!w->is_retry && !is_steady)
        pause = before ? 2 * before : w->process.n_starts > 1 ? PAUSE_MS : 0;
    atomic_store(&w->pause_ms, pause < PAUSE_MAX_MS ? pause : PAUSE_MAX_MS);
    stats_add(&w->stats->deaths, 1);
    stats_set(&w->stats->pid, 0);
}

/* Shards take over their RoIs. */
static void announce_end(struct worker *w)
{
    note_death(w); /* first: the pause says whether they wait */
    pthread_mutex_lock(&w->lock);
    atomic_fetch_add(&w->deaths, 3); /* one more death, and down */
    pthread_mutex_unlock(&w->lock);
    worker_lanes_shut(w);
    ring_bell(w);
}

/* The process ends.  Shards know at once; what it had is free when the kernel is through with it.
 * Those of a retry worker need to know how it ended. */
static void see_end(struct worker *w)
{
    struct pollfd p = {.fd = w->process.child.pidfd, .events = POLLIN};

    if (!w->is_retry)
        announce_end(w);
    child_kill(&w->process.child); /* it may be no more than its word */
    while (poll(&p, 1, -1) <= 0) {
    }
    pthread_mutex_lock(&w->lock);
    atomic_store(&w->last_end, worker_process_reap(&w->process, w->name));
    atomic_store(&w->was_ended, atomic_load(&w->is_ending));
    pthread_mutex_unlock(&w->lock);
    if (w->is_retry)
        announce_end(w);
}

/* Starts the process and its lanes again.  Their arenas are empty.  What keeps it from that is said
 * once. */
static int start_again(struct worker *w)
{
    int r;

    w->process.is_quiet = w->said != 0;
    r = worker_bring_up(w);
    w->process.is_quiet = false;
    if (r == 0) {
        w->said = 0;
        return 0;
    }
    worker_process_end(&w->process, 0);
    if (r == -EINTR)
        return r;
    if (r != w->said)
        log_error("worker", "a worker cannot be started again; it is tried on",
                  "worker=\"%s\" error=\"%s\"", w->name, strerror(-r));
    w->said = r;
    note_death(w);
    if (!atomic_load(&w->pause_ms))
        atomic_store(&w->pause_ms, PAUSE_MS);
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

uint32_t worker_pause_ms(const struct worker *w)
{
    const uint32_t ms = atomic_load(&w->pause_ms);

    return ms > PAUSE_MS && atomic_load(&w->is_excused) ? PAUSE_MS : ms;
}

/* Sleeps for the pause, which may become shorter meanwhile; whether the watcher is to stop. */
static bool pause_or_stop(const struct worker *w)
{
    for (uint32_t slept = 0; slept < worker_pause_ms(w); slept += PAUSE_MS)
        if (sleep_or_stop(w, PAUSE_MS))
            return true;
    return sleep_or_stop(w, 0);
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
        if (pause_or_stop(w))
            return true;
    } while (start_again(w) < 0);
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

void *worker_watcher(void *arg)
{
    struct worker *w = arg;

    w->process.stop_fd[0] = -1; /* RoIs in flight are finished, which may need this worker */
    for (;;) {
        if (worker_is_down(w)) { /* while its lanes were opened */
            note_death(w);
            atomic_store(&w->pause_ms, WORKER_QUARANTINE_MS);
        } else {
            worker_spare_begin(&w->spare);
            if (await_end(w))
                return NULL;
            see_end(w);
        }
        if (replace(w))
            return NULL;
    }
}
