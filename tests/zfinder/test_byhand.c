/* SPDX-License-Identifier: Apache-2.0 */
/* Cases whose answer is known without computing. */
#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "testing.h"

#define POINTS 2400

struct sample { /* an RoI made of straight lines */
    float phi[POINTS], rho[POINTS], z[POINTS];
    uint8_t layer[POINTS];
    struct generated g;
};

static void begin(struct sample *s)
{
    memset(s, 0, sizeof *s);
    s->g.info.phi_half_rad = 3.2f;
    s->g.phi = s->phi;
    s->g.rho = s->rho;
    s->g.z = s->z;
    s->g.layer = s->layer;
}

static void add_point(struct sample *s, float phi, float rho, float z, uint8_t layer)
{
    s->phi[s->g.n] = phi;
    s->rho[s->g.n] = rho;
    s->z[s->g.n] = z;
    s->layer[s->g.n++] = layer;
}

/* A straight track from z0 through the first `n` barrel layers. */
static void add_line(struct sample *s, float phi, float z0, float slope, uint32_t n)
{
    static const float radius[] = {33.25f, 50.5f, 88.5f, 122.5f, 299, 371, 443, 514};

    for (uint32_t i = 0; i < n; i++)
        add_point(s, phi, radius[i], z0 + slope * radius[i], (uint8_t)i);
}

static struct trg_result find(const struct sample *s, const char *preset,
                              const char *const *settings)
{
    struct trg_result r;
    struct zf_config c;

    configure(&c, preset, settings);
    run_on(cpu(), &c, &s->g, 1, 1, &r);
    return r;
}

static void nothing_in_nothing_out(void **state)
{
    struct sample s;
    struct trg_result r;

    (void)state;
    begin(&s);
    r = find(&s, "pure", NULL);
    assert_true(r.status == TRG_OK && r.value[0] == 0 && r.value[4] == 0 && r.value[5] == 0);
    add_point(&s, 0, 50, 0, 1);
    r = find(&s, "atlas", NULL);
    assert_true(r.status == TRG_OK && r.value[0] == 0 && r.value[4] == 0 && r.value[5] == 1);
}

static void one_line(void **state)
{
    struct sample s;
    struct trg_result r;

    (void)state;
    begin(&s);
    add_line(&s, 0.3f, 42.1f, 1.5f, 8);
    r = find(&s, "pure", NULL);
    assert_true(r.value[4] == 28); /* 8 * 7 / 2 pairs */
    assert_true(r.value[0] == 1 && r.value[2] == 28);
    assert_true(fabsf(r.value[1] - 42.1f) < 0.01f);
    r = find(&s, "pure", SETTINGS("triplet_mode", "2"));
    assert_true(r.value[4] == 56); /* 8 * 7 * 6 / 6 triplets */
    r = find(&s, "pure", SETTINGS("triplet_mode", "1"));
    assert_true(r.value[4] == 21); /* pairs that do not end on the last layer */
    r = find(&s, "pure", SETTINGS("first_layers", "1"));
    assert_true(r.value[4] == 7);
    r = find(&s, "pure", SETTINGS("pixel_only", "true"));
    assert_true(r.value[4] == 6);
    r = find(&s, "pure", SETTINGS("max_layers", "3", "last_barrel", "2"));
    assert_true(r.value[4] == 3);
}

static void two_vertices_by_height(void **state)
{
    struct sample s;
    struct trg_result r;

    (void)state;
    begin(&s);
    add_line(&s, 0.3f, -80, 0.5f, 6);
    add_line(&s, -1.0f, 120, -0.5f, 8);
    r = find(&s, "pure", SETTINGS("n_peaks", "5"));
    assert_true(r.value[0] == 2);
    assert_true(fabsf(r.value[1] - 120) < 0.01f && r.value[2] == 28);
    r = find(&s, "pure", SETTINGS("n_peaks", "5", "weight_threshold", "20"));
    assert_true(r.value[0] == 1); /* the other has 15 pairs */
    r = find(&s, "pure", SETTINGS("n_peaks", "5", "min_significance", "1000"));
    assert_true(r.value[0] == 0);
    r = find(&s, "pure", SETTINGS("n_peaks", "2", "min_separation_bins", "2000", "mixing", "1"));
    assert_true(r.value[0] == 1 && fabsf(r.value[1] + 80) < 0.01f && r.value[2] == 15);
}

static void of_equals_the_central_one(void **state)
{
    struct sample s;

    (void)state;
    begin(&s);
    add_line(&s, 0.3f, -150, 0.5f, 6);
    add_line(&s, -1.0f, 20, -0.5f, 6);
    assert_true(fabsf(find(&s, "pure", NULL).value[1] + 150) < 0.01f);
    assert_true(fabsf(find(&s, "pure", SETTINGS("prefer_central", "true")).value[1] - 20) < 0.01f);
}

