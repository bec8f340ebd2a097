/* SPDX-License-Identifier: Apache-2.0 */
/* Events made by hand, whose vertices are known, through the whole plugin. */
#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "beauty.h"
#include "reference.h"
#include "testing.h"

#define SIGMA 0.01

/* n tracks from a point at evenly spread angles, measured 30 mm further on, `off` from the true
 * line to either side in turns. */
static void spray(struct event *e, const double *from, uint32_t n, double slope, double off)
{
    for (uint32_t i = 0; i < n; i++) {
        const double phi = 6.28318530717958648 * (i + 0.25) / n;
        const double tx = slope * cos(phi), ty = slope * sin(phi);
        const struct event_track t = {.x = from[0] + 30 * tx - (i % 2 ? off : -off) * sin(phi),
                                      .y = from[1] + 30 * ty + (i % 2 ? off : -off) * cos(phi),
                                      .z = from[2] + 30,
                                      .tx = tx,
                                      .ty = ty,
                                      .var_x = SIGMA * SIGMA,
                                      .var_tx = 1e-10,
                                      .p = i % 2 ? -2 : 2};

        event_add(e, &t, EVENT_NOBODY);
    }
}

static struct vx_answer *solve(const struct event *e, const char *const *settings)
{
    struct vx_config c;

    configure(&c, NULL, settings);
    return answers_of(cpu(), &c, e, 1, 1);
}

static void check_place(const struct vx_answer *a, uint32_t i, const double *want, double within)
{
    for (uint32_t c = 0; c < 3; c++)
        assert_true(fabs((double)vx_floats(a, c)[i] - want[c]) < within);
}

/* Two collisions 4 mm apart, one of them off the beam line. */
static void two_primaries(void **state)
{
    static const double place[2][3] = {{0.05, -0.02, -31}, {0, 0.04, -27}};
    static const char *const methods[] = {"peaks", "pairs"};
    struct event e;

    (void)state;
    assert_int_equal(event_init(&e, 64), 0);
    spray(&e, place[1], 12, 0.15, 0);
    spray(&e, place[0], 9, 0.2, 0);
    for (uint32_t m = 0; m < 2; m++) {
        struct vx_answer *a = solve(&e, SETTINGS("seeding", methods[m], "beam_sigma_mm", "0.05"));

        assert_int_equal(a->result.status, TRG_OK);
        assert_int_equal(a->n, 2);
        assert_float_equal(a->result.value[0], 2, 0);
        assert_float_equal(a->result.value[7], place[1][2], 1e-3); /* the one with more tracks */
        for (uint32_t i = 0; i < 2; i++) {
            assert_int_equal(vx_type(a, i), TRG_PRIMARY);
            assert_int_equal(vx_tracks(a, i), i ? 12 : 9);
            check_place(a, i, place[i], 1e-4);
            assert_true(vx_floats(a, 10)[i] < 0.01f); /* they fit */
            assert_true(vx_floats(a, 13)[i] == 0);    /* no flight */
        }
        vx_answers_free(a, 1);
    }
    event_fini(&e);
}

