/* SPDX-License-Identifier: Apache-2.0 */
/* trigd-cuda - CUDA devices through the runtime, which is linked statically and finds the driver
 * itself: opening them, memory, programs, and the table of the backend. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "cuda.h"

struct trg_module {
    struct trg_object object;
    struct trg_device *device;
    const struct trg_program *program;
    cudaLibrary_t cuda;
    struct trg_kernel *kernels; /* in the order of the program's entries */
};

/* ---------------------------------------------------------------- device and memory */

static void device_info(struct trg_device *d, struct trg_device_info *ret_info)
{
    *ret_info = d->info;
}

static void device_close(struct trg_device *d)
{
    free(d); /* the context is the process's: another part of it may use the device too */
}

static void buffer_free(struct trg_buffer *b)
{
    struct trg_device *d = b->device;

    if (b->address && !b->is_window && cuda_enter(d) == 0) {
        if (b->is_wrapped)
            cuda_check(d, cudaHostUnregister(b->host), "cudaHostUnregister", NULL);
        else if (b->host)
            cuda_check(d, cudaFreeHost(b->address), "cudaFreeHost", NULL);
        else
            cuda_check(d, cudaFree(b->address), "cudaFree", NULL);
    }
    free(b);
}

#define WHAT_BYTES 48
/* A buffer without memory yet, and what CUDA is asked for, for people. */
static int begin_buffer(struct trg_device *d, size_t bytes, char what[WHAT_BYTES],
                        struct trg_buffer **ret_buffer)
{
    struct trg_buffer *b;
    int r;

    if (!bytes)
        return -EINVAL;
    r = cuda_enter(d);
    if (r < 0)
        return r;
    b = calloc(1, sizeof *b);
    if (!b)
        return -ENOMEM;
    b->object.ops = d->object.ops;
    b->device = d;
    b->bytes = bytes;
    snprintf(what, WHAT_BYTES, "%zu bytes", bytes);
    *ret_buffer = b;
    return 0;
}

static int buffer_new(struct trg_device *d, enum trg_mem mem, size_t bytes,
                      struct trg_buffer **ret_buffer)
{
    struct trg_buffer *b;
    char what[WHAT_BYTES];
    int r = begin_buffer(d, bytes, what, &b);

    if (r < 0)
        return r;
    if (mem == TRG_MEM_PINNED) {
        r = cuda_check(d, cudaHostAlloc(&b->address, bytes, cudaHostAllocPortable), "cudaHostAlloc",
                       what);
        b->host = b->address;
    } else {
        r = cuda_check(d, cudaMalloc(&b->address, bytes), "cudaMalloc", what);
    }
    if (r < 0) {
        free(b);
        return r;
    }
    *ret_buffer = b;
    return 0;
}

static int buffer_wrap(struct trg_device *d, void *host, size_t bytes,
                       struct trg_buffer **ret_buffer)
{
    struct trg_buffer *b;
    char what[WHAT_BYTES];
    int r = begin_buffer(d, bytes, what, &b);

    if (r < 0)
        return r;
    b->address = b->host = host;
    b->is_wrapped = true;
    r = cuda_check(d,
                   cudaHostRegister(host, bytes, cudaHostRegisterPortable | cudaHostRegisterMapped),
                   "cudaHostRegister", what);
    if (r < 0) {
        free(b);
        return r;
    }
    *ret_buffer = b;
    return 0;
}

static void *buffer_host(struct trg_buffer *b)
{
    return b->host;
}

/* Whether kernels reach pinned memory at the host's own addresses, also what is mapped for reading
 * alone. */
static int reads_host(struct trg_device *d)
{
    int same = 0, read_only = 0;
    int r = cuda_check(
        d, cudaDeviceGetAttribute(&same, cudaDevAttrCanUseHostPointerForRegisteredMem, d->number),
        "cudaDeviceGetAttribute", NULL);

    if (r == 0)
        r = cuda_check(
            d,
            cudaDeviceGetAttribute(&read_only, cudaDevAttrHostRegisterReadOnlySupported, d->number),
            "cudaDeviceGetAttribute", NULL);
    return r < 0 || (same && read_only) ? r : -ENOTSUP;
}

static int window_new(struct trg_device *d, const void *host, size_t bytes,
                      struct trg_buffer **ret_window)
{
    struct trg_buffer *b;
    char what[WHAT_BYTES];
    int r = begin_buffer(d, bytes, what, &b);

    if (r < 0)
        return r;
    b->address = (void *)(uintptr_t)host;
    b->is_window = true;
    r = reads_host(d);
    if (r < 0) {
        free(b);
        return r;
    }
    *ret_window = b;
    return 0;
}

