/* SPDX-License-Identifier: Apache-2.0 */
/* The plugin on every device: by hand, against all pairs, truncated in its order, in
 * batches. */
#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "driver.h"
#include "seed.h"

#define SETTINGS(...) ((const char *const[]){__VA_ARGS__, NULL})
#define ROIS          12u

static struct hits *new_hits(uint32_t n)
{
    struct hits *h = calloc(n, sizeof *h);

    assert_non_null(h);
    return h;
}

static void add(struct hits *h, uint16_t layer, double r, double phi, double z)
{
    h->x[h->n] = (float)(r * cos(phi));
    h->y[h->n] = (float)(r * sin(phi));
    h->z[h->n] = (float)z;
    h->layer[h->n++] = layer;
}

static void run_one(const struct device *device, const struct doublets_config *c,
                    const struct hits *h, struct trg_result *result, struct doublets *d)
{
    const struct run run = {.device = device, .config = c, .batch = 1, .to_host = 1};

    run_plugin(&run, h, 1, result, d);
}

static void check_pairs(const struct doublets *d, const uint32_t (*want)[2], uint32_t n)
{
    assert_int_equal(d->n, n);
    for (uint32_t i = 0; i < n; i++) {
        assert_int_equal(d->inner[i], want[i][0]);
        assert_int_equal(d->outer[i], want[i][1]);
    }
}

/* A straight track from z = 20, its copy across the jump of phi, a forward one, and hits that fail
 * one cut each. */
static void by_hand(void **state)
{
    static const uint32_t want[][2] = {{0, 1}, {1, 2}, {2, 3},   {4, 5},
                                       {6, 7}, {7, 8}, {13, 15}, {16, 17}};
    struct hits *h = new_hits(1);
    struct doublets_config c;

    (void)state;
    configure(&c, SETTINGS("field_t", "3.8"));
    add(h, 0, 29, 0.5, 20 + 29);
    add(h, 1, 68, 0.5, 20 + 68);
    add(h, 2, 109, 0.5, 20 + 109);
    add(h, 3, 160, 0.5, 20 + 160);
    add(h, 0, 29, 3.14159, 0); /* 4, 5: on both sides of pi */
    add(h, 1, 68, -3.14159, 0);
    add(h, 4, 50, -1, 325); /* 6, 7, 8: discs */
    add(h, 5, 60, -1, 390);
    add(h, 6, 75, -1, 487.5);
    add(h, 1, 68, 0.5, 20 + 68 + 500);   /* 9: from far outside the beam window */
    add(h, 1, 68, 0.5 + 0.052, 20 + 68); /* 10: outside the road in phi */
    add(h, 1, 68, 0.5 + 0.047, 20 + 68); /* 11: softer than 0.5 GeV */
    add(h, 10, 68, 0.5, 20 + 68);        /* 12: no such layer */
    add(h, 0, 29, 2, 60);                /* 13: to 15 it crosses layer 1, to 14 also layer 2 */
    add(h, 4, 150, 2, 320);
    add(h, 4, 115, 2, 320);
    add(h, 1, 68, -2, 185); /* 16, 17: it crosses layer 2, and goes by layer 3 */
    add(h, 4, 150, -2, 320);
    for (uint32_t i = 0; i < devices_count(); i++) {
        struct trg_result result;
        struct doublets d = {0};

        run_one(devices_get(i), &c, h, &result, &d);
        check_pairs(&d, want, 8);
        assert_int_equal(result.status, TRG_OK);
        assert_true(result.value[0] == 8 && result.value[1] == 17);
        doublets_free(&d);
    }
    free(h);
}

static void no_hits(void **state)
{
    struct hits *h = new_hits(1);
    struct doublets_config c;

    (void)state;
    configure(&c, SETTINGS("field_t", "3.8"));
    for (uint32_t i = 0; i < devices_count(); i++) {
        struct trg_result result;
        struct doublets d = {0};

        run_one(devices_get(i), &c, h, &result, &d);
        assert_int_equal(result.status, TRG_OK);
        assert_int_equal(d.n, 0);
        assert_true(result.value[0] == 0 && result.value[2] == 0);
        doublets_free(&d);
    }
    free(h);
}

static void check_same(const struct doublets *got, const struct doublets *want)
{
    assert_int_equal(got->n, want->n);
    assert_memory_equal(got->inner, want->inner, want->n * sizeof(uint32_t));
    assert_memory_equal(got->outer, want->outer, want->n * sizeof(uint32_t));
}

