/* SPDX-License-Identifier: Apache-2.0 */
/* The same conversation as over ZeroMQ: credits, decisions, Busy, Error, drain, heartbeats. */
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

#include <cmocka.h>

#include "fault.h"
#include "roifile.h"
#include "sanitized.h"
#include "sharer.h"

#ifdef IS_SANITIZED /* that a replay of it outlasts three restarts */
#define MANY "20000"
#else
#define MANY "60000"
#endif

static const char config[] = "devices: [{backend: cpu, index: 0, lanes: 1, slots: 2}]\n"
                             "batching: {max_rois: 8}\n"
                             "clients: {credits: 32, shm_mbytes: 8, max_layer: 7}\n"
                             "debug_stream: {folder: debug}\n";
static const char menu[] = "name: flow\n"
                           "streams: [physics]\n"
                           "steps:\n"
                           "  - {name: f, plugin: fault, params: {stall_ms: 300}}\n"
                           "chains:\n"
                           "  - {name: c, id: 1, steps: [{step: f, cuts: [{value: n, min: 10}]}],\n"
                           "     streams: [physics]}\n";

/* Decisions are those that the plugin makes of each RoI's own data, beside a ZeroMQ client's. */
static void decides(void **state)
{
    struct server s;
    struct sharer c;
    struct link l;
    struct roi_spec specs[24];
    uint8_t here[24], there[24];

    (void)state;
    sharer_server(&s, config, menu);
    sharer_open(&c, &s);
    link_open(&l, &s);
    assert_int_equal(sharer_hello(&c, "shm", 0), 32);
    link_hello(&l, "zmq", 0);
    for (uint32_t i = 0; i < 24; i++)
        specs[i] = (struct roi_spec){.token = 100 + i, .l1id = i, .n = i * 3 % 24};
    for (int round = 0; round < 20; round++) {
        sharer_send_rois(&c, specs, 24);
        link_send_rois(&l, specs, 24);
        sharer_collect(&c, 100, 24, here);
        link_collect(&l, 100, 24, there);
        for (uint32_t i = 0; i < 24; i++) {
            assert_int_equal(here[i], specs[i].n >= 10);
            assert_int_equal(there[i], here[i]);
        }
    }
    assert_int_equal(server_counter(&s, "received"), 2 * 20 * 24);
    sharer_close(&c);
    link_close(&l);
    server_end_well(&s);
}

/* Bad RoIs are answered one by one and change nothing else. */
static void refuses(void **state)
{
    const struct roi_spec good = {.token = 3, .n = 20};
    struct server s;
    struct sharer c;
    struct shm_roi e;
    Trigd__V1__FromDaemon *m;
    float *phi;

    (void)state;
    sharer_server(&s, config, menu);
    sharer_open(&c, &s);
    sharer_hello(&c, "shm", 0);
    e = sharer_write(&c, &good, &phi);
    phi[4] = 77;
    e.token = 1;
    sharer_put(&c, &e);
    m = sharer_expect(&c, TRIGD__V1__FROM_DAEMON__BODY_ERROR);
    assert_int_equal(m->error->code, TRIGD__V1__ERROR__CODE__OUT_OF_RANGE);
    assert_true(m->error->has_token && m->error->token == 1);
    e.in[0].at = 1ull << 60;
    e.token = 2;
    sharer_put(&c, &e);
    m = sharer_expect(&c, TRIGD__V1__FROM_DAEMON__BODY_ERROR);
    assert_int_equal(m->error->code, TRIGD__V1__ERROR__CODE__LENGTHS);
    assert_int_equal(m->error->token, 2);
    e.kinds = 0;
    sharer_put(&c, &e);
    m = sharer_expect(&c,
                      TRIGD__V1__FROM_DAEMON__BODY_DECISIONS); /* its chains fail, it does not */
    assert_int_equal(m->decisions->decisions[0]->n_missing, 1);
    e.type = 64;
    sharer_put(&c, &e);
    m = sharer_expect(&c, TRIGD__V1__FROM_DAEMON__BODY_ERROR);
    assert_int_equal(m->error->code, TRIGD__V1__ERROR__CODE__OUT_OF_RANGE);
    assert_string_equal(m->error->text, "RoI 2: its type is 64; 0 to 63 are allowed");
    sharer_send_rois(&c, &good, 1);
    sharer_collect(&c, 3, 1, NULL);
    assert_int_equal(server_counter(&s, "errors"), 3);
    /* a lane saw the first one, so that it had been received: in the books it failed */
    assert_int_equal(server_counter(&s, "received"), 3);
    assert_int_equal(server_counter(&s, "failed"), 1);
    sharer_close(&c);
    server_end_well(&s);
}

