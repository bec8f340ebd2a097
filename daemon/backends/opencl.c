/* SPDX-License-Identifier: Apache-2.0 */
/* trigd-opencl - all devices of all OpenCL platforms, in one list.  OpenCL 1.2. */
#include "opencl.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DEVICES_MAX 32u
#define KERNELS_MAX 64u

struct trg_device {
    struct trg_object object;
    const struct trg_host *host;
    uint32_t index;
    cl_device_id id;
    cl_context context;
    cl_command_queue maps; /* to map pinned memory */
    pthread_mutex_t lock;  /* of kernels' arguments, which OpenCL keeps in the kernel */
};

struct trg_buffer {
    struct trg_object object;
    struct trg_device *device;
    cl_mem mem;
    void *host; /* pinned memory, mapped for good */
};

struct trg_kernel {
    cl_kernel kernel;
    char name[64];
};

struct trg_module {
    struct trg_object object;
    struct trg_device *device;
    cl_program program;
    struct trg_kernel kernel[KERNELS_MAX];
    uint32_t n_kernels;
};

struct trg_queue {
    struct trg_object object;
    struct trg_device *device;
    cl_command_queue queue;
};

struct trg_event {
    struct trg_object object;
    struct trg_device *device;
    cl_event event; /* of the last record; NULL before */
};

static const struct trg_device_ops ops;

/* Logs a failed call with its name and gives its errno. */
static int failed(const struct trg_device *d, const char *call, const char *what, cl_int code)
{
    backend_log(d->host, TRG_ERROR, "opencl: device %u: %s%s%s: %s", d->index, call,
                what[0] ? " " : "", what, opencl_error_name(code));
    return opencl_errno(code);
}

/* ---------------------------------------------------------------- device */

static uint32_t list_devices(cl_device_id *ids)
{
    cl_platform_id platforms[16];
    cl_uint n_platforms = 0, n = 0;

    if (clGetPlatformIDs(16, platforms, &n_platforms) != CL_SUCCESS)
        return 0;
    for (cl_uint p = 0; p < n_platforms && p < 16 && n < DEVICES_MAX; p++) {
        cl_uint found = 0;

        if (clGetDeviceIDs(platforms[p], CL_DEVICE_TYPE_ALL, DEVICES_MAX - n, ids + n, &found) ==
            CL_SUCCESS)
            n += found < DEVICES_MAX - n ? found : DEVICES_MAX - n;
    }
    return n;
}

static void get_info(cl_device_id id, cl_device_info what, void *value, size_t bytes)
{
    memset(value, 0, bytes);
    if (clGetDeviceInfo(id, what, bytes, value, NULL) != CL_SUCCESS)
        memset(value, 0, bytes);
}

static void device_info(struct trg_device *d, struct trg_device_info *ret_info)
{
    struct trg_device_info info = {.backend = "opencl", .index = d->index};
    char name[64], driver[64], version[64];
    cl_uint units;
    size_t group;
    cl_ulong shared, memory;

    get_info(d->id, CL_DEVICE_NAME, name, sizeof name - 1);
    get_info(d->id, CL_DRIVER_VERSION, driver, sizeof driver - 1);
    get_info(d->id, CL_DEVICE_VERSION, version, sizeof version - 1);
    get_info(d->id, CL_DEVICE_MAX_COMPUTE_UNITS, &units, sizeof units);
    get_info(d->id, CL_DEVICE_MAX_WORK_GROUP_SIZE, &group, sizeof group);
    get_info(d->id, CL_DEVICE_LOCAL_MEM_SIZE, &shared, sizeof shared);
    get_info(d->id, CL_DEVICE_GLOBAL_MEM_SIZE, &memory, sizeof memory);
    name[63] = driver[63] = version[63] = '\0';
    snprintf(info.name, sizeof info.name, "%s", name);
    snprintf(info.driver, sizeof info.driver, "%.40s, driver %.40s", version, driver);
    info.units = units;
    info.group_max = (uint32_t)group;
    info.shared_bytes = (uint32_t)shared;
    info.memory_bytes = memory;
    *ret_info = info;
}

static void device_close(struct trg_device *d)
{
    if (d->maps)
        clReleaseCommandQueue(d->maps);
    if (d->context)
        clReleaseContext(d->context);
    pthread_mutex_destroy(&d->lock);
    free(d);
}

/* ---------------------------------------------------------------- memory */

