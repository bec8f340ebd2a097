/* SPDX-License-Identifier: Apache-2.0 */
/* Queues of the OpenCL backend: in-order command queues. */
#include <stdlib.h>

#include "opencl.h"

struct trg_queue {
    struct trg_object object;
    struct trg_device *device;
    cl_command_queue cl;
    const char *last; /* kernel launched last, for messages; lives as long as its program */
};

cl_command_queue_properties opencl_tells_times(void)
{
    return getenv(OPENCL_TIMES) ? CL_QUEUE_PROFILING_ENABLE : 0;
}

int opencl_queue_new(struct trg_device *d, struct trg_queue **ret_queue)
{
    struct trg_queue *q;
    cl_int code;
    int r;

    if (atomic_load(&d->is_lost))
        return -ENODEV;
    q = calloc(1, sizeof *q);
    if (!q)
        return -ENOMEM;
    q->object.ops = d->object.ops;
    q->device = d;
    q->cl = clCreateCommandQueue(d->context, d->id, opencl_tells_times(), &code);
    r = opencl_check(d, code, "clCreateCommandQueue", NULL);
    if (r < 0) {
        free(q);
        return r;
    }
    *ret_queue = q;
    return 0;
}

void opencl_queue_free(struct trg_queue *q)
{
    opencl_check(q->device, clFinish(q->cl), "clFinish", q->last);
    opencl_check(q->device, clReleaseCommandQueue(q->cl), "clReleaseCommandQueue", NULL);
    free(q);
}

/* Whether both ends of a copy are inside their buffers and of the right kind. */
static int check_copy(const struct trg_queue *q, const char *call, const struct trg_buffer *dst,
                      size_t dst_at, const struct trg_buffer *src, size_t src_at, size_t bytes)
{
    const struct backend_log *log = &q->device->log;

    if (atomic_load(&q->device->is_lost))
        return -ENODEV;
    if (backend_check_range(log, call, dst->bytes, dst_at, bytes) < 0)
        return -EINVAL;
    return backend_check_range(log, call, src->bytes, src_at, bytes);
}

static int check_pinned(const struct trg_queue *q, const char *call, const struct trg_buffer *b)
{
    if (b->host)
        return 0;
    backend_log(&q->device->log, TRG_ERROR, "%s: the host side must be pinned memory", call);
    return -EINVAL;
}

int opencl_queue_write(struct trg_queue *q, struct trg_buffer *dst, size_t dst_at,
                       struct trg_buffer *src, size_t src_at, size_t bytes)
{
    int r = check_copy(q, "write", dst, dst_at, src, src_at, bytes);

    if (r == 0)
        r = check_pinned(q, "write", src);
    if (r < 0 || !bytes)
        return r;
    return opencl_check(q->device,
                        clEnqueueWriteBuffer(q->cl, dst->mem, CL_FALSE, dst_at, bytes,
                                             (unsigned char *)src->host + src_at, 0, NULL, NULL),
                        "clEnqueueWriteBuffer", q->last);
}

int opencl_queue_read(struct trg_queue *q, struct trg_buffer *dst, size_t dst_at,
                      struct trg_buffer *src, size_t src_at, size_t bytes)
{
    int r = check_copy(q, "read", dst, dst_at, src, src_at, bytes);

    if (r == 0)
        r = check_pinned(q, "read", dst);
    if (r < 0 || !bytes)
        return r;
    return opencl_check(q->device,
                        clEnqueueReadBuffer(q->cl, src->mem, CL_FALSE, src_at, bytes,
                                            (unsigned char *)dst->host + dst_at, 0, NULL, NULL),
                        "clEnqueueReadBuffer", q->last);
}

int opencl_queue_copy(struct trg_queue *q, struct trg_buffer *dst, size_t dst_at,
                      struct trg_buffer *src, size_t src_at, size_t bytes)
{
    int r = check_copy(q, "copy", dst, dst_at, src, src_at, bytes);

    if (r < 0 || !bytes)
        return r;
    return opencl_check(
        q->device,
        clEnqueueCopyBuffer(q->cl, src->mem, dst->mem, src_at, dst_at, bytes, 0, NULL, NULL),
        "clEnqueueCopyBuffer", q->last);
}

int opencl_queue_fill(struct trg_queue *q, struct trg_buffer *b, size_t at, size_t bytes,
                      uint32_t pattern)
{
    int r = backend_check_fill(&q->device->log, b->bytes, at, bytes);

    if (atomic_load(&q->device->is_lost))
        return -ENODEV;
    if (r < 0 || !bytes)
        return r;
    return opencl_check(
        q->device,
        clEnqueueFillBuffer(q->cl, b->mem, &pattern, sizeof pattern, at, bytes, 0, NULL, NULL),
        "clEnqueueFillBuffer", q->last);
}

