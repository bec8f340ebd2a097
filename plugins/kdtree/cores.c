/* SPDX-License-Identifier: Apache-2.0 */
/* cores.c - one tree by several cores of the CPU: the selection at each of the upper nodes is a
 * task, which makes tasks of its subtrees, and whole subtrees below; then the blocks in parts.
 * Free cores take tasks in the order in which they were made, large ones first. */
#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>

#include "forest.h"
#include "layout.h"

#define TASKS_A_CORE 8u    /* subtrees that are one task, so that none is waited for long */
#define TASK_POINTS  2048u /* but none of fewer points */

struct task {
    uint32_t level, which; /* the subtree; or a part of the blocks */
};

struct crew {
    struct kd_forest *f;
    uint32_t n, top; /* points; level of the subtrees that are one task */
    pthread_mutex_t lock;
    pthread_cond_t more; /* there are tasks, or none will come */
    struct task *task;   /* all of them; first .. end wait */
    uint32_t first, end;
    uint32_t open; /* made and not done */
    bool is_built; /* what is open are blocks */
    int result;
};

/* Runs a task on a queue of the caller's. */
static int run_task(const struct crew *c, struct trg_queue *q, struct task t, bool is_block)
{
    const struct kd_forest *f = c->f;
    const struct kd_inner *in = f->inner;
    struct launcher l = launcher_on(q, &in->device);
    struct kd_build_par par = {.k = f->k,
                               .room = f->room,
                               .by_hand = 1,
                               .level = t.level,
                               .which = t.which,
                               .levels = t.level < c->top ? 1 : 0,
                               .parts = 1u << c->top};

    if (is_block)
        LAUNCH(&l, in->kernel[KD_BLOCKS], 1, 1, par, f->trees, f->nodes, f->ids, f->blocks);
    else
        LAUNCH(&l, in->kernel[KD_TREES], 1, 1, par, f->trees, f->points, f->nodes, f->ids,
               in->orders, in->keys, in->side);
    return l.result < 0 ? l.result : trg_finish(q);
}

static void add_task(struct crew *c, uint32_t level, uint32_t which)
{
    c->task[c->end++] = (struct task){level, which};
    c->open++;
}

/* Notes that a task is done, and adds those that waited for it.  Under the lock. */
static void end_task(struct crew *c, struct task t, int result)
{
    if (result < 0)
        c->result = result;
    c->open--;
    for (uint32_t side = 0; !c->is_built && t.level < c->top && side < 2; side++)
        add_task(c, t.level + 1, 2 * t.which + side);
    if (!c->open && !c->is_built) {
        c->is_built = true;
        for (uint32_t part = 0; part < 1u << c->top; part++)
            add_task(c, 0, part);
    }
    pthread_cond_broadcast(&c->more);
}

static void *work(void *arg)
{
    struct crew *c = arg;
    struct trg_queue *q = NULL;
    int r = trg_queue_new(c->f->inner->d, &q);

    pthread_mutex_lock(&c->lock);
    if (r < 0)
        c->result = r;
    while (c->open && c->result == 0) {
        struct task t;
        bool is_block = c->is_built;

        if (c->first == c->end) {
            pthread_cond_wait(&c->more, &c->lock);
            continue;
        }
        t = c->task[c->first++];
        pthread_mutex_unlock(&c->lock);
        r = run_task(c, q, t, is_block);
        pthread_mutex_lock(&c->lock);
        end_task(c, t, r);
    }
    pthread_cond_broadcast(&c->more);
    pthread_mutex_unlock(&c->lock);
    trg_queue_free(q);
    return NULL;
}

/* The caller works as well, so fewer threads than asked for are enough. */
static void run_crew(struct crew *c, uint32_t cores)
{
    pthread_t *thread = calloc(cores, sizeof *thread);
    uint32_t n = 0;

    while (thread && n + 1 < cores && pthread_create(&thread[n], NULL, work, c) == 0)
        n++;
    work(c);
    while (n)
        pthread_join(thread[--n], NULL);
    free(thread);
}

int kd_build_by_cores(struct kd_forest *f, uint32_t cores, uint32_t n)
{
    struct crew c = {.f = f, .n = n};

    if (!f->inner->device.is_host || !cores || n > f->room)
        return -EINVAL;
    if (!n)
        return 0;
    while (cores > 1 && 1u << c.top < TASKS_A_CORE * cores && n >> (c.top + 1) >= TASK_POINTS)
        c.top++;
    c.task = calloc(3ull << c.top, sizeof *c.task);
    if (!c.task)
        return -ENOMEM;
    pthread_mutex_init(&c.lock, NULL);
    pthread_cond_init(&c.more, NULL);
    add_task(&c, 0, 0);
    run_crew(&c, cores);
    pthread_cond_destroy(&c.more);
    pthread_mutex_destroy(&c.lock);
    free(c.task);
    return c.result;
}
