/* SPDX-License-Identifier: Apache-2.0 */
#include "plugin/plugin_host.h"

#include <ctype.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "log.h"
#include "plugin/plugin_file.h"
#include "plugin/room.h"

#define HEADER_BYTES offsetof(struct trg_plugin, name) /* what every ABI begins with */

struct plugin_host {
    char **paths;
    uint32_t n_paths;
    pthread_mutex_t lock; /* of the list; reloads and the operator look for plugins as well */
    struct entry {        /* a loaded plugin stays where it is: others point to it */
        struct entry *next;
        struct stat file; /* as it was when it was loaded */
        bool is_old;      /* the file has changed, a newer version is loaded */
        char *refused;    /* why it cannot be used; it stays, since code is never unloaded */
        struct plugin plugin;
    } * first;
};

static int refuse(char *why, size_t bytes, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static int refuse(char *why, size_t bytes, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    vsnprintf(why, bytes, format, args);
    va_end(args);
    return -EINVAL;
}

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

void plugin_host_free(struct plugin_host *h)
{
    if (!h)
        return;
    while (h->first) {
        struct entry *e = h->first;

        h->first = e->next;
        free(e->refused);
        free(e); /* its descriptor stays, as its code does */
    }
    for (uint32_t i = 0; h->paths && i < h->n_paths; i++)
        free(h->paths[i]);
    free(h->paths);
    pthread_mutex_destroy(&h->lock);
    free(h);
}

/* ---------------------------------------------------------------- what a descriptor must be */

static bool is_name(const char *s)
{
    if (!s || !islower((unsigned char)*s) || strlen(s) > 63)
        return false;
    for (; *s; s++)
        if (!islower((unsigned char)*s) && !isdigit((unsigned char)*s) && *s != '_')
            return false;
    return true;
}

/* Gives the declarations of one direction their numbers; `n` is how many there are. */
static int take_kinds(const struct trg_collection *const *declared, uint32_t most, const char *what,
                      uint32_t *kinds, uint32_t *n, char *why, size_t bytes)
{
    for (*n = 0; *n < most && declared[*n]; ++*n)
        if (kind_add(declared[*n], &kinds[*n], why, bytes) < 0)
            return -EINVAL;
    for (uint32_t i = *n; i < most; i++)
        if (declared[i])
            return refuse(why, bytes, "%s[%u] is given and %s[%u] is not; no gaps are allowed",
                          what, i, what, *n);
    return 0;
}

static int check_collections(struct plugin *p, char *why, size_t bytes)
{
    const struct trg_plugin *d = &p->d;

    if (take_kinds(d->consumes, TRG_INPUTS_MAX, "consumes", p->consumes, &p->n_inputs, why, bytes) <
            0 ||
        take_kinds(d->produces, TRG_OUTPUTS_MAX, "produces", p->produces, &p->n_outputs, why,
                   bytes) < 0)
        return -EINVAL;
    if (!p->n_inputs && !(d->flags & TRG_PLUGIN_GUEST))
        return refuse(why, bytes, "it consumes no collection; at least one is needed");
    for (uint32_t i = 0; i < p->n_outputs; i++)
        for (uint32_t k = 0; k < i; k++)
            if (!strcmp(d->produces[i]->name, d->produces[k]->name))
                return refuse(why, bytes, "it produces %s twice", d->produces[i]->name);
    return room_check(d, why, bytes);
}

static int check_conditions(const struct plugin *p, char *why, size_t bytes)
{
    for (const struct trg_condition *c = p->d.conditions; c && c->name; c++)
        if (!is_name(c->name) || !c->help)
            return refuse(why, bytes,
                          "condition '%s' has no help or is not lower-case letters, digits and _",
                          c->name);
    return 0;
}

static int check_values(struct plugin *p, char *why, size_t bytes)
{
    for (const struct trg_value *v = p->d.values; v && v->name; v++) {
        if (!is_name(v->name))
            return refuse(why, bytes, "value '%s' is not lower-case letters, digits and _",
                          v->name);
        if (!v->unit || !v->help)
            return refuse(why, bytes, "value '%s' has no unit or no help", v->name);
        for (const struct trg_value *w = p->d.values; w < v; w++)
            if (!strcmp(v->name, w->name))
                return refuse(why, bytes, "value '%s' is there twice", v->name);
        if (++p->n_values > TRG_VALUES_MAX)
            return refuse(why, bytes, "it has more than %d values", TRG_VALUES_MAX);
    }
    return 0;
}

static int check_param(const struct plugin *p, uint32_t i, char *why, size_t bytes)
{
    const struct trg_param *q = &p->d.params[i];

    if (!is_name(q->name) || !strcmp(q->name, "preset"))
        return refuse(why, bytes,
                      "parameter '%s': a name is lower-case letters, digits and _, and "
                      "not 'preset'",
                      q->name);
    for (uint32_t k = 0; k < i; k++)
        if (!strcmp(q->name, p->d.params[k].name))
            return refuse(why, bytes, "parameter '%s' is there twice", q->name);
    if (q->offset % 4 || q->offset + 4 > p->d.config_size)
        return refuse(why, bytes, "parameter '%s' lies at byte %zu of a config struct of %zu bytes",
                      q->name, q->offset, p->d.config_size);
    if (q->type > TRG_PARAM_CHOICE)
        return refuse(why, bytes, "parameter '%s' has the unknown type %d", q->name, (int)q->type);
    if (!q->dflt || !q->unit || !q->help)
        return refuse(why, bytes, "parameter '%s' lacks a default, a unit or a help", q->name);
    if ((q->type == TRG_PARAM_CHOICE) != (q->choices && *q->choices))
        return refuse(why, bytes,
                      "parameter '%s': choices are for the type CHOICE, and needed there", q->name);
    if ((q->type == TRG_PARAM_U32 || q->type == TRG_PARAM_F32) && !(q->min <= q->max))
        return refuse(why, bytes, "parameter '%s' has min %g above max %g", q->name, q->min,
                      q->max);
    return 0;
}

/* Tables must hold together before plugin_set may walk them; then it judges the defaults. */
static int check_params(struct plugin *p, char *why, size_t bytes)
{
    uint32_t params[1024], n = 0;
    char inner[256];

    if (p->d.config_size > sizeof params)
        return refuse(why, bytes, "its config struct has %zu bytes; at most %zu are allowed",
                      p->d.config_size, sizeof params);
    for (; p->d.params && p->d.params[n].name; n++)
        if (check_param(p, n, why, bytes) < 0)
            return -EINVAL;
    p->n_params = n;
    memset(params, 0, sizeof params);
    for (uint32_t i = 0; i < n; i++)
        if (plugin_set(p, p->d.params[i].name, p->d.params[i].dflt, params, inner, sizeof inner) <
            0)
            return refuse(why, bytes, "a default is wrong: %s", inner);
    for (const struct trg_preset *s = p->d.presets; s && s->name; s++) {
        if (!s->settings || !is_name(s->name))
            return refuse(why, bytes, "preset '%s' has no settings or is no name", s->name);
        if (plugin_preset(p, s->name, params, inner, sizeof inner) < 0)
            return refuse(why, bytes, "preset '%s' is wrong: %s", s->name, inner);
    }
    if (!p->d.check)
        return 0;
    plugin_defaults(p, params);
    inner[0] = '\0';
    if (p->d.check(params, inner, sizeof inner) < 0)
        return refuse(why, bytes, "its own check refuses the defaults: %s", inner);
    return 0;
}

static int check_backends(const char *words, char *why, size_t bytes)
{
    char text[64], *save = NULL, *word;

    if (!words || !*words || strlen(words) >= sizeof text)
        return refuse(why, bytes, "it names no backends; allowed are cpu, opencl, cuda");
    memcpy(text, words, strlen(words) + 1);
    for (word = strtok_r(text, " ", &save); word; word = strtok_r(NULL, " ", &save))
        if (strcmp(word, "cpu") && strcmp(word, "opencl") && strcmp(word, "cuda"))
            return refuse(why, bytes, "it names the backend '%s'; allowed are cpu, opencl, cuda",
                          word);
    return 0;
}

static int check_descriptor(struct plugin *p, char *why, size_t bytes)
{
    const char *file = strrchr(p->path, '/') ? strrchr(p->path, '/') + 1 : p->path;
    size_t n;

    if (!is_name(p->d.name))
        return refuse(why, bytes, "its name '%s' is not lower-case letters, digits and _",
                      p->d.name ? p->d.name : "");
    n = strlen(p->d.name);
    if (strncmp(file, p->d.name, n) || strcmp(file + n, ".so"))
        return refuse(why, bytes, "it calls itself '%s'; its file must be %s.so, not %s", p->d.name,
                      p->d.name, file);
    if (!p->d.version || !p->d.summary)
        return refuse(why, bytes, "it has no version or no summary");
    if (!p->d.create || !p->d.destroy || !p->d.submit || !p->d.collect)
        return refuse(why, bytes, "create, destroy, submit or collect is missing");
    if (check_backends(p->d.backends, why, bytes) < 0 || check_values(p, why, bytes) < 0 ||
        check_conditions(p, why, bytes) < 0 || check_params(p, why, bytes) < 0)
        return -EINVAL;
    return check_collections(p, why, bytes);
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
    return 0;
}

/* Takes a private copy over and loads it.  The loader knows what it has opened by the number of the
 * descriptor, so that only one that was not opened may be closed. */
static int load(struct plugin_host *h, int fd, const char *path, const struct stat *file,
                struct entry **ret_entry, char *why, size_t bytes)
{
    char inner[512];
    struct entry *e = calloc(1, sizeof *e);
    const struct trg_plugin *d = NULL;
    void *so = e ? plugin_file_load(fd) : NULL;
    int r = -EINVAL;

    if (!so) {
        if (e)
            snprintf(why, bytes, "%s cannot be used: %s", path, dlerror());
        close(fd);
        free(e);
        return e ? -EINVAL : -ENOMEM;
    }
    e->plugin.fd = fd;
    e->file = *file;
    snprintf(e->plugin.path, sizeof e->plugin.path, "%s", path);
    e->next = h->first;
    h->first = e;
    if (!(d = dlsym(so, TRG_PLUGIN_SYMBOL)))
        snprintf(inner, sizeof inner, "it exports no '" TRG_PLUGIN_SYMBOL "'");
    else if ((r = copy_descriptor(d, &e->plugin, inner, sizeof inner)) == 0)
        r = check_descriptor(&e->plugin, inner, sizeof inner);
    if (r < 0) {
        snprintf(why, bytes, "%s cannot be used: %s", path, inner);
        e->refused = strdup(why);
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
        *ret_plugin = &before->plugin;
        return 0;
    }
    if (was_refused(h, real, &now)) {
        snprintf(why, why_bytes, "%s", was_refused(h, real, &now));
        return -EINVAL;
    }
    r = plugin_file_copy(real, &fd);
    if (r < 0) {
        snprintf(why, why_bytes, "%s cannot be used: %s", real, strerror(-r));
        return r;
    }
    r = load(h, fd, real, &now, &e, why, why_bytes);
    if (r < 0)
        return r;
    if (before)
        before->is_old = true;
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

    if (!is_name(name)) {
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
