/* SPDX-License-Identifier: Apache-2.0 */
/* trigd/device.h - devices, buffers, modules, kernels, queues and events over CUDA,
 * OpenCL and the CPU.
 *
 * A backend is a shared object (trigd-cpu.so, trigd-opencl.so, trigd-cuda.so) that exports
 * one const `struct trg_backend` under the name trg_backend.  Plugins never see backends:
 * they get a device and its queues and call the inline functions below.
 *
 * Order:   work on one queue runs in the order in which it was enqueued; queues run
 *          concurrently.
 * Threads: a device may be used from many threads; a queue, and everything enqueued on it,
 *          belongs to one thread at a time.
 * Errors:  0 or a negative errno.  The backend logs the cause once, with the name of the kernel
 *          or call; callers return the code without logging.
 *          -ENODEV is sticky: the device is lost and can only be closed.
 *          Outputs are untouched on failure.
 */
#ifndef TRG_DEVICE_H
#define TRG_DEVICE_H
#include <errno.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define TRG_BACKEND_ABI    1u
#define TRG_BACKEND_SYMBOL "trg_backend"
#define TRG_ARGS_MAX       12 /* arguments of one kernel */

struct trg_device; /* opened by the daemon; outlives everything made from it */
struct trg_buffer; /* owned by the caller of trg_buffer_new */
struct trg_kernel; /* owned by its module */
struct trg_module; /* owned by the caller of trg_module_new */
struct trg_queue;  /* owned by the caller of trg_queue_new */
struct trg_event;  /* owned by the caller of trg_event_new */

enum trg_mem {
    TRG_MEM_DEVICE, /* fast for kernels; no host address (the CPU backend has one) */
    TRG_MEM_PINNED  /* host memory that copies to and from the device at full speed */
};

enum trg_level { TRG_ERROR, TRG_WARN, TRG_INFO, TRG_DEBUG };

/* Where a backend or a plugin writes its log lines.  `text` is one line, no trailing newline.
 * Callable from any thread; never from the event path. */
typedef void trg_log_fn(void *ctx, enum trg_level level, const char *text);

/* Services of the daemon for backends and plugins; outlives both. */
struct trg_host {
    uint32_t size; /* sizeof(struct trg_host) of the daemon */
    void *ctx;
    trg_log_fn *log;
    const char *cache_dir; /* OpenCL binaries are kept here; NULL: no cache */
};

struct trg_device_info {
    char backend[16];      /* "cpu", "opencl", "cuda" */
    char name[96];         /* as the driver spells it */
    char driver[96];       /* version of driver or platform */
    uint32_t index;        /* number of the device within its backend */
    uint32_t units;        /* multiprocessors, compute units, cores */
    uint32_t group_max;    /* largest work-group of any kernel; at least 256 */
    uint32_t shared_bytes; /* shared (local) memory of a group */
    uint64_t memory_bytes;
    uint32_t is_host;      /* 1: device memory is host memory (CPU backend) */
    char pci[16];          /* PCI address, "0000:65:00.0"; "" if unknown */
    uint32_t reaches_host; /* 1: kernels read and write pinned memory where it lies; what they wrote
                              is there once an event behind them has been reached */
};

/* One program: NAME.kernel.c in all the forms that the build compiled.  Static and read-only. */
typedef void trg_host_kernel(const void *grid, void *const *args);
struct trg_host_entry { /* one kernel; table ends with a NULL name */
    const char *name;
    trg_host_kernel *run;
    uint32_t n_buffers;   /* its arguments: n_buffers buffers, ... */
    uint32_t value_bytes; /* ... then one value of value_bytes bytes */
};
struct trg_host_code { /* one build of the program for one level of the instruction set */
    const char *isa;   /* "x86-64-v4", ..., "" for the baseline */
    const struct trg_host_entry *entries;
};
struct trg_program {
    const char *name;
    const struct trg_host_code *host; /* best first, ends with a NULL entries */
    const void *fatbin;               /* CUDA; NULL when built without nvcc */
    const char *opencl;               /* OpenCL C source; never NULL */
};

