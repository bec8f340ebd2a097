/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/buddy.h"
#include "seed.h"

#define UNITS 256u
#define BYTES ((uint64_t)UNITS * BUDDY_UNIT)

static void refuses_sizes_that_are_no_power_of_two(void **state)
{
    struct buddy *b = NULL;

    (void)state;
    assert_int_equal(buddy_new(3 * BUDDY_UNIT, &b), -EINVAL);
    assert_int_equal(buddy_new(0, &b), -EINVAL);
    assert_null(b);
}

static void whole_half_and_too_much(void **state)
{
    struct buddy *b;
    uint64_t whole, a, c;

    (void)state;
    assert_int_equal(buddy_new(BYTES, &b), 0);
    assert_true(buddy_take(b, BYTES + 1) == BUDDY_NONE);
    whole = buddy_take(b, BYTES);
    assert_int_equal(whole, 0);
    assert_true(buddy_take(b, 1) == BUDDY_NONE);
    buddy_put(b, whole);
    a = buddy_take(b, BYTES / 2);
    c = buddy_take(b, BYTES / 2);
    assert_true(a != BUDDY_NONE && c != BUDDY_NONE && a != c);
    assert_int_equal(buddy_used(b), BYTES);
    buddy_put(b, a);
    buddy_put(b, c);
    assert_int_equal(buddy_used(b), 0);
    assert_int_equal(buddy_take(b, BYTES), 0); /* merged again */
    buddy_free(b);
}

struct held {
    uint64_t at, bytes;
};

/* Marks the units of a block; fails where one is taken already. */
static void mark(uint8_t *taken, const struct held *h, uint8_t value)
{
    uint64_t first = h->at / BUDDY_UNIT, n = (h->bytes + BUDDY_UNIT - 1) / BUDDY_UNIT;

    for (uint64_t u = first; u < first + n; u++) {
        assert_true(u < UNITS);
        assert_int_not_equal(taken[u], value);
        taken[u] = value;
    }
}

static void random_blocks_never_overlap_and_all_merge(void **state)
{
    unsigned seed = (unsigned)fresh_seed();
    struct held held[UNITS];
    uint8_t taken[UNITS] = {0};
    uint32_t n = 0;
    struct buddy *b;

    (void)state;
    assert_int_equal(buddy_new(BYTES, &b), 0);
    for (uint32_t i = 0; i < 200000; i++) {
        if (n < UNITS && rand_r(&seed) % 2) {
            struct held h = {.bytes = 1 + (uint64_t)rand_r(&seed) % (12 * BUDDY_UNIT)};

            h.at = buddy_take(b, h.bytes);
            if (h.at == BUDDY_NONE)
                continue;
            assert_int_equal(h.at % BUDDY_UNIT, 0);
            mark(taken, &h, 1);
            held[n++] = h;
        } else if (n) {
            uint32_t k = (uint32_t)rand_r(&seed) % n;

            mark(taken, &held[k], 0);
            buddy_put(b, held[k].at);
            held[k] = held[--n];
        }
    }
    while (n)
        buddy_put(b, held[--n].at);
    assert_int_equal(buddy_used(b), 0);
    assert_int_equal(buddy_take(b, BYTES), 0);
    buddy_free(b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(refuses_sizes_that_are_no_power_of_two),
        cmocka_unit_test(whole_half_and_too_much),
        cmocka_unit_test(random_blocks_never_overlap_and_all_merge),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
