/* SPDX-License-Identifier: Apache-2.0 */
/* Answers have the bytes that protobuf-c makes of them, and none is longer than the room that is
 * asked for it. */
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
#include "transport/packing.h"

static unsigned seed;

/* Packs into memory of just so many bytes. */
static void same_bytes(const Trigd__V1__FromDaemon *m, size_t room, const void *want, size_t bytes)
{
    unsigned char *dst = malloc(room);

    assert_non_null(dst);
    assert_int_equal(packing_pack(m, dst), bytes);
    assert_memory_equal(dst, want, bytes);
    free(dst);
}

static void check(const Trigd__V1__FromDaemon *m)
{
    const size_t bytes = trigd__v1__from_daemon__get_packed_size(m), bound = packing_bound(m);
    unsigned char *want = malloc(bytes + 1);

    assert_non_null(want);
    assert_int_equal(trigd__v1__from_daemon__pack(m, want), bytes);
    assert_true(bound >= bytes);
    assert_true(bound <= 3 * bytes + 300 * m->decisions->n_decisions + 64);
    same_bytes(m, bound, want, bytes);
    same_bytes(m, bytes, want, bytes);
    free(want);
}

static void decisions(void **state)
{
    static struct made_message made;

    (void)state;
    for (uint32_t round = 0; round < 5000; round++) {
        made_fill_message(&made, 0, &seed);
        check(&made.m);
    }
}

/* Every list as long as a menu allows: a length of three bytes. */
static void the_largest(void **state)
{
    enum { N = 20000 };
    static uint32_t all[N];
    Trigd__V1__DecisionBatch batch = TRIGD__V1__DECISION_BATCH__INIT;
    Trigd__V1__FromDaemon m = TRIGD__V1__FROM_DAEMON__INIT;
    Trigd__V1__Decision d = TRIGD__V1__DECISION__INIT, *list[] = {&d};

    (void)state;
    for (uint32_t i = 0; i < N; i++)
        all[i] = UINT32_MAX - i;
    d.n_chains_raw = d.n_chains = d.n_unfinished = N;
    d.chains_raw = d.chains = d.unfinished = all;
    batch.n_decisions = 1;
    batch.decisions = list;
    m.body_case = TRIGD__V1__FROM_DAEMON__BODY_DECISIONS;
    m.decisions = &batch;
    check(&m);
}

/* The decisions of events are more than one message of RoIs had room for. */
static void events(void **state)
{
    uint32_t all[MADE_MOST];
    Trigd__V1__DecisionBatch batch = TRIGD__V1__DECISION_BATCH__INIT;
    Trigd__V1__FromDaemon m = TRIGD__V1__FROM_DAEMON__INIT;
    Trigd__V1__EventDecision event[8], *list[8];

    (void)state;
    for (uint32_t i = 0; i < 8; i++) {
        trigd__v1__event_decision__init(&event[i]);
        event[i].run = made_number(&seed);
        event[i].n_chains_raw = MADE_MOST;
        event[i].chains_raw = all;
        list[i] = &event[i];
    }
    for (uint32_t i = 0; i < MADE_MOST; i++)
        all[i] = made_number(&seed);
    batch.n_events = 8;
    batch.events = list;
    m.body_case = TRIGD__V1__FROM_DAEMON__BODY_DECISIONS;
    m.decisions = &batch;
    check(&m);
}

static void others_are_exact(void **state)
{
    Trigd__V1__FromDaemon m = TRIGD__V1__FROM_DAEMON__INIT;
    Trigd__V1__Credit credit = TRIGD__V1__CREDIT__INIT;

    (void)state;
    credit.credits = 300;
    m.body_case = TRIGD__V1__FROM_DAEMON__BODY_CREDIT;
    m.credit = &credit;
    assert_int_equal(packing_bound(&m), trigd__v1__from_daemon__get_packed_size(&m));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(decisions),
        cmocka_unit_test(the_largest),
        cmocka_unit_test(events),
        cmocka_unit_test(others_are_exact),
    };

    seed = (unsigned)fresh_seed();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
