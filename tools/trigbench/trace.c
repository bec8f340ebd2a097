/* SPDX-License-Identifier: Apache-2.0 */
#include "trace.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"

#define KERNELS_MAX 256u

struct mark { /* a span being made */
    struct trace_span span;
    bool is_on_queue; /* else the host's */
    struct trg_event *before, *after;
};

struct trace {
    struct trg_device *device;
    const struct trg_device_ops *real;
    struct trg_device_ops table;
    struct {
        const struct trg_queue *queue;
        uint32_t row;
    } queue[TRACE_QUEUES_MAX];
    uint32_t n_queues;
    struct {
        struct trg_kernel *kernel;
        char name[TRACE_NAME_MAX];
    } kernel[KERNELS_MAX];
    uint32_t n_kernels;
    struct trg_queue *own; /* where time begins */
    struct trg_event *zero;
    uint64_t zero_ns;
    struct mark *marks;
    struct trace_span *spans;
    uint32_t room;
    _Atomic uint32_t n; /* marks taken, also those without room */
    atomic_bool is_on;
};

/* The device API has no place for a context, so there is one trace at a time. */
static struct trace *the;

static int traced_kernel_get(struct trg_module *m, const char *name, struct trg_kernel **ret_kernel)
{
    int r = the->real->kernel_get(m, name, ret_kernel);

    if (r == 0 && the->n_kernels < KERNELS_MAX) {
        the->kernel[the->n_kernels].kernel = *ret_kernel;
        snprintf(the->kernel[the->n_kernels++].name, TRACE_NAME_MAX, "%s", name);
    }
    return r;
}

static const char *kernel_name(const struct trg_kernel *k)
{
    for (uint32_t i = 0; i < the->n_kernels; i++)
        if (the->kernel[i].kernel == k)
            return the->kernel[i].name;
    return "kernel";
}

/* Begins a span on a queue; NULL when none is wanted or there is no room. */
static struct mark *begin(struct trg_queue *q, enum trace_kind kind, const char *name,
                          uint64_t bytes)
{
    struct mark *m;
    uint32_t at, i = 0;

    while (i < the->n_queues && the->queue[i].queue != q)
        i++;
    if (!atomic_load(&the->is_on) || i == the->n_queues)
        return NULL;
    at = atomic_fetch_add(&the->n, 1);
    if (at >= the->room)
        return NULL;
    m = &the->marks[at];
    m->is_on_queue = true;
    m->span.bytes = bytes;
    snprintf(m->span.name, sizeof m->span.name, "%s", name);
    m->span.row = the->queue[i].row;
    m->span.kind = kind;
    return the->real->event_record(q, m->before) < 0 ? NULL : m;
}

static int end(struct trg_queue *q, struct mark *m, int r)
{
    int e = m ? the->real->event_record(q, m->after) : 0;

    return r < 0 ? r : e;
}

static int traced_write(struct trg_queue *q, struct trg_buffer *dst, size_t dst_at,
                        struct trg_buffer *src, size_t src_at, size_t bytes)
{
    struct mark *m = begin(q, TRACE_COPY_IN, "copy in", bytes);

    return end(q, m, the->real->write(q, dst, dst_at, src, src_at, bytes));
}

static int traced_read(struct trg_queue *q, struct trg_buffer *dst, size_t dst_at,
                       struct trg_buffer *src, size_t src_at, size_t bytes)
{
    struct mark *m = begin(q, TRACE_COPY_OUT, "copy out", bytes);

    return end(q, m, the->real->read(q, dst, dst_at, src, src_at, bytes));
}

static int traced_copy(struct trg_queue *q, struct trg_buffer *dst, size_t dst_at,
                       struct trg_buffer *src, size_t src_at, size_t bytes)
{
    struct mark *m = begin(q, TRACE_COPY, "copy", bytes);

    return end(q, m, the->real->copy(q, dst, dst_at, src, src_at, bytes));
}

static int traced_fill(struct trg_queue *q, struct trg_buffer *b, size_t at, size_t bytes,
                       uint32_t pattern)
{
    struct mark *m = begin(q, TRACE_FILL, "fill", bytes);

    return end(q, m, the->real->fill(q, b, at, bytes, pattern));
}

