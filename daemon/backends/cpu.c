/* SPDX-License-Identifier: Apache-2.0 */
/* trigd-cpu - the host as a device: memory, the choice of the build of a program for this CPU, and
 * the table of the backend.  Its queues are in cpu_queue.c. */
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cpu.h"

#define ALIGN        256u
#define ISA_VARIABLE "TRIGD_CPU_ISA" /* the best level to use, for tests and comparisons */

struct trg_module {
    struct trg_object object;
    const struct trg_program *program;
    const struct backend_log *log;
    struct trg_kernel *kernels; /* in the order of the program's entries, which all builds keep */
};

/* ---------------------------------------------------------------- levels of the instruction set */

static const char *const levels[] = {"x86-64-v4", "x86-64-v3", ""}; /* best first */
#define N_LEVELS (sizeof levels / sizeof levels[0])

static bool cpu_has(const char *level)
{
#if defined(__x86_64__)
    bool v3;

    __builtin_cpu_init();
    v3 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
         __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2");
    if (strcmp(level, "x86-64-v3") == 0)
        return v3;
    if (strcmp(level, "x86-64-v4") == 0)
        return v3 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
               __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
               __builtin_cpu_supports("avx512vl");
#endif
    return !level[0];
}

/* Place in `levels` of the best one that the CPU has and TRIGD_CPU_ISA allows; N_LEVELS when the
 * variable holds no level. */
static size_t best_level(void)
{
    const char *limit = getenv(ISA_VARIABLE);
    size_t i = 0;

    if (limit && strcmp(limit, "base") == 0)
        limit = "";
    while (limit && i < N_LEVELS && strcmp(levels[i], limit) != 0)
        i++;
    while (i < N_LEVELS && !cpu_has(levels[i]))
        i++;
    return i;
}

/* The best build of the program that the CPU may run; NULL when it has none. */
static const struct trg_host_entry *best_build(const struct trg_program *p)
{
    for (size_t i = best_level(); i < N_LEVELS; i++)
        for (const struct trg_host_code *c = p->host; c->entries; c++)
            if (strcmp(c->isa, levels[i]) == 0)
                return c->entries;
    return NULL;
}

/* ---------------------------------------------------------------- device and memory */

static void read_model(char *name, size_t bytes)
{
    char line[256];
    FILE *f = fopen("/proc/cpuinfo", "r");

    snprintf(name, bytes, "host CPU");
    while (f && fgets(line, sizeof line, f)) {
        const char *value = strchr(line, ':');

        if (strncmp(line, "model name", 10) != 0 || !value)
            continue;
        snprintf(name, bytes, "%.80s", value + 2);
        name[strcspn(name, "\n")] = '\0';
        break;
    }
    if (f)
        fclose(f);
}

static void device_info(struct trg_device *d, struct trg_device_info *ret_info)
{
    struct trg_device_info info = {.backend = "cpu",
                                   .units = 1,
                                   .group_max = 1,
                                   .shared_bytes = 1u << 20,
                                   .is_host = 1,
                                   .reaches_host = 1};
    long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
    size_t level = best_level();
    cpu_set_t set;

    (void)d;
    read_model(info.name, sizeof info.name);
    snprintf(info.driver, sizeof info.driver, "%s",
             level < N_LEVELS && levels[level][0] ? levels[level] : "baseline");
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
    if (!bytes)
        return -EINVAL;
    b = calloc(1, sizeof *b);
    if (!b)
        return -ENOMEM;
    b->object.ops = d->object.ops;
    b->bytes = bytes;
    if (rounded >= bytes)
        b->data = aligned_alloc(ALIGN, rounded);
    if (!b->data) {
        backend_log(&d->log, TRG_ERROR, "cannot allocate %zu bytes", bytes);
        free(b);
        return -ENOMEM;
    }
    *ret_buffer = b;
    return 0;
}

static int buffer_wrap(struct trg_device *d, void *host, size_t bytes,
                       struct trg_buffer **ret_buffer)
{
    struct trg_buffer *b;

    if (!bytes)
        return -EINVAL;
    b = calloc(1, sizeof *b);
    if (!b)
        return -ENOMEM;
    *b = (struct trg_buffer){
        .object.ops = d->object.ops, .data = host, .is_wrapped = true, .bytes = bytes};
    *ret_buffer = b;
    return 0;
}

