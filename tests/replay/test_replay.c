/* SPDX-License-Identifier: Apache-2.0 */
/* The replayer against a daemon that keeps or breaks the protocol: what the report must say. */
#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "clock.h"
#include "fake.h"
#include "pace.h"
#include "replay.h"
#include "stop.h"

static int make_folder(void **state)
{
    char *folder = calloc(1, 96);

    assert_non_null(folder);
    snprintf(folder, 96, "%.60s/replay-XXXXXX", getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp");
    assert_non_null(mkdtemp(folder));
    *state = folder;
    atomic_store(&stop_wanted, false);
    return 0;
}

static int clear_folder(void **state)
{
    char *folder = *state;
    static const char *const files[] = {"fake.sock", "report.json"};
    char path[160];

    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        snprintf(path, sizeof path, "%s/%s", folder, files[i]);
        unlink(path);
    }
    assert_int_equal(rmdir(folder), 0);
    free(folder);
    return 0;
}

static struct replay_options options(const struct fake *f)
{
    return (struct replay_options){.endpoint = f->endpoint,
                                   .preset = "lowlum",
                                   .pace = "max",
                                   .name = "test",
                                   .rois = 2000,
                                   .seed = 5,
                                   .distinct = 20,
                                   .connections = 1,
                                   .threads = 1,
                                   .batch = 1,
                                   .timeout_ms = 5000,
                                   .z_value = 1,
                                   .quiet = true};
}

static void check_sum(const struct replay_options *o, const struct tally *t)
{
    assert_int_equal(t->sent, t->decided + t->refused + t->lost + t->not_taken);
    assert_int_equal(t->decided, t->accepted + t->rejected);
    if (!(o->settle_s > 0))
        assert_int_equal(t->decided, t->latency.count);
}

/* Replays against a daemon with a fault; the caller looks at the result and calls
 * replay_result_fini. */
static void play(void **state, struct fake *f, struct replay_options *o,
                 struct replay_result *ret_result)
{
    fake_start(f, *state);
    o->endpoint = f->endpoint;
    assert_int_equal(replay_run(o, ret_result), 0);
    fake_stop(f);
    check_sum(o, &ret_result->sum);
}

static void every_roi_is_decided_once(void **state)
{
    struct fake f = {.fault = FAKE_GOOD};
    struct replay_options o = options(&f);
    struct replay_result r;

    play(state, &f, &o, &r);
    assert_true(replay_is_whole(&r));
    assert_int_equal(r.sum.decided, 2000);
    assert_int_equal(f.rois, 2000);
    assert_int_equal(r.sum.accepted, 1000);
    assert_int_equal(r.sum.status[TRIGD__V1__STATUS__TIMEOUT], 200);
    assert_int_equal(r.n_chains, 2);
    assert_string_equal(r.chains[0], "HLT_odd");
    assert_int_equal(r.sum.chain[0], 1000);
    assert_int_equal(r.sum.chain[1], 2000);
    assert_int_equal(r.sum.stream[1], 1000);
    assert_int_equal(f.hellos, 1);
    assert_int_equal(f.byes, 1);
    assert_true(r.seconds > 0);
    replay_result_fini(&r);
}

static void many_connections_threads_and_batches(void **state)
{
    struct fake f = {.fault = FAKE_GOOD, .credits = 30};
    struct replay_options o = options(&f);
    struct replay_result r;

    o.connections = 25;
    o.threads = 3;
    o.batch = 7;
    o.rois = 10001;
    play(state, &f, &o, &r);
    assert_true(replay_is_whole(&r));
    assert_int_equal(r.sum.decided, 10001);
    assert_int_equal(f.hellos, 25);
    assert_int_equal(f.byes, 25);
    assert_int_equal(f.most_open, 7);
    replay_result_fini(&r);
}

static void what_gets_no_answer_is_lost(void **state)
{
    struct fake f = {.fault = FAKE_DROP, .every = 500, .credits = 64};
    struct replay_options o = options(&f);
    struct replay_result r;

    o.timeout_ms = 1000;
    play(state, &f, &o, &r);
    assert_false(replay_is_whole(&r));
    assert_int_equal(r.sum.lost, 4);
    assert_int_equal(f.faults, 4);
    replay_result_fini(&r);
}