/* Sends an RoI with a value that is not allowed and expects the sentence of a message for it. */
static void expect_refusal(struct sharer *c, uint64_t token, uint32_t l1_bits)
{
    const struct roi_spec spec = {.token = token, .n = 30};
    char sentence[192];
    Trigd__V1__FromDaemon *m;
    struct shm_roi e;
    float *phi;

    e = sharer_write(c, &spec, &phi);
    e.info.l1_bits = l1_bits;
    phi[7] = 5;
    sharer_put(c, &e);
    m = sharer_expect(c, TRIGD__V1__FROM_DAEMON__BODY_ERROR);
    snprintf(sentence, sizeof sentence,
             "RoI %llu: value 7 of column phi of its spacepoints is 5; -3.1416 to 3.1416 rad is "
             "allowed",
             (unsigned long long)token);
    assert_string_equal(m->error->text, sentence);
    assert_int_equal(m->error->code, TRIGD__V1__ERROR__CODE__OUT_OF_RANGE);
    assert_true(m->error->has_token && m->error->token == token);
}

/* Values that no step reads are looked at all the same: an RoI that no chain wants, one whose chain
 * is prescaled away, one whose chain ends before the step that would read them, one that two
 * steps read. */
static void refuses_what_nobody_reads(void **state)
{
    static const char many[] =
        "name: many\n"
        "streams: [physics]\n"
        "steps:\n"
        "  - {name: f, plugin: fault, params: {stall_ms: 300}}\n"
        "  - {name: g, plugin: fault, params: {stall_ms: 301}}\n"
        "chains:\n"
        "  - {name: off, id: 1, seeds: [1], steps: [{step: f}], prescale: 0, streams: [physics]}\n"
        "  - {name: f, id: 2, seeds: [2], steps: [{step: f}], streams: [physics]}\n"
        "  - {name: g, id: 3, seeds: [3], steps: [{step: g}], streams: [physics]}\n"
        "  - {name: h, id: 4, seeds: [4], steps: [{step: f}, {step: g}], streams: [physics]}\n";
    const struct roi_spec good = {.token = 9, .n = 20};
    struct server s;
    struct sharer c;

    (void)state;
    sharer_server(&s, config, many);
    sharer_open(&c, &s);
    sharer_hello(&c, "shm", 0);
    expect_refusal(&c, 1, 0);                 /* seeds nothing */
    expect_refusal(&c, 2, 1u << 1);           /* prescaled away */
    expect_refusal(&c, 3, 1u << 2 | 1u << 3); /* read by two steps at once: one answer */
    expect_refusal(&c, 4, 1u << 4);
    sharer_send_rois(&c, &good, 1);
    sharer_collect(&c, 9, 1, NULL);
    server_wait_counter(&s, "in_flight", 0);
    assert_int_equal(server_counter(&s, "errors"), 4);
    assert_int_equal(server_counter(&s, "failed"), 4);
    assert_int_equal(server_counter(&s, "received"), 5);
    server_wait_counter(&s, "pool_rois", 0);
    sharer_close(&c);
    server_end_well(&s);
}

