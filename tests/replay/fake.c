/* SPDX-License-Identifier: Apache-2.0 */
#include "fake.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <zmq.h>

#include <cmocka.h>

#include "trigd.pb-c.h"

#define BATCH_MAX 256u
#define SEEN_MAX  65536u /* RoIs that were answered Busy once */

struct inside {
    struct fake *f;
    void *context, *router;
    zmq_msg_t peer;
    _Atomic bool stop;
    bool is_known; /* FAKE_FORGET: the client has said Hello since */
    uint64_t seen[SEEN_MAX];
    uint32_t n_seen;
    pthread_t thread;
};

static void answer_bytes(struct inside *s, const void *bytes, size_t n)
{
    zmq_msg_t peer;

    zmq_msg_init(&peer);
    zmq_msg_copy(&peer, &s->peer);
    if (zmq_msg_send(&peer, s->router, ZMQ_SNDMORE) < 0)
        zmq_msg_close(&peer);
    zmq_send(s->router, bytes, n, 0);
}

static void answer(struct inside *s, const Trigd__V1__FromDaemon *m)
{
    size_t n = trigd__v1__from_daemon__get_packed_size(m);
    void *bytes = malloc(n);

    if (!bytes)
        return;
    trigd__v1__from_daemon__pack(m, bytes);
    answer_bytes(s, bytes, n);
    free(bytes);
}

static void welcome(struct inside *s)
{
    Trigd__V1__FromDaemon m = TRIGD__V1__FROM_DAEMON__INIT;
    Trigd__V1__Welcome w = TRIGD__V1__WELCOME__INIT;
    char *chains[] = {"HLT_odd", "HLT_\"all\""}, *streams[] = {"debug", "physics"};

    w.protocol = 1;
    w.credits = s->f->credits;
    if (s->f->fault == FAKE_SLOW_CREDIT || (s->f->fault == FAKE_FIRST_ONLY && s->f->hellos > 1))
        w.credits = 0;
    w.heartbeat_ms = s->f->heartbeat_ms;
    w.n_chains = w.n_streams = 2;
    w.chains = chains;
    w.streams = streams;
    m.body_case = TRIGD__V1__FROM_DAEMON__BODY_WELCOME;
    m.welcome = &w;
    answer(s, &m);
}

static void credit(struct inside *s)
{
    Trigd__V1__FromDaemon m = TRIGD__V1__FROM_DAEMON__INIT;
    Trigd__V1__Credit c = TRIGD__V1__CREDIT__INIT;

    c.credits = s->f->credits;
    m.body_case = TRIGD__V1__FROM_DAEMON__BODY_CREDIT;
    m.credit = &c;
    answer(s, &m);
}

static void error(struct inside *s, bool has_token, uint64_t token)
{
    Trigd__V1__FromDaemon m = TRIGD__V1__FROM_DAEMON__INIT;
    Trigd__V1__Error e = TRIGD__V1__ERROR__INIT;

    e.code = TRIGD__V1__ERROR__CODE__NOT_FINITE;
    e.text = (char *)"refused by the fake";
    e.has_token = has_token;
    e.token = token;
    m.body_case = TRIGD__V1__FROM_DAEMON__BODY_ERROR;
    m.error = &e;
    answer(s, &m);
}

static void busy(struct inside *s, uint64_t token, Trigd__V1__Busy__Reason reason)
{
    Trigd__V1__FromDaemon m = TRIGD__V1__FROM_DAEMON__INIT;
    Trigd__V1__Busy b = TRIGD__V1__BUSY__INIT;

    b.n_tokens = 1;
    b.tokens = &token;
    b.reason = reason;
    m.body_case = TRIGD__V1__FROM_DAEMON__BODY_BUSY;
    m.busy = &b;
    answer(s, &m);
}

/* Odd numbers are accepted; the step's value 1 is half a millimetre off what the RoI's z_max says.
 */
static void decide(struct inside *s, const Trigd__V1__Roi *r, uint64_t token)
{
    Trigd__V1__FromDaemon m = TRIGD__V1__FROM_DAEMON__INIT;
    Trigd__V1__DecisionBatch batch = TRIGD__V1__DECISION_BATCH__INIT;
    Trigd__V1__Decision d = TRIGD__V1__DECISION__INIT, *list = &d;
    Trigd__V1__StepResult result = TRIGD__V1__STEP_RESULT__INIT, *results = &result;
    uint32_t chains[] = {1, 0}, stream = 1;
    float values[2] = {7, r->z_max_mm + (r->l1id % 4 ? 0.5f : 5.0f)};

    d.token = token;
    d.l1id = r->l1id;
    d.accept = r->l1id % 2;
    d.status = r->l1id % 10 == 1 ? TRIGD__V1__STATUS__TIMEOUT : TRIGD__V1__STATUS__OK;
    d.n_chains = 1 + r->l1id % 2;
    d.chains = chains;
    d.n_streams = r->l1id % 2;
    d.streams = &stream;
    result.n_values = 2;
    result.values = values;
    d.n_results = 1;
    d.results = &results;
    batch.n_decisions = 1;
    batch.decisions = &list;
    m.body_case = TRIGD__V1__FROM_DAEMON__BODY_DECISIONS;
    m.decisions = &batch;
    answer(s, &m);
}

static bool was_seen(struct inside *s, uint64_t token)
{
    for (uint32_t i = 0; i < s->n_seen; i++)
        if (s->seen[i] == token)
            return true;
    if (s->n_seen < SEEN_MAX)
        s->seen[s->n_seen++] = token;
    return false;
}