/* A collision, and a decay 8 mm further on: position, flight, significance, mass. */
static void a_decay(void **state)
{
    static const double pv[3] = {0, 0, 10}, sv[3] = {0.5, 0.3, 18};
    const double flight = sqrt(0.25 + 0.09 + 64);
    double energy = 0, px = 0, py = 0, pz = 0;
    struct event e;
    struct vx_answer *a;

    (void)state;
    assert_int_equal(event_init(&e, 64), 0);
    spray(&e, pv, 14, 0.15, 0);
    spray(&e, sv, 3, 0.12, 0);
    a = solve(&e, SETTINGS("mass_gev", "0.5", "ip_max_mm", "5"));
    for (uint32_t i = 14; i < 17; i++) {
        const double tx = (double)event_floats(&e, 3)[i], ty = (double)event_floats(&e, 4)[i];
        const double norm = sqrt(1 + tx * tx + ty * ty);

        px += 2 * tx / norm;
        py += 2 * ty / norm;
        pz += 2 / norm;
        energy += sqrt(4 + 0.25);
    }
    assert_int_equal(a->n, 2);
    check_place(a, 0, pv, 1e-3);
    assert_int_equal(vx_type(a, 1), TRG_SECONDARY);
    assert_int_equal(vx_tracks(a, 1), 3);
    check_place(a, 1, sv, 1e-3);
    assert_float_equal(vx_floats(a, 13)[1], flight, 2e-3);
    assert_float_equal(vx_floats(a, 15)[1], sqrt(energy * energy - px * px - py * py - pz * pz),
                       2e-3);
    assert_true(vx_floats(a, 14)[1] > 40 && vx_floats(a, 14)[1] < 200);
    assert_float_equal(a->result.value[1], 1, 0);
    assert_float_equal(a->result.value[2], 1, 0);
    assert_float_equal(a->result.value[6], 3, 0);
    assert_float_equal(a->result.value[9], 3, 0);  /* tracks in the graph */
    assert_float_equal(a->result.value[10], 3, 0); /* crossings: all pairs, which are left */
    for (uint32_t k = 11; k < 15; k++)
        assert_float_equal(a->result.value[k], 0, 0);
    vx_answers_free(a, 1);
    event_fini(&e);
}

/* What the discriminant sees of one candidate, and of none. */
static void features(void **state)
{
    const float flight = sqrtf(0.3f * 0.3f + 0.4f * 0.4f + 12 * 12);
    const float pv[2][VX_OUT_WORDS] = {{[VX_OUT_Z] = -30}, {[VX_OUT_Z] = 1}};
    const float sv[VX_OUT_WORDS] = {
        [VX_OUT_X] = 0.3f, [VX_OUT_Y] = 0.4f,        [VX_OUT_Z] = 13,
        [VX_OUT_CHI2] = 6, [VX_OUT_FLIGHT] = flight, [VX_OUT_SIGNIFICANCE] = 20};
    const struct vx_counts counts = {.n_displaced = 5,
                                     .n_selected = 9,
                                     .n_edges = 4,
                                     .ip_significance = 7,
                                     .score = 640,
                                     .sure = 128,
                                     .best_score = VX_SCORE_ZERO + VX_SCORE_ONE / 2};
    uint32_t rows[3][VX_OUT_WORDS];
    float f[VX_B_FEATURES], none[VX_B_FEATURES];
    const struct trg_input no_trees = {0};

    (void)state;
    memcpy(rows, pv, sizeof pv);
    memcpy(rows[2], sv, sizeof sv);
    rows[2][VX_OUT_TRACKS] = 3;
    vx_beauty_features(rows[0], 2, 3, &counts, f);
    assert_float_equal(f[VX_B_SIGNIFICANCE_2], log(21), 1e-5);
    assert_float_equal(f[VX_B_SIGNIFICANCE_3], log(21), 1e-5);
    assert_float_equal(f[VX_B_SIGNIFICANCE_4], 0, 0);
    assert_float_equal(f[VX_B_TRACKS], 3, 0);
    assert_float_equal(f[VX_B_CANDIDATES], 1, 0);
    assert_float_equal(f[VX_B_DISPLACED], 5, 0);
    assert_float_equal(f[VX_B_IP], log(8), 1e-5);
    assert_float_equal(f[VX_B_SELECTED], 9, 0);
    assert_float_equal(f[VX_B_EDGES], 4, 0);
    assert_float_equal(f[VX_B_FLIGHT], log(1 + (double)flight), 1e-5);
    assert_float_equal(f[VX_B_RADIUS], 0.5, 1e-5);
    assert_float_equal(f[VX_B_SLOPE], 0.5 / 12, 1e-6);
    assert_float_equal(f[VX_B_CHI2], 2, 1e-6); /* three tracks: three degrees of freedom */
    assert_float_equal(f[VX_B_BACKWARD], 0, 0);
    assert_float_equal(f[VX_B_PAIRS], 2.5, 1e-6); /* 640 / 256 */
    assert_float_equal(f[VX_B_SURE], 0.5, 1e-6);
    assert_float_equal(f[VX_B_BEST], 4.5, 1e-6);
    vx_beauty_features(rows[0], 2, 2, &(struct vx_counts){0}, none);
    for (uint32_t k = 0; k < VX_B_FEATURES; k++)
        assert_float_equal(none[k], 0, 0);
    assert_true(vx_beauty(&no_trees, f) > vx_beauty(&no_trees, none) + 1);
}

