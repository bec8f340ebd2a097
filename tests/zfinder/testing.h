/* SPDX-License-Identifier: Apache-2.0 */
/* testing.h - what the tests of the z-finder share; include after cmocka.h. */
#ifndef ZFINDER_TESTING_H
#define ZFINDER_TESTING_H
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "driver.h"
#include "reference.h"

static struct bench_host host;
static const struct plugin *plugin;

static inline int open_host(void **state)
{
    char why[256] = "";

    (void)state;
    if (bench_host_open(&host) < 0)
        return -1;
    if (plugin_host_get(host.plugins, "zfinder", &plugin, why, sizeof why) < 0) {
        fprintf(stderr, "%s\n", why);
        return -1;
    }
    return 0;
}

static inline int close_host(void **state)
{
    (void)state;
    bench_host_close(&host);
    return 0;
}

/* A config from a preset and "key", "value", ..., NULL. */
static inline void configure(struct zf_config *c, const char *preset, const char *const *settings)
{
    char why[256] = "";

    plugin_defaults(plugin, c);
    assert_int_equal(plugin_preset(plugin, preset, c, why, sizeof why), 0);
    for (; *settings; settings += 2)
        if (plugin_set(plugin, settings[0], settings[1], c, why, sizeof why) < 0)
            fail_msg("%s", why);
    if (plugin->d.check(c, why, sizeof why) < 0)
        fail_msg("%s", why);
}

/* Runs RoIs on a device. */
static inline void run_on(struct trg_device *device, const struct zf_config *c,
                          const struct generated *rois, uint32_t n, uint32_t batch,
                          struct trg_result *results)
{
    struct driver_setup setup = {.device = device,
                                 .host = &host.host,
                                 .plugin = plugin,
                                 .params = c,
                                 .slots = 2,
                                 .max_rois = batch,
                                 .max_items = 300000};
    struct driver *d;

    assert_int_equal(driver_open(&setup, &d), 0);
    assert_int_equal(driver_run(d, rois, n, results), 0);
    driver_close(d);
}

static inline struct trg_device *cpu(void)
{
    struct trg_device *d;

    assert_int_equal(backends_device(host.backends, "cpu", 0, &d), 0);
    return d;
}

static inline uint32_t digest_of(const struct trg_result *r)
{
    return (uint32_t)r->value[6] << 16 | (uint32_t)r->value[7];
}

static inline uint64_t fresh_seed(void)
{
    const char *given = getenv("TRIGD_SEED");
    uint64_t seed = given ? strtoull(given, NULL, 0) : (uint64_t)time(NULL);

    print_message("TRIGD_SEED=%llu\n", (unsigned long long)seed);
    return seed;
}

static inline struct generated *make_rois(const char *preset, uint64_t seed, uint32_t n)
{
    struct generated *g = calloc(n, sizeof *g);

    assert_non_null(g);
    for (uint32_t i = 0; i < n; i++)
        assert_int_equal(generator_make(generator_find(preset), seed, i, &g[i]), 0);
    return g;
}

static inline void free_rois(struct generated *g, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        generated_fini(&g[i]);
    free(g);
}
#endif
