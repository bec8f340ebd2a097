/* SPDX-License-Identifier: Apache-2.0 */
/* Large hosts, made up: many lanes, NUMA nodes, GPUs; and a bound on the memory of workers. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "sanitized.h"
#include "workers.h"

/* Starting hundreds of threads takes a sanitizer half a minute. */
#ifdef IS_SANITIZED
#define UNLESS_SANITIZED skip()
#define CORES            64u
#define HOST             "node:8 core:8 pu:1"
#else
#define UNLESS_SANITIZED (void)0
#define CORES            256u
#define HOST             "node:8 core:32 pu:1"
#endif

#define FULL_STEPS 64u /* as many as a menu may have */

/* A worker gets no more memory than it may have. */
static void memory_has_a_limit(void **state)
{
    struct server s;
    struct link l;

    (void)state;
    UNLESS_SANITIZED; /* the shadow memory of a sanitizer is more than any limit */
    server_start(
        &s,
        "devices: [{backend: cpu, lanes: 1}]\nworkers: {memory_mbytes: 512}\n" ONE_BATCH PATIENT,
        workers_menu);
    link_open(&l, &s);
    link_hello(&l, "workers", 0);
    workers_send(&l, 100, 5, FAULT_MEMORY);
    workers_expect(&l, 100, 5, FAILED);
    assert_int_equal(workers_number(&s, "cpu:0/1", "deaths"), 0);
    link_end_well(&s, &l);
    workers_open(&s, &l, workers_one_lane); /* without a limit it is there */
    workers_send(&l, 100, 5, FAULT_MEMORY);
    workers_expect(&l, 100, WORKERS_BATCH, 0);
    link_end_well(&s, &l);
}

/* More lanes than any host of today has cores. */
static void many_lanes(void **state)
{
    struct server s;
    struct link l;

    (void)state;
    UNLESS_SANITIZED;
    workers_open(&s, &l,
                 "devices: [{backend: cpu, lanes: 200, slots: 1}]\n" PATIENT_LIMITS
                 "batching: {max_rois: 8, max_kbytes: 64}\nclients: {max_items: 1000, "
                 "heartbeat_ms: 20000}\n");
    for (uint64_t token = 0; token < 100 * WORKERS_BATCH; token += WORKERS_BATCH) {
        workers_send(&l, token, WORKERS_BATCH, 0);
        workers_expect(&l, token, WORKERS_BATCH, 0);
    }
    link_end_well(&s, &l);
}

/* Each NUMA node of a host has a worker of its own; the end of one leaves the others serving. */
static void many_nodes(void **state)
{
    struct server s;
    struct link l;
    char name[32], config[512];

    (void)state;
    snprintf(config, sizeof config,
             "devices: [{backend: cpu, lanes: %u, slots: 1}]\n" PATIENT_LIMITS
             "batching: {max_rois: 8, max_kbytes: 64}\nclients: {max_items: 1000, heartbeat_ms: "
             "20000}\nthreads: {shards: 1}\n",
             CORES);
    assert_int_equal(setenv("HWLOC_SYNTHETIC", HOST, 1), 0); /* made up */
    workers_open(&s, &l, config);
    assert_int_equal(unsetenv("HWLOC_SYNTHETIC"), 0);
    for (int node = 1; node < 8; node++) {
        snprintf(name, sizeof name, "cpu:0@%d/1", node);
        assert_true(workers_number(&s, name, "pid") > 0);
    }
    assert_int_equal(kill(workers_pid(&s, "cpu:0@7/1"), SIGKILL), 0);
    for (uint64_t token = 0; token < 100 * WORKERS_BATCH; token += WORKERS_BATCH) {
        workers_send(&l, token, WORKERS_BATCH, 0);
        workers_expect(&l, token, WORKERS_BATCH, 0);
    }
    workers_wait(&s, "cpu:0@7/1", "restarts", 1);
    assert_int_equal(workers_number(&s, "cpu:0/1", "deaths"), 0);
    link_end_well(&s, &l);
}

