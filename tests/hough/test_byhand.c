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

#define HITS 500

static const char *const presets[] = {"velo", "hashed", "paint", "brute", "analytic"};

struct sample { /* an event made of straight lines */
    struct event e;
    struct trg_result result;
    struct products *found;
};

static void begin(struct sample *s)
{
    memset(s, 0, sizeof *s);
    assert_int_equal(event_new(HITS, 0, 0, &s->e), 0);
    s->e.n = 0;
}

static void end(struct sample *s)
{
    event_free(&s->e);
    products_free(s->found, 1);
}

static void add_hit(struct sample *s, float x, float y, float z, uint16_t layer)
{
    assert_true(s->e.n < HITS);
    s->e.x[s->e.n] = x;
    s->e.y[s->e.n] = y;
    s->e.z[s->e.n] = z;
    s->e.id[s->e.n] = s->e.n;
    s->e.layer[s->e.n++] = layer;
}

/* Hits on `n` layers, 25 mm and two numbers from one to the next, of the line through (x, y) at z =
 * 0. */
static void add_line(struct sample *s, float x, float y, float tx, float ty, float z, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        float at = z + 25.0f * (float)i;

        add_hit(s, x + tx * at, y + ty * at, at, (uint16_t)(2 * i + 10));
    }
}

static uint32_t find(struct sample *s, const char *preset, const char *const *settings)
{
    struct hough_config c;

    products_free(s->found, 1);
    s->found = calloc(1, sizeof *s->found);
    assert_non_null(s->found);
    configure(&c, preset, settings);
    run_on(cpu(), &c, &s->e, 1, 1, &s->result, s->found);
    assert_int_equal((uint32_t)s->result.value[0], s->found->of[0].n);
    assert_int_equal((uint32_t)s->result.value[1], s->e.n);
    return s->found->of[0].n;
}

static void nothing_in_nothing_out(void **state)
{
    struct sample s;

    (void)state;
    begin(&s);
    for (uint32_t p = 0; p < 5; p++)
        assert_int_equal(find(&s, presets[p], NULL), 0);
    add_hit(&s, 10, 0, 100, 0);
    add_hit(&s, 12, 0, 125, 2);
    for (uint32_t p = 0; p < 5; p++) {
        assert_int_equal(find(&s, presets[p], NULL), 0);
        assert_int_equal(s.result.status, TRG_OK);
    }
    end(&s);
}

static void one_line(void **state)
{
    struct sample s;

    (void)state;
    begin(&s);
    add_line(&s, 0.0f, 0.0f, 0.08f, 0.06f, 75, 6);
    for (uint32_t p = 0; p < 5; p++) {
        assert_int_equal(find(&s, presets[p], NULL), 1);
        assert_int_equal(found_hits(s.found)[0], 6);
        assert_true(fabsf(found_column(s.found, 3)[0] - 0.08f) < 1e-5f);
        assert_true(fabsf(found_column(s.found, 4)[0] - 0.06f) < 1e-5f);
        /* the state is where the line is closest to the beam: at the origin */
        assert_true(fabsf(found_column(s.found, 0)[0]) < 1e-3f &&
                    fabsf(found_column(s.found, 2)[0]) < 1e-2f);
        assert_true(found_column(s.found, 8)[0] < 1e-3f);
        assert_true(found_column(s.found, 5)[0] > 0 && found_column(s.found, 6)[0] > 0);
        assert_int_equal(s.found->of[1].n, 5);
        for (uint32_t k = 0; k < 5; k++)
            assert_true(found_inner(s.found)[k] == k && found_outer(s.found)[k] == k + 1);
    }
    end(&s);
}

static void a_line_backwards(void **state)
{
    struct sample s;

    (void)state;
    begin(&s);
    add_line(&s, 0.02f, -0.03f, -0.12f, 0.1f, -280, 7); /* the beam line is at the high end */
    for (uint32_t p = 0; p < 5; p++) {
        assert_int_equal(find(&s, presets[p], NULL), 1);
        assert_int_equal(found_hits(s.found)[0], 7);
        assert_true(fabsf(found_column(s.found, 3)[0] + 0.12f) < 1e-5f);
        assert_true(fabsf(found_column(s.found, 2)[0]) < 1.0f);
    }
    end(&s);
}

