/* SPDX-License-Identifier: Apache-2.0 */
/* RoIs of streams on disk: every accepted one is in a file or counted, whatever happens to the disk
 * and to the daemon. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "clock.h"
#include "harness.h"
#include "held.h"

#define BIG        4096 /* points: 52 KiB */
#define DEVICES    "devices: [{backend: cpu, index: 0, lanes: 2, slots: 2}]\n"
#define LUMI_BLOCK 50  /* RoIs in one */
#define FLOOD      100 /* BIG RoIs: 5 MiB */

/* RoIs with points go to physics, one in four of those with L1 bit 1 to express. */
static const char menu[] =
    "name: streams\n"
    "streams: [physics, express]\n"
    "steps:\n"
    "  - {name: f, plugin: fault}\n"
    "chains:\n"
    "  - {name: some, id: 1, steps: [{step: f, cuts: [{value: n, min: 1}]}], streams: [physics]}\n"
    "  - {name: few, id: 2, seeds: [1], steps: [{step: f}], prescale: 4, streams: [express]}\n";

/* ---------------------------------------------------------------- sending */

/* Sends one RoI of the lumi block that its number gives; its token is its number. */
static void send_roi(struct link *l, uint32_t l1id, uint32_t n_points)
{
    const struct roi_spec spec = {.token = l1id, .l1id = l1id, .l1_bits = l1id % 4, .n = n_points};
    Trigd__V1__ToDaemon m = TRIGD__V1__TO_DAEMON__INIT;
    Trigd__V1__RoiBatch batch = TRIGD__V1__ROI_BATCH__INIT;
    Trigd__V1__Roi roi, *list = &roi;
    Trigd__V1__Spacepoints points;

    roi_fill(&roi, &points, &spec);
    roi.lumi_block = 1 + l1id / LUMI_BLOCK;
    batch.n_rois = 1;
    batch.rois = &list;
    m.body_case = TRIGD__V1__TO_DAEMON__BODY_BATCH;
    m.batch = &batch;
    link_send(l, &m);
}

/* Sends RoIs and waits for their decisions, 16 at a time; returns how many were accepted. */
static uint32_t send_rois(struct link *l, uint32_t first, uint32_t n, uint32_t n_points)
{
    uint32_t accepted = 0;

    for (uint32_t i = 0; i < n; i += 16) {
        const uint32_t now = n - i < 16 ? n - i : 16;
        uint8_t result[16];

        for (uint32_t k = 0; k < now; k++)
            send_roi(l, first + i + k, n_points);
        link_collect(l, first + i, now, result);
        for (uint32_t k = 0; k < now; k++)
            accepted += result[k] & 1;
    }
    return accepted;
}

static void begin(struct server *s, struct link *l, const char *config)
{
    server_start(s, config, menu);
    link_open(l, s);
    assert_true(link_hello(l, "streams", 0) > 0);
}

/* rois = written + waiting + lost_*. */
static void check_books(struct server *s, const char *stream)
{
    assert_int_equal(server_stream(s, stream, "rois"), server_stream(s, stream, "written") +
                                                           server_stream(s, stream, "waiting") +
                                                           server_stream(s, stream, "lost_memory") +
                                                           server_stream(s, stream, "lost_disk") +
                                                           server_stream(s, stream, "lost_error"));
}

static void wait_until(bool (*is_true)(struct server *s, struct link *l), struct server *s,
                       struct link *l)
{
    const struct timespec nap = {.tv_nsec = 5000000};
    const uint64_t limit = clock_ns() + SERVER_PATIENCE_MS * NS_PER_MS;

    while (!is_true(s, l)) {
        assert_true(clock_ns() < limit);
        nanosleep(&nap, NULL);
    }
}

/* ---------------------------------------------------------------- tests */

