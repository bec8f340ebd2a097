/* SPDX-License-Identifier: Apache-2.0 */
/* Programs: what does not build or load, compiler options, builds of the CPU, the OpenCL cache. */
#include <dirent.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "opencl_cache.h"
#include "rig.h"
#include "trigd/kernel.h"

#include "device_test.h"

static int is_backend(const struct device *d, const char *name)
{
    return strcmp(d->info.backend, name) == 0;
}

/* args1 of a program of the test, with an answer to check. */
static uint32_t answer(struct device *device, const struct trg_program *p, const char *options)
{
    const struct test_par par = {1, 21};
    struct trg_buffer *out = NULL, *pinned = NULL;
    struct trg_module *m = NULL;
    struct trg_kernel *k = NULL;
    struct trg_queue *q = NULL;
    uint32_t got;

    assert_int_equal(trg_module_new(device->d, p, options, &m), 0);
    assert_int_equal(trg_kernel_get(m, "args1", &k), 0);
    assert_int_equal(trg_queue_new(device->d, &q), 0);
    assert_int_equal(trg_buffer_new(device->d, TRG_MEM_DEVICE, 4, &out), 0);
    assert_int_equal(trg_buffer_new(device->d, TRG_MEM_PINNED, 4, &pinned), 0);
    assert_int_equal(trg_launch(q, k, (struct trg_range){1, 1},
                                (struct trg_arg[]){TRG_BUF(out), TRG_VAL(par)}, 2),
                     0);
    assert_int_equal(trg_read(q, pinned, 0, out, 0, 4), 0);
    assert_int_equal(trg_finish(q), 0);
    got = *(uint32_t *)trg_buffer_host(pinned);
    trg_queue_free(q);
    trg_buffer_free(out);
    trg_buffer_free(pinned);
    trg_module_free(m);
    return got;
}

static void test_broken(void **state)
{
    static const struct trg_host_entry entries[] = {{"f", NULL, 1, 4}, {0}};
    static const struct trg_host_code no_builds[] = {{"no such level", entries}, {0, 0}};
    static const uint64_t not_code[64] = {0};
    const struct trg_program broken = {.name = "broken",
                                       .host = no_builds,
                                       .fatbin = not_code,
                                       .opencl = "__kernel void f(int a) { no_such_word; }\n"};
    const struct trg_program no_nvcc = {.name = "no_nvcc", .host = no_builds, .opencl = ""};

    (void)state;
    for (uint32_t i = 0; i < devices_count(); i++) {
        struct device *d = devices_get(i);
        struct trg_module *untouched = (struct trg_module *)d, *m = untouched;
        int r;

        devices_forget();
        r = trg_module_new(d->d, &broken, NULL, &m);
        assert_int_equal(r, is_backend(d, "cpu") ? -ENOENT : -ENOEXEC);
        assert_true(devices_logged(TRG_ERROR, "broken") > 0);
        if (is_backend(d, "opencl")) { /* with what the compiler said */
            assert_true(devices_logged(TRG_ERROR, "CL_BUILD_PROGRAM_FAILURE") == 1);
            assert_true(devices_logged(TRG_ERROR, "no_such_word") > 0);
        }
        if (is_backend(d, "cuda"))
            assert_int_equal(trg_module_new(d->d, &no_nvcc, NULL, &m), -ENOENT);
        assert_ptr_equal(m, untouched);
        assert_int_equal(answer(d, &device_test_program, NULL), 21); /* the device goes on */
    }
}

static void test_options(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < devices_count(); i++) {
        struct device *d = devices_get(i);

        assert_int_equal(answer(d, &device_test_program, "-DTEST_SCALE=3u"),
                         is_backend(d, "opencl") ? 63 : 21);
        assert_int_equal(answer(d, &device_test_program, NULL), 21);
    }
}

/* Each build of the program for the CPU gives the bits of the others. */
static void test_levels(void **state)
{
    static const char *const levels[] = {"base", "x86-64-v3", "x86-64-v4"};
    struct trg_module *m = NULL;

    (void)state;
    for (uint32_t i = 0; i < devices_count(); i++) {
        struct device *d = devices_get(i);

        if (!is_backend(d, "cpu"))
            continue;
        for (uint32_t k = 0; k < 3; k++) {
            setenv("TRIGD_CPU_ISA", levels[k], 1);
            assert_int_equal(answer(d, &device_test_program, NULL), 21);
        }
        setenv("TRIGD_CPU_ISA", "base", 1);
        trg_device_info(d->d, &d->info);
        assert_string_equal(d->info.driver, "baseline");
        setenv("TRIGD_CPU_ISA", "x86-64-v99", 1);
        devices_forget();
        assert_int_equal(trg_module_new(d->d, &device_test_program, NULL, &m), -ENOENT);
        assert_int_equal(devices_logged(TRG_ERROR, "x86-64-v99"), 1);
        unsetenv("TRIGD_CPU_ISA");
    }
}

