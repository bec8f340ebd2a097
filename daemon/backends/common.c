/* SPDX-License-Identifier: Apache-2.0 */
#include "common.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void backend_log(const struct backend_log *log, enum trg_level level, const char *format, ...)
{
    char text[1024];
    int n = snprintf(text, sizeof text, "%s: ", log->device);
    va_list args;

    va_start(args, format);
    vsnprintf(text + n, sizeof text - (size_t)n, format, args);
    va_end(args);
    log->host->log(log->host->ctx, level, text);
}

uint32_t backend_entries(const struct trg_program *p)
{
    uint32_t n = 0;

    while (p->host->entries && p->host->entries[n].name)
        n++;
    return n;
}

int64_t backend_find(const struct backend_log *log, const struct trg_program *p, const char *name)
{
    const uint32_t n = backend_entries(p);

    for (uint32_t i = 0; i < n; i++)
        if (strcmp(p->host->entries[i].name, name) == 0)
            return i;
    backend_log(log, TRG_ERROR, "program \"%s\" has no kernel \"%s\"", p->name, name);
    return -ENOENT;
}

int backend_check_range(const struct backend_log *log, const char *call, size_t room, size_t at,
                        size_t bytes)
{
    if (at <= room && bytes <= room - at)
        return 0;
    backend_log(log, TRG_ERROR, "%s of %zu bytes at %zu is outside of a buffer of %zu", call, bytes,
                at, room);
    return -EINVAL;
}

int backend_check_fill(const struct backend_log *log, size_t room, size_t at, size_t bytes)
{
    if (at % 4 == 0 && bytes % 4 == 0)
        return backend_check_range(log, "fill", room, at, bytes);
    backend_log(log, TRG_ERROR, "fill of %zu bytes at %zu: both must be multiples of 4", bytes, at);
    return -EINVAL;
}

int backend_check_launch(const struct backend_log *log, const struct trg_host_entry *entry,
                         uint32_t group_max, struct trg_range r, const struct trg_arg *args,
                         uint32_t n_args)
{
    const uint32_t n = entry->n_buffers;
    uint32_t i = 0;

    if (!r.group_size || r.group_size > group_max) {
        backend_log(log, TRG_ERROR, "kernel \"%s\": group size %u, allowed are 1 to %u",
                    entry->name, r.group_size, group_max);
        return -EINVAL;
    }
    while (n_args == n + 1 && i < n && args[i].buf)
        i++;
    if (n_args == n + 1 && i == n && !args[n].buf && args[n].size == entry->value_bytes)
        return 0;
    backend_log(
        log, TRG_ERROR,
        "kernel \"%s\": argument %u of %u is wrong; it takes %u buffers, then a value of %u bytes",
        entry->name, i + 1, n_args, n, entry->value_bytes);
    return -EINVAL;
}
