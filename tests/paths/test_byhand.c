/* SPDX-License-Identifier: Apache-2.0 */
/* Small cases whose answer is known. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "samples.h"
#include "testing.h"

#define RESULT(a, name) ((a).result.value[value_of(name)])

static uint32_t value_of(const char *name)
{
    uint32_t i = 0;

    while (strcmp(host.plugin->d.values[i].name, name) != 0)
        i++;
    return i;
}

/* The paths of an answer as text: "0-1-2-3 0-1-2-4". */
static const char *text_of(const struct answer *a)
{
    static char text[1024];
    size_t at = 0;

    text[0] = 0;
    for (uint32_t i = 0; i < a->n; i++)
        for (uint32_t k = 0; k < a->path[0][i]; k++)
            at += (size_t)snprintf(text + at, sizeof text - at, "%s%u",
                                   k   ? "-"
                                   : i ? " "
                                       : "",
                                   answer_hit(a, k, i));
    return text;
}

static void expect(const struct roi *r, const char *preset, const char *const *settings,
                   const char *want)
{
    static const char *const growths[] = {"breadth", "scan", "depth", "auto"};

    for (uint32_t g = 0; g < 4; g++) {
        struct pa_config c;
        struct answer a;

        configure(&c, preset, settings);
        assert_int_equal(plugin_set(host.plugin, "growth", growths[g], &c, NULL, 0), 0);
        a = answer_of(&c, r);
        assert_int_equal(a.result.status, TRG_OK);
        assert_string_equal(text_of(&a), want);
        answers_free(&a, 1);
    }
}

/* Hits 0 .. n - 1 of a track on consecutive barrel layers, with their doublets. */
static void add_track(struct roi *r, const struct helix *h, uint32_t n)
{
    for (uint32_t l = 0; l < n; l++) {
        double x, y, z;
        uint32_t hit;

        assert_true(helix_cross(h, 3.8, 30 + 40.0 * l, &x, &y, &z));
        hit = roi_hit(r, x, y, z, l);
        if (l)
            roi_doublet(r, hit - 1, hit);
    }
}

static void nothing(void **state)
{
    struct roi r;

    (void)state;
    roi_init(&r);
    expect(&r, "quadruplets", SETTINGS("duplicates", "keep"), "");
    roi_hit(&r, 30, 0, 0, 0);
    expect(&r, "quadruplets", SETTINGS("duplicates", "keep"), "");
    roi_hit(&r, 70, 0, 0, 1);
    roi_doublet(&r, 0, 1);
    expect(&r, "triplets", SETTINGS("duplicates", "keep"), "");
    roi_fini(&r);
}

/*      0 - 1 - 2 - 3
 *            \ 4 - 5 - 6     7 - 4 */
static void branches(void **state)
{
    static const uint32_t layer[] = {0, 1, 2, 3, 2, 3, 4, 1};
    static const uint32_t doublet[][2] = {{4, 5}, {1, 4}, {0, 1}, {1, 2}, {2, 3}, {5, 6}, {7, 4}};
    const char *const few[] = {"last_barrel", "9", "min_doublets", "3", "max_doublets", "3", NULL};
    struct roi r;

    (void)state;
    roi_init(&r);
    for (uint32_t i = 0; i < 8; i++)
        roi_hit(&r, 30 + 40.0 * layer[i], i, 0, layer[i]);
    for (uint32_t i = 0; i < 7; i++)
        roi_doublet(&r, doublet[i][0], doublet[i][1]);
    /* doublets of hit 1 stay in the order of the input: to 4, then to 2 */
    expect(&r, "open", few, "0-1-4-5 0-1-2-3 1-4-5-6 7-4-5-6");
    expect(&r, "open", SETTINGS("last_barrel", "9", "min_doublets", "2", "max_doublets", "4"),
           "0-1-4 0-1-4-5 0-1-4-5-6 0-1-2 0-1-2-3 1-4-5 1-4-5-6 1-2-3 4-5-6 7-4-5 7-4-5-6");
    expect(
        &r, "open",
        SETTINGS("last_barrel", "9", "min_doublets", "2", "max_doublets", "8", "keep", "longest"),
        "0-1-4-5-6 0-1-2-3 7-4-5-6");
    expect(
        &r, "open",
        SETTINGS("last_barrel", "9", "min_doublets", "2", "max_doublets", "3", "keep", "longest"),
        "0-1-4-5 0-1-2-3 7-4-5-6");
    roi_fini(&r);
}

