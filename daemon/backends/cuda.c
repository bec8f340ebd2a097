/* SPDX-License-Identifier: Apache-2.0 */
/* trigd-cuda - NVIDIA devices through the CUDA runtime, which is linked in, so that this file opens on
 * any host.  Kernels come as fat binaries (cudaLibraryLoadData). */
#include <cuda_runtime_api.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common.h"

#define KERNELS_MAX 64u

struct trg_device {
    struct trg_object object;
    const struct trg_host *host;
    int index;
};

struct trg_buffer {
    struct trg_object object;
    struct trg_device *device;
    enum trg_mem mem;
    char *data;
};

struct trg_kernel {
    cudaKernel_t kernel;
    char name[64];
};

struct trg_module {
    struct trg_object object;
    struct trg_device *device;
    cudaLibrary_t library;
    struct trg_kernel kernel[KERNELS_MAX];
    uint32_t n_kernels;
};

struct trg_queue {
    struct trg_object object;
    struct trg_device *device;
    cudaStream_t stream;
};

struct trg_event {
    struct trg_object object;
    struct trg_device *device;
    cudaEvent_t event;
};

static const struct trg_device_ops ops;

/* The errno that stands for a CUDA error; the one place where they are translated.  After the
 * sticky ones nothing in the process works any more on the device. */
static int cuda_errno(cudaError_t code)
{
    switch (code) {
    case cudaSuccess:
        return 0;
    case cudaErrorNotReady:
        return -EAGAIN;
    case cudaErrorMemoryAllocation:
        return -ENOMEM;
    case cudaErrorInvalidValue:
    case cudaErrorInvalidConfiguration:
        return -EINVAL;
    case cudaErrorSymbolNotFound:
    case cudaErrorInvalidDeviceFunction:
        return -ENOENT;
    case cudaErrorNoKernelImageForDevice:
        return -ENOEXEC;
    case cudaErrorIllegalAddress:
    case cudaErrorLaunchFailure:
    case cudaErrorLaunchTimeout:
    case cudaErrorAssert:
    case cudaErrorHardwareStackError:
    case cudaErrorIllegalInstruction:
    case cudaErrorMisalignedAddress:
    case cudaErrorInvalidAddressSpace:
    case cudaErrorInvalidPc:
    case cudaErrorECCUncorrectable:
    case cudaErrorDevicesUnavailable:
        return -ENODEV;
    default:
        return -EIO;
    }
}

static int failed(const struct trg_device *d, const char *call, const char *what, cudaError_t code)
{
    backend_log(d->host, TRG_ERROR, "cuda: device %d: %s%s%s: %s (%s)", d->index, call,
                what[0] ? " " : "", what, cudaGetErrorString(code), cudaGetErrorName(code));
    cudaGetLastError(); /* what was told is not told again by the next call */
    return cuda_errno(code);
}

/* Every thread has a current device of its own. */
static int enter(const struct trg_device *d)
{
    cudaError_t code = cudaSetDevice(d->index);

    return code == cudaSuccess ? 0 : failed(d, "cudaSetDevice", "", code);
}

/* ---------------------------------------------------------------- device */

static void device_info(struct trg_device *d, struct trg_device_info *ret_info)
{
    struct trg_device_info info = {.backend = "cuda", .index = (uint32_t)d->index};
    struct cudaDeviceProp p;
    int driver = 0, runtime = 0;

    if (cudaGetDeviceProperties(&p, d->index) == cudaSuccess) {
        snprintf(info.name, sizeof info.name, "%.90s", p.name);
        info.units = (uint32_t)p.multiProcessorCount;
        info.group_max = (uint32_t)p.maxThreadsPerBlock;
        info.shared_bytes = (uint32_t)p.sharedMemPerBlock;
        info.memory_bytes = p.totalGlobalMem;
    }
    if (cudaDriverGetVersion(&driver) == cudaSuccess &&
        cudaRuntimeGetVersion(&runtime) == cudaSuccess)
        snprintf(info.driver, sizeof info.driver, "CUDA %d.%d, runtime %d.%d", driver / 1000,
                 driver % 1000 / 10, runtime / 1000, runtime % 1000 / 10);
    *ret_info = info;
}

static void device_close(struct trg_device *d)
{
    free(d);
}

/* ---------------------------------------------------------------- memory */

static int buffer_new(struct trg_device *d, enum trg_mem mem, size_t bytes,
                      struct trg_buffer **ret_buffer)
{
    struct trg_buffer *b;
    cudaError_t code;
    int r = enter(d);

    if (r < 0 || !bytes)
        return r < 0 ? r : -EINVAL;
    b = calloc(1, sizeof *b);
    if (!b)
        return -ENOMEM;
    b->object.ops = &ops;
    b->device = d;
    b->mem = mem;
    code = mem == TRG_MEM_PINNED ? cudaHostAlloc((void **)&b->data, bytes, cudaHostAllocDefault)
                                 : cudaMalloc((void **)&b->data, bytes);
    if (code != cudaSuccess) {
        free(b);
        return failed(d, mem == TRG_MEM_PINNED ? "cudaHostAlloc" : "cudaMalloc", "", code);
    }
    *ret_buffer = b;
    return 0;
}

