/* SPDX-License-Identifier: Apache-2.0 */
/* Where threads are put, on a made-up machine and on this one. */
#include <errno.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "exec/affinity.h"

static char pin_auto[] = "auto", pin_none[] = "none", nothing[] = "";

static struct config config_of(char *pin, char *io, char *lanes)
{
    return (struct config){.threads = {.pin = pin,
                                       .io = io,
                                       .zmq = nothing,
                                       .gather = nothing,
                                       .lanes = lanes,
                                       .zmq_threads = 1}};
}

/* hwloc then describes this machine, and binds no thread. */
static void make_up(const char *machine)
{
    assert_int_equal(setenv("HWLOC_SYNTHETIC", machine, 1), 0);
}

static int back_to_real(void **state)
{
    (void)state;
    return unsetenv("HWLOC_SYNTHETIC");
}

static void expect_lanes(struct affinity *a, const int *units, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        struct affinity_place place;

        affinity_next_lane(a, "", &place);
        affinity_enter(a, &place);
        affinity_leave(a);
        assert_int_equal(place.unit, units[i]);
    }
}

static void test_plan(void **state)
{
    const int cores[] = {4, 6, 8, 10, 12, 14, 4};
    struct config c = config_of(pin_auto, nothing, nothing);
    struct affinity *a;

    (void)state;
    make_up("node:2 core:4 pu:2"); /* 8 cores, 2 threads each: one thread of each is used */
    assert_int_equal(affinity_open(&c, &a), 0);
    expect_lanes(a, cores, sizeof cores / sizeof *cores);
    affinity_close(a);
}

/* Lanes of a large host lie on all of its nodes, as many on each as it has cores. */
static void test_nodes(void **state)
{
    uint32_t n[8] = {0};
    struct config c = config_of(pin_auto, nothing, nothing);
    struct affinity *a;

    (void)state;
    make_up("node:8 core:32 pu:2");
    assert_int_equal(affinity_open(&c, &a), 0);
    for (uint32_t i = 0; i < 254; i++) { /* one core is of I/O, one of ZeroMQ */
        struct affinity_place place;

        affinity_next_lane(a, NULL, &place);
        assert_in_range(place.node, 0, 7);
        assert_int_equal(place.unit / 64, place.node);
        n[place.node]++;
    }
    assert_int_equal(n[0], 30);
    for (uint32_t i = 1; i < 8; i++)
        assert_int_equal(n[i], 32);
    affinity_close(a);
}

/* Each thread of ZeroMQ has a core, as long as they are a quarter of all. */
static void test_plan_with_zmq_threads(void **state)
{
    const int four[] = {5, 6}, capped[] = {3, 4};
    struct config c = config_of(pin_auto, nothing, nothing);
    struct affinity *a;

    (void)state;
    c.threads.zmq_threads = 4;
    make_up("core:16 pu:1");
    assert_int_equal(affinity_open(&c, &a), 0);
    expect_lanes(a, four, 2);
    affinity_close(a);
    make_up("core:8 pu:1");
    assert_int_equal(affinity_open(&c, &a), 0);
    expect_lanes(a, capped, 2);
    affinity_close(a);
}

/* Threads that have no core of their own do not keep one busy. */
static void test_spin(void **state)
{
    struct config c = config_of(pin_auto, nothing, nothing);
    struct affinity *a;

    (void)state;
    c.threads.spin_us = 50;
    make_up("core:4 pu:1");
    assert_int_equal(affinity_open(&c, &a), 0);
    assert_int_equal(affinity_spin_ns(a, &c), 50000);
    affinity_close(a);
    make_up("core:3 pu:1");
    assert_int_equal(affinity_open(&c, &a), 0);
    assert_int_equal(affinity_spin_ns(a, &c), 0);
    affinity_close(a);
}