/* Barrel 0 .. 1, discs 2 .. 4 on one side and 5 .. 7 on the other. */
static void layers(void **state)
{
    static const uint32_t layer[] = {0, 1, 2, 3, 4, 5, 6, 1, 8};
    struct roi r;

    (void)state;
    roi_init(&r);
    for (uint32_t i = 0; i < 9; i++)
        roi_hit(&r, 30 + 10.0 * i, i, 0, layer[i]); /* there is no layer 8 */
    for (uint32_t i = 0; i < 9; i++)
        for (uint32_t k = 0; k < 9; k++)
            roi_doublet(&r, i, k); /* also to itself, inwards, and across the sides */
    roi_doublet(&r, 9, 1);
    roi_doublet(&r, 1, 4000000000u);
    expect(&r, "open",
           SETTINGS("last_barrel", "1", "discs", "3", "layers_skipped", "0", "min_doublets", "2",
                    "max_doublets", "4", "keep", "longest"),
           /* to the first disc from any barrel layer, then from disc to disc */
           "0-1-2-3-4 0-1-5-6 0-2-3-4 0-5-6 0-7-2-3-4 0-7-5-6");
    expect(&r, "open",
           SETTINGS("last_barrel", "1", "discs", "3", "layers_skipped", "1", "min_doublets", "4",
                    "max_doublets", "4"),
           "0-1-2-3-4 0-7-2-3-4");
    roi_fini(&r);
}

static void longest_path(void **state)
{
    struct pa_config c;
    struct answer a;
    struct roi r;

    (void)state;
    roi_init(&r);
    for (uint32_t i = 0; i < 9; i++)
        roi_hit(&r, 30 + 40.0 * i, 0.001 * i, 10.0 * i, i);
    for (uint32_t i = 0; i < 8; i++)
        roi_doublet(&r, i, i + 1);
    configure(&c, "open", SETTINGS("last_barrel", "9", "min_doublets", "8", "max_doublets", "8"));
    a = answer_of(&c, &r);
    assert_int_equal(a.n, 1);
    assert_int_equal(a.path[0][0], 9);
    for (uint32_t k = 0; k < 9; k++)
        assert_int_equal(answer_hit(&a, k, 0), k);
    assert_int_equal(a.track[10][0], 9);
    answers_free(&a, 1);
    roi_fini(&r);
}

/* The link criterion of CMS keeps a track's own doublets and no doublet of another one; this is the
 * golden files' test in small. */
static void criterion(void **state)
{
    const struct helix one = {.pt = 1.5, .phi = 0.3, .cot = 0.8, .z0 = 12};
    const struct helix two = {.pt = -0.9, .phi = 0.32, .cot = 0.8, .z0 = 11};
    struct roi r;

    (void)state;
    roi_init(&r);
    add_track(&r, &one, 4); /* hits 0 .. 3 */
    add_track(&r, &two, 4); /* hits 4 .. 7 */
    for (uint32_t i = 0; i < 3; i++) {
        roi_doublet(&r, i, 5 + i);
        roi_doublet(&r, 4 + i, 1 + i);
    }
    expect(&r, "open", SETTINGS("layers_skipped", "0"),
           "0-1-2-3 0-1-2-7 0-1-6-7 0-1-6-3 0-5-6-7 0-5-6-3 0-5-2-3 0-5-2-7 "
           "4-5-6-7 4-5-6-3 4-5-2-3 4-5-2-7 4-1-2-3 4-1-2-7 4-1-6-7 4-1-6-3");
    expect(&r, "quadruplets", SETTINGS("duplicates", "keep"), "0-1-2-3 4-5-6-7");
    /* each cut by itself */
    expect(&r, "quadruplets", SETTINGS("duplicates", "keep", "hard_pt_gev", "1.2"), "0-1-2-3");
    expect(&r, "quadruplets", SETTINGS("duplicates", "keep", "hard_pt_gev", "1.6"), "");
    expect(&r, "quadruplets", SETTINGS("duplicates", "keep", "beam_x_mm", "0", "beam_y_mm", "9"),
           "");
    roi_fini(&r);
}

