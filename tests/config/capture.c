/* SPDX-License-Identifier: Apache-2.0 */
#include "capture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#define NAMES_MAX 8

static int caught = -1, memory = -1, kept = -1;
static char folder[64];
static char names[NAMES_MAX][128];
static unsigned n_names;

void capture_start(int fd)
{
    fflush(NULL);
    caught = fd;
    kept = dup(fd);
    memory = memfd_create("capture", MFD_CLOEXEC);
    assert_true(kept >= 0 && memory >= 0);
    assert_int_equal(dup2(memory, fd), fd);
}

const char *capture_end(void)
{
    static char text[65536];
    ssize_t n;

    fflush(NULL);
    assert_int_equal(dup2(kept, caught), caught);
    n = pread(memory, text, sizeof text - 1, 0);
    assert_true(n >= 0);
    text[n] = '\0';
    close(memory);
    close(kept);
    return text;
}

static void remove_all(void)
{
    for (unsigned i = 0; i < n_names; i++)
        unlink(names[i]);
    rmdir(folder);
}

const char *capture_file(const char *name, const char *text)
{
    unsigned i = 0;
    char path[sizeof *names];
    FILE *f;

    if (!folder[0]) {
        snprintf(folder, sizeof folder, "/tmp/trigd-config-XXXXXX");
        assert_non_null(mkdtemp(folder));
        assert_int_equal(atexit(remove_all), 0);
    }
    snprintf(path, sizeof path, "%s/%s", folder, name);
    while (i < n_names && strcmp(names[i], path) != 0)
        i++;
    assert_true(i < NAMES_MAX);
    if (i == n_names)
        memcpy(names[n_names++], path, sizeof path);
    f = fopen(path, "w");
    assert_non_null(f);
    assert_true(fputs(text, f) >= 0);
    assert_int_equal(fclose(f), 0);
    return names[i];
}