static void accepted_rois_are_in_the_files(void **state)
{
    struct server s;
    struct link l;
    struct held physics, express;
    const Trigd__V1__Decision *d;
    const Trigd__V1__Roi *roi;
    uint64_t n_express;

    (void)state;
    begin(&s, &l, DEVICES "streams: [{stream: physics}, {stream: express, level: 0}]\n");
    assert_int_equal(send_rois(&l, 0, 200, 9), 200);
    send_rois(&l, 200, 40, 0); /* without points: not for physics */
    assert_int_equal(server_stream(&s, "physics", "rois"), 200);
    n_express = server_stream(&s, "express", "rois");
    check_books(&s, "physics");
    check_books(&s, "express");
    link_close(&l);
    assert_int_equal(server_end(&s, SIGTERM, 10), 0);
    held_read(&s, "physics-r000001-b0001-m*-0001.roi", &physics);
    held_read(&s, "express-*.roi", &express);
    assert_int_equal(physics.n_files, 1);
    assert_int_equal(physics.n_rois, 200);
    assert_int_equal(physics.n_twice + express.n_twice, 0);
    for (uint32_t i = 0; i < 240; i++)
        assert_int_equal(physics.seen[i], i < 200);
    assert_true(n_express > 10);
    assert_int_equal(express.n_rois, n_express);
    roi = physics.first->rois[0];
    d = roi->kept->decision;
    assert_int_equal(roi->spacepoints->n_phi_rad, 9);
    assert_int_equal(roi->lumi_block, 1);
    assert_int_equal(d->accept, 1);
    assert_int_equal(d->n_results, 1);
    assert_true(d->results[0]->values[0] == 9.0f);
    assert_true(d->menu_key && d->menu_key == roi->kept->menu_key);
    held_free(&physics);
    held_free(&express);
    server_clean(&s);
}

static void a_file_for_each_lumi_block(void **state)
{
    struct server s;
    struct link l;
    struct held all, one;

    (void)state;
    begin(&s, &l, DEVICES "streams: [{stream: physics, by_lumi_block: true}]\n");
    send_rois(&l, 0, 6 * LUMI_BLOCK, 3);
    send_rois(&l, 6 * LUMI_BLOCK, 10, 3);
    send_rois(&l, 5 * LUMI_BLOCK, 2, 3); /* late, and there twice: its file is open yet */
    link_close(&l);
    assert_int_equal(server_end(&s, SIGTERM, 10), 0);
    held_read(&s, "physics-*.roi", &all);
    held_read(&s, "physics-r000001-b0006-*.roi", &one);
    assert_int_equal(all.n_files, 7);
    assert_int_equal(all.n_rois, 6 * LUMI_BLOCK + 12);
    assert_int_equal(one.n_files, 1);
    assert_int_equal(one.n_rois, LUMI_BLOCK + 2);
    assert_int_equal(one.n_twice, 2);
    held_free(&all);
    held_free(&one);
    server_clean(&s);
}

static void a_file_ends_with_its_size(void **state)
{
    struct server s;
    struct link l;
    struct held all;

    (void)state;
    begin(&s, &l,
          DEVICES
          "streams: [{stream: physics, file_mbytes: 1, level: 0, file_s: 0, flush_ms: 5}]\n");
    send_rois(&l, 0, 100, BIG);
    server_wait_stream(&s, "physics", "written", 100);
    /* 5 MiB in blocks of at most 1 MiB, which end a file or come close: 3 files at least */
    assert_true(server_stream(&s, "physics", "files") >= 2);
    link_close(&l);
    assert_int_equal(server_end(&s, SIGTERM, 10), 0);
    held_read(&s, "physics-*.roi", &all);
    assert_true(all.n_files >= 3 && all.n_files <= 6);
    assert_int_equal(all.n_rois, 100);
    assert_int_equal(all.n_twice, 0);
    held_free(&all);
    server_clean(&s);
}

static bool is_recovered(struct server *s, struct link *l)
{
    struct held h;

    (void)l;
    held_read(s, "physics-*.part", &h);
    held_free(&h);
    return h.n_files == 0;
}

/* What was counted as written before the daemon was killed is in the file, and nothing twice. */
static void a_killed_daemon_leaves_its_files(void **state)
{
    struct server s;
    struct link l;
    struct held h;
    uint64_t written;

    (void)state;
    begin(&s, &l, DEVICES "streams: [{stream: physics, flush_ms: 5, sync_ms: 10}]\n");
    send_rois(&l, 0, 300, 9);
    server_wait_stream(&s, "physics", "written", 300);
    for (uint32_t i = 0; i < 500; i++) /* while it writes */
        send_roi(&l, 300 + i, 400);
    while ((written = server_stream(&s, "physics", "written")) == 300) {
    }
    assert_int_equal(server_end(&s, SIGKILL, 10), 128 + SIGKILL);
    link_close(&l);
    held_read(&s, "physics-*.part", &h);
    assert_int_equal(h.n_files, 1);
    assert_true(h.n_rois >= written && h.n_rois <= 800);
    assert_int_equal(h.n_twice, 0);
    for (uint32_t i = 0; i < 300; i++)
        assert_int_equal(h.seen[i], 1);
    written = h.n_rois;
    held_free(&h);
    server_spawn(&s);
    wait_until(is_recovered, &s, NULL);
    held_read(&s, "physics-*.roi", &h);
    assert_int_equal(h.n_files, 1);
    assert_int_equal(h.n_rois, written);
    held_free(&h);
    server_stop(&s);
}