static void a_silent_daemon_loses_all(void **state)
{
    struct fake f = {.fault = FAKE_DROP, .every = 1, .credits = 16};
    struct replay_options o = options(&f);
    struct replay_result r;

    o.timeout_ms = 1000;
    play(state, &f, &o, &r);
    assert_int_equal(r.sum.sent, 16); /* no more than the credits */
    assert_int_equal(r.sum.lost, 16);
    replay_result_fini(&r);
}

static void second_answers_are_counted(void **state)
{
    struct fake f = {.fault = FAKE_TWICE, .every = 100};
    struct replay_options o = options(&f);
    struct replay_result r;

    play(state, &f, &o, &r);
    assert_int_equal(r.sum.decided, 2000);
    assert_false(replay_is_whole(&r));
    /* the second answer to the very last RoI may come after the end */
    assert_true(r.sum.duplicates >= 19 && r.sum.duplicates <= 20);
    replay_result_fini(&r);
}

static void unasked_answers_are_counted(void **state)
{
    struct fake f = {.fault = FAKE_UNASKED, .every = 100};
    struct replay_options o = options(&f);
    struct replay_result r;

    play(state, &f, &o, &r);
    assert_false(replay_is_whole(&r));
    assert_int_equal(r.sum.unknown, 20); /* each comes before the answer that was asked for */
    replay_result_fini(&r);
}

static void busy_rois_are_sent_again(void **state)
{
    struct fake f = {.fault = FAKE_BUSY, .every = 3};
    struct replay_options o = options(&f);
    struct replay_result r;

    play(state, &f, &o, &r);
    assert_true(replay_is_whole(&r));
    assert_int_equal(r.sum.decided, 2000);
    assert_int_equal(r.sum.busy, f.faults);
    assert_int_equal(f.rois, 2000 + r.sum.busy);
    replay_result_fini(&r);
}

/* A daemon that drains takes nothing: the run ends after its time-out and says so. */
static void busy_to_the_end_is_not_taken(void **state)
{
    struct fake f = {.fault = FAKE_BUSY_ALL, .every = 1, .credits = 32};
    struct replay_options o = options(&f);
    struct replay_result r;

    o.timeout_ms = 1000;
    play(state, &f, &o, &r);
    assert_false(replay_is_whole(&r));
    assert_int_equal(r.sum.sent, 32);
    assert_int_equal(r.sum.decided, 0);
    assert_int_equal(r.sum.not_taken + r.sum.lost, 32); /* one may be on its way at the end */
    assert_true(r.sum.busy > 32);
    assert_true(r.sum.busy < 32 * 500); /* not in a tight loop */
    replay_result_fini(&r);
}

static void refused_rois_are_no_losses(void **state)
{
    struct fake f = {.fault = FAKE_REFUSE, .every = 4};
    struct replay_options o = options(&f);
    struct replay_result r;

    play(state, &f, &o, &r);
    assert_true(replay_is_whole(&r));
    assert_int_equal(r.sum.refused, 500);
    assert_int_equal(r.sum.errors, 500);
    assert_string_equal(r.sum.first_error, "refused by the fake");
    replay_result_fini(&r);
}

/* As after a restart of the daemon: Hello again, then what was not taken. */
static void a_forgotten_client_says_hello_again(void **state)
{
    struct fake f = {.fault = FAKE_FORGET, .every = 700};
    struct replay_options o = options(&f);
    struct replay_result r;

    play(state, &f, &o, &r);
    assert_true(replay_is_whole(&r));
    assert_int_equal(r.sum.decided, 2000);
    assert_true(f.hellos > 1);
    replay_result_fini(&r);
}

static void credits_may_come_later(void **state)
{
    struct fake f = {.fault = FAKE_SLOW_CREDIT, .credits = 300, .heartbeat_ms = 40};
    struct replay_options o = options(&f);
    struct replay_result r;

    play(state, &f, &o, &r);
    assert_true(replay_is_whole(&r));
    assert_int_equal(r.sum.decided, 2000);
    replay_result_fini(&r);
}

