/* SPDX-License-Identifier: Apache-2.0 */
/* testing.h - what the tests of the z-finder share; include after cmocka.h. */
#ifndef ZFINDER_TESTING_H
#define ZFINDER_TESTING_H
#include "algotest.h"
#include "driver.h"
#include "reference.h"

static inline int open_host(void **state)
{
    (void)state;
    return algo_host_open(&host, "zfinder");
}

/* Runs RoIs on a device. */
static inline void run_on(struct trg_device *device, const struct zf_config *c,
                          const struct generated *rois, uint32_t n, uint32_t batch,
                          struct trg_result *results)
{
    const struct batches_setup setup = {.host = &host.host,
                                        .plugin = &host.plugin->d,
                                        .config = c,
                                        .device = device,
                                        .slots = 2,
                                        .max_rois = batch,
                                        .max_items = 300000};
    struct products *vertices = calloc(n, sizeof *vertices);
    struct batches *b;

    assert_non_null(vertices);
    assert_int_equal(batches_open(&setup, &b), 0);
    assert_int_equal(zfinder_run(b, rois, n, results, vertices), 0);
    batches_close(b);
    for (uint32_t i = 0; i < n; i++)
        assert_int_equal(vertices[i].of[0].n, (uint32_t)results[i].value[0]);
    products_free(vertices, n);
}

static inline uint32_t digest_of(const struct trg_result *r)
{
    return (uint32_t)r->value[6] << 16 | (uint32_t)r->value[7];
}

static inline struct generated *make_rois(const char *preset, uint64_t seed, uint32_t n)
{
    struct generated *g = generated_new(preset, seed, 0, n);

    assert_non_null(g);
    return g;
}
#endif