/* ---------------------------------------------------------------- a lane for each core */

static void read_file(const char *path, char *ret_text, size_t bytes)
{
    char file[512];
    size_t n;
    FILE *f;

    snprintf(file, sizeof file, "%s/%s", getenv("TRIGD_SOURCE"), path);
    f = fopen(file, "r");
    assert_non_null(f);
    n = fread(ret_text, 1, bytes - 1, f);
    assert_true(n > 0 && n < bytes - 1);
    ret_text[n] = '\0';
    assert_int_equal(fclose(f), 0);
}

/* The configuration and menu of `make demo`, with the test's endpoints and sockets, and as many
 * shards as the daemon likes. */
static void prepare_demo(struct server *s)
{
    char config[4096], menu[4096], *from, *to;

    read_file("configs/demo.yaml", config, sizeof config);
    read_file("configs/menus/demo.yaml", menu, sizeof menu);
    from = strstr(config, "devices:");
    to = strstr(config, "control:");
    assert_true(from && to > from);
    snprintf(to, (size_t)(config + sizeof config - to), "threads: {pin: auto}\n"); /* the default */
    server_prepare(s, from, menu);
}

/* Batches of 20 RoIs, each of which is decided. */
static void decide_some(struct link *l)
{
    for (uint64_t token = 0; token < 400; token += 20) {
        struct roi_spec specs[20];
        uint8_t result[20];

        for (uint32_t i = 0; i < 20; i++)
            specs[i] = (struct roi_spec){
                .token = token + i, .roi_id = i + 1, .l1_bits = i % 8, .n = 50 + i};
        link_send_rois(l, specs, 20);
        link_collect(l, token, 20, result);
        for (uint32_t i = 0; i < 20; i++)
            assert_true((result[i] & NOT_LATE) <= 1); /* accepted or rejected, and none failed */
    }
}

/* The demo has a lane for each core and step: on a laptop a few, on a host with 256 cores 512. */
static void demo_on(const char *machine, uint32_t cores)
{
    struct server s;
    struct link l;
    char lane[64], *lanes;

    assert_int_equal(setenv("HWLOC_SYNTHETIC", machine, 1), 0);
    prepare_demo(&s);
    server_spawn(&s);
    assert_int_equal(unsetenv("HWLOC_SYNTHETIC"), 0);
    link_open(&l, &s);
    link_hello(&l, "demo", 0);
    decide_some(&l);
    lanes = server_ask(&s, "show lanes json");
    snprintf(lane, sizeof lane, "\"ztriplets@cpu:0/%u\"", cores - 1);
    assert_non_null(strstr(lanes, lane));
    snprintf(lane, sizeof lane, "\"ztriplets@cpu:0/%u\"", cores);
    assert_null(strstr(lanes, lane));
    free(lanes);
    assert_int_equal(server_counter(&s, "received"), 400);
    assert_int_equal(server_counter(&s, "failed"), 0);
    link_end_well(&s, &l);
}

static void a_demo_on_129_cores(void **state)
{
    (void)state;
    UNLESS_SANITIZED;
    demo_on("node:1 core:129 pu:1", 129);
}

static void a_demo_on_eight_nodes(void **state)
{
    (void)state;
    demo_on(HOST, CORES);
}

/* A menu of n steps, one behind the other. */
static void menu_of(uint32_t n, char *menu, size_t bytes)
{
    size_t at = (size_t)snprintf(menu, bytes, "name: steps\nstreams: [physics]\nsteps:\n");

    for (uint32_t i = 0; i < n; i++)
        at += (size_t)snprintf(menu + at, bytes - at, "  - {name: f%u, plugin: fault}\n", i);
    at +=
        (size_t)snprintf(menu + at, bytes - at,
                         "chains:\n  - {name: c, id: 1, prescale: 1, streams: [physics], steps: [");
    for (uint32_t i = 0; i < n; i++)
        at += (size_t)snprintf(menu + at, bytes - at, "%s{step: f%u, cuts: [{value: n, min: 1}]}",
                               i ? ", " : "", i);
    at += (size_t)snprintf(menu + at, bytes - at, "]}\n");
    assert_true(at < bytes);
}