/* ---------------------------------------------------------------- the cache of OpenCL */

struct cache {
    char folder[64];
    char file[400]; /* the only one in it */
};

static ino_t only_file(struct cache *c)
{
    DIR *dir = opendir(c->folder);
    struct dirent *e;
    struct stat st;
    uint32_t n = 0;

    assert_non_null(dir);
    while ((e = readdir(dir)) != NULL) {
        if (e->d_name[0] == '.')
            continue;
        snprintf(c->file, sizeof c->file, "%s/%s", c->folder, e->d_name);
        n++;
    }
    closedir(dir);
    assert_int_equal(n, 1);
    assert_int_equal(stat(c->file, &st), 0);
    return st.st_ino;
}

/* Damages the cache and sees the program built again, with one warning that holds `why`. */
static void check_rebuilt(struct device *d, struct cache *c, const char *why)
{
    ino_t before = only_file(c);

    devices_forget();
    assert_int_equal(answer(d, &device_test_program, NULL), 21);
    assert_int_equal(devices_logged(TRG_WARN, why), 1);
    assert_int_equal(devices_logged(TRG_ERROR, ""), 0);
    assert_int_not_equal(only_file(c), before); /* a new file in its place, good again */
    before = only_file(c);
    devices_forget();
    assert_int_equal(answer(d, &device_test_program, NULL), 21);
    assert_int_equal(devices_logged(TRG_WARN, ""), 0);
    assert_int_equal(only_file(c), before);
}

static void change_byte(const char *file, off_t at)
{
    int fd = open(file, O_RDWR | O_CLOEXEC);
    unsigned char byte;

    assert_true(fd >= 0);
    assert_int_equal(pread(fd, &byte, 1, at), 1);
    byte ^= 1;
    assert_int_equal(pwrite(fd, &byte, 1, at), 1);
    close(fd);
}

/* A whole file whose binary the driver cannot take, under the key of the good one. */
static void store_nonsense(struct device *d, const struct cache *c)
{
    struct backend_log log = {&devices_host, "test"};
    struct opencl_key key;
    int fd = open(c->file, O_RDONLY | O_CLOEXEC);

    (void)d;
    assert_int_equal(pread(fd, &key, sizeof key, 8), sizeof key);
    close(fd);
    opencl_cache_store(&log, "device_test", &key, (const unsigned char *)"nonsense", 8);
}

static void check_cache(struct device *d)
{
    struct cache c;
    ino_t before;

    snprintf(c.folder, sizeof c.folder, "/tmp/trigd-cache-XXXXXX");
    assert_non_null(mkdtemp(c.folder));
    devices_host.cache_dir = c.folder;
    devices_forget();
    assert_int_equal(answer(d, &device_test_program, NULL), 21);
    before = only_file(&c);
    assert_int_equal(answer(d, &device_test_program, NULL), 21);
    assert_int_equal(only_file(&c), before); /* a hit: a build would have made a new file */
    assert_int_equal(devices_logged(TRG_WARN, ""), 0);

    change_byte(c.file, 60);
    check_rebuilt(d, &c, "is damaged");
    change_byte(c.file, 10);
    check_rebuilt(d, &c, "is damaged");
    assert_int_equal(truncate(c.file, 50), 0);
    check_rebuilt(d, &c, "is damaged");
    assert_int_equal(truncate(c.file, 0), 0);
    check_rebuilt(d, &c, "is damaged");
    store_nonsense(d, &c);
    check_rebuilt(d, &c, "refuses the cached binary");

    /* other options are another binary */
    assert_int_equal(answer(d, &device_test_program, "-DTEST_SCALE=2u"), 42);
    assert_int_equal(unlink(c.file), 0);
    only_file(&c);
    assert_int_equal(unlink(c.file), 0);
    assert_int_equal(rmdir(c.folder), 0);
    /* a folder that cannot be made costs a warning */
    devices_host.cache_dir = "/proc/no/such/folder";
    devices_forget();
    assert_int_equal(answer(d, &device_test_program, NULL), 21);
    assert_int_equal(devices_logged(TRG_WARN, "/proc/no/such/folder"), 1);
    devices_host.cache_dir = NULL;
}

static void test_cache(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < devices_count(); i++)
        if (is_backend(devices_get(i), "opencl"))
            check_cache(devices_get(i));
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_broken),
                                       cmocka_unit_test(test_options),
                                       cmocka_unit_test(test_levels), cmocka_unit_test(test_cache)};

    return devices_main(argc, argv, tests, sizeof tests / sizeof tests[0]);
}
