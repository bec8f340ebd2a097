/* SPDX-License-Identifier: Apache-2.0 */
/* testing.h - what the tests of the vertexing plugin share; include after cmocka.h. */
#ifndef VX_TESTING_H
#define VX_TESTING_H
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "driver.h"

static struct vx_host host;

static inline int open_host(void **state)
{
    (void)state;
    return vx_host_open(&host) < 0 ? -1 : 0;
}

static inline int close_host(void **state)
{
    (void)state;
    vx_host_close(&host);
    return 0;
}

static inline struct trg_device *cpu(void)
{
    struct trg_device *d;

    assert_int_equal(backends_device(host.backends, "cpu", 0, &d), 0);
    return d;
}

static inline uint64_t fresh_seed(void)
{
    const char *given = getenv("TRIGD_SEED");
    uint64_t seed = given ? strtoull(given, NULL, 0) : (uint64_t)time(NULL);

    print_message("TRIGD_SEED=%llu\n", (unsigned long long)seed);
    return seed;
}

/* Calls fn for each device of the machine; returns how many there are. */
static inline uint32_t each_device(void (*fn)(struct trg_device *device, void *arg), void *arg)
{
    uint32_t seen = 0;

    for (uint32_t i = 0; i < backends_count(host.backends); i++) {
        uint32_t devices;
        const char *name = backends_name(host.backends, i, &devices);

        for (uint32_t k = 0; k < devices; k++, seen++) {
            struct trg_device *d;

            assert_int_equal(backends_device(host.backends, name, k, &d), 0);
            fn(d, arg);
        }
    }
    return seen;
}

static inline struct event *toy_events(const struct toy *t, uint64_t seed, uint32_t n)
{
    struct event *e = calloc(n, sizeof *e);

    assert_non_null(e);
    for (uint32_t i = 0; i < n; i++) {
        assert_int_equal(event_init(&e[i], 4096), 0);
        toy_make(t, seed, i, &e[i]);
    }
    return e;
}

static inline void free_events(struct event *e, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        event_fini(&e[i]);
    free(e);
}

/* Runs events on a device in batches of max_rois. */
static inline struct vx_answer *answers_of(struct trg_device *device, const struct vx_config *c,
                                           const struct event *e, uint32_t n, uint32_t max_rois)
{
    struct vx_answer *a;
    struct driver *d;

    assert_int_equal(vx_answers_new(n, &a), 0);
    assert_int_equal(driver_open(&host, device, c, max_rois, 60000, &d), 0);
    assert_int_equal(driver_run(d, e, n, a), 0);
    driver_close(d);
    return a;
}

#define SETTINGS(...) ((const char *const[]){__VA_ARGS__, NULL})
#endif