/* The fit against the double-precision minimum with the weights that the final vertex gives. */
static void against_double(void **state)
{
    static const double pv[3] = {0.03, -0.01, 42};
    uint64_t random = fresh_seed();
    struct ref_line l[25];
    double weight[25], point[3], cov[3];
    struct event e;
    struct vx_answer *a;

    (void)state;
    for (uint32_t trial = 0; trial < 50; trial++) {
        double chi2 = 0;

        assert_int_equal(event_init(&e, 64), 0);
        for (uint32_t i = 0; i < 25; i++) {
            const double tx = 0.2 * toy_gauss(&random), ty = 0.2 * toy_gauss(&random);
            const struct event_track t = {.x = pv[0] + 20 * tx + SIGMA * toy_gauss(&random),
                                          .y = pv[1] + 20 * ty + SIGMA * toy_gauss(&random),
                                          .z = pv[2] + 20,
                                          .tx = tx,
                                          .ty = ty,
                                          .var_x = SIGMA * SIGMA,
                                          .var_tx = 1e-10};

            event_add(&e, &t, EVENT_NOBODY);
        }
        a = solve(&e, SETTINGS("ip_min_sigmas", "5", "pv_own_tracks", "0", "tolerance_mm", "1e-5",
                               "max_rounds", "100", "window_mm", "1000"));
        assert_true(a->n >= 1);
        for (uint32_t c = 0; c < 3; c++)
            point[c] = (double)vx_floats(a, c)[0];
        for (uint32_t i = 0; i < 25; i++) {
            const double tx = (double)event_floats(&e, 3)[i], ty = (double)event_floats(&e, 4)[i];
            const double norm = sqrt(1 + tx * tx + ty * ty);
            double d;

            l[i] =
                (struct ref_line){{(double)event_floats(&e, 0)[i], (double)event_floats(&e, 1)[i],
                                   (double)event_floats(&e, 2)[i]},
                                  {tx / norm, ty / norm, 1 / norm},
                                  (SIGMA * SIGMA + 400e-10) / norm};
            d = ref_miss(&l[i], point);
            weight[i] = fmax(0, 1 - d * d / l[i].var / 9);
            weight[i] *= weight[i];
            chi2 += weight[i] * d * d / l[i].var;
        }
        ref_vertex(l, weight, 25, point, cov);
        for (uint32_t c = 0; c < 3; c++) {
            /* it stopped when it moved by less than 1 um */
            assert_true(fabs(point[c] - (double)vx_floats(a, c)[0]) < 2e-3);
            /* a track at the edge of the cut changes its weight within that micrometre */
            assert_true(fabs((double)vx_floats(a, 4 + c)[0] / cov[c] - 1) < 0.1);
        }
        /* a fit may end to and fro between two places a micrometre apart */
        if (fabs((double)vx_floats(a, 10)[0] - chi2) > 2)
            fail_msg("n %u trial %u chi2 is %.3f, and %.3f in double precision", a->n, trial,
                     (double)vx_floats(a, 10)[0], chi2);
        vx_answers_free(a, 1);
        event_fini(&e);
    }
}

/* Nothing, one track, tracks along the beam, steep tracks: answers, never errors. */
static void odd_events(void **state)
{
    struct event e;
    struct vx_answer *a;

    (void)state;
    assert_int_equal(event_init(&e, 64), 0);
    a = solve(&e, NULL);
    assert_int_equal(a->n, 0);
    assert_int_equal(a->result.status, TRG_OK);
    vx_answers_free(a, 1);
    event_add(&e, &(struct event_track){.tx = 0.1, .var_x = 1e-4}, EVENT_NOBODY);
    event_add(&e, &(struct event_track){.var_x = 1e-4}, EVENT_NOBODY);
    event_add(&e, &(struct event_track){.tx = 3e3, .ty = -4e3, .var_x = 1e-4}, EVENT_NOBODY);
    event_add(&e, &(struct event_track){.tx = 0.1, .z = 1e6, .var_x = 0}, EVENT_NOBODY);
    a = solve(&e, SETTINGS("pv_min_tracks", "4")); /* three of them meet */
    assert_int_equal(a->n, 0);
    assert_int_equal(a->result.status, TRG_OK);
    vx_answers_free(a, 1);
    event_fini(&e);
}