static int window_open(struct trg_buffer *w, size_t at, size_t bytes)
{
    char what[WHAT_BYTES];
    int r = at > w->bytes || bytes > w->bytes - at ? -EINVAL : cuda_enter(w->device);

    if (r < 0)
        return r;
    snprintf(what, sizeof what, "%zu bytes", bytes);
    return cuda_check(w->device,
                      cudaHostRegister((char *)w->address + at, bytes,
                                       cudaHostRegisterPortable | cudaHostRegisterMapped |
                                           cudaHostRegisterReadOnly),
                      "cudaHostRegister", what);
}

static int window_shut(struct trg_buffer *w, size_t at)
{
    int r = cuda_enter(w->device);

    return r < 0 ? r
                 : cuda_check(w->device, cudaHostUnregister((char *)w->address + at),
                              "cudaHostUnregister", NULL);
}

/* ---------------------------------------------------------------- programs */

static void module_free(struct trg_module *m)
{
    if (m->cuda && cuda_enter(m->device) == 0)
        cuda_check(m->device, cudaLibraryUnload(m->cuda), "cudaLibraryUnload", m->program->name);
    free(m->kernels);
    free(m);
}

/* The memory of a multiprocessor is both first-level cache and shared memory.  Kernels of several
 * streams run on it together only while they want the same part of it as shared memory; left alone,
 * the driver takes what suits each kernel best, and they wait for each other.  Kernels with little
 * shared memory want the same here.  One with more, and chips with less, are left to the driver. */
#define SHARED_PART   ((size_t)100 * 1024) /* bytes, one of the sizes that sm_80 and sm_90 have */
#define SHARED_LITTLE ((size_t)24 * 1024)  /* bytes of a group */
#define SHARED_CHIP   ((size_t)160 * 1024)

static int divide_memory(struct trg_device *d, const struct trg_kernel *k, size_t group_bytes)
{
    if (group_bytes > SHARED_LITTLE || d->shared_bytes < SHARED_CHIP)
        return 0;
    /* The percentage is rounded down: CUDA takes the next larger size that the chip has. */
    return cuda_check(d,
                      cudaFuncSetAttribute((const void *)k->cuda,
                                           cudaFuncAttributePreferredSharedMemoryCarveout,
                                           (int)(100 * SHARED_PART / d->shared_bytes)),
                      "cudaFuncSetAttribute", k->entry->name);
}

static int open_kernel(struct trg_module *m, const struct trg_host_entry *entry,
                       struct trg_kernel *k)
{
    struct cudaFuncAttributes attributes = {0};
    int r;

    k->entry = entry;
    r = cuda_check(m->device, cudaLibraryGetKernel(&k->cuda, m->cuda, entry->name),
                   "cudaLibraryGetKernel", entry->name);
    if (r == 0) /* also brings the code to the device, now and not at the first launch */
        r = cuda_check(m->device, cudaFuncGetAttributes(&attributes, (const void *)k->cuda),
                       "cudaFuncGetAttributes", entry->name);
    if (r < 0)
        return r;
    k->group_max = (uint32_t)attributes.maxThreadsPerBlock;
    return divide_memory(m->device, k, attributes.sharedSizeBytes);
}

/* The library and all its kernels at once: CUDA loads late by itself, and what is wrong would show
 * at the first launch. */
static int load(struct trg_module *m)
{
    const struct trg_program *p = m->program;
    const uint32_t n = backend_entries(p);
    int r = cuda_check(m->device,
                       cudaLibraryLoadData(&m->cuda, p->fatbin, NULL, NULL, 0, NULL, NULL, 0),
                       "cudaLibraryLoadData", p->name);

    if (r < 0) {
        m->cuda = NULL;
        return r;
    }
    m->kernels = calloc(n + 1, sizeof *m->kernels);
    if (!m->kernels)
        return -ENOMEM;
    for (uint32_t i = 0; r == 0 && i < n; i++)
        r = open_kernel(m, &p->host->entries[i], &m->kernels[i]);
    if (r < 0)
        backend_log(&m->device->log, TRG_ERROR, "program \"%s\" cannot be loaded", p->name);
    return r;
}

static int module_new(struct trg_device *d, const struct trg_program *p, const char *options,
                      struct trg_module **ret_module)
{
    struct trg_module *m;
    int r = cuda_enter(d);

    (void)options; /* of the OpenCL compiler */
    if (r < 0)
        return r;
    if (!p->fatbin) {
        backend_log(&d->log, TRG_ERROR, "program \"%s\" was built without nvcc", p->name);
        return -ENOENT;
    }
    m = calloc(1, sizeof *m);
    if (!m)
        return -ENOMEM;
    m->object.ops = d->object.ops;
    m->device = d;
    m->program = p;
    r = load(m);
    if (r < 0) {
        module_free(m);
        return r;
    }
    *ret_module = m;
    return 0;
}