/* What trigd says with the option and the server's configuration: the message about the
 * configuration, else the last line. */
static int run_trigd(const struct server *s, const char *option, char *ret_message, size_t bytes)
{
    char command[512], line[512];
    bool is_found = false;
    FILE *f;

    snprintf(command, sizeof command, "%s/bin/trigd %s %s/trigd.yaml 2>&1", getenv("TRIGD_BUILD"),
             option, s->folder);
    f = popen(command, "r");
    assert_non_null(f);
    while (fgets(line, sizeof line, f)) {
        const char *at = strstr(line, "comp=config msg=");

        if (!is_found)
            snprintf(ret_message, bytes, "%s", at ? at : line);
        is_found |= at != NULL;
    }
    return WEXITSTATUS(pclose(f));
}

/* Eight steps have a lane on each of 256 cores and on eight GPUs.  More lanes than there may be are
 * refused by --check, and at the start with the same sentence. */
static void lanes_have_a_limit(void **state)
{
    static const char config[] = "devices: [{backend: cpu, lanes: 0}, {backend: cuda, all: true, "
                                 "lanes: %u}]\nthreads: {shards: 1}\n";
    struct server s;
    char text[256], menu[2048], checked[512], started[512];

    (void)state;
    assert_int_equal(setenv("HWLOC_SYNTHETIC", "node:8 core:32 pu:1", 1), 0);
    menu_of(8, menu, sizeof menu);
    snprintf(text, sizeof text, config, 4);
    workers_prepare_gpus(&s, text, menu);
    assert_int_equal(run_trigd(&s, "--check", checked, sizeof checked), 0);
    assert_string_equal(checked, "good: 1 chains, 8 steps, 2 streams\n");
    server_clean(&s);
    snprintf(text, sizeof text, config, 20);
    workers_prepare_gpus(&s, text, menu);
    assert_int_equal(run_trigd(&s, "--check", checked, sizeof checked), 64);
    assert_non_null(
        strstr(checked, "msg=\"devices[] makes too many lanes for the steps of the menu\""));
    assert_non_null(strstr(checked, "lanes=3336 allowed=3072 most=\"256 of step f0 on cpu\""));
    assert_int_equal(run_trigd(&s, "--config", started, sizeof started), 64);
    assert_string_equal(started, checked);
    server_clean(&s);
    assert_int_equal(unsetenv("HWLOC_SYNTHETIC"), 0);
}

/* Lanes of steps that a reload has renamed are gone with their generation. */
static void renamed_steps(void **state)
{
    static const char *const names[] = {"g", "h", "f"};
    struct server s;
    struct link l;

    (void)state;
    workers_open(&s, &l, workers_one_lane);
    for (uint32_t i = 0; i < sizeof names / sizeof *names; i++) {
        char menu[512], gone[64], *lanes;

        snprintf(menu, sizeof menu,
                 "name: workers\nstreams: [physics]\nsteps: [{name: %s, plugin: fault}]\nchains:\n"
                 "  - {name: c, id: 1, steps: [{step: %s, cuts: [{value: n, min: 10}]}],\n"
                 "     prescale: 1, streams: [physics]}\n",
                 names[i], names[i]);
        server_menu(&s, menu);
        server_expect(&s, "reload", "menu reloaded");
        workers_send(&l, i * WORKERS_BATCH, WORKERS_BATCH, 0);
        workers_expect(&l, i * WORKERS_BATCH, WORKERS_BATCH, 0);
        snprintf(gone, sizeof gone, "\"%s@cpu:0/0\"", i ? names[i - 1] : "f");
        for (uint32_t look = 0;; look++) {
            bool is_there;

            lanes = server_ask(&s, "show lanes json");
            is_there = strstr(lanes, gone) != NULL;
            free(lanes);
            if (!is_there)
                break;
            assert_true(look < 1000);
            workers_nap(20);
        }
    }
    link_end_well(&s, &l);
}

