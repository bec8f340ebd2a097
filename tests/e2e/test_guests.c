/* SPDX-License-Identifier: Apache-2.0 */
/* Guests beside the trigger: slices while the lanes are free, checkpoints over restarts, and faults
 * that cost no RoI anything. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "workers.h"

#define PATIENCE 6000 /* naps of 10 ms */
#define BATCHES  100  /* that hold up their lane, until the guest has seen one */

#define GUEST(more) \
    "guests:\n  - {guest: v, plugin: visitor, backend: cpu, checkpoint_s: 0" more "}\n"
#define ONE_LANE "devices: [{backend: cpu, lanes: 1}]\n" ONE_BATCH PATIENT

/* A cell of the row of the guest. */
static void cell(struct server *s, const char *key, char *ret_text, size_t bytes)
{
    char *text = server_ask(s, "show guests json"), want[64], *at;
    size_t n;

    snprintf(want, sizeof want, "\"%s\":", key);
    at = strstr(text, want);
    if (!at)
        fail_msg("no %s in %s", key, text);
    at += strlen(want);
    at += *at == '"';
    n = strcspn(at, "\",}");
    snprintf(ret_text, bytes, "%.*s", (int)n, at);
    free(text);
}

static unsigned long number(struct server *s, const char *key)
{
    char text[64];

    cell(s, key, text, sizeof text);
    return strtoul(text, NULL, 10);
}

static void await_state(struct server *s, const char *wanted)
{
    char state[64] = "";

    for (int i = 0; i < PATIENCE; i++) {
        cell(s, "state", state, sizeof state);
        if (!strcmp(state, wanted))
            return;
        workers_nap(10);
    }
    fail_msg("the guest is %s and not %s", state, wanted);
}

/* On a busy machine it may take longer to obey than the daemon waits with its answer. */
static void tell(struct server *s, const char *command, const char *state)
{
    server_expect(s, command, "guest v is ");
    await_state(s, state);
}

static void await_slices(struct server *s, unsigned long least)
{
    for (int i = 0; i < PATIENCE; i++) {
        if (number(s, "slices") >= least)
            return;
        workers_nap(10);
    }
    fail_msg("the guest had %lu slices and not %lu", number(s, "slices"), least);
}

static void expect_why(struct server *s, const char *wanted)
{
    char why[200];

    cell(s, "why", why, sizeof why);
    if (!strstr(why, wanted))
        fail_msg("the reason is \"%s\" and not \"%s\"", why, wanted);
}

/* The count in the guest's folder; 0: there is none. */
static unsigned long saved(const struct server *s)
{
    char path[200];
    unsigned long n = 0;
    FILE *f;

    snprintf(path, sizeof path, "%s/state/guests/v/count", s->folder);
    f = fopen(path, "r");
    if (!f)
        return 0;
    assert_int_equal(fscanf(f, "%lu", &n), 1);
    fclose(f);
    return n;
}

static unsigned long count(struct server *s)
{
    char text[200];

    cell(s, "progress", text, sizeof text);
    assert_int_equal(strncmp(text, "count ", 6), 0);
    return strtoul(text + 6, NULL, 10);
}

static void send_batches(struct link *l, uint64_t *token, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++, *token += WORKERS_BATCH) {
        workers_send(l, *token, WORKERS_BATCH, 0);
        workers_expect(l, *token, WORKERS_BATCH, 0);
    }
}

/* How many slices it has while a batch holds up its lane; -1: the batch was back too early to say.
 */
static long slices_beside_a_batch(struct server *s, struct link *l, uint64_t token)
{
    unsigned long before, after;
    bool is_there;

    workers_send(l, token, 3, FAULT_STALL);
    server_wait_counter(s, "in_flight", WORKERS_BATCH);
    workers_nap(30);
    before = number(s, "slices");
    workers_nap(60);
    after = number(s, "slices");
    is_there = server_counter(s, "in_flight") == WORKERS_BATCH;
    workers_expect(l, token, WORKERS_BATCH, 0);
    return is_there ? (long)(after - before) : -1;
}

/* A batch that holds up its lane holds up the guest, which has its share of the cores here: one
 * that only runs where no other wants them may miss the whole batch on a busy machine. */
static void it_has_the_time_of_nobody_else(void **state)
{
    struct server s;
    struct link l;
    uint64_t token = 100;
    long n = -1;

    (void)state;
    workers_open(&s, &l, ONE_LANE GUEST(""));
    await_slices(&s, 1); /* its thread is there */
    workers_lift(&s, "guest cpu:0/1");
    await_slices(&s, 100);
    for (int i = 0; i < BATCHES && (n < 0 || !number(&s, "yielded")); i++) {
        n = slices_beside_a_batch(&s, &l, token);
        token += WORKERS_BATCH;
        assert_true(n <= 1); /* one may have been in flight */
    }
    assert_true(n >= 0);
    await_slices(&s, number(&s, "slices") + 100);
    assert_true(number(&s, "yielded") > 0);
    assert_true(number(&s, "us") > 0);
    assert_int_equal(number(&s, "bytes"), 1 << 20);
    link_end_well(&s, &l);
}

