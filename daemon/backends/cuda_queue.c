/* SPDX-License-Identifier: Apache-2.0 */
/* Queues of the CUDA backend: streams that do not wait for the default stream. */
#include <stdlib.h>

#include "cuda.h"

/* What the runtime lacks: the driver's fill by words, and the write of a word in a stream's order.
 */
typedef int fill_words_fn(unsigned long long at, unsigned pattern, size_t words,
                          cudaStream_t stream);
typedef int write_word_fn(cudaStream_t stream, unsigned long long at, uint32_t word,
                          unsigned flags);
#define FILL_WORDS         "cuMemsetD32Async"
#define FILL_WORDS_VERSION 3020 /* of the driver's interface, when the function got this form */
#define WRITE_WORD         "cuStreamWriteValue32"
#define WRITE_WORD_VERSION 11070

struct cuda_parts { /* scratch of copies of many parts */
    void **to;
    const void **from;
    size_t *bytes;
    uint32_t room;
};

struct trg_queue {
    struct trg_object object;
    struct trg_device *device;
    cudaStream_t cuda;
    fill_words_fn *fill_words;
    write_word_fn *write_word;
    void *part;       /* of the chip; NULL: it has all of it */
    const char *last; /* kernel launched last, for messages; lives as long as its program */
    struct cuda_parts parts;
};

static int find_function(const struct trg_queue *q, const char *name, unsigned version,
                         void **ret_fn)
{
    enum cudaDriverEntryPointQueryResult found;
    int r = cuda_check(
        q->device,
        cudaGetDriverEntryPointByVersion(name, ret_fn, version, cudaEnableDefault, &found),
        "cudaGetDriverEntryPointByVersion", name);

    if (r < 0)
        return r;
    if (found != cudaDriverEntryPointSuccess || !*ret_fn) {
        backend_log(&q->device->log, TRG_ERROR, "the driver has no %s", name);
        return -ENOTSUP;
    }
    return 0;
}

static int find_functions(struct trg_queue *q)
{
    void *fill = NULL, *write = NULL;
    int r = find_function(q, FILL_WORDS, FILL_WORDS_VERSION, &fill);

    if (r == 0)
        r = find_function(q, WRITE_WORD, WRITE_WORD_VERSION, &write);
    if (r < 0)
        return r;
    q->fill_words = (fill_words_fn *)(uintptr_t)fill;
    q->write_word = (write_word_fn *)(uintptr_t)write;
    return 0;
}

static void free_parts(struct cuda_parts *p)
{
    free(p->to);
    free(p->from);
    free(p->bytes);
    *p = (struct cuda_parts){0};
}

/* `percent`: of a guest's queue; NULL: a lane's, of that rank. */
static int queue_new(struct trg_device *d, const uint32_t *percent, uint32_t rank,
                     struct trg_queue **ret_queue)
{
    struct trg_queue *q;
    int r = cuda_enter(d);

    if (r < 0)
        return r;
    q = calloc(1, sizeof *q);
    if (!q)
        return -ENOMEM;
    q->object.ops = d->object.ops;
    q->device = d;
    r = percent ? cuda_guest_stream(d, *percent, &q->cuda, &q->part)
                : cuda_lane_stream(d, rank, &q->cuda);
    if (r < 0) {
        free(q);
        return r;
    }
    r = find_functions(q);
    if (r < 0) {
        cuda_queue_free(q);
        return r;
    }
    *ret_queue = q;
    return 0;
}

int cuda_queue_new(struct trg_device *d, struct trg_queue **ret_queue)
{
    return queue_new(d, NULL, 0, ret_queue);
}

int cuda_ranked_queue_new(struct trg_device *d, uint32_t rank, struct trg_queue **ret_queue)
{
    return queue_new(d, NULL, rank, ret_queue);
}

int cuda_guest_queue_new(struct trg_device *d, uint32_t percent, struct trg_queue **ret_queue)
{
    return queue_new(d, &percent, 0, ret_queue);
}

