/* SPDX-License-Identifier: Apache-2.0 */
/* algohost.h - the backends and a plugin of the build, for tests and measurements. */
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
void algo_host_close(struct algo_host *h);

/* Fills the config struct of a plugin from the defaults, a preset (NULL: none) and "key", "value",
 * ..., NULL (NULL: none), and checks it; the key "preset" is a preset, too.  -EINVAL with a printed
 * sentence. */
int algo_configure(const struct plugin *p, const char *preset, const char *const *settings,
                   void *ret_config);
#endif