/* A menu of steps of that name and a number, eight in each chain. */
static void full_menu(const char *name, char *menu, size_t bytes)
{
    size_t at = (size_t)snprintf(menu, bytes, "name: full\nstreams: [physics]\nsteps:\n");

    for (uint32_t i = 0; i < FULL_STEPS; i++)
        at += (size_t)snprintf(menu + at, bytes - at, "  - {name: %s%u, plugin: fault}\n", name, i);
    at += (size_t)snprintf(menu + at, bytes - at, "chains:\n");
    for (uint32_t i = 0; i < FULL_STEPS; i++) {
        if (i % 8 == 0)
            at += (size_t)snprintf(menu + at, bytes - at,
                                   "  - {name: c%u, id: %u, prescale: 1, streams: [physics],\n"
                                   "     steps: [",
                                   i, i + 1);
        at += (size_t)snprintf(menu + at, bytes - at, "{step: %s%u, cuts: [{value: n, min: 1}]}%s",
                               name, i, i % 8 == 7 ? "]}\n" : ", ");
    }
    assert_true(at < bytes);
}

/* Menus of new names are taken again and again: names that no menu has any more make room. */
static void many_names(void **state)
{
    static const char *const names[] = {"a", "b", "c", "d"};
    struct server s;
    struct link l;

    (void)state;
    workers_open(&s, &l, workers_one_lane);
    for (uint32_t i = 0; i < sizeof names / sizeof *names; i++) {
        char menu[16384];

        full_menu(names[i], menu, sizeof menu);
        server_menu(&s, menu);
        server_expect(&s, "reload", "menu reloaded");
        workers_send(&l, i * WORKERS_BATCH, WORKERS_BATCH, 0);
        workers_expect(&l, i * WORKERS_BATCH, WORKERS_BATCH, 0);
    }
    assert_int_equal(server_counter(&s, "failed"), 0);
    link_end_well(&s, &l);
}

/* Eight GPUs share the load.  One that is lost leaves the others serving, and serves again when it
 * is back. */
static void many_gpus(void **state)
{
    struct server s;
    struct link l;
    char name[32];
    bool is_back = false;

    (void)state;
    workers_open_gpus(
        &s, &l, "devices: [{backend: cuda, all: true, lanes: 2, slots: 2}]\n" ONE_BATCH PATIENT,
        -1);
    /* a round takes all slots of all GPUs, but for one that looks slow just now */
    for (uint32_t round = 0; round < 12 || !is_back; round++) {
        uint8_t result[32 * WORKERS_BATCH];

        assert_true(round < 1000);
        if (round == 4)
            workers_lose_gpu(&s, 3, true);
        if (round >= 8 && !is_back && workers_number(&s, "cuda:3/1", "deaths") > 0) {
            workers_lose_gpu(&s, 3, false);
            is_back = true;
        }
        for (uint32_t i = 0; i < 32; i++)
            workers_send(&l, (round * 32 + i) * WORKERS_BATCH, WORKERS_BATCH, 0);
        link_collect(&l, round * 32 * WORKERS_BATCH, 32 * WORKERS_BATCH, result);
        for (uint32_t i = 0; i < 32 * WORKERS_BATCH; i++)
            assert_int_equal(result[i] & NOT_LATE, 1);
    }
    assert_int_equal(server_counter(&s, "failed"), 0);
    workers_wait(&s, "cuda:3/1", "restarts", 1);
    for (int gpu = 0; gpu < 8; gpu++) {
        snprintf(name, sizeof name, "cuda:%d/1", gpu);
        assert_int_equal(workers_number(&s, name, "deaths") > 0, gpu == 3);
    }
    link_end_well(&s, &l);
}