void cuda_queue_free(struct trg_queue *q)
{
    if (cuda_enter(q->device) == 0) {
        cuda_check(q->device, cudaStreamSynchronize(q->cuda), "cudaStreamSynchronize", q->last);
        cuda_check(q->device, cudaStreamDestroy(q->cuda), "cudaStreamDestroy", NULL);
        cuda_guest_drop(q->device, q->part);
    }
    free_parts(&q->parts);
    free(q);
}

static int transfer(struct trg_queue *q, const char *call, struct trg_buffer *dst, size_t dst_at,
                    struct trg_buffer *src, size_t src_at, size_t bytes, enum cudaMemcpyKind kind)
{
    int r = cuda_enter(q->device);

    if (r == 0)
        r = backend_check_range(&q->device->log, call, dst->bytes, dst_at, bytes);
    if (r == 0)
        r = backend_check_range(&q->device->log, call, src->bytes, src_at, bytes);
    if (r < 0 || !bytes)
        return r;
    if ((kind == cudaMemcpyHostToDevice && !src->host) ||
        (kind == cudaMemcpyDeviceToHost && !dst->host)) {
        backend_log(&q->device->log, TRG_ERROR, "%s: the host side must be pinned memory", call);
        return -EINVAL;
    }
    return cuda_check(q->device,
                      cudaMemcpyAsync((unsigned char *)dst->address + dst_at,
                                      (const unsigned char *)src->address + src_at, bytes, kind,
                                      q->cuda),
                      "cudaMemcpyAsync", q->last);
}

int cuda_queue_write(struct trg_queue *q, struct trg_buffer *dst, size_t dst_at,
                     struct trg_buffer *src, size_t src_at, size_t bytes)
{
    return transfer(q, "write", dst, dst_at, src, src_at, bytes, cudaMemcpyHostToDevice);
}

int cuda_queue_read(struct trg_queue *q, struct trg_buffer *dst, size_t dst_at,
                    struct trg_buffer *src, size_t src_at, size_t bytes)
{
    return transfer(q, "read", dst, dst_at, src, src_at, bytes, cudaMemcpyDeviceToHost);
}

int cuda_queue_copy(struct trg_queue *q, struct trg_buffer *dst, size_t dst_at,
                    struct trg_buffer *src, size_t src_at, size_t bytes)
{
    return transfer(q, "copy", dst, dst_at, src, src_at, bytes, cudaMemcpyDefault);
}

#if CUDART_VERSION >= 13000
static int make_room(struct cuda_parts *p, uint32_t n)
{
    if (n <= p->room)
        return 0;
    free_parts(p);
    p->to = calloc(n, sizeof(void *));
    p->from = calloc(n, sizeof(void *));
    p->bytes = calloc(n, sizeof *p->bytes);
    if (!p->to || !p->from || !p->bytes) {
        free_parts(p);
        return -ENOMEM;
    }
    p->room = n;
    return 0;
}

/* One call for all: the copy engine does them with 0.5 us of the CPU for each, a copy by itself
 * takes 2.5 us.  Parts of less than 28 KiB are slower than copies by themselves (driver 580). */
int cuda_queue_copy_parts(struct trg_queue *q, struct trg_buffer *dst, struct trg_buffer *src,
                          const struct trg_copy_part *parts, uint32_t n_parts)
{
    struct cudaMemcpyAttributes all = {.srcAccessOrder = cudaMemcpySrcAccessOrderStream,
                                       .flags = cudaMemcpyFlagPreferOverlapWithCompute};
    size_t first = 0, n = 0;
    int r = cuda_enter(q->device);

    if (r == 0)
        r = make_room(&q->parts, n_parts);
    for (uint32_t i = 0; r == 0 && i < n_parts; i++) {
        r = backend_check_range(&q->device->log, "copy parts to", dst->bytes, parts[i].dst_at,
                                parts[i].bytes);
        if (r == 0)
            r = backend_check_range(&q->device->log, "copy parts from", src->bytes, parts[i].src_at,
                                    parts[i].bytes);
        if (r < 0 || !parts[i].bytes)
            continue;
        q->parts.to[n] = (unsigned char *)dst->address + parts[i].dst_at;
        q->parts.from[n] = (const unsigned char *)src->address + parts[i].src_at;
        q->parts.bytes[n++] = parts[i].bytes;
    }
    if (r < 0 || !n)
        return r;
    return cuda_check(q->device,
                      cudaMemcpyBatchAsync(q->parts.to, q->parts.from, q->parts.bytes, n, &all,
                                           &first, 1, q->cuda),
                      "cudaMemcpyBatchAsync", q->last);
}
#endif

