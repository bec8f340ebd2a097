/* SPDX-License-Identifier: Apache-2.0 */
#include "made.h"

#include <stdlib.h>

uint32_t made_number(unsigned *seed)
{
    const uint32_t v = (uint32_t)rand_r(seed) << 1 | (uint32_t)(rand_r(seed) & 1);

    return rand_r(seed) % 2 ? UINT32_MAX : v >> (unsigned)rand_r(seed) % 32;
}

static size_t list_of(struct made *m, uint32_t i, unsigned *seed, uint32_t **ret_list)
{
    const size_t n = (size_t)rand_r(seed) % MADE_MOST;

    for (size_t k = 0; k < n; k++)
        m->of[i][k] = made_number(seed);
    *ret_list = m->of[i];
    return n;
}

static void fill_numbers(Trigd__V1__Decision *d, unsigned *seed)
{
    d->token = rand_r(seed) % 2 ? UINT64_MAX : made_number(seed);
    d->run = made_number(seed);
    d->l1id = made_number(seed);
    d->roi_id = made_number(seed);
    d->accept = rand_r(seed) % 2;
    d->late = rand_r(seed) % 2;
    d->repeated = rand_r(seed) % 2;
    d->status = (Trigd__V1__Status)(rand_r(seed) % (TRIGD__V1__STATUS__SHUTDOWN + 1));
    d->latency_us = made_number(seed);
    d->lane_us = made_number(seed);
    d->wanted = made_number(seed);
    d->kept = made_number(seed);
    d->menu_generation = made_number(seed);
    d->menu_key = rand_r(seed) % 2 ? UINT64_MAX : 0;
    d->prescale_key = (uint64_t)made_number(seed) << 32 | made_number(seed);
    d->conditions_key = rand_r(seed) % 2 ? made_number(seed) : 0;
}

static void fill_results(struct made *m, unsigned *seed)
{
    m->d.n_results = (size_t)rand_r(seed) % MADE_RESULTS;
    m->d.results = m->results;
    for (size_t k = 0; k < MADE_MOST; k++)
        m->values[k] = (float)k - 1.5f;
    for (size_t i = 0; i < m->d.n_results; i++) {
        trigd__v1__step_result__init(&m->result[i]);
        m->result[i].step = rand_r(seed) % 2 ? made_number(seed) : 0;
        m->result[i].n_values = (size_t)rand_r(seed) % MADE_MOST;
        m->result[i].values = m->values;
        m->results[i] = &m->result[i];
    }
}

static void fill_missing(struct made *m, unsigned *seed)
{
    static const char *const names[] = {"", "hits",
                                        "a collection with a name of more than a hundred "
                                        "and twenty-seven characters, so that its length is a "
                                        "number of two bytes, as few names are "
                                        "in the field"};

    m->d.n_missing = (size_t)rand_r(seed) % (MADE_MISSING + 1);
    m->d.missing = m->missing;
    for (uint32_t i = 0; i < m->d.n_missing; i++) {
        trigd__v1__missing__init(&m->lacks[i]);
        m->lacks[i].collection = (char *)(uintptr_t)names[rand_r(seed) % 3];
        m->lacks[i].n_chains = list_of(m, 5 + i, seed, &m->lacks[i].chains);
        m->missing[i] = &m->lacks[i];
    }
}

void made_fill(struct made *m, unsigned *seed)
{
    Trigd__V1__Decision *d = &m->d;

    trigd__v1__decision__init(d);
    fill_numbers(d, seed);
    d->n_chains_raw = list_of(m, 0, seed, &d->chains_raw);
    d->n_chains = list_of(m, 1, seed, &d->chains);
    d->n_streams = list_of(m, 2, seed, &d->streams);
    d->n_unfinished = list_of(m, 3, seed, &d->unfinished);
    d->n_skipped = list_of(m, 4, seed, &d->skipped);
    fill_results(m, seed);
    fill_missing(m, seed);
}

void made_fill_message(struct made_message *m, size_t least, unsigned *seed)
{
    trigd__v1__from_daemon__init(&m->m);
    trigd__v1__decision_batch__init(&m->batch);
    m->batch.n_decisions = least + (size_t)rand_r(seed) % (MADE_BATCH - least + 1);
    m->batch.decisions = m->list;
    for (size_t i = 0; i < m->batch.n_decisions; i++) {
        made_fill(&m->made[i], seed);
        m->list[i] = &m->made[i].d;
    }
    m->m.body_case = TRIGD__V1__FROM_DAEMON__BODY_DECISIONS;
    m->m.decisions = &m->batch;
}