/* Two tracks of one collision, beside a large one: kept where their z is known well and they meet
 * on the beam line, with tracks of their own; a third track makes up for errors. */
static void two_tracks(void **state)
{
    static const struct {
        double off, z, slope; /* mm, mm, of the tracks: flat ones know z badly */
        uint32_t n, kept;
    } list[] = {
        {0, -27, 0.15, 2, 1},     /* z known to 0.05 mm */
        {0, -27, 0.04, 2, 0},     /* to 0.18 mm */
        {0, -27, 0.04, 3, 1},     /* three need no such thing */
        {0.065, -27, 0.15, 2, 0}, /* 4.3 sigmas off the beam line, to the side of both tracks */
        {0, -29.4, 0.04, 2, 0},   /* the tracks miss the large one by 2.4 sigmas */
    };

    (void)state;
    for (uint32_t k = 0; k < sizeof list / sizeof *list; k++) {
        struct event e;
        struct vx_answer *a;

        assert_int_equal(event_init(&e, 64), 0);
        spray(&e, (const double[]){0, 0, -30}, 20, 0.15, 0);
        spray(&e, (const double[]){list[k].off, -list[k].off, list[k].z}, list[k].n, list[k].slope,
              0);
        a = solve(&e,
                  SETTINGS("pv_sharp_mm", "0.1", "beam_sigma_mm", "0.02", "pv_merge_sigmas", "3"));
        assert_int_equal((int)a->result.value[0], 1 + list[k].kept);
        vx_answers_free(a, 1);
        /* not asked: nothing but the number counts */
        a = solve(&e, SETTINGS("pv_sharp_mm", "0", "pv_own_tracks", "0", "beam_sigma_mm", "0.02",
                               "pv_merge_sigmas", "3"));
        assert_float_equal(a->result.value[0], 2, 0);
        vx_answers_free(a, 1);
        event_fini(&e);
    }
}

/* The number of primary vertices with this pv_decay, and the first one's `tracks D / s^2`: D and s
 * are its errors to the second one and off a beam line at 0. */
static int with_decay(const struct event *e, double pv_decay, double *ret_limit)
{
    char text[32];
    struct vx_answer *a;
    int n;

    snprintf(text, sizeof text, "%.6f", pv_decay);
    a = solve(e, SETTINGS("beam_line", "fixed", "beam_sigma_mm", "0.02", "pv_decay", text));
    n = (int)a->result.value[0];
    if (ret_limit) {
        const double x = (double)vx_floats(a, 0)[0], y = (double)vx_floats(a, 1)[0];
        const double far = fabs((double)(vx_floats(a, 2)[1] - vx_floats(a, 2)[0]));
        const double s2 = x * x / ((double)vx_floats(a, 4)[0] + 0.0004) +
                          y * y / ((double)vx_floats(a, 5)[0] + 0.0004);

        assert_int_equal(n, 2);
        *ret_limit = vx_tracks(a, 0) * far / sqrt((double)vx_floats(a, 6)[0]) / s2;
    }
    vx_answers_free(a, 1);
    return n;
}

/* What lies off the beam line, near a larger vertex, is a decay from there: up to a number of
 * tracks that falls with its distance, and rises with how far off the line it is.  On either side
 * of the larger one; neither one without a larger nor one of two tracks. */
