/* SPDX-License-Identifier: Apache-2.0 */
/* Worker processes that crash, hang, lose their device or are killed: every RoI is answered, those
 * that did nothing wrong by their plugin, and the daemon serves on. */
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "workers.h"

/* ---------------------------------------------------------------- one RoI is the culprit */

static void one_culprit(uint32_t fault, bool ends_worker)
{
    struct server s;
    struct link l;

    workers_open(&s, &l, workers_one_lane);
    workers_send(&l, 100, 5, fault);
    workers_expect(&l, 100, 5, FAILED);
    assert_int_equal(server_counter(&s, "poison"), 1);
    assert_int_equal(server_counter(&s, "retried"), WORKERS_BATCH);
    assert_int_equal(server_counter(&s, "failed"), 1);
    if (ends_worker)
        workers_wait(&s, "cpu:0/1", "restarts", 1);
    workers_send(&l, 200, WORKERS_BATCH, 0); /* and it serves on */
    workers_expect(&l, 200, WORKERS_BATCH, 0);
    assert_int_equal(workers_number(&s, "cpu:0/1", "deaths"), ends_worker);
    link_end_well(&s, &l);
}

static void a_segmentation_fault(void **state)
{
    (void)state;
    one_culprit(FAULT_CRASH, true);
}

static void an_abort(void **state)
{
    (void)state;
    one_culprit(FAULT_ABORT, true);
}

static void an_exit(void **state)
{
    (void)state;
    one_culprit(FAULT_EXIT, true);
}

static void a_lost_device(void **state)
{
    (void)state;
    one_culprit(FAULT_NO_DEVICE, false); /* it closes its lane */
}

static void a_batch_that_cannot_be_submitted(void **state)
{
    (void)state;
    one_culprit(FAULT_SUBMIT, false);
}

static void a_positive_answer(void **state)
{
    (void)state;
    one_culprit(FAULT_POSITIVE, false);
}

static void a_batch_that_cannot_be_collected(void **state)
{
    (void)state;
    one_culprit(FAULT_COLLECT, false);
}

/* It counts when the RoI ran alone: others of its worker may have written over what it made. */
static void a_lie_costs_its_roi(void **state)
{
    struct server s;
    struct link l;

    (void)state;
    workers_open(&s, &l, workers_one_lane);
    workers_send(&l, 100, 2, FAULT_LIE);
    workers_expect(&l, 100, 2, FAILED);
    assert_int_equal(server_counter(&s, "plugin_errors"), 1);
    assert_int_equal(server_counter(&s, "retried"), 1);
    link_end_well(&s, &l);
}

/* A plugin that says it has made more than there is room for. */
static void more_than_its_room(void **state)
{
    static const char menu[] = "name: overfull\n"
                               "streams: [physics]\n"
                               "keep: [{stream: physics, products: [f]}]\n"
                               "steps: [{name: f, plugin: broken_capacity}]\n"
                               "chains:\n"
                               "  - {name: c, id: 1, steps: [{step: f}], prescale: 1,\n"
                               "     streams: [physics]}\n";
    struct server s;
    struct link l;
    uint8_t result[WORKERS_BATCH];

    (void)state;
    server_start(&s,
                 "devices: [{backend: cpu, lanes: 1, warm_up: false}]\nstreams: [{stream: "
                 "physics}]\n" PATIENT,
                 menu);
    link_open(&l, &s);
    link_hello(&l, "workers", 0);
    workers_send(&l, 100, WORKERS_BATCH, 0);
    link_collect(&l, 100, WORKERS_BATCH, result);
    for (uint32_t i = 0; i < WORKERS_BATCH; i++)
        assert_int_equal(result[i] & NOT_LATE, FAILED);
    assert_int_equal(server_counter(&s, "plugin_errors"), WORKERS_BATCH);
    assert_int_equal(workers_number(&s, "cpu:0/1", "deaths"), 0);
    link_end_well(&s, &l);
}

/* A worker whose batch hangs is ended; the culprit hangs again alone, the others do not. */
static void a_hang(void **state)
{
    struct server s;
    struct link l;

    (void)state;
    workers_open(&s, &l,
                 "devices: [{backend: cpu, lanes: 1}]\n" ONE_BATCH "workers: {hang_ms: 300}\n"
                 "limits: {soft_ms: 0, hard_ms: 0}\n");
    workers_send(&l, 100, 3, FAULT_HANG);
    workers_expect(&l, 100, 3, FAILED);
    assert_int_equal(server_counter(&s, "poison"), 1);
    workers_wait(&s, "cpu:0/1", "restarts", 1);
    assert_int_equal(workers_number(&s, "cpu:0/1", "hangs"), 1);
    workers_send(&l, 200, WORKERS_BATCH, 0);
    workers_expect(&l, 200, WORKERS_BATCH, 0);
    link_end_well(&s, &l);
}