static int set_args(struct trg_device *d, const struct trg_kernel *k, const struct trg_arg *args,
                    uint32_t n_args)
{
    int r = 0;

    for (uint32_t i = 0; r == 0 && i < n_args; i++) {
        const struct trg_arg *a = &args[i];
        cl_int code = a->buf ? clSetKernelArg(k->cl, i, sizeof a->buf->mem, &a->buf->mem)
                             : clSetKernelArg(k->cl, i, a->size, a->val);

        r = opencl_check(d, code, "clSetKernelArg", k->entry->name);
    }
    return r;
}

int opencl_queue_launch(struct trg_queue *q, struct trg_kernel *k, struct trg_range r,
                        const struct trg_arg *args, uint32_t n_args)
{
    const size_t local = r.group_size, global = (size_t)r.groups * r.group_size;
    struct trg_device *d = q->device;
    int e;

    if (atomic_load(&d->is_lost))
        return -ENODEV;
    e = backend_check_launch(&d->log, k->entry, k->group_max, r, args, n_args);
    if (e < 0 || !r.groups)
        return e;
    q->last = k->entry->name;
    pthread_mutex_lock(&k->lock);
    e = set_args(d, k, args, n_args);
    if (e == 0)
        e = opencl_check(
            d, clEnqueueNDRangeKernel(q->cl, k->cl, 1, NULL, &global, &local, 0, NULL, NULL),
            "clEnqueueNDRangeKernel", k->entry->name);
    pthread_mutex_unlock(&k->lock);
    return e;
}

/* ---------------------------------------------------------------- host calls */

struct host_call {
    void (*fn)(void *);
    void *arg;
    cl_event returned; /* what the queue waits for */
};

static void CL_CALLBACK run_host_call(cl_event marker, cl_int status, void *data)
{
    struct host_call *c = data;

    (void)marker;
    if (status == CL_COMPLETE)
        c->fn(c->arg);
    clSetUserEventStatus(c->returned, status < 0 ? status : CL_COMPLETE);
    clReleaseEvent(c->returned);
    free(c);
}

/* OpenCL 1.2 has no host function in a queue: a marker calls it from a thread of the driver, and
 * the queue waits behind the marker for an event that is set when it has returned. */
int opencl_queue_host_call(struct trg_queue *q, void (*fn)(void *), void *arg)
{
    struct trg_device *d = q->device;
    struct host_call *c;
    cl_event marker = NULL;
    cl_int code;
    int r;

    if (atomic_load(&d->is_lost))
        return -ENODEV;
    c = calloc(1, sizeof *c);
    if (!c)
        return -ENOMEM;
    c->fn = fn;
    c->arg = arg;
    c->returned = clCreateUserEvent(d->context, &code);
    r = opencl_check(d, code, "clCreateUserEvent", q->last);
    if (r < 0) {
        free(c);
        return r;
    }
    r = opencl_check(d, clEnqueueMarkerWithWaitList(q->cl, 0, NULL, &marker),
                     "clEnqueueMarkerWithWaitList", q->last);
    if (r == 0)
        r = opencl_check(d, clEnqueueBarrierWithWaitList(q->cl, 1, &c->returned, NULL),
                         "clEnqueueBarrierWithWaitList", q->last);
    if (r == 0)
        r = opencl_check(d, clSetEventCallback(marker, CL_COMPLETE, run_host_call, c),
                         "clSetEventCallback", q->last);
    if (marker)
        clReleaseEvent(marker);
    if (r < 0) { /* the queue must not wait for ever */
        clSetUserEventStatus(c->returned, CL_COMPLETE);
        clReleaseEvent(c->returned);
        free(c);
        return r;
    }
    return opencl_queue_flush(q);
}

int opencl_queue_flush(struct trg_queue *q)
{
    return opencl_check(q->device, clFlush(q->cl), "clFlush", q->last);
}

int opencl_queue_finish(struct trg_queue *q)
{
    const cl_int code = clFinish(q->cl); /* also when it is lost: what still runs has our memory */

    if (atomic_load(&q->device->is_lost))
        return -ENODEV;
    return opencl_check(q->device, code, "clFinish", q->last);
}

/* ---------------------------------------------------------------- events */

int opencl_queue_record(struct trg_queue *q, struct trg_event *e)
{
    struct trg_device *d = q->device;
    cl_event marker;
    int r;

    if (atomic_load(&d->is_lost))
        return -ENODEV;
    r = opencl_check(d, clEnqueueMarkerWithWaitList(q->cl, 0, NULL, &marker),
                     "clEnqueueMarkerWithWaitList", q->last);
    if (r < 0)
        return r;
    if (e->marker)
        opencl_check(d, clReleaseEvent(e->marker), "clReleaseEvent", NULL);
    e->marker = marker;
    e->last = q->last;
    /* who looks at the event, or waits for it in another queue, can count on its being reached */
    return opencl_queue_flush(q);
}

int opencl_queue_wait_event(struct trg_queue *q, struct trg_event *e)
{
    if (atomic_load(&q->device->is_lost))
        return -ENODEV;
    if (!e->marker)
        return -EINVAL;
    return opencl_check(q->device, clEnqueueBarrierWithWaitList(q->cl, 1, &e->marker, NULL),
                        "clEnqueueBarrierWithWaitList", q->last);
}