static const char two_gpus[] =
    "devices: [{backend: cuda, index: 0, lanes: 1}, {backend: cuda, index: 1, lanes: 1}]\n"
    "batching: {max_rois: 8, max_age_us: 1000}\n" PATIENT;

/* Of two GPUs each is lost in turn, also the one on which RoIs run again: no RoI fails. */
static void one_of_two_gpus(void **state)
{
    struct server s;
    struct link l;
    uint64_t token = 0;

    (void)state;
    workers_open_gpus(&s, &l, two_gpus, -1);
    for (int round = 0; round < 4; round++) {
        const int gpu = round % 2;
        const char *worker = gpu ? "cuda:1/1" : "cuda:0/1";
        const long deaths = workers_number(&s, worker, "deaths");
        const long restarts = workers_number(&s, worker, "restarts");

        workers_lose_gpu(&s, gpu, true);
        while (workers_number(&s, worker, "deaths") == deaths) { /* until it had a batch */
            uint8_t result[4 * WORKERS_BATCH];

            for (uint32_t i = 0; i < 4; i++)
                workers_send(&l, token + i * WORKERS_BATCH, WORKERS_BATCH, 0);
            link_collect(&l, token, 4 * WORKERS_BATCH, result);
            for (uint32_t i = 0; i < 4 * WORKERS_BATCH; i++)
                assert_int_equal(result[i] & NOT_LATE, 1);
            token += 4 * WORKERS_BATCH;
        }
        workers_lose_gpu(&s, gpu, false);
        workers_wait(&s, worker, "restarts", restarts + 1);
    }
    assert_true(server_counter(&s, "retried") > 0);
    assert_int_equal(server_counter(&s, "failed"), 0);
    assert_int_equal(server_counter(&s, "poison"), 0);
    link_end_well(&s, &l);
}

/* An RoI under which the device is lost wherever it runs is the reason, and is found alone. */
static void an_roi_that_loses_every_gpu(void **state)
{
    struct server s;
    struct link l;

    (void)state;
    workers_open_gpus(&s, &l, two_gpus, -1);
    workers_send(&l, 100, 5, FAULT_NO_DEVICE);
    workers_expect(&l, 100, 5, FAILED);
    assert_int_equal(server_counter(&s, "poison"), 1);
    assert_int_equal(server_counter(&s, "failed"), 1);
    workers_send(&l, 200, WORKERS_BATCH, 0); /* and it serves on */
    workers_expect(&l, 200, WORKERS_BATCH, 0);
    link_end_well(&s, &l);
}

/* RoIs run again on a device that is there, when the first one is not. */
static void without_the_first_gpu(void **state)
{
    struct server s;
    struct link l;

    (void)state;
    workers_open_gpus(&s, &l, two_gpus, 0);
    workers_send(&l, 100, 5, FAULT_COLLECT);
    workers_expect(&l, 100, 5, FAILED);
    assert_int_equal(server_counter(&s, "failed"), 1);
    link_end_well(&s, &l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(memory_has_a_limit),
        cmocka_unit_test(many_lanes),
        cmocka_unit_test(many_nodes),
        cmocka_unit_test(a_demo_on_129_cores),
        cmocka_unit_test(a_demo_on_eight_nodes),
        cmocka_unit_test(lanes_have_a_limit),
        cmocka_unit_test(renamed_steps),
        cmocka_unit_test(many_names),
        cmocka_unit_test(many_gpus),
        cmocka_unit_test(one_of_two_gpus),
        cmocka_unit_test(an_roi_that_loses_every_gpu),
        cmocka_unit_test(without_the_first_gpu),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
