/* SPDX-License-Identifier: Apache-2.0 */
/* testing.h - what the tests of the path finder share; include after cmocka.h. */
#ifndef PATHS_TESTING_H
#define PATHS_TESTING_H
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "driver.h"

static struct paths_host host;

static inline int open_host(void **state)
{
    (void)state;
    return paths_host_open(&host) < 0 ? -1 : 0;
}

static inline int close_host(void **state)
{
    (void)state;
    paths_host_close(&host);
    return 0;
}

#define SETTINGS(...) ((const char *const[]){__VA_ARGS__, NULL})

/* A config from a preset and "key", "value", ..., NULL. */
static inline void configure(struct pa_config *c, const char *preset, const char *const *settings)
{
    char why[256] = "";

    plugin_defaults(host.plugin, c);
    assert_int_equal(plugin_preset(host.plugin, preset, c, why, sizeof why), 0);
    for (; *settings; settings += 2)
        if (plugin_set(host.plugin, settings[0], settings[1], c, why, sizeof why) < 0)
            fail_msg("%s", why);
    if (host.plugin->d.check(c, why, sizeof why) < 0)
        fail_msg("%s", why);
}

static inline struct trg_device *cpu(void)
{
    struct trg_device *d;

    assert_int_equal(backends_device(host.backends, "cpu", 0, &d), 0);
    return d;
}

/* The answer of one RoI on the CPU; free with answers_free(&a, 1). */
static inline struct answer answer_of(const struct pa_config *c, const struct roi *r)
{
    struct answer a;

    assert_int_equal(paths_run(&host, cpu(), c, r, 1, 1, &a), 0);
    return a;
}

static inline uint64_t fresh_seed(void)
{
    const char *given = getenv("TRIGD_SEED");
    uint64_t seed = given ? strtoull(given, NULL, 0) : (uint64_t)time(NULL);

    print_message("TRIGD_SEED=%llu\n", (unsigned long long)seed);
    return seed;
}

/* splitmix64 */
static inline uint64_t draw(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15u;

    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

static inline double uniform(uint64_t *state, double low, double high)
{
    return low + (high - low) * (double)(draw(state) >> 11) * 0x1p-53;
}

static inline uint32_t below(uint64_t *state, uint32_t n)
{
    return (uint32_t)((draw(state) >> 32) * n >> 32);
}

/* Calls f(device, name, ctx) for every device there is. */
static inline uint32_t each_device(void (*f)(struct trg_device *, const char *, void *), void *ctx)
{
    uint32_t seen = 0;

    for (uint32_t i = 0; i < backends_count(host.backends); i++) {
        uint32_t devices;
        const char *name = backends_name(host.backends, i, &devices);

        for (uint32_t k = 0; k < devices; k++) {
            struct trg_device *device;
            struct trg_device_info info;

            assert_int_equal(backends_device(host.backends, name, k, &device), 0);
            trg_device_info(device, &info);
            print_message("%s:%u %s\n", name, k, info.name);
            f(device, name, ctx);
            seen++;
        }
    }
    return seen;
}
#endif
