/* SPDX-License-Identifier: Apache-2.0 */
/* Clusters whose answer is plain, on every device. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "testing.h"

#define WORDS 6 /* most of a case */
#define FOUND 4

struct want {
    uint32_t size, column, row; /* size 0: no more */
};

static const struct hand_case {
    const char *what;
    uint32_t sensor[WORDS];
    uint32_t word[WORDS]; /* 0: no more */
    struct want want[FOUND];
    uint32_t n_bad;
} cases[] = {
    {"nothing", {0}, {0}, {{0}}, 0},
    {"one pixel", {3}, {BANK_WORD(10, 5, 0x40)}, {{1, 21, 22}}, 0},
    {"all of a super-pixel", {3}, {BANK_WORD(10, 5, 0xff)}, {{8, 20, 21}}, 0},
    {"a gap of a row: two, the lower first",
     {0},
     {BANK_WORD(0, 0, 0x85)},
     {{1, 0, 0}, {2, 0, 2}},
     0},
    {"a gap of two rows", {0}, {BANK_WORD(0, 0, 0x81)}, {{1, 0, 0}, {1, 1, 3}}, 0},
    {"diagonal pixels of one super-pixel", {0}, {BANK_WORD(0, 0, 0x21)}, {{2, 0, 0}}, 0},
    {"one above the other", {7, 7}, {BANK_WORD(1, 1, 0x08), BANK_WORD(1, 2, 0x10)}, {{2, 2, 7}}, 0},
    {"side by side", {7, 7}, {BANK_WORD(1, 1, 0x20), BANK_WORD(2, 1, 0x02)}, {{2, 3, 5}}, 0},
    {"side by side, a row apart",
     {7, 7},
     {BANK_WORD(1, 1, 0x20), BANK_WORD(2, 1, 0x04)},
     {{2, 3, 5}},
     0},
    {"side by side, two rows apart",
     {7, 7},
     {BANK_WORD(1, 1, 0x10), BANK_WORD(2, 1, 0x04)},
     {{1, 3, 4}, {1, 4, 6}},
     0},
    {"corner to corner, upwards",
     {7, 7},
     {BANK_WORD(1, 1, 0x80), BANK_WORD(2, 2, 0x01)},
     {{2, 3, 7}},
     0},
    {"corner to corner, downwards",
     {7, 7},
     {BANK_WORD(1, 1, 0x10), BANK_WORD(2, 0, 0x08)},
     {{2, 3, 3}},
     0},
    {"the same super-pixels of two sensors",
     {7, 8},
     {BANK_WORD(1, 1, 0x08), BANK_WORD(1, 2, 0x10)},
     {{1, 2, 7}, {1, 3, 8}},
     0},
    {"the two halves of one join those of another",
     {9, 9, 9},
     {BANK_WORD(5, 5, 0x90), BANK_WORD(6, 5, 0x09), BANK_WORD(7, 5, 0x0f)},
     {{2, 11, 20}, {2, 11, 23}, {4, 14, 21}},
     0},
    {"a bridge joins two halves",
     {9, 9},
     {BANK_WORD(5, 5, 0x90), BANK_WORD(6, 5, 0x0f)},
     {{6, 11, 21}},
     0},
    {"said to be alone, beside another",
     {7, 7},
     {BANK_WORD(1, 1, 0x08) | BANK_ALONE, BANK_WORD(1, 2, 0x10)},
     {{1, 2, 7}, {1, 3, 8}},
     0},
    {"said by the other one",
     {7, 7},
     {BANK_WORD(1, 1, 0x20), BANK_WORD(2, 1, 0x02) | BANK_ALONE},
     {{1, 3, 5}, {1, 4, 5}},
     0},
    {"two of one super-pixel",
     {7, 7},
     {BANK_WORD(1, 1, 0x01), BANK_WORD(1, 1, 0x12)},
     {{3, 2, 4}},
     0},
    {"the same, one of which is not alone",
     {7, 7, 7},
     {BANK_WORD(1, 1, 0x08), BANK_WORD(1, 1, 0x08) | BANK_ALONE, BANK_WORD(1, 2, 0x10)},
     {{2, 2, 7}},
     0},
    {"in any order",
     {20, 3, 20},
     {BANK_WORD(1, 2, 0x10), BANK_WORD(9, 9, 0x01), BANK_WORD(1, 1, 0x08)},
     {{1, 18, 36}, {2, 2, 7}},
     0},
    {"across the border of two chips",
     {0, 0},
     {BANK_WORD(127, 0, 0x10), BANK_WORD(128, 0, 0x01)},
     {{2, 255, 0}},
     0},
    {"the last pixel", {207}, {BANK_WORD(383, 63, 0x80)}, {{1, 767, 255}}, 0},
    {"no such sensor, column, pixel, bit",
     {208, 0, 0, 0, 5},
     {BANK_WORD(1, 1, 1), BANK_WORD(384, 1, 1), BANK_WORD(1, 1, 0) | BANK_ALONE,
      BANK_WORD(1, 1, 1) | 1u << 23, BANK_WORD(1, 1, 1)},
     {{1, 2, 4}},
     4},
};
#define CASES (sizeof cases / sizeof *cases)