static void misaligned(void **state)
{
    const double z[] = {0, 40, 80.3, 120}; /* 0.3 mm off over 80 mm */
    struct roi r;

    (void)state;
    roi_init(&r);
    for (uint32_t i = 0; i < 4; i++)
        roi_hit(&r, 30 + 40.0 * i, 0, z[i], i);
    for (uint32_t i = 0; i < 3; i++)
        roi_doublet(&r, i, i + 1);
    /* the middle hit of the second triplet is 0.3 / sqrt 2 away from the line, over 80 mm in r */
    expect(&r, "quadruplets", SETTINGS("theta_cut", "0.0027", "duplicates", "keep"), "0-1-2-3");
    expect(&r, "quadruplets", SETTINGS("theta_cut", "0.0026", "duplicates", "keep"), "");
    expect(&r, "quadruplets",
           SETTINGS("align", "slope", "max_dslope", "0.016", "duplicates", "keep"), "0-1-2-3");
    expect(&r, "quadruplets",
           SETTINGS("align", "slope", "max_dslope", "0.014", "duplicates", "keep"), "");
    roi_fini(&r);
}

/* A track, the same with its last hit 0.5 mm away in z, and one that shares nothing. */
static void duplicates(void **state)
{
    const struct helix one = {.pt = 3, .phi = 0.3, .cot = 0.5, .z0 = 0};
    const struct helix two = {.pt = 2, .phi = 2.3, .cot = -0.5, .z0 = 40};
    const char *const loose[] = {"theta_cut", "1", "duplicates", "remove", NULL};
    struct roi r;
    uint32_t copy;

    (void)state;
    roi_init(&r);
    add_track(&r, &one, 4);
    copy = roi_hit(&r, (double)r.x[3], (double)r.y[3], (double)r.z[3] + 0.5, 3);
    roi_doublet(&r, 2, copy);
    add_track(&r, &two, 4); /* hits 5 .. 8 */
    expect(&r, "quadruplets", SETTINGS("theta_cut", "1", "duplicates", "keep"),
           "0-1-2-3 0-1-2-4 5-6-7-8");
    expect(&r, "quadruplets", loose, "0-1-2-3 5-6-7-8");
    expect(&r, "quadruplets", SETTINGS("theta_cut", "1", "max_shared", "2"), "0-1-2-3 5-6-7-8");
    expect(&r, "quadruplets", SETTINGS("theta_cut", "1", "max_shared", "3"),
           "0-1-2-3 0-1-2-4 5-6-7-8");
    /* cuts come before duplicates are removed */
    expect(&r, "quadruplets", SETTINGS("theta_cut", "1", "pt_cut_gev", "2.5"), "0-1-2-3");
    expect(&r, "quadruplets", SETTINGS("theta_cut", "1", "z0_max_mm", "20"), "0-1-2-3");
    expect(&r, "quadruplets", SETTINGS("theta_cut", "1", "duplicates", "keep", "chi2_max", "5"),
           "0-1-2-3 5-6-7-8");
    /* more hits win over less chi2 */
    expect(&r, "quadruplets", SETTINGS("theta_cut", "1", "min_doublets", "2", "chi2_max", "5"),
           "0-1-2-3 5-6-7-8");
    roi_fini(&r);
}

