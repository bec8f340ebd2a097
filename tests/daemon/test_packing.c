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

#include "seed.h"
#include "transport/packing.h"

#define MOST 40u

static unsigned seed;

/* A number of any length, the longest ones often. */
static uint32_t number(void)
{
    uint32_t v = (uint32_t)rand_r(&seed) << 1 | (uint32_t)(rand_r(&seed) & 1);

    return rand_r(&seed) % 2 ? UINT32_MAX : v >> (unsigned)rand_r(&seed) % 32;
}

static size_t list(uint32_t *dst)
{
    size_t n = (size_t)rand_r(&seed) % MOST;

    for (size_t i = 0; i < n; i++)
        dst[i] = number();
    return n;
}

/* A decision with every field, each of which is at times as it is when nobody sets it. */
struct made {
    Trigd__V1__Decision d;
    Trigd__V1__StepResult result[8], *results[8];
    Trigd__V1__Missing lacks[3], *missing[3];
    uint32_t of[6][MOST];
    float values[MOST];
};

static size_t list_of(struct made *m, uint32_t i, uint32_t **ret_list)
{
    *ret_list = m->of[i];
    return list(m->of[i]);
}

static void make_numbers(Trigd__V1__Decision *d)
{
    d->token = rand_r(&seed) % 2 ? UINT64_MAX : number();
    d->run = number();
    d->l1id = number();
    d->roi_id = number();
    d->accept = rand_r(&seed) % 2;
    d->late = rand_r(&seed) % 2;
    d->repeated = rand_r(&seed) % 2;
    d->status = (Trigd__V1__Status)(rand_r(&seed) % (TRIGD__V1__STATUS__SHUTDOWN + 1));
    d->latency_us = number();
    d->lane_us = number();
    d->wanted = number();
    d->kept = number();
    d->menu_generation = number();
    d->menu_key = rand_r(&seed) % 2 ? UINT64_MAX : 0;
    d->prescale_key = (uint64_t)number() << 32 | number();
    d->conditions_key = rand_r(&seed) % 2 ? number() : 0;
}

static void make(struct made *m)
{
    static const char *const names[] = {"", "hits",
                                        "a collection with a name of more than a hundred "
                                        "and twenty-seven characters, so that its length is a "
                                        "number of two bytes, as few names are "
                                        "in the field"};
    Trigd__V1__Decision *d = &m->d;

    trigd__v1__decision__init(d);
    make_numbers(d);
    d->n_chains_raw = list_of(m, 0, &d->chains_raw);
    d->n_chains = list_of(m, 1, &d->chains);
    d->n_streams = list_of(m, 2, &d->streams);
    d->n_unfinished = list_of(m, 3, &d->unfinished);
    d->n_skipped = list_of(m, 4, &d->skipped);
    d->n_results = (size_t)rand_r(&seed) % 8;
    d->results = m->results;
    for (size_t k = 0; k < MOST; k++)
        m->values[k] = (float)k - 1.5f;
    for (size_t i = 0; i < d->n_results; i++) {
        trigd__v1__step_result__init(&m->result[i]);
        m->result[i].step = rand_r(&seed) % 2 ? number() : 0;
        m->result[i].n_values = (size_t)rand_r(&seed) % MOST;
        m->result[i].values = m->values;
        m->results[i] = &m->result[i];
    }
    d->n_missing = (size_t)rand_r(&seed) % 4;
    d->missing = m->missing;
    for (size_t i = 0; i < d->n_missing; i++) {
        trigd__v1__missing__init(&m->lacks[i]);
        m->lacks[i].collection = (char *)(uintptr_t)names[rand_r(&seed) % 3];
        m->lacks[i].n_chains = list_of(m, 5, &m->lacks[i].chains);
        m->missing[i] = &m->lacks[i];
    }
}

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
    static struct made made[8];
    Trigd__V1__Decision *list[8];

    (void)state;
    for (uint32_t round = 0; round < 5000; round++) {
        Trigd__V1__DecisionBatch batch = TRIGD__V1__DECISION_BATCH__INIT;
        Trigd__V1__FromDaemon m = TRIGD__V1__FROM_DAEMON__INIT;

        batch.n_decisions = (size_t)rand_r(&seed) % 9;
        batch.decisions = list;
        for (size_t i = 0; i < batch.n_decisions; i++) {
            make(&made[i]);
            list[i] = &made[i].d;
        }
        m.body_case = TRIGD__V1__FROM_DAEMON__BODY_DECISIONS;
        m.decisions = &batch;
        check(&m);
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
    uint32_t all[MOST];
    Trigd__V1__DecisionBatch batch = TRIGD__V1__DECISION_BATCH__INIT;
    Trigd__V1__FromDaemon m = TRIGD__V1__FROM_DAEMON__INIT;
    Trigd__V1__EventDecision event[8], *list[8];

    (void)state;
    for (uint32_t i = 0; i < 8; i++) {
        trigd__v1__event_decision__init(&event[i]);
        event[i].run = number();
        event[i].n_chains_raw = MOST;
        event[i].chains_raw = all;
        list[i] = &event[i];
    }
    for (uint32_t i = 0; i < MOST; i++)
        all[i] = number();
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
