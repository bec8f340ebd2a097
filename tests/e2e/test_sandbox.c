/* SPDX-License-Identifier: Apache-2.0 */
/* The daemon runs no code of plugins and drivers; processes that do are in the sandbox. */
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "workers.h"

#define LOOKS 500

static const char config[] = "devices: [{backend: cpu, lanes: 1}, {backend: cuda, index: 0}]\n"
                             "workers: {spare: true}\n" PATIENT;

/* The number behind a key of /proc/PID/status; -1: there is none. */
static long status_of(long pid, const char *key)
{
    const size_t n = strlen(key);
    char path[64], line[256];
    long value = -1;
    FILE *f;

    snprintf(path, sizeof path, "/proc/%ld/status", pid);
    f = fopen(path, "r");
    while (f && value < 0 && fgets(line, sizeof line, f))
        if (!strncmp(line, key, n) && line[n] == ':')
            value = strtol(line + n + 1, NULL, 10);
    if (f)
        fclose(f);
    return value;
}

/* Processes enter it when their device is open. */
static void expect_sandbox(long pid)
{
    assert_true(pid > 0);
    for (uint32_t i = 0; i < LOOKS && status_of(pid, "Seccomp") != 2; i++)
        workers_nap(20);
    assert_int_equal(status_of(pid, "Seccomp"), 2); /* a filter */
    assert_int_equal(status_of(pid, "NoNewPrivs"), 1);
}

/* Whether a process was started as `trigd MODE`. */
static bool is_in_mode(long pid, const char *mode)
{
    char path[64], line[256] = {0};
    size_t n;
    FILE *f;

    snprintf(path, sizeof path, "/proc/%ld/cmdline", pid);
    f = fopen(path, "r");
    if (!f)
        return false;
    n = fread(line, 1, sizeof line - 2, f);
    fclose(f);
    return n && !strcmp(line + strlen(line) + 1, mode);
}

/* A child of a process that was started in that mode; 0: none. */
static long child_in_mode(pid_t parent, const char *mode)
{
    char path[64], list[1024] = "";
    long pid;
    FILE *f;

    snprintf(path, sizeof path, "/proc/%d/task/%d/children", (int)parent, (int)parent);
    f = fopen(path, "r");
    assert_non_null(f);
    if (!fgets(list, sizeof list, f))
        list[0] = '\0';
    fclose(f);
    for (char *at = list; (pid = strtol(at, &at, 10)) > 0;)
        if (is_in_mode(pid, mode))
            return pid;
    return 0;
}

static void expect_no_code_of_others(pid_t pid)
{
    static const char *const not_there[] = {"libcuda",    "libnvidia",    "libOpenCL", "trigd-cpu",
                                            "trigd-cuda", "trigd-opencl", "plugins/",  "hwloc_"};
    char path[64], line[512];
    uint32_t n = 0;
    FILE *f;

    snprintf(path, sizeof path, "/proc/%d/maps", (int)pid);
    f = fopen(path, "r");
    assert_non_null(f);
    for (; fgets(line, sizeof line, f); n++)
        for (size_t i = 0; i < sizeof not_there / sizeof *not_there; i++)
            if (strstr(line, not_there[i]))
                fail_msg("the daemon has mapped %s", line);
    assert_true(n > 10);
    fclose(f);
}

static void all_are_inside(void **state)
{
    static const char *const workers[] = {"cpu:0/1", "cuda:0/1", "retry cpu:0/1"};
    struct server s;
    struct link l;
    char folder[500];

    (void)state;
    snprintf(folder, sizeof folder, "%s/test-hwloc", getenv("TRIGD_BUILD"));
    assert_int_equal(setenv("HWLOC_PLUGINS_PATH", folder, 1), 0);
    workers_open_gpus(&s, &l, config, -1);
    workers_send(&l, 0, 3, FAULT_CRASH); /* the retry worker has work */
    workers_expect(&l, 0, 3, FAILED);
    for (uint32_t i = 0; i < sizeof workers / sizeof *workers; i++)
        expect_sandbox(workers_pid(&s, workers[i]));
    expect_sandbox((long)server_wait_row(&s, "workers", "cuda:0/1", "spare", 1, INT_MAX));
    expect_sandbox(child_in_mode(s.pid, "--inspector"));
    expect_no_code_of_others(s.pid);
    link_close(&l);
    server_end_well(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(all_are_inside)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