static void fit(void **state)
{
    const struct helix h = {.pt = -1.25, .phi = -2.5, .cot = 1.5, .d0 = 0.4, .z0 = -33};
    struct pa_config c;
    struct answer a;
    struct roi r;
    double p = 1.25 * sqrt(1 + 1.5 * 1.5);

    (void)state;
    roi_init(&r);
    add_track(&r, &h, 4);
    configure(&c, "quadruplets", SETTINGS("count_pt_gev", "1.2", "count_hits", "4"));
    a = answer_of(&c, &r);
    assert_int_equal(a.n, 1);
    assert_float_equal(answer_path(&a, 9, 0), -1.25, 2e-3);
    assert_float_equal(answer_path(&a, 10, 0), -2.5, 1e-5);
    assert_float_equal(answer_path(&a, 11, 0), 1.5, 1e-5);
    assert_float_equal(answer_path(&a, 12, 0), 0.4, 1e-3);
    assert_float_equal(answer_path(&a, 13, 0), -33, 1e-3);
    assert_true(answer_path(&a, 14, 0) < 0.01f);
    assert_float_equal(answer_track(&a, 0, 0), (float)(-0.4 * sin(-2.5)), 1e-3);
    assert_float_equal(answer_track(&a, 1, 0), (float)(0.4 * cos(-2.5)), 1e-3);
    assert_float_equal(answer_track(&a, 2, 0), -33, 1e-3);
    assert_float_equal(answer_track(&a, 3, 0), (float)(cos(-2.5) / 1.5), 1e-5);
    assert_float_equal(answer_track(&a, 4, 0), (float)(sin(-2.5) / 1.5), 1e-5);
    assert_float_equal(answer_track(&a, 9, 0), (float)(-1 / p), 1e-3);
    assert_true(RESULT(a, "n_candidates") == 1 && RESULT(a, "n_above_pt") == 1);
    assert_true(RESULT(a, "n_long") == 1);
    assert_float_equal(RESULT(a, "leading_pt_gev"), 1.25, 2e-3);
    answers_free(&a, 1);
    roi_fini(&r);
}

static void from_one_vertex(void **state)
{
    static const double z0[] = {-50, 10.0, 10.2, -50.1, 10.1, 80};
    struct pa_config c;
    struct answer a;
    struct roi r;

    (void)state;
    roi_init(&r);
    for (uint32_t i = 0; i < 6; i++)
        add_track(&r, &(struct helix){.pt = 1 + i, .phi = i, .cot = 0.1 * i, .z0 = z0[i]}, 4);
    configure(&c, "quadruplets", SETTINGS("count_pt_gev", "3.5"));
    a = answer_of(&c, &r);
    assert_true(RESULT(a, "n_candidates") == 6 && RESULT(a, "n_same_vertex") == 3);
    assert_true(fabs((double)RESULT(a, "vertex_z_mm") - 10.1) <= 0.5);
    assert_true(RESULT(a, "n_above_pt") == 3);
    answers_free(&a, 1);
    roi_fini(&r);
}

/* One hit on each of 0 and 3, `n` on each of 1 and 2: n + n + n * n doublets, n * n paths. */
static void fan(struct roi *r, uint32_t n)
{
    roi_init(r);
    for (uint32_t l = 0; l < 4; l++)
        for (uint32_t i = 0; i < (l % 3 ? n : 1); i++)
            roi_hit(r, 30 + 40.0 * l, i, 0, l);
    for (uint32_t i = 0; i < n; i++)
        roi_doublet(r, 0, 1 + i);
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t k = 0; k < n; k++)
            roi_doublet(r, 1 + i, 1 + n + k);
    for (uint32_t i = 0; i < n; i++)
        roi_doublet(r, 1 + n + i, 1 + 2 * n);
}