struct trg_range {
    uint32_t groups;
    uint32_t group_size; /* ignored by the CPU backend, whose groups have one item */
};

struct trg_arg { /* fill with TRG_BUF or TRG_VAL */
    struct trg_buffer *buf;
    const void *val;
    size_t size;
};
#define TRG_BUF(b) ((struct trg_arg){.buf = (b)})
#define TRG_VAL(v) ((struct trg_arg){.val = &(v), .size = sizeof(v)})

struct trg_copy_part { /* bytes */
    size_t dst_at, src_at, bytes;
};

/* Append only.  A member marked optional may be NULL; its wrapper documents the default. */
struct trg_device_ops {
    uint32_t size; /* sizeof(struct trg_device_ops) of the backend */
    void (*info)(struct trg_device *d, struct trg_device_info *ret_info);
    void (*close)(struct trg_device *d);

    int (*buffer_new)(struct trg_device *d, enum trg_mem mem, size_t bytes,
                      struct trg_buffer **ret_buffer);
    void (*buffer_free)(struct trg_buffer *b);
    void *(*buffer_host)(struct trg_buffer *b);

    int (*module_new)(struct trg_device *d, const struct trg_program *p, const char *options,
                      struct trg_module **ret_module);
    void (*module_free)(struct trg_module *m);
    int (*kernel_get)(struct trg_module *m, const char *name, struct trg_kernel **ret_kernel);

    int (*queue_new)(struct trg_device *d, struct trg_queue **ret_queue);
    void (*queue_free)(struct trg_queue *q);
    int (*write)(struct trg_queue *q, struct trg_buffer *dst, size_t dst_at, struct trg_buffer *src,
                 size_t src_at, size_t bytes);
    int (*read)(struct trg_queue *q, struct trg_buffer *dst, size_t dst_at, struct trg_buffer *src,
                size_t src_at, size_t bytes);
    int (*copy)(struct trg_queue *q, struct trg_buffer *dst, size_t dst_at, struct trg_buffer *src,
                size_t src_at, size_t bytes);
    int (*fill)(struct trg_queue *q, struct trg_buffer *b, size_t at, size_t bytes,
                uint32_t pattern);
    int (*launch)(struct trg_queue *q, struct trg_kernel *k, struct trg_range r,
                  const struct trg_arg *args, uint32_t n_args);
    int (*host_call)(struct trg_queue *q, void (*fn)(void *), void *arg);
    int (*flush)(struct trg_queue *q);
    int (*finish)(struct trg_queue *q);

    int (*event_new)(struct trg_device *d, struct trg_event **ret_event);
    void (*event_free)(struct trg_event *e);
    int (*event_record)(struct trg_queue *q, struct trg_event *e);
    int (*event_query)(struct trg_event *e);
    int (*event_wait)(struct trg_event *e);
    int (*event_elapsed)(struct trg_event *from, struct trg_event *to, double *ret_us);
    int (*queue_wait_event)(struct trg_queue *q, struct trg_event *e);
    int (*buffer_wrap)(struct trg_device *d, void *host, size_t bytes,
                       struct trg_buffer **ret_buffer); /* optional */
    int (*window_new)(struct trg_device *d, const void *host, size_t bytes,
                      struct trg_buffer **ret_window); /* optional, with the next two */
    int (*window_open)(struct trg_buffer *w, size_t at, size_t bytes);
    int (*window_shut)(struct trg_buffer *w, size_t at);
    int (*guest_queue_new)(struct trg_device *d, uint32_t percent,
                           struct trg_queue **ret_queue); /* optional */
    int (*ranked_queue_new)(struct trg_device *d, uint32_t rank,
                            struct trg_queue **ret_queue); /* optional */
    int (*copy_parts)(struct trg_queue *q, struct trg_buffer *dst, struct trg_buffer *src,
                      const struct trg_copy_part *parts, uint32_t n_parts); /* optional */
    int (*mark_new)(struct trg_device *d, struct trg_event **ret_mark);     /* optional */
};

/* First member of every backend's own objects. */
struct trg_object {
    const struct trg_device_ops *ops;
};

