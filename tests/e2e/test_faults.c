/* SPDX-License-Identifier: Apache-2.0 */
/* Plugins, clients, wires and disks that misbehave; each ends in the conservation law. */
#include <math.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <zmq.h>

#include <cmocka.h>

#include "fault.h"
#include "harness.h"
#include "roifile.h"
#include "seed.h"
#include "workers.h"

#define LATE 128u /* of link_collect: this host may be slow */

static const char config[] = "devices: [{backend: cpu, index: 0, lanes: 1, slots: 2}]\n"
                             "batching: {max_rois: 8}\n"
                             "debug_stream: {folder: debug}\n";
static const char menu[] = "name: faults\n"
                           "streams: [physics]\n"
                           "steps:\n"
                           "  - {name: f, plugin: fault, params: {stall_ms: 700}}\n"
                           "chains:\n"
                           "  - {name: c, id: 1, steps: [{step: f, cuts: [{value: n, min: 10}]}],\n"
                           "     prescale: 1, streams: [physics]}\n";

/* One RoI that its plugin gives up on goes to the debug stream, its neighbours do not. */
static void one_bad_roi(void **state)
{
    struct server s;
    struct link l;
    struct roi_spec specs[8];
    uint8_t result[8];

    (void)state;
    server_start(&s, config, menu);
    link_open(&l, &s);
    link_hello(&l, "faults", 0);
    for (uint32_t i = 0; i < 8; i++)
        specs[i] = (struct roi_spec){.token = i, .roi_id = i == 3 ? FAULT_ROI : 0, .n = 5};
    link_send_rois(&l, specs, 8);
    link_collect(&l, 0, 8, result);
    for (uint32_t i = 0; i < 8; i++)
        assert_int_equal(result[i], i == 3 ? DEBUG_ACCEPT(TRIGD__V1__STATUS__ALGO_FAILED) : 0);
    server_wait_stream(&s, "debug", "written", 1);
    assert_int_equal(server_counter(&s, "failed"), 1);
    link_end_well(&s, &l);
}

static void failed_batches(void **state)
{
    struct server s;
    struct link l;
    const struct roi_spec bad[] = {{.token = 0, .roi_id = FAULT_SUBMIT, .n = 5},
                                   {.token = 1, .roi_id = FAULT_COLLECT, .n = 5},
                                   {.token = 2, .roi_id = FAULT_TRUNCATE, .n = 50}};
    uint8_t result;

    (void)state;
    server_start(&s, config, menu);
    link_open(&l, &s);
    link_hello(&l, "faults", 0);
    for (uint32_t i = 0; i < 3; i++) {
        link_send_rois(&l, &bad[i], 1);
        link_collect(&l, i, 1, &result);
        assert_int_equal(result, DEBUG_ACCEPT(i < 2 ? TRIGD__V1__STATUS__ALGO_FAILED
                                                    : TRIGD__V1__STATUS__TRUNCATED));
    }
    assert_int_equal(server_counter(&s, "failed"), 2);
    assert_int_equal(server_counter(&s, "truncated"), 1);
    assert_int_equal(server_counter(&s, "accepted"), 1);
    link_end_well(&s, &l);
}

/* A plugin stalls beyond the hard limit: the answer comes on time all the same, what it returns
 * later is counted and thrown away, and the lane serves on. */
