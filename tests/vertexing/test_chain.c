/* SPDX-License-Identifier: Apache-2.0 */
/* Plugins behind one another: what `paths` says of the errors of its tracks is what vertexing
 * understands, at every slope. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "score.h"
#include "source.h"
#include "testing.h"

static struct score score_of(const struct event *e, uint32_t n, const char *preset)
{
    struct vx_config c;
    struct vx_answer *a;
    struct score s = {0};

    configure(&c, preset, NULL);
    a = answers_of(cpu(), &c, e, n, 8);
    for (uint32_t i = 0; i < n; i++) {
        assert_int_equal(a[i].result.status, TRG_OK);
        score_add(&s, &e[i], &a[i]);
    }
    vx_answers_free(a, n);
    return s;
}

static double pull_z(const struct score *s)
{
    double sum = 0, n = 0;

    for (uint32_t b = 0; b < SCORE_BINS; b++) {
        sum += s->bin[b].pull2[2];
        n += s->bin[b].n;
    }
    assert_true(n > 50);
    return sqrt(sum / n);
}

/* Tracks of the pixel detector have slopes from 0.1 to 10 and more.  Errors taken for those across
 * the track would be up to 50 times too wide: 57 % of the collisions instead of 66 +- 1.2 %. */
static void pixel_detector(void **state)
{
    const uint32_t n = 24;
    struct event *e = calloc(n, sizeof *e);
    struct finder *f = NULL;
    struct score s;

    (void)state;
    assert_non_null(e);
    assert_int_equal(finder_open(&host, "paths", cpu(), SETTINGS("preset", "quadruplets"), &f), 0);
    assert_int_equal(source_generate("pixel50", fresh_seed(), 0, n, f, e), 0);
    s = score_of(e, n, NULL);
    print_message("defaults: %u of %u collisions, pull %.2f\n", s.near4, s.all, pull_z(&s));
    assert_true(s.near4 > 0.60 * s.all);
    assert_true(pull_z(&s) > 0.70 && pull_z(&s) < 1.1); /* 0.82 +- 0.025 */
    s = score_of(e, n, "barrel");
    print_message("barrel: %u of %u collisions, %u of %u false\n", s.near4, s.all, s.false_ones,
                  s.reconstructed);
    assert_true(s.near4 > 0.72 * s.all);
    assert_true(s.false_ones < 0.05 * s.reconstructed);
    source_free(e, n);
    finder_close(f);
}

/* One collision, tracks of one slope after the other, of one error across the track: variances in
 * planes of constant z grow with the slope, the vertex is known as well as geometry says. */
static void slopes(void **state)
{
    static const double slope[] = {0.1, 0.5, 1, 2, 5, 20};
    const double sigma = 0.02;

    (void)state;
    for (size_t k = 0; k < sizeof slope / sizeof *slope; k++) {
        const double t2 = slope[k] * slope[k], n = 16, sin2 = t2 / (1 + t2);
        const double want[2] = {sigma / sqrt(n * (1 - 0.5 * sin2)), sigma / sqrt(n * sin2)};
        struct vx_config c;
        struct vx_answer *a;
        struct event e;

        configure(&c, NULL, NULL);
        assert_int_equal(event_init(&e, 64), 0);
        for (uint32_t i = 0; i < 16; i++) {
            const double phi = 0.1 + 0.3926990816987241 * i;
            const struct event_track t = {.z = 3,
                                          .tx = slope[k] * cos(phi),
                                          .ty = slope[k] * sin(phi),
                                          .var_x = sigma * sigma * (1 + 0.5 * t2),
                                          .var_tx = 1e-12};

            event_add(&e, &t, EVENT_NOBODY);
        }
        a = answers_of(cpu(), &c, &e, 1, 1);
        assert_int_equal(a->n, 1);
        assert_true(fabs(sqrt((double)vx_floats(a, 4)[0]) / want[0] - 1) < 0.01); /* x */
        assert_true(fabs(sqrt((double)vx_floats(a, 5)[0]) / want[0] - 1) < 0.01); /* y */
        assert_true(fabs(sqrt((double)vx_floats(a, 6)[0]) / want[1] - 1) < 0.01); /* z */
        vx_answers_free(a, 1);
        event_fini(&e);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(slopes),
        cmocka_unit_test(pixel_detector),
    };

    return cmocka_run_group_tests(tests, open_host, close_host);
}
