/* SPDX-License-Identifier: Apache-2.0 */
#include "plugin/plugin_host.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "log.h"
#include "plugin/inspector.h"
#include "plugin/plugin_file.h"
#include "plugin/plugin_inner.h"
#include "plugin/trusted.h"
#include "refuse.h"

#define HEADER_BYTES offsetof(struct trg_plugin, name) /* what every ABI begins with */

struct plugin_host {
    char **paths;
    uint32_t n_paths;
    struct inspector *inspector;
    bool is_guarded;
    pthread_mutex_t lock; /* of the list; reloads and the operator look for plugins as well */
    struct entry {        /* a loaded plugin stays where it is: others point to it */
        struct entry *next;
        struct plugin_host *host;
        struct stat file; /* as it was when it was loaded */
        uint32_t n_users; /* callers that have it */
        bool is_old;      /* the file has changed, a newer version is loaded */
        char *refused;    /* why it cannot be used; it stays, since code is never unloaded */
        void *block;      /* what a descriptor that was sent points to */
        struct plugin plugin;
    } * first;
};

int plugin_host_new(char *const *paths, uint32_t n_paths, struct plugin_host **ret_host)
{
    struct plugin_host *h = calloc(1, sizeof *h);

    if (!h)
        return -ENOMEM;
    pthread_mutex_init(&h->lock, NULL);
    h->paths = calloc(n_paths + 1u, sizeof *h->paths);
    for (uint32_t i = 0; h->paths && i < n_paths; i++) {
        h->paths[i] = strdup(paths[i]);
        if (!h->paths[i])
            break;
        h->n_paths++;
    }
    if (!h->paths || h->n_paths < n_paths) {
        plugin_host_free(h);
        return -ENOMEM;
    }
    *ret_host = h;
    return 0;
}

void plugin_host_guard(struct plugin_host *h)
{
    h->is_guarded = true;
}

void plugin_host_free(struct plugin_host *h)
{
    if (!h)
        return;
    while (h->first) {
        struct entry *e = h->first;

        h->first = e->next;
        if (e->block && e->plugin.fd >= 0)
            close(e->plugin.fd);
        free(e->block);
        free(e->refused);
        free(e); /* the file descriptor of loaded code stays, as that does */
    }
    for (uint32_t i = 0; h->paths && i < h->n_paths; i++)
        free(h->paths[i]);
    free(h->paths);
    inspector_free(h->inspector);
    pthread_mutex_destroy(&h->lock);
    free(h);
}

int plugin_host_inspect(struct plugin_host *h, uint32_t answer_ms)
{
    return inspector_new(answer_ms, &h->inspector);
}

/* ---------------------------------------------------------------- opening */

static int copy_descriptor(const struct trg_plugin *d, struct plugin *p, char *why, size_t bytes)
{
    if (d->abi != TRG_PLUGIN_ABI)
        return refuse(why, bytes, "it was built for plugin ABI %u; this daemon speaks ABI %u",
                      d->abi, TRG_PLUGIN_ABI);
    if (d->size < HEADER_BYTES || d->size % sizeof(uint32_t))
        return refuse(why, bytes, "its descriptor has %u bytes; this daemon knows %zu", d->size,
                      sizeof p->d);
    memcpy(&p->d, d, d->size < sizeof p->d ? d->size : sizeof p->d);
    p->has_check = p->d.check != NULL;
    p->has_device_output = p->d.device_output != NULL;
    return 0;
}

static void add(struct plugin_host *h, struct entry *e, int fd, const struct stat *file)
{
    e->plugin.fd = fd;
    e->host = h;
    e->file = *file;
    e->next = h->first;
    h->first = e;
}

/* Loads the code into this process.  The loader knows what it has opened by the number of the
 * descriptor, so that only one that was not opened may be closed. */
static int load_here(struct plugin_host *h, int fd, struct entry *e, const struct stat *file,
                     char *why, size_t bytes)
{
    void *so = plugin_file_load(fd);
    const struct trg_plugin *d;
    int r = -EINVAL;

    if (!so) {
        const char *told = dlerror(), *behind = strstr(told, ": "); /* the name of the copy */

        snprintf(why, bytes, "%s", behind ? behind + 2 : told);
        close(fd);
        free(e);
        return -EINVAL;
    }
    add(h, e, fd, file);
    if (!(d = dlsym(so, TRG_PLUGIN_SYMBOL)))
        snprintf(why, bytes, "it exports no '" TRG_PLUGIN_SYMBOL "'");
    else if ((r = copy_descriptor(d, &e->plugin, why, bytes)) == 0 &&
             (r = plugin_check_code(&e->plugin.d, why, bytes)) == 0)
        r = plugin_check_tables(&e->plugin, why, bytes);
    if (r < 0)
        e->refused = strdup(why);
    return r;
}

