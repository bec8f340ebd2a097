/* SPDX-License-Identifier: Apache-2.0 */
/* Every device counts the same: identical histograms and identical values on all devices. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "sanitized.h"
#include "testing.h"

static uint32_t other_devices;

struct task {
    const struct zf_config *config;
    const struct generated *rois;
    const struct trg_result *want;
    uint32_t n;
};

static void on_device(struct trg_device *device, void *ctx)
{
    static const uint32_t batches[] = {1, 16, 200};
    const struct task *t = ctx;
    struct trg_result *r = calloc(t->n, sizeof *r);

    assert_non_null(r);
    for (uint32_t b = 0; b < 3; b++) {
        const uint32_t n = b ? t->n : t->n < 10 ? t->n : 10;

        run_on(device, t->config, t->rois, n, batches[b], r);
        for (uint32_t i = 0; i < n; i++)
            assert_memory_equal(&r[i], &t->want[i], sizeof *r);
        if (t->n <= batches[b])
            break; /* larger batches would be the same again */
    }
    free(r);
}

static void compare_rois(const struct zf_config *c, const struct generated *g, uint32_t n,
                         const char *what)
{
    struct trg_result *want = calloc(n, sizeof *want);

    assert_non_null(want);
    run_on(cpu(), c, g, n, 64, want);
    print_message("%u RoIs of %s\n", n, what);
    other_devices +=
        each_device(on_device, &(struct task){.config = c, .rois = g, .want = want, .n = n});
    free(want);
}

static void compare_all(const struct zf_config *c, const char *sample, uint32_t most, uint64_t seed)
{
    const uint32_t n = sanitized_share(most);
    struct generated *g = make_rois(sample, seed, n);

    compare_rois(c, g, n, sample);
    generated_free(g, n);
}

/* The goal is 1,000 RoIs of each preset; on a machine without a GPU fewer of the large
 * ones keep the time short. */
static void pairs(void **state)
{
    struct zf_config c;
    uint64_t seed = fresh_seed();

    (void)state;
    configure(&c, "pure", SETTINGS("n_peaks", "4"));
    compare_all(&c, "lowlum", rois_or(1000), seed);
    compare_all(&c, "highlum", rois_or(10), seed);
    compare_all(&c, "phase2", rois_or(2), seed);
}

static void triplets(void **state)
{
    struct zf_config c;
    uint64_t seed = fresh_seed();

    (void)state;
    configure(&c, "pure", SETTINGS("triplet_mode", "2", "n_peaks", "4"));
    compare_all(&c, "lowlum", rois_or(300), seed);
    compare_all(&c, "highlum", rois_or(4), seed);
    configure(&c, "pure", SETTINGS("triplet_mode", "1", "neighbours", "bending"));
    compare_all(&c, "lowlum", rois_or(100), seed);
    configure(&c, "dense", SETTINGS("n_peaks", "2"));
    compare_all(&c, "highlum", rois_or(4), seed);
    /* more points around one than a chunk holds; more bins than zf_near_triplets counts; cuts in
     * curvature and phi that tell apart what agrees in z */
    configure(&c, "pure",
              SETTINGS("triplet_mode", "2", "phi_slice_deg", "10", "phi_range", "width",
                       "roi_phi_width_rad", "0.25", "triplet_dz_mm", "5"));
    compare_all(&c, "highlum", 2, seed);
    configure(&c, "pure", SETTINGS("triplet_mode", "2", "z_bin_mm", "0.1"));
    compare_all(&c, "lowlum", 20, seed);
    configure(&c, "pure",
              SETTINGS("triplet_mode", "2", "triplet_dk", "0.0001", "triplet_dphi_rad", "0.01"));
    compare_all(&c, "highlum", rois_or(4), seed);
}

/* Coordinates that no detector has: the quick division of GPUs must not be taken for them. */
static void wild(void **state)
{
    const char *const modes[] = {"0", "2"};
    uint64_t seed = fresh_seed();
    struct generated *g = make_rois("lowlum", seed, 20);
    struct zf_config c;

    (void)state;
    for (uint32_t i = 0; i < 20; i++) {
        g[i].rho[i] *= 1e-8f;
        g[i].z[i + 20] *= 1e10f;
        g[i].rho[i + 40] *= 1e8f;
    }
    for (uint32_t m = 0; m < 2; m++) {
        configure(&c, "pure", SETTINGS("triplet_mode", modes[m], "n_peaks", "4"));
        compare_rois(&c, g, 20, "wild");
    }
    generated_free(g, 20);
}

/* RoIs with few points, some of which lie in a few slices: GPUs take those in another way. */
static void crowded(void **state)
{
    uint64_t seed = fresh_seed();
    struct generated *g = make_rois("lowlum", seed, 80);
    struct zf_config c;

    (void)state;
    for (uint32_t i = 0; i < 80; i++)
        for (uint32_t k = 0; k < 2 * i && k < g[i].n; k++)
            g[i].phi[k] = g[i].info.phi_rad + 0.0005f * (float)(k % 20);
    configure(&c, "pure", SETTINGS("triplet_mode", "2", "n_peaks", "4"));
    compare_rois(&c, g, 80, "crowded");
    configure(&c, "pure", SETTINGS("triplet_mode", "1", "triplet_dk", "0.0001"));
    compare_rois(&c, g, 80, "crowded");
    configure(&c, "pure", SETTINGS("triplet_mode", "1", "max_work", "50")); /* over it, or not */
    compare_rois(&c, g, 80, "crowded, with little work allowed");
    generated_free(g, 80);
}

static void atlas(void **state)
{
    struct zf_config c;
    uint64_t seed = fresh_seed();

    (void)state;
    configure(&c, "atlas", SETTINGS("n_peaks", "2"));
    compare_all(&c, "lowlum", 20, seed);
    configure(&c, "atlas", SETTINGS("triplet_mode", "2"));
    compare_all(&c, "lowlum", 5, seed + 1);
    configure(&c, "atlas", SETTINGS("triplet_mode", "1", "histogram_per_slice", "false"));
    compare_all(&c, "lowlum", 100, seed + 2);
    configure(&c, "atlas", SETTINGS("histogram_per_slice", "false", "prefer_central", "true"));
    compare_all(&c, "highlum", 2, seed + 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pairs),   cmocka_unit_test(triplets), cmocka_unit_test(wild),
        cmocka_unit_test(crowded), cmocka_unit_test(atlas),
    };
    int failed = cmocka_run_group_tests(tests, open_host, close_host);

    if (!failed && !other_devices) {
        printf("skipped: there is no device besides the CPU\n");
        return 77;
    }
    return failed;
}
