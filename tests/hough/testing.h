/* SPDX-License-Identifier: Apache-2.0 */
/* testing.h - what the tests of the Hough transform share; include after cmocka.h. */
#ifndef HOUGH_TESTING_H
#define HOUGH_TESTING_H
#include "algotest.h"
#include "driver.h"

static inline int open_host(void **state)
{
    (void)state;
    return algo_host_open(&host, "hough");
}

/* Runs events on a device. */
static inline void run_on(struct trg_device *device, const struct hough_config *c,
                          const struct event *events, uint32_t n, uint32_t batch,
                          struct trg_result *results, struct products *found)
{
    const struct batches_setup setup = {.host = &host.host,
                                        .plugin = &host.plugin->d,
                                        .config = c,
                                        .device = device,
                                        .slots = 2,
                                        .max_rois = batch,
                                        .max_items = 150000};
    struct batches *b;

    assert_int_equal(batches_open(&setup, &b), 0);
    assert_int_equal(hough_run(b, events, n, results, found), 0);
    batches_close(b);
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
