/* SPDX-License-Identifier: Apache-2.0 */
/* trigd-cpu - the host as a device.  A queue is a list of tasks without a thread of its own: who
 * waits for an event (or looks at it) does the work up to it.  A lane is a thread, so as many
 * cores work as there are lanes, and no batch is handed from thread to thread. */
#include <errno.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "common.h"
#include "trigd/kernel.h"

#define ALIGN 256u
#define ISA_VARIABLE "TRIGD_CPU_ISA" /* "base" or a level: the best to use, for tests */

struct trg_device {
    struct trg_object object;
    const struct trg_host *host;
};

struct trg_buffer {
    struct trg_object object;
    unsigned char *data;
};

struct trg_kernel {
    const char *name;
    trg_host_kernel *run;
};

struct trg_module {
    struct trg_object object;
    const struct trg_host_entry *entries;
    struct trg_kernel *kernels; /* one for each entry */
    const struct trg_host *host;
    const char *name;
};

struct trg_event {
    struct trg_object object;
    struct trg_queue *queue; /* where it was recorded; NULL before */
    bool is_reached;
    uint64_t reached_ns;
};

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
            trg_host_kernel *run;
            uint32_t groups, n_args;
            size_t args_at; /* in the queue's scratch: pointers, then values */
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
    struct task *task; /* [room]; first .. n wait */
    uint32_t first, n, room;
    unsigned char *scratch; /* arguments of the launches that wait */
    size_t scratch_used, scratch_room;
};

static const struct trg_device_ops ops;

static uint64_t now_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* ---------------------------------------------------------------- device and memory */

static void device_info(struct trg_device *d, struct trg_device_info *ret_info)
{
    struct trg_device_info info = {.backend = "cpu",
                                   .driver = "trigd",
                                   .units = 1,
                                   .group_max = 1,
                                   .shared_bytes = 1u << 20,
                                   .is_host = 1};
    long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
    char line[256];
    cpu_set_t set;
    FILE *f = fopen("/proc/cpuinfo", "r");

    (void)d;
    snprintf(info.name, sizeof info.name, "host CPU");
    while (f && fgets(line, sizeof line, f)) {
        if (strncmp(line, "model name", 10) != 0 || !strchr(line, ':'))
            continue;
        snprintf(info.name, sizeof info.name, "%.80s", strchr(line, ':') + 2);
        info.name[strcspn(info.name, "\n")] = '\0';
        break;
    }
    if (f)
        fclose(f);
    if (sched_getaffinity(0, sizeof set, &set) == 0)
        info.units = (uint32_t)CPU_COUNT(&set);
    if (pages > 0 && page > 0)
        info.memory_bytes = (uint64_t)pages * (uint64_t)page;
    *ret_info = info;
}

static void device_close(struct trg_device *d)
{
    free(d);
}

static int buffer_new(struct trg_device *d, enum trg_mem mem, size_t bytes,
                      struct trg_buffer **ret_buffer)
{
    struct trg_buffer *b;
    size_t rounded = (bytes + ALIGN - 1) & ~(size_t)(ALIGN - 1);

    (void)mem;
    if (!bytes || rounded < bytes)
        return -EINVAL;
    b = calloc(1, sizeof *b);
    if (!b)
        return -ENOMEM;
    b->object.ops = &ops;
    b->data = aligned_alloc(ALIGN, rounded);
    if (!b->data) {
        backend_log(d->host, TRG_ERROR, "cpu: cannot allocate %zu bytes", bytes);
        free(b);
        return -ENOMEM;
    }
    *ret_buffer = b;
    return 0;
}

static void buffer_free(struct trg_buffer *b)
{
    free(b->data);
    free(b);
}

static void *buffer_host(struct trg_buffer *b)
{
    return b->data;
}

/* ---------------------------------------------------------------- programs */

static bool cpu_has(const char *isa)
{
#if defined(__x86_64__)
    __builtin_cpu_init();
    if (!strcmp(isa, "x86-64-v3"))
        return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
               __builtin_cpu_supports("bmi2");
    if (!strcmp(isa, "x86-64-v4"))
        return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
               __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
#endif
    return !isa[0];
}

/* The best build of the program that this CPU runs and TRIGD_CPU_ISA allows. */
static const struct trg_host_entry *best_build(const struct trg_program *p)
{
    const char *limit = getenv(ISA_VARIABLE);
    const struct trg_host_code *c = p->host;

    if (limit && strcmp(limit, "base") != 0)
        while (c->entries && strcmp(c->isa, limit) != 0)
            c++;
    else if (limit)
        while (c->entries && c->isa[0])
            c++;
    for (; c->entries; c++)
        if (cpu_has(c->isa))
            return c->entries;
    return NULL;
}

