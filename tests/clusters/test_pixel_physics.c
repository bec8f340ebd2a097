/* SPDX-License-Identifier: Apache-2.0 */
/* Pixels with charge against the truth, with floors: hits beside the places where particles crossed
 * modules, and tracks of doublets and paths beside those of the hits that `pixel50` makes.  The
 * committed figures are in docs/clusters.md. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "../paths/testing.h"
#include "crossings.h"

#define SEED                                                                            \
    20260502u /* fixed: a floor is a statement about one sample; not that of the errors \
               */
#define EVENTS 4u

static struct algo_host pixels;
static struct generated *rois;
static struct products found[EVENTS];

static int open_all(void **state)
{
    if (open_host(state) < 0 || algo_host_open(&pixels, "pixels") < 0)
        return -1;
    rois = generated_new("pixel50-charge", SEED, 0, EVENTS);
    return rois ? crossings_run(&pixels, rois, EVENTS, found) : -1;
}

static int close_all(void **state)
{
    for (uint32_t i = 0; i < EVENTS; i++)
        products_fini(&found[i]);
    generated_free(rois, EVENTS);
    algo_host_close(&pixels);
    return close_host(state);
}

static void hits_are_where_particles_crossed(void **state)
{
    struct crossings c = {0};
    double efficiency, purity, column, row, pull;

    (void)state;
    for (uint32_t i = 0; i < EVENTS; i++)
        assert_int_equal(crossings_add(&c, &rois[i], &found[i]), 0);
    efficiency = (double)c.found / (double)c.crossings;
    purity = (double)c.true_hits / (double)c.hits;
    column = crossings_resolution(c.column, CROSSING_SPANS);
    row = crossings_resolution(c.row, CROSSING_SPANS);
    pull = crossings_pull(c.row, CROSSING_SPANS);
    print_message("%lu crossings: efficiency %.4f, purity %.4f, resolution %.1f um along columns, "
                  "%.1f along rows, pulls %.3f\n",
                  (unsigned long)c.crossings, efficiency, purity, column, row, pull);
    for (uint32_t w = 0; w < CROSSING_SPANS; w++)
        print_message("  %u%s: columns %.1f um, rows %.1f um, pull %.3f\n", w + 1,
                      w + 1 < CROSSING_SPANS ? "" : " or more",
                      crossings_resolution(&c.column[w], 1), crossings_resolution(&c.row[w], 1),
                      crossings_pull(&c.row[w], 1));
    assert_true(efficiency > 0.995);
    assert_true(purity > 0.96);
    assert_true(column < 31 && row < 20);
    assert_true(pull > 0.9 && pull < 1.1);
}

static void judge(struct tally *t, struct event *e)
{
    struct pa_config chosen, all;
    struct answer a, b;

    configure(&chosen, "quadruplets", SETTINGS("duplicates", "remove"));
    configure(&all, "quadruplets", SETTINGS("duplicates", "keep"));
    assert_int_equal(event_doublets(&host, SETTINGS("preset", "pixel"), &e->roi), 0);
    a = answer_of(&all, &e->roi);
    b = answer_of(&chosen, &e->roi);
    assert_true(a.result.status == TRG_OK && b.result.status == TRG_OK);
    tally_event(t, e, &a, &b);
    answers_free(&a, 1);
    answers_free(&b, 1);
}

static double ratio(struct fraction f)
{
    assert_true(f.of > 100);
    return f.good / f.of;
}

static void tracks_from_pixels(void **state)
{
    struct tally t;

    (void)state;
    memset(&t, 0, sizeof t);
    for (uint32_t i = 0; i < EVENTS; i++) {
        struct generated g;
        struct event e;

        generated_init(&g);
        assert_int_equal(generator_make(generator_find("pixel50-charge"), SEED, i, &g), 0);
        assert_int_equal(crossings_event(&g, &found[i], &e), 0);
        judge(&t, &e);
        event_fini(&e);
    }
    print_message("doublets %.4f, paths %.4f, candidates %.4f of %.0f; fakes %.4f, duplicates %.4f "
                  "of %.0f\n",
                  ratio(t.doublets), ratio(t.paths), ratio(t.candidates), t.candidates.of,
                  ratio(t.fakes), ratio(t.duplicates), t.fakes.of);
    assert_true(ratio(t.candidates) >= 0.98);
    assert_true(ratio(t.fakes) <= 0.01);
    assert_true(ratio(t.duplicates) <= 0.005);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(hits_are_where_particles_crossed),
                                       cmocka_unit_test(tracks_from_pixels)};

    return cmocka_run_group_tests(tests, open_all, close_all);
}
