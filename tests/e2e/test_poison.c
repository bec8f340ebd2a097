/* SPDX-License-Identifier: Apache-2.0 */
/* RoIs that end a worker are remembered, over restarts of the daemon as well: sent again they reach
 * no worker. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "clock.h"
#include "fault.h"
#include "harness.h"
#include "roifile.h"
#include "sanitized.h"

#define FAILED   (1u | (unsigned)TRIGD__V1__STATUS__ALGO_FAILED << 1)
#define NOT_LATE 127u

static const char config[] = "devices: [{backend: cpu, lanes: 1}]\n"
                             "limits: {soft_ms: 0, hard_ms: 60000}\n"
                             "debug_stream: {folder: debug}\n";
static const char small[] = "devices: [{backend: cpu, lanes: 1}]\n"
                            "limits: {soft_ms: 0, hard_ms: 60000}\n"
                            "workers: {remember: 2}\n";
static const char menu[] = "name: poison\n"
                           "streams: [physics]\n"
                           "steps: [{name: f, plugin: fault}]\n"
                           "chains:\n"
                           "  - {name: c, id: 1, steps: [{step: f, cuts: [{value: n, min: 10}]}],\n"
                           "     prescale: 1, streams: [physics]}\n";

/* Sends one RoI; its decision as link_collect has it. */
static uint8_t ask(struct link *l, uint32_t l1id, uint32_t roi_id, uint32_t n)
{
    static uint64_t token;
    const struct roi_spec one = {.token = ++token, .l1id = l1id, .roi_id = roi_id, .n = n};
    uint8_t result;

    link_send_rois(l, &one, 1);
    link_collect(l, token, 1, &result);
    return result & NOT_LATE;
}

static void connect_to(struct link *l, struct server *s)
{
    link_open(l, s);
    link_hello(l, "poison", 0);
}

static void restart(struct server *s, struct link *l, int signal)
{
    link_close(l);
    assert_int_equal(server_end(s, signal, 30), signal == SIGKILL ? 128 + SIGKILL : 0);
    server_spawn(s);
    connect_to(l, s);
}

/* Rows of `show poison`. */
static uint32_t listed(struct server *s)
{
    char *text = server_ask(s, "show poison csv");
    uint32_t n = 0;

    for (const char *at = text; (at = strstr(at, "; step f")) != NULL; at++)
        n++;
    free(text);
    return n;
}

/* The file of the list; its length. */
static size_t read_list(const struct server *s, char *ret_path, size_t bytes, char *ret_text,
                        size_t room)
{
    size_t n;
    FILE *f;

    snprintf(ret_path, bytes, "%s/state/poison", s->folder);
    f = fopen(ret_path, "r");
    if (!f)
        return 0;
    n = fread(ret_text, 1, room - 1, f);
    ret_text[n] = '\0';
    fclose(f);
    return n;
}

/* Waits until the list on disk has so many lines. */
static void wait_list(const struct server *s, uint32_t lines)
{
    const uint64_t limit = clock_ns() + SERVER_PATIENCE_MS * NS_PER_MS;
    char path[256], text[4096];

    for (;;) {
        uint32_t n = 0;

        if (read_list(s, path, sizeof path, text, sizeof text))
            for (const char *at = text; (at = strchr(at, '\n')) != NULL; at++)
                n++;
        if (n == lines + 1)
            return;
        if (clock_ns() > limit)
            fail_msg("the list has %u lines, not %u", n, lines + 1);
    }
}

static void it_is_not_run_again(void **state)
{
    struct server s;
    struct link l;

    (void)state;
    server_start(&s, config, menu);
    connect_to(&l, &s);
    assert_int_equal(ask(&l, 7, FAULT_CRASH, 50), FAILED);
    assert_int_equal(server_counter(&s, "poison"), 1);
    assert_int_equal(listed(&s), 1);
    for (uint32_t i = 0; i < 5; i++)
        assert_int_equal(ask(&l, 7, FAULT_CRASH, 50), FAILED);
    assert_int_equal(server_counter(&s, "poison"), 1);
    assert_int_equal(server_counter(&s, "poison_known"), 5);
    assert_int_equal(server_counter(&s, "failed"), 6);
    wait_list(&s, 1);
    restart(&s, &l, SIGKILL); /* the daemon does not say good-bye */
    for (uint32_t i = 0; i < 3; i++)
        assert_int_equal(ask(&l, 7, FAULT_CRASH, 50), FAILED);
    restart(&s, &l, SIGTERM);
    assert_int_equal(ask(&l, 7, FAULT_CRASH, 50), FAILED);
    assert_int_equal(server_counter(&s, "poison_known"), 1);
    assert_int_equal(server_counter(&s, "poison"), 0);
    assert_int_equal(server_counter(&s, "retried"), 0);
    assert_int_equal(ask(&l, 7, FAULT_CRASH, 51), FAILED); /* another one: it runs, and is listed */
    assert_int_equal(server_counter(&s, "poison"), 1);
    assert_int_equal(ask(&l, 7, 1, 50), 1); /* what is well goes its way */
    link_end_well(&s, &l);
}

static void it_is_cleared(void **state)
{
    struct server s;
    struct link l;

    (void)state;
    server_start(&s, config, menu);
    connect_to(&l, &s);
    assert_int_equal(ask(&l, 7, FAULT_EXIT, 50), FAILED);
    wait_list(&s, 1);
    free(server_ask(&s, "clear poison"));
    assert_int_equal(listed(&s), 0);
    wait_list(&s, 0);
    assert_int_equal(ask(&l, 7, FAULT_EXIT, 50), FAILED);
    assert_int_equal(server_counter(&s, "poison"), 2);
    assert_int_equal(server_counter(&s, "poison_known"), 0);
    link_end_well(&s, &l);
}

