/* SPDX-License-Identifier: Apache-2.0 */
/* Deadlines come and go in any order; the first one is always the earliest. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "flow/deadlines.h"
#include "seed.h"

#define ROIS  64u
#define MOVES 20000u

/* The earliest deadline of those that are in. */
static uint64_t earliest(const struct pool *pool, const bool *is_in)
{
    uint64_t first = UINT64_MAX;

    for (uint32_t i = 0; i < ROIS; i++)
        if (is_in[i] && pool->rois[i].deadline_ns < first)
            first = pool->rois[i].deadline_ns;
    return first;
}

static void the_first_is_the_earliest(void **unused)
{
    uint64_t state = fresh_seed();
    bool is_in[ROIS] = {false};
    struct deadlines *d;
    struct pool *pool;

    (void)unused;
    assert_int_equal(pool_open(ROIS, 1u << 20, &pool), 0);
    assert_int_equal(deadlines_new(pool, &d), 0);
    assert_int_equal(deadlines_first(d), POOL_NONE);
    for (uint32_t i = 0; i < MOVES; i++) {
        const uint32_t roi = (uint32_t)seed_uniform(&state, 0, ROIS) % ROIS;
        const bool fills = i / 1000 % 2 == 0; /* so that it is full and empty at times */

        if (is_in[roi] && (!fills || i % 8 == 0)) {
            deadlines_remove(d, roi);
            is_in[roi] = false;
        } else if (!is_in[roi] && (fills || i % 8 == 0)) {
            pool->rois[roi].deadline_ns =
                1 + (uint64_t)seed_uniform(&state, 0, 100); /* equal ones */
            deadlines_put(d, roi);
            is_in[roi] = true;
        }
        if (earliest(pool, is_in) == UINT64_MAX) {
            assert_int_equal(deadlines_first(d), POOL_NONE);
            continue;
        }
        assert_true(is_in[deadlines_first(d)]);
        assert_true(pool->rois[deadlines_first(d)].deadline_ns == earliest(pool, is_in));
    }
    deadlines_free(d);
    pool_close(pool);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(the_first_is_the_earliest)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
