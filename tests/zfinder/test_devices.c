/* SPDX-License-Identifier: Apache-2.0 */
/* Every device counts the same: identical histograms and identical values on all devices. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "testing.h"

static uint32_t devices_seen;

static void compare_device(struct trg_device *device, const struct zf_config *c,
                           const struct generated *g, uint32_t n, const struct trg_result *want)
{
    static const uint32_t batches[] = {1, 16, 200};
    struct trg_result *r = calloc(n, sizeof *r);

    assert_non_null(r);
    for (uint32_t b = 0; b < 3; b++) {
        run_on(device, c, g, b ? n : n < 10 ? n : 10, batches[b], r);
        for (uint32_t i = 0; i < (b ? n : n < 10 ? n : 10); i++)
            assert_memory_equal(&r[i], &want[i], sizeof *r);
    }
    free(r);
}

static void compare_all(const struct zf_config *c, const char *sample, uint32_t n, uint64_t seed)
{
    struct generated *g = make_rois(sample, seed, n);
    struct trg_result *want = calloc(n, sizeof *want);

    assert_non_null(want);
    run_on(cpu(), c, g, n, 64, want);
    for (uint32_t i = 0; i < backends_count(host.backends); i++) {
        uint32_t devices;
        const char *name = backends_name(host.backends, i, &devices);

        for (uint32_t k = 0; k < devices; k++) {
            struct trg_device *device;
            struct trg_device_info info;

            assert_int_equal(backends_device(host.backends, name, k, &device), 0);
            trg_device_info(device, &info);
            print_message("%s:%u %s: %u RoIs of %s\n", name, k, info.name, n, sample);
            compare_device(device, c, g, n, want);
            devices_seen++;
        }
    }
    free_rois(g, n);
    free(want);
}

/* The promise is 1,000 RoIs of each preset; on a machine without a GPU fewer of the large
 * ones keep the time short (TRIGD_ROIS sets another number). */
static uint32_t how_many(uint32_t dflt)
{
    const char *given = getenv("TRIGD_ROIS");

    return given ? (uint32_t)strtoul(given, NULL, 10) : dflt;
}

#define SETTINGS(...) ((const char *const[]){__VA_ARGS__, NULL})

static void pairs(void **state)
{
    struct zf_config c;
    uint64_t seed = fresh_seed();

    (void)state;
    configure(&c, "pure", SETTINGS("n_peaks", "4"));
    compare_all(&c, "lowlum", how_many(1000), seed);
    compare_all(&c, "highlum", how_many(10), seed);
    compare_all(&c, "phase2", how_many(2), seed);
}

static void triplets(void **state)
{
    struct zf_config c;
    uint64_t seed = fresh_seed();

    (void)state;
    configure(&c, "pure", SETTINGS("triplet_mode", "2", "n_peaks", "4"));
    compare_all(&c, "lowlum", how_many(300), seed);
    compare_all(&c, "highlum", how_many(4), seed);
    configure(&c, "pure", SETTINGS("triplet_mode", "1", "neighbours", "bending"));
    compare_all(&c, "lowlum", how_many(100), seed);
    configure(&c, "dense", SETTINGS("n_peaks", "2"));
    compare_all(&c, "highlum", how_many(4), seed);
    /* more points around one than the lists hold; more bins than zf_near_triplets counts */
    configure(&c, "pure",
              SETTINGS("triplet_mode", "2", "phi_slice_deg", "10", "phi_range", "width",
                       "roi_phi_width_rad", "0.25", "triplet_dz_mm", "5"));
    compare_all(&c, "highlum", 2, seed);
    configure(&c, "pure", SETTINGS("triplet_mode", "2", "z_bin_mm", "0.1"));
    compare_all(&c, "lowlum", 20, seed);
}

static void atlas(void **state)
{
    struct zf_config c;
    uint64_t seed = fresh_seed();

    (void)state;
    configure(&c, "atlas", SETTINGS("n_peaks", "2"));
    compare_all(&c, "lowlum", 20, seed);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pairs),
        cmocka_unit_test(triplets),
        cmocka_unit_test(atlas),
    };
    int failed = cmocka_run_group_tests(tests, open_host, close_host);

    if (!failed && devices_seen <= 10) {
        printf("skipped: there is no device besides the CPU\n");
        return 77;
    }
    return failed;
}
