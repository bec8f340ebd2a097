/* SPDX-License-Identifier: Apache-2.0 */
/* A steady state allocates nothing, and no message makes the decoder take more than its share. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "clock.h"
#include "malformed.h"
#include "mallocs.h"
#include "seed.h"

#define MESSAGES  10000u
#define DIFFERENT 16u

static struct sample sample;

static struct wire_decoder *new_decoder(void)
{
    struct wire_decoder *d;

    assert_int_equal(wire_decoder_new(&sample_limits, &d), 0);
    return d;
}

static void decode(struct wire_decoder *d, const void *bytes, size_t n)
{
    const Trigd__V1__ToDaemon *m;
    struct wire_error e;
    struct wire_roi w;

    if (wire_decode(d, bytes, n, &m, &e) < 0 || wire_roi(d, m->batch->rois[0], &w, &e) < 0)
        fail_msg("refused: %s", e.text);
}

static void a_steady_state_allocates_nothing(void **state)
{
    struct wire_decoder *d = new_decoder();
    uint64_t random = fresh_seed(), before, arena_bytes, arena_calls, bytes_now, calls_now;
    void *message[DIFFERENT];
    size_t n[DIFFERENT];

    (void)state;
    for (uint32_t i = 0; i < DIFFERENT; i++) {
        sample_init_random(&sample, &random);
        message[i] = sample_pack(&sample, &n[i]);
        decode(d, message[i], n[i]); /* each once: the scratch memory grows to the largest */
    }
    wire_decoder_usage(d, &arena_bytes, &arena_calls);
    assert_true(arena_bytes > 0 && arena_calls > 0);
    before = mallocs();
    assert_true(before > DIFFERENT); /* the counter counts */
    for (uint32_t i = 0; i < MESSAGES; i++)
        decode(d, message[i % DIFFERENT], n[i % DIFFERENT]);
    assert_int_equal(mallocs(), before);
    wire_decoder_usage(d, &bytes_now, &calls_now);
    assert_int_equal(bytes_now, arena_bytes);
    assert_int_equal(calls_now, arena_calls);
    for (uint32_t i = 0; i < DIFFERENT; i++)
        free(message[i]);
    wire_decoder_free(d);
}

/* Messages of every size make it grow a few times at most. */
static void growth_is_rare(void **state)
{
    struct wire_decoder *d = new_decoder();
    uint64_t bytes_now, calls;

    (void)state;
    for (uint32_t n = 0; n < sample_limits.max_items; n++) {
        size_t bytes;
        void *message;

        sample_init(&sample, n);
        message = sample_pack(&sample, &bytes);
        decode(d, message, bytes);
        free(message);
    }
    wire_decoder_usage(d, &bytes_now, &calls);
    assert_true(calls <= 4);
    wire_decoder_free(d);
}

/* The floods of the table: refused within a fixed memory, and quickly. */
static void floods_are_cheap(void **state)
{
    (void)state;
    for (size_t i = 0; i < n_malformed; i++) {
        struct wire_decoder *d;
        const Trigd__V1__ToDaemon *m;
        struct wire_error e;
        uint64_t bytes_now, calls, began, before;
        const void *bytes;
        size_t n;

        if (!malformed[i].make)
            continue;
        d = new_decoder();
        bytes = malformed[i].make(&n);
        before = mallocs();
        began = clock_ns();
        assert_int_equal(wire_decode(d, bytes, n, &m, &e), -EBADMSG);
        print_message("%s: %llu us\n", malformed[i].what,
                      (unsigned long long)((clock_ns() - began) / 1000));
        assert_true(mallocs() - before <= 1);
        wire_decoder_usage(d, &bytes_now, &calls);
        assert_true(bytes_now <= 4u << 20); /* the next power of two of 2 MiB and the records */
        wire_decoder_free(d);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_steady_state_allocates_nothing),
        cmocka_unit_test(growth_is_rare),
        cmocka_unit_test(floods_are_cheap),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
