/* SPDX-License-Identifier: Apache-2.0 */
/* worker_lanes.c - a worker's process starts, its lanes open. */
#include <errno.h>
#include <stdlib.h>

#include "clock.h"
#include "exec/worker_inner.h"

/* ---------------------------------------------------------------- the process */

uint64_t worker_batches(const struct worker *w)
{
    uint64_t n = 0;

    for (uint32_t i = 0; i < w->n_lanes; i++)
        for (uint32_t k = 0; k < w->base.n_shards; k++)
            n += stats_get(&w->lane[i]->lane[k]->s.stats->batches);
    return n;
}

int worker_start_process(struct worker *w)
{
    int r = worker_spare_take(&w->spare, &w->process)
                ? 0
                : worker_process_begin(&w->process, &w->base, w->backend, w->index);

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
    r = worker_is_down(w) ? -EOWNERDEAD
                          : worker_process_lane(&w->process, l->lane, w->base.n_shards, l->asked);
    if (r < 0 &&
        !worker_is_down(w)) { /* the others of this process are not used either: it starts again */
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