struct trg_backend {
    uint32_t abi; /* TRG_BACKEND_ABI */
    uint32_t size;
    const char *name;
    /* Number of devices.  When there are none, logs the reason as one info line and gives 0.
     * Does not initialize the devices. */
    int (*count)(const struct trg_host *host, uint32_t *ret_count);
    int (*open)(const struct trg_host *host, uint32_t index, struct trg_device **ret_device);
};

static inline const struct trg_device_ops *trg_ops(const void *object)
{
    return ((const struct trg_object *)object)->ops;
}

/* Properties of the device.  Never fails. */
static inline void trg_device_info(struct trg_device *d, struct trg_device_info *ret_info)
{
    trg_ops(d)->info(d, ret_info);
}

/* Closes the device; everything made from it must be freed before.  NULL is allowed. */
static inline void trg_device_close(struct trg_device *d)
{
    if (d)
        trg_ops(d)->close(d);
}

/* Allocates `bytes` (> 0), at least 128-byte aligned, contents undefined.  The caller owns it. */
static inline int trg_buffer_new(struct trg_device *d, enum trg_mem mem, size_t bytes,
                                 struct trg_buffer **ret_buffer)
{
    return trg_ops(d)->buffer_new(d, mem, bytes, ret_buffer);
}

/* Makes a pinned buffer of host memory that the caller keeps until it has freed the buffer: page
 * aligned, in no other pinned buffer of the device.  -ENOTSUP: the device copies at full speed only
 * from memory that it allocated itself (also where the backend has no such function). */
static inline int trg_buffer_wrap(struct trg_device *d, void *host, size_t bytes,
                                  struct trg_buffer **ret_buffer)
{
    const struct trg_device_ops *o = trg_ops(d);

    if (o->size <= offsetof(struct trg_device_ops, buffer_wrap) || !o->buffer_wrap)
        return -ENOTSUP;
    return o->buffer_wrap(d, host, bytes, ret_buffer);
}

/* A window is a buffer that stands for a range of the host's addresses and has no memory of its
 * own: kernels read the parts that are open, over the bus, and write nothing.  The caller keeps the
 * addresses reserved until it has freed the window.  -ENOTSUP: kernels of the device cannot read
 * the host's memory (also where the backend has no such function). */
static inline int trg_window_new(struct trg_device *d, const void *host, size_t bytes,
                                 struct trg_buffer **ret_window)
{
    const struct trg_device_ops *o = trg_ops(d);

    if (o->size <= offsetof(struct trg_device_ops, window_shut) || !o->window_new)
        return -ENOTSUP;
    return o->window_new(d, host, bytes, ret_window);
}

/* Opens a part of a window: whole pages, mapped for reading at least, that stay mapped until it is
 * shut and lie in no part that is open.  It pins the pages, and other calls to the device may wait
 * for it: 50 us a MiB on an H200 host, more under load, and longer still where pages are not there
 * yet.  -EINVAL: it reaches outside the window. */
static inline int trg_window_open(struct trg_buffer *w, size_t at, size_t bytes)
{
    return trg_ops(w)->window_open(w, at, bytes);
}

/* Shuts the part that was opened at `at`; no queued work reads it. */
static inline int trg_window_shut(struct trg_buffer *w, size_t at)
{
    return trg_ops(w)->window_shut(w, at);
}

/* Frees a buffer that no queued work uses.  NULL is allowed. */
static inline void trg_buffer_free(struct trg_buffer *b)
{
    if (b)
        trg_ops(b)->buffer_free(b);
}

/* The host address of a pinned buffer (and, on the CPU backend, of a device buffer); NULL for
 * device memory.  Valid until the buffer is freed. */
static inline void *trg_buffer_host(struct trg_buffer *b)
{
    return trg_ops(b)->buffer_host(b);
}

/* Loads a program.  `options` go to the OpenCL compiler ("-DNAME=1"), NULL for none.
 * Takes seconds the first time on OpenCL: call it in create, never in submit. */
static inline int trg_module_new(struct trg_device *d, const struct trg_program *p,
                                 const char *options, struct trg_module **ret_module)
{
    return trg_ops(d)->module_new(d, p, options, ret_module);
}

