/* SPDX-License-Identifier: Apache-2.0 */
/* Worker processes that crash, hang, lose their device or are killed: every RoI is answered, those
 * that did nothing wrong by their plugin, and the daemon serves on. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "fault.h"
#include "harness.h"

#define N                    8u
#define DEBUG_ACCEPT(status) (uint8_t)(1u | (unsigned)(status) << 1)
#define FAILED               DEBUG_ACCEPT(TRIGD__V1__STATUS__ALGO_FAILED)
#define NOT_LATE             127u

/* Eight RoIs are one batch. */
#define ONE_BATCH "batching: {max_rois: 8, max_age_us: 500000, eager: false}\n"
/* A sanitizer takes long over a crash. */
#define PATIENT "limits: {soft_ms: 0, hard_ms: 60000}\n"
static const char one_lane[] = "devices: [{backend: cpu, lanes: 1}]\n" ONE_BATCH PATIENT;
static const char menu[] = "name: workers\n"
                           "streams: [physics]\n"
                           "steps: [{name: f, plugin: fault}]\n"
                           "chains:\n"
                           "  - {name: c, id: 1, steps: [{step: f, cuts: [{value: n, min: 10}]}],\n"
                           "     prescale: 1, streams: [physics]}\n";

static void open_all(struct server *s, struct link *l, const char *config)
{
    server_start(s, config, menu);
    link_open(l, s);
    link_hello(l, "workers", 0);
}

static void end_well(struct server *s, struct link *l)
{
    server_wait_counter(s, "in_flight", 0);
    server_check_ledger(s);
    link_close(l);
    server_stop(s);
}

/* Sends a batch in which RoI `at` has that number; N for none. */
static void send_batch(struct link *l, uint64_t first, uint32_t at, uint32_t fault)
{
    struct roi_spec specs[N];

    for (uint32_t i = 0; i < N; i++)
        specs[i] =
            (struct roi_spec){.token = first + i, .roi_id = i == at ? fault : i + 1, .n = 50};
    link_send_rois(l, specs, N);
}

/* Wants that answer for RoI `at` and an accept by the chain for all others. */
static void expect_batch(struct link *l, uint64_t first, uint32_t at, uint8_t answer)
{
    uint8_t result[N];

    link_collect(l, first, N, result);
    for (uint32_t i = 0; i < N; i++)
        assert_int_equal(result[i] & NOT_LATE, i == at ? answer : 1);
}

/* The number behind a key of the first row of `show workers json` that has that worker. */
static long worker_number(struct server *s, const char *worker, const char *key)
{
    char *text = server_ask(s, "show workers json"), want[64], *at;
    long n;

    snprintf(want, sizeof want, "\"worker\":\"%s\"", worker);
    at = strstr(text, want);
    if (!at)
        fail_msg("no worker %s in %s", worker, text);
    snprintf(want, sizeof want, "\"%s\":", key);
    at = strstr(at, want);
    if (!at)
        fail_msg("no %s in %s", key, text);
    n = strtol(at + strlen(want), NULL, 10);
    free(text);
    return n;
}

static void nap(long ms)
{
    const struct timespec t = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};

    nanosleep(&t, NULL);
}

static void wait_worker(struct server *s, const char *worker, const char *key, long value)
{
    for (uint32_t i = 0; i < 1000; i++) {
        if (worker_number(s, worker, key) == value)
            return;
        nap(20);
    }
    fail_msg("%s of %s did not become %ld", key, worker, value);
}

/* ---------------------------------------------------------------- one RoI is the culprit */

