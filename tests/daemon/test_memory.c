/* SPDX-License-Identifier: Apache-2.0 */
/* The watch over the daemon's memory: what is in use counts, what malloc keeps does not. */
#include <malloc.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "clock.h"
#include "transport/memory.h"

#define MESSAGES 2000u
#define BYTES    50000u /* 95 MiB of all; 32 are allowed */

static void *message[MESSAGES];

static void take(void)
{
    for (uint32_t i = 0; i < MESSAGES; i++) {
        message[i] = malloc(BYTES);
        assert_non_null(message[i]);
        memset(message[i], 1, BYTES);
    }
}

static void let_go(void)
{
    for (uint32_t i = 0; i < MESSAGES; i++)
        free(message[i]);
}

static struct memory *watch(void)
{
    static struct config config;
    static char nothing[] = "";
    struct memory *m;

    config.pool.mbytes = 16;
    config.clients.queue_mbytes = 16;
    config.debug_stream.folder = nothing;
    assert_int_equal(memory_open(&config, &m), 0);
    assert_false(memory_is_short(m, 1, NS_PER_S)); /* what it has then is the base */
    return m;
}

static void messages_count(void **state)
{
    struct memory *m = watch();

    (void)state;
    take();
    assert_true(memory_is_short(m, 1, 2 * NS_PER_S));
    assert_true(memory_grows(m));
    assert_true(memory_is_short(m, 1, 4 * NS_PER_S));
    assert_false(memory_grows(m));
    assert_false(memory_is_short(m, 2, 5 * NS_PER_S)); /* a reload: the new base */
    let_go();
    memory_close(m);
}

static void kept_memory_does_not_count(void **state)
{
    struct memory *m;

    (void)state;
    assert_int_equal(mallopt(M_TRIM_THRESHOLD, 256 << 20), 1);
    malloc_trim(0);
    m = watch();
    take();
    let_go();
    assert_true(mallinfo2().fordblks > MESSAGES * (size_t)BYTES);
    assert_false(memory_is_short(m, 1, 2 * NS_PER_S));
    memory_close(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(messages_count),
        cmocka_unit_test(kept_memory_does_not_count),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