static int traced_launch(struct trg_queue *q, struct trg_kernel *k, struct trg_range r,
                         const struct trg_arg *args, uint32_t n_args)
{
    struct mark *m = begin(q, TRACE_KERNEL, kernel_name(k), 0);

    return end(q, m, the->real->launch(q, k, r, args, n_args));
}

int trace_open(struct trg_device *device, struct trace **ret_trace)
{
    struct trace *t;

    if (the)
        return -EBUSY;
    t = calloc(1, sizeof *t);
    if (!t)
        return -ENOMEM;
    t->device = device;
    t->real = ((struct trg_object *)(void *)device)->ops;
    t->table = *t->real;
    t->table.kernel_get = traced_kernel_get;
    t->table.write = traced_write;
    t->table.read = traced_read;
    t->table.copy = traced_copy;
    t->table.fill = traced_fill;
    t->table.launch = traced_launch;
    the = t;
    ((struct trg_object *)(void *)device)->ops = &t->table;
    *ret_trace = t;
    return 0;
}

void trace_queue(struct trace *t, const struct trg_queue *q, uint32_t row)
{
    if (t->n_queues == TRACE_QUEUES_MAX)
        return;
    t->queue[t->n_queues].queue = q;
    t->queue[t->n_queues++].row = row;
}

int trace_begin(struct trace *t, uint32_t room)
{
    int r;

    t->marks = calloc(room, sizeof *t->marks);
    t->spans = calloc(room, sizeof *t->spans);
    if (!t->marks || !t->spans)
        return -ENOMEM;
    t->room = room;
    r = t->real->queue_new(t->device, &t->own);
    for (uint32_t i = 0; r == 0 && i < room; i++) {
        r = t->real->event_new(t->device, &t->marks[i].before);
        if (r == 0)
            r = t->real->event_new(t->device, &t->marks[i].after);
    }
    if (r == 0)
        r = t->real->event_new(t->device, &t->zero);
    if (r == 0)
        r = t->real->event_record(t->own, t->zero);
    if (r == 0)
        r = t->real->event_wait(t->zero);
    t->zero_ns = clock_ns();
    atomic_store(&t->is_on, r == 0);
    return r;
}

void trace_host(struct trace *t, uint32_t lane, const char *name, uint64_t from_ns, uint64_t to_ns)
{
    uint32_t at;

    if (!t || !atomic_load(&t->is_on))
        return;
    at = atomic_fetch_add(&t->n, 1);
    if (at >= t->room)
        return;
    t->marks[at].span = (struct trace_span){.kind = TRACE_HOST,
                                            .row = lane,
                                            .from_us = (double)(from_ns - t->zero_ns) * 1e-3,
                                            .to_us = (double)(to_ns - t->zero_ns) * 1e-3};
    snprintf(t->marks[at].span.name, TRACE_NAME_MAX, "%s", name);
}

int trace_end(struct trace *t, const struct trace_span **ret_spans, uint32_t *ret_n,
              uint32_t *ret_left_out)
{
    uint32_t taken = atomic_load(&t->n), n = 0;

    atomic_store(&t->is_on, false);
    *ret_left_out = taken > t->room ? taken - t->room : 0;
    for (uint32_t i = 0; i < taken && i < t->room; i++) {
        struct mark *m = &t->marks[i];
        int r = 0;

        if (m->is_on_queue) {
            r = t->real->event_elapsed(t->zero, m->before, &m->span.from_us);
            if (r == 0)
                r = t->real->event_elapsed(t->zero, m->after, &m->span.to_us);
        }
        if (r < 0)
            return r;
        t->spans[n++] = m->span;
    }
    *ret_spans = t->spans;
    *ret_n = n;
    return 0;
}

void trace_close(struct trace *t)
{
    if (!t)
        return;
    ((struct trg_object *)(void *)t->device)->ops = t->real;
    for (uint32_t i = 0; i < t->room; i++) {
        if (t->marks[i].before)
            t->real->event_free(t->marks[i].before);
        if (t->marks[i].after)
            t->real->event_free(t->marks[i].after);
    }
    if (t->zero)
        t->real->event_free(t->zero);
    if (t->own)
        t->real->queue_free(t->own);
    free(t->marks);
    free(t->spans);
    free(t);
    the = NULL;
}