/* A full disk (its quota): RoIs are lost and counted, decisions are made; room is used again. */
static void a_full_disk_drops_and_counts(void **state)
{
    struct server s;
    struct link l;
    struct held h;
    uint64_t lost;

    (void)state;
    begin(&s, &l,
          DEVICES "streams: [{stream: physics, level: 0, file_mbytes: 1, quota_mbytes: 2, "
                  "flush_ms: 5}]\n");
    assert_int_equal(send_rois(&l, 0, 80, BIG), 80); /* 4 MiB */
    server_wait_stream(&s, "physics", "waiting", 0);
    lost = server_stream(&s, "physics", "lost_disk");
    assert_true(lost >= 40 && lost < 80);
    assert_int_equal(server_stream(&s, "physics", "written"), 80 - lost);
    assert_int_equal(server_stream(&s, "physics", "stops"), 0);
    assert_true(held_remove(&s, "physics-*.roi") >= 1);
    usleep(150000); /* the folder is looked at ten times a second */
    assert_int_equal(send_rois(&l, 80, 5, 100), 5);
    server_wait_stream(&s, "physics", "written", 85 - lost);
    check_books(&s, "physics");
    server_check_ledger(&s);
    link_close(&l);
    assert_int_equal(server_end(&s, SIGTERM, 10), 0);
    held_read(&s, "physics-*", &h);
    for (uint32_t i = 80; i < 85; i++)
        assert_int_equal(h.seen[i], 1);
    held_free(&h);
    server_clean(&s);
}

static uint32_t n_taken; /* RoIs that were not answered Busy */

static bool is_busy(struct server *s, struct link *l)
{
    Trigd__V1__FromDaemon *m;

    (void)s;
    send_roi(l, n_taken, BIG);
    while ((m = link_receive(l, 2000)) != NULL) {
        if (m->body_case == TRIGD__V1__FROM_DAEMON__BODY_BUSY)
            return true;
        if (m->body_case == TRIGD__V1__FROM_DAEMON__BODY_DECISIONS) {
            n_taken++;
            return false;
        }
    }
    fail_msg("no answer");
    return true;
}

static bool is_taken(struct server *s, struct link *l)
{
    return !is_busy(s, l);
}

/* The other policy: no RoI is taken before there is room, and none is lost. */
static void a_full_disk_stops_the_daemon(void **state)
{
    struct server s;
    struct link l;
    struct held h;
    uint64_t removed;

    (void)state;
    begin(&s, &l,
          DEVICES "streams: [{stream: physics, level: 0, file_mbytes: 1, quota_mbytes: 2, "
                  "flush_ms: 5, when_full: stop}]\n");
    n_taken = 0;
    wait_until(is_busy, &s, &l);
    assert_true(n_taken > 20 && n_taken < 200);
    assert_int_equal(server_stream(&s, "physics", "is_stopping"), 1);
    assert_int_equal(server_stream(&s, "physics", "stops"), 1);
    check_books(&s, "physics");
    held_read(&s, "physics-*.roi", &h);
    removed = h.n_rois;
    held_free(&h);
    assert_true(held_remove(&s, "physics-*.roi") >= 1);
    wait_until(is_taken, &s, &l);
    server_wait_stream(&s, "physics", "waiting", 0);
    assert_int_equal(server_stream(&s, "physics", "is_stopping"), 0);
    assert_int_equal(server_stream(&s, "physics", "rois"), n_taken);
    assert_int_equal(server_stream(&s, "physics", "written"), n_taken);
    server_check_ledger(&s);
    link_close(&l);
    assert_int_equal(server_end(&s, SIGTERM, 10), 0);
    held_read(&s, "physics-*.roi", &h);
    assert_int_equal(h.n_rois + removed, n_taken);
    assert_int_equal(h.n_twice, 0);
    held_free(&h);
    server_clean(&s);
}

/* A disk that takes nothing any more when the daemon ends holds it up for drain_ms only. */
static void a_full_disk_does_not_hold_up_the_end(void **state)
{
    struct server s;
    struct link l;

    (void)state;
    begin(&s, &l,
          DEVICES "streams: [{stream: physics, free_mbytes: 1073741824, flush_ms: 5, "
                  "when_full: stop}]\n");
    n_taken = 0;
    wait_until(is_busy, &s, &l);
    assert_true(n_taken >= 1);
    assert_int_equal(server_stream(&s, "physics", "waiting"), n_taken);
    link_close(&l);
    assert_int_equal(server_end(&s, SIGTERM, 10), 0);
    server_clean(&s);
}

