/* SPDX-License-Identifier: Apache-2.0 */
/* The device backends of a folder and the devices opened through them. */
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "log.h"
#include "plugin/plugin_host.h"

#define DEVICES_MAX  64u
#define BACKEND_HEAD "trigd-" /* then its name */
#define BACKEND_TAIL ".so"

struct backends {
    const struct trg_host *host;
    pthread_mutex_t lock; /* a reload opens devices beside readers of the list */
    uint32_t n;
    struct {
        const struct trg_backend *b;
        uint32_t n_devices;
        struct trg_device *device[DEVICES_MAX]; /* NULL until first asked for */
    } list[BACKENDS_MAX];
};

static int is_backend(const struct dirent *e)
{
    const size_t n = strlen(e->d_name);

    return n > strlen(BACKEND_HEAD BACKEND_TAIL) &&
           !strncmp(e->d_name, BACKEND_HEAD, strlen(BACKEND_HEAD)) &&
           !strcmp(e->d_name + n - strlen(BACKEND_TAIL), BACKEND_TAIL);
}

/* scandir and not glob: that of glibc frees a name twice when memory ends. */
int backends_files(const char *folder, int (*fn)(void *ctx, const char *path), void *ctx)
{
    struct dirent **entry = NULL;
    const int n = scandir(folder, &entry, is_backend, alphasort);
    char path[4096];
    int r = n < 0 && errno == ENOMEM ? -ENOMEM : 0;

    for (int i = 0; i < n; i++) {
        snprintf(path, sizeof path, "%s/%s", folder, entry[i]->d_name);
        if (r == 0)
            r = fn(ctx, path);
        free(entry[i]);
    }
    free(entry);
    return r;
}

static void skip(const char *file, const char *why)
{
    struct log_site site = {0}; /* every file is told */

    log_line(&site, TRG_INFO, "backends", "backend left out", "file=\"%s\" why=\"%s\"", file, why);
}

static void add(struct backends *b, const char *file)
{
    const struct trg_backend *t;
    void *so = dlopen(file, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    uint32_t n = 0;
    char why[160];
    int r;

    if (!so) {
        skip(file, dlerror());
        return;
    }
    t = dlsym(so, TRG_BACKEND_SYMBOL);
    if (!t) {
        skip(file, "it exports no '" TRG_BACKEND_SYMBOL "'");
    } else if (t->abi != TRG_BACKEND_ABI || t->size < sizeof *t) {
        snprintf(why, sizeof why, "it has backend ABI %u and %u bytes; needed are ABI %u and %zu",
                 t->abi, t->size, TRG_BACKEND_ABI, sizeof *t);
        skip(file, why);
    } else if (b->n == BACKENDS_MAX) {
        skip(file, "too many backends");
    } else if ((r = t->count(b->host, &n)) < 0) {
        skip(file, strerror(-r));
    } else {
        b->list[b->n].b = t;
        b->list[b->n++].n_devices = n < DEVICES_MAX ? n : DEVICES_MAX;
        log_info("backends", "backend opened", "backend=%s devices=%u", t->name, n);
    }
}

struct wanted {
    struct backends *backends;
    char file[32]; /* "": all */
};

static int add_wanted(void *ctx, const char *path)
{
    const struct wanted *w = ctx;

    if (!w->file[0] || !strcmp(strrchr(path, '/') + 1, w->file))
        add(w->backends, path);
    return 0;
}

int backends_open(const char *folder, const char *only, const struct trg_host *host,
                  struct backends **ret_backends)
{
    struct backends *b = calloc(1, sizeof *b);
    struct wanted w = {.backends = b};
    int r;

    if (!b)
        return -ENOMEM;
    b->host = host;
    pthread_mutex_init(&b->lock, NULL);
    if (only)
        snprintf(w.file, sizeof w.file, BACKEND_HEAD "%s" BACKEND_TAIL, only);
    r = backends_files(folder, add_wanted, &w);
    if (r < 0) {
        backends_close(b);
        return r;
    }
    if (!b->n)
        log_warn("backends", "no backend could be opened", "folder=\"%s\"", folder);
    *ret_backends = b;
    return 0;
}

void backends_close(struct backends *b)
{
    if (!b)
        return;
    for (uint32_t i = 0; i < b->n; i++)
        for (uint32_t k = 0; k < DEVICES_MAX; k++)
            trg_device_close(b->list[i].device[k]);
    pthread_mutex_destroy(&b->lock);
    free(b);
}

int backends_device(struct backends *b, const char *backend, uint32_t index,
                    struct trg_device **ret_device)
{
    int r = -ENOENT;

    for (uint32_t i = 0; i < b->n; i++) {
        if (strcmp(b->list[i].b->name, backend))
            continue;
        if (index >= b->list[i].n_devices)
            return -ENODEV;
        pthread_mutex_lock(&b->lock);
        r = 0;
        if (!b->list[i].device[index])
            r = b->list[i].b->open(b->host, index, &b->list[i].device[index]);
        if (r == 0)
            *ret_device = b->list[i].device[index];
        pthread_mutex_unlock(&b->lock);
        return r;
    }
    return r;
}

uint32_t backends_devices(const struct backends *b, const char *backend)
{
    for (uint32_t i = 0; i < b->n; i++)
        if (!strcmp(b->list[i].b->name, backend))
            return b->list[i].n_devices;
    return 0;
}

uint32_t backends_count(const struct backends *b)
{
    return b->n;
}

const char *backends_name(const struct backends *b, uint32_t i, uint32_t *ret_devices)
{
    *ret_devices = b->list[i].n_devices;
    return b->list[i].b->name;
}
