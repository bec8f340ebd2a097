/* SPDX-License-Identifier: Apache-2.0 */
/* testing.h - what the tests of the Hough transform share; include after cmocka.h. */
#ifndef HOUGH_TESTING_H
#define HOUGH_TESTING_H
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "driver.h"

static struct driver_host host;

static inline int open_host(void **state)
{
    (void)state;
    return driver_host_open(&host) < 0 ? -1 : 0;
}

static inline int close_host(void **state)
{
    (void)state;
    driver_host_close(&host);
    return 0;
}

static inline struct trg_device *cpu(void)
{
    struct trg_device *d;

    assert_int_equal(backends_device(host.backends, "cpu", 0, &d), 0);
    return d;
}

/* Runs events on a device. */
static inline void run_on(struct trg_device *device, const struct hough_config *c,
                          const struct event *events, uint32_t n, uint32_t batch,
                          struct trg_result *results, struct found *found)
{
    struct driver_setup setup = {.device = device,
                                 .host = &host,
                                 .config = c,
                                 .slots = 2,
                                 .max_rois = batch,
                                 .max_items = 60000};
    struct driver *d;

    assert_int_equal(driver_open(&setup, &d), 0);
    assert_int_equal(driver_run(d, events, n, results, found), 0);
    driver_close(d);
}

static inline uint64_t fresh_seed(void)
{
    const char *given = getenv("TRIGD_SEED");
    uint64_t seed = given ? strtoull(given, NULL, 0) : (uint64_t)time(NULL);

    print_message("TRIGD_SEED=%llu\n", (unsigned long long)seed);
    return seed;
}

static inline struct event *make_events(const char *preset, uint64_t seed, uint32_t n)
{
    struct event *e = calloc(n, sizeof *e);

    assert_non_null(e);
    for (uint32_t i = 0; i < n; i++)
        assert_int_equal(event_generate(preset, seed, i, &e[i]), 0);
    return e;
}
#endif