int cuda_queue_fill(struct trg_queue *q, struct trg_buffer *b, size_t at, size_t bytes,
                    uint32_t pattern)
{
    int r = cuda_enter(q->device);

    if (r == 0)
        r = backend_check_fill(&q->device->log, b->bytes, at, bytes);
    if (r < 0 || !bytes)
        return r;
    /* the driver's codes are the runtime's */
    return cuda_check(
        q->device,
        (cudaError_t)q->fill_words((uintptr_t)b->address + at, pattern, bytes / 4, q->cuda),
        FILL_WORDS, q->last);
}

int cuda_queue_launch(struct trg_queue *q, struct trg_kernel *k, struct trg_range r,
                      const struct trg_arg *args, uint32_t n_args)
{
    void *list[TRG_ARGS_MAX];
    int e = cuda_enter(q->device);

    if (e == 0)
        e = backend_check_launch(&q->device->log, k->entry, k->group_max, r, args, n_args);
    if (e < 0 || !r.groups)
        return e;
    for (uint32_t i = 0; i < n_args; i++)
        list[i] = args[i].buf ? (void *)&args[i].buf->address : (void *)(uintptr_t)args[i].val;
    q->last = k->entry->name;
    return cuda_check(q->device,
                      cudaLaunchKernel((const void *)k->cuda, (dim3){r.groups, 1, 1},
                                       (dim3){r.group_size, 1, 1}, list, 0, q->cuda),
                      "cudaLaunchKernel", k->entry->name);
}

int cuda_queue_host_call(struct trg_queue *q, void (*fn)(void *), void *arg)
{
    int r = cuda_enter(q->device);

    return r < 0 ? r
                 : cuda_check(q->device, cudaLaunchHostFunc(q->cuda, fn, arg), "cudaLaunchHostFunc",
                              q->last);
}

int cuda_queue_flush(struct trg_queue *q)
{
    return atomic_load(&q->device->is_lost) ? -ENODEV : 0; /* streams start by themselves */
}

int cuda_queue_finish(struct trg_queue *q)
{
    int r = cuda_enter(q->device);

    return r < 0 ? r
                 : cuda_check(q->device, cudaStreamSynchronize(q->cuda), "cudaStreamSynchronize",
                              q->last);
}

static int record_mark(struct trg_queue *q, struct trg_event *e)
{
    e->stream = q->cuda;
    e->looks = 0;
    return cuda_check(q->device,
                      (cudaError_t)q->write_word(q->cuda, (uintptr_t)e->reached, ++e->number, 0),
                      WRITE_WORD, q->last);
}

int cuda_queue_record(struct trg_queue *q, struct trg_event *e)
{
    int r = cuda_enter(q->device);

    if (r == 0)
        r = e->reached ? record_mark(q, e)
                       : cuda_check(q->device, cudaEventRecord(e->cuda, q->cuda), "cudaEventRecord",
                                    q->last);
    if (r < 0)
        return r;
    e->is_recorded = 1;
    e->last = q->last;
    return 0;
}

int cuda_queue_wait_event(struct trg_queue *q, struct trg_event *e)
{
    int r = cuda_enter(q->device);

    if (r < 0)
        return r;
    if (!e->is_recorded || e->reached)
        return -EINVAL;
    return cuda_check(q->device, cudaStreamWaitEvent(q->cuda, e->cuda, 0), "cudaStreamWaitEvent",
                      q->last);
}