/* Has the inspector load it. */
static int load_there(struct plugin_host *h, int fd, struct entry *e, const struct stat *file,
                      char *why, size_t bytes)
{
    int r = inspector_describe(h->inspector, fd, &e->plugin, &e->block, why, bytes);

    if (r == 0)
        r = plugin_check_tables(&e->plugin, why, bytes);
    if (r < 0) {
        close(fd);
        free(e->block);
        free(e);
        return r;
    }
    e->plugin.inspector = h->inspector;
    add(h, e, fd, file);
    return 0;
}

/* Takes a private copy over and loads it. */
static int load(struct plugin_host *h, int fd, const char *path, const struct stat *file,
                struct entry **ret_entry, char *why, size_t bytes)
{
    struct entry *e = calloc(1, sizeof *e);
    char inner[1024];
    int r;

    if (!e) {
        close(fd);
        return -ENOMEM;
    }
    snprintf(e->plugin.path, sizeof e->plugin.path, "%s", path);
    r = h->inspector ? load_there(h, fd, e, file, inner, sizeof inner)
                     : load_here(h, fd, e, file, inner, sizeof inner);
    if (r < 0) {
        snprintf(why, bytes, "%s cannot be used: %s", path, inner);
        return r;
    }
    *ret_entry = e;
    log_info("plugins", "plugin loaded", "plugin=%s version=\"%s\" file=\"%s\"", e->plugin.d.name,
             e->plugin.d.version, path);
    return 0;
}

static struct entry *find(const struct plugin_host *h, const char *path)
{
    for (struct entry *e = h->first; e; e = e->next)
        if (!e->is_old && !e->refused && !strcmp(e->plugin.path, path))
            return e;
    return NULL;
}

/* Why this very file was refused before; NULL: it was not. */
static const char *was_refused(const struct plugin_host *h, const char *path,
                               const struct stat *file)
{
    for (const struct entry *e = h->first; e; e = e->next)
        if (e->refused && !strcmp(e->plugin.path, path) && plugin_file_is_same(&e->file, file))
            return e->refused;
    return NULL;
}

/* Closes the private copy of a version that no menu has any more; what describes it stays, since
 * the operator may be reading it. */
static void close_old(struct entry *e)
{
    if (!e->is_old || e->n_users || !e->block || e->plugin.fd < 0)
        return;
    close(e->plugin.fd);
    e->plugin.fd = -1;
}

/* A private copy of a file that may be loaded. */
static int copy_file(const struct plugin_host *h, const char *real, int *ret_fd, char *why,
                     size_t bytes)
{
    char inner[1024];
    int r = h->is_guarded ? trusted_file(real, inner, sizeof inner) : 0;

    if (r >= 0) {
        r = plugin_file_copy(real, ret_fd);
        snprintf(inner, sizeof inner, "%s", strerror(-r));
    }
    if (r < 0) {
        snprintf(why, bytes, "%s cannot be used: %s", real, inner);
        return r;
    }
    if (!plugin_file_is_cut(*ret_fd))
        return 0;
    close(*ret_fd);
    return refuse(why, bytes, "%s cannot be used: its end is missing", real);
}

static int open_once(struct plugin_host *h, const char *file, const struct plugin **ret_plugin,
                     char *why, size_t why_bytes)
{
    char real[4096];
    struct stat now;
    struct entry *before, *e;
    int fd, r;

    if (!realpath(file, real) || stat(real, &now) < 0) {
        snprintf(why, why_bytes, "there is no file %s", file);
        return -ENOENT;
    }
    before = find(h, real);
    if (before && plugin_file_is_same(&before->file, &now)) {
        before->n_users++;
        *ret_plugin = &before->plugin;
        return 0;
    }
    if (was_refused(h, real, &now)) {
        snprintf(why, why_bytes, "%s cannot be used: %s", real, was_refused(h, real, &now));
        return -EINVAL;
    }
    r = copy_file(h, real, &fd, why, why_bytes);
    if (r < 0)
        return r;
    r = load(h, fd, real, &now, &e, why, why_bytes);
    if (r < 0)
        return r;
    if (before) {
        before->is_old = true;
        close_old(before);
    }
    e->n_users = 1;
    *ret_plugin = &e->plugin;
    return 0;
}

