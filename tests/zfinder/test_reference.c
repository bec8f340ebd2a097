/* SPDX-License-Identifier: Apache-2.0 */
/* The plugin against the naive reference: every histogram bin and every vertex, with all options.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "sanitized.h"
#include "testing.h"

static void compare(const char *preset, const char *const *settings, const char *sample,
                    uint32_t most, uint64_t seed)
{
    const uint32_t n = sanitized_share(most);
    struct generated *g = make_rois(sample, seed, n);
    struct trg_result *r = calloc(n, sizeof *r);
    struct zf_config c;

    assert_non_null(r);
    configure(&c, preset, settings);
    run_on(cpu(), &c, g, n, 7, r);
    for (uint32_t i = 0; i < n; i++) {
        struct reference want;

        reference_float(&c, &g[i], &want);
        assert_int_equal((uint32_t)r[i].value[5], want.n_points);
        assert_int_equal((uint32_t)r[i].value[4], want.n_entries);
        assert_int_equal(digest_of(&r[i]), want.digest);
        assert_int_equal((uint32_t)r[i].value[0], want.n_vertices);
        if (!want.n_vertices)
            continue;
        assert_true(fabs((double)r[i].value[1] - want.z[0]) < 1e-3);
        assert_true((double)r[i].value[2] == want.weight[0]);
    }
    generated_free(g, n);
    free(r);
}

static void pure_pairs(void **state)
{
    uint64_t seed = fresh_seed();

    (void)state;
    compare("pure", SETTINGS("n_peaks", "1"), "lowlum", 60, seed);
    compare("pure", SETTINGS("n_peaks", "5", "prefer_central", "true"), "lowlum", 60, seed + 1);
    compare("pure", SETTINGS("n_peaks", "3"), "highlum", 1, seed + 2);
}

static void pure_triplets(void **state)
{
    uint64_t seed = fresh_seed();

    (void)state;
    compare("pure", SETTINGS("triplet_mode", "1"), "lowlum", 40, seed);
    compare("pure", SETTINGS("triplet_mode", "2", "n_peaks", "4"), "lowlum", 40, seed + 1);
    compare("pure", SETTINGS("triplet_mode", "2", "triplet_dz_mm", "5", "triplet_dk", "0.0005"),
            "lowlum", 40, seed + 2);
}

/* More points around one than the CPU lists for triplets (ZF_LISTS), or on one layer than it has
 * bits for (ZF_PARTS). */
static void crowded_slices(void **state)
{
    uint64_t seed = fresh_seed();

    (void)state;
    compare("pure",
            SETTINGS("triplet_mode", "2", "phi_slice_deg", "10", "phi_range", "width",
                     "roi_phi_width_rad", "0.2", "triplet_dz_mm", "5"),
            "highlum", 1, seed);
    compare("pure",
            SETTINGS("phi_slice_deg", "10", "phi_range", "width", "roi_phi_width_rad", "0.4"),
            "highlum", 1, seed + 1);
    compare("dense", SETTINGS("n_peaks", "2", "phi_slice_deg", "2"), "lowlum", 40, seed + 2);
    compare("pure", SETTINGS("z_bin_mm", "0.1", "triplet_mode", "2"), "lowlum", 20, seed + 3);
    compare("atlas",
            SETTINGS("histogram_per_slice", "false", "phi_slice_deg", "10", "phi_range", "width",
                     "roi_phi_width_rad", "0.4", "max_layers", "4", "last_barrel", "3",
                     "first_layers", "1", "triplet_mode", "2", "max_work", "4000000"),
            "highlum", 1, seed + 4);
}

static void charges_and_neighbours(void **state)
{
    uint64_t seed = fresh_seed();

    (void)state;
    compare("pure", SETTINGS("charge_aware", "true"), "lowlum", 40, seed);
    compare("pure", SETTINGS("neighbours", "bending", "neighbour_multiplier", "1.5"), "lowlum", 40,
            seed + 1);
    compare("pure", SETTINGS("neighbours", "bending", "charge_aware", "true", "triplet_mode", "2"),
            "lowlum", 20, seed + 2);
    compare("pure", SETTINGS("first_layers", "2", "pixel_only", "true"), "lowlum", 40, seed + 3);
    compare("pure", SETTINGS("max_layers", "8", "last_barrel", "5"), "lowlum", 40, seed + 4);
    compare("pure", SETTINGS("phi_range", "width", "roi_phi_width_rad", "0.4"), "lowlum", 40,
            seed + 5);
    compare("pure", SETTINGS("phi_range", "full"), "lowlum", 20, seed + 6);
    compare("pure", SETTINGS("z_bin_mm", "1", "z_bin_eta_mm", "0.3", "z_max_mm", "100"), "lowlum",
            40, seed + 7);
}

static void histogram_per_slice(void **state)
{
    uint64_t seed = fresh_seed();

    (void)state;
    compare("atlas", SETTINGS("n_peaks", "1"), "lowlum", 6, seed);
    compare("atlas", SETTINGS("n_peaks", "4", "charge_aware", "false"), "lowlum", 6, seed + 1);
    compare("atlas", SETTINGS("triplet_mode", "2", "n_peaks", "3", "prefer_central", "true"),
            "lowlum", 6, seed + 2);
    /* pairs that reach further than the CPU's ring of slices */
    compare("atlas", SETTINGS("neighbour_pt_gev", "1", "n_peaks", "2"), "lowlum", 4, seed + 3);
    compare("atlas", SETTINGS("as_original", "false", "phi_range", "roi", "z_max_mm", "200"),
            "lowlum", 4, seed + 4);
}

static void as_the_original(void **state)
{
    const char *const modes[] = {"0", "1", "2"};
    uint64_t seed = fresh_seed();

    (void)state;
    for (uint32_t m = 0; m < 3; m++)
        compare("atlas",
                SETTINGS("histogram_per_slice", "false", "triplet_mode", modes[m], "n_peaks", "3"),
                "lowlum", 20, seed + m);
    compare("atlas", SETTINGS("phi_range", "roi", "charge_aware", "false", "triplet_mode", "1"),
            "lowlum", 6, seed + 3);
    compare("atlas", SETTINGS("max_layers", "19", "last_barrel", "6", "first_layers", "32"),
            "lowlum", 6, seed + 4);
    compare("atlas", SETTINGS("triplet_mode", "1", "z_max_mm", "100"), "highlum", 1, seed + 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pure_pairs),          cmocka_unit_test(pure_triplets),
        cmocka_unit_test(crowded_slices),      cmocka_unit_test(charges_and_neighbours),
        cmocka_unit_test(histogram_per_slice), cmocka_unit_test(as_the_original),
    };

    return cmocka_run_group_tests(tests, open_host, close_host);
}
