/* SPDX-License-Identifier: Apache-2.0 */
#include "base/mailbox.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

enum call_state { CALL_WAITS, CALL_RUNS, CALL_DONE };

struct call { /* on the caller's stack */
    int (*fn)(void *arg);
    void *arg;
    int result;
    enum call_state state;
    struct call *next;
};

struct mailbox {
    int wake_fd;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    struct call *first;
    bool is_closed;
    _Atomic uint32_t waiting;
};

int mailbox_new(int wake_fd, struct mailbox **ret_mailbox)
{
    struct mailbox *m = calloc(1, sizeof *m);
    pthread_condattr_t attr;

    if (!m)
        return -ENOMEM;
    m->wake_fd = wake_fd;
    pthread_mutex_init(&m->lock, NULL);
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&m->changed, &attr);
    pthread_condattr_destroy(&attr);
    *ret_mailbox = m;
    return 0;
}

void mailbox_free(struct mailbox *m)
{
    if (!m)
        return;
    pthread_cond_destroy(&m->changed);
    pthread_mutex_destroy(&m->lock);
    free(m);
}

static void append(struct mailbox *m, struct call *call)
{
    struct call **link = &m->first;

    while (*link)
        link = &(*link)->next;
    *link = call;
    atomic_fetch_add(&m->waiting, 1);
}

static void take_out(struct mailbox *m, struct call *call)
{
    struct call **link = &m->first;

    while (*link != call)
        link = &(*link)->next;
    *link = call->next;
    atomic_fetch_sub(&m->waiting, 1);
}

int mailbox_call(struct mailbox *m, int (*fn)(void *arg), void *arg, uint32_t timeout_ms)
{
    struct call call = {.fn = fn, .arg = arg, .state = CALL_WAITS};
    struct timespec limit;
    uint64_t one = 1;

    clock_gettime(CLOCK_MONOTONIC, &limit);
    limit.tv_sec += timeout_ms / 1000;
    limit.tv_nsec += (long)(timeout_ms % 1000) * 1000000;
    if (limit.tv_nsec >= 1000000000) {
        limit.tv_nsec -= 1000000000;
        limit.tv_sec++;
    }
    pthread_mutex_lock(&m->lock);
    append(m, &call);
    if (write(m->wake_fd, &one, sizeof one) < 0 && errno != EAGAIN) {
        take_out(m, &call);
        call.result = -errno;
        call.state = CALL_DONE;
    }
    while (call.state != CALL_DONE) {
        int r = 0;

        if (call.state == CALL_RUNS)
            pthread_cond_wait(&m->changed, &m->lock);
        else if (!m->is_closed)
            r = pthread_cond_timedwait(&m->changed, &m->lock, &limit);
        if ((r == ETIMEDOUT || m->is_closed) && call.state == CALL_WAITS) {
            take_out(m, &call);
            call.result = -ETIMEDOUT;
            break;
        }
    }
    pthread_mutex_unlock(&m->lock);
    return call.result;
}

void mailbox_run(struct mailbox *m)
{
    pthread_mutex_lock(&m->lock);
    while (m->first) {
        struct call *call = m->first;
        int result;

        take_out(m, call);
        call->state = CALL_RUNS;
        pthread_mutex_unlock(&m->lock);
        result = call->fn(call->arg);
        pthread_mutex_lock(&m->lock);
        call->result = result;
        call->state = CALL_DONE;
        pthread_cond_broadcast(&m->changed);
    }
    pthread_mutex_unlock(&m->lock);
}

void mailbox_close(struct mailbox *m)
{
    pthread_mutex_lock(&m->lock);
    m->is_closed = true;
    pthread_cond_broadcast(&m->changed);
    pthread_mutex_unlock(&m->lock);
}

bool mailbox_is_empty(struct mailbox *m)
{
    return atomic_load(&m->waiting) == 0;
}