static void lines_that_cross(void **state)
{
    struct sample s;

    (void)state;
    begin(&s);
    add_line(&s, 0, 0, 0.2f, 0, 50, 5);
    add_line(&s, 0, 0, 0, 0.15f, 75, 5);
    add_line(&s, 0, 0, -0.1f, 0.02f, 75, 8);
    add_line(&s, 30, 0, -0.1f, 0.1f, 75, 3); /* far from the beam line: the third pass */
    for (uint32_t p = 0; p < 5; p++) {
        assert_int_equal(find(&s, presets[p], NULL), 4);
        assert_int_equal((uint32_t)s.result.value[2], 21);
        assert_int_equal(find(&s, presets[p], SETTINGS("passes", "1", "ip_max_mm", "1")), 3);
    }
    end(&s);
}

/* Whatever the order of the hits. */
static void lines_from_the_end(void **state)
{
    struct sample s;

    (void)state;
    begin(&s);
    add_line(&s, 0, 0, 0.2f, 0, 50, 5);
    add_line(&s, 0, 0, 0.2f, 0.05f, 75, 8);
    for (uint32_t i = 0; i < s.e.n / 2; i++)
        event_swap(&s.e, i, s.e.n - 1 - i);
    for (uint32_t p = 0; p < 5; p++) {
        assert_int_equal(find(&s, presets[p], NULL), 2);
        assert_int_equal((uint32_t)s.result.value[2], 13);
    }
    end(&s);
}

/* Three layers, and no fewer; steps between them that are not too large. */
static void what_is_no_track(void **state)
{
    struct sample s;

    (void)state;
    begin(&s);
    for (uint32_t i = 0; i < 3; i++) /* one layer only */
        add_hit(&s, 10 + 2 * (float)i, 0, 100 + 25 * (float)i, 7);
    for (uint32_t i = 0; i < 3; i++) /* too far apart */
        add_hit(&s, 0, 10 + 8 * (float)i, 100 + 80 * (float)i, (uint16_t)(8 + 6 * i));
    add_hit(&s, -10, -10, 100, 8); /* not on a line */
    add_hit(&s, -12, -12.5f, 125, 10);
    add_hit(&s, -17, -14.0f, 150, 12);
    for (uint32_t p = 0; p < 5; p++)
        assert_int_equal(find(&s, presets[p], NULL), 0);
    end(&s);
}

/* Three hits may turn by what errors and scattering explain: a chi2 of 16.  Steps of 25 mm, so that
 * the error of the second hit against the line of the others is 12.5 um x sqrt(1.5), and 25 mm x
 * half of the angle more. */
static void three_hits_that_turn(void **state)
{
    const double slope = 0.1, angle = hypot(0.0001, 0.0026 * slope);
    const double limit = 4 * hypot(0.0125 * sqrt(1.5), 12.5 * angle);
    struct sample s;

    (void)state;
    for (uint32_t p = 0; p < 5; p++)
        for (int far = 0; far < 2; far++) {
            begin(&s);
            add_line(&s, 0, 0, 0.1f, 0, 75, 3);
            s.e.y[1] += (float)(limit * (far ? 1.02 : 0.98));
            assert_int_equal(find(&s, presets[p], NULL), !far);
            end(&s);
        }
}

/* The chi2 of three hits whose line passes the beam line 8 mm away counts 1 + 8 / 20 times, that of
 * hits on both sides of the beam three times. */
static void three_hits_that_are_rare(void **state)
{
    const double limit = 4 * hypot(0.0125 * sqrt(1.5), 12.5 * hypot(0.0001, 0.0026 * 0.1));
    const double lower[] = {limit / sqrt(1.4), limit / sqrt(3)};

    (void)state;
    for (uint32_t p = 0; p < 5; p++)
        for (int both = 0; both < 2; both++)
            for (int far = 0; far < 2; far++) {
                struct sample s;

                begin(&s);
                add_line(&s, 0, both ? 0 : 8, 0.1f, 0, 75, 3);
                s.e.layer[2] = (uint16_t)(s.e.layer[2] + both);
                s.e.y[1] += (float)(lower[both] * (far ? 1.02 : 0.98));
                assert_int_equal(find(&s, presets[p], NULL), !far);
                end(&s);
            }
}