/* A batch of good RoIs that takes so many times 300 ms. */
static void decide_slowly(struct link *l, uint32_t times)
{
    struct roi_spec specs[WORKERS_BATCH];

    for (uint32_t i = 0; i < WORKERS_BATCH; i++)
        specs[i] = (struct roi_spec){.token = i, .roi_id = i < times ? FAULT_STALL : 0, .n = 50};
    link_send_rois(l, specs, WORKERS_BATCH);
    workers_expect(l, 0, WORKERS_BATCH, 0);
}

/* Its neighbours are decided before the hard limit, although a batch may take half of that before
 * it hangs, and earlier ones took long; the culprit itself takes until then. */
static void neighbours_of_a_hang(void **state)
{
    struct server s;
    struct link l;

    (void)state;
    workers_open(&s, &l,
                 "devices: [{backend: cpu, lanes: 1}]\n" ONE_BATCH
                 "limits: {soft_ms: 0, hard_ms: 12000}\nclients: {heartbeat_ms: 20000}\n");
    decide_slowly(&l, 4);
    workers_send(&l, 100, 3, FAULT_HANG);
    workers_expect(&l, 100, 3, DEBUG_ACCEPT(TRIGD__V1__STATUS__TIMEOUT));
    link_end_well(&s, &l);
}

/* A batch that takes longer than hang_ms, as expected, does not hang. */
static void known_to_be_slow(void **state)
{
    struct server s;
    struct link l;

    (void)state;
    workers_open(&s, &l,
                 "devices: [{backend: cpu, lanes: 1}]\n" ONE_BATCH PATIENT
                 "workers: {hang_ms: 2000}\n");
    decide_slowly(&l, 5);
    decide_slowly(&l, 8); /* 2400 ms, below twice 1500 */
    assert_int_equal(workers_number(&s, "cpu:0/1", "hangs"), 0);
    link_end_well(&s, &l);
}

/* ---------------------------------------------------------------- nobody is */

/* A worker is killed under load: all of its RoIs are decided by their plugin. */
static void killed_under_load(void **state)
{
    struct server s;
    struct link l;
    uint64_t token = 0;

    (void)state;
    workers_open(&s, &l, "devices: [{backend: cpu, lanes: 2}]\n" PATIENT);
    for (uint32_t kill_at = 20; kill_at < 100; kill_at += 40) {
        for (uint32_t i = 0; i < kill_at + 40; i++, token += 2 * WORKERS_BATCH) {
            workers_send(&l, token, WORKERS_BATCH, 0);
            workers_send(&l, token + WORKERS_BATCH, WORKERS_BATCH, 0);
            if (i == kill_at)
                assert_int_equal(kill(workers_pid(&s, "cpu:0/1"), SIGKILL), 0);
            link_collect(&l, token, 2 * WORKERS_BATCH, NULL);
        }
        workers_wait(&s, "cpu:0/1", "restarts", kill_at / 40 + 1);
    }
    assert_int_equal(server_counter(&s, "failed"), 0);
    assert_int_equal(server_counter(&s, "accepted"), token);
    link_end_well(&s, &l);
}

#define CROWD       8192u
#define CROWD_BATCH 1024u

/* A worker is killed with thousands of RoIs in flight: there is room for all of them to run again.
 */
static void killed_with_thousands_in_flight(void **state)
{
    static struct roi_spec specs[CROWD_BATCH];
    struct server s;
    struct link l;
    pid_t pid;

    (void)state;
    workers_open(&s, &l,
                 "devices: [{backend: cpu, lanes: 1, slots: 8}]\n" PATIENT_LIMITS
                 "batching: {max_rois: 1024, max_age_us: 5000000, eager: false}\n"
                 "pool: {rois: 49152}\n"
                 "clients: {credits: 8192, max_rois: 1024, heartbeat_ms: 20000}\n");
    pid = workers_stop(&s, "cpu:0/1");
    for (uint32_t sent = 0; sent < CROWD; sent += CROWD_BATCH) {
        for (uint32_t i = 0; i < CROWD_BATCH; i++)
            specs[i] = (struct roi_spec){.token = sent + i, .roi_id = i + 1000, .n = 10};
        link_send_rois(&l, specs, CROWD_BATCH);
    }
    server_wait_row(&s, "lanes", "f@cpu:0/0", "in_flight", CROWD / CROWD_BATCH,
                    CROWD / CROWD_BATCH);
    assert_int_equal(kill(pid, SIGKILL), 0);
    link_collect(&l, 0, CROWD, NULL);
    assert_int_equal(server_counter(&s, "retried"), CROWD);
    assert_int_equal(server_counter(&s, "accepted"), CROWD);
    assert_int_equal(server_counter(&s, "failed"), 0);
    link_end_well(&s, &l);
}