/* With `partition` it runs on while a batch does. */
static void a_part_of_its_own(void **state)
{
    struct server s;
    struct link l;
    unsigned long before;

    (void)state;
    workers_open(&s, &l, ONE_LANE GUEST(", when: partition"));
    await_slices(&s, 10);
    workers_send(&l, 100, 3, FAULT_STALL);
    before = number(&s, "slices");
    await_slices(&s, before + 10);
    assert_int_equal(number(&s, "yielded"), 0);
    workers_expect(&l, 100, WORKERS_BATCH, 0);
    link_end_well(&s, &l);
}

static void the_operator_has_the_say(void **state)
{
    struct server s;
    struct link l;
    unsigned long n;

    (void)state;
    workers_open(&s, &l, ONE_LANE GUEST(", start: false"));
    workers_nap(30);
    assert_int_equal(number(&s, "slices"), 0);
    server_expect(&s, "guest start v", "guest v is ");
    await_slices(&s, 50);
    tell(&s, "guest pause v", "paused");
    n = number(&s, "slices");
    assert_int_equal(saved(&s), n);
    workers_nap(30);
    assert_int_equal(number(&s, "slices"), n);
    assert_int_equal(number(&s, "bytes"), 1 << 20);
    server_expect(&s, "guest start v", "guest v is ");
    await_slices(&s, n + 50);
    tell(&s, "guest stop v", "stopped");
    assert_int_equal(number(&s, "bytes"), 0);
    n = saved(&s);
    assert_int_equal(n, number(&s, "slices"));
    server_expect(&s, "guest start v", "guest v is ");
    await_slices(&s, n + 50);
    assert_true(count(&s) >= n); /* and not from 0 on */
    server_expect(&s, "guest stop w", "error: there is no guest \"w\"; `show guests` lists them");
    link_end_well(&s, &l);
}

/* A reload brings it to the workers of the new menu; so does a restart of the daemon. */
static void it_outlives_menus_and_daemons(void **state)
{
    struct server s;
    struct link l;
    unsigned long n;
    uint64_t token = 100;

    (void)state;
    workers_open(&s, &l, ONE_LANE GUEST(""));
    await_slices(&s, 50);
    free(server_ask(&s, "reload"));
    n = saved(&s);
    assert_true(n >= 50);
    await_slices(&s, n + 50);
    assert_true(count(&s) >= n);
    send_batches(&l, &token, 3);
    tell(&s, "guest pause v", "paused");
    n = saved(&s);
    server_expect(&s, "guest start v", "guest v is ");
    assert_int_equal(kill(s.pid, SIGKILL), 0);
    assert_int_equal(server_wait_end(&s, 10), 128 + SIGKILL);
    link_close(&l);
    server_spawn(&s);
    await_slices(&s, 20);
    assert_true(count(&s) >= n);
    link_open(&l, &s);
    link_hello(&l, "workers", 0);
    send_batches(&l, &token, 3);
    link_end_well(&s, &l);
}

/* Its worker is its own on a CPU: whoever ends it, no RoI sees it, and the guest goes on from its
 * checkpoint. */
static void its_worker_is_killed(void **state)
{
    struct server s;
    struct link l;
    unsigned long n;
    uint64_t token = 100;

    (void)state;
    workers_open(&s, &l, ONE_LANE GUEST(", slice_us: 10000"));
    await_slices(&s, 5);
    tell(&s, "guest pause v", "paused");
    n = saved(&s);
    server_expect(&s, "guest start v", "guest v is ");
    await_slices(&s, n + 2);
    assert_int_equal(kill(workers_pid(&s, "guest cpu:0/1"), SIGKILL), 0);
    workers_wait(&s, "guest cpu:0/1", "restarts", 1);
    send_batches(&l, &token, 3);
    server_expect(&s, "guest start v", "guest v is "); /* a slice ran, or it is back by itself */
    await_slices(&s, number(&s, "slices") + 5);
    assert_true(count(&s) >= n);
    assert_int_equal(workers_number(&s, "cpu:0/1", "deaths"), 0);
    link_end_well(&s, &l);
}

struct fault_case {
    const char *guest, *why;
    long deaths; /* of its worker */
};

