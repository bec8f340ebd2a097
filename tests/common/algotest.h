/* SPDX-License-Identifier: Apache-2.0 */
/* algotest.h - what the tests of a plugin on its devices share; include after cmocka.h. */
#ifndef TRIGD_TEST_ALGOTEST_H
#define TRIGD_TEST_ALGOTEST_H
#include <stdbool.h>

#include "algohost.h"
#include "batches.h"
#include "seed.h"

static struct algo_host host; /* opened by the group's set-up, for the plugin under test */

static inline int close_host(void **state)
{
    (void)state;
    algo_host_close(&host);
    return 0;
}

#define SETTINGS(...) ((const char *const[]){__VA_ARGS__, NULL})

/* A config that must be right: see algo_configure. */
static inline void configure(void *config, const char *preset, const char *const *settings)
{
    assert_int_equal(algo_configure(host.plugin, preset, settings, config), 0);
}

static inline struct trg_device *cpu(void)
{
    struct trg_device *d;

    assert_int_equal(backends_device(host.backends, "cpu", 0, &d), 0);
    return d;
}

/* Calls f for every device, of which there is one; the first time their names are printed.  Returns
 * how many are not the CPU. */
static inline uint32_t each_device(void (*f)(struct trg_device *device, void *ctx), void *ctx)
{
    static bool told;
    uint32_t seen = 0, others = 0;

    for (uint32_t i = 0; i < backends_count(host.backends); i++) {
        uint32_t devices;
        const char *name = backends_name(host.backends, i, &devices);

        for (uint32_t k = 0; k < devices; k++) {
            struct trg_device *device;
            struct trg_device_info info;

            assert_int_equal(backends_device(host.backends, name, k, &device), 0);
            trg_device_info(device, &info);
            if (!told)
                print_message("%s:%u %s\n", name, k, info.name);
            others += !info.is_host;
            f(device, ctx);
            seen++;
        }
    }
    assert_true(seen > 0);
    told = true;
    return others;
}

/* How many RoIs a test of the devices takes: TRIGD_ROIS, for machines with a GPU, or these. */
static inline uint32_t rois_or(uint32_t dflt)
{
    const char *given = getenv("TRIGD_ROIS");

    return given ? (uint32_t)strtoul(given, NULL, 10) : dflt;
}
#endif