static void a_stalled_plugin(void **state)
{
    struct server s;
    struct link l;
    const struct roi_spec stall = {.token = 5, .roi_id = FAULT_STALL, .n = 50},
                          good = {.token = 6, .n = 50};
    Trigd__V1__FromDaemon *m;
    char limits[512];
    uint8_t result;

    (void)state;
    snprintf(limits, sizeof limits,
             "%slimits: {soft_ms: 50, hard_ms: 150}\nworkers: {hang_ms: 10000}\n", config);
    server_start(&s, limits, menu);
    link_open(&l, &s);
    link_hello(&l, "faults", 0);
    link_send_rois(&l, &stall, 1);
    m = link_expect(&l, TRIGD__V1__FROM_DAEMON__BODY_DECISIONS);
    assert_int_equal(m->decisions->decisions[0]->status, TRIGD__V1__STATUS__TIMEOUT);
    assert_true(m->decisions->decisions[0]->accept);
    assert_true(m->decisions->decisions[0]->late);
    assert_in_range(m->decisions->decisions[0]->latency_us, 150000, 400000);
    server_wait_counter(&s, "late_results", 1);
    link_send_rois(&l, &good, 1);
    link_collect(&l, 6, 1, &result);
    assert_int_equal(result & ~LATE, 1);
    assert_int_equal(server_counter(&s, "timeouts"), 1);
    link_end_well(&s, &l);
}

static void garbage_on_the_wire(void **state)
{
    struct server s;
    struct link l;
    const struct roi_spec good = {.token = 6, .n = 50};
    unsigned seed = (unsigned)fresh_seed();
    uint8_t result;

    (void)state;
    server_start(&s, config, menu);
    link_open(&l, &s);
    link_hello(&l, "faults", 0);
    for (uint32_t i = 0; i < 500; i++) {
        uint8_t noise[300];
        size_t n = 1 + (size_t)rand_r(&seed) % sizeof noise;

        for (size_t k = 0; k < n; k++)
            noise[k] = (uint8_t)rand_r(&seed);
        noise[0] = 0x13; /* a group tag: never part of a proto3 message of ours */
        link_send_bytes(&l, noise, n);
        assert_int_equal(link_expect(&l, TRIGD__V1__FROM_DAEMON__BODY_ERROR)->error->code,
                         TRIGD__V1__ERROR__CODE__MALFORMED);
    }
    assert_int_equal(zmq_send(l.socket, "a", 1, ZMQ_SNDMORE), 1);
    assert_int_equal(zmq_send(l.socket, "b", 1, 0), 1);
    link_expect(&l, TRIGD__V1__FROM_DAEMON__BODY_ERROR);
    link_send_rois(&l, &good, 1);
    link_collect(&l, 6, 1, &result);
    assert_int_equal(result, 1);
    assert_int_equal(server_counter(&s, "errors"), 501);
    link_end_well(&s, &l);
}

/* A client that is killed with RoIs in flight: they are decided, counted undeliverable, and others
 * are served. */
/* Sends four RoIs of n points in one message, the third with a value that is no number. */
static void send_with_nan(struct link *l, uint32_t n, uint32_t l1_bits)
{
    static float z[ROI_MAX_POINTS];
    Trigd__V1__ToDaemon m = TRIGD__V1__TO_DAEMON__INIT;
    Trigd__V1__RoiBatch batch = TRIGD__V1__ROI_BATCH__INIT;
    Trigd__V1__Roi rois[4], *list[4];
    Trigd__V1__Spacepoints points[4];

    for (uint32_t i = 0; i < 4; i++) {
        const struct roi_spec spec = {.token = i, .n = n, .l1_bits = l1_bits};

        roi_fill(&rois[i], &points[i], &spec);
        list[i] = &rois[i];
    }
    memcpy(z, points[2].z_mm, n * sizeof *z);
    z[7] = NAN;
    points[2].z_mm = z;
    batch.n_rois = 4;
    batch.rois = list;
    m.body_case = TRIGD__V1__TO_DAEMON__BODY_BATCH;
    m.batch = &batch;
    link_send(l, &m);
}