/* Each fault disables it once, and costs the lanes nothing. */
static void faults_disable_it(void **state)
{
    static const struct fault_case cases[] = {
        {GUEST(", params: {fault: fail_open}"), "Input/output error", 0},
        {GUEST(", memory_mbytes: 16, params: {fault: greedy}"), "Cannot allocate memory", 0},
        {GUEST(", params: {fault: crash, at: 3}"), "its worker ended while the guest's code ran",
         1},
        {GUEST(", hang_ms: 20, params: {fault: hang, at: 3}"), "a slice took longer than hang_ms",
         1},
        {GUEST(", params: {fault: fail, at: 3}"), "Input/output error", 0}};

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char config[1024];
        uint64_t token = 100;
        struct server s;
        struct link l;

        snprintf(config, sizeof config, "%s%s", ONE_LANE, cases[i].guest);
        workers_open(&s, &l, config);
        await_state(&s, "disabled");
        expect_why(&s, cases[i].why);
        send_batches(&l, &token, 2);
        assert_int_equal(number(&s, "disabled"), 1); /* it does not come back by itself */
        if (cases[i].deaths)
            workers_wait(&s, "guest cpu:0/1", "restarts", cases[i].deaths);
        free(server_ask(&s, "guest start v"));
        await_state(&s, "disabled");
        assert_int_equal(number(&s, "disabled"), 2);
        assert_int_equal(workers_number(&s, "cpu:0/1", "deaths"), 0);
        assert_int_equal(server_counter(&s, "retried"), 0);
        link_end_well(&s, &l);
    }
}

static void a_disk_that_is_full(void **state)
{
    struct server s;
    struct link l;

    (void)state;
    workers_open(&s, &l, ONE_LANE GUEST(", params: {fault: fail_save}"));
    await_slices(&s, 10);
    tell(&s, "guest pause v", "disabled");
    expect_why(&s, "No space left on device");
    link_end_well(&s, &l);
}

static void it_is_done(void **state)
{
    struct server s;
    struct link l;

    (void)state;
    workers_open(&s, &l, ONE_LANE GUEST(", params: {until: 30}"));
    await_state(&s, "done");
    assert_int_equal(number(&s, "slices"), 30);
    assert_int_equal(saved(&s), 30);
    server_expect(&s, "guest start v", "guest v is done");
    assert_int_equal(number(&s, "slices"), 30);
    link_end_well(&s, &l);
}

#define ONE_GPU "devices: [{backend: cuda, lanes: 1, slots: 2}]\n" ONE_BATCH PATIENT
#define GPU_GUEST(more)                                                                          \
    "guests:\n  - {guest: v, plugin: visitor, backend: cuda, start: false, checkpoint_s: 0" more \
    "}\n"

static const char stalling_menu[] =
    "name: guests\n"
    "streams: [physics]\n"
    "steps: [{name: f, plugin: fault, params: {stall_ms: 1000}}]\n"
    "chains: [{name: c, id: 1, steps: [{step: f}], streams: [physics]}]\n";

static void open_on_gpu(struct server *s, struct link *l, const char *config)
{
    char lost[200];

    assert_int_equal(setenv("TRIGD_TEST_BACKENDS", "test-backends", 1), 0);
    server_prepare(s, config, stalling_menu);
    assert_int_equal(unsetenv("TRIGD_TEST_BACKENDS"), 0);
    snprintf(lost, sizeof lost, "%s/state/guests/v", s->folder);
    assert_int_equal(setenv("FAKEGPU_LOST", lost, 1), 0);
    server_spawn(s);
    assert_int_equal(unsetenv("FAKEGPU_LOST"), 0);
    link_open(l, s);
    link_hello(l, "guests", 0);
}

/* What a guest does that waits for it. */
static void let_it(const struct server *s)
{
    char path[200];
    FILE *f;

    snprintf(path, sizeof path, "%s/state/guests/v/go", s->folder);
    f = fopen(path, "w");
    assert_non_null(f);
    assert_int_equal(fclose(f), 0);
}

struct gpu_case {
    const char *guest, *why;
    bool waits;          /* for let_it; otherwise it happens 600 ms after the slice began */
    unsigned long tried; /* RoIs that the worker's end or the fault takes along */
};

/* A batch stalls in its lane and another one waits behind it when the guest, in a slice that began
 * before, ends the worker that it shares with them, or the context on the device. */
