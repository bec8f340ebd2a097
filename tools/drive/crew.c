/* SPDX-License-Identifier: Apache-2.0 */
#include "crew.h"

#include <errno.h>
#include <pthread.h>
#include <time.h>

#include "clock.h"

enum state { WAIT, GO, LEAVE };

struct start { /* the common one */
    pthread_mutex_t lock;
    pthread_cond_t changed;
    enum state state;
};

struct member {
    pthread_t thread;
    struct start *start;
    int (*run)(void *arg);
    void *arg;
    uint64_t cpu_ns;
    int result;
};

static double process_s(void)
{
    struct timespec t;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static struct crew_time now(void)
{
    return (struct crew_time){.wall_s = (double)clock_ns() * 1e-9, .process_s = process_s()};
}

static void work(struct member *m)
{
    const uint64_t before = clock_thread_ns();

    m->result = m->run(m->arg);
    m->cpu_ns = clock_thread_ns() - before;
}

static void *thread_main(void *arg)
{
    struct member *m = arg;
    enum state state;

    pthread_mutex_lock(&m->start->lock);
    while (m->start->state == WAIT)
        pthread_cond_wait(&m->start->changed, &m->start->lock);
    state = m->start->state;
    pthread_mutex_unlock(&m->start->lock);
    if (state == GO)
        work(m);
    return NULL;
}

static void let(struct start *start, enum state state)
{
    pthread_mutex_lock(&start->lock);
    start->state = state;
    pthread_cond_broadcast(&start->changed);
    pthread_mutex_unlock(&start->lock);
}

/* Runs the members on threads of their own; says when they began. */
static int run_threads(struct member *m, uint32_t n, struct crew_time *ret_begin)
{
    struct start start = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};
    uint32_t made = 0;
    int r = 0;

    for (; r == 0 && made < n; made += r == 0) {
        m[made].start = &start;
        r = -pthread_create(&m[made].thread, NULL, thread_main, &m[made]);
    }
    *ret_begin = now();
    let(&start, r == 0 ? GO : LEAVE);
    for (uint32_t i = 0; i < made; i++)
        pthread_join(m[i].thread, NULL);
    pthread_cond_destroy(&start.changed);
    pthread_mutex_destroy(&start.lock);
    return r;
}

int crew_run(uint32_t n, int (*run)(void *arg), void *args, size_t arg_bytes,
             struct crew_time *ret_time)
{
    struct member m[CREW_MAX];
    struct crew_time begin = now(), end;
    int r = 0;

    if (!n || n > CREW_MAX)
        return -EINVAL;
    for (uint32_t i = 0; i < n; i++)
        m[i] = (struct member){.run = run, .arg = (char *)args + i * arg_bytes};
    if (n == 1)
        work(&m[0]);
    else
        r = run_threads(m, n, &begin);
    end = now();
    *ret_time = (struct crew_time){.wall_s = end.wall_s - begin.wall_s,
                                   .process_s = end.process_s - begin.process_s,
                                   .thread_s = (double)m[0].cpu_ns * 1e-9};
    for (uint32_t i = 0; r == 0 && i < n; i++)
        r = m[i].result;
    return r;
}