/* All memory of the process is open. */
static int window_new(struct trg_device *d, const void *host, size_t bytes,
                      struct trg_buffer **ret_window)
{
    return buffer_wrap(d, (void *)(uintptr_t)host, bytes, ret_window);
}

static int window_open(struct trg_buffer *w, size_t at, size_t bytes)
{
    return at > w->bytes || bytes > w->bytes - at ? -EINVAL : 0;
}

static int window_shut(struct trg_buffer *w, size_t at)
{
    return at > w->bytes ? -EINVAL : 0;
}

static void buffer_free(struct trg_buffer *b)
{
    if (!b->is_wrapped)
        free(b->data);
    free(b);
}

static void *buffer_host(struct trg_buffer *b)
{
    return b->data;
}

/* ---------------------------------------------------------------- programs */

static void module_free(struct trg_module *m)
{
    free(m->kernels);
    free(m);
}

static int module_new(struct trg_device *d, const struct trg_program *p, const char *options,
                      struct trg_module **ret_module)
{
    const struct trg_host_entry *entries = best_build(p);
    const uint32_t n = backend_entries(p);
    struct trg_module *m;

    (void)options; /* of the OpenCL compiler */
    if (!entries) {
        backend_log(&d->log, TRG_ERROR,
                    "program \"%s\" has no build for " ISA_VARIABLE "=%s; "
                    "allowed are base, x86-64-v3, x86-64-v4",
                    p->name, getenv(ISA_VARIABLE));
        return -ENOENT;
    }
    m = calloc(1, sizeof *m);
    if (!m)
        return -ENOMEM;
    m->object.ops = d->object.ops;
    m->log = &d->log;
    m->program = p;
    m->kernels = calloc(n + 1, sizeof *m->kernels);
    if (!m->kernels) {
        module_free(m);
        return -ENOMEM;
    }
    for (uint32_t i = 0; i < n; i++)
        m->kernels[i].entry = &entries[i];
    *ret_module = m;
    return 0;
}

static int kernel_get(struct trg_module *m, const char *name, struct trg_kernel **ret_kernel)
{
    int64_t i = backend_find(m->log, m->program, name);

    if (i < 0)
        return -ENOENT;
    *ret_kernel = &m->kernels[i];
    return 0;
}

/* ---------------------------------------------------------------- events */

static int event_new(struct trg_device *d, struct trg_event **ret_event)
{
    struct trg_event *e = calloc(1, sizeof *e);

    if (!e)
        return -ENOMEM;
    e->object.ops = d->object.ops;
    *ret_event = e;
    return 0;
}

static void event_free(struct trg_event *e)
{
    free(e);
}

static int event_elapsed(struct trg_event *from, struct trg_event *to, double *ret_us)
{
    if (!from->queue || !to->queue)
        return -EINVAL;
    if (!from->is_reached || !to->is_reached)
        return -EAGAIN;
    *ret_us = ((double)to->reached_ns - (double)from->reached_ns) * 1e-3;
    return 0;
}

/* ---------------------------------------------------------------- backend */

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
    .queue_new = cpu_queue_new,
    .queue_free = cpu_queue_free,
    .write = cpu_queue_copy,
    .read = cpu_queue_copy,
    .copy = cpu_queue_copy,
    .fill = cpu_queue_fill,
    .launch = cpu_queue_launch,
    .host_call = cpu_queue_host_call,
    .flush = cpu_queue_flush,
    .finish = cpu_queue_finish,
    .event_new = event_new,
    .event_free = event_free,
    .event_record = cpu_queue_record,
    .event_query = cpu_queue_reach, /* looking does the work: there is no other thread to do it */
    .event_wait = cpu_queue_reach,
    .event_elapsed = event_elapsed,
    .queue_wait_event = cpu_queue_wait_event,
    .buffer_wrap = buffer_wrap,
    .window_new = window_new,
    .window_open = window_open,
    .window_shut = window_shut,
};

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
    d->log.host = host;
    snprintf(d->log.device, sizeof d->log.device, "cpu 0");
    *ret_device = d;
    return 0;
}

__attribute__((visibility("default"))) extern const struct trg_backend trg_backend;
const struct trg_backend trg_backend = {.abi = TRG_BACKEND_ABI,
                                        .size = sizeof trg_backend,
                                        .name = "cpu",
                                        .count = count,
                                        .open = open_cpu};
