/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/wholefile.h"

#define FILES 300

static char folder[] = "/tmp/trigd-wholefile-XXXXXX";
static const char content[] = "one\ntwo\n";
static pthread_barrier_t both;

static void print(const void *text, FILE *out)
{
    fputs(text, out);
}

/* Returns how many files this thread made, or an error. */
static void *write_all(void *arg)
{
    intptr_t made = 0, failed = 0;

    (void)arg;
    for (int i = 0; i < FILES; i++) {
        char name[32];
        int r;

        snprintf(name, sizeof name, "file-%d", i);
        pthread_barrier_wait(&both);
        r = wholefile_write(folder, name, print, content);
        if (r < 0 && r != -EEXIST)
            failed = r;
        made += r == 0;
    }
    return (void *)(failed ? failed : made);
}

/* Two threads write the same files: each file is there once and whole, and nothing else is left. */
static void two_at_once(void **state)
{
    pthread_t thread;
    intptr_t here, there;
    void *result;

    (void)state;
    assert_non_null(mkdtemp(folder));
    pthread_barrier_init(&both, NULL, 2);
    assert_int_equal(pthread_create(&thread, NULL, write_all, NULL), 0);
    here = (intptr_t)write_all(NULL);
    pthread_join(thread, &result);
    there = (intptr_t)result;
    assert_true(here >= 0 && there >= 0);
    assert_int_equal(here + there, FILES);
    for (int i = 0; i < FILES; i++) {
        char path[80], text[16] = "";
        FILE *f;

        snprintf(path, sizeof path, "%s/file-%d", folder, i);
        f = fopen(path, "r");
        assert_non_null(f);
        assert_int_equal(fread(text, 1, sizeof text, f), strlen(content));
        assert_string_equal(text, content);
        fclose(f);
        assert_int_equal(unlink(path), 0);
    }
    assert_int_equal(rmdir(folder), 0);
    pthread_barrier_destroy(&both);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(two_at_once),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