static int open_copy(struct plugin_host *h, int fd, const char *path,
                     const struct plugin **ret_plugin, char *why, size_t why_bytes)
{
    struct entry *e = find(h, path);
    struct stat copy;
    int mine, r;

    if (fstat(fd, &copy) < 0)
        return -errno;
    if (e && plugin_file_is_same(&e->file, &copy)) {
        *ret_plugin = &e->plugin;
        return 0;
    }
    mine = fcntl(fd, F_DUPFD_CLOEXEC, 0);
    if (mine < 0)
        return -errno;
    r = load(h, mine, path, &copy, &e, why, why_bytes);
    if (r == 0)
        *ret_plugin = &e->plugin;
    return r;
}

/* Plugins that went by another name, for menus that still have it. */
static const struct {
    const char *was, *is;
} renamed[] = {{"kdtree", "doublets"}};

static void tell_paths(const struct plugin_host *h, const char *name, char *why, size_t bytes)
{
    size_t n = (size_t)snprintf(why, bytes, "there is no plugin '%s' (%s.so) in", name, name);

    for (uint32_t i = 0; i < h->n_paths && n < bytes; i++)
        n += (size_t)snprintf(why + n, bytes - n, "%s %s", i ? "," : "", h->paths[i]);
    if (!h->n_paths && n < bytes)
        n += (size_t)snprintf(why + n, bytes - n, " an empty plugin_path");
    for (size_t i = 0; i < sizeof renamed / sizeof *renamed && n < bytes; i++)
        if (!strcmp(name, renamed[i].was))
            n += (size_t)snprintf(why + n, bytes - n, "; it is called '%s' now", renamed[i].is);
}

static int get(struct plugin_host *h, const char *name, const struct plugin **ret_plugin, char *why,
               size_t why_bytes)
{
    char file[4096];

    if (!plugin_is_name(name)) {
        snprintf(why, why_bytes, "'%s' is no plugin name: lower-case letters, digits and _", name);
        return -ENOENT;
    }
    for (uint32_t i = 0; i < h->n_paths; i++) {
        snprintf(file, sizeof file, "%s/%s.so", h->paths[i], name);
        if (access(file, F_OK) == 0)
            return open_once(h, file, ret_plugin, why, why_bytes);
    }
    tell_paths(h, name, why, why_bytes);
    return -ENOENT;
}

int plugin_host_open(struct plugin_host *h, const char *file, const struct plugin **ret_plugin,
                     char *why, size_t why_bytes)
{
    int r;

    pthread_mutex_lock(&h->lock);
    r = open_once(h, file, ret_plugin, why, why_bytes);
    pthread_mutex_unlock(&h->lock);
    return r;
}

int plugin_host_open_copy(struct plugin_host *h, int fd, const char *path,
                          const struct plugin **ret_plugin, char *why, size_t why_bytes)
{
    int r;

    pthread_mutex_lock(&h->lock);
    r = open_copy(h, fd, path, ret_plugin, why, why_bytes);
    pthread_mutex_unlock(&h->lock);
    return r;
}

int plugin_host_get(struct plugin_host *h, const char *name, const struct plugin **ret_plugin,
                    char *why, size_t why_bytes)
{
    int r;

    pthread_mutex_lock(&h->lock);
    r = get(h, name, ret_plugin, why, why_bytes);
    pthread_mutex_unlock(&h->lock);
    return r;
}

void plugin_release(const struct plugin *p)
{
    struct entry *e;

    if (!p)
        return;
    e = (struct entry *)((uintptr_t)p - offsetof(struct entry, plugin));
    pthread_mutex_lock(&e->host->lock);
    e->n_users--;
    close_old(e);
    pthread_mutex_unlock(&e->host->lock);
}

int plugin_check(const struct plugin *p, const void *params, char *why, size_t why_bytes)
{
    if (p->has_check && p->inspector)
        return inspector_check(p->inspector, p, params, why, why_bytes);
    return p->d.check ? p->d.check(params, why, why_bytes) : 0;
}

bool plugin_runs_on(const struct plugin *p, const char *backend)
{
    const char *found = strstr(p->d.backends, backend);
    const size_t n = strlen(backend);

    return found && (found[n] == '\0' || found[n] == ' ');
}

const struct plugin *plugin_host_next(struct plugin_host *h, const struct plugin *p)
{
    const struct entry *e;

    pthread_mutex_lock(&h->lock);
    e = h->first;
    while (p && e && &e->plugin != p)
        e = e->next;
    if (p && e)
        e = e->next;
    while (e && (e->is_old || e->refused))
        e = e->next;
    pthread_mutex_unlock(&h->lock);
    return e ? &e->plugin : NULL;
}
