/* SPDX-License-Identifier: Apache-2.0 */
/* RoIs that wait for their batch: their order, and how they leave. */
#include "fake_step.h"

static void an_roi_leaves_the_queue(void **state)
{
    struct fake *f = fake_new(false);

    (void)state;
    for (uint32_t i = 0; i < 4; i++)
        batcher_put(&f->step, 10 + i, MENU_NORMAL, 20 + i, i);
    assert_true(batcher_remove(&f->step, 12, 22));
    assert_false(batcher_remove(&f->step, 12, 22));
    assert_true(batcher_remove(&f->step, 10, 20));
    assert_int_equal(f->step.n_waiting, 2);
    assert_int_equal(f->step.n_items, 44);
    assert_int_equal(batcher_next(&f->step)->roi, 11);
    assert_true(batcher_remove(&f->step, 11, 21));
    assert_int_equal(batcher_next(&f->step)->roi, 13);
    assert_true(batcher_remove(&f->step, 13, 23));
    assert_null(batcher_next(&f->step));
    assert_int_equal(f->step.n_items, 0);
    fake_free(f);
}

/* RoIs come and go behind one that stays: there is always room, and the order holds. */
static void holes_are_cleared_away(void **state)
{
    struct fake *f = fake_new(false);

    (void)state;
    batcher_put(&f->step, 0, MENU_LOW, 10, 0);
    batcher_put(&f->step, 1, MENU_LOW, 10, 0);
    for (uint32_t i = 0; i < 100 * CAPACITY; i++) {
        const uint32_t roi = 2 + i % (CAPACITY - 2);

        batcher_put(&f->step, roi, MENU_LOW, 10, i);
        if (i >= CAPACITY - 3) /* the pool is full: the one of which the record is next leaves */
            assert_true(batcher_remove(&f->step, 2 + (i + 1) % (CAPACITY - 2), 10));
    }
    assert_int_equal(f->step.n_waiting, CAPACITY - 1);
    assert_int_equal(batcher_next(&f->step)->roi, 0);
    assert_true(batcher_remove(&f->step, 0, 10));
    assert_int_equal(batcher_next(&f->step)->roi, 1);
    assert_true(batcher_remove(&f->step, 1, 10));
    for (uint32_t i = 100 * CAPACITY - (CAPACITY - 3); i < 100 * CAPACITY; i++) {
        assert_int_equal(batcher_next(&f->step)->roi, 2 + i % (CAPACITY - 2));
        assert_true(batcher_remove(&f->step, 2 + i % (CAPACITY - 2), 10));
    }
    assert_int_equal(f->step.n_waiting, 0);
    fake_free(f);
}

static void expect_next(struct fake *f, uint32_t roi)
{
    assert_int_equal(batcher_next(&f->step)->roi, roi);
    assert_true(batcher_remove(&f->step, roi, 10));
}

/* A priority is worth overtake_ms, so that what waits long enough is next. */
static void higher_priorities_go_first(void **state)
{
    struct fake *f = fake_new(false);
    const uint64_t ms = NS_PER_MS;

    (void)state;
    f->step.batching.overtake_ms = 10;
    batcher_put(&f->step, 0, MENU_LOW, 10, 0);
    batcher_put(&f->step, 1, MENU_NORMAL, 10, 5 * ms);
    batcher_put(&f->step, 2, MENU_HIGH, 10, 14 * ms);
    batcher_put(&f->step, 3, MENU_HIGH, 10, 16 * ms);
    batcher_put(&f->step, 4, MENU_HIGH, 10, 19 * ms);
    batcher_put(&f->step, 5, MENU_HIGH, 10, 21 * ms);
    assert_true(batcher_due_ns(&f->step, 1 * ms) ==
                200 * US); /* the oldest one, of whatever priority */
    expect_next(f, 2);     /* came 9 ms after the normal one */
    expect_next(f, 1);     /* 3 came 11 ms after it */
    expect_next(f, 3);
    expect_next(f, 4); /* 19 ms after the low one: two priorities */
    expect_next(f, 0);
    expect_next(f, 5);
    f->step.batching.overtake_ms = 0;
    batcher_put(&f->step, 0, MENU_LOW, 10, 0);
    batcher_put(&f->step, 1, MENU_HIGH, 10, 1);
    expect_next(f, 0); /* by arrival alone */
    expect_next(f, 1);
    fake_free(f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_roi_leaves_the_queue),
        cmocka_unit_test(holes_are_cleared_away),
        cmocka_unit_test(higher_priorities_go_first),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