static void on_device(struct trg_device *device, void *ctx)
{
    struct trg_result results[CASES];
    struct products *found = calloc(CASES, sizeof *found);
    struct clusters_config c;

    assert_non_null(found);
    configure(&c, NULL, NULL);
    run_on(device, &c, ctx, CASES, CASES, results, found);
    for (uint32_t i = 0; i < CASES; i++) {
        uint32_t n = 0;

        for (; n < FOUND && cases[i].want[n].size && n < found[i].of[0].n; n++) {
            const struct want *w = &cases[i].want[n];

            if (cluster_size(&found[i])[n] != w->size ||
                (hit_id(&found[i])[n] & 0x3ffff) != (w->column << 8 | w->row))
                fail_msg("%s: cluster %u has %u pixels at %x", cases[i].what, n,
                         cluster_size(&found[i])[n], hit_id(&found[i])[n] & 0x3ffff);
        }
        if (found[i].of[0].n != n || (n < FOUND && cases[i].want[n].size))
            fail_msg("%s: %u clusters", cases[i].what, found[i].of[0].n);
        assert_int_equal((uint32_t)results[i].value[2], cases[i].n_bad);
    }
    products_free(found, CASES);
}

static void clusters_by_hand(void **state)
{
    struct banks banks[CASES];

    (void)state;
    memset(banks, 0, sizeof banks);
    for (uint32_t i = 0; i < CASES; i++)
        for (uint32_t k = 0; k < WORDS && cases[i].word[k]; k++)
            assert_int_equal(banks_add(&banks[i], cases[i].sensor[k], cases[i].word[k]), 0);
    each_device(on_device, banks);
    for (uint32_t i = 0; i < CASES; i++)
        banks_free(&banks[i]);
}

/* Place and errors of a pixel pair of sensor 1, whose columns run along (1, -1) / sqrt 2. */
static void place_and_errors(void **state)
{
    struct banks b = {0};
    struct trg_result result;
    struct products *p = calloc(1, sizeof *p);
    struct clusters_config c;
    const double root = sqrt(0.5), a = 0.055 * 21, r = 0.055 * 22.5;
    const double va = 0.0025 * 0.055 * 0.055, vb = 0.01 * 0.055 * 0.055;

    (void)state;
    assert_non_null(p);
    configure(&c, NULL, SETTINGS("sigma_one", "0.1", "sigma_two", "0.05"));
    assert_int_equal(banks_add(&b, 1, BANK_WORD(10, 5, 0x44)), 0); /* columns 20, 21 of row 22 */
    run_on(cpu(), &c, &b, 1, 1, &result, p);
    assert_int_equal(p->of[0].n, 1);
    assert_true(fabs((double)hit_place(p, 0)[0] - (root * a + root * r - 26.339727)) < 1e-4);
    assert_true(fabs((double)hit_place(p, 1)[0] - (-root * a + root * r - 20.541452)) < 1e-4);
    assert_true(fabs((double)hit_place(p, 2)[0] + 286.919) < 1e-4);
    assert_true(fabs((double)cluster_var(p, 0)[0] / ((va + vb) / 2) - 1) < 1e-4);
    assert_true(fabs((double)cluster_var(p, 1)[0] / ((va + vb) / 2) - 1) < 1e-4);
    assert_true(fabs((double)cluster_var(p, 2)[0] / ((vb - va) / 2) - 1) < 1e-4);
    products_free(p, 1);
    banks_free(&b);
}

