/* SPDX-License-Identifier: Apache-2.0 */
/* Queues of the CPU backend: a list of tasks without a thread of its own.  Who waits for an event,
 * or looks at it, does the work that is queued.  A lane is a thread, so as many cores work as
 * there are lanes, and no batch is handed from thread to thread. */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cpu.h"
#include "trigd/kernel.h"

enum task_kind { TASK_COPY, TASK_FILL, TASK_LAUNCH, TASK_CALL, TASK_RECORD, TASK_WAIT };

struct task {
    enum task_kind kind;
    union {
        struct {
            void *dst;
            const void *src;
            size_t bytes;
        } copy;
        struct {
            uint32_t *at;
            size_t words;
            uint32_t pattern;
        } fill;
        struct {
            const struct trg_host_entry *entry;
            uint32_t groups;
            size_t value_at, buffers_at; /* places in the queue's scratch */
        } launch;
        struct {
            void (*fn)(void *);
            void *arg;
        } call;
        struct trg_event *event;
    } u;
};

struct trg_queue {
    struct trg_object object;
    const struct trg_device *device;
    struct task *task; /* [room]; first .. n wait */
    uint32_t first, n, room;
    /* Arguments of the launches that wait.  Places count from the queue's beginning; the first that
     * is still there is scratch_first. */
    unsigned char *scratch;
    size_t scratch_first, scratch_end, scratch_room;
};

static uint64_t now_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

int cpu_queue_new(struct trg_device *d, struct trg_queue **ret_queue)
{
    struct trg_queue *q = calloc(1, sizeof *q);

    if (!q)
        return -ENOMEM;
    q->object.ops = d->object.ops;
    q->device = d;
    *ret_queue = q;
    return 0;
}

static unsigned char *scratch_at(const struct trg_queue *q, size_t place)
{
    return q->scratch + (place - q->scratch_first);
}

static void run_launch(const struct trg_queue *q, const struct task *t)
{
    const struct trg_host_entry *e = t->u.launch.entry;
    struct trg_grid grid = {.groups = t->u.launch.groups};
    void *args[TRG_ARGS_MAX];

    memcpy(args, scratch_at(q, t->u.launch.buffers_at), e->n_buffers * sizeof *args);
    args[e->n_buffers] = scratch_at(q, t->u.launch.value_at);
    for (grid.group = 0; grid.group < grid.groups; grid.group++)
        e->run(&grid, args);
}

static void run_until(struct trg_queue *q, const struct trg_event *e);

static void run_task(const struct trg_queue *q, const struct task *t)
{
    switch (t->kind) {
    case TASK_COPY:
        memcpy(t->u.copy.dst, t->u.copy.src, t->u.copy.bytes);
        break;
    case TASK_FILL:
        for (size_t i = 0; i < t->u.fill.words; i++)
            t->u.fill.at[i] = t->u.fill.pattern;
        break;
    case TASK_LAUNCH:
        run_launch(q, t);
        break;
    case TASK_CALL:
        t->u.call.fn(t->u.call.arg);
        break;
    case TASK_RECORD:
        t->u.event->reached_ns = now_ns();
        t->u.event->is_reached = true;
        break;
    case TASK_WAIT:
        run_until(t->u.event->queue, t->u.event);
        break;
    }
}

/* Does the work up to the event, or all of it when there is none. */
static void run_until(struct trg_queue *q, const struct trg_event *e)
{
    while (q->first < q->n && !(e && e->is_reached)) {
        struct task t = q->task[q->first++];

        run_task(q, &t);
    }
    if (q->first < q->n)
        return;
    q->first = q->n = 0;
    q->scratch_first = q->scratch_end = 0;
}

void cpu_queue_free(struct trg_queue *q)
{
    run_until(q, NULL);
    free(q->task);
    free(q->scratch);
    free(q);
}

/* A task at the end of the list.  What was done makes room first, so that a steady state allocates
 * nothing. */
static struct task *add_task(struct trg_queue *q, enum task_kind kind)
{
    if (q->n == q->room && q->first) {
        q->n -= q->first;
        memmove(q->task, q->task + q->first, q->n * sizeof *q->task);
        q->first = 0;
    }
    if (q->n == q->room) {
        uint32_t room = q->room ? 2 * q->room : 16;
        struct task *more = realloc(q->task, room * sizeof *more);

        if (!more)
            return NULL;
        q->task = more;
        q->room = room;
    }
    q->task[q->n] = (struct task){.kind = kind};
    return &q->task[q->n++];
}

/* Gives up the scratch of launches that ran. */
static void drop_scratch(struct trg_queue *q)
{
    size_t first = q->scratch_end;

    for (uint32_t i = q->n; i > q->first; i--)
        if (q->task[i - 1].kind == TASK_LAUNCH)
            first = q->task[i - 1].u.launch.value_at;
    memmove(q->scratch, scratch_at(q, first), q->scratch_end - first);
    q->scratch_first = first;
}