/* A worker that is stopped (SIGSTOP) hangs as well as one that loops. */
static void a_stopped_worker(void **state)
{
    struct server s;
    struct link l;

    (void)state;
    workers_open(&s, &l,
                 "devices: [{backend: cpu, lanes: 1}]\n" ONE_BATCH PATIENT
                 "workers: {hang_ms: 300}\n");
    workers_stop(&s, "cpu:0/1");
    workers_send(&l, 100, WORKERS_BATCH, 0);
    workers_expect(&l, 100, WORKERS_BATCH, 0);
    assert_int_equal(server_counter(&s, "failed"), 0);
    workers_wait(&s, "cpu:0/1", "restarts", 1);
    link_end_well(&s, &l);
}

/* Whether a process is still there, other than for its parent to look at. */
static bool is_alive(long pid)
{
    char path[64], text[256] = "";
    const char *state;
    FILE *f;

    snprintf(path, sizeof path, "/proc/%ld/stat", pid);
    f = fopen(path, "r");
    if (!f)
        return false;
    text[fread(text, 1, sizeof text - 1, f)] = '\0';
    fclose(f);
    state = strrchr(text, ')');
    return state && state[2] != 'Z' && state[2] != 'X';
}

/* A worker that is stopped does not outlive a daemon that is killed. */
static void a_stopped_worker_ends_with_its_daemon(void **state)
{
    struct server s;
    struct link l;
    pid_t pid;

    (void)state;
    workers_open(&s, &l, workers_one_lane);
    pid = workers_pid(&s, "cpu:0/1");
    assert_true(is_alive(pid));
    assert_int_equal(kill(pid, SIGSTOP), 0);
    link_close(&l);
    server_end(&s, SIGKILL, 5);
    for (uint32_t i = 0; i < 250 && is_alive(pid); i++)
        workers_nap(20);
    assert_false(is_alive(pid));
    server_clean(&s);
}

/* The retry worker is lost as well, while it has nothing to do. */
static void the_retry_worker_is_killed(void **state)
{
    struct server s;
    struct link l;

    (void)state;
    workers_open(&s, &l, workers_one_lane);
    assert_int_equal(kill(workers_pid(&s, "retry cpu:0/1"), SIGKILL), 0);
    workers_wait(&s, "retry cpu:0/1", "restarts", 1);
    workers_send(&l, 100, 0, FAULT_CRASH);
    workers_expect(&l, 100, 0, FAILED);
    link_end_well(&s, &l);
}

/* ---------------------------------------------------------------- everything is wrong */

/* A plugin that ends its worker with every RoI: RoIs go to the debug stream, the daemon stays. */
static void a_plugin_that_keeps_dying(void **state)
{
    struct server s;
    struct link l;

    (void)state;
    workers_open(&s, &l,
                 "devices: [{backend: cpu, lanes: 1}]\nlimits: {soft_ms: 0, hard_ms: 3000}\n"
                 "workers: {remember: 0}\n");
    for (uint64_t i = 0; i < 12; i++) {
        const struct roi_spec one = {.token = i, .roi_id = FAULT_CRASH, .n = 50};
        uint8_t result;

        link_send_rois(&l, &one, 1);
        link_collect(&l, i, 1, &result);
        assert_true((result & NOT_LATE) == FAILED ||
                    (result & NOT_LATE) == DEBUG_ACCEPT(TRIGD__V1__STATUS__TIMEOUT));
    }
    assert_int_equal(server_counter(&s, "failed"), 12);
    link_end_well(&s, &l);
}

/* One batch with an RoI that ends its worker, behind so many good ones. */
static void send_culprit(struct link *l, uint32_t n_good, uint64_t *token)
{
    for (uint32_t i = 0; i < n_good; i++, *token += WORKERS_BATCH) {
        workers_send(l, *token, WORKERS_BATCH, 0);
        workers_expect(l, *token, WORKERS_BATCH, 0);
    }
    workers_send(l, *token, 3, FAULT_CRASH);
    workers_expect(l, *token, 3, FAILED);
    *token += WORKERS_BATCH;
}

