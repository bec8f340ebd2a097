/* SPDX-License-Identifier: Apache-2.0 */
/* plugin_host.h - finds, opens and checks plugins and backends; never unloads them.
 *
 * A plugin is opened from a private copy of its file (plugin_file.h), in this process with
 * RTLD_NOW|RTLD_LOCAL|RTLD_NODELETE or in the inspector's, first match in path order, no second try
 * elsewhere.  A file that has changed since is loaded anew; the earlier version stays for those
 * that have it.  Its descriptor is copied into a zeroed struct of our own size.  Any thread may ask
 * the host for plugins.
 */
#ifndef TRIGD_PLUGIN_HOST_H
#define TRIGD_PLUGIN_HOST_H
#include <stdbool.h>
#include <stdint.h>

#include "kinds.h"
#include "trigd/plugin.h"

struct plugin_host;
struct plugin {          /* one loaded plugin; owned by the host */
    struct trg_plugin d; /* its descriptor, completed with NULL members */
    char path[4096];
    int fd; /* of the private copy */
    uint32_t n_params, n_values, n_inputs, n_outputs;
    uint32_t consumes[TRG_INPUTS_MAX], produces[TRG_OUTPUTS_MAX]; /* kinds (kinds.h) */
    bool has_check, has_device_output;
    struct inspector *inspector; /* that has its code; NULL: it is in this process */
};

/* `paths` are searched in order for NAME.so.  Strings are copied. */
int plugin_host_new(char *const *paths, uint32_t n_paths, struct plugin_host **ret_host);
void plugin_host_free(struct plugin_host *h); /* the code stays loaded; NULL is fine */
/* From now on only files that others cannot change are loaded (trusted.h). */
void plugin_host_guard(struct plugin_host *h);
/* From now on plugins are loaded by a process of their own (inspector.h): descriptors have no
 * functions, and a plugin whose loading crashes, or takes longer than that, is one that cannot be
 * used. */
int plugin_host_inspect(struct plugin_host *h, uint32_t answer_ms);

/* The plugin called `name`, loaded if it was not yet.  -ENOENT, or -EINVAL for an unknown ABI or
 * a descriptor that breaks its own rules; `why` gets one sentence. */
int plugin_host_get(struct plugin_host *h, const char *name, const struct plugin **ret_plugin,
                    char *why, size_t why_bytes);
/* The same for a private copy that another process made of the file `path`; the descriptor is
 * borrowed. */
int plugin_host_open_copy(struct plugin_host *h, int fd, const char *path,
                          const struct plugin **ret_plugin, char *why, size_t why_bytes);
/* The same for a file, for `trigctl check-plugin`. */
int plugin_host_open(struct plugin_host *h, const char *file, const struct plugin **ret_plugin,
                     char *why, size_t why_bytes);

/* Gives back what plugin_host_get or plugin_host_open gave, before the host is freed: the private
 * copy of a version that was replaced is closed with its last user.  NULL is fine. */
void plugin_release(const struct plugin *p);

/* The loaded plugin after p, the first one for NULL; NULL after the last.  Of a file that has
 * changed only the last version. */
const struct plugin *plugin_host_next(struct plugin_host *h, const struct plugin *p);

/* Whether it runs on the devices of a backend. */
bool plugin_runs_on(const struct plugin *p, const char *backend);
/* Fills a config struct (d.config_size bytes) with the defaults. */
void plugin_defaults(const struct plugin *p, void *params);
/* Applies a preset; -ENOENT with the known ones in `why`. */
int plugin_preset(const struct plugin *p, const char *preset, void *params, char *why,
                  size_t why_bytes);
/* Sets one parameter from its text; -EINVAL with what is allowed (nearest name, range, words). */
int plugin_set(const struct plugin *p, const char *key, const char *text, void *params, char *why,
               size_t why_bytes);
/* Runs the plugin's own check of a config struct, if it has one.  -EINVAL with one sentence. */
int plugin_check(const struct plugin *p, const void *params, char *why, size_t why_bytes);
/* Writes one parameter's value as a user would write it. */
void plugin_get(const struct plugin *p, uint32_t param, const void *params, char *text,
                size_t bytes);

/* ---- backends ---- */

#define BACKENDS_MAX 8
struct backends; /* trigd-cpu.so and friends, opened once */

/* Calls fn for each file of a folder that is named as a backend, in the order of the names, until
 * it returns other than 0, which is returned.  -ENOMEM.  A folder that is not there has none. */
int backends_files(const char *folder, int (*fn)(void *ctx, const char *path), void *ctx);
/* Opens each backend of `folder` that loads, or only the one of that name; one info line for each
 * that does not, with why. */
int backends_open(const char *folder, const char *only, const struct trg_host *host,
                  struct backends **ret_backends);
void backends_close(struct backends *b);
/* The device; opened at first use and shared by all that ask for it.  -ENOENT: no such backend;
 * -ENODEV: the backend has no such device. */
int backends_device(struct backends *b, const char *backend, uint32_t index,
                    struct trg_device **ret_device);
/* Devices of a backend; 0 where there is no such backend. */
uint32_t backends_devices(const struct backends *b, const char *backend);
/* Names and device counts, for listing. */
uint32_t backends_count(const struct backends *b);
const char *backends_name(const struct backends *b, uint32_t i, uint32_t *ret_devices);
#endif