static void buffer_free(struct trg_buffer *b)
{
    cudaError_t code;

    if (enter(b->device) == 0) {
        code = b->mem == TRG_MEM_PINNED ? cudaFreeHost(b->data) : cudaFree(b->data);
        if (code != cudaSuccess)
            failed(b->device, "cudaFree", "", code);
    }
    free(b);
}

static void *buffer_host(struct trg_buffer *b)
{
    return b->mem == TRG_MEM_PINNED ? b->data : NULL;
}

/* ---------------------------------------------------------------- programs */

static int module_new(struct trg_device *d, const struct trg_program *p, const char *options,
                      struct trg_module **ret_module)
{
    struct trg_module *m;
    cudaError_t code;
    int r = enter(d);

    (void)options; /* of the OpenCL compiler */
    if (r < 0)
        return r;
    if (!p->fatbin) {
        backend_log(d->host, TRG_ERROR, "cuda: program %s was built without nvcc", p->name);
        return -ENOEXEC;
    }
    m = calloc(1, sizeof *m);
    if (!m)
        return -ENOMEM;
    m->object.ops = &ops;
    m->device = d;
    code = cudaLibraryLoadData(&m->library, p->fatbin, NULL, NULL, 0, NULL, NULL, 0);
    if (code != cudaSuccess) {
        free(m);
        return failed(d, "cudaLibraryLoadData", p->name, code);
    }
    *ret_module = m;
    return 0;
}

static void module_free(struct trg_module *m)
{
    cudaError_t code;

    if (enter(m->device) == 0) {
        code = cudaLibraryUnload(m->library);
        if (code != cudaSuccess)
            failed(m->device, "cudaLibraryUnload", "", code);
    }
    free(m);
}

static int kernel_get(struct trg_module *m, const char *name, struct trg_kernel **ret_kernel)
{
    struct trg_kernel *k = &m->kernel[m->n_kernels];
    cudaError_t code;
    int r = enter(m->device);

    if (r < 0)
        return r;
    if (m->n_kernels == KERNELS_MAX)
        return -ENOSPC;
    code = cudaLibraryGetKernel(&k->kernel, m->library, name);
    if (code != cudaSuccess) {
        failed(m->device, "cudaLibraryGetKernel", name, code);
        return -ENOENT;
    }
    snprintf(k->name, sizeof k->name, "%s", name);
    m->n_kernels++;
    *ret_kernel = k;
    return 0;
}

/* ---------------------------------------------------------------- queues */

static int queue_new(struct trg_device *d, struct trg_queue **ret_queue)
{
    struct trg_queue *q;
    cudaError_t code;
    int r = enter(d);

    if (r < 0)
        return r;
    q = calloc(1, sizeof *q);
    if (!q)
        return -ENOMEM;
    q->object.ops = &ops;
    q->device = d;
    code = cudaStreamCreateWithFlags(&q->stream, cudaStreamNonBlocking);
    if (code != cudaSuccess) {
        free(q);
        return failed(d, "cudaStreamCreateWithFlags", "", code);
    }
    *ret_queue = q;
    return 0;
}

static int queue_finish(struct trg_queue *q)
{
    cudaError_t code = cudaStreamSynchronize(q->stream);

    return code == cudaSuccess ? 0 : failed(q->device, "cudaStreamSynchronize", "", code);
}

static void queue_free(struct trg_queue *q)
{
    cudaError_t code;

    queue_finish(q);
    code = cudaStreamDestroy(q->stream);
    if (code != cudaSuccess)
        failed(q->device, "cudaStreamDestroy", "", code);
    free(q);
}

static int queue_copy(struct trg_queue *q, struct trg_buffer *dst, size_t dst_at,
                      struct trg_buffer *src, size_t src_at, size_t bytes)
{
    cudaError_t code = cudaSuccess;

    if (bytes)
        code = cudaMemcpyAsync(dst->data + dst_at, src->data + src_at, bytes, cudaMemcpyDefault,
                               q->stream);
    return code == cudaSuccess ? 0 : failed(q->device, "cudaMemcpyAsync", "", code);
}

static int queue_fill(struct trg_queue *q, struct trg_buffer *b, size_t at, size_t bytes,
                      uint32_t pattern)
{
    uint32_t byte = pattern & 0xffu;
    cudaError_t code;

    if (at % 4 || bytes % 4)
        return -EINVAL;
    if (!bytes)
        return 0;
    if (pattern == byte * 0x01010101u) {
        code = cudaMemsetAsync(b->data + at, (int)byte, bytes, q->stream);
        return code == cudaSuccess ? 0 : failed(q->device, "cudaMemsetAsync", "", code);
    }
    /* the runtime only fills with bytes: one pass for each byte of the pattern */
    for (size_t i = 0; i < 4; i++) {
        code = cudaMemset2DAsync(b->data + at + i, 4, (int)(pattern >> (8 * i) & 0xffu), 1,
                                 bytes / 4, q->stream);
        if (code != cudaSuccess)
            return failed(q->device, "cudaMemset2DAsync", "", code);
    }
    return 0;
}