/* Threads whose connections get no credits leave their RoIs to the others. */
static void one_client_has_all_credits(void **state)
{
    struct fake f = {.fault = FAKE_FIRST_ONLY};
    struct replay_options o = options(&f);
    struct replay_result r;

    o.connections = 4;
    o.threads = 2;
    o.timeout_ms = 60000; /* that nobody has to wait for */
    play(state, &f, &o, &r);
    assert_true(replay_is_whole(&r));
    assert_int_equal(r.sum.decided, 2000);
    assert_true(r.seconds < 10);
    replay_result_fini(&r);
}

static void no_credits_at_all_is_told(void **state)
{
    struct fake f = {.fault = FAKE_SLOW_CREDIT, .heartbeat_ms = 60000};
    struct replay_options o = options(&f);
    struct replay_result r;

    o.timeout_ms = 1000;
    play(state, &f, &o, &r);
    assert_int_equal(r.sum.sent, 0);
    assert_int_equal(r.not_sent, 2000);
    assert_false(replay_is_whole(&r));
    replay_result_fini(&r);
}

static void rubbish_ends_the_run(void **state)
{
    struct fake f = {.fault = FAKE_RUBBISH, .every = 10};
    struct replay_options o = options(&f);
    struct replay_result r;

    fake_start(&f, *state);
    o.endpoint = f.endpoint;
    assert_int_equal(replay_run(&o, &r), -EBADMSG);
    replay_result_fini(&r);
    fake_stop(&f);
}

static void who_is_not_let_in_is_told_why(void **state)
{
    struct fake f = {.fault = FAKE_NO_ENTRY};
    struct replay_options o = options(&f);
    struct replay_result r;

    fake_start(&f, *state);
    o.endpoint = f.endpoint;
    assert_int_equal(replay_run(&o, &r), -ECONNREFUSED);
    replay_result_fini(&r);
    fake_stop(&f);
    o.endpoint = "ipc:///nonexistent/socket";
    o.timeout_ms = 50;
    assert_int_equal(replay_run(&o, &r), -ETIMEDOUT);
    replay_result_fini(&r);
    o.endpoint = "nonsense";
    assert_int_equal(replay_run(&o, &r), -EINVAL);
    replay_result_fini(&r);
    o.preset = "nonsense";
    assert_int_equal(replay_run(&o, &r), -EINVAL);
    replay_result_fini(&r);
}

/* The times of a pace: in order, with the mean rate asked for; bunches only in trains of 72. */
static void times_of_a_pace(void **state)
{
    static const char *const paces[] = {"rate:40000", "poisson:40000", "bunches:40000"};
    const uint32_t n = 200000; /* 5 s, 56,000 orbits */

    (void)state;
    for (size_t k = 0; k < sizeof paces / sizeof *paces; k++) {
        struct pace p;
        uint64_t last = 0;
        double gap2 = 0;

        assert_int_equal(pace_parse(paces[k], &p), 0);
        random_seed(&p.random, 3, 0);
        for (uint32_t i = 0; i < n; i++) {
            uint64_t t = pace_next(&p);
            double slot = fmod((double)t / 24.95, 3564);

            assert_true(t >= last);
            if (k == 2) /* a nanosecond is cut off */
                assert_true(slot < 39 * 80 && fmod(slot + 0.05, 80) < 72.1);
            gap2 += (double)(t - last) * (double)(t - last);
            last = t;
        }
        assert_true(fabs((double)last / n - 25000) < 5 * 25000 / sqrt(n));
        /* regular: the square of the mean; at random: twice that */
        assert_true(fabs(gap2 / n / 25000 / 25000 - (k ? 2 : 1)) < 0.1);
    }
}

/* An open-loop pace goes by the clock: 500 RoIs at 5 kHz take a tenth of a second, however fast
 * the daemon is, and an RoI's latency counts from when it was due. */
static void a_pace_is_kept(void **state)
{
    static const char *const paces[] = {"rate:5000", "poisson:5000", "bunches:5000"};

    for (size_t i = 0; i < sizeof paces / sizeof *paces; i++) {
        struct fake f = {.fault = FAKE_GOOD};
        struct replay_options o = options(&f);
        struct replay_result r;

        o.pace = paces[i];
        o.rois = 500;
        play(state, &f, &o, &r);
        assert_true(replay_is_whole(&r));
        assert_true(r.seconds > 0.07); /* 0.1 on a machine that has time */
        replay_result_fini(&r);
        unlink(f.endpoint + strlen("ipc://"));
    }
}