/* Unloads a module and its kernels.  NULL is allowed. */
static inline void trg_module_free(struct trg_module *m)
{
    if (m)
        trg_ops(m)->module_free(m);
}

/* The kernel called `name`; lives as long as its module.  -ENOENT: no such kernel. */
static inline int trg_kernel_get(struct trg_module *m, const char *name,
                                 struct trg_kernel **ret_kernel)
{
    return trg_ops(m)->kernel_get(m, name, ret_kernel);
}

/* Makes an in-order queue: a CUDA stream, an OpenCL command queue, a CPU task queue. */
static inline int trg_queue_new(struct trg_device *d, struct trg_queue **ret_queue)
{
    return trg_ops(d)->queue_new(d, ret_queue);
}

/* The same with a rank: where the device has priorities, what is in queues of rank 0 goes before
 * what is in those of rank 1, and so on; all go before background work. */
static inline int trg_ranked_queue_new(struct trg_device *d, uint32_t rank,
                                       struct trg_queue **ret_queue)
{
    const struct trg_device_ops *o = trg_ops(d);

    if (o->size > offsetof(struct trg_device_ops, ranked_queue_new) && o->ranked_queue_new)
        return o->ranked_queue_new(d, rank, ret_queue);
    return o->queue_new(d, ret_queue);
}

/* Makes a queue for background work: of the lowest priority where the device has
 * priorities.  With `percent` above 0 its kernels run on so many percent of the multiprocessors
 * only (at least one part that the device can set apart); other queues may use these as well.
 * -ENOTSUP: the device cannot be divided (also where the backend has no such function). */
static inline int trg_guest_queue_new(struct trg_device *d, uint32_t percent,
                                      struct trg_queue **ret_queue)
{
    const struct trg_device_ops *o = trg_ops(d);

    if (o->size > offsetof(struct trg_device_ops, guest_queue_new) && o->guest_queue_new)
        return o->guest_queue_new(d, percent, ret_queue);
    return percent ? -ENOTSUP : o->queue_new(d, ret_queue);
}

/* Finishes and frees a queue.  NULL is allowed. */
static inline void trg_queue_free(struct trg_queue *q)
{
    if (q)
        trg_ops(q)->queue_free(q);
}

/* Enqueues a copy from pinned host memory to device memory; `src` must not change until the
 * copy is done.  Offsets and sizes in bytes; -EINVAL when they reach outside a buffer. */
static inline int trg_write(struct trg_queue *q, struct trg_buffer *dst, size_t dst_at,
                            struct trg_buffer *src, size_t src_at, size_t bytes)
{
    return trg_ops(q)->write(q, dst, dst_at, src, src_at, bytes);
}

/* Enqueues a copy from device memory to pinned host memory. */
static inline int trg_read(struct trg_queue *q, struct trg_buffer *dst, size_t dst_at,
                           struct trg_buffer *src, size_t src_at, size_t bytes)
{
    return trg_ops(q)->read(q, dst, dst_at, src, src_at, bytes);
}

/* Enqueues a copy within device memory, or to it from a part of a window that was opened at once;
 * the two ranges do not overlap. */
static inline int trg_copy(struct trg_queue *q, struct trg_buffer *dst, size_t dst_at,
                           struct trg_buffer *src, size_t src_at, size_t bytes)
{
    return trg_ops(q)->copy(q, dst, dst_at, src, src_at, bytes);
}

/* Whether the device copies many parts in less time than one after the other. */
static inline int trg_copies_parts(const void *object)
{
    const struct trg_device_ops *o = trg_ops(object);

    return o->size > offsetof(struct trg_device_ops, copy_parts) && o->copy_parts;
}

/* Enqueues a copy, as trg_copy has it, of each part, in any order: no two may overlap in `dst`. One
 * by one where the device does not do it. */
