/* SPDX-License-Identifier: Apache-2.0 */
/* opencl.h - the objects of the OpenCL backend, for its files.  OpenCL 1.2 calls only. */
#ifndef TRIGD_BACKENDS_OPENCL_H
#define TRIGD_BACKENDS_OPENCL_H
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "common.h"

struct trg_device {
    struct trg_object object;
    struct backend_log log;
    cl_device_id id;
    cl_context context;
    cl_command_queue service; /* allocates and maps; thread-safe, as all enqueuing is */
    struct trg_device_info info;
    char flags[128];     /* of the compiler, for every program */
    atomic_bool is_lost; /* -ENODEV was returned once */
};

struct trg_buffer {
    struct trg_object object;
    struct trg_device *device;
    cl_mem mem;
    void *host; /* where pinned memory is mapped for all its life; NULL for device memory */
    size_t bytes;
};

struct trg_kernel {
    const struct trg_host_entry *entry;
    cl_kernel cl;
    uint32_t group_max;
    pthread_mutex_t lock; /* from setting the arguments to enqueuing: OpenCL keeps one set */
};

struct trg_event {
    struct trg_object object;
    struct trg_device *device;
    cl_event marker;  /* NULL before it was recorded */
    const char *last; /* the kernel launched last before it, for messages */
};

/* opencl_error.c */

/* The driver's spelling of an error code. */
const char *opencl_error_name(cl_int code);

/* The one place where OpenCL's codes become errno: 0 for CL_SUCCESS, else logs the call, `what` it
 * was about (NULL: nothing) and the code's name. */
int opencl_errno(const struct backend_log *log, cl_int code, const char *call, const char *what);

/* The same for a call on a device, which is marked as lost if the code says so.  What
 * fails on a lost device is not logged again. */
int opencl_check(struct trg_device *d, cl_int code, const char *call, const char *what);

/* opencl_program.c */
int opencl_module_new(struct trg_device *d, const struct trg_program *p, const char *options,
                      struct trg_module **ret_module);
void opencl_module_free(struct trg_module *m);
int opencl_kernel_get(struct trg_module *m, const char *name, struct trg_kernel **ret_kernel);

/* opencl_queue.c */
/* Queues keep the times of their events only where this environment variable is set: NVIDIA's take
 * half as long again to enqueue when they do.  Returns the property of a queue that does, or 0. */
#define OPENCL_TIMES "TRIGD_DEVICE_TIMES"
cl_command_queue_properties opencl_tells_times(void);
int opencl_queue_new(struct trg_device *d, struct trg_queue **ret_queue);
void opencl_queue_free(struct trg_queue *q);
int opencl_queue_write(struct trg_queue *q, struct trg_buffer *dst, size_t dst_at,
                       struct trg_buffer *src, size_t src_at, size_t bytes);
int opencl_queue_read(struct trg_queue *q, struct trg_buffer *dst, size_t dst_at,
                      struct trg_buffer *src, size_t src_at, size_t bytes);
int opencl_queue_copy(struct trg_queue *q, struct trg_buffer *dst, size_t dst_at,
                      struct trg_buffer *src, size_t src_at, size_t bytes);
int opencl_queue_fill(struct trg_queue *q, struct trg_buffer *b, size_t at, size_t bytes,
                      uint32_t pattern);
int opencl_queue_launch(struct trg_queue *q, struct trg_kernel *k, struct trg_range r,
                        const struct trg_arg *args, uint32_t n_args);
int opencl_queue_host_call(struct trg_queue *q, void (*fn)(void *), void *arg);
int opencl_queue_flush(struct trg_queue *q);
int opencl_queue_finish(struct trg_queue *q);
int opencl_queue_record(struct trg_queue *q, struct trg_event *e);
int opencl_queue_wait_event(struct trg_queue *q, struct trg_event *e);
#endif
