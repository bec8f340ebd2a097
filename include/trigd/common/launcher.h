/* SPDX-License-Identifier: Apache-2.0 */
/* trigd/common/launcher.h - enqueues the work of a batch on its queue.  The first error stays:
 * nothing is enqueued behind it, and `result` has it in the end.  C only.
 *
 *     struct launcher l = launcher_on(q, &a->device);
 *
 *     LAUNCH(&l, a->count, b->n_rois, 64, par, b->in[0].dev, counts);
 *     launcher_read(&l, counts_host, counts, bytes);
 *     return l.result;
 */
#ifndef TRGP_LAUNCHER_H
#define TRGP_LAUNCHER_H
#include "trigd/common/version.h"
#include "trigd/device.h"

struct launcher {
    struct trg_queue *q;
    uint32_t group_max; /* work-items of a group on this device, at most */
    int result;         /* 0, or the first negative errno */
};

static inline struct launcher launcher_on(struct trg_queue *q, const struct trg_device_info *device)
{
    return (struct launcher){.q = q, .group_max = device->group_max};
}

/* Inside of LAUNCH: n buffers, then the value. */
static inline void launcher_run(struct launcher *l, struct trg_kernel *kernel,
                                struct trg_range range, struct trg_arg value,
                                struct trg_buffer *const *buffers, uint32_t n)
{
    struct trg_arg args[TRG_ARGS_MAX];

    if (l->result < 0)
        return;
    for (uint32_t i = 0; i < n; i++)
        args[i] = TRG_BUF(buffers[i]);
    args[n] = value;
    if (range.group_size > l->group_max)
        range.group_size = l->group_max;
    l->result = trg_launch(l->q, kernel, range, args, n + 1);
}

/* Launches `groups` groups of `size` work-items, or of as many as the device has: the buffers are
 * the kernel's pointers in their order, `par` is its last argument. */
#define LAUNCH(l, kernel, groups, size, par, ...)                           \
    launcher_run(l, kernel, (struct trg_range){groups, size}, TRG_VAL(par), \
                 (struct trg_buffer *const[]){__VA_ARGS__},                 \
                 sizeof((struct trg_buffer *const[]){__VA_ARGS__}) / sizeof(struct trg_buffer *))

/* `bytes` from offset `at` of a device buffer, to the start of a buffer on the host and from it. */
static inline void launcher_read_at(struct launcher *l, struct trg_buffer *host,
                                    struct trg_buffer *device, size_t at, size_t bytes)
{
    if (l->result == 0)
        l->result = trg_read(l->q, host, 0, device, at, bytes);
}

static inline void launcher_write_at(struct launcher *l, struct trg_buffer *device, size_t at,
                                     struct trg_buffer *host, size_t bytes)
{
    if (l->result == 0)
        l->result = trg_write(l->q, device, at, host, 0, bytes);
}

/* The first `bytes` of a device buffer, to its twin on the host and from it. */
static inline void launcher_read(struct launcher *l, struct trg_buffer *host,
                                 struct trg_buffer *device, size_t bytes)
{
    launcher_read_at(l, host, device, 0, bytes);
}

static inline void launcher_write(struct launcher *l, struct trg_buffer *device,
                                  struct trg_buffer *host, size_t bytes)
{
    launcher_write_at(l, device, 0, host, bytes);
}

/* Zeroes the first `bytes` of a device buffer. */
static inline void launcher_clear(struct launcher *l, struct trg_buffer *device, size_t bytes)
{
    if (l->result == 0)
        l->result = trg_fill(l->q, device, 0, bytes, 0);
}

/* Waits until the queue has passed all of it; `result`. */
static inline int launcher_finish(struct launcher *l)
{
    if (l->result == 0)
        l->result = trg_finish(l->q);
    return l->result;
}
#endif