static int map_pinned(struct trg_buffer *b, size_t bytes)
{
    cl_int code;

    b->host = clEnqueueMapBuffer(b->device->maps, b->mem, CL_TRUE, CL_MAP_READ | CL_MAP_WRITE, 0,
                                 bytes, 0, NULL, NULL, &code);
    return code == CL_SUCCESS ? 0 : failed(b->device, "clEnqueueMapBuffer", "", code);
}

static void buffer_free(struct trg_buffer *b)
{
    if (b->host) {
        clEnqueueUnmapMemObject(b->device->maps, b->mem, b->host, 0, NULL, NULL);
        clFinish(b->device->maps);
    }
    if (b->mem)
        clReleaseMemObject(b->mem);
    free(b);
}

static int buffer_new(struct trg_device *d, enum trg_mem mem, size_t bytes,
                      struct trg_buffer **ret_buffer)
{
    cl_mem_flags flags = CL_MEM_READ_WRITE | (mem == TRG_MEM_PINNED ? CL_MEM_ALLOC_HOST_PTR : 0);
    struct trg_buffer *b;
    cl_int code;

    if (!bytes)
        return -EINVAL;
    b = calloc(1, sizeof *b);
    if (!b)
        return -ENOMEM;
    b->object.ops = &ops;
    b->device = d;
    b->mem = clCreateBuffer(d->context, flags, bytes, NULL, &code);
    if (code != CL_SUCCESS) {
        int r = failed(d, "clCreateBuffer", "", code);

        b->mem = NULL;
        buffer_free(b);
        return r;
    }
    if (mem == TRG_MEM_PINNED) {
        int r = map_pinned(b, bytes);

        if (r < 0) {
            b->host = NULL;
            buffer_free(b);
            return r;
        }
    }
    *ret_buffer = b;
    return 0;
}

static void *buffer_host(struct trg_buffer *b)
{
    return b->host;
}

/* ---------------------------------------------------------------- programs */

static int module_new(struct trg_device *d, const struct trg_program *p, const char *options,
                      struct trg_module **ret_module)
{
    cl_device_fp_config fp = 0;
    char all[512];
    struct trg_module *m = calloc(1, sizeof *m);
    int r;

    if (!m)
        return -ENOMEM;
    get_info(d->id, CL_DEVICE_SINGLE_FP_CONFIG, &fp, sizeof fp);
    /* division and roots as IEEE 754 has them, where the device can: the other backends do */
    snprintf(all, sizeof all, "-cl-std=CL1.2%s%s%s",
             fp & CL_FP_CORRECTLY_ROUNDED_DIVIDE_SQRT ? " -cl-fp32-correctly-rounded-divide-sqrt"
                                                      : "",
             options ? " " : "", options ? options : "");
    m->object.ops = &ops;
    m->device = d;
    r = opencl_program(d->host, d->context, d->id, p, all, &m->program);
    if (r < 0) {
        free(m);
        return r;
    }
    *ret_module = m;
    return 0;
}

static void module_free(struct trg_module *m)
{
    for (uint32_t i = 0; i < m->n_kernels; i++)
        clReleaseKernel(m->kernel[i].kernel);
    clReleaseProgram(m->program);
    free(m);
}

static int kernel_get(struct trg_module *m, const char *name, struct trg_kernel **ret_kernel)
{
    struct trg_kernel *k = &m->kernel[m->n_kernels];
    cl_int code;

    for (uint32_t i = 0; i < m->n_kernels; i++) {
        if (strcmp(m->kernel[i].name, name) != 0)
            continue;
        *ret_kernel = &m->kernel[i];
        return 0;
    }
    if (m->n_kernels == KERNELS_MAX)
        return -ENOSPC;
    k->kernel = clCreateKernel(m->program, name, &code);
    if (code != CL_SUCCESS)
        return failed(m->device, "clCreateKernel", name, code);
    snprintf(k->name, sizeof k->name, "%s", name);
    m->n_kernels++;
    *ret_kernel = k;
    return 0;
}

/* ---------------------------------------------------------------- queues */

static int queue_new(struct trg_device *d, struct trg_queue **ret_queue)
{
    struct trg_queue *q = calloc(1, sizeof *q);
    cl_int code;

    if (!q)
        return -ENOMEM;
    q->object.ops = &ops;
    q->device = d;
    q->queue = clCreateCommandQueue(d->context, d->id, CL_QUEUE_PROFILING_ENABLE, &code);
    if (code != CL_SUCCESS) {
        free(q);
        return failed(d, "clCreateCommandQueue", "", code);
    }
    *ret_queue = q;
    return 0;
}

