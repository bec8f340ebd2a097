/* SPDX-License-Identifier: Apache-2.0 */
/* A replayer that is told to stop, by itself or with its daemon: it ends soon, and its account is
 * exact, over each transport, with RoIs alone and in events. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "clock.h"
#include "replayer.h"
#include "sharer.h"
#include "workers.h"

#define OPTIONS(...) ((const char *const[]){__VA_ARGS__, NULL})
#define SOON_NS      (30 * NS_PER_S) /* the run's own time-out is 60 s */
#define WAYS         2u

static const char config[] = "devices: [{backend: cpu, lanes: 1}]\n"
                             "limits: {soft_ms: 0, hard_ms: 1000}\n";
static const char menu[] =
    "streams: [physics]\n"
    "steps: [{name: f, plugin: fault}]\n"
    "chains:\n"
    "  - {name: all, id: 1, steps: [{step: f}], pass_through: true, streams: [physics]}\n";

/* Starts a daemon and a replayer that would go on for ever, and lets them run a while. */
static pid_t begin(struct server *s, bool is_shm)
{
    char shm[200];
    pid_t pid;

    sharer_server(s, config, menu);
    snprintf(shm, sizeof shm, "shm://%s/shm", s->folder);
    pid = replayer_start(s, is_shm ? shm : s->endpoint, "report",
                         OPTIONS("--rois", "1000000000", "--distinct", "300", "--connections", "3",
                                 "--threads", "2", "--batch", "4", "--event-rois", "3"));
    server_wait_row(s, "info", NULL, "received", 5000, UINT64_MAX);
    return pid;
}

static uint64_t number(const struct server *s, const char *key)
{
    return replayer_number(s, "report", key);
}

/* Waits for the replayer: each RoI and event that it sent has one end, and its exit code says
 * whether one was lost. */
static void settle(struct server *s, pid_t pid)
{
    const uint64_t from = clock_ns();
    const int code = replayer_wait(pid);

    assert_true(clock_ns() < from + SOON_NS);
    assert_int_equal(number(s, "sent"), number(s, "decided") + number(s, "refused") +
                                            number(s, "lost") + number(s, "not_taken"));
    assert_int_equal(number(s, "events_sent"),
                     number(s, "events_accepted") + number(s, "events_rejected") +
                         number(s, "events_failed") + number(s, "events_refused") +
                         number(s, "events_lost"));
    assert_int_equal(number(s, "duplicates") + number(s, "unknown"), 0);
    assert_int_equal(code, number(s, "lost") ? 1 : 0);
}

static void with_its_daemon(void **state)
{
    (void)state;
    for (uint32_t way = 0; way < WAYS; way++) {
        struct server s;
        const pid_t pid = begin(&s, way == 1);

        assert_int_equal(kill(pid, SIGTERM), 0);
        assert_int_equal(server_end(&s, SIGTERM, 20), 0);
        settle(&s, pid);
        server_clean(&s);
    }
}

static void after_its_daemon_was_killed(void **state)
{
    (void)state;
    for (uint32_t way = 0; way < WAYS; way++) {
        struct server s;
        const pid_t pid = begin(&s, way == 1);

        assert_int_equal(server_end(&s, SIGKILL, 20), 128 + SIGKILL);
        workers_nap(100);
        assert_int_equal(kill(pid, SIGTERM), 0);
        settle(&s, pid);
        assert_true(number(&s, "lost") + number(&s, "not_taken") > 0);
        server_clean(&s);
    }
}

/* The daemon stays, and takes nothing: what it has is decided, and both ends say how much. */
static void while_its_daemon_drains(void **state)
{
    (void)state;
    for (uint32_t way = 0; way < WAYS; way++) {
        struct server s;
        const pid_t pid = begin(&s, way == 1);

        free(server_ask(&s, "drain"));
        server_wait_row(&s, "info", NULL, "busy", 1, UINT64_MAX);
        workers_nap(100);
        assert_int_equal(kill(pid, SIGINT), 0);
        settle(&s, pid);
        assert_int_equal(number(&s, "lost"), 0);
        assert_true(number(&s, "not_taken") > 0);
        server_wait_counter(&s, "in_flight", 0);
        server_check_ledger(&s);
        assert_int_equal(server_counter(&s, "received"), number(&s, "decided"));
        server_stop(&s);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(with_its_daemon),
        cmocka_unit_test(after_its_daemon_was_killed),
        cmocka_unit_test(while_its_daemon_drains),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
