/* SPDX-License-Identifier: Apache-2.0 */
/* RoIs that run again apart from others, down to the culprit. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "flow/suspects.h"
#include "memory/pool.h"

#define STEPS (1ull << 63 | 1ull << 8 | 1ull << 7 | 1ull)

static struct suspects *make(uint32_t n_rois)
{
    struct suspects *s = NULL;

    assert_int_equal(suspects_new(STEPS, n_rois, &s), 0);
    return s;
}

/* The RoIs of the next group of a step; returns how many. */
static uint32_t next(const struct suspects *s, uint32_t step, uint32_t *ret_roi)
{
    uint32_t n = 0;

    for (uint32_t roi = suspects_first(s, step); roi != POOL_NONE;
         roi = suspects_after(s, step, roi))
        ret_roi[n++] = roi;
    return n;
}

static void keeps_the_order_of_a_step(void **state)
{
    const uint32_t a[] = {1, 2, 3}, b[] = {4, 1}, c[] = {6}, d[] = {0, 15};
    struct suspects *s = make(16);
    uint32_t roi[16];

    (void)state;
    assert_int_equal(suspects_first(s, 7), POOL_NONE);
    suspects_add(s, 7, a, 3);
    suspects_add(s, 8, b, 2); /* an RoI may be in several steps */
    suspects_add(s, 7, c, 1);
    suspects_add(s, 63, d, 2);
    assert_int_equal(suspects_first(s, 0), POOL_NONE);
    assert_int_equal(next(s, 8, roi), 2);
    assert_memory_equal(roi, b, sizeof b);
    assert_int_equal(next(s, 63, roi), 2);
    assert_memory_equal(roi, d, sizeof d);
    assert_true(suspects_remove(s, 7, 1));
    assert_true(suspects_remove(s, 7, 2));
    assert_int_equal(next(s, 7, roi), 1);
    assert_int_equal(roi[0], 3);
    assert_true(suspects_remove(s, 7, 3));
    assert_int_equal(next(s, 7, roi), 1);
    assert_int_equal(roi[0], 6);
    assert_int_equal(next(s, 8, roi), 2);
    assert_memory_equal(roi, b, sizeof b);
    suspects_free(s);
}

/* Every RoI of the pool may be a suspect in every step at once, and each a group of its own. */
static void has_room_for_all(void **state)
{
    enum { ROIS = 20000, BATCH = 64 };
    static const uint32_t step[] = {0, 7, 8, 63};
    struct suspects *s = make(ROIS);
    uint32_t roi[BATCH], n = 0;

    (void)state;
    for (uint32_t i = 0; i < ROIS; i += n) {
        for (n = 0; n < BATCH && i + n < ROIS; n++)
            roi[n] = i + n;
        for (uint32_t k = 0; k < 4; k++)
            suspects_add(s, step[k], roi, n);
    }
    for (uint32_t k = 0; k < 4; k++)
        for (uint32_t found = 0; found < ROIS; found += n) {
            uint32_t part[BATCH];

            n = next(s, step[k], roi);
            assert_int_equal(roi[0], found);
            for (uint32_t i = 0; i < n; i++)
                assert_true(suspects_remove(s, step[k], roi[i]));
            if (n == 1)
                continue;
            suspects_split(s, step[k], roi, n); /* each fails once more */
            assert_int_equal(next(s, step[k], part), (n + 7) / 8);
            for (uint32_t i = 0; i < n; i++)
                assert_true(suspects_remove(s, step[k], roi[i]));
        }
    for (uint32_t k = 0; k < 4; k++)
        assert_int_equal(suspects_first(s, step[k]), POOL_NONE);
    suspects_free(s);
}

static void a_decided_one_leaves(void **state)
{
    const uint32_t a[] = {1, 2, 3}, b[] = {3};
    struct suspects *s = make(8);
    uint32_t roi[8];

    (void)state;
    assert_false(suspects_remove(s, 0, 1));
    assert_false(suspects_remove(s, 1, 1)); /* a step without batches */
    suspects_add(s, 0, a, 3);
    suspects_add(s, 7, b, 1);
    assert_true(suspects_remove(s, 0, 2));
    assert_false(suspects_remove(s, 0, 2));
    assert_int_equal(next(s, 0, roi), 2);
    assert_int_equal(roi[0], 1);
    assert_int_equal(roi[1], 3);
    assert_true(suspects_remove(s, 0, 1));
    assert_true(suspects_remove(s, 0, 3));
    assert_int_equal(next(s, 0, roi), 0);
    assert_int_equal(next(s, 7, roi), 1);
    assert_int_equal(roi[0], 3);
    suspects_add(s, 0, a, 3); /* and may come back */
    assert_int_equal(next(s, 0, roi), 3);
    suspects_free(s);
}

/* Runs groups that fail when the culprit is in them, as dispatch does; returns the runs, and how
 * many failed. */
static uint32_t search(uint32_t n, uint32_t culprit, uint32_t *ret_found, uint32_t *ret_failed)
{
    struct suspects *s = make(n);
    uint32_t all[64], mine[64], runs = 0, cleared = 0;

    for (uint32_t i = 0; i < n; i++)
        all[i] = i;
    *ret_found = UINT32_MAX;
    *ret_failed = 0;
    suspects_add(s, 0, all, n);
    for (uint32_t k; (k = next(s, 0, mine)) > 0; runs++) {
        bool is_in = false;

        for (uint32_t i = 0; i < k; i++) {
            is_in |= mine[i] == culprit;
            assert_true(suspects_remove(s, 0, mine[i]));
        }
        *ret_failed += is_in;
        if (!is_in || k == 1)
            cleared += k;
        if (is_in && k == 1)
            *ret_found = mine[0];
        else if (is_in)
            suspects_split(s, 0, mine, k);
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
        cmocka_unit_test(has_room_for_all),
        cmocka_unit_test(a_decided_one_leaves),
        cmocka_unit_test(finds_the_culprit_in_three_failures),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
