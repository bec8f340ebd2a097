/* SPDX-License-Identifier: Apache-2.0 */
/* Answers unpack to what protobuf-c makes of their bytes, whole or damaged. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "made.h"
#include "seed.h"
#include "unpacking.h"

#define ROUNDS 5000u

static unsigned seed;
static struct scratch scratch;

/* At least so many decisions in the bytes of a message, which the caller frees. */
static unsigned char *pack_some(size_t least, size_t *ret_bytes)
{
    static struct made_message made;
    unsigned char *bytes;

    made_fill_message(&made, least, &seed);
    *ret_bytes = trigd__v1__from_daemon__get_packed_size(&made.m);
    bytes = malloc(*ret_bytes);
    assert_non_null(bytes);
    trigd__v1__from_daemon__pack(&made.m, bytes);
    return bytes;
}

/* Two messages have the same bytes. */
static void same(const Trigd__V1__FromDaemon *a, const Trigd__V1__FromDaemon *b)
{
    const size_t n = trigd__v1__from_daemon__get_packed_size(a);
    unsigned char *of_a = malloc(n + 1), *of_b = malloc(n + 1);

    assert_true(of_a && of_b);
    assert_int_equal(trigd__v1__from_daemon__get_packed_size(b), n);
    trigd__v1__from_daemon__pack(a, of_a);
    trigd__v1__from_daemon__pack(b, of_b);
    assert_memory_equal(of_a, of_b, n);
    free(of_a);
    free(of_b);
}

/* Bytes in memory of just their size give what protobuf-c makes of them, valid without them.
 * Returns the message, NULL for a refusal. */
static const Trigd__V1__FromDaemon *check(const unsigned char *bytes, size_t n)
{
    Trigd__V1__FromDaemon *want = trigd__v1__from_daemon__unpack(NULL, n, bytes), *got = NULL;
    unsigned char *copy = malloc(n);

    assert_non_null(copy);
    memcpy(copy, bytes, n);
    assert_int_equal(unpacking_unpack(&scratch, copy, n, &got), want ? 0 : -EBADMSG);
    free(copy);
    if (want)
        same(want, got);
    if (want)
        trigd__v1__from_daemon__free_unpacked(want, NULL);
    return got;
}

/* What is read field by field lies one after the other; protobuf-c takes memory for each. */
static void decisions(void **state)
{
    (void)state;
    for (uint32_t round = 0; round < ROUNDS; round++) {
        const Trigd__V1__FromDaemon *m;
        unsigned char *bytes;
        size_t n;

        bytes = pack_some(2, &n);
        m = check(bytes, n);
        assert_ptr_equal(m->decisions->decisions[1], m->decisions->decisions[0] + 1);
        free(bytes);
    }
}

static void damaged(void **state)
{
    (void)state;
    for (uint32_t round = 0; round < 4 * ROUNDS; round++) {
        unsigned char *bytes;
        size_t n;

        bytes = pack_some(1, &n);
        for (uint32_t k = (uint32_t)rand_r(&seed) % 4; k; k--) {
            const size_t most = rand_r(&seed) % 2 ? 40 : n; /* heads and lengths are in front */

            bytes[(size_t)rand_r(&seed) % (most < n ? most : n)] = (unsigned char)rand_r(&seed);
        }
        check(bytes, rand_r(&seed) % 4 ? n : 1 + (size_t)rand_r(&seed) % n);
        free(bytes);
    }
}

/* Messages of other kinds, and events beside RoIs. */
static void others(void **state)
{
    Trigd__V1__FromDaemon m = TRIGD__V1__FROM_DAEMON__INIT;
    Trigd__V1__DecisionBatch batch = TRIGD__V1__DECISION_BATCH__INIT;
    Trigd__V1__EventDecision event = TRIGD__V1__EVENT_DECISION__INIT, *events[] = {&event};
    Trigd__V1__Decision d = TRIGD__V1__DECISION__INIT, *list[] = {&d};
    Trigd__V1__Credit credit = TRIGD__V1__CREDIT__INIT;
    unsigned char bytes[256];

    (void)state;
    credit.credits = 300;
    m.body_case = TRIGD__V1__FROM_DAEMON__BODY_CREDIT;
    m.credit = &credit;
    assert_int_equal(check(bytes, trigd__v1__from_daemon__pack(&m, bytes))->credit->credits, 300);
    m.body_case = TRIGD__V1__FROM_DAEMON__BODY_DECISIONS;
    m.decisions = &batch;
    check(bytes, trigd__v1__from_daemon__pack(&m, bytes));
    event.run = 7;
    d.run = 8;
    batch = (Trigd__V1__DecisionBatch){
        .base = batch.base, .n_decisions = 1, .decisions = list, .n_events = 1, .events = events};
    check(bytes, trigd__v1__from_daemon__pack(&m, bytes));
}

static int teardown(void **state)
{
    (void)state;
    scratch_free(&scratch);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(decisions),
        cmocka_unit_test(damaged),
        cmocka_unit_test(others),
    };

    seed = (unsigned)fresh_seed();
    return cmocka_run_group_tests(tests, NULL, teardown);
}