/* RoIs that end a worker now and then cost nobody else a pause; nor do many in a row: nobody else's
 * RoI fails. */
static void culprits_among_good_rois(void **state)
{
    struct server s;
    struct link l;
    uint64_t token = 0;

    (void)state;
    workers_open(&s, &l,
                 "devices: [{backend: cpu, lanes: 1}]\n" ONE_BATCH PATIENT
                 "workers: {remember: 0}\n");
    for (uint32_t i = 0; i < 8; i++)
        send_culprit(&l, 80, &token);
    for (uint32_t i = 0; i < 12; i++)
        send_culprit(&l, 1, &token);
    assert_int_equal(server_counter(&s, "failed"), 20);
    link_end_well(&s, &l);
}

/* Each new process, or lane, begins with a batch in which an RoI ends it, many times in a row.  The
 * retry lane finds each of them, so nobody else's RoI fails. */
static void row_of(uint32_t fault, uint32_t n, struct server *s, struct link *l)
{
    enum { MOST = 24 };
    uint8_t result[MOST * WORKERS_BATCH];

    assert_in_range(n, 1, MOST);
    workers_open(
        s, l, "devices: [{backend: cpu, lanes: 1}]\n" ONE_BATCH PATIENT "workers: {remember: 0}\n");
    for (uint32_t i = 0; i < n; i++)
        workers_send(l, i * WORKERS_BATCH, i % WORKERS_BATCH, fault);
    link_collect(l, 0, n * WORKERS_BATCH, result);
    for (uint32_t i = 0; i < n * WORKERS_BATCH; i++)
        assert_int_equal(result[i] & NOT_LATE,
                         i % WORKERS_BATCH == i / WORKERS_BATCH % WORKERS_BATCH ? FAILED : 1);
    assert_int_equal(server_counter(s, "failed"), n);
}

static void a_row_of_culprits(void **state)
{
    struct server s;
    struct link l;

    (void)state;
    row_of(FAULT_CRASH, 16, &s, &l);
    link_end_well(&s, &l);
}

static void a_row_of_lost_lanes(void **state)
{
    struct server s;
    struct link l;

    (void)state;
    row_of(FAULT_NO_DEVICE, 24, &s, &l);
    assert_int_equal(workers_number(&s, "cpu:0/1", "deaths"), 0);
    link_end_well(&s, &l);
}

/* With threads there is nobody to end: a lane that lost its device rests, others serve. */
static void a_lane_of_threads_rests(void **state)
{
    struct server s;
    struct link l;

    (void)state;
    workers_open(&s, &l,
                 "isolation: thread\ndevices: [{backend: cpu, lanes: 2}]\n" ONE_BATCH PATIENT);
    workers_send(&l, 100, 1, FAULT_NO_DEVICE);
    workers_expect(&l, 100, 1, FAILED);
    for (uint64_t token = 200; token < 200 + 20 * WORKERS_BATCH; token += WORKERS_BATCH) {
        workers_send(&l, token, WORKERS_BATCH, 0);
        workers_expect(&l, token, WORKERS_BATCH, 0);
    }
    assert_int_equal(server_counter(&s, "failed"), 1);
    link_end_well(&s, &l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_segmentation_fault),
        cmocka_unit_test(an_abort),
        cmocka_unit_test(an_exit),
        cmocka_unit_test(a_lost_device),
        cmocka_unit_test(a_batch_that_cannot_be_submitted),
        cmocka_unit_test(a_positive_answer),
        cmocka_unit_test(a_batch_that_cannot_be_collected),
        cmocka_unit_test(a_lie_costs_its_roi),
        cmocka_unit_test(more_than_its_room),
        cmocka_unit_test(a_hang),
        cmocka_unit_test(neighbours_of_a_hang),
        cmocka_unit_test(known_to_be_slow),
        cmocka_unit_test(killed_under_load),
        cmocka_unit_test(killed_with_thousands_in_flight),
        cmocka_unit_test(a_stopped_worker),
        cmocka_unit_test(a_stopped_worker_ends_with_its_daemon),
        cmocka_unit_test(the_retry_worker_is_killed),
        cmocka_unit_test(a_plugin_that_keeps_dying),
        cmocka_unit_test(culprits_among_good_rois),
        cmocka_unit_test(a_row_of_culprits),
        cmocka_unit_test(a_row_of_lost_lanes),
        cmocka_unit_test(a_lane_of_threads_rests),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