static int queue_finish(struct trg_queue *q)
{
    cl_int code = clFinish(q->queue);

    return code == CL_SUCCESS ? 0 : failed(q->device, "clFinish", "", code);
}

static void queue_free(struct trg_queue *q)
{
    queue_finish(q);
    clReleaseCommandQueue(q->queue);
    free(q);
}

static int queue_write(struct trg_queue *q, struct trg_buffer *dst, size_t dst_at,
                       struct trg_buffer *src, size_t src_at, size_t bytes)
{
    cl_int code = CL_SUCCESS;

    if (bytes)
        code = clEnqueueWriteBuffer(q->queue, dst->mem, CL_FALSE, dst_at, bytes,
                                    (const char *)src->host + src_at, 0, NULL, NULL);
    return code == CL_SUCCESS ? 0 : failed(q->device, "clEnqueueWriteBuffer", "", code);
}

static int queue_read(struct trg_queue *q, struct trg_buffer *dst, size_t dst_at,
                      struct trg_buffer *src, size_t src_at, size_t bytes)
{
    cl_int code = CL_SUCCESS;

    if (bytes)
        code = clEnqueueReadBuffer(q->queue, src->mem, CL_FALSE, src_at, bytes,
                                   (char *)dst->host + dst_at, 0, NULL, NULL);
    return code == CL_SUCCESS ? 0 : failed(q->device, "clEnqueueReadBuffer", "", code);
}

static int queue_copy(struct trg_queue *q, struct trg_buffer *dst, size_t dst_at,
                      struct trg_buffer *src, size_t src_at, size_t bytes)
{
    cl_int code = CL_SUCCESS;

    if (bytes)
        code = clEnqueueCopyBuffer(q->queue, src->mem, dst->mem, src_at, dst_at, bytes, 0, NULL,
                                   NULL);
    return code == CL_SUCCESS ? 0 : failed(q->device, "clEnqueueCopyBuffer", "", code);
}

static int queue_fill(struct trg_queue *q, struct trg_buffer *b, size_t at, size_t bytes,
                      uint32_t pattern)
{
    cl_int code = CL_SUCCESS;

    if (at % 4 || bytes % 4)
        return -EINVAL;
    if (bytes)
        code = clEnqueueFillBuffer(q->queue, b->mem, &pattern, sizeof pattern, at, bytes, 0, NULL,
                                   NULL);
    return code == CL_SUCCESS ? 0 : failed(q->device, "clEnqueueFillBuffer", "", code);
}

static cl_int set_args(cl_kernel kernel, const struct trg_arg *args, uint32_t n_args)
{
    cl_int code = CL_SUCCESS;

    for (cl_uint i = 0; i < n_args && code == CL_SUCCESS; i++)
        code = args[i].buf ? clSetKernelArg(kernel, i, sizeof(cl_mem), &args[i].buf->mem)
                           : clSetKernelArg(kernel, i, args[i].size, args[i].val);
    return code;
}

static int queue_launch(struct trg_queue *q, struct trg_kernel *k, struct trg_range r,
                        const struct trg_arg *args, uint32_t n_args)
{
    size_t local = r.group_size, global = (size_t)r.groups * r.group_size;
    cl_int code;

    if (!r.group_size)
        return -EINVAL;
    if (!r.groups)
        return 0;
    /* arguments belong to the kernel, which other lanes of the device may launch as well */
    pthread_mutex_lock(&q->device->lock);
    code = set_args(k->kernel, args, n_args);
    if (code == CL_SUCCESS)
        code = clEnqueueNDRangeKernel(q->queue, k->kernel, 1, NULL, &global, &local, 0, NULL, NULL);
    pthread_mutex_unlock(&q->device->lock);
    return code == CL_SUCCESS ? 0 : failed(q->device, "clEnqueueNDRangeKernel", k->name, code);
}

/* OpenCL has no host function in a queue: the queue is finished, then the function runs. */
static int queue_host_call(struct trg_queue *q, void (*fn)(void *), void *arg)
{
    int r = queue_finish(q);

    if (r == 0)
        fn(arg);
    return r;
}

static int queue_flush(struct trg_queue *q)
{
    cl_int code = clFlush(q->queue);

    return code == CL_SUCCESS ? 0 : failed(q->device, "clFlush", "", code);
}

/* ---------------------------------------------------------------- events */

static int event_new(struct trg_device *d, struct trg_event **ret_event)
{
    struct trg_event *e = calloc(1, sizeof *e);

    if (!e)
        return -ENOMEM;
    e->object.ops = &ops;
    e->device = d;
    *ret_event = e;
    return 0;
}

