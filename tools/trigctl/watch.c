/* SPDX-License-Identifier: Apache-2.0 */
/* Every object of a device begins with a pointer to its backend's table of functions.  The watch
 * puts its own copy of that table, with the making and freeing functions replaced, into the device,
 * and into all that is made from it. */
#include "watch.h"

#include <stdio.h>
#include <string.h>

#define LIVE_MAX 4096u

static struct {
    struct trg_device *device;
    const struct trg_device_ops *real;
    struct trg_device_ops ops;
    const void *live[LIVE_MAX];
    struct watch_counts n;
    uint32_t fail_at;
} w;

static bool must_fail(const char *call)
{
    if (++w.n.calls != w.fail_at)
        return false;
    snprintf(w.n.failed_at, sizeof w.n.failed_at, "%s", call);
    return true;
}

static void born(void *object)
{
    ((struct trg_object *)object)->ops = &w.ops;
    if (w.n.live == LIVE_MAX)
        w.n.overflowed = true;
    else
        w.live[w.n.live++] = object;
}

/* Whether the backend may free it. */
static bool dies(const void *object)
{
    for (uint32_t i = 0; i < w.n.live; i++) {
        if (w.live[i] != object)
            continue;
        w.live[i] = w.live[--w.n.live];
        return true;
    }
    w.n.bad_frees += !w.n.overflowed;
    return w.n.overflowed;
}

static int buffer_new(struct trg_device *d, enum trg_mem mem, size_t bytes,
                      struct trg_buffer **ret_buffer)
{
    int r = must_fail(mem == TRG_MEM_PINNED ? "a pinned buffer" : "a device buffer")
                ? -ENOMEM
                : w.real->buffer_new(d, mem, bytes, ret_buffer);

    if (r == 0)
        born(*ret_buffer);
    return r;
}

static int module_new(struct trg_device *d, const struct trg_program *p, const char *options,
                      struct trg_module **ret_module)
{
    int r = must_fail("a module") ? -ENOMEM : w.real->module_new(d, p, options, ret_module);

    if (r == 0)
        born(*ret_module);
    return r;
}

static int kernel_get(struct trg_module *m, const char *name, struct trg_kernel **ret_kernel)
{
    return must_fail("a kernel") ? -ENOMEM : w.real->kernel_get(m, name, ret_kernel);
}

static int queue_new(struct trg_device *d, struct trg_queue **ret_queue)
{
    int r = must_fail("a queue") ? -ENOMEM : w.real->queue_new(d, ret_queue);

    if (r == 0)
        born(*ret_queue);
    return r;
}

static int event_new(struct trg_device *d, struct trg_event **ret_event)
{
    int r = must_fail("an event") ? -ENOMEM : w.real->event_new(d, ret_event);

    if (r == 0)
        born(*ret_event);
    return r;
}

static int guest_queue_new(struct trg_device *d, uint32_t percent, struct trg_queue **ret_queue)
{
    int r = must_fail("a guest's queue") ? -ENOMEM : w.real->guest_queue_new(d, percent, ret_queue);

    if (r == 0)
        born(*ret_queue);
    return r;
}

static void buffer_free(struct trg_buffer *b)
{
    if (dies(b))
        w.real->buffer_free(b);
}

static void module_free(struct trg_module *m)
{
    if (dies(m))
        w.real->module_free(m);
}

static void queue_free(struct trg_queue *q)
{
    if (dies(q))
        w.real->queue_free(q);
}

static void event_free(struct trg_event *e)
{
    if (dies(e))
        w.real->event_free(e);
}

void watch_begin(struct trg_device *d)
{
    size_t bytes = trg_ops(d)->size;

    memset(&w, 0, sizeof w);
    w.device = d;
    w.real = trg_ops(d);
    memcpy(&w.ops, w.real, bytes < sizeof w.ops ? bytes : sizeof w.ops);
    w.ops.buffer_new = buffer_new;
    w.ops.module_new = module_new;
    w.ops.kernel_get = kernel_get;
    w.ops.queue_new = queue_new;
    w.ops.event_new = event_new;
    if (w.ops.guest_queue_new)
        w.ops.guest_queue_new = guest_queue_new;
    w.ops.buffer_free = buffer_free;
    w.ops.module_free = module_free;
    w.ops.queue_free = queue_free;
    w.ops.event_free = event_free;
    ((struct trg_object *)(void *)d)->ops = &w.ops;
}

void watch_end(void)
{
    ((struct trg_object *)(void *)w.device)->ops = w.real;
    w.device = NULL;
}

void watch_fail(uint32_t n)
{
    w.n.calls = 0;
    w.n.failed_at[0] = '\0';
    w.fail_at = n;
}

struct watch_counts watch_counts(void)
{
    return w.n;
}