static void not_a_decay(void **state)
{
    static const struct {
        double off, z;
        uint32_t n;
        int limited;
    } list[] = {{0.06, -34, 5, 1}, {0.06, -32, 9, 1}, {0.1, -37, 5, 1}, {0.03, -34, 2, 0}};

    (void)state;
    for (uint32_t k = 0; k < sizeof list / sizeof *list; k++) {
        const double place[3] = {list[k].off, -0.5 * list[k].off, list[k].z};
        const double mirrored[3] = {place[0], place[1], -60 - place[2]};
        double limit;
        struct event e;

        assert_int_equal(event_init(&e, 96), 0);
        spray(&e, place, list[k].n, 0.15, 0);
        assert_int_equal(with_decay(&e, 1000, NULL), 1); /* alone */
        spray(&e, (const double[]){0, 0, -30}, 20, 0.15, 0);
        assert_int_equal(with_decay(&e, 0, &limit), 2);
        assert_int_equal(with_decay(&e, 0.98 * limit, NULL), 2);
        assert_int_equal(with_decay(&e, 1.02 * limit, NULL), 2 - list[k].limited);
        spray(&e, mirrored, list[k].n, 0.15, 0);
        assert_int_equal(with_decay(&e, 0.98 * limit, NULL), 3);
        assert_int_equal(with_decay(&e, 1.02 * limit, NULL), 3 - 2 * list[k].limited);
        event_fini(&e);
    }
}

/* A smaller vertex on the beam line in between is not what it comes from. */
static void decay_past_a_smaller(void **state)
{
    double limit;
    struct event e;

    (void)state;
    assert_int_equal(event_init(&e, 96), 0);
    spray(&e, (const double[]){0.06, -0.03, -36}, 5, 0.15, 0);
    spray(&e, (const double[]){0, 0, -30}, 20, 0.15, 0);
    assert_int_equal(with_decay(&e, 0, &limit), 2);
    spray(&e, (const double[]){0, 0, -33}, 4, 0.15, 0);
    assert_int_equal(with_decay(&e, 0.98 * limit, NULL), 3);
    assert_int_equal(with_decay(&e, 1.02 * limit, NULL), 2);
    event_fini(&e);
}

/* Steep tracks, as from a barrel: the vertex is found where it is. */
static void barrel(void **state)
{
    static const double pv[3] = {0, 0, 7.5};
    struct event e;
    struct vx_answer *a;

    (void)state;
    assert_int_equal(event_init(&e, 64), 0);
    for (uint32_t i = 0; i < 16; i++) {
        const double phi = 0.4 + 0.3926990816987241 * i, slope = i % 2 ? 3 : -2;
        const struct event_track t = {.x = pv[0],
                                      .y = pv[1],
                                      .z = pv[2],
                                      .tx = slope * cos(phi),
                                      .ty = slope * sin(phi),
                                      .var_x = SIGMA * SIGMA,
                                      .var_tx = 1e-12};

        event_add(&e, &t, EVENT_NOBODY);
    }
    a = solve(&e, NULL);
    assert_int_equal(a->n, 1);
    check_place(a, 0, pv, 1e-3);
    assert_int_equal(vx_tracks(a, 0), 16);
    vx_answers_free(a, 1);
    event_fini(&e);
}

/* What a limit leaves of an event: wanted and kept of the first that cut something. */
static void expect_limit(const struct event *e, const char *const *settings, uint32_t wanted,
                         uint32_t kept)
{
    struct vx_answer *a = solve(e, settings);

    assert_int_equal(a->result.status, TRG_TRUNCATED);
    assert_int_equal(a->result.wanted, wanted);
    assert_int_equal(a->result.kept, kept);
    vx_answers_free(a, 1);
}

