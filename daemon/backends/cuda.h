/* SPDX-License-Identifier: Apache-2.0 */
/* cuda.h - the objects of the CUDA backend, for its files. */
#ifndef TRIGD_BACKENDS_CUDA_H
#define TRIGD_BACKENDS_CUDA_H
#include <cuda_runtime_api.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "common.h"

struct trg_device {
    struct trg_object object;
    struct backend_log log;
    struct trg_device_info info;
    int number;          /* CUDA's; also the index */
    size_t shared_bytes; /* most of a multiprocessor */
    atomic_bool is_lost; /* -ENODEV was returned once */
};

struct trg_buffer {
    struct trg_object object;
    struct trg_device *device;
    void *address;
    void *host;      /* the same for pinned memory; NULL for device memory */
    bool is_wrapped; /* the caller's memory */
    bool is_window;  /* the caller's, and nothing of it is pinned by itself */
    size_t bytes;
};

struct trg_kernel {
    const struct trg_host_entry *entry;
    cudaKernel_t cuda;
    uint32_t group_max;
};

struct trg_event {
    struct trg_object object;
    struct trg_device *device;
    cudaEvent_t cuda; /* unless it is a mark */
    bool is_recorded;
    const char *last; /* the kernel launched last before it, for messages */
    /* of a mark */
    _Atomic uint32_t *reached; /* pinned: the number of the record that was reached; else NULL */
    uint32_t number;           /* of the last record */
    uint32_t looks;            /* that found it not reached */
    cudaStream_t stream;       /* on which it was recorded */
};

/* cuda_error.c */

/* The one place where CUDA's codes become errno: 0 for cudaSuccess, else logs the call, `what` it
 * was about (NULL: nothing) and the code's name.  A code after which a context is of no use marks
 * the device as lost; what fails on a lost device is not logged again. */
int cuda_check(struct trg_device *d, cudaError_t code, const char *call, const char *what);

/* Makes the device the thread's own, which CUDA wants before most calls; -ENODEV when it is lost.
 */
int cuda_enter(struct trg_device *d);

/* cuda_guest.c */

/* The stream of a lane: it goes before those of guests, one of rank 0 before one of rank 1. */
int cuda_lane_stream(struct trg_device *d, uint32_t rank, cudaStream_t *ret_stream);
/* The stream of a guest: of the lowest priority, with percent on so much of the chip only, which
 * *ret_part then is. */
int cuda_guest_stream(struct trg_device *d, uint32_t percent, cudaStream_t *ret_stream,
                      void **ret_part);
/* That part, when the stream is gone.  NULL is fine. */
void cuda_guest_drop(struct trg_device *d, void *part);

/* cuda_event.c */
int cuda_event_new(struct trg_device *d, struct trg_event **ret_event);
int cuda_mark_new(struct trg_device *d, struct trg_event **ret_mark);
void cuda_event_free(struct trg_event *e);
int cuda_event_query(struct trg_event *e);
int cuda_event_wait(struct trg_event *e);
int cuda_event_elapsed(struct trg_event *from, struct trg_event *to, double *ret_us);

/* cuda_queue.c */
int cuda_queue_new(struct trg_device *d, struct trg_queue **ret_queue);
int cuda_guest_queue_new(struct trg_device *d, uint32_t percent, struct trg_queue **ret_queue);
int cuda_ranked_queue_new(struct trg_device *d, uint32_t rank, struct trg_queue **ret_queue);
void cuda_queue_free(struct trg_queue *q);
int cuda_queue_write(struct trg_queue *q, struct trg_buffer *dst, size_t dst_at,
                     struct trg_buffer *src, size_t src_at, size_t bytes);
int cuda_queue_read(struct trg_queue *q, struct trg_buffer *dst, size_t dst_at,
                    struct trg_buffer *src, size_t src_at, size_t bytes);
int cuda_queue_copy(struct trg_queue *q, struct trg_buffer *dst, size_t dst_at,
                    struct trg_buffer *src, size_t src_at, size_t bytes);
#if CUDART_VERSION >= 13000
int cuda_queue_copy_parts(struct trg_queue *q, struct trg_buffer *dst, struct trg_buffer *src,
                          const struct trg_copy_part *parts, uint32_t n_parts);
#endif
int cuda_queue_fill(struct trg_queue *q, struct trg_buffer *b, size_t at, size_t bytes,
                    uint32_t pattern);
int cuda_queue_launch(struct trg_queue *q, struct trg_kernel *k, struct trg_range r,
                      const struct trg_arg *args, uint32_t n_args);
int cuda_queue_host_call(struct trg_queue *q, void (*fn)(void *), void *arg);
int cuda_queue_flush(struct trg_queue *q);
int cuda_queue_finish(struct trg_queue *q);
int cuda_queue_record(struct trg_queue *q, struct trg_event *e);
int cuda_queue_wait_event(struct trg_queue *q, struct trg_event *e);
#endif