/* Wants three decisions and an Error about the third RoI. */
static void expect_one_error(struct link *l)
{
    uint32_t decided = 0, errors = 0;

    while (decided + errors < 4) {
        const Trigd__V1__FromDaemon *m = link_receive(l, 10000);

        assert_non_null(m);
        if (m->body_case == TRIGD__V1__FROM_DAEMON__BODY_DECISIONS) {
            for (size_t i = 0; i < m->decisions->n_decisions; i++)
                assert_int_not_equal(m->decisions->decisions[i]->token, 2);
            decided += (uint32_t)m->decisions->n_decisions;
        } else if (m->body_case == TRIGD__V1__FROM_DAEMON__BODY_ERROR) {
            assert_int_equal(m->error->code, TRIGD__V1__ERROR__CODE__NOT_FINITE);
            assert_int_equal(m->error->token, 2);
            assert_string_equal(m->error->text,
                                "RoI 2: value 7 of column z of its spacepoints is not a number; "
                                "only finite numbers are allowed");
            errors++;
        }
    }
    assert_int_equal(decided, 3);
}

/* Values are checked where they are copied: at the door of a small message, in the batch of a large
 * one, before the decision where no step reads them.  The answer is the same. */
static void a_value_that_is_no_number(void **state)
{
    static const char seeded[] =
        "name: faults\n"
        "streams: [physics]\n"
        "steps:\n"
        "  - {name: f, plugin: fault}\n"
        "chains:\n"
        "  - {name: c, id: 1, seeds: [1], steps: [{step: f}], prescale: 1,\n"
        "     streams: [physics]}\n";
    struct server s;
    struct link l;

    (void)state;
    server_start(&s, config, seeded);
    link_open(&l, &s);
    link_hello(&l, "faults", 0);
    send_with_nan(&l, 10, 2);
    expect_one_error(&l);
    assert_int_equal(server_counter(&s, "received"), 3);
    send_with_nan(&l, 1000, 2);
    expect_one_error(&l);
    assert_int_equal(server_counter(&s, "received"), 7);
    assert_int_equal(server_counter(&s, "failed"), 1);
    send_with_nan(&l, 1000, 1);
    expect_one_error(&l);
    assert_int_equal(server_counter(&s, "failed"), 2);
    link_end_well(&s, &l);
}

static void a_lost_client(void **state)
{
    struct server s;
    struct link l;
    int go[2];
    char byte;
    pid_t pid;

    (void)state;
    server_start(&s, config, menu);
    assert_int_equal(pipe(go), 0);
    pid = fork();
    if (!pid) {
        struct roi_spec specs[9] = {{.token = 0, .roi_id = FAULT_STALL, .n = 50}};

        for (uint32_t i = 1; i < 9; i++)
            specs[i] = (struct roi_spec){.token = i, .n = 50};
        link_open(&l, &s);
        link_hello(&l, "doomed", 0);
        link_send_rois(&l, specs, 9);
        while (server_counter(&s, "received") != 9) {
        }
        if (write(go[1], "", 1) == 1)
            pause();
        _exit(1);
    }
    assert_int_equal(read(go[0], &byte, 1), 1);
    assert_int_equal(kill(pid, SIGKILL), 0);
    waitpid(pid, NULL, 0);
    link_open(&l, &s);
    link_hello(&l, "survivor", 0);
    server_wait_counter(&s, "in_flight", 0);
    assert_int_equal(server_counter(&s, "accepted"), 9);
    assert_true(server_counter(&s, "undeliverable") >= 1);
    close(go[0]);
    close(go[1]);
    link_end_well(&s, &l);
}

/* A client that sends and never reads: it gets no more than its credits, and others are served. */
static void a_slow_client(void **state)
{
    struct server s;
    struct link slow, l;
    uint8_t result;
    const struct roi_spec good = {.token = 6, .n = 50};

    (void)state;
    server_start(&s, config, menu);
    link_open(&slow, &s);
    link_hello(&slow, "slow", 16);
    for (uint32_t i = 0; i < 3000; i++) {
        const struct roi_spec spec = {.token = i, .n = 50};

        link_send_rois(&slow, &spec, 1);
    }
    link_open(&l, &s);
    link_hello(&l, "faults", 0);
    link_send_rois(&l, &good, 1);
    link_collect(&l, 6, 1, &result);
    assert_int_equal(result, 1);
    link_close(&slow);
    link_end_well(&s, &l);
}

