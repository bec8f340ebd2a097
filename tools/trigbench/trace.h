/* SPDX-License-Identifier: Apache-2.0 */
/* trace.h - the timeline of a device: stands between a device and its users and puts events before
 * and after all work that is enqueued on any queue. */
#ifndef TRIGBENCH_TRACE_H
#define TRIGBENCH_TRACE_H
#include <stdbool.h>
#include <stdint.h>

#include "trigd/device.h"

#define TRACE_QUEUES_MAX 512u /* more are not told of */
#define TRACE_NAME_MAX   48u

enum trace_kind { TRACE_COPY_IN, TRACE_KERNEL, TRACE_FILL, TRACE_COPY, TRACE_COPY_OUT, TRACE_HOST };

struct trace_span {
    enum trace_kind kind;
    char name[TRACE_NAME_MAX]; /* of a kernel, or of what the host did */
    uint32_t row;              /* of the queue, by trace_queue; host: the lane */
    uint64_t bytes;            /* copied */
    double from_us, to_us;     /* since trace_begin */
};

struct trace;

/* Takes the device over until trace_close; queues and modules made from then on are
 * traced.  One
 * device at a time. */
int trace_open(struct trg_device *device, struct trace **ret_trace);
/* Spans of this queue are reported in `row`; those of other queues are not reported. */
void trace_queue(struct trace *t, const struct trg_queue *q, uint32_t row);
/* From now on spans are kept, `room` of them at most; later ones are left out (and counted). */
int trace_begin(struct trace *t, uint32_t room);
/* Adds a span of the host, in clock_ns() of the host; any thread. */
void trace_host(struct trace *t, uint32_t lane, const char *name, uint64_t from_ns, uint64_t to_ns);
/* Turns events into times.  All queues must be finished.  The spans are borrowed until
 * trace_close. */
int trace_end(struct trace *t, const struct trace_span **ret_spans, uint32_t *ret_n,
              uint32_t *ret_left_out);
void trace_close(struct trace *t); /* gives the device back; NULL is fine */
#endif