/* A hit off the line is left out; of two on a layer the nearer is taken. */
static void outliers(void **state)
{
    struct sample s;

    (void)state;
    begin(&s);
    add_line(&s, 0, 0, 0.1f, 0.05f, 75, 7);
    add_hit(&s, 0.1f * 150 + 0.15f, 0.05f * 150, 150, 16); /* layer of the fourth hit */
    add_hit(&s, 0.1f * 250 + 1.5f, 0.05f * 250, 250, 24);
    for (uint32_t p = 0; p < 5; p++) {
        assert_int_equal(find(&s, presets[p], NULL), 1);
        assert_int_equal(found_hits(s.found)[0], 7);
        assert_true(found_column(s.found, 8)[0] < 1e-3f);
    }
    end(&s);
}

/* Two hits at one place: the pair has no line of its own, and the track is found all the same. */
static void hits_at_one_place(void **state)
{
    struct sample s;

    (void)state;
    begin(&s);
    add_line(&s, 0, 0, 0.1f, 0.05f, 75, 4);
    add_hit(&s, s.e.x[1], s.e.y[1], s.e.z[1], s.e.layer[1]);
    for (uint32_t p = 0; p < 5; p++) {
        assert_int_equal(find(&s, presets[p], NULL), 1);
        assert_int_equal(found_hits(s.found)[0], 4);
    }
    end(&s);
}

static void full_bins_are_told(void **state)
{
    struct sample s;

    (void)state;
    begin(&s);
    for (uint32_t i = 0; i < 20; i++)
        add_hit(&s, 10, 0.01f * (float)i, 100, 7);
    find(&s, "hashed", SETTINGS("max_bin_hits", "8", "passes", "1"));
    assert_int_equal(s.result.status, TRG_TRUNCATED);
    assert_int_equal(s.result.wanted, 20);
    assert_int_equal(s.result.kept, 8);
    find(&s, "hashed", SETTINGS("passes", "1"));
    assert_int_equal(s.result.status, TRG_OK);
    end(&s);
}

/* Of more peaks than there is room for the strongest are kept, and with them the longer line. */
static void too_many_peaks_are_told(void **state)
{
    struct sample s;

    (void)state;
    begin(&s);
    add_line(&s, 0, 0, 0.1f, 0, 75, 4);
    add_line(&s, 0, 0, 0.25f, 0.002f, 75, 7);
    assert_int_equal(find(&s, "hashed", SETTINGS("passes", "1")), 2);
    assert_int_equal(s.result.status, TRG_OK);
    assert_int_equal(find(&s, "hashed", SETTINGS("passes", "1", "max_peaks", "1")), 1);
    assert_int_equal(s.result.status, TRG_TRUNCATED);
    assert_true(s.result.wanted > s.result.kept && s.result.kept >= 1);
    assert_int_equal(found_hits(s.found)[0], 7);
    end(&s);
}

/* A window has a list of 1,024 peaks: if it has more, those of the lowest counts go, and all are
 * told. */
static void a_list_too_short(void **state)
{
    struct sample s;

    (void)state;
    begin(&s);
    for (uint32_t i = 0; i < 6; i++) /* on both sides of where two bins of phi meet */
        for (uint32_t k = 0; k < 80; k++)
            add_hit(&s, 8 + 0.5f * (float)k + 0.03f * (float)((7 * i + 3 * k) % 11),
                    k % 2 ? 0.01f : -0.01f, 75 + 25.0f * (float)i, (uint16_t)(2 * i));
    find(&s, "hashed", SETTINGS("passes", "1", "threshold", "1"));
    assert_int_equal(s.result.status, TRG_TRUNCATED);
    assert_true(s.result.kept > 1024 && s.result.kept <= 2 * 1024); /* of two windows */
    assert_int_equal(s.result.wanted, (uint32_t)s.result.value[4]);
    end(&s);
}