static void event_free(struct trg_event *e)
{
    if (e->event)
        clReleaseEvent(e->event);
    free(e);
}

static int event_record(struct trg_queue *q, struct trg_event *e)
{
    cl_int code;

    if (e->event)
        clReleaseEvent(e->event);
    e->event = NULL;
    code = clEnqueueMarkerWithWaitList(q->queue, 0, NULL, &e->event);
    return code == CL_SUCCESS ? 0 : failed(q->device, "clEnqueueMarkerWithWaitList", "", code);
}

static int event_query(struct trg_event *e)
{
    cl_int status = CL_QUEUED, code;

    if (!e->event)
        return -EINVAL;
    code = clGetEventInfo(e->event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof status, &status, NULL);
    if (code != CL_SUCCESS)
        return failed(e->device, "clGetEventInfo", "", code);
    if (status < 0)
        return failed(e->device, "queued work", "", status);
    return status == CL_COMPLETE ? 0 : -EAGAIN;
}

static int event_wait(struct trg_event *e)
{
    cl_int code;

    if (!e->event)
        return -EINVAL;
    code = clWaitForEvents(1, &e->event);
    return code == CL_SUCCESS ? 0 : failed(e->device, "clWaitForEvents", "", code);
}

static int event_elapsed(struct trg_event *from, struct trg_event *to, double *ret_us)
{
    cl_ulong a, b;
    cl_int code;

    if (!from->event || !to->event)
        return -EINVAL;
    code = clGetEventProfilingInfo(from->event, CL_PROFILING_COMMAND_END, sizeof a, &a, NULL);
    if (code == CL_SUCCESS)
        code = clGetEventProfilingInfo(to->event, CL_PROFILING_COMMAND_END, sizeof b, &b, NULL);
    if (code == CL_PROFILING_INFO_NOT_AVAILABLE)
        return -EAGAIN;
    if (code != CL_SUCCESS)
        return failed(from->device, "clGetEventProfilingInfo", "", code);
    *ret_us = ((double)b - (double)a) * 1e-3;
    return 0;
}

static int queue_wait_event(struct trg_queue *q, struct trg_event *e)
{
    cl_int code;

    if (!e->event)
        return -EINVAL;
    code = clEnqueueBarrierWithWaitList(q->queue, 1, &e->event, NULL);
    return code == CL_SUCCESS ? 0 : failed(q->device, "clEnqueueBarrierWithWaitList", "", code);
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
    .write = queue_write,
    .read = queue_read,
    .copy = queue_copy,
    .fill = queue_fill,
    .launch = queue_launch,
    .host_call = queue_host_call,
    .flush = queue_flush,
    .finish = queue_finish,
    .event_new = event_new,
    .event_free = event_free,
    .event_record = event_record,
    .event_query = event_query,
    .event_wait = event_wait,
    .event_elapsed = event_elapsed,
    .queue_wait_event = queue_wait_event,
};

/* ---------------------------------------------------------------- backend */

static int count(const struct trg_host *host, uint32_t *ret_count)
{
    cl_device_id ids[DEVICES_MAX];

    *ret_count = list_devices(ids);
    if (!*ret_count)
        backend_log(host, TRG_INFO, "opencl: no platform with a device is installed");
    return 0;
}

static int open_opencl(const struct trg_host *host, uint32_t index, struct trg_device **ret_device)
{
    cl_device_id ids[DEVICES_MAX];
    struct trg_device *d;
    cl_int code;
    int r;

    if (index >= list_devices(ids))
        return -ENODEV;
    d = calloc(1, sizeof *d);
    if (!d)
        return -ENOMEM;
    d->object.ops = &ops;
    d->host = host;
    d->index = index;
    d->id = ids[index];
    pthread_mutex_init(&d->lock, NULL);
    d->context = clCreateContext(NULL, 1, &d->id, NULL, NULL, &code);
    if (code == CL_SUCCESS)
        d->maps = clCreateCommandQueue(d->context, d->id, 0, &code);
    if (code == CL_SUCCESS) {
        *ret_device = d;
        return 0;
    }
    r = failed(d, "opening the device", "", code);
    device_close(d);
    return r;
}

__attribute__((visibility("default"))) extern const struct trg_backend trg_backend;
const struct trg_backend trg_backend = {.abi = TRG_BACKEND_ABI,
                                        .size = sizeof trg_backend,
                                        .name = "opencl",
                                        .count = count,
                                        .open = open_opencl};
