/* SPDX-License-Identifier: Apache-2.0 */
/* No answer is longer than the room that is asked for it. */
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

struct made {
    Trigd__V1__Decision d;
    Trigd__V1__StepResult result[8], *results[8];
    uint32_t raw[MOST], chains[MOST], streams[MOST];
    float values[MOST];
};

static void make(struct made *m)
{
    trigd__v1__decision__init(&m->d);
    m->d.token = rand_r(&seed) % 2 ? UINT64_MAX : number();
    m->d.run = number();
    m->d.l1id = number();
    m->d.roi_id = number();
    m->d.accept = m->d.late = true;
    m->d.status = TRIGD__V1__STATUS__SHUTDOWN;
    m->d.latency_us = number();
    m->d.lane_us = number();
    m->d.wanted = number();
    m->d.kept = number();
    m->d.menu_generation = number();
    m->d.n_chains_raw = list(m->raw);
    m->d.chains_raw = m->raw;
    m->d.n_chains = list(m->chains);
    m->d.chains = m->chains;
    m->d.n_streams = list(m->streams);
    m->d.streams = m->streams;
    m->d.n_results = (size_t)rand_r(&seed) % 8;
    m->d.results = m->results;
    for (size_t i = 0; i < m->d.n_results; i++) {
        trigd__v1__step_result__init(&m->result[i]);
        m->result[i].step = number();
        m->result[i].n_values = (size_t)rand_r(&seed) % MOST;
        for (size_t k = 0; k < m->result[i].n_values; k++)
            m->values[k] = 1.5f; /* a 0 would take as much */
        m->result[i].values = m->values;
        m->results[i] = &m->result[i];
    }
}

static void decisions_fit(void **state)
{
    static struct made made[8];
    Trigd__V1__Decision *decisions[8];

    (void)state;
    for (uint32_t round = 0; round < 5000; round++) {
        Trigd__V1__DecisionBatch batch = TRIGD__V1__DECISION_BATCH__INIT;
        Trigd__V1__FromDaemon m = TRIGD__V1__FROM_DAEMON__INIT;
        size_t packed, bound;

        batch.n_decisions = 1 + (size_t)rand_r(&seed) % 8;
        batch.decisions = decisions;
        for (size_t i = 0; i < batch.n_decisions; i++) {
            make(&made[i]);
            decisions[i] = &made[i].d;
        }
        m.body_case = TRIGD__V1__FROM_DAEMON__BODY_DECISIONS;
        m.decisions = &batch;
        packed = trigd__v1__from_daemon__get_packed_size(&m);
        bound = packing_bound(&m);
        assert_true(bound >= packed);
        assert_true(bound <= 3 * packed + 200 * batch.n_decisions);
    }
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
        cmocka_unit_test(decisions_fit),
        cmocka_unit_test(others_are_exact),
    };

    seed = (unsigned)fresh_seed();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
