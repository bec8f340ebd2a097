/* SPDX-License-Identifier: Apache-2.0 */
#include "algohost.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void algo_host_log(void *ctx, enum trg_level level, const char *text)
{
    (void)ctx;
    if (level <= TRG_WARN)
        fprintf(stderr, "# %s\n", text);
}

int algo_host_open_in(struct algo_host *h, const char *plugins, const char *backends,
                      const char *name)
{
    char why[512] = "", *paths[] = {(char *)(uintptr_t)plugins};
    int r;

    *h = (struct algo_host){.host = {.size = sizeof h->host, .log = algo_host_log}};
    r = plugin_host_new(paths, 1, &h->plugins);
    if (r == 0)
        r = plugin_host_get(h->plugins, name, &h->plugin, why, sizeof why);
    if (why[0])
        fprintf(stderr, "%s\n", why);
    if (r == 0)
        r = backends_open(backends, NULL, &h->host, &h->backends);
    if (r < 0)
        algo_host_close(h);
    return r;
}

int algo_host_open(struct algo_host *h, const char *name)
{
    const char *build = getenv("TRIGD_BUILD");
    char plugins[512], backends[512];
    int r;

    if (!build) {
        fprintf(stderr, "TRIGD_BUILD is not set: give it the build folder\n");
        return -EINVAL;
    }
    snprintf(plugins, sizeof plugins, "%s/plugins", build);
    snprintf(backends, sizeof backends, "%s/backends", build);
    r = algo_host_open_in(h, plugins, backends, name);
    snprintf(h->cache, sizeof h->cache, "%s/opencl-cache", build);
    h->host.cache_dir = h->cache;
    return r;
}

void algo_host_close(struct algo_host *h)
{
    if (h->backends)
        backends_close(h->backends);
    plugin_host_free(h->plugins);
    *h = (struct algo_host){.plugin = NULL};
}

int algo_device_parse(const char *text, char ret_backend[16], uint32_t *ret_index)
{
    const size_t n = strcspn(text, ":");
    char *end = NULL;
    const unsigned long index = text[n] ? strtoul(text + n + 1, &end, 10) : 0;

    if (!n || n > 15 || index > 255 || (end && (*end || end == text + n + 1))) {
        fprintf(stderr, "--device \"%s\": BACKEND or BACKEND:NUMBER is allowed, such as cuda:0\n",
                text);
        return -EINVAL;
    }
    snprintf(ret_backend, 16, "%.*s", (int)n, text);
    *ret_index = (uint32_t)index;
    return 0;
}

uint32_t algo_host_places(const struct algo_host *h, const char *backend,
                          struct algo_place ret_places[ALGO_PLACES_MAX])
{
    uint32_t n = 0;

    for (uint32_t b = 0; b < backends_count(h->backends); b++) {
        uint32_t devices;
        const char *name = backends_name(h->backends, b, &devices);

        for (uint32_t i = 0; i < devices && n < ALGO_PLACES_MAX; i++) {
            struct algo_place *p = &ret_places[n];
            int r;

            if (backend && strcmp(backend, name) != 0)
                continue;
            *p = (struct algo_place){.backend = name, .number = b, .index = i};
            r = backends_device(h->backends, name, i, &p->device);
            if (r < 0) {
                fprintf(stderr, "# %s:%u is left out: %s\n", name, i, strerror(-r));
                continue;
            }
            trg_device_info(p->device, &p->info);
            n++;
        }
    }
    return n;
}

/* ---------------------------------------------------------------- parameters */

static int set(const struct plugin *p, const char *key, const char *value, void *config, char *why,
               size_t bytes)
{
    return !strcmp(key, "preset") ? plugin_preset(p, value, config, why, bytes)
                                  : plugin_set(p, key, value, config, why, bytes);
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
        r = set(p, settings[0], settings[1], ret_config, why, sizeof why);
    if (r == 0)
        r = plugin_check(p, ret_config, why, sizeof why);
    if (r < 0)
        fprintf(stderr, "%s: %s\n", p->d.name, why);
    return r < 0 ? -EINVAL : 0;
}

int algo_configure_lines(const struct plugin *p, const char *preset, const char *const *lines,
                         uint32_t n, void *ret_config, char *why, size_t bytes)
{
    char key[128];
    int r = 0;

    plugin_defaults(p, ret_config);
    if (preset)
        r = plugin_preset(p, preset, ret_config, why, bytes);
    for (uint32_t i = 0; r == 0 && i < n; i++) {
        const char *equals = strchr(lines[i], '=');

        if (!equals || (size_t)(equals - lines[i]) >= sizeof key) {
            snprintf(why, bytes, "\"%s\" is no parameter: KEY=VALUE is allowed", lines[i]);
            return -EINVAL;
        }
        snprintf(key, sizeof key, "%.*s", (int)(equals - lines[i]), lines[i]);
        r = set(p, key, equals + 1, ret_config, why, bytes);
    }
    if (r == 0)
        r = plugin_check(p, ret_config, why, bytes);
    return r < 0 ? -EINVAL : 0;
}