/* Every device, in batches of several sizes, finds what all pairs give, in their order. */
static void compare(const struct doublets_config *c, uint64_t *seed)
{
    static const uint32_t sizes[ROIS] = {0, 1, 2, 3, 0, 100, 501, 17, 2000, 64, 300, 3000};
    static const uint32_t batches[] = {1, 5, ROIS};
    struct hits *h = new_hits(ROIS);
    struct doublets want[ROIS];

    for (uint32_t i = 0; i < ROIS; i++) {
        make_hits(&h[i], sizes[i], seed);
        brute_force(c, &h[i], &want[i]);
    }
    assert_true(want[ROIS - 1].n > 30); /* 100 to 20,000 */
    for (uint32_t i = 0; i < devices_count(); i++)
        for (uint32_t b = 0; b < 2 * sizeof batches / sizeof *batches; b++) {
            struct doublets_config config = *c;
            const struct run run = {
                .device = devices_get(i), .config = &config, .batch = batches[b / 2], .to_host = 1};
            struct trg_result results[ROIS];
            struct doublets got[ROIS];

            config.search = b % 2;
            run_plugin(&run, h, ROIS, results, got);
            for (uint32_t k = 0; k < ROIS; k++) {
                check_same(&got[k], &want[k]);
                assert_int_equal(results[k].status, TRG_OK);
                assert_true(results[k].value[0] == (float)want[k].n);
                doublets_free(&got[k]);
            }
        }
    for (uint32_t i = 0; i < ROIS; i++)
        doublets_free(&want[i]);
    free(h);
}

static void all_pairs(void **state)
{
    struct doublets_config c;
    uint64_t seed = fresh_seed();

    (void)state;
    configure(&c, SETTINGS("max_per_hit", "200"));
    compare(&c, &seed);
    configure(&c, SETTINGS("max_per_hit", "256", "beam_x_mm", "1.5", "beam_y_mm", "-2", "beam_z_mm",
                           "30", "beam_half_mm", "20", "pt_min_gev", "1.2", "dz_0_1_mm", "40",
                           "crossed", "0", "radius_1_mm", "72", "barrel_half_mm", "240",
                           "phi_0_2_rad", "0.3", "phi_4_6_rad", "1.5", "phi_7_9_rad", "0.01"));
    compare(&c, &seed);
    /* no cut on pT: circles may come back, and boxes are as wide as the roads */
    configure(
        &c, SETTINGS("max_per_hit", "256", "pt_min_gev", "0", "beam_half_mm", "5", "crossed", "4"));
    compare(&c, &seed);
    /* so soft that radii of layers are beyond the circle */
    configure(&c, SETTINGS("max_per_hit", "256", "pt_min_gev", "0.08", "phi_2_3_rad", "1.5",
                           "beam_half_mm", "300"));
    compare(&c, &seed);
}

/* What the definitions say in double precision, wherever rounding cannot decide. */
static void double_precision(void **state)
{
    struct hits *h = new_hits(1);
    struct doublets_config c;
    struct doublets d;
    uint64_t seed = fresh_seed();
    uint32_t at = 0, decided = 0, open = 0;

    (void)state;
    configure(&c, SETTINGS("beam_x_mm", "0.7", "crossed", "0"));
    make_hits(h, 1500, &seed);
    brute_force(&c, h, &d);
    for (uint32_t i = 0; i < h->n; i++)
        for (uint32_t o = 0; o < h->n; o++) {
            const bool found = at < d.n && d.inner[at] == i && d.outer[at] == o;
            const int want = is_doublet(&c, h, i, o);

            if (want < 0)
                open++;
            else
                assert_int_equal(found, want);
            decided += want == 1;
            at += found ? 1u : 0u;
        }
    assert_int_equal(at, d.n);
    assert_true(decided > 100 && open < decided);
    doublets_free(&d);
    free(h);
}

/* What a configuration may not say. */
static void refused(void **state)
{
    struct doublets_config c;
    char why[256] = "";

    (void)state;
    configure(&c, SETTINGS("field_t", "3.8"));
    assert_int_equal(doublets_check(&c, why, sizeof why), 0);
    c.layer_mm[2] = 60;
    assert_int_equal(doublets_check(&c, why, sizeof why), -EINVAL);
    assert_string_equal(
        why,
        "radius_1_mm 68, radius_2_mm 60, radius_3_mm 160: each must be larger than the one before");
    configure(&c, SETTINGS("field_t", "3.8"));
    for (uint32_t k = 0; k < DBT_PAIRS_MAX; k++)
        c.phi_rad[k] = 0;
    assert_int_equal(doublets_check(&c, why, sizeof why), -EINVAL);
    assert_non_null(strstr(why, "no pair of layers is used"));
}

