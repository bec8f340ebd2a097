/* SPDX-License-Identifier: Apache-2.0 */
/* Queues and events: order within a queue and between queues, host calls, times, threads. */
#include <float.h>
#include <math.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "rig.h"
#include "trigd/kernel.h"

#include "device_test.h"

#define N     256u
#define STEPS 2000u

static int launch_chain(struct trg_queue *q, struct trg_kernel *k, struct trg_buffer *b,
                        uint32_t steps)
{
    const struct test_par par = {N, steps};

    return trg_launch(q, k, (struct trg_range){4, 64}, (struct trg_arg[]){TRG_BUF(b), TRG_VAL(par)},
                      2);
}

static uint32_t chain(uint32_t x, uint32_t steps)
{
    for (uint32_t k = 0; k < steps; k++)
        x = x * 1664525u + 1013904223u;
    return x;
}

/* Waits by looking, as a lane does, with a limit that only a dead device reaches. */
static int poll_event(struct trg_event *e)
{
    int r = -EAGAIN;

    for (uint64_t tries = 0; r == -EAGAIN && tries < 2000000000u; tries++)
        r = trg_event_query(e);
    return r;
}

/* Each operation sees what the one before it left. */
static void check_order(struct rig *r)
{
    struct trg_buffer *a = rig_buffer(r, TRG_MEM_DEVICE, 4 * N),
                      *b = rig_buffer(r, TRG_MEM_DEVICE, 4 * N);
    struct trg_kernel *k = rig_kernel(r, "chain");
    struct trg_event *e;
    uint32_t x = 9;

    assert_int_equal(trg_event_new(r->device->d, &e), 0);
    assert_int_equal(trg_fill(r->queue, a, 0, 4 * N, x), 0);
    for (uint32_t round = 0; round < 100; round++) {
        assert_int_equal(launch_chain(r->queue, k, a, round), 0);
        assert_int_equal(trg_copy(r->queue, b, 0, a, 0, 4 * N), 0);
        assert_int_equal(trg_fill(r->queue, a, 0, 4 * N, 1), 0);
        assert_int_equal(trg_copy(r->queue, a, 0, b, 0, 4 * N), 0);
        x = chain(x, round);
    }
    assert_int_equal(trg_read(r->queue, r->pinned, 0, a, 0, 4 * N), 0);
    assert_int_equal(trg_event_record(r->queue, e), 0);
    assert_int_equal(trg_flush(r->queue), 0);
    assert_int_equal(poll_event(e), 0);
    for (uint32_t i = 0; i < N; i++)
        assert_int_equal(((uint32_t *)trg_buffer_host(r->pinned))[i], x);
    trg_event_free(e);
    trg_buffer_free(a);
    trg_buffer_free(b);
}

static void test_order(void **state)
{
    (void)state;
    rig_each(check_order);
}

static void check_events(struct rig *r)
{
    struct trg_buffer *a = rig_buffer(r, TRG_MEM_DEVICE, 4 * N);
    struct trg_kernel *k = rig_kernel(r, "chain");
    struct trg_event *e[3];
    double short_us = -1, long_us = -1, back_us = 0, least_short_us = DBL_MAX,
           least_long_us = DBL_MAX;

    for (uint32_t i = 0; i < 3; i++)
        assert_int_equal(trg_event_new(r->device->d, &e[i]), 0);
    /* before it was recorded */
    assert_int_equal(trg_event_query(e[0]), -EINVAL);
    assert_int_equal(trg_event_wait(e[0]), -EINVAL);
    assert_int_equal(trg_queue_wait_event(r->queue, e[0]), -EINVAL);
    assert_int_equal(trg_event_elapsed(e[0], e[1], &short_us), -EINVAL);
    for (uint32_t round = 0; round < 5; round++) { /* the same events over and over */
        assert_int_equal(trg_event_record(r->queue, e[0]), 0);
        assert_int_equal(launch_chain(r->queue, k, a, 10), 0);
        assert_int_equal(trg_event_record(r->queue, e[1]), 0);
        assert_int_equal(launch_chain(r->queue, k, a, 100 * STEPS), 0);
        assert_int_equal(trg_event_record(r->queue, e[2]), 0);
        assert_int_equal(trg_event_wait(e[2]), 0);
        for (uint32_t i = 0; i < 3; i++)
            assert_int_equal(trg_event_query(e[i]), 0);
        assert_int_equal(trg_event_elapsed(e[0], e[1], &short_us), 0);
        assert_int_equal(trg_event_elapsed(e[1], e[2], &long_us), 0);
        assert_int_equal(trg_event_elapsed(e[2], e[1], &back_us), 0);
        assert_true(short_us >= 0);
        least_short_us = fmin(least_short_us, short_us);
        least_long_us = fmin(least_long_us, long_us);
        assert_true(long_us + back_us > -0.01 && long_us + back_us < 0.01);
    }
    assert_true(least_long_us > least_short_us); /* 20,000 times the work */
    for (uint32_t i = 0; i < 3; i++)
        trg_event_free(e[i]);
    trg_event_free(NULL);
    trg_buffer_free(a);
}