/* More RoIs than credits: Busy for those beyond, a decision for each of the others. */
static void overruns(void **state)
{
    struct server s;
    struct sharer c;
    struct roi_spec specs[40];
    uint32_t decided = 0, busy = 0;
    uint8_t seen[40] = {0};

    (void)state;
    sharer_server(&s, config, menu);
    sharer_open(&c, &s);
    assert_int_equal(sharer_hello(&c, "shm", 10), 10);
    for (uint32_t i = 0; i < 40; i++)
        specs[i] =
            (struct roi_spec){.token = i, .n = 20, .roi_id = i == 0 ? FAULT_STALL : FAULT_NONE};
    sharer_send_rois(&c, specs, 40);
    while (decided + busy < 40) {
        Trigd__V1__FromDaemon *m = sharer_receive(&c, 10000, NULL);

        assert_non_null(m);
        if (m->body_case == TRIGD__V1__FROM_DAEMON__BODY_BUSY) {
            assert_int_equal(m->busy->reason, TRIGD__V1__BUSY__REASON__NO_CREDIT);
            for (size_t i = 0; i < m->busy->n_tokens; i++, busy++)
                assert_int_equal(seen[m->busy->tokens[i]]++, 0);
        } else {
            assert_int_equal(m->body_case, TRIGD__V1__FROM_DAEMON__BODY_DECISIONS);
            for (size_t i = 0; i < m->decisions->n_decisions; i++, decided++) {
                const Trigd__V1__Decision *d = m->decisions->decisions[i];

                assert_int_equal(seen[d->token]++, 0);
                assert_true(d->lane_us <= d->latency_us);
                if (d->token == 0) /* it was held up in its lane */
                    assert_true(d->lane_us >= 300000);
            }
        }
    }
    assert_true(decided >= 10);
    assert_int_equal(server_counter(&s, "credit_violations"), busy);
    assert_true(busy > 0);
    sharer_close(&c);
    server_end_well(&s);
}

/* RoIs in the debug stream's file; each has the spacepoints that were sent. */
static uint32_t count_kept(const struct server *s, uint32_t n_points)
{
    char path[512];
    struct roifile_reader *file;
    const void *bytes;
    uint32_t n = 0;
    size_t size;

    server_debug_file(s, path, sizeof path);
    assert_int_equal(roifile_open(path, &file), 0);
    while (roifile_next(file, &bytes, &size) == 1) {
        Trigd__V1__RoiBatch *b = trigd__v1__roi_batch__unpack(NULL, size, bytes);

        assert_non_null(b);
        assert_int_equal(b->n_rois, 1);
        assert_int_equal(b->rois[0]->spacepoints->n_phi_rad, n_points);
        for (uint32_t k = 0; k < n_points; k++)
            assert_true(b->rois[0]->spacepoints->phi_rad[k] < 2);
        trigd__v1__roi_batch__free_unpacked(b, NULL);
        n++;
    }
    roifile_close(file);
    return n;
}

/* An RoI of the debug stream is kept as it was sent, although the client uses the memory again as
 * soon as it may. */
static void debug_stream(void **state)
{
    struct server s;
    struct sharer c;
    struct roi_spec spec = {.n = 21, .roi_id = FAULT_ROI};
    uint8_t result;
    float *phi;

    (void)state;
    sharer_server(&s, config, menu);
    sharer_open(&c, &s);
    sharer_hello(&c, "shm", 0);
    for (uint32_t i = 0; i < 20; i++) {
        struct shm_roi e;

        spec.token = i;
        e = sharer_write(&c, &spec, &phi);
        sharer_put(&c, &e);
        sharer_collect(&c, i, 1, &result);
        assert_int_equal(result, 1u | TRIGD__V1__STATUS__ALGO_FAILED << 1);
        for (uint32_t k = 0; k < spec.n; k++)
            phi[k] = 99; /* ours again */
        shmclient_give(c.client, e.in[0].at, shm_collection_bytes(TRG_SPACEPOINTS, false, spec.n));
    }
    sharer_close(&c);
    assert_int_equal(server_end(&s, SIGTERM, 30), 0);
    assert_int_equal(count_kept(&s, spec.n), 20);
    server_clean(&s);
}

static void drains(void **state)
{
    const struct roi_spec spec = {.token = 5, .n = 20};
    struct server s;
    struct sharer c;
    Trigd__V1__FromDaemon *m;

    (void)state;
    sharer_server(&s, config, menu);
    sharer_open(&c, &s);
    sharer_hello(&c, "shm", 0);
    free(server_ask(&s, "drain"));
    sharer_send_rois(&c, &spec, 1);
    m = sharer_expect(&c, TRIGD__V1__FROM_DAEMON__BODY_BUSY);
    assert_int_equal(m->busy->reason, TRIGD__V1__BUSY__REASON__DRAINING);
    assert_int_equal(m->busy->tokens[0], 5);
    free(server_ask(&s, "resume"));
    sharer_send_rois(&c, &spec, 1);
    sharer_collect(&c, 5, 1, NULL);
    sharer_close(&c);
    server_end_well(&s);
}

