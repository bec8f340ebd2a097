/* SPDX-License-Identifier: Apache-2.0 */
/* A daemon that says that it is ready can answer: its lanes have run synthetic RoIs by then, of
 * which no counter knows. */
#include <ftw.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "harness.h"

#define ROIS 24u

static const char example_menu[] =
    "streams: [physics]\n"
    "steps:\n"
    "  - {name: e, plugin: example}\n"
    "chains:\n"
    "  - {name: c, id: 1, steps: [{step: e, cuts: [{value: n_inner,\n"
    "     min: 1}]}], streams: [physics]}\n";
static const char fault_menu[] = "streams: [physics]\n"
                                 "steps:\n"
                                 "  - {name: f, plugin: fault, params: {%s}}\n"
                                 "chains:\n"
                                 "  - {name: c, id: 1, steps: [{step: f}], streams: [physics]}\n";

static void run_rois(struct server *s)
{
    struct roi_spec specs[ROIS];
    uint8_t result[ROIS];
    struct link l;

    link_open(&l, s);
    link_hello(&l, "warm", 0);
    for (uint32_t i = 0; i < ROIS; i++) {
        specs[i] = (struct roi_spec){.token = i, .n = i * 40};
        link_send_rois(&l, &specs[i], 1);
    }
    link_collect(&l, 0, ROIS, result);
    for (uint32_t i = 0; i < ROIS; i++)
        assert_int_equal(result[i] & ~1, 0); /* status OK, not late */
    server_wait_counter(s, "in_flight", 0);
    server_check_ledger(s);
    link_close(&l);
}

/* ---------------------------------------------------------------- kernels */

static uint32_t n_compiled;

static int count_compiled(const char *path, const struct stat *st, int kind, struct FTW *at)
{
    const char *end = strrchr(path, '.');

    (void)st;
    (void)at;
    n_compiled += kind == FTW_F && end && !strcmp(end, ".so");
    return 0;
}

/* Kernels that PoCL has compiled into its cache. */
static uint32_t compiled(const char *cache)
{
    n_compiled = 0;
    nftw(cache, count_compiled, 8, FTW_PHYS);
    return n_compiled;
}

/* Whether there is a PoCL to try it with. */
static bool has_pocl(void)
{
    struct server s;
    char *devices;
    bool has;

    setenv("TRIGD_TEST_BACKENDS", "backends", 1);
    server_start(&s, "devices: [{backend: cpu}]\n", example_menu);
    unsetenv("TRIGD_TEST_BACKENDS");
    devices = server_ask(&s, "show devices");
    has = strstr(devices, "opencl:0 ") && strstr(devices, "pthread-");
    free(devices);
    server_stop(&s);
    return has;
}

/* How many kernels a daemon compiles that finds none: before it is ready, and later. */
static void compile(bool warm_up, uint32_t *ret_before, uint32_t *ret_later)
{
    char config[256], cache[] = "/tmp/trigd-pocl-XXXXXX";
    struct server s;

    assert_non_null(mkdtemp(cache));
    setenv("POCL_CACHE_DIR", cache, 1); /* the daemon's */
    snprintf(config, sizeof config,
             "devices: [{backend: opencl, lanes: 1, warm_up: %s}]\n"
             "batching: {max_rois: 8}\n"
             "limits: {soft_ms: 0, hard_ms: 0}\n",
             warm_up ? "true" : "false");
    server_start(&s, config, example_menu);
    assert_int_equal(server_counter(&s, "received"), 0);
    *ret_before = compiled(cache);
    run_rois(&s);
    *ret_later = compiled(cache) - *ret_before;
    server_stop(&s);
    unsetenv("POCL_CACHE_DIR");
    server_remove(cache);
}

static void no_kernel_is_compiled_later(void **state)
{
    uint32_t before, later;

    (void)state;
    if (!has_pocl()) {
        printf("there is no PoCL here\n");
        skip();
    }
    compile(false, &before, &later);
    assert_true(later > 0); /* it can be seen */
    compile(true, &before, &later);
    printf("%u kernels before the daemon was ready, %u later\n", before, later);
    assert_true(before > 0);
    assert_int_equal(later, 0);
}

/* ---------------------------------------------------------------- books */

/* Made-up RoIs are counted nowhere, and leave nothing behind in the answers to others. */
static void made_up_rois_are_not_counted(void **state)
{
    static const char *const counters[] = {"received", "accepted", "rejected",     "failed",
                                           "late",     "timeouts", "late_results", "pool_rois"};
    struct server s;
    char menu[512], *lanes;

    (void)state;
    snprintf(menu, sizeof menu, fault_menu, "");
    server_start(&s, "devices: [{backend: cpu, lanes: 2, slots: 3}]\n", menu);
    for (size_t i = 0; i < sizeof counters / sizeof *counters; i++)
        assert_int_equal(server_counter(&s, counters[i]), 0);
    lanes = server_ask(&s, "show lanes json");
    assert_non_null(strstr(lanes, "\"f@cpu:0/1\""));
    assert_null(strstr(lanes, "\"rois\":1"));
    assert_non_null(strstr(lanes, "\"batches\":0"));
    free(lanes);
    run_rois(&s);
    assert_int_equal(server_counter(&s, "received"), ROIS);
    server_stop(&s);
}

/* ---------------------------------------------------------------- failures */

/* A menu on which a lane cannot warm up is not taken over. */
static void a_failure_stops_a_reload(void **state)
{
    struct server s;
    char menu[512];

    (void)state;
    snprintf(menu, sizeof menu, fault_menu, "");
    server_start(&s, "devices: [{backend: cpu}]\n", menu);
    snprintf(menu, sizeof menu, fault_menu, "fail_warm_up: true");
    server_menu(&s, menu);
    server_expect(&s, "reload", "reload failed, the running menu stays");
    assert_int_equal(server_counter(&s, "menu_generation"), 1);
    assert_int_equal(server_counter(&s, "reload_failures"), 1);
    run_rois(&s);
    server_stop(&s);
}

/* Nor does a daemon start with it, unless it was told not to warm up. */
static void a_failure_stops_the_start(void **state)
{
    struct server s;
    char menu[512];

    (void)state;
    snprintf(menu, sizeof menu, fault_menu, "fail_warm_up: true");
    server_prepare(&s, "devices: [{backend: cpu}]\n", menu);
    server_launch(&s);
    assert_int_equal(server_wait_end(&s, 60), 69);
    server_clean(&s);
    server_start(&s, "devices: [{backend: cpu, warm_up: false}]\n", menu);
    run_rois(&s);
    server_stop(&s);
}

/* Told to stop while lanes are opened, it does not open all of them first. */
static void a_start_can_be_stopped(void **state)
{
    struct server s;
    char menu[512], in[128];

    (void)state;
    snprintf(menu, sizeof menu, fault_menu, "warm_up_ms: 1000");
    server_prepare(&s, "devices: [{backend: cpu, lanes: 64, slots: 2}]\n", menu);
    server_launch(&s);
    snprintf(in, sizeof in, "%s/in", s.folder);
    while (access(in, F_OK) != 0) /* it listens before it opens lanes */
        assert_int_equal(kill(s.pid, 0), 0);
    assert_int_equal(server_end(&s, SIGTERM, 60), 0); /* all lanes would take two minutes */
    server_clean(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_kernel_is_compiled_later),
        cmocka_unit_test(made_up_rois_are_not_counted),
        cmocka_unit_test(a_failure_stops_a_reload),
        cmocka_unit_test(a_failure_stops_the_start),
        cmocka_unit_test(a_start_can_be_stopped),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
