/* SPDX-License-Identifier: Apache-2.0 */
/* Events of the CUDA backend, and marks: words of pinned memory into which the device writes, in
 * the order of the stream, a number that the host looks for.  The driver has one lock for those who
 * ask it for an event and those who enqueue; who looks at a mark takes it seldom, for errors alone.
 */
#include <stdlib.h>
#include <time.h>

#include "cuda.h"

#define LOOKS  256u  /* at a mark that was not reached, for each at the driver's error */
#define NAP_NS 10000 /* of those who wait for a mark */

static int new_event(struct trg_device *d, struct trg_event **ret_event)
{
    struct trg_event *e;
    int r = cuda_enter(d);

    if (r < 0)
        return r;
    e = calloc(1, sizeof *e);
    if (!e)
        return -ENOMEM;
    e->object.ops = d->object.ops;
    e->device = d;
    *ret_event = e;
    return 0;
}

int cuda_event_new(struct trg_device *d, struct trg_event **ret_event)
{
    struct trg_event *e = NULL;
    int r = new_event(d, &e);

    if (r == 0)
        r = cuda_check(d, cudaEventCreate(&e->cuda), "cudaEventCreate", NULL);
    if (r == 0)
        *ret_event = e;
    else
        free(e);
    return r;
}

int cuda_mark_new(struct trg_device *d, struct trg_event **ret_mark)
{
    struct trg_event *e = NULL;
    void *word = NULL;
    int r = new_event(d, &e);

    if (r == 0)
        r = cuda_check(d, cudaHostAlloc(&word, sizeof *e->reached, cudaHostAllocPortable),
                       "cudaHostAlloc", "a mark");
    if (r < 0) {
        free(e);
        return r;
    }
    e->reached = word;
    atomic_init(e->reached, 0);
    *ret_mark = e;
    return 0;
}

void cuda_event_free(struct trg_event *e)
{
    if (cuda_enter(e->device) == 0) {
        if (e->reached)
            cuda_check(e->device, cudaFreeHost(e->reached), "cudaFreeHost", "a mark");
        else
            cuda_check(e->device, cudaEventDestroy(e->cuda), "cudaEventDestroy", NULL);
    }
    free(e);
}

static int query_mark(struct trg_event *e)
{
    cudaError_t code;

    if (atomic_load_explicit(e->reached, memory_order_acquire) == e->number)
        return 0;
    if (++e->looks % LOOKS)
        return -EAGAIN;
    code = cudaStreamQuery(e->stream);
    return code == cudaErrorNotReady || code == cudaSuccess
               ? -EAGAIN
               : cuda_check(e->device, code, "cudaStreamQuery", e->last);
}

int cuda_event_query(struct trg_event *e)
{
    cudaError_t code;

    if (!e->is_recorded)
        return -EINVAL;
    if (e->reached)
        return query_mark(e);
    code = cudaEventQuery(e->cuda);
    return code == cudaErrorNotReady ? -EAGAIN
                                     : cuda_check(e->device, code, "cudaEventQuery", e->last);
}

static int wait_for_mark(struct trg_event *e)
{
    const struct timespec nap = {.tv_nsec = NAP_NS};
    int r;

    while ((r = query_mark(e)) == -EAGAIN)
        nanosleep(&nap, NULL);
    return r;
}

int cuda_event_wait(struct trg_event *e)
{
    if (!e->is_recorded)
        return -EINVAL;
    if (e->reached)
        return wait_for_mark(e);
    return cuda_check(e->device, cudaEventSynchronize(e->cuda), "cudaEventSynchronize", e->last);
}

int cuda_event_elapsed(struct trg_event *from, struct trg_event *to, double *ret_us)
{
    float ms = 0;
    cudaError_t code;
    int r;

    if (!from->is_recorded || !to->is_recorded || from->reached || to->reached)
        return -EINVAL;
    code = cudaEventElapsedTime(&ms, from->cuda, to->cuda);
    if (code == cudaErrorNotReady)
        return -EAGAIN;
    r = cuda_check(from->device, code, "cudaEventElapsedTime", to->last);
    if (r == 0)
        *ret_us = (double)ms * 1e3;
    return r;
}