static void test_events(void **state)
{
    (void)state;
    rig_each(check_events);
}

/* What was enqueued before a mark is there when it is reached, and not before. */
static void check_marks(struct rig *r)
{
    struct trg_buffer *a = rig_buffer(r, TRG_MEM_DEVICE, 4 * N);
    struct trg_kernel *k = rig_kernel(r, "chain");
    const uint32_t *got = trg_buffer_host(r->pinned);
    struct trg_event *e;

    assert_int_equal(trg_mark_new(r->device->d, &e), 0);
    assert_int_equal(trg_event_query(e), -EINVAL);
    assert_int_equal(trg_event_wait(e), -EINVAL);
    for (uint32_t round = 0; round < 200; round++) {
        assert_int_equal(trg_fill(r->queue, a, 0, 4 * N, round), 0);
        assert_int_equal(launch_chain(r->queue, k, a, round % 8 ? 10 : 10 * STEPS), 0);
        assert_int_equal(trg_fill(r->queue, a, 0, 4 * N, round), 0);
        assert_int_equal(trg_read(r->queue, r->pinned, 0, a, 0, 4 * N), 0);
        assert_int_equal(trg_event_record(r->queue, e), 0);
        assert_int_equal(trg_flush(r->queue), 0);
        assert_int_equal(round % 2 ? trg_event_wait(e) : poll_event(e), 0);
        for (uint32_t i = 0; i < N; i++)
            assert_int_equal(got[i], round);
    }
    assert_int_equal(trg_event_query(e), 0);
    trg_event_free(e);
    trg_buffer_free(a);
}

static void test_marks(void **state)
{
    (void)state;
    rig_each(check_marks);
}

/* Two queues hand one buffer back and forth, held together by events alone. */
static void check_two_queues(struct rig *r)
{
    enum { ROUNDS = 40 };
    struct trg_buffer *a = rig_buffer(r, TRG_MEM_DEVICE, 4 * N);
    struct trg_kernel *k = rig_kernel(r, "chain");
    struct trg_queue *q[2] = {r->queue, NULL};
    struct trg_event *e[ROUNDS];
    uint32_t got[N];

    assert_int_equal(trg_queue_new(r->device->d, &q[1]), 0);
    assert_int_equal(trg_fill(q[0], a, 0, 4 * N, 3), 0);
    for (uint32_t i = 0; i < ROUNDS; i++) {
        assert_int_equal(trg_event_new(r->device->d, &e[i]), 0);
        assert_int_equal(launch_chain(q[i % 2], k, a, STEPS + i), 0);
        assert_int_equal(trg_event_record(q[i % 2], e[i]), 0);
        assert_int_equal(trg_queue_wait_event(q[1 - i % 2], e[i]), 0);
    }
    assert_int_equal(trg_finish(q[1]), 0);
    rig_get(r, a, got, sizeof got);
    for (uint32_t i = 0, x = 3; i < ROUNDS; i++) {
        x = chain(x, STEPS + i);
        if (i == ROUNDS - 1)
            assert_int_equal(got[N - 1], x);
    }
    for (uint32_t i = 0; i < ROUNDS; i++)
        trg_event_free(e[i]);
    trg_queue_free(q[1]);
    trg_queue_free(NULL);
    trg_buffer_free(a);
}

static void test_two_queues(void **state)
{
    (void)state;
    rig_each(check_two_queues);
}

/* Queues of any rank work, also of more than a device has. */
static void check_ranks(struct rig *r)
{
    struct trg_kernel *k = rig_kernel(r, "chain");

    for (uint32_t rank = 0; rank < 9; rank += 2) {
        struct trg_buffer *a = rig_buffer(r, TRG_MEM_DEVICE, 4 * N);
        struct trg_queue *q;
        uint32_t got[N];

        assert_int_equal(trg_ranked_queue_new(r->device->d, rank, &q), 0);
        assert_int_equal(trg_fill(q, a, 0, 4 * N, rank), 0);
        assert_int_equal(launch_chain(q, k, a, STEPS), 0);
        assert_int_equal(trg_finish(q), 0);
        rig_get(r, a, got, sizeof got);
        assert_int_equal(got[N - 1], chain(rank, STEPS));
        trg_queue_free(q);
        trg_buffer_free(a);
    }
}

static void test_ranks(void **state)
{
    (void)state;
    rig_each(check_ranks);
}

struct call {             /* what a host call saw */
    const uint32_t *from; /* pinned memory that the work before it filled */
    uint32_t *to;         /* pinned memory that the work after it reads */
    uint32_t seen;
    atomic_uint *n_calls;
    uint32_t place; /* calls before this one */
};