/* A batch that fails and ends no worker is no poison of workers: it may be tried again. */
static void a_failure_is_not_listed(void **state)
{
    struct server s;
    struct link l;

    (void)state;
    server_start(&s, config, menu);
    connect_to(&l, &s);
    assert_int_equal(ask(&l, 7, FAULT_COLLECT, 50), FAILED);
    assert_int_equal(ask(&l, 7, FAULT_ROI, 50), FAILED);
    assert_int_equal(listed(&s), 0);
    link_end_well(&s, &l);
}

/* The list is bounded: the oldest one is forgotten. */
static void it_is_bounded(void **state)
{
    struct server s;
    struct link l;

    (void)state;
    server_start(&s, small, menu);
    connect_to(&l, &s);
    for (uint32_t i = 0; i < 3; i++)
        assert_int_equal(ask(&l, i, FAULT_EXIT, 20), FAILED);
    assert_int_equal(listed(&s), 2);
    for (uint32_t i = 1; i < 3; i++)
        assert_int_equal(ask(&l, i, FAULT_EXIT, 20), FAILED);
    assert_int_equal(server_counter(&s, "poison_known"), 2);
    assert_int_equal(ask(&l, 0, FAULT_EXIT, 20), FAILED);
    assert_int_equal(server_counter(&s, "poison"), 4);
    link_end_well(&s, &l);
}

/* A damaged line is left out, the others hold. */
static void a_damaged_list(void **state)
{
    struct server s;
    struct link l;
    char path[256], text[4096], *line;
    size_t n;
    FILE *f;

    (void)state;
    server_start(&s, config, menu);
    connect_to(&l, &s);
    assert_int_equal(ask(&l, 1, FAULT_EXIT, 20), FAILED);
    assert_int_equal(ask(&l, 2, FAULT_EXIT, 20), FAILED);
    wait_list(&s, 2);
    link_close(&l);
    assert_int_equal(server_end(&s, SIGTERM, 30), 0);
    n = read_list(&s, path, sizeof path, text, sizeof text);
    line = strchr(text, '\n') + 1;
    line[30] ^= 1; /* in the fingerprint of the first */
    f = fopen(path, "w");
    assert_non_null(f);
    assert_int_equal(fwrite(text, 1, n, f), n);
    assert_int_equal(fclose(f), 0);
    server_spawn(&s);
    connect_to(&l, &s);
    assert_int_equal(listed(&s), 1);
    assert_int_equal(ask(&l, 2, FAULT_EXIT, 20), FAILED);
    assert_int_equal(server_counter(&s, "poison_known"), 1);
    assert_int_equal(ask(&l, 1, FAULT_EXIT, 20), FAILED);
    assert_int_equal(server_counter(&s, "poison"), 1);
    link_end_well(&s, &l);
}

/* `trigreplay reproduce` ends with the same crashes, beside the daemon that runs. */
static void reproduce(const struct server *s, const char *path)
{
    char command[1024], line[256];
    uint32_t n = 0;
    FILE *f;

    snprintf(command, sizeof command, "%s/bin/trigreplay reproduce %s --config %s/trigd.yaml",
             getenv("TRIGD_BUILD"), path, s->folder);
    f = popen(command, "r");
    assert_non_null(f);
    while (fgets(line, sizeof line, f))
        n += strstr(line, ": the same: it ended ") != NULL;
    assert_int_equal(pclose(f), 0);
    assert_int_equal(n, 3);
}

/* The debug stream has the bytes and the reason. */
static void the_reason_is_kept(void **state)
{
    static const char *const reason[] = {
        "it ended its worker alone: signal 11 (SIGSEGV); step f, plugin fault 1.0.0",
        "it ended its worker alone: exit code 3; step f, plugin fault 1.0.0",
        "it ended a worker before and was sent again: show poison"};
    struct server s;
    struct link l;
    struct roifile_reader *file;
    char path[512];

    (void)state;
#ifdef IS_SANITIZED
    skip(); /* there a crash is an exit */
#endif
    server_start(&s, config, menu);
    connect_to(&l, &s);
    ask(&l, 1, FAULT_CRASH, 33);
    ask(&l, 1, FAULT_EXIT, 33);
    ask(&l, 1, FAULT_CRASH, 33);
    server_wait_stream(&s, "debug", "written", 3);
    server_debug_file(&s, path, sizeof path);
    assert_int_equal(roifile_open(path, &file), 0);
    for (uint32_t i = 0; i < 3; i++) {
        Trigd__V1__RoiBatch *b;
        const void *bytes;
        size_t n;

        assert_int_equal(roifile_next(file, &bytes, &n), 1);
        b = trigd__v1__roi_batch__unpack(NULL, n, bytes);
        assert_non_null(b);
        assert_int_equal(b->rois[0]->spacepoints->n_z_mm, 33);
        assert_string_equal(b->rois[0]->kept->reason, reason[i]);
        trigd__v1__roi_batch__free_unpacked(b, NULL);
    }
    roifile_close(file);
    reproduce(&s, path);
    link_end_well(&s, &l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_is_not_run_again),     cmocka_unit_test(it_is_cleared),
        cmocka_unit_test(a_failure_is_not_listed), cmocka_unit_test(it_is_bounded),
        cmocka_unit_test(a_damaged_list),          cmocka_unit_test(the_reason_is_kept)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
