/* SPDX-License-Identifier: Apache-2.0 */
/* worker_lanes.c - a worker's process starts, its lanes open.
 *
 * A lane that does not open is put aside: the process goes on with the others.  The answer of a
 * plugin costs that lane; the end of the process, or the loss of its device, costs the lanes of the
 * step when it comes a second time. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "clock.h"
#include "exec/worker_inner.h"
#include "log.h"

#define ENDS_MOST    2u
#define STEADY_NS    (10 * NS_PER_S) /* a lane that was open so long has no bad record, */
#define STEADY       64u             /* nor has one that was through with so many batches */
#define PAUSE_MS     100u            /* of one that failed at once, which doubles */
#define ASIDE_MS     1000u           /* the least of one that did not open */
#define PAUSE_MAX_MS 300000u
#define IDLE_MS      20 /* until dispatch has its batches back */

/* ---------------------------------------------------------------- the process */

uint64_t worker_batches(const struct worker *w)
{
    uint64_t n = 0;

    for (uint32_t i = 0; i < w->n_lanes; i++)
        for (uint32_t k = 0; k < w->base.n_shards; k++)
            n += stats_get(&w->lane[i]->lane[k]->s.stats->batches);
    return n;
}

/* Takes the spare, and what it has mapped, or starts a process that has nothing. */
static int take_process(struct worker *w)
{
    const bool is_spare = worker_spare_take(&w->spare, &w->process);

    for (uint32_t i = 0; i < w->base.n_shards; i++) {
        struct worker_part *p = &w->part[i];

        if (is_spare)
            memcpy(p->shared, w->spare.shared[i], p->n_regions * sizeof *p->shared);
        else
            memset(p->shared, 0, p->n_regions * sizeof *p->shared);
    }
    return is_spare ? 0 : worker_process_begin(&w->process, &w->base, w->backend, w->index);
}