/* SIGTERM with RoIs in flight: they are decided, the answers come, then the daemon hangs up. */
static void stops(void **state)
{
    struct server s;
    struct sharer c;
    struct roi_spec specs[16];

    (void)state;
    sharer_server(&s, config, menu);
    sharer_open(&c, &s);
    sharer_hello(&c, "shm", 0);
    for (uint32_t i = 0; i < 16; i++)
        specs[i] =
            (struct roi_spec){.token = i, .n = 20, .roi_id = i == 0 ? FAULT_STALL : FAULT_NONE};
    sharer_send_rois(&c, specs, 16);
    server_wait_counter(&s, "received", 16);
    assert_int_equal(kill(s.pid, SIGTERM), 0);
    sharer_collect(&c, 0, 16, NULL);
    sharer_expect_gone(&c);
    sharer_close(&c);
    assert_int_equal(server_end(&s, 0, 30), 0);
    server_clean(&s);
}

static void heartbeats(void **state)
{
    Trigd__V1__ToDaemon m = TRIGD__V1__TO_DAEMON__INIT;
    Trigd__V1__Heartbeat beat = TRIGD__V1__HEARTBEAT__INIT;
    struct server s;
    struct sharer c;

    (void)state;
    sharer_server(&s, config, menu);
    sharer_open(&c, &s);
    sharer_hello(&c, "shm", 0);
    beat.sent_ns = 123456789;
    m.body_case = TRIGD__V1__TO_DAEMON__BODY_HEARTBEAT;
    m.heartbeat = &beat;
    sharer_tell(&c, &m);
    assert_int_equal(sharer_expect(&c, TRIGD__V1__FROM_DAEMON__BODY_HEARTBEAT)->heartbeat->sent_ns,
                     123456789);
    sharer_hello(&c, "shm", 0); /* again: the same region, the same credits */
    assert_int_equal(server_counter(&s, "clients"), 1);
    sharer_close(&c);
    server_wait_counter(&s, "clients", 0);
    server_end_well(&s);
}

/* Starts the replayer over shared memory. */
static pid_t start_replay(const struct server *s, const char *rois)
{
    char program[256], path[128];
    pid_t pid;

    snprintf(program, sizeof program, "%s/bin/trigreplay", getenv("TRIGD_BUILD"));
    snprintf(path, sizeof path, "%s/shm", s->folder);
    pid = fork();
    assert_true(pid >= 0);
    if (!pid) {
        execl(program, program, "run", "--transport", "shm", "--connect", path, "--rois", rois,
              "--distinct", "50", "--connections", "3", "--threads", "2", "--truth", "none",
              "--seed", "1", "--quiet", (char *)NULL);
        _exit(127);
    }
    return pid;
}

/* Every RoI had exactly one answer; that layers above 7 are refused is one as well. */
static void expect_whole(pid_t replay)
{
    int status;

    assert_int_equal(waitpid(replay, &status, 0), replay);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

static void replays(void **state)
{
    struct server s;

    (void)state;
    sharer_server(&s, config, menu);
    expect_whole(start_replay(&s, "5000"));
    assert_int_equal(server_counter(&s, "received"), 5000);
    assert_int_equal(server_counter(&s, "errors"), server_counter(&s, "failed"));
    assert_true(server_counter(&s, "errors") > 0);
    server_end_well(&s);
}

/* The daemon is killed and started anew under a replayer, which goes on where it was. */
static void replays_over_restarts(void **state)
{
    struct server s;
    pid_t replay;
    int status;

    (void)state;
    sharer_server(&s, config, menu);
    replay = start_replay(&s, MANY);
    for (int i = 0; i < 3; i++) {
        while (server_counter(&s, "received") < 2000)
            ;
        assert_int_equal(kill(s.pid, SIGKILL), 0);
        assert_int_equal(waitpid(s.pid, &status, 0), s.pid);
        server_spawn(&s);
    }
    expect_whole(replay);
    assert_true(server_counter(&s, "received") > 0);
    server_end_well(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(decides),
        cmocka_unit_test(refuses),
        cmocka_unit_test(refuses_what_nobody_reads),
        cmocka_unit_test(overruns),
        cmocka_unit_test(debug_stream),
        cmocka_unit_test(drains),
        cmocka_unit_test(stops),
        cmocka_unit_test(heartbeats),
        cmocka_unit_test(replays),
        cmocka_unit_test(replays_over_restarts),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
