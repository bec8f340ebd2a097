/* SPDX-License-Identifier: Apache-2.0 */
/* Work on several threads that begin together. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "clock.h"
#include "crew.h"

#define THREADS 8u

struct job {
    int result;
    uint64_t spin_ns;
    _Atomic uint32_t *arrived;
    uint32_t calls;
};

static int work(void *arg)
{
    struct job *j = arg;
    uint64_t end = clock_thread_ns() + j->spin_ns;

    j->calls++;
    atomic_fetch_add(j->arrived, 1);
    while (clock_thread_ns() < end) {
    }
    return j->result;
}

/* Returns only when all of the crew are at work: they cannot run one after the other. */
static int meet(void *arg)
{
    struct job *j = arg;

    atomic_fetch_add(j->arrived, 1);
    while (atomic_load(j->arrived) < THREADS)
        clock_relax();
    j->calls++;
    return 0;
}

static void everyone_works_once(void **state)
{
    struct job job[THREADS];
    _Atomic uint32_t arrived = 0;
    struct crew_time time;

    (void)state;
    for (uint32_t n = 1; n <= THREADS; n++) {
        for (uint32_t i = 0; i < THREADS; i++)
            job[i] = (struct job){.arrived = &arrived};
        assert_int_equal(crew_run(n, work, job, sizeof *job, &time), 0);
        for (uint32_t i = 0; i < THREADS; i++)
            assert_int_equal(job[i].calls, i < n);
    }
}

static void they_work_at_the_same_time(void **state)
{
    struct job job[THREADS];
    _Atomic uint32_t arrived = 0;
    struct crew_time time;

    (void)state;
    for (uint32_t i = 0; i < THREADS; i++)
        job[i] = (struct job){.arrived = &arrived};
    assert_int_equal(crew_run(THREADS, meet, job, sizeof *job, &time), 0);
}

static void the_first_error_is_returned(void **state)
{
    struct job job[THREADS];
    _Atomic uint32_t arrived = 0;
    struct crew_time time;

    (void)state;
    for (uint32_t i = 0; i < THREADS; i++)
        job[i] = (struct job){.arrived = &arrived, .result = i == 3 ? -EIO : i == 5 ? -ENOMEM : 0};
    assert_int_equal(crew_run(THREADS, work, job, sizeof *job, &time), -EIO);
    assert_int_equal(job[THREADS - 1].calls, 1);
    assert_int_equal(crew_run(0, work, job, sizeof *job, &time), -EINVAL);
    assert_int_equal(crew_run(CREW_MAX + 1, work, job, sizeof *job, &time), -EINVAL);
}

static void clocks_count_the_work(void **state)
{
    struct job job[2];
    _Atomic uint32_t arrived = 0;
    struct crew_time time;

    (void)state;
    for (uint32_t n = 1; n <= 2; n++) {
        for (uint32_t i = 0; i < 2; i++)
            job[i] = (struct job){.arrived = &arrived, .spin_ns = 3000000};
        assert_int_equal(crew_run(n, work, job, sizeof *job, &time), 0);
        assert_true(time.thread_s >= 0.003 && time.wall_s >= 0.003);
        assert_true(time.process_s >= 0.003 * n);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(everyone_works_once),
        cmocka_unit_test(they_work_at_the_same_time),
        cmocka_unit_test(the_first_error_is_returned),
        cmocka_unit_test(clocks_count_the_work),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
