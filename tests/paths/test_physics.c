/* SPDX-License-Identifier: Apache-2.0 */
/* Against the truth of generated events, with floors; the full numbers are made by
 * bench/paths/physics.c and stand in docs/paths.md. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "events.h"
#include "testing.h"

static void judge(const char *preset, uint32_t n, struct tally *t)
{
    struct pa_config chosen, all;

    memset(t, 0, sizeof *t);
    configure(&chosen, "quadruplets", SETTINGS("duplicates", "remove"));
    configure(&all, "quadruplets", SETTINGS("duplicates", "keep"));
    for (uint32_t i = 0; i < n; i++) {
        struct answer a, b;
        struct event e;

        assert_int_equal(event_make(&host, preset, 7, i, SETTINGS("preset", "pixel"), &e), 0);
        a = answer_of(&all, &e.roi);
        b = answer_of(&chosen, &e.roi);
        assert_true(a.result.status == TRG_OK && b.result.status == TRG_OK);
        tally_event(t, &e, &a, &b);
        answers_free(&a, 1);
        answers_free(&b, 1);
        event_fini(&e);
    }
}

static double ratio(struct fraction f)
{
    assert_true(f.of > 100);
    return f.good / f.of;
}

static void expect(const char *preset, uint32_t n, double efficiency, double fakes)
{
    struct tally t;

    judge(preset, n, &t);
    print_message("%s: doublets %.4f, paths %.4f, candidates %.4f of %.0f; fakes %.4f, duplicates "
                  "%.4f of %.0f\n",
                  preset, ratio(t.doublets), ratio(t.paths), ratio(t.candidates), t.candidates.of,
                  ratio(t.fakes), ratio(t.duplicates), t.fakes.of);
    assert_true(ratio(t.doublets) > 0.99);
    assert_true(ratio(t.paths) > 0.98);
    assert_true(ratio(t.candidates) >= efficiency);
    assert_true(ratio(t.fakes) <= fakes);
    assert_true(ratio(t.duplicates) <= 0.01);
    assert_true(sqrt(t.pt_square / t.n_pt) < 0.08 && sqrt(t.z0_square / t.n_pt) < 0.6 &&
                sqrt(t.d0_square / t.n_pt) < 0.25);
}

static void one_collision(void **state)
{
    (void)state;
    expect("pixel", 20, 0.98, 0.01);
}

static void pile_up_50(void **state)
{
    (void)state;
    expect("pixel50", 2, 0.97, 0.02); /* the goal is 0.95 and 0.10 */
}

static void pile_up_200(void **state)
{
    (void)state;
    expect("pixel200", 1, 0.95, 0.15); /* the goal is 0.90 */
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(one_collision),
                                       cmocka_unit_test(pile_up_50), cmocka_unit_test(pile_up_200)};

    return cmocka_run_group_tests(tests, open_host, close_host);
}
