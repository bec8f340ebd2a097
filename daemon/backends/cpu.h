/* SPDX-License-Identifier: Apache-2.0 */
/* cpu.h - the objects of the CPU backend, for its two files. */
#ifndef TRIGD_BACKENDS_CPU_H
#define TRIGD_BACKENDS_CPU_H
#include <stdbool.h>

#include "common.h"

struct trg_device {
    struct trg_object object;
    struct backend_log log;
};

struct trg_buffer {
    struct trg_object object;
    unsigned char *data;
    bool is_wrapped; /* the caller's memory */
    size_t bytes;
};

struct trg_kernel {
    const struct trg_host_entry *entry;
};

struct trg_event {
    struct trg_object object;
    struct trg_queue *queue; /* where it was recorded; NULL before */
    bool is_reached;
    uint64_t reached_ns;
};

/* The part of the operations that cpu_queue.c does. */
int cpu_queue_new(struct trg_device *d, struct trg_queue **ret_queue);
void cpu_queue_free(struct trg_queue *q);
int cpu_queue_copy(struct trg_queue *q, struct trg_buffer *dst, size_t dst_at,
                   struct trg_buffer *src, size_t src_at, size_t bytes);
int cpu_queue_fill(struct trg_queue *q, struct trg_buffer *b, size_t at, size_t bytes,
                   uint32_t pattern);
int cpu_queue_launch(struct trg_queue *q, struct trg_kernel *k, struct trg_range r,
                     const struct trg_arg *args, uint32_t n_args);
int cpu_queue_host_call(struct trg_queue *q, void (*fn)(void *), void *arg);
int cpu_queue_flush(struct trg_queue *q);
int cpu_queue_finish(struct trg_queue *q);
int cpu_queue_record(struct trg_queue *q, struct trg_event *e);
int cpu_queue_wait_event(struct trg_queue *q, struct trg_event *e);
int cpu_queue_reach(struct trg_event *e);
#endif
