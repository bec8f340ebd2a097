/* SPDX-License-Identifier: Apache-2.0 */
#include "exec/devices.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "exec/worker_process.h"
#include "log.h"

struct devices {
    struct backends *backends; /* of threads; NULL: the lists below */
    uint32_t n;
    struct {
        char name[16];
        uint32_t n;
        struct trg_device_info info[DEVICES_MAX];
    } backend[BACKENDS_MAX];
};

/* The name in FOLDER/trigd-NAME.so; "" when it is too long for one. */
static void name_of(const char *file, char *name, size_t bytes)
{
    const char *from = strrchr(file, '/') ? strrchr(file, '/') + 1 : file;
    const size_t n = strlen(from) - strlen("trigd-") - strlen(".so");

    name[0] = '\0';
    if (n < bytes)
        snprintf(name, bytes, "%.*s", (int)n, from + strlen("trigd-"));
}

struct probe {
    struct devices *devices;
    const struct worker_base *base;
};

static int probe(void *ctx, const char *file)
{
    const struct probe *p = ctx;
    struct devices *d = p->devices;
    char name[16];
    int n;

    name_of(file, name, sizeof name);
    if (!name[0] || d->n == BACKENDS_MAX) {
        log_warn("devices", "a backend is left out: its name is too long, or there are too many",
                 "file=\"%s\" most=%d", file, BACKENDS_MAX);
        return 0;
    }
    n = worker_process_probe(p->base, name, d->backend[d->n].info, DEVICES_MAX);
    if (n == -EOWNERDEAD) {
        log_error("devices", "a backend is left out: the process that opened its devices ended",
                  "backend=%s file=\"%s\"", name, file);
        return 0;
    }
    if (n < 0) {
        log_error("devices", "a backend is left out", "backend=%s error=\"%s\"", name,
                  strerror(-n));
        return 0;
    }
    memcpy(d->backend[d->n].name, name, sizeof name);
    d->backend[d->n++].n = (uint32_t)n;
    return 0;
}

int devices_open(const struct worker_base *base, struct devices **ret_devices)
{
    struct devices *d = calloc(1, sizeof *d);
    int r;

    if (!d)
        return -ENOMEM;
    *ret_devices = d;
    if (!base->is_process) {
        d->backends = base->backends;
        return 0;
    }
    r = backends_files(base->config->backend_path, probe,
                       &(struct probe){.devices = d, .base = base});
    if (r == 0 && !d->n)
        log_warn("devices", "no backend could be opened", "folder=\"%s\"",
                 base->config->backend_path);
    return r;
}

void devices_close(struct devices *d)
{
    free(d);
}

uint32_t devices_backends(const struct devices *d)
{
    return d->backends ? backends_count(d->backends) : d->n;
}

const char *devices_backend(const struct devices *d, uint32_t i, uint32_t *ret_devices)
{
    if (d->backends)
        return backends_name(d->backends, i, ret_devices);
    *ret_devices = d->backend[i].n;
    return d->backend[i].name;
}

uint32_t devices_count(const struct devices *d, const char *backend)
{
    if (d->backends)
        return backends_devices(d->backends, backend);
    for (uint32_t i = 0; i < d->n; i++)
        if (!strcmp(d->backend[i].name, backend))
            return d->backend[i].n;
    return 0;
}

int devices_info(const struct devices *d, const char *backend, uint32_t index,
                 struct trg_device_info *ret_info)
{
    struct trg_device *device;
    int r;

    if (d->backends) {
        r = backends_device(d->backends, backend, index, &device);
        if (r == 0)
            trg_device_info(device, ret_info);
        return r;
    }
    for (uint32_t i = 0; i < d->n; i++) {
        if (strcmp(d->backend[i].name, backend))
            continue;
        if (index >= d->backend[i].n)
            return -ENODEV;
        *ret_info = d->backend[i].info[index];
        return 0;
    }
    return -ENOENT;
}
