/* SPDX-License-Identifier: Apache-2.0 */
#include <dlfcn.h>
#include <glob.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "devices.h"

#define DEVICES_MAX 64u
#define LINES_MAX   256u

static struct device device[DEVICES_MAX];
static uint32_t n_devices;

static struct {
    enum trg_level level;
    char text[1024];
} line[LINES_MAX];
static uint32_t n_lines;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* backends log from any thread */

static void keep_line(void *ctx, enum trg_level level, const char *text)
{
    (void)ctx;
    pthread_mutex_lock(&lock);
    print_message("  log: %s\n", text);
    if (n_lines < LINES_MAX) {
        line[n_lines].level = level;
        snprintf(line[n_lines++].text, sizeof line[0].text, "%s", text);
    }
    pthread_mutex_unlock(&lock);
}

struct trg_host devices_host = {.size = sizeof(struct trg_host), .log = keep_line};

uint32_t devices_logged(enum trg_level level, const char *text)
{
    uint32_t n = 0;

    pthread_mutex_lock(&lock);
    for (uint32_t i = 0; i < n_lines; i++)
        n += line[i].level <= level && strstr(line[i].text, text) != NULL;
    pthread_mutex_unlock(&lock);
    return n;
}

void devices_forget(void)
{
    pthread_mutex_lock(&lock);
    n_lines = 0;
    pthread_mutex_unlock(&lock);
}

/* Opens the devices of one backend's file. */
static void open_file(const char *path)
{
    void *so = dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    const struct trg_backend *b = so ? dlsym(so, TRG_BACKEND_SYMBOL) : NULL;
    uint32_t n = 0;

    if (!b) {
        print_message("%s: %s\n", path, dlerror());
        return;
    }
    assert_int_equal(b->abi, TRG_BACKEND_ABI);
    assert_int_equal(b->count(&devices_host, &n), 0);
    for (uint32_t i = 0; i < n && n_devices < DEVICES_MAX; i++) {
        struct device *d = &device[n_devices];

        assert_int_equal(b->open(&devices_host, i, &d->d), 0);
        trg_device_info(d->d, &d->info);
        print_message("%s %u: %s, %s, %u units\n", d->info.backend, i, d->info.name, d->info.driver,
                      d->info.units);
        n_devices++;
    }
}

uint32_t devices_open(const char *backend)
{
    const char *build = getenv("TRIGD_BUILD");
    char pattern[4096];
    glob_t found;

    snprintf(pattern, sizeof pattern, "%s/backends/trigd-%s.so", build ? build : ".",
             backend ? backend : "*");
    if (glob(pattern, 0, NULL, &found) != 0) {
        print_message("there is no %s\n", pattern);
        return 0;
    }
    for (size_t i = 0; i < found.gl_pathc; i++)
        open_file(found.gl_pathv[i]);
    globfree(&found);
    return n_devices;
}

void devices_close(void)
{
    for (uint32_t i = 0; i < n_devices; i++)
        trg_device_close(device[i].d);
    n_devices = 0;
}

uint32_t devices_count(void)
{
    return n_devices;
}

struct device *devices_get(uint32_t i)
{
    return &device[i];
}

int devices_main(int argc, char **argv, const struct CMUnitTest *tests, size_t n_tests)
{
    const char *backend = argc > 1 ? argv[1] : NULL;
    int r;

    if (!devices_open(backend)) {
        printf("skipped: there is no %s device\n", backend ? backend : "");
        return 77;
    }
    r = _cmocka_run_group_tests(backend ? backend : "devices", tests, n_tests, NULL, NULL);
    devices_close();
    return r;
}

double devices_seconds(const struct device *on)
{
    const clockid_t clock = !on || on->info.is_host ? CLOCK_THREAD_CPUTIME_ID
                            : on->info.pci[0]       ? CLOCK_MONOTONIC
                                                    : CLOCK_PROCESS_CPUTIME_ID;
    struct timespec t;

    clock_gettime(clock, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

uint32_t devices_random(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(*state >> 32);
}
