/* SPDX-License-Identifier: Apache-2.0 */
/* The example plugin, driven directly on every device of the machine: counts against a plain loop,
 * with two batches in flight.  Also shows an author how to test a plugin without a daemon. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "plugin_host.h"
#include "seed.h"
#include "stage.h"

#define ROIS   40u
#define POINTS 700u /* most in one RoI */
#define SLOTS  2u

struct config_of_example {
    float rho_max_mm;
};

struct fixture {
    struct plugin_host *plugins;
    struct backends *backends;
    const struct plugin *plugin;
    uint64_t random;
};

/* What a lane would hold for one slot. */
struct slot {
    struct trg_buffer *host, *dev;
    struct trg_batch batch;
    struct trg_result results[ROIS];
    struct trg_output outputs[ROIS];
    uint32_t n[ROIS];
    float rho[ROIS][POINTS];
};

static struct slot slots[SLOTS];
static const float zeros[POINTS];
static const uint8_t layers[POINTS];
static const struct trg_roi_info infos[ROIS];

static uint32_t next_random(struct fixture *f)
{
    f->random = f->random * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(f->random >> 33);
}

static void print_log(void *ctx, enum trg_level level, const char *text)
{
    (void)ctx;
    if (level <= TRG_INFO)
        print_message("%s\n", text);
}

static const struct trg_host host = {.size = sizeof host, .log = print_log};

static int set_up(void **state)
{
    static struct fixture f;
    const char *build = getenv("TRIGD_BUILD");
    char path[4096], why[256];

    if (!build)
        return -1;
    f.random = fresh_seed();
    snprintf(path, sizeof path, "%s/backends", build);
    if (plugin_host_new(NULL, 0, &f.plugins) < 0 || backends_open(path, &host, &f.backends) < 0)
        return -1;
    snprintf(path, sizeof path, "%s/plugins/example.so", build);
    if (plugin_host_open(f.plugins, path, &f.plugin, why, sizeof why) < 0) {
        print_error("%s\n", why);
        return -1;
    }
    *state = &f;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;

    backends_close(f->backends);
    plugin_host_free(f->plugins);
    return 0;
}

/* RoI 0 is empty, RoI 1 has one point, the last one is full; some points lie exactly on the cut. */
static void fill(struct fixture *f, struct slot *s, float cut)
{
    for (uint32_t r = 0; r < ROIS; r++) {
        s->n[r] = r == 0 ? 0 : r == 1 ? 1 : r == ROIS - 1 ? POINTS : next_random(f) % POINTS;
        for (uint32_t i = 0; i < s->n[r]; i++)
            s->rho[r][i] = i % 7 == 0 ? cut : (float)(next_random(f) % 200000) * 0.01f;
    }
}

static void submit(struct slot *s, uint32_t number, struct trg_algo *algo,
                   const struct trg_plugin *d, struct trg_queue *q)
{
    struct stage_source sources[ROIS];
    size_t bytes;

    for (uint32_t r = 0; r < ROIS; r++)
        sources[r] =
            (struct stage_source){.n = s->n[r], .column = {zeros, s->rho[r], zeros, layers}};
    memset(s->results, 0, sizeof s->results);
    s->batch = (struct trg_batch){.slot = number,
                                  .n_rois = ROIS,
                                  .rois = infos,
                                  .results = s->results,
                                  .outputs = {s->outputs}};
    s->batch.in[0].kind = TRG_SPACEPOINTS;
    s->batch.in[0].host = trg_buffer_host(s->host);
    s->batch.in[0].dev = s->dev;
    bytes = stage_fill(TRG_SPACEPOINTS, ROIS, infos, sources, trg_buffer_host(s->host),
                       &s->batch.in[0].span);
    assert_int_equal(trg_write(q, s->dev, 0, s->host, 0, bytes), 0);
    assert_int_equal(d->submit(algo, &s->batch, q), 0);
    assert_int_equal(trg_flush(q), 0);
}