int worker_start_process(struct worker *w)
{
    int r = take_process(w);

    if (r == 0)
        r = worker_process_ready(&w->process, &w->info);
    w->started_ns = clock_ns();
    w->batches_before = worker_batches(w);
    if (r == 0)
        stats_set(&w->stats->pid, (uint64_t)w->process.child.pid);
    return r;
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

/* ---------------------------------------------------------------- lanes aside */

static uint64_t batches_of(const struct worker *w, const struct worker_lane *l)
{
    uint64_t n = 0;

    for (uint32_t k = 0; k < w->base.n_shards; k++)
        n += stats_get(&l->lane[k]->s.stats->batches);
    return n;
}

/* Tells dispatch, and those who look. */
static void set_open(struct worker *w, struct worker_lane *l, bool is_open)
{
    for (uint32_t k = 0; k < w->base.n_shards; k++) {
        atomic_store(&l->lane[k]->is_out, l->error && l->pause_ms >= WORKER_QUARANTINE_MS);
        atomic_store(&l->lane[k]->is_open, is_open);
    }
    if (w->is_shown)
        stats_set(&l->lane[0]->s.stats->is_down, !is_open);
}

void worker_lanes_show(struct worker *w)
{
    w->is_shown = true;
    for (uint32_t i = 0; i < w->n_lanes; i++)
        stats_set(&w->lane[i]->lane[0]->s.stats->is_down,
                  !atomic_load(&w->lane[i]->lane[0]->is_open));
}

static void set_aside(struct worker *w, struct worker_lane *l, int error, uint32_t pause_ms)
{
    if (error != l->error)
        log_error("worker", "a lane is not up; the others serve, and it is tried again",
                  "lane=\"%s\" error=\"%s\"", l->lane[0]->s.stats->name, strerror(-error));
    l->error = error;
    l->is_closed = false;
    l->pause_ms = pause_ms < PAUSE_MAX_MS ? pause_ms : PAUSE_MAX_MS;
    l->again_ns = clock_ns() + l->pause_ms * NS_PER_MS;
    set_open(w, l, false);
}

/* The pause after it did not open. */
static uint32_t longer(const struct worker_lane *l)
{
    return 2 * l->pause_ms > ASIDE_MS ? 2 * l->pause_ms : ASIDE_MS;
}

/* The pause after it failed: the longer, the more often it did so at once. */
static uint32_t pause_of(const struct worker *w, const struct worker_lane *l)
{
    if (clock_ns() - l->opened_ns >= STEADY_NS || batches_of(w, l) - l->batches_before >= STEADY)
        return 0;
    return l->pause_ms ? 2 * l->pause_ms : PAUSE_MS;
}

static bool is_same_step(const struct worker_lane *a, const struct worker_lane *b)
{
    return a->lane[0]->s.group->step == b->lane[0]->s.group->step;
}

/* Puts aside, or leaves there, the lanes of a step under one of which the process keeps ending. */
static void set_step_aside(struct worker *w, const struct worker_lane *bad, int error)
{
    for (uint32_t i = 0; i < w->n_lanes; i++)
        if (w->lane[i]->asked && is_same_step(w->lane[i], bad))
            set_aside(w, w->lane[i], error, longer(w->lane[i]));
}

/* The error for which the lanes of the step are aside; 0: they are not. */
static int error_of_step(const struct worker *w, const struct worker_lane *l)
{
    for (uint32_t i = 0; i < w->n_lanes; i++)
        if (is_same_step(w->lane[i], l) && w->lane[i]->ends >= ENDS_MOST)
            return w->lane[i]->error;
    return 0;
}

/* ---------------------------------------------------------------- opening */

/* Whether the process is of no use any more after that answer. */
static bool is_end(const struct worker *w, int r)
{
    return r == -EOWNERDEAD || r == -ETIMEDOUT || (r == -ENODEV && !w->info.is_host);
}

/* Opens the runner of a lane, of which no shard has a batch, in the process. */
static int open_one(struct worker *w, struct worker_lane *l)
{
    int r;

    for (uint32_t k = 0; k < w->base.n_shards; k++) {
        arena_reset(&l->lane[k]->arena);
        atomic_store(&l->lane[k]->failed, 0);
    }
    r = worker_process_lane(&w->process, l->lane, w->base.n_shards, l->asked);
    if (r < 0)
        return r;
    l->error = 0;
    l->ends = 0;
    l->opened_ns = clock_ns();
    l->batches_before = batches_of(w, l);
    set_open(w, l, true);
    return 0;
}

/* The process ended while it opened a lane, or is of no use after it. */
static void note_end(struct worker *w, struct worker_lane *l, int error)
{
    worker_process_end(&w->process, 0);
    worker_lanes_shut(w);
    stats_add(&w->stats->deaths, 1);
    stats_set(&w->stats->pid, 0);
    if (++l->ends >= ENDS_MOST)
        set_step_aside(w, l, error);
}

/* Opens all lanes in a fresh process.  1: it ended under one of them. */
static int open_lanes(struct worker *w)
{
    for (uint32_t i = 0; i < w->n_lanes; i++) {
        struct worker_lane *l = w->lane[i];
        const int r = l->error || !l->asked ? 0 : open_one(w, l);

        if (r == -EINTR)
            return r;
        if (is_end(w, r)) {
            note_end(w, l, r);
            return 1;
        }
        if (r < 0)
            set_aside(w, l, r, longer(l));
    }
    return 0;
}

int worker_bring_up(struct worker *w)
{
    int r;

    do {
        r = worker_start_process(w);
        if (r == 0)
            r = open_lanes(w);
    } while (r > 0);
    return r;
}

void worker_lanes_shut(struct worker *w)
{
    for (uint32_t i = 0; i < w->n_lanes; i++)
        set_open(w, w->lane[i], false);
}

/* Opens a lane where others are open already. */
static int open_beside(struct worker *w, struct worker_lane *l)
{
    int r = worker_lane_describe(l->lane[0], &l->asked);

    if (r < 0 || worker_is_down(w))
        return r < 0 ? r : -EOWNERDEAD;
    r = error_of_step(w, l);
    if (r < 0) {
        set_aside(w, l, r, ASIDE_MS);
        return r;
    }
    r = open_one(w, l);
    if (is_end(w, r)) {
        note_end(w, l, r);
        r = worker_bring_up(w);
    } else if (r == -ENOMEM && w->is_beside) {
        return r; /* the generation is given up */
    } else if (r < 0 && r != -EINTR) {
        set_aside(w, l, r, ASIDE_MS);
        return r;
    }
    if (r < 0) { /* no process, or none that can be used */
        worker_process_end(&w->process, 0);
        atomic_fetch_add(&w->deaths, 3); /* one more death, and down */
        worker_lanes_shut(w);
    }
    return r < 0 ? r : l->error;
}

/* Dispatch does not know the lanes yet. */
static void set_up(struct worker *w)
{
    for (uint32_t i = 0; i < w->n_lanes; i++)
        for (uint32_t k = 0; k < w->base.n_shards; k++)
            w->lane[i]->lane[k]->is_up = atomic_load(&w->lane[i]->lane[k]->is_open);
}

int worker_add(struct worker *w, struct lane *const *lanes)
{
    int r = add_place(w, lanes);
    struct worker_lane *l;

    if (r < 0)
        return r;
    l = w->lane[w->n_lanes - 1];
    r = w->base.is_process ? open_beside(w, l) : open_thread(w, l, lanes[0]);
    if (!w->base.is_process)
        set_open(w, l, r == 0);
    if (r < 0 && !l->error && r != -EINTR)
        log_error("worker", "a lane is not up", "lane=\"%s\" error=\"%s\"", lanes[0]->s.stats->name,
                  strerror(-r));
    set_up(w);
    return r;
}

/* ---------------------------------------------------------------- trying again */

/* Whether no shard has a batch there, nor gives it one. */
static bool is_idle(const struct worker *w, const struct worker_lane *l)
{
    bool yes = true;

    for (uint32_t k = 0; k < w->base.n_shards; k++)
        yes &= atomic_load(&l->lane[k]->is_idle);
    return yes;
}

int worker_lanes_due_ms(const struct worker *w)
{
    const uint64_t now = clock_ns();
    int due = -1;

    for (uint32_t i = 0; i < w->n_lanes; i++) {
        const struct worker_lane *l = w->lane[i];
        const int ms = l->again_ns > now ? (int)((l->again_ns - now) / NS_PER_MS) + 1 : IDLE_MS;

        if (l->error && l->asked && (due < 0 || ms < due))
            due = ms;
    }
    return due;
}

static void take_failures(struct worker *w)
{
    for (uint32_t i = 0; i < w->n_lanes; i++)
        for (uint32_t k = 0; k < w->base.n_shards; k++) {
            struct worker_lane *l = w->lane[i];
            const int error = atomic_exchange(&l->lane[k]->failed, 0);

            if (error && !l->error) {
                set_aside(w, l, error, pause_of(w, l));
                l->is_closed = true;
            }
        }
}

/* RoIs were found to be the reason why lanes failed: the next failure begins a new row, and a pause
 * that goes on becomes short. */
static void take_excuses(struct worker *w)
{
    const uint64_t soon_ns = clock_ns() + PAUSE_MS * NS_PER_MS;

    for (uint32_t i = 0; i < w->n_lanes; i++) {
        struct worker_lane *l = w->lane[i];
        bool is_excused = false;

        for (uint32_t k = 0; k < w->base.n_shards; k++)
            is_excused |= atomic_exchange(&l->lane[k]->is_excused, false);
        if (!is_excused || (l->error && !l->is_closed))
            continue;
        l->pause_ms = 0;
        if (l->error) {
            l->again_ns = l->again_ns < soon_ns ? l->again_ns : soon_ns;
            set_open(w, l, false);
        }
    }
}

/* Opens a lane in a process that ends then.  -EINTR when that of the others has ended. */
static int try_apart(struct worker *w, struct worker_lane *l)
{
    struct worker_process p = {.stop_fd = {life_fd(w->process.life), -1, w->stop_fd},
                               .is_quiet = true};
    struct trg_device_info info;
    int r = worker_process_begin(&p, &w->base, w->backend, w->index);

    if (r == 0)
        r = worker_process_ready(&p, &info);
    for (uint32_t k = 0; k < w->base.n_shards; k++)
        arena_reset(&l->lane[k]->arena);
    if (r == 0)
        r = worker_process_lane(&p, l->lane, w->base.n_shards, l->asked);
    worker_process_end(&p, 0);
    return r;
}

/* Tries a lane again; false when the process of the others has ended, or is to end. */
static bool try_again(struct worker *w, struct worker_lane *l)
{
    int r = try_apart(w, l);

    if (r == 0) {
        r = open_one(w, l);
        if (is_end(w, r))
            child_kill(&w->process.child);
    }
    if (r == -EINTR)
        return false;
    if (r == 0)
        log_info("worker", "a lane is up again", "lane=\"%s\"", l->lane[0]->s.stats->name);
    else if (l->ends >= ENDS_MOST)
        set_step_aside(w, l, r);
    else
        set_aside(w, l, r, longer(l));
    return true;
}

void worker_lanes_try(struct worker *w)
{
    const uint64_t now = clock_ns();
    uint64_t woken;

    if (read(w->wake_fd, &woken, sizeof woken) < 0 && errno != EAGAIN)
        log_error("worker", "cannot read an eventfd", "error=\"%s\"", strerror(errno));
    take_failures(w);
    take_excuses(w);
    for (uint32_t i = 0; i < w->n_lanes && !opening_is_cancelled(w->base.opening); i++) {
        struct worker_lane *l = w->lane[i];

        if (l->error && l->asked && l->again_ns <= now && is_idle(w, l) && !try_again(w, l))
            return;
    }
}
