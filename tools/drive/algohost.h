/* SPDX-License-Identifier: Apache-2.0 */
/* algohost.h - a plugin, its parameters and the backends, for tools, tests and measurements. */
#ifndef TRIGD_ALGOHOST_H
#define TRIGD_ALGOHOST_H
#include "plugin/plugin_host.h"

struct algo_host { /* `host` points into it: it stays where it was opened */
    struct trg_host host;
    char cache[512];
    struct backends *backends;
    struct plugin_host *plugins;
    const struct plugin *plugin; /* the one that was opened */
};

/* Opens the plugin called `name` and the backends of the build (TRIGD_BUILD).  Log lines of level
 * warn and up are printed, as is the reason of a failure. */
int algo_host_open(struct algo_host *h, const char *name);
/* The same from these folders, and without a cache of programs. */
int algo_host_open_in(struct algo_host *h, const char *plugins, const char *backends,
                      const char *name);
void algo_host_close(struct algo_host *h); /* one that is zero is fine */

/* Prints lines of level warn and up: the `log` of a struct trg_host. */
void algo_host_log(void *ctx, enum trg_level level, const char *text);

#define ALGO_PLACES_MAX 32u
struct algo_place { /* a device */
    const char *backend;
    uint32_t number, index; /* of the backend; in it */
    struct trg_device *device;
    struct trg_device_info info;
};
/* Opens the devices of a backend, or of all when it is NULL, backend by backend, and returns how
 * many there are.  One that fails is left out, which is printed. */
uint32_t algo_host_places(const struct algo_host *h, const char *backend,
                          struct algo_place ret_places[ALGO_PLACES_MAX]);

/* "cuda:1" or "cuda" as a backend and a number of it.  -EINVAL with a printed sentence. */
int algo_device_parse(const char *text, char ret_backend[16], uint32_t *ret_index);

/* Fills the config struct of a plugin from the defaults, a preset (NULL: none) and "key", "value",
 * ..., NULL (NULL: none), and checks it; the key "preset" is a preset, too.  -EINVAL with a printed
 * sentence. */
int algo_configure(const struct plugin *p, const char *preset, const char *const *settings,
                   void *ret_config);
/* The same from `n` lines "KEY=VALUE".  -EINVAL with a sentence in `why`. */
int algo_configure_lines(const struct plugin *p, const char *preset, const char *const *lines,
                         uint32_t n, void *ret_config, char *why, size_t bytes);
#endif