static void check(const struct slot *s, float cut)
{
    for (uint32_t r = 0; r < ROIS; r++) {
        uint32_t want = 0;

        for (uint32_t i = 0; i < s->n[r]; i++)
            want += s->rho[r][i] < cut;
        assert_int_equal(s->results[r].status, TRG_OK);
        assert_int_equal((uint32_t)s->results[r].value[0], want);
    }
}

static void run_on(struct fixture *f, struct trg_device *device, const char *cut_text)
{
    const struct trg_plugin *d = &f->plugin->d;
    const struct trg_limits limits = {sizeof limits, SLOTS, ROIS, ROIS * POINTS, POINTS};
    const size_t bytes = stage_bytes(TRG_SPACEPOINTS, ROIS, ROIS * POINTS);
    struct config_of_example config;
    struct trg_queue *queue[SLOTS];
    struct trg_algo *algo;
    char why[256];

    plugin_defaults(f->plugin, &config);
    assert_int_equal(plugin_set(f->plugin, "rho_max_mm", cut_text, &config, why, sizeof why), 0);
    assert_int_equal(d->create(&host, &config, device, &limits, &algo), 0);
    for (uint32_t k = 0; k < SLOTS; k++) {
        assert_int_equal(trg_queue_new(device, &queue[k]), 0);
        assert_int_equal(trg_buffer_new(device, TRG_MEM_PINNED, bytes, &slots[k].host), 0);
        assert_int_equal(trg_buffer_new(device, TRG_MEM_DEVICE, bytes, &slots[k].dev), 0);
    }
    for (uint32_t round = 0; round < 3; round++) {
        for (uint32_t k = 0; k < SLOTS; k++) { /* both in flight before either is collected */
            fill(f, &slots[k], config.rho_max_mm);
            submit(&slots[k], k, algo, d, queue[k]);
        }
        for (uint32_t k = 0; k < SLOTS; k++) {
            assert_int_equal(trg_finish(queue[k]), 0);
            assert_int_equal(d->collect(algo, &slots[k].batch), 0);
            check(&slots[k], config.rho_max_mm);
        }
    }
    for (uint32_t k = 0; k < SLOTS; k++) {
        trg_queue_free(queue[k]);
        trg_buffer_free(slots[k].host);
        trg_buffer_free(slots[k].dev);
    }
    d->destroy(algo);
}

static void test_every_device(void **state)
{
    struct fixture *f = *state;
    uint32_t n_run = 0;

    for (uint32_t b = 0; b < backends_count(f->backends); b++) {
        uint32_t n_devices;
        const char *name = backends_name(f->backends, b, &n_devices);

        for (uint32_t i = 0; i < n_devices; i++, n_run++) {
            struct trg_device *device;

            print_message("on %s %u\n", name, i);
            assert_int_equal(backends_device(f->backends, name, i, &device), 0);
            run_on(f, device, "100");
            run_on(f, device, "0");
            run_on(f, device, "2000");
        }
    }
    assert_true(n_run > 0);
}

static void test_parameters(void **state)
{
    struct fixture *f = *state;
    struct config_of_example config;
    char why[256] = "";

    plugin_defaults(f->plugin, &config);
    assert_true(config.rho_max_mm == 100.0f);
    assert_int_equal(plugin_set(f->plugin, "rho_max_mm", "-1", &config, why, sizeof why), -EINVAL);
    assert_non_null(strstr(why, "2000")); /* it says what is allowed */
    assert_int_equal(plugin_set(f->plugin, "rho_max", "1", &config, why, sizeof why), -EINVAL);
    assert_non_null(strstr(why, "rho_max_mm")); /* and what was meant */
    assert_true(config.rho_max_mm == 100.0f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_parameters),
                                       cmocka_unit_test(test_every_device)};

    return cmocka_run_group_tests(tests, set_up, tear_down);
}