/* Does the fault to an RoI; returns whether a decision is to follow all the same. */
static bool do_fault(struct inside *s, const Trigd__V1__Roi *r)
{
    s->f->faults++;
    switch (s->f->fault) {
    case FAKE_DROP:
        return false;
    case FAKE_TWICE:
        decide(s, r, r->token);
        return true;
    case FAKE_BUSY:
        if (was_seen(s, r->token)) {
            s->f->faults--;
            return true;
        }
        busy(s, r->token, TRIGD__V1__BUSY__REASON__POOL_FULL);
        return false;
    case FAKE_BUSY_ALL:
        busy(s, r->token, TRIGD__V1__BUSY__REASON__DRAINING);
        return false;
    case FAKE_REFUSE:
        error(s, true, r->token);
        return false;
    case FAKE_UNASKED:
        decide(s, r, r->token + (1ull << 30));
        return true;
    case FAKE_FORGET:
        s->is_known = false;
        busy(s, r->token, TRIGD__V1__BUSY__REASON__NO_HELLO);
        return false;
    case FAKE_RUBBISH:
        answer_bytes(s, "\xff\xff\xff", 3);
        return true;
    default:
        s->f->faults--;
        return true;
    }
}

static void pause_for(uint32_t ms)
{
    struct timespec t = {ms / 1000, (long)(ms % 1000) * 1000000};

    nanosleep(&t, NULL); /* a daemon that stands still: this is the fault, nobody waits for it */
}

static void take_roi(struct inside *s, const Trigd__V1__Roi *r)
{
    struct fake *f = s->f;
    uint64_t number = f->rois++;

    if (r->token >= f->distinct) /* clients count from 0 */
        f->distinct = r->token + 1;
    if (f->fault == FAKE_FORGET && !s->is_known) {
        busy(s, r->token, TRIGD__V1__BUSY__REASON__NO_HELLO);
        return;
    }
    if (f->pause_every && number % f->pause_every == f->pause_every - 1)
        pause_for(f->pause_ms);
    if (f->every && (number % f->every == f->every - 1 || f->fault == FAKE_BUSY_ALL) &&
        !do_fault(s, r))
        return;
    decide(s, r, r->token);
}

static void take_message(struct inside *s, const Trigd__V1__ToDaemon *m)
{
    switch (m->body_case) {
    case TRIGD__V1__TO_DAEMON__BODY_HELLO:
        s->f->hellos++;
        s->is_known = true;
        if (s->f->fault == FAKE_NO_ENTRY)
            error(s, false, 0);
        else
            welcome(s);
        break;
    case TRIGD__V1__TO_DAEMON__BODY_BATCH:
        if (m->batch->n_rois > s->f->most_open)
            s->f->most_open = m->batch->n_rois;
        for (size_t i = 0; i < m->batch->n_rois; i++)
            take_roi(s, m->batch->rois[i]);
        break;
    case TRIGD__V1__TO_DAEMON__BODY_HEARTBEAT:
        if (!s->f->heartbeats++ && s->f->fault == FAKE_SLOW_CREDIT)
            credit(s);
        break;
    case TRIGD__V1__TO_DAEMON__BODY_BYE:
        s->f->byes++;
        break;
    default:
        break;
    }
}

/* One message, if there is one within the socket's limit. */
static bool serve_one(struct inside *s)
{
    Trigd__V1__ToDaemon *m = NULL;
    zmq_msg_t body;
    bool has_come;

    zmq_msg_init(&s->peer);
    zmq_msg_init(&body);
    has_come = zmq_msg_recv(&s->peer, s->router, 0) >= 0 && zmq_msg_recv(&body, s->router, 0) >= 0;
    if (has_come)
        m = trigd__v1__to_daemon__unpack(NULL, zmq_msg_size(&body), zmq_msg_data(&body));
    if (m) {
        take_message(s, m);
        trigd__v1__to_daemon__free_unpacked(m, NULL);
    }
    zmq_msg_close(&body);
    zmq_msg_close(&s->peer);
    return has_come;
}

/* Serves until it is told to stop and nothing has come for a while, so that the last Byes count. */
static void *serve(void *arg)
{
    struct inside *s = arg;

    while (serve_one(s) || !atomic_load(&s->stop)) {
    }
    return NULL;
}

void fake_start(struct fake *f, const char *folder)
{
    struct inside *s = calloc(1, sizeof *s);
    const int limit_ms = 50, linger = 0, no_limit = 0;

    assert_non_null(s);
    f->inside = s;
    if (!f->credits)
        f->credits = 64;
    if (!f->heartbeat_ms)
        f->heartbeat_ms = 1000;
    snprintf(f->endpoint, sizeof f->endpoint, "ipc://%s/fake.sock", folder);
    s->f = f;
    s->context = zmq_ctx_new();
    s->router = zmq_socket(s->context, ZMQ_ROUTER);
    assert_non_null(s->router);
    zmq_setsockopt(s->router, ZMQ_RCVTIMEO, &limit_ms, sizeof limit_ms);
    zmq_setsockopt(s->router, ZMQ_LINGER, &linger, sizeof linger);
    zmq_setsockopt(s->router, ZMQ_SNDHWM, &no_limit, sizeof no_limit);
    zmq_setsockopt(s->router, ZMQ_RCVHWM, &no_limit, sizeof no_limit);
    assert_int_equal(zmq_bind(s->router, f->endpoint), 0);
    assert_int_equal(pthread_create(&s->thread, NULL, serve, s), 0);
}

void fake_stop(struct fake *f)
{
    struct inside *s = f->inside;

    atomic_store(&s->stop, true);
    pthread_join(s->thread, NULL);
    zmq_close(s->router);
    zmq_ctx_term(s->context);
    free(s);
}
