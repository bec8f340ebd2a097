/* SPDX-License-Identifier: Apache-2.0 */
/* Large hosts, made up: many lanes, NUMA nodes, GPUs; and a bound on the memory of workers. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#include "workers.h"

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
    char name[32];

    (void)state;
    assert_int_equal(setenv("HWLOC_SYNTHETIC", "node:8 core:32 pu:1", 1), 0); /* made up */
    workers_open(
        &s, &l,
        "devices: [{backend: cpu, lanes: 256, slots: 1}]\n" PATIENT_LIMITS
        "batching: {max_rois: 8, max_kbytes: 64}\nclients: {max_items: 1000, heartbeat_ms: 20000}\n"
        "threads: {shards: 1}\n");
    assert_int_equal(unsetenv("HWLOC_SYNTHETIC"), 0);
    for (int node = 1; node < 8; node++) {
        snprintf(name, sizeof name, "cpu:0@%d/1", node);
        assert_true(workers_number(&s, name, "pid") > 0);
    }
    assert_int_equal(kill((pid_t)workers_number(&s, "cpu:0@7/1", "pid"), SIGKILL), 0);
    for (uint64_t token = 0; token < 100 * WORKERS_BATCH; token += WORKERS_BATCH) {
        workers_send(&l, token, WORKERS_BATCH, 0);
        workers_expect(&l, token, WORKERS_BATCH, 0);
    }
    workers_wait(&s, "cpu:0@7/1", "restarts", 1);
    assert_int_equal(workers_number(&s, "cpu:0/1", "deaths"), 0);
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
        cmocka_unit_test(many_gpus),
        cmocka_unit_test(one_of_two_gpus),
        cmocka_unit_test(an_roi_that_loses_every_gpu),
        cmocka_unit_test(without_the_first_gpu),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