/* Sends without waiting for decisions; returns how many were decided, the others were Busy. */
static uint32_t flood(struct link *l, uint32_t n)
{
    uint32_t answered = 0, decided = 0;

    for (uint32_t i = 0; i < n; i++)
        send_roi(l, i, BIG);
    while (answered < n) {
        const Trigd__V1__FromDaemon *m = link_receive(l, 10000);

        assert_non_null(m);
        if (m->body_case == TRIGD__V1__FROM_DAEMON__BODY_BUSY)
            answered += (uint32_t)m->busy->n_tokens;
        if (m->body_case == TRIGD__V1__FROM_DAEMON__BODY_DECISIONS) {
            answered += (uint32_t)m->decisions->n_decisions;
            decided += (uint32_t)m->decisions->n_decisions;
        }
    }
    return decided;
}

/* A writer that is slower than the RoIs come (the strongest compression): decisions do not wait. */
static void a_slow_writer(void **state)
{
    static const char *const config[] = {
        DEVICES "streams: [{stream: physics, level: 19, wait_mbytes: 1}]\n",
        DEVICES "streams: [{stream: physics, level: 19, wait_mbytes: 1, when_full: stop}]\n"};

    (void)state;
    for (uint32_t stops = 0; stops < 2; stops++) {
        struct server s;
        struct link l;
        struct held h;
        uint64_t lost;
        uint32_t decided;

        begin(&s, &l, config[stops]);
        decided = flood(&l, FLOOD);
        server_wait_stream(&s, "physics", "waiting", 0);
        lost = server_stream(&s, "physics", "lost_memory");
        assert_int_equal(server_stream(&s, "physics", "rois"), decided);
        assert_int_equal(server_stream(&s, "physics", "written"), decided - lost);
        if (stops)
            assert_int_equal(lost, 0);
        else
            assert_true(lost > 0 && decided == FLOOD);
        assert_int_equal(server_stream(&s, "physics", "stops") > 0, stops);
        link_close(&l);
        assert_int_equal(server_end(&s, SIGTERM, 20), 0);
        held_read(&s, "physics-*.roi", &h);
        assert_int_equal(h.n_rois, decided - lost);
        held_free(&h);
        server_clean(&s);
    }
}

/* What the menu says that files hold: here what the z-finder made, and not the RoI's own data. */
static void files_hold_what_the_stream_asks_for(void **state)
{
    static const char keeps[] =
        "streams: [physics, turbo]\n"
        "keep:\n"
        "  - {stream: turbo, payload: false, products: [z]}\n"
        "  - {stream: physics, results: false}\n"
        "steps:\n"
        "  - {name: z, plugin: zfinder}\n"
        "chains:\n"
        "  - {name: all, id: 1, steps: [{step: z}], streams: [physics, turbo]}\n";
    struct server s;
    struct link l;
    struct held physics, turbo;
    const Trigd__V1__Kept *kept;

    (void)state;
    server_start(&s, DEVICES "streams: [{stream: physics}, {stream: turbo}]\n", keeps);
    link_open(&l, &s);
    link_hello(&l, "streams", 0);
    assert_int_equal(send_rois(&l, 0, 20, 300), 20);
    link_close(&l);
    assert_int_equal(server_end(&s, SIGTERM, 10), 0);
    held_read(&s, "physics-*.roi", &physics);
    held_read(&s, "turbo-*.roi", &turbo);
    assert_int_equal(physics.n_rois, 20);
    assert_int_equal(turbo.n_rois, 20);
    assert_int_equal(physics.first->rois[0]->spacepoints->n_phi_rad, 300);
    assert_int_equal(physics.first->rois[0]->kept->decision->n_results, 0);
    assert_int_equal(physics.first->rois[0]->kept->n_products, 0);
    assert_null(turbo.first->rois[0]->spacepoints);
    kept = turbo.first->rois[0]->kept;
    assert_int_equal(kept->decision->n_results, 1);
    assert_int_equal(kept->n_products, 1);
    assert_int_equal(kept->products[0]->step, 0);
    /* value 0 of the z-finder is the number of its vertices; z is their first column */
    assert_int_equal(kept->products[0]->columns->column[0].len,
                     sizeof(float) * (size_t)kept->decision->results[0]->values[0]);
    held_free(&physics);
    held_free(&turbo);
    server_clean(&s);
}