static void what_does_not_count(void **state)
{
    struct sample s;

    (void)state;
    begin(&s); /* one layer only */
    for (uint32_t i = 0; i < 10; i++)
        add_point(&s, 0.1f, 50.5f, (float)i, 1);
    assert_true(find(&s, "pure", NULL).value[4] == 0);
    begin(&s); /* outside |z| */
    add_line(&s, 0.3f, 250, 0, 8);
    assert_true(find(&s, "pure", NULL).value[4] == 0);
    begin(&s); /* slices far from each other */
    add_point(&s, 0.0f, 50.5f, 0, 1);
    add_point(&s, 0.5f, 88.5f, 0, 2);
    assert_true(find(&s, "pure", NULL).value[4] == 0);
    begin(&s); /* equal radii: no line to extrapolate */
    add_point(&s, 0.0f, 88.5f, 0, 1);
    add_point(&s, 0.0f, 88.5f, 5, 2);
    assert_true(find(&s, "pure", NULL).value[4] == 0);
    begin(&s); /* a layer number beyond all */
    add_point(&s, 0.0f, 50.5f, 0, 1);
    add_point(&s, 0.0f, 88.5f, 0, 40);
    assert_true(find(&s, "pure", NULL).value[5] == 1);
}

static void an_roi_across_pi(void **state)
{
    struct sample s;
    struct trg_result r;

    (void)state;
    begin(&s);
    s.g.info.phi_rad = 3.1f;
    s.g.info.phi_half_rad = 0.2f;
    for (uint32_t i = 0; i < 8; i++)
        add_point(&s, i % 2 ? 3.1414f : -3.1414f, 50.0f + 50.0f * (float)i, 7, (uint8_t)i);
    r = find(&s, "pure", NULL);
    assert_true(r.value[4] == 28 && fabsf(r.value[1] - 7) < 0.01f);
}

static void bending_needs_neighbours(void **state)
{
    struct sample s;

    (void)state;
    begin(&s); /* a track that turns by 2 degrees between the layers 1 and 6 */
    add_point(&s, 0.001f, 50.5f, 10, 1);
    add_point(&s, 0.036f, 443, 10, 6);
    assert_true(find(&s, "pure", NULL).value[4] == 0);
    assert_true(
        find(&s, "pure", SETTINGS("neighbours", "bending", "neighbour_pt_gev", "1")).value[4] == 1);
    /* it bends one way: one of the two histograms */
    assert_true(
        find(&s, "pure",
             SETTINGS("neighbours", "bending", "neighbour_pt_gev", "1", "charge_aware", "true"))
            .value[4] == 1);
}

static void impossible_parameters(void **state)
{
    const char *const bad[][4] = {{"z_bin_mm", "0.05", NULL, NULL},
                                  {"z_bin_mm", "50", "z_max_mm", "50"},
                                  {"z_bin_mm", "50", "phi_slice_deg", "10"},
                                  {"phi_range", "points", NULL, NULL},
                                  {"max_layers", "5", "last_barrel", "7"}};
    char why[256];

    (void)state;
    for (uint32_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct zf_config c;

        plugin_defaults(host.plugin, &c);
        for (uint32_t k = 0; k < 4 && bad[i][k]; k += 2)
            assert_int_equal(plugin_set(host.plugin, bad[i][k], bad[i][k + 1], &c, why, sizeof why),
                             0);
        assert_int_equal(host.plugin->d.check(&c, why, sizeof why), -EINVAL);
        assert_non_null(strstr(why, bad[i][0]));
    }
}

/* n lines of as many points, 1 mm apart from z on, 0.1 rad apart from phi on. */
static void add_lines(struct sample *s, uint32_t n, float phi, float z, uint32_t points)
{
    for (uint32_t i = 0; i < n; i++)
        add_line(s, phi + 0.1f * (float)i, z + (float)i, 0.5f, points);
}

/* Peaks that are one vertex take the places of others.  Of two vertices there are places for
 * twelve peaks: what is left beyond is told where a vertex is missing, and only there. */
static void peaks_that_are_one(void **state)
{
    static const struct {
        uint32_t strong, weak; /* lines of one vertex, lines far from it */
        const char *threshold;
        float n;
        enum trg_status status;
    } list[] = {
        {13, 0, "0", 1, TRG_TRUNCATED},
        {12, 0, "0", 1, TRG_OK},  /* all had a place */
        {11, 2, "0", 2, TRG_OK},  /* no vertex is missing */
        {11, 2, "25", 1, TRG_OK}, /* what is left has too few entries */
    };

    (void)state;
    for (uint32_t k = 0; k < sizeof list / sizeof *list; k++) {
        struct sample s;
        struct trg_result r;

        begin(&s);
        add_lines(&s, list[k].strong, 0, 0, 8);
        add_lines(&s, list[k].weak, -1, 120, 6);
        r = find(&s, "pure",
                 SETTINGS("n_peaks", "2", "min_separation_bins", "200", "weight_threshold",
                          list[k].threshold));
        assert_true(r.value[0] == list[k].n);
        assert_int_equal(r.status, list[k].status);
        if (r.status == TRG_TRUNCATED) {
            assert_int_equal(r.wanted, 2);
            assert_int_equal(r.kept, 1);
        }
    }
}