static void limits(void **state)
{
    struct pa_config c;
    struct answer a, b;
    struct roi r;

    (void)state;
    fan(&r, 60); /* 3,720 doublets, 7,200 links, 3,600 paths */
    configure(&c, "open", SETTINGS("max_paths", "100"));
    a = answer_of(&c, &r);
    assert_int_equal(a.result.status, TRG_TRUNCATED);
    assert_true(a.result.wanted == 3600 && a.result.kept == 100 && a.n == 100);
    assert_true(a.path[2][99] == 2 && a.path[3][99] == 61 + 39); /* the first 100 in order */
    answers_free(&a, 1);
    configure(&c, "open", SETTINGS("max_paths", "100", "max_candidates", "50"));
    a = answer_of(&c, &r); /* both: the first one is told */
    assert_true(a.result.wanted == 3600 && a.result.kept == 100 && a.n == 50);
    answers_free(&a, 1);
    configure(&c, "open", SETTINGS("max_candidates", "3599"));
    a = answer_of(&c, &r);
    assert_int_equal(a.result.status, TRG_TRUNCATED);
    assert_true(a.result.wanted == 3600 && a.result.kept == 3599 && a.n == 3599);
    answers_free(&a, 1);
    configure(&c, "open", SETTINGS("links_per_doublet", "2", "max_paths", "3600"));
    a = answer_of(&c, &r);
    assert_int_equal(a.result.status, TRG_OK);
    assert_int_equal(a.n, 3600);
    configure(&c, "open", SETTINGS("links_per_doublet", "1", "max_paths", "3600"));
    b = answer_of(&c, &r); /* room for 3,720 + 1,024 of 7,200 links: the same paths */
    assert_true(answers_equal(&a, &b));
    answers_free(&b, 1);
    answers_free(&a, 1);
    roi_fini(&r);
}

/* More paths than 32 bits count, from few doublets: nine layers of 20 hits, all joined. */
static void more_than_can_be_counted(void **state)
{
    struct pa_config c;
    struct answer a;
    struct roi r;

    (void)state;
    roi_init(&r);
    for (uint32_t i = 0; i < 180; i++)
        roi_hit(&r, 30 + 40.0 * (i / 20), i, 0, i / 20);
    for (uint32_t i = 0; i < 3200; i++)
        roi_doublet(&r, i / 20, (i / 400 + 1) * 20 + i % 20);
    configure(&c, "open",
              SETTINGS("last_barrel", "9", "links_per_doublet", "20", "min_doublets", "8",
                       "max_doublets", "8", "max_paths", "50"));
    a = answer_of(&c, &r);
    assert_int_equal(a.result.status, TRG_TRUNCATED);
    assert_true(a.result.wanted == UINT32_MAX && a.result.kept == 50 && a.n == 50);
    answers_free(&a, 1);
    roi_fini(&r);
}

static void bad_settings(void **state)
{
    struct pa_config c;
    char why[256] = "";

    (void)state;
    plugin_defaults(host.plugin, &c);
    c.min_doublets = 4;
    c.max_doublets = 3;
    assert_true(host.plugin->d.check(&c, why, sizeof why) < 0);
    assert_string_equal(why, "max_doublets 3 is below min_doublets 4");
    c.min_doublets = 2;
    c.max_shared = 4;
    assert_true(host.plugin->d.check(&c, why, sizeof why) < 0);
    assert_string_equal(why, "max_shared 4 removes nothing: a path of max_doublets 3 has 4 hits");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(nothing),
                                       cmocka_unit_test(branches),
                                       cmocka_unit_test(layers),
                                       cmocka_unit_test(longest_path),
                                       cmocka_unit_test(criterion),
                                       cmocka_unit_test(misaligned),
                                       cmocka_unit_test(duplicates),
                                       cmocka_unit_test(fit),
                                       cmocka_unit_test(from_one_vertex),
                                       cmocka_unit_test(limits),
                                       cmocka_unit_test(more_than_can_be_counted),
                                       cmocka_unit_test(bad_settings)};

    return cmocka_run_group_tests(tests, open_host, close_host);
}