/* The disk is full (a quota of nothing): decisions go out, the loss is counted. */
static void a_full_disk(void **state)
{
    struct server s;
    struct link l;
    char full[512];
    const struct roi_spec bad = {.token = 1, .roi_id = FAULT_ROI, .n = 5};
    uint8_t result;

    (void)state;
    snprintf(full, sizeof full, "%.*sdebug_stream: {folder: debug, max_mbytes: 0}\n",
             (int)(strstr(config, "debug_stream") - config), config);
    server_start(&s, full, menu);
    link_open(&l, &s);
    link_hello(&l, "faults", 0);
    for (uint32_t i = 0; i < 3; i++) {
        link_send_rois(&l, &bad, 1);
        link_collect(&l, 1, 1, &result);
        assert_int_equal(result, DEBUG_ACCEPT(TRIGD__V1__STATUS__ALGO_FAILED));
    }
    server_wait_stream(&s, "debug", "lost_disk", 3);
    assert_int_equal(server_stream(&s, "debug", "rois"), 3);
    assert_int_equal(server_stream(&s, "debug", "waiting"), 0);
    link_end_well(&s, &l);
}

/* A disk that shall keep more space free than it has. */
static void a_disk_without_space(void **state)
{
    struct server s;
    struct link l;
    char full[512];
    const struct roi_spec bad = {.token = 1, .roi_id = FAULT_ROI, .n = 5};

    (void)state;
    snprintf(full, sizeof full, "%.*sdebug_stream: {folder: a/b/debug, max_mbytes: 1048576}\n",
             (int)(strstr(config, "debug_stream") - config), config);
    snprintf(full + strlen(full) - 2, 64, ", free_mbytes: 1048576}\n");
    server_start(&s, full, menu);
    link_open(&l, &s);
    link_hello(&l, "faults", 0);
    link_send_rois(&l, &bad, 1);
    link_collect(&l, 1, 1, NULL);
    server_wait_stream(&s, "debug", "lost_disk", 1);
    link_end_well(&s, &l);
}

/* Bursts are kept whole; what does not fit into the memory for what waits is lost for that reason.
 */
static void a_burst_for_the_debug_stream(void **state)
{
    static float column[100000]; /* 1.2 MiB an RoI */
    static unsigned char layer[100000];
    enum { ROUNDS = 8, EACH = 250 };
    struct roi_spec specs[EACH];
    struct server s;
    struct link l;
    char small[512];
    Trigd__V1__ToDaemon m = TRIGD__V1__TO_DAEMON__INIT;
    Trigd__V1__RoiBatch batch = TRIGD__V1__ROI_BATCH__INIT;
    Trigd__V1__Roi large = TRIGD__V1__ROI__INIT, *list = &large;
    Trigd__V1__Spacepoints points = TRIGD__V1__SPACEPOINTS__INIT;
    const struct roi_spec first = {.token = 9000, .roi_id = FAULT_ROI, .n = 5};

    (void)state;
    snprintf(small, sizeof small, "%.*sdebug_stream: {folder: debug, wait_mbytes: 1}\n",
             (int)(strstr(config, "debug_stream") - config), config);
    server_start(&s, small, menu);
    link_open(&l, &s);
    link_hello(&l, "faults", 0);
    for (uint32_t round = 0; round < ROUNDS; round++) {
        for (uint32_t i = 0; i < EACH; i++)
            specs[i] = (struct roi_spec){.token = round * EACH + i, .roi_id = FAULT_ROI, .n = 5};
        link_send_rois(&l, specs, EACH);
        link_collect(&l, round * EACH, EACH, NULL);
    }
    server_wait_stream(&s, "debug", "written", ROUNDS * EACH);
    roi_fill(&large, &points, &first);
    points.n_phi_rad = points.n_rho_mm = points.n_z_mm = points.layer.len = 100000;
    points.phi_rad = points.rho_mm = points.z_mm = column;
    points.layer.data = layer;
    batch.n_rois = 1;
    batch.rois = &list;
    m.body_case = TRIGD__V1__TO_DAEMON__BODY_BATCH;
    m.batch = &batch;
    link_send(&l, &m);
    link_collect(&l, 9000, 1, NULL);
    server_wait_stream(&s, "debug", "lost_memory", 1);
    assert_int_equal(server_stream(&s, "debug", "rois"), ROUNDS * EACH + 1);
    link_end_well(&s, &l);
}