/* Over the limit the first ones in order are kept, and the numbers are told. */
static void truncated(void **state)
{
    struct hits *h = new_hits(1);
    struct doublets_config c;
    struct doublets want;
    uint64_t seed = fresh_seed();

    (void)state;
    make_hits(h, 3000, &seed);
    configure(&c, SETTINGS("max_per_hit", "256"));
    brute_force(&c, h, &want);
    assert_true(want.n > 1000);
    for (uint32_t i = 0; i < devices_count(); i++)
        for (uint32_t limit = 1; limit < 1000; limit = 3 * limit + 1) {
            struct trg_result result;
            struct doublets d = {0};

            c.max_doublets = limit;
            c.search = limit % 2;
            run_one(devices_get(i), &c, h, &result, &d);
            assert_int_equal(result.status, TRG_TRUNCATED);
            assert_int_equal(result.wanted, want.n);
            assert_int_equal(result.kept, limit);
            assert_int_equal(d.n, limit);
            assert_memory_equal(d.inner, want.inner, limit * sizeof(uint32_t));
            assert_memory_equal(d.outer, want.outer, limit * sizeof(uint32_t));
            doublets_free(&d);
        }
    doublets_free(&want);
    free(h);
}

/* n hits each on two layers, of which nearly all pairs are doublets. */
static void add_jet(struct hits *h, uint32_t n, uint64_t *seed)
{
    for (uint32_t i = 0; i < 2 * n; i++) {
        const double phi = 0.5 + devices_random(seed) % 1000 * 1e-5;

        add(h, i % 2 ? 1 : 0, i % 2 ? 68 : 29, phi, devices_random(seed) % 1000 * 0.02);
    }
}

/* More doublets than a group of a GPU notes, and longer rows than it leaves to a few work-items,
 * beside RoIs with fewer: nothing is TRUNCATED. */
static void jets(void **state)
{
    static const uint32_t sizes[] = {100, 70, 20, 1500};
    enum { N = sizeof sizes / sizeof *sizes };
    struct hits *h = new_hits(N);
    struct doublets want[N], got[N];
    struct trg_result results[N];
    struct doublets_config c;
    uint64_t seed = fresh_seed();

    (void)state;
    configure(&c, SETTINGS("max_per_hit", "256"));
    for (uint32_t k = 0; k < N; k++) {
        if (k + 1 < N)
            add_jet(&h[k], sizes[k], &seed);
        else
            make_hits(&h[k], sizes[k], &seed);
        brute_force(&c, &h[k], &want[k]);
    }
    assert_true(want[0].n > 9000 && want[1].n > 4500);
    for (uint32_t i = 0; i < devices_count(); i++)
        for (uint32_t batch = 1; batch <= N; batch += N - 1) {
            const struct run run = {
                .device = devices_get(i), .config = &c, .batch = batch, .to_host = 1};

            run_plugin(&run, h, N, results, got);
            for (uint32_t k = 0; k < N; k++) {
                check_same(&got[k], &want[k]);
                assert_int_equal(results[k].status, TRG_OK);
                doublets_free(&got[k]);
            }
        }
    for (uint32_t k = 0; k < N; k++)
        doublets_free(&want[k]);
    free(h);
}

/* Nobody on the host wants the doublets: the numbers of them are told all the same. */
static void not_on_the_host(void **state)
{
    struct hits *h = new_hits(1);
    struct doublets_config c;
    struct doublets want;
    uint64_t seed = fresh_seed();

    (void)state;
    make_hits(h, 2000, &seed);
    configure(&c, SETTINGS("max_per_hit", "256"));
    brute_force(&c, h, &want);
    for (uint32_t i = 0; i < devices_count(); i++) {
        const struct run run = {.device = devices_get(i), .config = &c, .batch = 1};
        struct trg_result result;
        struct doublets d;

        run_plugin(&run, h, 1, &result, &d);
        assert_int_equal(d.n, 0);
        assert_true(result.value[0] == (float)want.n);
    }
    doublets_free(&want);
    free(h);
}

/* The box is never too small, at any place that rounding can reach: boxes around hits against
 * pairs. */
static void phi_is_right(void **state)
{
    uint64_t seed = fresh_seed();

    (void)state;
    for (uint32_t i = 0; i < 100000; i++) {
        const float x = (float)(int32_t)devices_random(&seed) * 1e-7f;
        const float y = (float)(int32_t)devices_random(&seed) * 1e-7f;

        assert_true(fabs((double)dbt_phi(x, y) - atan2((double)y, (double)x)) < 4e-7);
    }
    assert_true(dbt_phi(0, 0) == 0);
    assert_true(dbt_phi(-1, 0) == DBT_PI);
    assert_true(dbt_phi(0, 1) > 1.5707f && dbt_phi(0, -1) < -1.5707f);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(phi_is_right),   cmocka_unit_test(by_hand),
        cmocka_unit_test(no_hits),        cmocka_unit_test(double_precision),
        cmocka_unit_test(refused),        cmocka_unit_test(all_pairs),
        cmocka_unit_test(truncated),      cmocka_unit_test(jets),
        cmocka_unit_test(not_on_the_host)};

    return devices_main(argc, argv, tests, sizeof tests / sizeof *tests);
}
