/* SPDX-License-Identifier: Apache-2.0 */
/* The example plugin on every device of the machine: counts against a plain loop, with two batches
 * in flight.  Also shows an author how to test a plugin without a daemon. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "algotest.h"

#define BATCH  40u
#define ROIS   (6 * BATCH)
#define POINTS 700u /* most in one RoI */

struct config_of_example {
    float rho_max_mm;
};

struct roi {
    uint32_t n;
    float rho[POINTS];
};

static struct roi rois[ROIS];
static uint64_t random_state;

static int set_up(void **state)
{
    (void)state;
    random_state = fresh_seed();
    return algo_host_open(&host, "example");
}

static uint32_t next_random(void)
{
    random_state = random_state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(random_state >> 33);
}

/* In each batch RoI 0 is empty, RoI 1 has one point, the last one is full; some points lie exactly
 * on the cut. */
static void fill(float cut)
{
    for (uint32_t r = 0; r < ROIS; r++) {
        const uint32_t k = r % BATCH;

        rois[r].n = k == 0 ? 0 : k == 1 ? 1 : k == BATCH - 1 ? POINTS : next_random() % POINTS;
        for (uint32_t i = 0; i < rois[r].n; i++)
            rois[r].rho[i] = i % 7 == 0 ? cut : (float)(next_random() % 200000) * 0.01f;
    }
}

static void check(const struct trg_result *results, float cut)
{
    for (uint32_t r = 0; r < ROIS; r++) {
        uint32_t want = 0;

        for (uint32_t i = 0; i < rois[r].n; i++)
            want += rois[r].rho[i] < cut;
        assert_int_equal(results[r].status, TRG_OK);
        assert_int_equal((uint32_t)results[r].value[0], want);
    }
}

/* What batches_run asks: the columns of RoI i. */
static void input(const void *of, uint32_t i, struct stage_source *ret_sources,
                  struct trg_roi_info *ret_info)
{
    static const float zeros[POINTS];
    static const uint8_t layers[POINTS];
    const struct roi *r = (const struct roi *)of + i;

    (void)ret_info; /* the plugin does not look at the window */
    ret_sources[0] = (struct stage_source){.n = r->n, .column = {zeros, r->rho, zeros, layers}};
}

static void on_device(struct trg_device *device, void *cut)
{
    struct config_of_example config;
    const struct batches_setup setup = {.host = &host.host,
                                        .plugin = &host.plugin->d,
                                        .config = &config,
                                        .device = device,
                                        .slots = 2,
                                        .max_rois = BATCH,
                                        .max_items = BATCH * POINTS};
    struct trg_result results[ROIS];
    struct batches *b;

    configure(&config, NULL, SETTINGS("rho_max_mm", cut));
    fill(config.rho_max_mm);
    assert_int_equal(batches_open(&setup, &b), 0);
    assert_int_equal(
        batches_run(
            b, &(struct batches_work){.n = ROIS, .input = input, .rois = rois, .results = results}),
        0);
    batches_close(b);
    check(results, config.rho_max_mm);
}

static void test_every_device(void **state)
{
    (void)state;
    each_device(on_device, (void *)"100");
    each_device(on_device, (void *)"0");
    each_device(on_device, (void *)"2000");
}

static void test_parameters(void **state)
{
    struct config_of_example config;
    char why[256] = "";

    (void)state;
    plugin_defaults(host.plugin, &config);
    assert_true(config.rho_max_mm == 100.0f);
    assert_int_equal(plugin_set(host.plugin, "rho_max_mm", "-1", &config, why, sizeof why),
                     -EINVAL);
    assert_non_null(strstr(why, "2000")); /* it says what is allowed */
    assert_int_equal(plugin_set(host.plugin, "rho_max", "1", &config, why, sizeof why), -EINVAL);
    assert_non_null(strstr(why, "rho_max_mm")); /* and what was meant */
    assert_true(config.rho_max_mm == 100.0f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_parameters),
                                       cmocka_unit_test(test_every_device)};

    return cmocka_run_group_tests(tests, set_up, close_host);
}