static void fault_beside_batches(const struct gpu_case *c)
{
    char config[1024];
    struct server s;
    struct link l;

    snprintf(config, sizeof config, "%s%s", ONE_GPU, c->guest);
    open_on_gpu(&s, &l, config);
    free(server_ask(&s, "guest start v"));
    await_slices(&s, 5);
    workers_send(&l, 100, 3, FAULT_STALL);
    workers_send(&l, 200, WORKERS_BATCH, 0);
    server_wait_counter(&s, "in_flight", 2 * WORKERS_BATCH);
    workers_nap(300); /* until the lane has them */
    if (c->waits)
        let_it(&s);
    await_state(&s, "disabled");
    expect_why(&s, c->why);
    workers_expect(&l, 100, WORKERS_BATCH, 0);
    workers_expect(&l, 200, WORKERS_BATCH, 0);
    workers_wait(&s, "cuda:0/1", "restarts", 1);
    assert_int_equal(server_counter(&s, "retried"), c->tried);
    workers_send(&l, 300, WORKERS_BATCH, 0);
    workers_expect(&l, 300, WORKERS_BATCH, 0);
    assert_int_equal(server_counter(&s, "retried"), c->tried);
    assert_int_equal(server_counter(&s, "poison"), 0);
    assert_int_equal(server_counter(&s, "failed"), 0);
    assert_int_equal(number(&s, "disabled"), 1);
    link_end_well(&s, &l);
}

/* On a GPU it shares a worker with the lanes: the guest is disabled, and RoIs in flight are tried
 * again without it. */
static void a_fault_on_a_gpu_is_charged_to_no_roi(void **state)
{
    static const struct gpu_case cases[] = {
        {GPU_GUEST(", hang_ms: 60000, params: {fault: crash, at: 5, waits: true}"),
         "its worker ended while the guest's code ran", true, 2 * WORKERS_BATCH},
        {GPU_GUEST(", hang_ms: 600, params: {fault: hang, at: 5}"),
         "a slice took longer than hang_ms", false, 2 * WORKERS_BATCH},
        /* the first batch was past its kernels */
        {GPU_GUEST(", hang_ms: 60000, params: {fault: lose, at: 5, waits: true}"), "No such device",
         true, WORKERS_BATCH}};

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        fault_beside_batches(&cases[i]);
}

/* On a GPU the guest asks its own process whether a batch runs.  Batches that fail are over, and so
 * is one whose lane is closed, or whose process is gone. */
static void a_batch_on_a_gpu_holds_it_up(void **state)
{
    static const uint32_t faults[] = {FAULT_SUBMIT, FAULT_COLLECT, FAULT_NO_DEVICE};
    struct server s;
    struct link l;

    (void)state;
    open_on_gpu(&s, &l, ONE_GPU GPU_GUEST(""));
    free(server_ask(&s, "guest start v"));
    await_slices(&s, 5);
    assert_in_range(slices_beside_a_batch(&s, &l, 100), 0, 1);
    for (uint32_t i = 0; i < sizeof faults / sizeof *faults; i++) {
        workers_send(&l, 200 + 100 * i, 3, faults[i]);
        workers_expect(&l, 200 + 100 * i, 3, FAILED);
        await_slices(&s, number(&s, "slices") + 20);
    }
    assert_int_equal(workers_number(&s, "cuda:0/1", "deaths"), 0);
    workers_send(&l, 600, 3, FAULT_STALL);
    server_wait_counter(&s, "in_flight", WORKERS_BATCH);
    await_state(&s, "waiting");
    assert_int_equal(kill(workers_pid(&s, "cuda:0/1"), SIGKILL), 0);
    workers_expect(&l, 600, WORKERS_BATCH, 0);
    workers_wait(&s, "cuda:0/1", "restarts", 1);
    await_slices(&s, number(&s, "slices") + 20);
    assert_int_equal(number(&s, "disabled"), 0);
    link_end_well(&s, &l);
}

static void a_gpu_that_cannot_be_divided(void **state)
{
    struct server s;
    struct link l;

    (void)state;
    open_on_gpu(&s, &l, ONE_GPU GPU_GUEST(", when: partition"));
    free(server_ask(&s, "guest start v"));
    await_state(&s, "disabled");
    expect_why(&s, "not supported");
    link_end_well(&s, &l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(it_has_the_time_of_nobody_else),
                                       cmocka_unit_test(a_part_of_its_own),
                                       cmocka_unit_test(the_operator_has_the_say),
                                       cmocka_unit_test(it_outlives_menus_and_daemons),
                                       cmocka_unit_test(its_worker_is_killed),
                                       cmocka_unit_test(faults_disable_it),
                                       cmocka_unit_test(a_disk_that_is_full),
                                       cmocka_unit_test(it_is_done),
                                       cmocka_unit_test(a_fault_on_a_gpu_is_charged_to_no_roi),
                                       cmocka_unit_test(a_batch_on_a_gpu_holds_it_up),
                                       cmocka_unit_test(a_gpu_that_cannot_be_divided)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