static void host_call(void *arg)
{
    struct call *c = arg;

    c->seen = *c->from;
    *c->to = c->seen + 1;
    c->place = atomic_fetch_add(c->n_calls, 1);
}

/* A host call comes after the work in front of it and before the work behind it. */
static void check_host_calls(struct rig *r)
{
    enum { CALLS = 20 };
    struct trg_buffer *a = rig_buffer(r, TRG_MEM_DEVICE, 4 * N);
    struct trg_kernel *k = rig_kernel(r, "chain");
    uint32_t *host = trg_buffer_host(r->pinned), want = 1;
    atomic_uint n_calls = 0;
    struct call call[CALLS];

    host[0] = 1;
    for (uint32_t i = 0; i < CALLS; i++) {
        call[i] =
            (struct call){.from = host + 2 * i + 1, .to = host + 2 * i + 2, .n_calls = &n_calls};
        assert_int_equal(trg_write(r->queue, a, 0, r->pinned, 8 * i, 4), 0);
        assert_int_equal(launch_chain(r->queue, k, a, STEPS), 0);
        assert_int_equal(trg_read(r->queue, r->pinned, 8 * i + 4, a, 0, 4), 0);
        assert_int_equal(trg_host_call(r->queue, host_call, &call[i]), 0);
    }
    assert_int_equal(trg_write(r->queue, a, 0, r->pinned, 8 * CALLS, 4), 0);
    assert_int_equal(trg_finish(r->queue), 0);
    assert_int_equal(atomic_load(&n_calls), CALLS);
    for (uint32_t i = 0; i < CALLS; i++) {
        want = chain(want, STEPS);
        assert_int_equal(call[i].seen, want);
        assert_int_equal(call[i].place, i);
        want++;
    }
    rig_get(r, a, host, 4);
    assert_int_equal(host[0], want);
    trg_buffer_free(a);
}

static void test_host_calls(void **state)
{
    (void)state;
    rig_each(check_host_calls);
}

struct worker { /* a lane: a thread with a queue of its own, kernels shared */
    pthread_t thread;
    struct rig *r;
    struct trg_kernel *chain, *args1;
    uint32_t number;
    const char *failed; /* what did, or NULL */
};

static const char *work_once(struct worker *w, struct trg_queue *q, struct trg_buffer *a,
                             struct trg_buffer *pinned, uint32_t round)
{
    const struct test_par par = {N, w->number * 100000 + round};
    const uint32_t *got = trg_buffer_host(pinned);

    if (trg_launch(q, w->args1, (struct trg_range){2, 32},
                   (struct trg_arg[]){TRG_BUF(a), TRG_VAL(par)}, 2) < 0 ||
        launch_chain(q, w->chain, a, w->number + round) < 0)
        return "launch";
    if (trg_read(q, pinned, 0, a, 0, 4 * N) < 0 || trg_finish(q) < 0)
        return "read";
    for (uint32_t i = 0; i < N; i++)
        if (got[i] != chain(par.value + i, w->number + round))
            return "answer";
    return NULL;
}

static void *work(void *arg)
{
    struct worker *w = arg;
    struct trg_device *d = w->r->device->d;
    struct trg_buffer *a = NULL, *pinned = NULL;
    struct trg_queue *q = NULL;

    if (trg_queue_new(d, &q) < 0 || trg_buffer_new(d, TRG_MEM_DEVICE, 4 * N, &a) < 0 ||
        trg_buffer_new(d, TRG_MEM_PINNED, 4 * N, &pinned) < 0)
        w->failed = "set-up";
    for (uint32_t round = 0; !w->failed && round < 100; round++)
        w->failed = work_once(w, q, a, pinned, round);
    trg_queue_free(q);
    trg_buffer_free(a);
    trg_buffer_free(pinned);
    return NULL;
}

static void check_threads(struct rig *r)
{
    struct worker w[4];

    for (uint32_t i = 0; i < 4; i++) {
        w[i] = (struct worker){
            .r = r, .number = i, .chain = rig_kernel(r, "chain"), .args1 = rig_kernel(r, "args1")};
        assert_int_equal(pthread_create(&w[i].thread, NULL, work, &w[i]), 0);
    }
    for (uint32_t i = 0; i < 4; i++) {
        assert_int_equal(pthread_join(w[i].thread, NULL), 0);
        assert_null(w[i].failed);
    }
}

static void test_threads(void **state)
{
    (void)state;
    rig_each(check_threads);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_order),  cmocka_unit_test(test_events),
        cmocka_unit_test(test_marks),  cmocka_unit_test(test_two_queues),
        cmocka_unit_test(test_ranks),  cmocka_unit_test(test_host_calls),
        cmocka_unit_test(test_threads)};

    if (setenv("TRIGD_DEVICE_TIMES", "1", 1))
        return 1;
    return devices_main(argc, argv, tests, sizeof tests / sizeof tests[0]);
}