static void one_culprit(uint32_t fault, bool ends_worker)
{
    struct server s;
    struct link l;

    open_all(&s, &l, one_lane);
    send_batch(&l, 100, 5, fault);
    expect_batch(&l, 100, 5, FAILED);
    assert_int_equal(server_counter(&s, "poison"), 1);
    assert_int_equal(server_counter(&s, "retried"), N);
    assert_int_equal(server_counter(&s, "failed"), 1);
    if (ends_worker)
        wait_worker(&s, "cpu:0/1", "restarts", 1);
    send_batch(&l, 200, N, 0); /* and it serves on */
    expect_batch(&l, 200, N, 0);
    assert_int_equal(worker_number(&s, "cpu:0/1", "deaths"), ends_worker);
    end_well(&s, &l);
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
    one_culprit(FAULT_NO_DEVICE, true);
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

/* A worker gets no more memory than it may have. */
static void memory_has_a_limit(void **state)
{
    struct server s;
    struct link l;

    (void)state;
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    skip(); /* its shadow memory is more than any limit */
#endif
    server_start(
        &s,
        "devices: [{backend: cpu, lanes: 1}]\nworkers: {memory_mbytes: 512}\n" ONE_BATCH PATIENT,
        menu);
    link_open(&l, &s);
    link_hello(&l, "workers", 0);
    send_batch(&l, 100, 5, FAULT_MEMORY);
    expect_batch(&l, 100, 5, FAILED);
    assert_int_equal(worker_number(&s, "cpu:0/1", "deaths"), 0);
    end_well(&s, &l);
    open_all(&s, &l, one_lane); /* without a limit it is there */
    send_batch(&l, 100, 5, FAULT_MEMORY);
    expect_batch(&l, 100, N, 0);
    end_well(&s, &l);
}

static void a_lie_costs_its_roi(void **state)
{
    struct server s;
    struct link l;

    (void)state;
    open_all(&s, &l, one_lane);
    send_batch(&l, 100, 2, FAULT_LIE);
    expect_batch(&l, 100, 2, FAILED);
    assert_int_equal(server_counter(&s, "plugin_errors"), 1);
    assert_int_equal(server_counter(&s, "retried"), 0);
    end_well(&s, &l);
}

/* A worker whose batch hangs is ended; the culprit hangs again alone, the others do not. */
static void a_hang(void **state)
{
    struct server s;
    struct link l;

    (void)state;
    open_all(&s, &l,
             "devices: [{backend: cpu, lanes: 1}]\n" ONE_BATCH "workers: {hang_ms: 300}\n"
             "limits: {soft_ms: 0, hard_ms: 0}\n");
    send_batch(&l, 100, 3, FAULT_HANG);
    expect_batch(&l, 100, 3, FAILED);
    assert_int_equal(server_counter(&s, "poison"), 1);
    wait_worker(&s, "cpu:0/1", "restarts", 1);
    assert_int_equal(worker_number(&s, "cpu:0/1", "hangs"), 1);
    send_batch(&l, 200, N, 0);
    expect_batch(&l, 200, N, 0);
    end_well(&s, &l);
}

/* ---------------------------------------------------------------- nobody is */

/* A worker is killed under load: all of its RoIs are decided by their plugin. */
static void killed_under_load(void **state)
{
    struct server s;
    struct link l;
    uint64_t token = 0;

    (void)state;
    open_all(&s, &l, "devices: [{backend: cpu, lanes: 2}]\n" PATIENT);
    for (uint32_t kill_at = 20; kill_at < 100; kill_at += 40) {
        for (uint32_t i = 0; i < kill_at + 40; i++, token += 2 * N) {
            send_batch(&l, token, N, 0);
            send_batch(&l, token + N, N, 0);
            if (i == kill_at)
                assert_int_equal(kill((pid_t)worker_number(&s, "cpu:0/1", "pid"), SIGKILL), 0);
            link_collect(&l, token, 2 * N, NULL);
        }
        wait_worker(&s, "cpu:0/1", "restarts", kill_at / 40 + 1);
    }
    assert_int_equal(server_counter(&s, "failed"), 0);
    assert_int_equal(server_counter(&s, "accepted"), token);
    end_well(&s, &l);
}

/* A worker that is stopped (SIGSTOP) hangs as well as one that loops. */
static void a_stopped_worker(void **state)
{
    struct server s;
    struct link l;

    (void)state;
    open_all(&s, &l,
             "devices: [{backend: cpu, lanes: 1}]\n" ONE_BATCH PATIENT "workers: {hang_ms: 300}\n");
    assert_int_equal(kill((pid_t)worker_number(&s, "cpu:0/1", "pid"), SIGSTOP), 0);
    nap(100); /* until all of its threads have stopped */
    send_batch(&l, 100, N, 0);
    expect_batch(&l, 100, N, 0);
    assert_int_equal(server_counter(&s, "failed"), 0);
    wait_worker(&s, "cpu:0/1", "restarts", 1);
    end_well(&s, &l);
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
    long pid;

    (void)state;
    open_all(&s, &l, one_lane);
    pid = worker_number(&s, "cpu:0/1", "pid");
    assert_true(is_alive(pid));
    assert_int_equal(kill((pid_t)pid, SIGSTOP), 0);
    link_close(&l);
    server_end(&s, SIGKILL, 5);
    for (uint32_t i = 0; i < 250 && is_alive(pid); i++)
        nap(20);
    assert_false(is_alive(pid));
    server_clean(&s);
}

/* The retry worker is lost as well, while it has nothing to do. */
static void the_retry_worker_is_killed(void **state)
{
    struct server s;
    struct link l;

    (void)state;
    open_all(&s, &l, one_lane);
    assert_int_equal(kill((pid_t)worker_number(&s, "retry cpu:0/1", "pid"), SIGKILL), 0);
    wait_worker(&s, "retry cpu:0/1", "restarts", 1);
    send_batch(&l, 100, 0, FAULT_CRASH);
    expect_batch(&l, 100, 0, FAILED);
    end_well(&s, &l);
}

/* ---------------------------------------------------------------- everything is wrong */

/* A plugin that ends its worker with every RoI: RoIs go to the debug stream, the daemon stays. */
static void a_plugin_that_keeps_dying(void **state)
{
    struct server s;
    struct link l;

    (void)state;
    open_all(&s, &l,
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
    end_well(&s, &l);
}

/* ---------------------------------------------------------------- plugins that are replaced */

/* Writes one version of the plugin `swap` over the file in the server's folder, in place. */
static void install(const struct server *s, uint32_t version)
{
    char from[512], to[512], bytes[1 << 16];
    const char *build = getenv("TRIGD_BUILD");
    FILE *in, *out;
    size_t n;

    assert_non_null(build);
    snprintf(from, sizeof from, "%s/test-plugins/swaps/swap_%u.so", build, version);
    snprintf(to, sizeof to, "%s/swap.so", s->folder);
    in = fopen(from, "rb");
    out = fopen(to, "wb");
    assert_non_null(in);
    assert_non_null(out);
    while ((n = fread(bytes, 1, sizeof bytes, in)) > 0)
        assert_int_equal(fwrite(bytes, 1, n, out), n);
    fclose(in);
    assert_int_equal(fclose(out), 0);
}

/* The folder of the server comes before the folders of the build. */
static void prepare_swap(struct server *s)
{
    static const char swap_menu[] =
        "name: swap\nstreams: [physics]\nsteps: [{name: f, plugin: swap}]\n"
        "chains:\n"
        "  - {name: one, id: 1, steps: [{step: f, cuts: [{value: version, max: 1}]}],\n"
        "     prescale: 1, streams: [physics]}\n";
    char path[512], text[4096], *at;
    FILE *f;
    size_t n;

    server_prepare(s, one_lane, swap_menu);
    snprintf(path, sizeof path, "%s/trigd.yaml", s->folder);
    f = fopen(path, "r+");
    assert_non_null(f);
    n = fread(text, 1, sizeof text - 1, f);
    text[n] = '\0';
    at = strstr(text, "plugin_path: [");
    assert_non_null(at);
    rewind(f);
    at += strlen("plugin_path: [");
    fprintf(f, "%.*s\"%s\", %s", (int)(at - text), text, s->folder, at);
    assert_int_equal(fclose(f), 0);
    install(s, 1);
}

/* The daemon itself has no code of a plugin. */
static void expect_no_plugin_code(const struct server *s)
{
    char path[64], line[512];
    FILE *f;

    snprintf(path, sizeof path, "/proc/%d/maps", (int)s->pid);
    f = fopen(path, "r");
    assert_non_null(f);
    while (fgets(line, sizeof line, f))
        assert_null(strstr(line, "trigd-plugin"));
    fclose(f);
}

/* Overwriting the file in place disturbs nobody; a reload brings the new version into service, one
 * that crashes when it is loaded is refused, and no RoI is lost. */
static void a_plugin_is_replaced(void **state)
{
    struct server s;
    struct link l;
    char *answer;

    (void)state;
    prepare_swap(&s);
    server_spawn(&s);
    link_open(&l, &s);
    link_hello(&l, "swap", 0);
    send_batch(&l, 100, N, 0);
    expect_batch(&l, 100, N, 0); /* version 1 is accepted */
    install(&s, 2);
    assert_int_equal(kill((pid_t)worker_number(&s, "cpu:0/1", "pid"), SIGKILL), 0);
    wait_worker(&s, "cpu:0/1", "restarts", 1); /* from the private copy */
    send_batch(&l, 200, N, 0);
    expect_batch(&l, 200, N, 0);
    answer = server_ask(&s, "reload");
    assert_non_null(strstr(answer, "reloaded"));
    free(answer);
    install(&s, 3);
    answer = server_ask(&s, "reload");
    assert_non_null(strstr(answer, "reload failed, the running menu stays"));
    free(answer);
    expect_no_plugin_code(&s);
    for (uint64_t i = 0; i < N; i++) { /* version 2 is not */
        const struct roi_spec one = {.token = 300 + i, .n = 50};

        link_send_rois(&l, &one, 1);
    }
    for (uint32_t i = 0; i < N; i++) {
        Trigd__V1__FromDaemon *m = link_expect(&l, TRIGD__V1__FROM_DAEMON__BODY_DECISIONS);

        for (size_t k = 0; k < m->decisions->n_decisions; k++) {
            assert_false(m->decisions->decisions[k]->accept);
            assert_int_equal(m->decisions->decisions[k]->menu_generation, 2);
        }
        i += (uint32_t)m->decisions->n_decisions - 1;
    }
    assert_int_equal(server_counter(&s, "failed"), 0);
    end_well(&s, &l);
}

/* A create that never ends holds up the reload and nothing else: RoIs are decided, the operator is
 * served, SIGTERM ends the daemon. */
static void a_create_that_hangs(void **state)
{
    struct server s;
    struct link l;
    bool is_reloading = false;

    (void)state;
    prepare_swap(&s);
    server_spawn(&s);
    link_open(&l, &s);
    link_hello(&l, "swap", 0);
    install(&s, 4);
    assert_int_equal(kill(s.pid, SIGHUP), 0);
    while (!is_reloading) {
        char *answer = server_ask(&s, "show info json");

        is_reloading = strstr(answer, "\"reloading\":\"yes\"") != NULL;
        free(answer);
    }
    for (uint64_t token = 0; token < 20 * N; token += N) {
        send_batch(&l, token, N, 0);
        expect_batch(&l, token, N, 0);
    }
    server_check_ledger(&s);
    link_close(&l);
    assert_int_equal(server_end(&s, SIGTERM, 5), 0);
    server_clean(&s);
}

/* More lanes than any host of today has cores. */
static void many_lanes(void **state)
{
    struct server s;
    struct link l;

    (void)state;
    open_all(&s, &l,
             "devices: [{backend: cpu, lanes: 200, slots: 1}]\n" PATIENT
             "batching: {max_rois: 8, max_kbytes: 64}\nclients: {max_items: 1000}\n");
    for (uint64_t token = 0; token < 100 * N; token += N) {
        send_batch(&l, token, N, 0);
        expect_batch(&l, token, N, 0);
    }
    end_well(&s, &l);
}

/* Each NUMA node of a host has a worker of its own; the end of one leaves the others serving. */
static void many_nodes(void **state)
{
    struct server s;
    struct link l;
    char name[32];

    (void)state;
    assert_int_equal(setenv("HWLOC_SYNTHETIC", "node:8 core:32 pu:1", 1), 0); /* made up */
    open_all(&s, &l,
             "devices: [{backend: cpu, lanes: 256, slots: 1}]\n" PATIENT
             "batching: {max_rois: 8, max_kbytes: 64}\nclients: {max_items: 1000}\n"
             "threads: {shards: 1}\n");
    assert_int_equal(unsetenv("HWLOC_SYNTHETIC"), 0);
    for (int node = 1; node < 8; node++) {
        snprintf(name, sizeof name, "cpu:0@%d/1", node);
        assert_true(worker_number(&s, name, "pid") > 0);
    }
    assert_int_equal(kill((pid_t)worker_number(&s, "cpu:0@7/1", "pid"), SIGKILL), 0);
    for (uint64_t token = 0; token < 100 * N; token += N) {
        send_batch(&l, token, N, 0);
        expect_batch(&l, token, N, 0);
    }
    wait_worker(&s, "cpu:0@7/1", "restarts", 1);
    assert_int_equal(worker_number(&s, "cpu:0/1", "deaths"), 0);
    end_well(&s, &l);
}

static void lose_gpu(const struct server *s, int gpu, bool is_lost)
{
    char path[512];
    FILE *f;

    snprintf(path, sizeof path, "%s/%d", s->folder, gpu);
    if (!is_lost) {
        assert_int_equal(remove(path), 0);
        return;
    }
    f = fopen(path, "w");
    assert_non_null(f);
    assert_int_equal(fclose(f), 0);
}

/* Eight GPUs share the load.  One that is lost leaves the others serving, and serves again when it
 * is back. */
static void many_gpus(void **state)
{
    struct server s;
    struct link l;
    char name[32];

    (void)state;
    assert_int_equal(setenv("TRIGD_TEST_BACKENDS", "test-backends", 1), 0);
    server_prepare(
        &s, "devices: [{backend: cuda, all: true, lanes: 2, slots: 2}]\n" ONE_BATCH PATIENT, menu);
    assert_int_equal(unsetenv("TRIGD_TEST_BACKENDS"), 0);
    assert_int_equal(setenv("FAKEGPU_LOST", s.folder, 1), 0);
    server_spawn(&s);
    assert_int_equal(unsetenv("FAKEGPU_LOST"), 0);
    link_open(&l, &s);
    link_hello(&l, "workers", 0);
    for (uint32_t round = 0; round < 12; round++) { /* each takes all slots of all GPUs */
        uint8_t result[32 * N];

        if (round == 4)
            lose_gpu(&s, 3, true);
        if (round == 8)
            lose_gpu(&s, 3, false);
        for (uint32_t i = 0; i < 32; i++)
            send_batch(&l, (round * 32 + i) * N, N, 0);
        link_collect(&l, round * 32 * N, 32 * N, result);
        for (uint32_t i = 0; i < 32 * N; i++)
            assert_int_equal(result[i] & NOT_LATE, 1);
    }
    assert_int_equal(server_counter(&s, "failed"), 0);
    wait_worker(&s, "cuda:3/1", "restarts", 1);
    for (int gpu = 0; gpu < 8; gpu++) {
        snprintf(name, sizeof name, "cuda:%d/1", gpu);
        assert_int_equal(worker_number(&s, name, "deaths") > 0, gpu == 3);
    }
    end_well(&s, &l);
}

/* With threads there is nobody to end: a lane that lost its device rests, others serve. */
static void a_lane_of_threads_rests(void **state)
{
    struct server s;
    struct link l;

    (void)state;
    open_all(&s, &l, "isolation: thread\ndevices: [{backend: cpu, lanes: 2}]\n" ONE_BATCH PATIENT);
    send_batch(&l, 100, 1, FAULT_NO_DEVICE);
    expect_batch(&l, 100, 1, FAILED);
    for (uint64_t token = 200; token < 200 + 20 * N; token += N) {
        send_batch(&l, token, N, 0);
        expect_batch(&l, token, N, 0);
    }
    assert_int_equal(server_counter(&s, "failed"), 1);
    end_well(&s, &l);
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
        cmocka_unit_test(memory_has_a_limit),
        cmocka_unit_test(a_hang),
        cmocka_unit_test(killed_under_load),
        cmocka_unit_test(a_stopped_worker),
        cmocka_unit_test(a_stopped_worker_ends_with_its_daemon),
        cmocka_unit_test(the_retry_worker_is_killed),
        cmocka_unit_test(a_plugin_that_keeps_dying),
        cmocka_unit_test(a_plugin_is_replaced),
        cmocka_unit_test(a_create_that_hangs),
        cmocka_unit_test(many_lanes),
        cmocka_unit_test(many_nodes),
        cmocka_unit_test(many_gpus),
        cmocka_unit_test(a_lane_of_threads_rests),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