/* Room for peaks is the RoI's: a window may take what others leave, and then all get as much. */
static void peaks_are_shared_out(void **state)
{
    struct sample s;

    (void)state;
    begin(&s);
    add_line(&s, 0, 0, 0.1f, 0, 75, 7);
    add_line(&s, 0, 0, 0.25f, 0.002f, 75, 5);
    add_line(&s, 0, 0, -0.1f, 0.05f, 75, 8);
    assert_int_equal(find(&s, "paint", SETTINGS("passes", "1")), 3);
    assert_int_equal(s.result.status, TRG_OK);
    assert_int_equal(find(&s, "paint", SETTINGS("passes", "1", "max_peaks", "2")), 2);
    assert_int_equal(s.result.status, TRG_TRUNCATED);
    assert_int_equal(s.result.kept, 2);
    assert_int_equal(s.result.wanted, (uint32_t)s.result.value[4]);
    assert_int_equal(found_hits(s.found)[0] + found_hits(s.found)[1],
                     15); /* the best of both windows */
    end(&s);
}

/* One window for all phi: the plane of (z, x), grids of many strips. */
static void the_whole_plane(void **state)
{
    struct sample s;

    (void)state;
    begin(&s);
    add_line(&s, 0, 0, 0.2f, 0.01f, 50, 5);
    add_line(&s, 0, 0, -0.15f, 0.02f, 75, 6);
    for (uint32_t p = 2; p < 5; p++) {
        assert_int_equal(find(&s, presets[p],
                              SETTINGS("phi_bins", "1", "passes", "1", "n_theta", "300", "n_r",
                                       "256", "distance_cells", "4")),
                         2);
        assert_int_equal((uint32_t)s.result.value[2], 11);
    }
    end(&s);
}

/* Two lines, with the thesis's other choices. */
static void other_choices(void **state)
{
    const char *const gauss[] = {"weight", "gauss", NULL};
    const char *const one[] = {"pair_cells", "one", NULL};
    const char *const euclidean[] = {"distance_norm", "euclidean", NULL};
    struct sample s;

    (void)state;
    begin(&s);
    add_line(&s, 0, 0, 0.1f, 0.05f, 75, 6);
    add_line(&s, 0, 0, 0.25f, 0.002f, 75, 4);
    for (uint32_t p = 2; p < 4; p++)
        assert_int_equal(find(&s, presets[p], gauss), 2);
    assert_int_equal(find(&s, "analytic", one), 2);
    for (uint32_t p = 2; p < 5; p++)
        assert_int_equal(find(&s, presets[p], euclidean), 2);
    assert_int_equal(find(&s, "paint", SETTINGS("weight", "gauss", "gauss_threshold", "20")), 0);
    end(&s);
}

static void impossible_parameters(void **state)
{
    const char *const bad[][8] = {
        {"phi_bins", "1", "passes", "2", NULL},
        {"method", "hashed", "max_bin_hits", "257", NULL},
        {"method", "analytic", "n_r", "512", "n_theta", "512", NULL},
    };
    struct hough_config c;

    (void)state;
    for (uint32_t i = 0; i < 2; i++)
        assert_int_equal(algo_configure(host.plugin, NULL, bad[i], &c), -EINVAL);
    configure(&c, NULL, bad[2]);
    assert_int_equal(algo_configure(host.plugin, "analytic",
                                    SETTINGS("n_r", "512", "n_theta", "512", "distance_cells", "8"),
                                    &c),
                     -EINVAL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_in_nothing_out),
        cmocka_unit_test(one_line),
        cmocka_unit_test(a_line_backwards),
        cmocka_unit_test(lines_that_cross),
        cmocka_unit_test(lines_from_the_end),
        cmocka_unit_test(what_is_no_track),
        cmocka_unit_test(three_hits_that_turn),
        cmocka_unit_test(outliers),
        cmocka_unit_test(three_hits_that_are_rare),
        cmocka_unit_test(hits_at_one_place),
        cmocka_unit_test(full_bins_are_told),
        cmocka_unit_test(too_many_peaks_are_told),
        cmocka_unit_test(a_list_too_short),
        cmocka_unit_test(peaks_are_shared_out),
        cmocka_unit_test(the_whole_plane),
        cmocka_unit_test(impossible_parameters),
        cmocka_unit_test(other_choices),
    };

    return cmocka_run_group_tests(tests, open_host, close_host);
}