static int module_new(struct trg_device *d, const struct trg_program *p, const char *options,
                      struct trg_module **ret_module)
{
    struct trg_module *m;
    const struct trg_host_entry *entries = best_build(p);
    size_t n = 0;

    (void)options; /* of the OpenCL compiler */
    if (!entries) {
        backend_log(d->host, TRG_ERROR, "cpu: program %s has no build for this CPU (%s=%s)",
                    p->name, ISA_VARIABLE, getenv(ISA_VARIABLE) ? getenv(ISA_VARIABLE) : "");
        return -ENOENT;
    }
    while (entries[n].name)
        n++;
    m = calloc(1, sizeof *m);
    if (!m)
        return -ENOMEM;
    m->object.ops = &ops;
    m->host = d->host;
    m->name = p->name;
    m->entries = entries;
    m->kernels = calloc(n + 1, sizeof *m->kernels);
    if (!m->kernels) {
        free(m);
        return -ENOMEM;
    }
    for (size_t i = 0; i < n; i++)
        m->kernels[i] = (struct trg_kernel){entries[i].name, entries[i].run};
    *ret_module = m;
    return 0;
}

static void module_free(struct trg_module *m)
{
    free(m->kernels);
    free(m);
}

static int kernel_get(struct trg_module *m, const char *name, struct trg_kernel **ret_kernel)
{
    for (size_t i = 0; m->kernels[i].name; i++) {
        if (strcmp(m->kernels[i].name, name) != 0)
            continue;
        *ret_kernel = &m->kernels[i];
        return 0;
    }
    backend_log(m->host, TRG_ERROR, "cpu: program %s has no kernel %s", m->name, name);
    return -ENOENT;
}

/* ---------------------------------------------------------------- queues */

static int queue_new(struct trg_device *d, struct trg_queue **ret_queue)
{
    struct trg_queue *q = calloc(1, sizeof *q);

    (void)d;
    if (!q)
        return -ENOMEM;
    q->object.ops = &ops;
    *ret_queue = q;
    return 0;
}

static void run_launch(struct trg_queue *q, const struct task *t)
{
    struct trg_grid grid = {.groups = t->u.launch.groups};
    void *args[TRG_ARGS_MAX];
    const size_t *offsets = (const size_t *)(const void *)(q->scratch + t->u.launch.args_at);

    /* pairs (is a value?, address or place in the scratch) */
    for (uint32_t i = 0; i < t->u.launch.n_args; i++)
        args[i] = offsets[2 * i] ? (void *)(q->scratch + offsets[2 * i + 1])
                                 : (void *)(uintptr_t)offsets[2 * i + 1];
    for (grid.group = 0; grid.group < grid.groups; grid.group++)
        t->u.launch.run(&grid, args);
}

static void run_all(struct trg_queue *q);

static void run_task(struct trg_queue *q, const struct task *t)
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
        if (!t->u.event->is_reached && t->u.event->queue)
            run_all(t->u.event->queue);
        break;
    }
}

static void run_all(struct trg_queue *q)
{
    while (q->first < q->n) {
        struct task t = q->task[q->first++];

        run_task(q, &t);
    }
    q->first = q->n = 0;
    q->scratch_used = 0;
}

static void queue_free(struct trg_queue *q)
{
    run_all(q);
    free(q->task);
    free(q->scratch);
    free(q);
}

