/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/mailbox.h"

#define CALLS 2000

static int count(void *arg)
{
    return ++*(int *)arg;
}

struct caller {
    struct mailbox *mailbox;
    int *counter;
    _Atomic int *running;
};

static void *call_many(void *arg)
{
    struct caller *c = arg;

    for (int i = 0; i < CALLS; i++)
        if (mailbox_call(c->mailbox, count, c->counter, 10000) <= 0)
            break;
    atomic_fetch_sub(c->running, 1);
    return NULL;
}

/* The counter has no lock: only the loop's thread may touch it. */
static void calls_run_on_the_loop(void **state)
{
    int fd = eventfd(0, EFD_NONBLOCK), counter = 0;
    _Atomic int running = 3;
    struct mailbox *m;
    pthread_t thread[3];
    struct caller c = {.counter = &counter, .running = &running};

    (void)state;
    assert_int_equal(mailbox_new(fd, &m), 0);
    c.mailbox = m;
    for (int i = 0; i < 3; i++)
        assert_int_equal(pthread_create(&thread[i], NULL, call_many, &c), 0);
    while (atomic_load(&running)) {
        struct pollfd p = {.fd = fd, .events = POLLIN};
        uint64_t n;

        if (poll(&p, 1, 10) == 1)
            assert_int_equal(read(fd, &n, sizeof n), sizeof n);
        mailbox_run(m);
    }
    for (int i = 0; i < 3; i++)
        pthread_join(thread[i], NULL);
    assert_int_equal(counter, 3 * CALLS);
    mailbox_free(m);
    close(fd);
}

static void a_call_that_timed_out_never_runs(void **state)
{
    int fd = eventfd(0, EFD_NONBLOCK), counter = 0;
    struct mailbox *m;

    (void)state;
    assert_int_equal(mailbox_new(fd, &m), 0);
    assert_int_equal(mailbox_call(m, count, &counter, 1), -ETIMEDOUT);
    assert_true(mailbox_is_empty(m));
    mailbox_run(m);
    assert_int_equal(counter, 0);
    mailbox_free(m);
    close(fd);
}

static void *call_once(void *arg)
{
    struct caller *c = arg;

    atomic_store(c->running, mailbox_call(c->mailbox, count, c->counter, 60000));
    return NULL;
}

/* Whoever waits learns of the end at once, and so does who comes later. */
static void closed_mailboxes_take_nothing(void **state)
{
    int fd = eventfd(0, EFD_NONBLOCK), counter = 0;
    _Atomic int result = 0;
    struct caller c = {.counter = &counter, .running = &result};
    pthread_t thread;

    (void)state;
    assert_int_equal(mailbox_new(fd, &c.mailbox), 0);
    assert_int_equal(pthread_create(&thread, NULL, call_once, &c), 0);
    while (mailbox_is_empty(c.mailbox))
        sched_yield();
    mailbox_close(c.mailbox);
    pthread_join(thread, NULL);
    assert_int_equal(atomic_load(&result), -ETIMEDOUT);
    assert_int_equal(mailbox_call(c.mailbox, count, &counter, 60000), -ETIMEDOUT);
    assert_true(mailbox_is_empty(c.mailbox));
    mailbox_run(c.mailbox);
    assert_int_equal(counter, 0);
    mailbox_free(c.mailbox);
    close(fd);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(calls_run_on_the_loop),
        cmocka_unit_test(a_call_that_timed_out_never_runs),
        cmocka_unit_test(closed_mailboxes_take_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