/* ---------------------------------------------------------------- geometry */

#define MATRIX "matrix 8 4 0.1 0.2 4 0.3\n"
#define SENSOR "sensor 5  1 0 0  0 1 0  1 2 3\n"

static void geometry_is_read(void **state)
{
    static const double centres[] = {0.05, 0.15, 0.25, 0.45, 0.75, 0.95, 1.05, 1.15, 1.25};
    struct geometry g;
    char why[256];

    (void)state;
    assert_int_equal(geometry_read("# two\n\n" MATRIX SENSOR "  sensor 6 0 1 0 1 0 0 0 0 -1e2\n",
                                   &g, why, sizeof why),
                     0);
    assert_int_equal(g.n_columns, 8);
    assert_int_equal(g.n_rows, 4);
    assert_int_equal(g.n_sensors, 2);
    assert_int_equal(g.sensor[1].layer, 6);
    assert_true(fabs((double)g.sensor[1].corner[2] + 100) < 1e-6);
    for (uint32_t c = 0; c <= 8; c++)
        assert_true(fabs((double)g.centre[c] - centres[c]) < 1e-6);
    geometry_fini(&g);
    assert_int_equal(geometry_open("nowhere", &g, why, sizeof why), -ENOENT);
}

static void geometry_is_refused(void **state)
{
    static const struct {
        const char *text, *part;
    } bad[] = {{"", "without a matrix"},
               {MATRIX, "without a sensor"},
               {MATRIX MATRIX SENSOR, "line 2: there is a matrix already"},
               {"matrix 8 4 0.1 0.2 4\n", "line 1: number 6 of 6"},
               {"matrix 0 4 0.1 0.2 4 0.3\n", "whole numbers from 1"},
               {"matrix 8 4.5 0.1 0.2 4 0.3\n", "whole numbers from 1"},
               {"matrix 8 4 0.1 0.2 9 0.3\n", "at most all of them"},
               {"matrix 8 4 0 0.2 4 0.3\n", "larger than 0"},
               {MATRIX "sensor 70000 1 0 0 0 1 0 0 0 0\n", "line 2: a layer"},
               {MATRIX "sensor 5 1 0 0 0 1 0 0 0 nan\n", "number 10 of 10"},
               {MATRIX "sensor 5 1 0 0 0 2 0 0 0 0\n", "perpendicular"},
               {MATRIX "sensor 5 1 0 0 1 0 0 0 0 0\n", "perpendicular"},
               {MATRIX "sensor 5 1 0 0 0 1 0 0 0 0 7\n", "\"7\" stands behind"},
               {MATRIX "wafer 5\n", "line 2: \"wafer 5\""}};

    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct geometry g;
        char why[256] = "";

        assert_int_equal(geometry_read(bad[i].text, &g, why, sizeof why), -EINVAL);
        if (!strstr(why, bad[i].part))
            fail_msg("\"%s\" is not in \"%s\"", bad[i].part, why);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(clusters_by_hand),
        cmocka_unit_test(place_and_errors),
        cmocka_unit_test(geometry_is_read),
        cmocka_unit_test(geometry_is_refused),
    };

    return cmocka_run_group_tests(tests, open_host, close_all);
}