/* A place at the end of the list.  The list keeps its size, so a steady state allocates nothing. */
static struct task *add_task(struct trg_queue *q, enum task_kind kind)
{
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

static int queue_copy(struct trg_queue *q, struct trg_buffer *dst, size_t dst_at,
                      struct trg_buffer *src, size_t src_at, size_t bytes)
{
    struct task *t;

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

static int queue_fill(struct trg_queue *q, struct trg_buffer *b, size_t at, size_t bytes,
                      uint32_t pattern)
{
    struct task *t;

    if (at % 4 || bytes % 4)
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

/* Room for `bytes` in the scratch; its offset, or SIZE_MAX. */
static size_t take_scratch(struct trg_queue *q, size_t bytes)
{
    size_t at = (q->scratch_used + 15) & ~(size_t)15;

    if (at + bytes > q->scratch_room) {
        size_t room = 2 * (at + bytes) + 1024;
        unsigned char *more = realloc(q->scratch, room);

        if (!more)
            return SIZE_MAX;
        q->scratch = more;
        q->scratch_room = room;
    }
    q->scratch_used = at + bytes;
    return at;
}

static int queue_launch(struct trg_queue *q, struct trg_kernel *k, struct trg_range r,
                        const struct trg_arg *args, uint32_t n_args)
{
    size_t list, pairs[2 * TRG_ARGS_MAX];
    struct task *t;

    if (n_args > TRG_ARGS_MAX || !r.group_size)
        return -EINVAL;
    if (!r.groups)
        return 0;
    for (uint32_t i = 0; i < n_args; i++) {
        pairs[2 * i] = args[i].buf == NULL;
        pairs[2 * i + 1] = args[i].buf ? (size_t)(uintptr_t)args[i].buf->data
                                       : take_scratch(q, args[i].size);
        if (pairs[2 * i] && pairs[2 * i + 1] == SIZE_MAX)
            return -ENOMEM;
        if (pairs[2 * i])
            memcpy(q->scratch + pairs[2 * i + 1], args[i].val, args[i].size);
    }
    list = take_scratch(q, sizeof pairs);
    if (list == SIZE_MAX)
        return -ENOMEM;
    memcpy(q->scratch + list, pairs, 2 * n_args * sizeof *pairs);
    t = add_task(q, TASK_LAUNCH);
    if (!t)
        return -ENOMEM;
    t->u.launch.run = k->run;
    t->u.launch.groups = r.groups;
    t->u.launch.n_args = n_args;
    t->u.launch.args_at = list;
    return 0;
}

static int queue_host_call(struct trg_queue *q, void (*fn)(void *), void *arg)
{
    struct task *t = add_task(q, TASK_CALL);

    if (!t)
        return -ENOMEM;
    t->u.call.fn = fn;
    t->u.call.arg = arg;
    return 0;
}

static int queue_flush(struct trg_queue *q)
{
    (void)q;
    return 0;
}

static int queue_finish(struct trg_queue *q)
{
    run_all(q);
    return 0;
}

/* ---------------------------------------------------------------- events */

static int event_new(struct trg_device *d, struct trg_event **ret_event)
{
    struct trg_event *e = calloc(1, sizeof *e);

    (void)d;
    if (!e)
        return -ENOMEM;
    e->object.ops = &ops;
    *ret_event = e;
    return 0;
}

static void event_free(struct trg_event *e)
{
    free(e);
}

static int event_record(struct trg_queue *q, struct trg_event *e)
{
    struct task *t = add_task(q, TASK_RECORD);

    if (!t)
        return -ENOMEM;
    t->u.event = e;
    e->queue = q;
    e->is_reached = false;
    return 0;
}

static int event_wait(struct trg_event *e)
{
    if (!e->queue)
        return -EINVAL;
    if (!e->is_reached)
        run_all(e->queue);
    return 0;
}

static int event_elapsed(struct trg_event *from, struct trg_event *to, double *ret_us)
{
    if (!from->is_reached || !to->is_reached)
        return -EAGAIN;
    *ret_us = ((double)to->reached_ns - (double)from->reached_ns) * 1e-3;
    return 0;
}

static int queue_wait_event(struct trg_queue *q, struct trg_event *e)
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

static const struct trg_device_ops ops = {
    .size = sizeof ops,
    .info = device_info,
    .close = device_close,
    .buffer_new = buffer_new,
    .buffer_free = buffer_free,
    .buffer_host = buffer_host,
    .module_new = module_new,
    .module_free = module_free,
    .kernel_get = kernel_get,
    .queue_new = queue_new,
    .queue_free = queue_free,
    .write = queue_copy,
    .read = queue_copy,
    .copy = queue_copy,
    .fill = queue_fill,
    .launch = queue_launch,
    .host_call = queue_host_call,
    .flush = queue_flush,
    .finish = queue_finish,
    .event_new = event_new,
    .event_free = event_free,
    .event_record = event_record,
    .event_query = event_wait, /* looking does the work: there is no other thread to do it */
    .event_wait = event_wait,
    .event_elapsed = event_elapsed,
    .queue_wait_event = queue_wait_event,
};

/* ---------------------------------------------------------------- backend */

static int count(const struct trg_host *host, uint32_t *ret_count)
{
    (void)host;
    *ret_count = 1;
    return 0;
}

static int open_cpu(const struct trg_host *host, uint32_t index, struct trg_device **ret_device)
{
    struct trg_device *d;

    if (index)
        return -ENODEV;
    d = calloc(1, sizeof *d);
    if (!d)
        return -ENOMEM;
    d->object.ops = &ops;
    d->host = host;
    *ret_device = d;
    return 0;
}

__attribute__((visibility("default"))) extern const struct trg_backend trg_backend;
const struct trg_backend trg_backend = {
    .abi = TRG_BACKEND_ABI, .size = sizeof trg_backend, .name = "cpu", .count = count, .open = open_cpu};