static const char z_menu[] =
    "streams: [physics]\n"
    "steps:\n"
    "  - {name: z, plugin: zfinder}\n"
    "chains:\n"
    "  - {name: all, id: 1, steps: [{step: z, cuts: [{value: weight, %s}]}],\n"
    "     pass_through: true, streams: [physics]}\n"
    "  - {name: few, id: 2, steps: [{step: z}], prescale: 3, streams: [physics]}\n";

/* The files of a stream, replayed with the same menu, give every decision again, with values and
 * prescales; with another menu they do not. */
static void a_stream_that_is_replayed_is_decided_alike(void **state)
{
    struct server s;
    struct link l;
    char text[1024], arguments[512], line[256];

    (void)state;
    snprintf(text, sizeof text, z_menu, "min: 5");
    server_start(&s, DEVICES "streams: [{stream: physics, file_mbytes: 1, flush_ms: 5}]\n", text);
    snprintf(
        arguments, sizeof arguments,
        "trigreplay run --connect ipc://%s/in --rois 100 --seed 5 --truth none --quiet --decisions "
        "%s/decisions.roi",
        s.folder, s.folder);
    assert_int_equal(program_run(arguments, line, sizeof line), 0);
    link_open(&l, &s);
    link_hello(&l, "streams", 0);
    send_rois(&l, 0, 20, 300); /* some that were there: the first copy counts */
    link_close(&l);
    assert_int_equal(server_stream(&s, "physics", "rois"), 120);
    assert_int_equal(server_end(&s, SIGTERM, 10), 0);
    snprintf(arguments, sizeof arguments,
             "trigreplay reproduce %s/state/streams --config %s/trigd.yaml", s.folder, s.folder);
    assert_int_equal(program_run(arguments, line, sizeof line), 0);
    assert_string_equal(line, "100 RoIs decided as before, 0 otherwise\n");
    snprintf(text, sizeof text, z_menu, "min: 1000000");
    server_menu(&s, text);
    assert_int_equal(program_run(arguments, line, sizeof line), 1);
    assert_null(strstr(line, " 0 otherwise"));
    snprintf(arguments, sizeof arguments, "trigreplay show %s/decisions.roi", s.folder);
    assert_int_equal(program_run(arguments, line, sizeof line), 0);
    assert_string_equal(line, "100 RoIs in 1 records\n");
    server_clean(&s);
}

/* All RoIs of an accepted event are in the file, and a replay decides the events alike. */
static void events_are_whole_in_the_files(void **state)
{
    static const char threes[] = "streams: [physics]\n"
                                 "steps:\n"
                                 "  - {name: z, plugin: zfinder}\n"
                                 "chains:\n"
                                 "  - {name: three, id: 1, multiplicity: 3, streams: [physics],\n"
                                 "     steps: [{step: z, cuts: [{value: weight, min: 10}]}]}\n";
    struct server s;
    char arguments[512], line[256];
    uint64_t n;

    (void)state;
    server_start(&s, DEVICES "events: {rois: 4}\nstreams: [{stream: physics, flush_ms: 5}]\n",
                 threes);
    snprintf(arguments, sizeof arguments,
             "trigreplay run --connect ipc://%s/in --rois 120 --event-rois 3 --seed 5 --truth none "
             "--quiet",
             s.folder);
    assert_int_equal(program_run(arguments, line, sizeof line), 0);
    n = server_stream(&s, "physics", "rois");
    assert_true(n >= 6 && n < 120 && n % 3 == 0);
    assert_int_equal(server_end(&s, SIGTERM, 10), 0);
    snprintf(arguments, sizeof arguments,
             "trigreplay reproduce %s/state/streams --config %s/trigd.yaml", s.folder, s.folder);
    assert_int_equal(program_run(arguments, line, sizeof line), 0);
    snprintf(arguments, sizeof arguments, "%llu RoIs decided as before, 0 otherwise\n",
             (unsigned long long)n);
    assert_string_equal(line, arguments);
    server_clean(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(accepted_rois_are_in_the_files),
        cmocka_unit_test(a_file_for_each_lumi_block),
        cmocka_unit_test(a_file_ends_with_its_size),
        cmocka_unit_test(a_killed_daemon_leaves_its_files),
        cmocka_unit_test(a_full_disk_drops_and_counts),
        cmocka_unit_test(a_full_disk_stops_the_daemon),
        cmocka_unit_test(a_full_disk_does_not_hold_up_the_end),
        cmocka_unit_test(a_slow_writer),
        cmocka_unit_test(files_hold_what_the_stream_asks_for),
        cmocka_unit_test(a_stream_that_is_replayed_is_decided_alike),
        cmocka_unit_test(events_are_whole_in_the_files),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