/* What the debug stream keeps is the RoI that was sent. */
static void the_debug_stream_keeps_the_roi(void **state)
{
    struct server s;
    struct link l;
    const struct roi_spec bad = {.token = 42, .l1id = 7, .roi_id = FAULT_ROI, .n = 33};
    struct roifile_reader *file;
    Trigd__V1__RoiBatch *batch;
    const void *bytes;
    char path[512];
    size_t n;
    Trigd__V1__Roi want;
    Trigd__V1__Spacepoints points;

    (void)state;
    server_start(&s, config, menu);
    link_open(&l, &s);
    link_hello(&l, "faults", 0);
    link_send_rois(&l, &bad, 1);
    link_collect(&l, 42, 1, NULL);
    server_wait_stream(&s, "debug", "written", 1);
    server_debug_file(&s, path, sizeof path);
    assert_int_equal(roifile_open(path, &file), 0);
    assert_int_equal(roifile_next(file, &bytes, &n), 1);
    batch = trigd__v1__roi_batch__unpack(NULL, n, bytes);
    assert_non_null(batch);
    roi_fill(&want, &points, &bad);
    assert_int_equal(batch->rois[0]->token, 42);
    assert_int_equal(batch->rois[0]->l1id, 7);
    assert_int_equal(batch->rois[0]->spacepoints->n_phi_rad, 33);
    assert_memory_equal(batch->rois[0]->spacepoints->z_mm, points.z_mm, 33 * sizeof(float));
    assert_memory_equal(batch->rois[0]->spacepoints->layer.data, points.layer.data, 33);
    assert_int_equal(batch->rois[0]->kept->status, TRIGD__V1__STATUS__ALGO_FAILED);
    assert_string_equal(batch->rois[0]->kept->reason,
                        "the plugin gave it up (TRG_FAILED); step f, plugin fault 1.0.0");
    assert_true(batch->rois[0]->kept->unix_s > 0);
    trigd__v1__roi_batch__free_unpacked(batch, NULL);
    roifile_close(file);
    link_end_well(&s, &l);
}

/* SIGTERM with RoIs in flight: all of them are answered. */
static void sigterm_drains(void **state)
{
    struct server s;
    struct link l;
    struct roi_spec specs[64];
    uint8_t result[64];

    (void)state;
    server_start(&s, config, menu);
    link_open(&l, &s);
    link_hello(&l, "faults", 0);
    for (uint32_t i = 0; i < 64; i++)
        specs[i] = (struct roi_spec){.token = i, .roi_id = i ? 0 : FAULT_STALL, .n = 50};
    link_send_rois(&l, specs, 64);
    server_wait_counter(&s, "received", 64);
    assert_int_equal(server_end(&s, SIGTERM, 30), 0);
    link_collect(&l, 0, 64, result);
    for (uint32_t i = 0; i < 64; i++)
        assert_int_equal(result[i] & 127, 1);
    link_close(&l);
    server_clean(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_bad_roi),
        cmocka_unit_test(failed_batches),
        cmocka_unit_test(a_stalled_plugin),
        cmocka_unit_test(garbage_on_the_wire),
        cmocka_unit_test(a_value_that_is_no_number),
        cmocka_unit_test(a_lost_client),
        cmocka_unit_test(a_slow_client),
        cmocka_unit_test(a_full_disk),
        cmocka_unit_test(the_debug_stream_keeps_the_roi),
        cmocka_unit_test(sigterm_drains),
        cmocka_unit_test(a_disk_without_space),
        cmocka_unit_test(a_burst_for_the_debug_stream),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
