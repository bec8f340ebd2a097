/* SPDX-License-Identifier: Apache-2.0 */
#include "replayer.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static void path_of(const struct server *s, const char *report, char *ret_path, size_t bytes)
{
    snprintf(ret_path, bytes, "%s/%s", s->folder, report);
}

static pid_t start(const char *const *words)
{
    char program[256];
    pid_t pid;

    snprintf(program, sizeof program, "%s/bin/trigreplay", getenv("TRIGD_BUILD"));
    pid = fork();
    assert_true(pid >= 0);
    if (!pid) {
        execv(program, (char *const *)(uintptr_t)words);
        _exit(127);
    }
    return pid;
}

pid_t replayer_start(const struct server *s, const char *endpoint, const char *report,
                     const char *const *options)
{
    char path[256];
    const char *words[REPLAYER_OPTIONS + 12] = {"trigreplay", "run",       "--connect", endpoint,
                                                "--json",     path,        "--truth",   "none",
                                                "--quiet",    "--timeout", "60000"};
    uint32_t n = 11;

    path_of(s, report, path, sizeof path);
    for (; *options; options++) {
        assert_true(n < REPLAYER_OPTIONS + 11);
        words[n++] = *options;
    }
    return start(words);
}

int replayer_wait(pid_t pid)
{
    int status;

    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

void replayer_end(pid_t pid)
{
    assert_int_equal(replayer_wait(pid), 0);
}

void replayer_run(const char *const *words)
{
    replayer_end(start(words));
}

uint64_t replayer_number(const struct server *s, const char *report, const char *key)
{
    char path[256], text[8192] = "", want[64], *at;
    FILE *f;

    path_of(s, report, path, sizeof path);
    f = fopen(path, "r");
    assert_non_null(f);
    assert_true(fread(text, 1, sizeof text - 1, f) > 0);
    fclose(f);
    snprintf(want, sizeof want, "\"%s\":", key);
    at = strstr(text, want);
    if (!at)
        fail_msg("no %s in %s", key, text);
    return strtoull(at + strlen(want), NULL, 10);
}