/* Limits are told, the first one that acts: seeds, tracks of the graph. */
static void truncated(void **state)
{
    struct event e;
    struct vx_answer *a;

    (void)state;
    assert_int_equal(event_init(&e, 256), 0);
    for (uint32_t k = 0; k < 5; k++)
        spray(&e, (const double[]){0, 0, -60 + 30.0 * k}, 5 + 2 * k, 0.15, 0);
    expect_limit(&e, SETTINGS("max_pv", "3"), 5, 3);
    expect_limit(&e, SETTINGS("ip_min_sigmas", "0", "max_selected", "40"), 45, 40);
    expect_limit(&e, SETTINGS("max_pv", "3", "ip_min_sigmas", "0", "max_selected", "32"), 5, 3);
    expect_limit(&e, SETTINGS("seeding", "pairs", "max_pv", "3"), 5, 3);
    a = solve(&e, SETTINGS("max_pv", "3"));
    assert_int_equal(a->n, 3);
    check_place(a, 0, (const double[]){0, 0, 0}, 1e-3); /* the highest peaks */
    vx_answers_free(a, 1);
    a = solve(&e, SETTINGS("seeding", "pairs", "max_pv", "3"));
    assert_int_equal(a->n, 3);
    check_place(a, 0, (const double[]){0, 0, -60}, 1e-3); /* the clusters of least z */
    vx_answers_free(a, 1);
    event_fini(&e);
}

/* Pairwise seeding takes so many tracks. */
static void too_many_for_pairs(void **state)
{
    struct event e;

    (void)state;
    assert_int_equal(event_init(&e, 1100), 0);
    spray(&e, (const double[]){0, 0, 5}, 1100, 0.15, 0);
    expect_limit(&e, SETTINGS("seeding", "pairs"), 1100, 1024);
    event_fini(&e);
}

/* Limits of secondary vertices: components, and vertices of both kinds together.  The decays lie
 * beside their collisions, in planes that do not meet. */
static void too_many_decays(void **state)
{
    const double c = 0.70710678118654752;
    struct event e;
    struct vx_answer *a;

    (void)state;
    assert_int_equal(event_init(&e, 128), 0);
    for (uint32_t k = 0; k < 12; k++)
        spray(&e, (const double[]){0, 0, -165 + 30.0 * k}, 4, 0.15, 0);
    for (uint32_t k = 0; k < 16; k++) {
        const double d = 0.5 + 0.14 * k;

        spray(&e, (const double[]){c * d, -c * d, -165 + 30.0 * (k % 12)}, 2, 0.12, 0);
    }
    a = solve(&e, SETTINGS("beam_line", "fixed", "ip_max_mm", "5", "origin_cut", "false"));
    assert_float_equal(a->result.value[0], 12, 0);
    assert_float_equal(a->result.value[1], 14, 0);
    assert_int_equal(a->n, 80 / 8 + 16); /* places for 26 of 28, primary ones first */
    assert_int_equal(vx_type(a, 11), TRG_PRIMARY);
    assert_int_equal(vx_type(a, 12), TRG_SECONDARY);
    vx_answers_free(a, 1);
    expect_limit(&e, SETTINGS("beam_line", "fixed", "ip_max_mm", "5", "origin_cut", "false"), 28,
                 26);
    expect_limit(
        &e, SETTINGS("beam_line", "fixed", "ip_max_mm", "5", "origin_cut", "false", "max_sv", "7"),
        16, 7);
    event_fini(&e);
}

/* Parameters that do not go together are refused with a sentence. */
static void wrong_parameters(void **state)
{
    struct vx_config c;

    (void)state;
    assert_int_equal(algo_configure(host.plugin, NULL, SETTINGS("bin_width_mm", "0.05"), &c),
                     -EINVAL);
    assert_int_equal(algo_configure(host.plugin, NULL, SETTINGS("tukey_end", "11"), &c), -EINVAL);
    assert_int_equal(algo_configure(host.plugin, NULL, SETTINGS("ip_max_sigmas", "3"), &c),
                     -EINVAL);
    configure(&c, "thesis", NULL);
    configure(&c, "reference", NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(two_primaries),
        cmocka_unit_test(a_decay),
        cmocka_unit_test(features),
        cmocka_unit_test(against_double),
        cmocka_unit_test(odd_events),
        cmocka_unit_test(two_tracks),
        cmocka_unit_test(not_a_decay),
        cmocka_unit_test(decay_past_a_smaller),
        cmocka_unit_test(barrel),
        cmocka_unit_test(truncated),
        cmocka_unit_test(too_many_for_pairs),
        cmocka_unit_test(too_many_decays),
        cmocka_unit_test(wrong_parameters),
    };

    return cmocka_run_group_tests(tests, open_host, close_host);
}
