/* SPDX-License-Identifier: Apache-2.0 */
/* Events of several RoIs with the replayer as client, over each transport and from files: its books
 * and the daemon's agree, also when workers or the daemon are killed meanwhile. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "replayer.h"
#include "sharer.h"
#include "workers.h"

#define OPTIONS(...) ((const char *const[]){__VA_ARGS__, NULL})

static const char config[] = "devices: [{backend: cpu, lanes: 1}]\n"
                             "limits: {soft_ms: 0, hard_ms: 60000}\n";
static const char menu[] =
    "streams: [physics]\n"
    "steps: [{name: f, plugin: fault}]\n"
    "chains:\n"
    "  - {name: three, id: 1, multiplicity: 3, streams: [physics],\n"
    "     steps: [{step: f, cuts: [{value: n, min: 300}]}]}\n"
    "  - {name: one, id: 2, prescale: 0, streams: [physics],\n"
    "     steps: [{step: f, cuts: [{value: n, min: 480}]}]}\n"
    "  - {name: two, id: 3, seeds: [1], combine: one and not three, streams: [physics]}\n";

/* Both ends have the same numbers of events, and of RoIs. */
static void check_books(struct server *s, const char *report, uint32_t event_rois)
{
    static const char *const same[][2] = {{"decided", "received"},
                                          {"rejected", "rejected"},
                                          {"events_sent", "events"},
                                          {"events_accepted", "events_accepted"},
                                          {"events_failed", "events_failed"},
                                          {"events_rejected", "events_rejected"}};

    server_wait_counter(s, "in_flight", 0);
    server_check_ledger(s);
    for (uint32_t i = 0; i < sizeof same / sizeof *same; i++)
        if (replayer_number(s, report, same[i][0]) != server_counter(s, same[i][1]))
            fail_msg("%s: %llu there, %llu here", same[i][0],
                     (unsigned long long)replayer_number(s, report, same[i][0]),
                     (unsigned long long)server_counter(s, same[i][1]));
    assert_int_equal(server_counter(s, "received"), event_rois * server_counter(s, "events"));
    assert_int_equal(server_counter(s, "events_open"), 0);
    assert_int_equal(server_counter(s, "errors"), 0);
}

static void over_each_transport(void **state)
{
    struct server s;
    char shm[200];

    (void)state;
    for (uint32_t i = 0; i < 2; i++) {
        sharer_server(&s, config, menu);
        snprintf(shm, sizeof shm, "shm://%s/shm", s.folder);
        replayer_end(replayer_start(&s, i ? shm : s.endpoint, "report",
                                    OPTIONS("--rois", "4000", "--event-rois", "4", "--distinct",
                                            "400", "--connections", "3", "--batch", "3")));
        check_books(&s, "report", 4);
        assert_true(server_counter(&s, "events") >= 1000);
        assert_true(server_counter(&s, "events_accepted") > 100);
        assert_true(server_counter(&s, "events_rejected") > 100);
        assert_true(server_counter(&s, "skipped") > 0);
        server_stop(&s);
    }
}

static void from_a_file(void **state)
{
    struct server s;
    char path[200];

    (void)state;
    sharer_server(&s, config, menu);
    snprintf(path, sizeof path, "%s/events.roi", s.folder);
    replayer_run(OPTIONS("trigreplay", "generate", "--out", path, "--rois", "298", "--event-rois",
                         "3", "--seed", "1"));
    replayer_end(replayer_start(&s, s.endpoint, "report", OPTIONS("--file", path)));
    check_books(&s, "report", 3);
    assert_int_equal(server_counter(&s, "events"), 100); /* the last one is whole */
    server_stop(&s);
}

/* kill -9 of the worker: RoIs that were in it run again, and no event is lost. */
static void over_the_end_of_a_worker(void **state)
{
    struct server s;
    pid_t pid;

    (void)state;
    sharer_server(&s, config, menu);
    pid = replayer_start(&s, s.endpoint, "report",
                         OPTIONS("--rois", "3000", "--event-rois", "5", "--pace", "rate:6000",
                                 "--connections", "2"));
    for (uint32_t i = 0; i < 2; i++) {
        workers_nap(150);
        kill(workers_pid(&s, "cpu:0/1"), SIGKILL);
    }
    replayer_end(pid);
    check_books(&s, "report", 5);
    assert_true(workers_number(&s, "cpu:0/1", "deaths") > 0);
    server_stop(&s);
}

/* kill -9 of the daemon: its events go to the next one whole. */
static void over_the_end_of_the_daemon(void **state)
{
    struct server s;
    pid_t pid;

    (void)state;
    sharer_server(&s, config, menu);
    pid = replayer_start(&s, s.endpoint, "report",
                         OPTIONS("--rois", "3000", "--event-rois", "3", "--pace", "rate:5000",
                                 "--connections", "2", "--key"));
    for (uint32_t i = 0; i < 2; i++) {
        workers_nap(200);
        assert_int_equal(server_end(&s, SIGKILL, 20), 128 + SIGKILL);
        server_spawn(&s);
    }
    replayer_end(pid);
    assert_int_equal(replayer_number(&s, "report", "decided"), 3000);
    assert_int_equal(replayer_number(&s, "report", "events_sent"), 1000);
    assert_int_equal(replayer_number(&s, "report", "events_failed"), 0);
    assert_int_equal(replayer_number(&s, "report", "events_accepted") +
                         replayer_number(&s, "report", "events_rejected"),
                     1000);
    server_check_ledger(&s);
    assert_int_equal(server_counter(&s, "events_failed"), 0);
    server_stop(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(over_each_transport), cmocka_unit_test(from_a_file),
        cmocka_unit_test(over_the_end_of_a_worker), cmocka_unit_test(over_the_end_of_the_daemon)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