/* Room for `bytes` in the scratch, as aligned as any type needs; its place in `ret_place`. */
static int take_scratch(struct trg_queue *q, size_t bytes, size_t *ret_place)
{
    size_t rounded = (bytes + 15) & ~(size_t)15;

    if (q->scratch_end + rounded > q->scratch_first + q->scratch_room && q->scratch)
        drop_scratch(q);
    if (q->scratch_end + rounded > q->scratch_first + q->scratch_room) {
        size_t room = 2 * (q->scratch_room + rounded) + 1024;
        unsigned char *more = realloc(q->scratch, room);

        if (!more)
            return -ENOMEM;
        q->scratch = more;
        q->scratch_room = room;
    }
    *ret_place = q->scratch_end;
    q->scratch_end += rounded;
    return 0;
}

int cpu_queue_copy(struct trg_queue *q, struct trg_buffer *dst, size_t dst_at,
                   struct trg_buffer *src, size_t src_at, size_t bytes)
{
    struct task *t;

    if (backend_check_range(&q->device->log, "copy to", dst->bytes, dst_at, bytes) < 0 ||
        backend_check_range(&q->device->log, "copy from", src->bytes, src_at, bytes) < 0)
        return -EINVAL;
    if (!bytes)
        return 0;
    t = add_task(q, TASK_COPY);
    if (!t)
        return -ENOMEM;
    t->u.copy.dst = dst->data + dst_at;
    t->u.copy.src = src->data + src_at;
    t->u.copy.bytes = bytes;
    return 0;
}

int cpu_queue_fill(struct trg_queue *q, struct trg_buffer *b, size_t at, size_t bytes,
                   uint32_t pattern)
{
    struct task *t;

    if (backend_check_fill(&q->device->log, b->bytes, at, bytes) < 0)
        return -EINVAL;
    if (!bytes)
        return 0;
    t = add_task(q, TASK_FILL);
    if (!t)
        return -ENOMEM;
    t->u.fill.at = (uint32_t *)(void *)(b->data + at);
    t->u.fill.words = bytes / 4;
    t->u.fill.pattern = pattern;
    return 0;
}

int cpu_queue_launch(struct trg_queue *q, struct trg_kernel *k, struct trg_range r,
                     const struct trg_arg *args, uint32_t n_args)
{
    const struct trg_host_entry *e = k->entry;
    size_t value_at, buffers_at;
    struct task *t;

    /* any group size will do: groups have one work-item here */
    if (backend_check_launch(&q->device->log, e, UINT32_MAX, r, args, n_args) < 0)
        return -EINVAL;
    if (!r.groups)
        return 0;
    if (take_scratch(q, e->value_bytes + e->n_buffers * sizeof(void *) + 16, &value_at) < 0)
        return -ENOMEM;
    buffers_at = value_at + ((e->value_bytes + 15u) & ~15u);
    memcpy(scratch_at(q, value_at), args[e->n_buffers].val, e->value_bytes);
    for (uint32_t i = 0; i < e->n_buffers; i++)
        memcpy(scratch_at(q, buffers_at) + i * sizeof(void *), &args[i].buf->data, sizeof(void *));
    t = add_task(q, TASK_LAUNCH);
    if (!t)
        return -ENOMEM;
    t->u.launch.entry = e;
    t->u.launch.groups = r.groups;
    t->u.launch.value_at = value_at;
    t->u.launch.buffers_at = buffers_at;
    return 0;
}

int cpu_queue_host_call(struct trg_queue *q, void (*fn)(void *), void *arg)
{
    struct task *t = add_task(q, TASK_CALL);

    if (!t)
        return -ENOMEM;
    t->u.call.fn = fn;
    t->u.call.arg = arg;
    return 0;
}

int cpu_queue_flush(struct trg_queue *q)
{
    (void)q; /* there is nobody to start */
    return 0;
}

int cpu_queue_finish(struct trg_queue *q)
{
    run_until(q, NULL);
    return 0;
}

int cpu_queue_record(struct trg_queue *q, struct trg_event *e)
{
    struct task *t = add_task(q, TASK_RECORD);

    if (!t)
        return -ENOMEM;
    t->u.event = e;
    e->queue = q;
    e->is_reached = false;
    return 0;
}

int cpu_queue_wait_event(struct trg_queue *q, struct trg_event *e)
{
    struct task *t;

    if (!e->queue)
        return -EINVAL;
    t = add_task(q, TASK_WAIT);
    if (!t)
        return -ENOMEM;
    t->u.event = e;
    return 0;
}

int cpu_queue_reach(struct trg_event *e)
{
    if (!e->queue)
        return -EINVAL;
    run_until(e->queue, e);
    return 0;
}