/* `lanes: 0` counts them: of a made-up machine, or those that the process may use. */
static void test_cores(void **state)
{
    struct config c = config_of(pin_none, nothing, nothing);
    cpu_set_t before, one;
    struct affinity *a;

    (void)state;
    make_up("node:8 core:32 pu:1");
    assert_int_equal(affinity_open(&c, &a), 0);
    assert_int_equal(affinity_cores(a), 256);
    assert_int_equal(affinity_host_cores(), 256);
    affinity_close(a);
    back_to_real(NULL);
    assert_int_equal(sched_getaffinity(0, sizeof before, &before), 0);
    assert_int_equal(affinity_host_cores(), CPU_COUNT(&before));
    CPU_ZERO(&one);
    for (size_t i = 0; i < CPU_SETSIZE && !CPU_COUNT(&one); i++)
        if (CPU_ISSET(i, &before))
            CPU_SET(i, &one);
    assert_int_equal(sched_setaffinity(0, sizeof one, &one), 0);
    assert_int_equal(affinity_host_cores(), 1);
    assert_int_equal(affinity_open(&c, &a), 0);
    assert_int_equal(affinity_cores(a), 1);
    affinity_close(a);
    assert_int_equal(sched_setaffinity(0, sizeof before, &before), 0);
}

static void test_lists(void **state)
{
    const int cores[] = {3, 5, 6, 3};
    char list[] = "3,5-6", io[] = "7";
    struct config c = config_of(pin_auto, io, list);
    struct affinity *a;

    (void)state;
    make_up("core:8 pu:1");
    assert_int_equal(affinity_open(&c, &a), 0);
    expect_lanes(a, cores, sizeof cores / sizeof *cores);
    affinity_close(a);
}

static void test_not_pinned(void **state)
{
    const int any[] = {-1, -1};
    struct config small = config_of(pin_auto, nothing, nothing);
    struct config off = config_of(pin_none, nothing, nothing);
    struct affinity *a;

    (void)state;
    make_up("core:3 pu:2");
    assert_int_equal(affinity_open(&small, &a), 0);
    expect_lanes(a, any, 2);
    affinity_close(a);
    make_up("core:16 pu:1");
    assert_int_equal(affinity_open(&off, &a), 0);
    expect_lanes(a, any, 2);
    affinity_close(a);
}

static void test_wrong_lists(void **state)
{
    static const char *const wrong[] = {"x", "0-", "8", "0,9", "-1"};

    (void)state;
    make_up("core:8 pu:1");
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        char list[16];
        struct config c = config_of(pin_auto, list, nothing);
        struct affinity *a = NULL;

        snprintf(list, sizeof list, "%s", wrong[i]);
        assert_int_equal(affinity_open(&c, &a), -EINVAL);
        c.threads.io = nothing;
        assert_int_equal(affinity_open(&c, &a), 0);
        affinity_close(a);
        a = NULL;
        c.threads.gather = list;
        assert_int_equal(affinity_open(&c, &a), -EINVAL);
        assert_null(a);
    }
}

static void test_this_machine(void **state)
{
    cpu_set_t before, now;
    char list[16];
    size_t last = 0;
    struct config c = config_of(pin_auto, nothing, list);
    struct affinity_place place;
    struct affinity *a;

    (void)state;
    back_to_real(NULL);
    assert_int_equal(sched_getaffinity(0, sizeof before, &before), 0);
    for (size_t i = 0; i < CPU_SETSIZE; i++)
        last = CPU_ISSET(i, &before) ? i : last;
    snprintf(list, sizeof list, "%zu", last);
    assert_int_equal(affinity_open(&c, &a), 0);
    affinity_next_lane(a, "0000:00:1f.7", &place);
    affinity_enter(a, &place);
    assert_int_equal(sched_getaffinity(0, sizeof now, &now), 0);
    assert_int_equal(CPU_COUNT(&now), 1);
    assert_true(CPU_ISSET(last, &now));
    affinity_leave(a);
    assert_int_equal(sched_getaffinity(0, sizeof now, &now), 0);
    assert_true(CPU_EQUAL(&now, &before));
    affinity_close(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_plan, back_to_real),
        cmocka_unit_test_teardown(test_nodes, back_to_real),
        cmocka_unit_test_teardown(test_plan_with_zmq_threads, back_to_real),
        cmocka_unit_test_teardown(test_spin, back_to_real),
        cmocka_unit_test_teardown(test_cores, back_to_real),
        cmocka_unit_test_teardown(test_lists, back_to_real),
        cmocka_unit_test_teardown(test_not_pinned, back_to_real),
        cmocka_unit_test_teardown(test_wrong_lists, back_to_real),
        cmocka_unit_test(test_this_machine),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
