/* SPDX-License-Identifier: Apache-2.0 */
/* The operator's changes: which lumi block has which set. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "menu/change_book.h"
#include "tables.collections.h"

struct fixture {
    struct change_book *book;
    struct menu menu; /* one chain, one condition with a table of the configuration */
};

static const struct condition_need need = {"dead", &trg_dead_channels, false};

static struct condition *table(int32_t channel)
{
    struct condition *c;

    assert_int_equal(condition_new(&need, 1, &c), 0);
    memcpy(c->column[0], &channel, sizeof channel);
    condition_seal(c);
    return c;
}

static int set_up(void **state)
{
    static struct fixture f;
    static char name[] = "a";

    memset(&f, 0, sizeof f);
    f.menu.n_chains = 1;
    f.menu.chains[0].name = name;
    f.menu.chains[0].prescale = 1;
    f.menu.n_conditions = 1;
    f.menu.condition[0] = need;
    f.menu.base[0] = table(0);
    *state = &f;
    return change_book_new(&f.book);
}

static int tear_down(void **state)
{
    struct fixture *f = *state;

    change_book_free(f->book);
    condition_release(f->menu.base[0]);
    return 0;
}

/* The channel that is dead in a lumi block; `ret_prescale` may be NULL. */
static int32_t dead_in(struct fixture *f, uint32_t run, uint32_t block, double *ret_prescale)
{
    struct prescales prescales;
    struct conditions set;
    int32_t channel;

    change_book_fill(f->book, (struct lumi){run, block}, &f->menu, &prescales, &set);
    assert_true(set.key != 0);
    assert_non_null(set.of[0]);
    memcpy(&channel, set.of[0]->column[0], sizeof channel);
    conditions_drop(&set);
    if (ret_prescale)
        *ret_prescale = prescales.value[0];
    return channel;
}

static int order(struct fixture *f, int32_t channel, bool is_now, const struct lumi *from,
                 struct lumi *ret_from)
{
    struct change change = {.name = "dead", .what = CHANGE_CONDITION, .condition = table(channel)};
    const struct change_order o = {
        .what = CHANGE_CONDITION, .change = &change, .n = 1, .is_now = is_now, .from = from};
    int r = change_book_change(f->book, &o, ret_from);

    condition_release(change.condition); /* the book has a use of its own */
    return r;
}

static void a_change_begins_with_the_next_block(void **state)
{
    struct fixture *f = *state;
    struct lumi from;

    assert_int_equal(order(f, 1, false, NULL, &from), 0); /* no RoI yet: at once */
    assert_int_equal(from.run + from.block, 0);
    change_book_look(f->book, (struct lumi){3, 18});
    assert_int_equal(order(f, 2, false, NULL, &from), 0);
    assert_true(from.run == 3 && from.block == 19);
    assert_int_equal(order(f, 3, false, NULL, &from), 0); /* in place of the one before */
    assert_int_equal(dead_in(f, 3, 18, NULL), 1);
    assert_int_equal(dead_in(f, 3, 19, NULL), 3);
    assert_int_equal(dead_in(f, 4, 1, NULL), 3);
    assert_int_equal(order(f, 4, true, NULL, &from), 0);
    assert_int_equal(dead_in(f, 3, 18, NULL), 4);
}

static void a_block_may_be_named(void **state)
{
    const struct lumi later = {4, 1}, old = {3, 18}, sooner = {3, 30};
    struct fixture *f = *state;
    struct lumi from;

    change_book_look(f->book, old);
    assert_int_equal(order(f, 5, false, &old, &from), -ESTALE);
    assert_int_equal(order(f, 5, false, &later, &from), 0);
    assert_int_equal(dead_in(f, 3, 999, NULL), 0);
    assert_int_equal(dead_in(f, 4, 1, NULL), 5);
    assert_int_equal(order(f, 6, false, &sooner, &from), -EEXIST);
    assert_int_equal(order(f, 6, false, NULL, &from), -EEXIST);
    assert_int_equal(order(f, 6, false, &later, &from), 0);
    assert_int_equal(dead_in(f, 4, 1, NULL), 6);
}

static void prescales_and_conditions_go_their_own_ways(void **state)
{
    const struct change change = {.name = "a", .what = CHANGE_PRESCALE, .prescale = 7};
    const struct change_order prescale = {.what = CHANGE_PRESCALE, .change = &change, .n = 1},
                              reset = {.what = CHANGE_CONDITION, .is_whole = true};
    struct fixture *f = *state;
    struct lumi from;
    double value;

    assert_int_equal(order(f, 1, false, NULL, &from), 0);
    assert_int_equal(change_book_change(f->book, &prescale, &from), 0);
    assert_int_equal(dead_in(f, 1, 1, &value), 1);
    assert_true(value == 7);
    assert_int_equal(change_book_change(f->book, &reset, &from), 0);
    assert_int_equal(dead_in(f, 1, 1, &value), 0);
    assert_true(value == 7);
}

static void what_holds_and_what_waits(void **state)
{
    const struct lumi later = {4, 1};
    struct fixture *f = *state;
    struct lumi from, start[CHANGE_STARTS];

    assert_int_equal(change_book_starts(f->book, start), 1);
    change_book_look(f->book, (struct lumi){3, 18});
    assert_int_equal(order(f, 1, false, NULL, &from), 0);
    assert_int_equal(change_book_starts(f->book, start), 2); /* in force still, and next */
    assert_true(start[0].run == 0 && start[1].run == 3 && start[1].block == 19);
    change_book_look(f->book, (struct lumi){3, 19});
    assert_int_equal(order(f, 2, false, &later, &from), 0);
    assert_int_equal(change_book_starts(f->book, start), 2);
    assert_true(start[0].block == 19 && start[1].run == 4);
    assert_int_equal(order(f, 3, true, NULL, &from), 0);
    assert_int_equal(change_book_starts(f->book, start), 1);
}

/* Tables of more changes than are kept are freed, and the last ones hold. */
static void old_changes_are_forgotten(void **state)
{
    struct fixture *f = *state;
    struct lumi from;

    for (uint32_t i = 1; i <= 200; i++) {
        change_book_look(f->book, (struct lumi){1, i});
        assert_int_equal(order(f, (int32_t)i, false, NULL, &from), 0);
    }
    assert_int_equal(dead_in(f, 1, 201, NULL), 200);
    assert_int_equal(dead_in(f, 1, 200, NULL), 199);
    assert_int_equal(dead_in(f, 1, 1, NULL), 137); /* of the oldest that is kept */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_change_begins_with_the_next_block, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_block_may_be_named, set_up, tear_down),
        cmocka_unit_test_setup_teardown(prescales_and_conditions_go_their_own_ways, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(what_holds_and_what_waits, set_up, tear_down),
        cmocka_unit_test_setup_teardown(old_changes_are_forgotten, set_up, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