static inline int trg_copy_parts(struct trg_queue *q, struct trg_buffer *dst,
                                 struct trg_buffer *src, const struct trg_copy_part *parts,
                                 uint32_t n_parts)
{
    int r = 0;

    if (trg_copies_parts(q))
        return trg_ops(q)->copy_parts(q, dst, src, parts, n_parts);
    for (uint32_t i = 0; r == 0 && i < n_parts; i++)
        r = trg_copy(q, dst, parts[i].dst_at, src, parts[i].src_at, parts[i].bytes);
    return r;
}

/* Enqueues a fill of device memory with a 4-byte pattern; `at` and `bytes` are multiples of 4. */
static inline int trg_fill(struct trg_queue *q, struct trg_buffer *b, size_t at, size_t bytes,
                           uint32_t pattern)
{
    return trg_ops(q)->fill(q, b, at, bytes, pattern);
}

/* Enqueues a kernel.  Values are copied out of `args` before the call returns.  An empty
 * range does nothing and returns 0.  -EINVAL: the arguments do not match the kernel's, or the
 * group is too large for this kernel and device. */
static inline int trg_launch(struct trg_queue *q, struct trg_kernel *k, struct trg_range r,
                             const struct trg_arg *args, uint32_t n_args)
{
    return trg_ops(q)->launch(q, k, r, args, n_args);
}

/* Enqueues a host function, which must neither block nor use the device API.  Later
 * work on the queue starts after it returns.  It is skipped when earlier work failed. */
static inline int trg_host_call(struct trg_queue *q, void (*fn)(void *), void *arg)
{
    return trg_ops(q)->host_call(q, fn, arg);
}

/* Submits the enqueued work to the device (clFlush) without waiting. */
static inline int trg_flush(struct trg_queue *q)
{
    return trg_ops(q)->flush(q);
}

/* Waits for all enqueued work and returns its first error. */
static inline int trg_finish(struct trg_queue *q)
{
    return trg_ops(q)->finish(q);
}

static inline int trg_event_new(struct trg_device *d, struct trg_event **ret_event)
{
    return trg_ops(d)->event_new(d, ret_event);
}

/* An event that is for the host alone, which looks at it often: trg_event_record, trg_event_query
 * and trg_event_wait take it, the others answer -EINVAL where it is not an event like all.  On CUDA
 * those who look do not hold up those who enqueue. */
static inline int trg_mark_new(struct trg_device *d, struct trg_event **ret_mark)
{
    const struct trg_device_ops *o = trg_ops(d);

    if (o->size > offsetof(struct trg_device_ops, mark_new) && o->mark_new)
        return o->mark_new(d, ret_mark);
    return o->event_new(d, ret_mark);
}

static inline void trg_event_free(struct trg_event *e)
{
    if (e)
        trg_ops(e)->event_free(e);
}

/* Records an event after the work enqueued so far, and submits that work.  An event may be
 * recorded again once it has been reached. */
static inline int trg_event_record(struct trg_queue *q, struct trg_event *e)
{
    return trg_ops(q)->event_record(q, e);
}

/* 0: the event has been reached; -EAGAIN: not yet; -EINVAL: it was never recorded; else the
 * error of the work before it. */
static inline int trg_event_query(struct trg_event *e)
{
    return trg_ops(e)->event_query(e);
}

/* Waits for the event and returns the error of the work before it.  On the CPU the waiting
 * thread runs the queued work itself, so queues and events there belong to one thread. */
static inline int trg_event_wait(struct trg_event *e)
{
    return trg_ops(e)->event_wait(e);
}

/* Microseconds between two events of one device; -EAGAIN until both have been reached.  OpenCL:
 * -ENOTSUP unless TRIGD_DEVICE_TIMES is set in the environment. */
static inline int trg_event_elapsed(struct trg_event *from, struct trg_event *to, double *ret_us)
{
    return trg_ops(from)->event_elapsed(from, to, ret_us);
}

/* Work enqueued on `q` after this call starts only after `e`, recorded on another queue of the
 * same device, has been reached. */
static inline int trg_queue_wait_event(struct trg_queue *q, struct trg_event *e)
{
    return trg_ops(q)->queue_wait_event(q, e);
}

#ifdef __cplusplus
}
#endif
#endif
