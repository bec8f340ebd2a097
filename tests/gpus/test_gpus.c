/* SPDX-License-Identifier: Apache-2.0 */
/* The process that reads GPUs, with a fake NVML that answers, fails, hangs and crashes. */
#include <dlfcn.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "clock.h"
#include "monitor/gpu_reader.h"
#include "monitor/gpus.h"

#define WAIT_S 60 /* for what must come, on a machine that is busy */

static const struct gpus_setup quick = {.hang_ms = 1500, .retry_ms = 10};
static struct gpu list[GPUS_MAX]; /* what the last look found */
static char folder[] = "/tmp/trigd-gpus-XXXXXX", control[64];

static void behave(const char *how)
{
    FILE *f = fopen(control, "w");

    assert_non_null(f);
    fputs(how, f);
    fclose(f);
}

static bool wait_until(struct gpus *g, bool (*is_so)(struct gpus *g))
{
    const uint64_t until = clock_ns() + WAIT_S * NS_PER_S;

    while (!is_so(g)) {
        if (clock_ns() > until)
            return false;
        usleep(5000);
    }
    return true;
}

static bool has_readings(struct gpus *g)
{
    return gpus_look(g, list) == 2;
}

static bool has_watts(struct gpus *g)
{
    return gpus_look(g, list) == 2 && !isnan(list[0].watts);
}

static bool has_ended(struct gpus *g)
{
    struct gpus_counts c;

    gpus_count(g, &c);
    return c.ended > 0;
}

static bool has_hung(struct gpus *g)
{
    struct gpus_counts c;

    gpus_count(g, &c);
    return c.hung > 0;
}

static bool is_given_up(struct gpus *g)
{
    struct gpus_counts c;

    gpus_count(g, &c);
    return c.is_given_up;
}

static struct gpus *start(const char *how, const char *library_folder)
{
    struct gpus *g;

    behave(how);
    setenv("FAKE_NVML", control, 1);
    setenv("LD_LIBRARY_PATH", library_folder, 1);
    assert_int_equal(gpus_start(&quick, &g), 0);
    return g;
}

static void test_values(void **state)
{
    struct gpus *g = start("values", FAKE_FOLDER);

    (void)state;
    assert_true(wait_until(g, has_watts));
    assert_int_equal(list[0].now.has, 31);
    assert_int_equal(list[0].now.use_percent, 42);
    assert_int_equal(list[0].now.temperature_c, 51);
    assert_int_equal(list[0].now.power_mw, 250500);
    assert_int_equal(list[0].now.memory_used, 3ull << 30);
    assert_int_equal(list[0].now.memory_total, 1ull << 33);
    assert_true(list[0].now.energy_mj >= 1300000);
    assert_true(list[0].watts > 0);
    assert_string_equal(list[0].now.name, "NVIDIA Test 1000");
    assert_int_equal(list[1].now.has, GPU_HAS_TEMPERATURE);
    assert_true(isnan(list[1].watts));
    assert_string_equal(list[1].now.name, "A ?quoted? name");
    assert_ptr_equal(gpus_find(list, 2, "0000:65:00.0"), &list[0]);
    assert_ptr_equal(gpus_find(list, 2, "0000:af:00.0"), &list[1]);
    assert_null(gpus_find(list, 2, "0001:65:00.0"));
    assert_null(gpus_find(list, 2, ""));
    gpus_stop(g);
}

/* It ends while it reads; readings come back once it can. */
static void test_comes_back(void **state)
{
    static const struct {
        const char *how;
        bool (*is_seen)(struct gpus *g);
    } ways[] = {{"crash", has_ended}, {"fail", has_ended}, {"hang", has_hung}};

    (void)state;
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        struct gpus *g = start(ways[i].how, FAKE_FOLDER);

        assert_true(wait_until(g, ways[i].is_seen));
        assert_int_equal(gpus_look(g, list), 0);
        behave("values");
        assert_true(wait_until(g, has_readings));
        assert_false(is_given_up(g));
        gpus_stop(g);
    }
}

/* Stopping does not wait for a process that hangs. */
static void test_stops_a_hanging_one(void **state)
{
    struct gpus *g = start("hang", FAKE_FOLDER);

    (void)state;
    gpus_stop(g);
}

static void test_without_a_library(void **state)
{
    void *real;
    char path[128];
    FILE *f;

    (void)state;
    snprintf(path, sizeof path, "%s/libnvidia-ml.so.1", folder);
    f = fopen(path, "w"); /* an empty file is found first, and is no library */
    assert_non_null(f);
    fclose(f);
    for (int i = 0; i < 2; i++) {
        struct gpus *g = start("values", i ? "" : folder);

        if (i) /* none at all, on a host without a driver */
            real = dlopen("libnvidia-ml.so.1", RTLD_NOW);
        else
            real = NULL;
        if (!real)
            assert_true(wait_until(g, is_given_up));
        else
            dlclose(real);
        gpus_stop(g);
    }
    unlink(path);
}

static int clean_up(void **state)
{
    (void)state;
    unlink(control);
    return rmdir(folder);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_values), cmocka_unit_test(test_comes_back),
        cmocka_unit_test(test_stops_a_hanging_one), cmocka_unit_test(test_without_a_library)};

    if (argc == 2 && !strcmp(argv[1], "--nvml")) /* it starts this program again */
        return gpu_reader_main();
    if (!mkdtemp(folder))
        return 1;
    snprintf(control, sizeof control, "%s/how", folder);
    return cmocka_run_group_tests(tests, NULL, clean_up);
}
