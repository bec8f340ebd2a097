/* SPDX-License-Identifier: Apache-2.0 */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/ring.h"

#define MANY 200000u

static void full_and_empty(void **state)
{
    struct ring r;
    uint32_t v;

    (void)state;
    memset(&r, 0, sizeof r);
    assert_false(ring_pop(&r, &v));
    for (uint32_t i = 0; i < RING_CAPACITY; i++)
        assert_true(ring_push(&r, i));
    assert_false(ring_push(&r, 99));
    for (uint32_t i = 0; i < RING_CAPACITY; i++) {
        assert_true(ring_pop(&r, &v));
        assert_int_equal(v, i);
    }
    assert_true(ring_is_empty(&r));
}

struct fed { /* a ring with its producer */
    struct ring ring;
    _Atomic uint32_t *bell;
};

static void *produce(void *arg)
{
    struct fed *f = arg;

    for (uint32_t i = 0; i < MANY; i++) {
        while (!ring_push(&f->ring, i))
            sched_yield();
        ring_wake(&f->ring, f->bell);
    }
    return NULL;
}

/* No number is lost or doubled, and no wake-up is missed: a missed one would cost the whole limit
 * of ring_wait, and many of them the time limit of the test. */
static void two_producers(void **state)
{
    static struct fed fed[2];
    static _Atomic uint32_t bell;
    struct ring *const rings[2] = {&fed[0].ring, &fed[1].ring};
    uint32_t v, next[2] = {0};
    pthread_t thread[2];

    (void)state;
    for (uint32_t i = 0; i < 2; i++) {
        fed[i].bell = &bell;
        assert_int_equal(pthread_create(&thread[i], NULL, produce, &fed[i]), 0);
    }
    while (next[0] < MANY || next[1] < MANY) {
        bool is_empty = true;

        for (uint32_t i = 0; i < 2; i++) {
            if (!ring_pop(rings[i], &v))
                continue;
            assert_int_equal(v, next[i]++);
            is_empty = false;
        }
        if (is_empty)
            ring_wait(rings, 2, &bell, 5000000000u);
    }
    for (uint32_t i = 0; i < 2; i++) {
        pthread_join(thread[i], NULL);
        assert_true(ring_is_empty(rings[i]));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(full_and_empty),
        cmocka_unit_test(two_producers),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
