/* SPDX-License-Identifier: Apache-2.0 */
#include "algohost.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void print(void *ctx, enum trg_level level, const char *text)
{
    (void)ctx;
    if (level <= TRG_WARN)
        fprintf(stderr, "# %s\n", text);
}

int algo_host_open(struct algo_host *h, const char *name)
{
    const char *build = getenv("TRIGD_BUILD");
    char plugins[512], backends[512], why[256] = "", *paths[] = {plugins};
    int r;

    if (!build) {
        fprintf(stderr, "TRIGD_BUILD is not set: give it the build folder\n");
        return -EINVAL;
    }
    snprintf(plugins, sizeof plugins, "%s/plugins", build);
    snprintf(backends, sizeof backends, "%s/backends", build);
    snprintf(h->cache, sizeof h->cache, "%s/opencl-cache", build);
    h->host = (struct trg_host){.size = sizeof h->host, .log = print, .cache_dir = h->cache};
    r = plugin_host_new(paths, 1, &h->plugins);
    if (r < 0)
        return r;
    r = plugin_host_get(h->plugins, name, &h->plugin, why, sizeof why);
    if (r < 0)
        fprintf(stderr, "%s\n", why);
    else
        r = backends_open(backends, NULL, &h->host, &h->backends);
    if (r < 0)
        plugin_host_free(h->plugins);
    return r;
}

void algo_host_close(struct algo_host *h)
{
    backends_close(h->backends);
    plugin_host_free(h->plugins);
}

int algo_configure(const struct plugin *p, const char *preset, const char *const *settings,
                   void *ret_config)
{
    char why[256] = "";
    int r = 0;

    plugin_defaults(p, ret_config);
    if (preset)
        r = plugin_preset(p, preset, ret_config, why, sizeof why);
    for (; r == 0 && settings && *settings; settings += 2)
        r = !strcmp(settings[0], "preset")
                ? plugin_preset(p, settings[1], ret_config, why, sizeof why)
                : plugin_set(p, settings[0], settings[1], ret_config, why, sizeof why);
    if (r == 0)
        r = plugin_check(p, ret_config, why, sizeof why);
    if (r < 0)
        fprintf(stderr, "%s: %s\n", p->d.name, why);
    return r < 0 ? -EINVAL : 0;
}