/* More entries in a bin than its places can be added up for. */
static void a_bin_too_full(void **state)
{
    struct sample s;
    struct trg_result r;

    (void)state;
    begin(&s);
    for (uint32_t i = 0; i < 2400; i++) /* 1200 x 1200 pairs that point at z = 10 */
        add_point(&s, 0.001f, i % 2 ? 50.5f : 88.5f, 10, (uint8_t)(1 + i % 2));
    r = find(&s, "pure", NULL);
    assert_true(r.value[4] == 1200.0f * 1200.0f);
    assert_int_equal(r.status, TRG_TRUNCATED);
    assert_int_equal(r.wanted, 1200u * 1200u);
    assert_int_equal(r.kept, 1u << 20);
    assert_true(fabsf(r.value[1] - 10) <= 0.2f);
}

static void wants_nothing_sought(const struct generated *g)
{
    struct trg_result r[2];

    for (uint32_t k = 0; k < 2; k++) {
        struct zf_config c;

        configure(&c, k ? "atlas" : "dense", NULL);
        run_on(cpu(), &c, g, 2, 2, r);
        assert_int_equal(r[0].status, TRG_TRUNCATED);
        assert_int_equal(r[0].wanted, g[0].n);
        assert_int_equal(r[0].kept, 0);
        assert_true(r[0].value[0] == 0 && r[0].value[4] == 0 && r[0].value[5] == (float)g[0].n);
        assert_true(r[1].status == TRG_OK && r[1].value[0] == 1); /* its neighbour is searched */
    }
}

/* 4,000 points at one place in phi would cost their number to the third power. */
static void points_at_one_place(void **state)
{
    static float phi[4000], rho[4000], z[4000];
    static uint8_t layer[4000];
    struct sample line;
    struct generated g[2];

    (void)state;
    for (uint32_t i = 0; i < 4000; i++) {
        rho[i] = 50.5f + 10.0f * (float)(i % 3);
        z[i] = (float)(i % 100);
        layer[i] = (uint8_t)(i % 3);
    }
    begin(&line);
    add_line(&line, 0.3f, 42.1f, 1.5f, 8);
    g[0] = g[1] = line.g;
    g[0].phi = phi;
    g[0].rho = rho;
    g[0].z = z;
    g[0].layer = layer;
    g[0].n = 4000;
    wants_nothing_sought(g);
}

/* More peaks of one slice than 8 bits count: one slice is one histogram. */
static void many_peaks_of_a_slice(void **state)
{
    struct generated *g = make_rois("highlum", fresh_seed(), 1);
    struct trg_result r[2];

    (void)state;
    for (uint32_t k = 0; k < 2; k++) {
        struct zf_config c;

        configure(&c, "pure",
                  SETTINGS("phi_slice_deg", "10", "phi_range", "width", "roi_phi_width_rad", "0.17",
                           "n_peaks", "64", "min_separation_bins", "4096", "mixing", "0.5",
                           "histogram_per_slice", k ? "true" : "false"));
        run_on(cpu(), &c, g, 1, 1, &r[k]);
        assert_true(r[k].value[0] ==
                    1); /* all peaks are mixed into the first, the last counts most */
    }
    assert_memory_equal(&r[0], &r[1], sizeof r[0]);
    generated_free(g, 1);
}

static void an_roi_too_large(void **state)
{
    struct zf_config c;
    const struct batches_setup setup = {.host = &host.host,
                                        .plugin = &host.plugin->d,
                                        .config = &c,
                                        .device = cpu(),
                                        .slots = 2,
                                        .max_rois = 1,
                                        .max_items = 8};
    struct sample s[2];
    struct generated g[2];
    struct trg_result r[2];
    struct batches *b;

    (void)state;
    for (uint32_t i = 0; i < 2; i++) {
        begin(&s[i]);
        add_line(&s[i], 0.3f, 42.1f, 1.5f, 8);
    }
    add_point(&s[1], 0, 50, 0, 1);
    g[0] = s[0].g;
    g[1] = s[1].g;
    configure(&c, "pure", NULL);
    assert_int_equal(batches_open(&setup, &b), 0);
    assert_int_equal(zfinder_run(b, g, 2, r, NULL), -E2BIG);
    assert_int_equal(zfinder_run(b, g, 1, r, NULL), 0);
    assert_true(r[0].value[0] == 1 && r[0].value[4] == 28);
    batches_close(b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_in_nothing_out),   cmocka_unit_test(one_line),
        cmocka_unit_test(two_vertices_by_height),   cmocka_unit_test(of_equals_the_central_one),
        cmocka_unit_test(what_does_not_count),      cmocka_unit_test(an_roi_across_pi),
        cmocka_unit_test(bending_needs_neighbours), cmocka_unit_test(impossible_parameters),
        cmocka_unit_test(peaks_that_are_one),       cmocka_unit_test(a_bin_too_full),
        cmocka_unit_test(many_peaks_of_a_slice),    cmocka_unit_test(an_roi_too_large),
        cmocka_unit_test(points_at_one_place),
    };

    return cmocka_run_group_tests(tests, open_host, close_host);
}