static int kernel_get(struct trg_module *m, const char *name, struct trg_kernel **ret_kernel)
{
    int64_t i = backend_find(&m->device->log, m->program, name);

    if (i < 0)
        return -ENOENT;
    *ret_kernel = &m->kernels[i];
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
    .queue_new = cuda_queue_new,
    .queue_free = cuda_queue_free,
    .write = cuda_queue_write,
    .read = cuda_queue_read,
    .copy = cuda_queue_copy,
    .fill = cuda_queue_fill,
    .launch = cuda_queue_launch,
    .host_call = cuda_queue_host_call,
    .flush = cuda_queue_flush,
    .finish = cuda_queue_finish,
    .event_new = cuda_event_new,
    .event_free = cuda_event_free,
    .event_record = cuda_queue_record,
    .event_query = cuda_event_query,
    .event_wait = cuda_event_wait,
    .event_elapsed = cuda_event_elapsed,
    .queue_wait_event = cuda_queue_wait_event,
    .buffer_wrap = buffer_wrap,
    .window_new = window_new,
    .window_open = window_open,
    .window_shut = window_shut,
    .guest_queue_new = cuda_guest_queue_new,
    .ranked_queue_new = cuda_ranked_queue_new,
#if CUDART_VERSION >= 13000 /* before, it had another form or was not there */
    .copy_parts = cuda_queue_copy_parts,
#endif
    .mark_new = cuda_mark_new,
};

/* Streams that share a work queue wait for each other.  Asked for by nobody, the queues are fewer
 * than the eight that CUDA documents, by measurement; more than eight slow velo-banks and gain
 * nothing elsewhere (docs/clusters.md).  The driver looks once, when the process first calls it. */
static int want_work_queues(void)
{
    return setenv("CUDA_DEVICE_MAX_CONNECTIONS", "8", 0) < 0 ? -errno : 0;
}

static int count(const struct trg_host *host, uint32_t *ret_count)
{
    const struct backend_log log = {host, "cuda"};
    int n = 0, r = want_work_queues();
    cudaError_t code;

    if (r < 0)
        return r;
    code = cudaGetDeviceCount(&n);
    if (code != cudaSuccess) {
        cudaGetLastError();
        backend_log(&log, TRG_INFO, "no device: %s: %s", cudaGetErrorName(code),
                    cudaGetErrorString(code));
        n = 0;
    }
    *ret_count = (uint32_t)n;
    return 0;
}

static int read_info(struct trg_device *d)
{
    struct cudaDeviceProp p;
    int driver = 0,
        r = cuda_check(d, cudaGetDeviceProperties(&p, d->number), "cudaGetDeviceProperties", NULL);

    if (r == 0)
        r = cuda_check(d, cudaDriverGetVersion(&driver), "cudaDriverGetVersion", NULL);
    if (r < 0)
        return r;
    d->shared_bytes = p.sharedMemPerMultiprocessor;
    d->info = (struct trg_device_info){.backend = "cuda",
                                       .index = (uint32_t)d->number,
                                       .units = (uint32_t)p.multiProcessorCount,
                                       .group_max = (uint32_t)p.maxThreadsPerBlock,
                                       .shared_bytes = (uint32_t)p.sharedMemPerBlock,
                                       .memory_bytes = p.totalGlobalMem,
                                       .reaches_host = p.unifiedAddressing && p.canMapHostMemory};
    snprintf(d->info.name, sizeof d->info.name, "%.80s", p.name);
    snprintf(d->info.driver, sizeof d->info.driver, "CUDA %d.%d, compute capability %d.%d",
             driver / 1000, driver % 1000 / 10, p.major, p.minor);
    return cuda_check(d, cudaDeviceGetPCIBusId(d->info.pci, sizeof d->info.pci, d->number),
                      "cudaDeviceGetPCIBusId", NULL);
}

static int open_cuda(const struct trg_host *host, uint32_t index, struct trg_device **ret_device)
{
    struct trg_device *d;
    int n = 0, r = want_work_queues();

    if (r < 0)
        return r;
    if (cudaGetDeviceCount(&n) != cudaSuccess || index >= (uint32_t)n) {
        cudaGetLastError();
        return -ENODEV;
    }
    d = calloc(1, sizeof *d);
    if (!d)
        return -ENOMEM;
    d->object.ops = &ops;
    d->log.host = host;
    snprintf(d->log.device, sizeof d->log.device, "cuda %u", index);
    d->number = (int)index;
    r = cuda_enter(d);
    if (r == 0)
        r = cuda_check(d, cudaFree(NULL), "cudaFree", "making the context");
    if (r == 0)
        r = read_info(d);
    if (r < 0) {
        free(d);
        return r;
    }
    *ret_device = d;
    return 0;
}

__attribute__((visibility("default"))) extern const struct trg_backend trg_backend;
const struct trg_backend trg_backend = {.abi = TRG_BACKEND_ABI,
                                        .size = sizeof trg_backend,
                                        .name = "cuda",
                                        .count = count,
                                        .open = open_cuda};