/* No co-ordinated omission: while the daemon stands still for 200 ms, 200 RoIs fall due; those
 * that found no credit and were sent late carry the wait in their latency. */
static void latency_counts_from_the_intended_time(void **state)
{
    struct fake f = {.fault = FAKE_GOOD, .credits = 4, .pause_every = 300, .pause_ms = 200};
    struct replay_options o = options(&f);
    struct replay_result r;

    o.pace = "rate:1000";
    o.rois = 500;
    play(state, &f, &o, &r);
    assert_true(r.sum.latency.max_ns >= 190 * NS_PER_MS);
    /* 4 in flight would be below 1 % of 500; a fifth of all fell due in the second half */
    assert_true(latency_quantile_ns(&r.sum.latency, 0.8) > 60e6);
    replay_result_fini(&r);
}

/* Latencies leave out RoIs that were due while the clients settled. */
static void a_run_settles(void **state)
{
    struct fake f = {.fault = FAKE_GOOD};
    struct replay_options o = options(&f);
    struct replay_result r;

    o.pace = "rate:1000";
    o.rois = 300;
    o.settle_s = 0.2;
    play(state, &f, &o, &r);
    assert_true(replay_is_whole(&r));
    assert_in_range(r.sum.latency.count, 99, 101);
    replay_result_fini(&r);
}

static void a_run_can_be_stopped(void **state)
{
    struct fake f = {.fault = FAKE_GOOD};
    struct replay_options o = options(&f);
    struct replay_result r;

    atomic_store(&stop_wanted, true);
    play(state, &f, &o, &r);
    assert_true(replay_is_whole(&r));
    assert_int_equal(r.sum.sent, 0);
    replay_result_fini(&r);
}

/* The report as JSON: names with quotes stay names. */
static void the_report_is_json(void **state)
{
    struct fake f = {.fault = FAKE_GOOD};
    struct replay_options o = options(&f);
    struct replay_result r;
    char *text;
    size_t n;
    FILE *out = open_memstream(&text, &n);

    assert_non_null(out);
    play(state, &f, &o, &r);
    report_json(&o, &r, out);
    assert_int_equal(fclose(out), 0);
    assert_non_null(strstr(text, "\"sent\":2000,\"decided\":2000,"));
    assert_non_null(strstr(text, "\"lost\":0,"));
    assert_non_null(strstr(text, "\"chains\":{\"HLT_odd\":1000,\"HLT_\\\"all\\\"\":2000}"));
    assert_non_null(strstr(text, "\"streams\":{\"debug\":0,\"physics\":1000}}"));
    free(text);
    replay_result_fini(&r);
}

/* As many clients as the help text promises. */
static void a_thousand_connections(void **state)
{
    struct fake f = {.fault = FAKE_GOOD, .credits = 4};
    struct replay_options o = options(&f);
    struct replay_result r;

    o.connections = 1000;
    o.threads = 2;
    o.rois = 5000;
    play(state, &f, &o, &r);
    assert_true(replay_is_whole(&r));
    assert_int_equal(r.sum.decided, 5000);
    assert_int_equal(f.hellos, 1000);
    replay_result_fini(&r);
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, make_folder, clear_folder)
    const struct CMUnitTest tests[] = {
        CASE(every_roi_is_decided_once),
        CASE(many_connections_threads_and_batches),
        CASE(what_gets_no_answer_is_lost),
        CASE(a_silent_daemon_loses_all),
        CASE(second_answers_are_counted),
        CASE(unasked_answers_are_counted),
        CASE(busy_rois_are_sent_again),
        CASE(busy_to_the_end_is_not_taken),
        CASE(refused_rois_are_no_losses),
        CASE(a_forgotten_client_says_hello_again),
        CASE(credits_may_come_later),
        CASE(one_client_has_all_credits),
        CASE(no_credits_at_all_is_told),
        CASE(rubbish_ends_the_run),
        CASE(who_is_not_let_in_is_told_why),
        cmocka_unit_test(times_of_a_pace),
        CASE(a_pace_is_kept),
        CASE(latency_counts_from_the_intended_time),
        CASE(a_run_settles),
        CASE(a_run_can_be_stopped),
        CASE(the_report_is_json),
        CASE(a_thousand_connections),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
