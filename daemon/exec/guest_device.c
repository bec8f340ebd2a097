/* SPDX-License-Identifier: Apache-2.0 */
#include "exec/guest_device.h"

#include <stdio.h>
#include <stdlib.h>

struct trg_device {
    struct trg_object object;
    struct trg_device *real;
    const struct trg_host *host;
    uint64_t most, bytes;
};

static void guest_info(struct trg_device *d, struct trg_device_info *ret_info)
{
    trg_device_info(d->real, ret_info);
}

static void guest_close(struct trg_device *d)
{
    free(d);
}

static int guest_buffer_new(struct trg_device *d, enum trg_mem mem, size_t bytes,
                            struct trg_buffer **ret_buffer)
{
    char text[128];
    int r;

    if (bytes > d->most - d->bytes) {
        snprintf(text, sizeof text,
                 "a guest asks for %zu bytes and has %llu; its memory_mbytes allow %llu", bytes,
                 (unsigned long long)d->bytes, (unsigned long long)d->most);
        d->host->log(d->host->ctx, TRG_ERROR, text);
        return -ENOMEM;
    }
    r = trg_buffer_new(d->real, mem, bytes, ret_buffer);
    if (r == 0)
        d->bytes += bytes;
    return r;
}

static int guest_module_new(struct trg_device *d, const struct trg_program *p, const char *options,
                            struct trg_module **ret_module)
{
    return trg_module_new(d->real, p, options, ret_module);
}

static int guest_queue_new(struct trg_device *d, struct trg_queue **ret_queue)
{
    return trg_guest_queue_new(d->real, 0, ret_queue);
}

static int guest_part_new(struct trg_device *d, uint32_t percent, struct trg_queue **ret_queue)
{
    return trg_guest_queue_new(d->real, percent, ret_queue);
}

static int guest_event_new(struct trg_device *d, struct trg_event **ret_event)
{
    return trg_event_new(d->real, ret_event);
}

/* What is called with a device; the rest is called with what the real one made. */
static const struct trg_device_ops ops = {.size = sizeof ops,
                                          .info = guest_info,
                                          .close = guest_close,
                                          .buffer_new = guest_buffer_new,
                                          .module_new = guest_module_new,
                                          .queue_new = guest_queue_new,
                                          .event_new = guest_event_new,
                                          .guest_queue_new = guest_part_new};

int guest_device_new(struct trg_device *real, const struct trg_host *host, uint64_t most_bytes,
                     struct trg_device **ret_device)
{
    struct trg_device *d = calloc(1, sizeof *d);

    if (!d)
        return -ENOMEM;
    *d = (struct trg_device){.object.ops = &ops, .real = real, .host = host, .most = most_bytes};
    *ret_device = d;
    return 0;
}

uint64_t guest_device_bytes(const struct trg_device *d)
{
    return d->bytes;
}
