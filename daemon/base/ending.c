/* SPDX-License-Identifier: Apache-2.0 */
#include "base/ending.h"

#include <errno.h>
#include <time.h>

void ending_init(struct ending *e)
{
    pthread_condattr_t attr;

    e->is_over = false;
    pthread_mutex_init(&e->lock, NULL);
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&e->bell, &attr);
    pthread_condattr_destroy(&attr);
}

void ending_fini(struct ending *e)
{
    pthread_cond_destroy(&e->bell);
    pthread_mutex_destroy(&e->lock);
}

void ending_say(struct ending *e)
{
    pthread_mutex_lock(&e->lock);
    e->is_over = true;
    pthread_cond_signal(&e->bell);
    pthread_mutex_unlock(&e->lock);
}

bool ending_join(struct ending *e, pthread_t thread, uint32_t ms)
{
    struct timespec until;
    bool is_over;

    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += (until.tv_nsec + (long)(ms % 1000) * 1000000) / 1000000000 + ms / 1000;
    until.tv_nsec = (until.tv_nsec + (long)(ms % 1000) * 1000000) % 1000000000;
    pthread_mutex_lock(&e->lock);
    while (!e->is_over && pthread_cond_timedwait(&e->bell, &e->lock, &until) != ETIMEDOUT) {
    }
    is_over = e->is_over;
    pthread_mutex_unlock(&e->lock);
    if (is_over)
        pthread_join(thread, NULL);
    return is_over;
}
