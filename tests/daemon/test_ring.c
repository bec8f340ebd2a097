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

static void *produce(void *arg)
{
    for (uint32_t i = 0; i < MANY; i++) {
        while (!ring_push(arg, i))
            sched_yield();
        ring_wake(arg);
    }
    return NULL;
}

/* No number is lost or doubled, and no wake-up is missed: a missed one would cost the whole limit
 * of ring_wait, and many of them the time limit of the test. */
static void two_threads(void **state)
{
    static struct ring r;
    pthread_t thread;
    uint32_t v, next = 0;

    (void)state;
    assert_int_equal(pthread_create(&thread, NULL, produce, &r), 0);
    while (next < MANY) {
        if (!ring_pop(&r, &v)) {
            ring_wait(&r, 5000000000u);
            continue;
        }
        assert_int_equal(v, next);
        next++;
    }
    pthread_join(thread, NULL);
    assert_true(ring_is_empty(&r));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(full_and_empty),
        cmocka_unit_test(two_threads),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