static int queue_launch(struct trg_queue *q, struct trg_kernel *k, struct trg_range r,
                        const struct trg_arg *args, uint32_t n_args)
{
    void *values[TRG_ARGS_MAX];
    cudaError_t code;

    if (n_args > TRG_ARGS_MAX || !r.group_size)
        return -EINVAL;
    if (!r.groups)
        return 0;
    for (uint32_t i = 0; i < n_args; i++)
        values[i] = args[i].buf ? (void *)&args[i].buf->data : (void *)(uintptr_t)args[i].val;
    code = cudaLaunchKernel((const void *)k->kernel, (struct dim3){r.groups, 1, 1},
                            (struct dim3){r.group_size, 1, 1}, values, 0, q->stream);
    return code == cudaSuccess ? 0 : failed(q->device, "cudaLaunchKernel", k->name, code);
}

static int queue_host_call(struct trg_queue *q, void (*fn)(void *), void *arg)
{
    cudaError_t code = cudaLaunchHostFunc(q->stream, fn, arg);

    return code == cudaSuccess ? 0 : failed(q->device, "cudaLaunchHostFunc", "", code);
}

static int queue_flush(struct trg_queue *q)
{
    (void)q; /* streams start by themselves */
    return 0;
}

/* ---------------------------------------------------------------- events */

static int event_new(struct trg_device *d, struct trg_event **ret_event)
{
    struct trg_event *e;
    cudaError_t code;
    int r = enter(d);

    if (r < 0)
        return r;
    e = calloc(1, sizeof *e);
    if (!e)
        return -ENOMEM;
    e->object.ops = &ops;
    e->device = d;
    code = cudaEventCreateWithFlags(&e->event, cudaEventDefault);
    if (code != cudaSuccess) {
        free(e);
        return failed(d, "cudaEventCreateWithFlags", "", code);
    }
    *ret_event = e;
    return 0;
}

static void event_free(struct trg_event *e)
{
    cudaError_t code = cudaEventDestroy(e->event);

    if (code != cudaSuccess)
        failed(e->device, "cudaEventDestroy", "", code);
    free(e);
}

static int event_record(struct trg_queue *q, struct trg_event *e)
{
    cudaError_t code = cudaEventRecord(e->event, q->stream);

    return code == cudaSuccess ? 0 : failed(q->device, "cudaEventRecord", "", code);
}

static int event_query(struct trg_event *e)
{
    cudaError_t code = cudaEventQuery(e->event);

    if (code == cudaSuccess || code == cudaErrorNotReady)
        return cuda_errno(code);
    return failed(e->device, "queued work", "", code);
}

static int event_wait(struct trg_event *e)
{
    cudaError_t code = cudaEventSynchronize(e->event);

    return code == cudaSuccess ? 0 : failed(e->device, "cudaEventSynchronize", "", code);
}

static int event_elapsed(struct trg_event *from, struct trg_event *to, double *ret_us)
{
    float ms;
    cudaError_t code = cudaEventElapsedTime(&ms, from->event, to->event);

    if (code == cudaErrorNotReady)
        return -EAGAIN;
    if (code != cudaSuccess)
        return failed(from->device, "cudaEventElapsedTime", "", code);
    *ret_us = (double)ms * 1e3;
    return 0;
}

static int queue_wait_event(struct trg_queue *q, struct trg_event *e)
{
    cudaError_t code = cudaStreamWaitEvent(q->stream, e->event, 0);

    return code == cudaSuccess ? 0 : failed(q->device, "cudaStreamWaitEvent", "", code);
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
    .event_query = event_query,
    .event_wait = event_wait,
    .event_elapsed = event_elapsed,
    .queue_wait_event = queue_wait_event,
};

/* ---------------------------------------------------------------- backend */

static int count(const struct trg_host *host, uint32_t *ret_count)
{
    int n = 0;
    cudaError_t code = cudaGetDeviceCount(&n);

    if (code != cudaSuccess) {
        backend_log(host, TRG_INFO, "cuda: no device serves: %s", cudaGetErrorString(code));
        cudaGetLastError();
        n = 0;
    }
    *ret_count = (uint32_t)n;
    return 0;
}

static int open_cuda(const struct trg_host *host, uint32_t index, struct trg_device **ret_device)
{
    struct trg_device *d = calloc(1, sizeof *d);
    int r;

    if (!d)
        return -ENOMEM;
    d->object.ops = &ops;
    d->host = host;
    d->index = (int)index;
    r = enter(d);
    if (r < 0) {
        free(d);
        return r;
    }
    *ret_device = d;
    return 0;
}

__attribute__((visibility("default"))) extern const struct trg_backend trg_backend;
const struct trg_backend trg_backend = {
    .abi = TRG_BACKEND_ABI, .size = sizeof trg_backend, .name = "cuda", .count = count, .open = open_cuda};
