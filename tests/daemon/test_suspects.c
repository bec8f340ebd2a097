/* SPDX-License-Identifier: Apache-2.0 */
/* RoIs that run again apart from others, down to the culprit. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "flow/suspects.h"

static struct suspects *make(uint32_t most)
{
    struct suspects *s = NULL;

    assert_int_equal(suspects_new(most, &s), 0);
    return s;
}

static void keeps_the_order_of_a_step(void **state)
{
    const uint32_t a[] = {1, 2, 3}, b[] = {4, 5}, c[] = {6};
    struct suspects *s = make(16);
    const uint32_t *roi;

    (void)state;
    assert_int_equal(suspects_next(s, 0, 7, &roi), 0);
    assert_true(suspects_add(s, 0, 7, a, 3));
    assert_true(suspects_add(s, 0, 8, b, 2));
    assert_true(suspects_add(s, 1, 7, c, 1));
    assert_int_equal(suspects_next(s, 0, 8, &roi), 2);
    assert_memory_equal(roi, b, sizeof b);
    assert_int_equal(suspects_next(s, 1, 7, &roi), 1);
    assert_int_equal(roi[0], 6);
    suspects_take(s, 0, 7, 2);
    assert_int_equal(suspects_next(s, 0, 7, &roi), 1);
    assert_int_equal(roi[0], 3);
    suspects_take(s, 0, 7, 1);
    assert_int_equal(suspects_next(s, 0, 7, &roi), 0);
    assert_int_equal(suspects_next(s, 0, 8, &roi), 2);
    assert_memory_equal(roi, b, sizeof b);
    assert_int_equal(suspects_count(s), 3);
    suspects_free(s);
}

static void refuses_what_does_not_fit(void **state)
{
    const uint32_t a[] = {1, 2, 3, 4};
    struct suspects *s = make(6);
    const uint32_t *roi;

    (void)state;
    assert_true(suspects_add(s, 0, 0, a, 4));
    assert_false(suspects_add(s, 0, 0, a, 3));
    suspects_take(s, 0, 0, 4); /* they may come back in parts: their room is kept */
    assert_false(suspects_add(s, 0, 0, a, 3));
    suspects_settle(s, 4);
    suspects_split(s, 0, 0, a, 4);
    assert_int_equal(suspects_next(s, 0, 0, &roi), 1);
    assert_int_equal(roi[0], 1);
    assert_false(suspects_add(s, 0, 0, a, 3));
    suspects_take(s, 0, 0, 1);
    suspects_settle(s, 1);
    assert_true(suspects_add(s, 0, 0, a, 3));
    suspects_free(s);
}

static void a_decided_one_leaves(void **state)
{
    const uint32_t a[] = {1, 2}, b[] = {3};
    struct suspects *s = make(8);
    const uint32_t *roi;

    (void)state;
    suspects_add(s, 0, 0, a, 2);
    suspects_add(s, 0, 1, b, 1);
    assert_true(suspects_remove(s, 1));
    assert_false(suspects_remove(s, 1));
    assert_int_equal(suspects_next(s, 0, 0, &roi), 1);
    assert_int_equal(roi[0], 2);
    assert_true(suspects_remove(s, 2));
    assert_int_equal(suspects_next(s, 0, 0, &roi), 0);
    assert_int_equal(suspects_next(s, 0, 1, &roi), 1);
    assert_int_equal(roi[0], 3);
    suspects_free(s);
}

/* Runs groups that fail when the culprit is in them, as dispatch does; returns the runs, and how
 * many failed. */
static uint32_t search(uint32_t n, uint32_t culprit, uint32_t *ret_found, uint32_t *ret_failed)
{
    struct suspects *s = make(n);
    uint32_t all[64], runs = 0, cleared = 0;
    const uint32_t *roi;

    for (uint32_t i = 0; i < n; i++)
        all[i] = i;
    *ret_found = UINT32_MAX;
    *ret_failed = 0;
    assert_true(suspects_add(s, 0, 0, all, n));
    for (uint32_t k; (k = suspects_next(s, 0, 0, &roi)) > 0; runs++) {
        uint32_t mine[64];
        bool is_in = false;

        memcpy(mine, roi, k * sizeof *mine);
        for (uint32_t i = 0; i < k; i++)
            is_in |= mine[i] == culprit;
        suspects_take(s, 0, 0, k);
        suspects_settle(s, k);
        *ret_failed += is_in;
        if (!is_in || k == 1)
            cleared += k;
        if (is_in && k == 1)
            *ret_found = mine[0];
        else if (is_in)
            suspects_split(s, 0, 0, mine, k);
    }
    assert_int_equal(cleared, n);
    suspects_free(s);
    return runs;
}

static void finds_the_culprit_in_three_failures(void **state)
{
    (void)state;
    for (uint32_t n = 1; n <= 64; n++) {
        for (uint32_t culprit = 0; culprit < n; culprit++) {
            uint32_t found, failed, runs = search(n, culprit, &found, &failed);

            assert_int_equal(found, culprit);
            assert_true(failed <= 3); /* 64, 8, 1 */
            assert_true(runs <= 17);  /* 1 + 8 + 8 */
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(keeps_the_order_of_a_step),
        cmocka_unit_test(refuses_what_does_not_fit),
        cmocka_unit_test(a_decided_one_leaves),
        cmocka_unit_test(finds_the_culprit_in_three_failures),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
