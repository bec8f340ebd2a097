/* SPDX-License-Identifier: Apache-2.0 */
/* The client library and real daemons, over ZeroMQ and shared memory: each RoI ends once, whatever
 * happens to the daemon in between. */
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "fault.h"
#include "sharer.h"
#include "trigd/client.h"

#define POINTS 40u
#define MOST   4000u
#define WAIT   20000u

static const char config[] = "devices: [{backend: cpu, index: 0, lanes: 1, slots: 2}]\n"
                             "batching: {max_rois: 16}\n"
                             "clients: {credits: 64, max_message_kbytes: 64, shm_mbytes: 2}\n"
                             "debug_stream: {folder: debug}\n";
static const char menu[] = "name: talk\n"
                           "streams: [physics]\n"
                           "steps:\n"
                           "  - {name: f, plugin: fault, params: {stall_ms: 500}}\n"
                           "chains:\n"
                           "  - {name: HLT_f, id: 1, steps: [{step: f}], streams: [physics]}\n";

static float phi[POINTS], rho[POINTS], z[POINTS];
static uint8_t layer[POINTS];
static struct trg_client_items points = {
    .declaration = &trg_spacepoints, .column = {phi, rho, z, layer}, .n = POINTS};

struct ends { /* what was called back */
    uint32_t n, of[4], by_user[MOST];
    struct trg_client_end last;
    char text[256], notice[256];
    uint32_t connected, gone;
    uint32_t event_rois; /* of each event; users count on over them */
    uint32_t events, events_of[4], event_by_l1id[MOST];
    struct trg_client_event_end last_event;
};

/* What programs store is what was told. */
static void same_message(const struct trg_client_end *end)
{
    unsigned char bytes[4096];
    const size_t n = trg_client_end_message(end, bytes, sizeof bytes);
    Trigd__V1__Decision *d;

    assert_in_range(n, 1, sizeof bytes);
    d = trigd__v1__decision__unpack(NULL, n, bytes);
    assert_non_null(d);
    assert_int_equal(d->l1id, end->l1id);
    assert_int_equal(d->accept, end->accept);
    trigd__v1__decision__free_unpacked(d, NULL);
}

static void ended(void *arg, const struct trg_client_end *end)
{
    struct ends *e = arg;

    assert_true(end->user < MOST);
    assert_int_equal(end->size, sizeof *end);
    assert_int_equal(end->l1id, end->user / e->event_rois + 1);
    e->n++;
    e->of[end->kind]++;
    e->by_user[end->user]++;
    e->last = *end;
    snprintf(e->text, sizeof e->text, "%s", end->text);
    if (end->kind == TRG_CLIENT_DECIDED)
        same_message(end);
    else
        assert_int_equal(trg_client_end_message(end, NULL, 0), 0);
    if (end->kind == TRG_CLIENT_DECIDED)
        assert_true(end->received_ns >= end->sent_ns && end->sendings >= 1);
}

static void event_ended(void *arg, const struct trg_client_event_end *end)
{
    struct ends *e = arg;

    assert_int_equal(end->size, sizeof *end);
    assert_true(end->run == 3 && end->l1id < MOST && end->event_rois == e->event_rois);
    e->events++;
    e->events_of[end->kind]++;
    e->event_by_l1id[end->l1id]++;
    e->last_event = *end;
}

static void noticed(void *arg, enum trg_client_notice notice, const char *text)
{
    struct ends *e = arg;

    e->connected += notice == TRG_CLIENT_CONNECTED;
    e->gone += notice == TRG_CLIENT_GONE;
    if (notice == TRG_CLIENT_ERROR)
        snprintf(e->notice, sizeof e->notice, "%s", text);
}

static void endpoint_of(const struct server *s, bool is_shm, char *ret, size_t bytes)
{
    snprintf(ret, bytes, is_shm ? "shm://%s/shm" : "ipc://%s/in", s->folder);
}

static struct trg_client *open_client(const struct server *s, bool is_shm, struct ends *e)
{
    struct trg_client_options o = TRG_CLIENT_OPTIONS_INIT;
    struct trg_client *c = NULL;
    char endpoint[160], why[256] = "";

    memset(e, 0, sizeof *e);
    e->event_rois = 1;
    endpoint_of(s, is_shm, endpoint, sizeof endpoint);
    o.endpoint = endpoint;
    o.name = "talk";
    o.key = "0123456789";
    o.key_bytes = 10;
    o.ended = ended;
    o.event_ended = event_ended;
    o.noticed = noticed;
    o.arg = e;
    if (trg_client_open(&o, &c, why, sizeof why) < 0)
        fail_msg("%s", why);
    return c;
}

static struct trg_client_roi roi_of(uint32_t user, uint32_t roi_id)
{
    return (struct trg_client_roi){
        .info = {.run = 3, .l1id = user + 1, .roi_id = roi_id, .phi_half_rad = 4},
        .collections = &points,
        .n_collections = 1,
        .user = user};
}

/* Sends RoIs first .. first + n - 1, as credits allow. */
static void send_rois(struct trg_client *c, uint32_t first, uint32_t n)
{
    for (uint32_t i = first; i < first + n; i++) {
        struct trg_client_roi roi = roi_of(i, 0);

        assert_int_equal(trg_client_await_room(c, 1, WAIT), 0);
        assert_int_equal(trg_client_send(c, &roi, 1), 0);
    }
}

static void send_and_end(struct trg_client *c, uint32_t user, uint32_t roi_id)
{
    struct trg_client_roi roi = roi_of(user, roi_id);

    assert_int_equal(trg_client_send(c, &roi, 1), 0);
    assert_int_equal(trg_client_drain(c, WAIT), 0);
}

static void each_once(const struct ends *e, uint32_t n)
{
    assert_int_equal(e->n, n);
    for (uint32_t i = 0; i < n; i++)
        assert_int_equal(e->by_user[i], 1);
}

static void rois_end(struct server *s, bool is_shm)
{
    struct trg_client_stats stats = {.size = sizeof stats};
    const struct trg_client_names *names;
    struct trg_client_roi all[65];
    static struct ends e;
    struct trg_client *c = open_client(s, is_shm, &e);

    assert_true(e.connected > 0);
    names = trg_client_names(c);
    assert_int_equal(names->n_chains, 1);
    assert_string_equal(names->chains[0], "HLT_f");
    assert_string_equal(names->streams[0], "physics");
    assert_string_equal(names->steps[0].plugin, "fault");
    assert_non_null(strstr(names->server, "trigd "));
    assert_in_range(trg_client_names_message(c, NULL, 0), 50, 4096);
    assert_int_equal(trg_client_room(c), 64);
    for (uint32_t i = 0; i < 65; i++)
        all[i] = roi_of(i, 0);
    assert_int_equal(trg_client_send(c, all, 65), -EAGAIN);
    assert_int_equal(trg_client_send(c, all, 64), 0);
    assert_int_equal(trg_client_room(c), 0);
    assert_true(trg_client_wait(c, WAIT) > 0);
    assert_int_equal(trg_client_drain(c, WAIT), 0);
    send_rois(c, 64, 436);
    assert_int_equal(trg_client_drain(c, WAIT), 0);
    each_once(&e, 500);
    assert_int_equal(e.last.status, TRG_CLIENT_OK);
    assert_true(e.last.accept && e.last.n_chains == 1 && e.last.n_results == 1);
    assert_int_equal(e.last.run, 3);
    send_and_end(c, 500, FAULT_TRUNCATE);
    assert_int_equal(e.last.status, TRG_CLIENT_TRUNCATED);
    assert_true(e.last.wanted == 10 && e.last.kept == 5);
    trg_client_stats(c, &stats);
    assert_true(stats.sent == 501 && stats.decided == 501 && !stats.outstanding);
    assert_true(!stats.duplicates && !stats.unknown && stats.bytes_out > 501 * POINTS * 13);
    trg_client_close(c);
    each_once(&e, 501);
}

static void over_both(void **state)
{
    struct server s;

    (void)state;
    sharer_server(&s, config, menu);
    rois_end(&s, false);
    rois_end(&s, true);
    server_check_ledger(&s);
    server_stop(&s);
}

static void refusals(struct server *s, bool is_shm)
{
    struct trg_client_items many = points;
    static struct ends e;
    struct trg_client *c = open_client(s, is_shm, &e);
    struct trg_client_roi roi = roi_of(0, 0);
    float *column = calloc(300000, sizeof *column);

    assert_non_null(column);
    phi[7] = 4; /* the daemon's answer */
    send_and_end(c, 0, 0);
    phi[7] = 0;
    assert_int_equal(e.of[TRG_CLIENT_REFUSED], 1);
    assert_non_null(strstr(e.text, "value 7 of column phi of its spacepoints is 4;"));
    assert_string_equal(e.notice, e.text);

    many.n = 300000; /* the library's own */
    many.column[0] = many.column[1] = many.column[2] = many.column[3] = column;
    roi.collections = &many;
    assert_int_equal(trg_client_send(c, &roi, 1), -EMSGSIZE);
    assert_non_null(strstr(e.notice, "the daemon takes at most "));
    assert_int_equal(e.n, 1);
    send_and_end(c, 1, 0); /* the client is as good as before */
    assert_int_equal(e.of[TRG_CLIENT_DECIDED], 1);
    trg_client_close(c);
    free(column);
}

static void bad_rois(void **state)
{
    struct server s;

    (void)state;
    sharer_server(&s, config, menu);
    refusals(&s, false);
    refusals(&s, true);
    server_check_ledger(&s);
    server_stop(&s);
}

/* RoIs that were on their way when the daemon was killed are decided by the next one: how many had
 * to go again. */
static uint64_t outlive(struct server *s, bool is_shm)
{
    struct trg_client_stats stats = {.size = sizeof stats};
    static struct ends e;
    struct trg_client *c = open_client(s, is_shm, &e);
    struct trg_client_roi stall = roi_of(0, FAULT_STALL);

    assert_int_equal(trg_client_send(c, &stall, 1), 0);
    send_rois(c, 1, 30);
    server_end(s, SIGKILL, 10);
    server_spawn(s);
    assert_int_equal(trg_client_await_room(c, 1, WAIT), 0);
    send_rois(c, 31, 20);
    assert_int_equal(trg_client_drain(c, WAIT), 0);
    each_once(&e, 51);
    assert_int_equal(e.of[TRG_CLIENT_DECIDED], 51);
    trg_client_stats(c, &stats);
    /* libzmq may be at the next daemon before it tells of the end of the first */
    assert_in_range(stats.reconnects, 1, 2);
    assert_true(e.connected > stats.reconnects); /* a slow daemon answers Hello twice */
    assert_int_equal(e.gone, 1);
    assert_int_equal(stats.duplicates, 0);
    trg_client_close(c);
    return stats.resent + stats.busy;
}

static void the_next_daemon(void **state)
{
    struct server s;
    uint64_t again;

    (void)state;
    sharer_server(&s, config, menu);
    again = outlive(&s, false);
    again += outlive(&s, true);
    assert_true(again); /* on a loaded machine a daemon may decide all before it dies */
    server_check_ledger(&s);
    server_stop(&s);
}

static void closing_ends_all(void **state)
{
    static struct ends e;
    struct trg_client *c;
    struct server s;

    (void)state;
    sharer_server(&s, config, menu);
    for (int is_shm = 0; is_shm < 2; is_shm++) {
        c = open_client(&s, is_shm, &e);
        free(server_ask(&s, "drain")); /* answers Busy from now on */
        send_rois(c, 0, 10);
        assert_int_equal(trg_client_drain(c, 50), -ETIMEDOUT);
        trg_client_close(c);
        each_once(&e, 10);
        assert_int_equal(e.of[TRG_CLIENT_LOST], 10);
        free(server_ask(&s, "resume"));
    }
    server_stop(&s);
}

/* ---------------------------------------------------------------- events */

#define PARTS 3u

static void event_of(uint32_t event, uint32_t roi_id, struct trg_client_roi *ret_rois)
{
    for (uint32_t i = 0; i < PARTS; i++) {
        ret_rois[i] = roi_of(event * PARTS + i, roi_id + i);
        ret_rois[i].info.l1id = event + 1;
        ret_rois[i].event_rois = PARTS;
    }
}

static void send_events(struct trg_client *c, uint32_t first, uint32_t n)
{
    for (uint32_t i = first; i < first + n; i++) {
        struct trg_client_roi rois[PARTS];

        event_of(i, 0, rois);
        assert_int_equal(trg_client_await_room(c, PARTS, WAIT), 0);
        assert_int_equal(trg_client_send(c, rois, PARTS), 0);
    }
}

static void events_once(const struct ends *e, uint32_t n)
{
    each_once(e, n * PARTS);
    assert_int_equal(e->events, n);
    for (uint32_t i = 0; i < n; i++)
        assert_int_equal(e->event_by_l1id[i + 1], 1);
}

static void events_end(struct server *s, bool is_shm)
{
    struct trg_client_stats stats = {.size = sizeof stats};
    struct trg_client_roi rois[2 * PARTS];
    static struct ends e;
    struct trg_client *c = open_client(s, is_shm, &e);

    e.event_rois = PARTS;
    send_events(c, 0, 200);
    assert_int_equal(trg_client_drain(c, WAIT), 0);
    events_once(&e, 200);
    assert_int_equal(e.events_of[TRG_CLIENT_DECIDED], 200);
    assert_true(e.last_event.accept && e.last_event.came == PARTS && e.last_event.n_chains == 1);

    event_of(200, 0, rois); /* one event twice: none of the two is sent */
    event_of(201, 0, rois + PARTS);
    rois[PARTS + 1].info.l1id = rois[0].info.l1id;
    assert_int_equal(trg_client_send(c, rois, 2 * PARTS), -EINVAL);
    assert_string_equal(e.notice, "event 3/201 (run/l1id) is on its way; its RoIs go one after the "
                                  "other in one call");
    for (uint32_t i = 0; i < PARTS; i++)
        rois[i].event_rois = 200; /* more than events.rois: the daemon refuses each */
    assert_int_equal(trg_client_send(c, rois, PARTS), 0);
    assert_int_equal(trg_client_drain(c, WAIT), 0);
    assert_non_null(strstr(e.text, "event 3/201 (run/l1id) has 200 RoIs; at most 64 are allowed"));
    assert_int_equal(e.of[TRG_CLIENT_REFUSED], PARTS);
    assert_int_equal(e.events_of[TRG_CLIENT_REFUSED], 1);
    send_events(c, 201, 1); /* the client is as good as before */
    assert_int_equal(trg_client_drain(c, WAIT), 0);
    events_once(&e, 202);
    trg_client_stats(c, &stats);
    assert_true(stats.events_sent == 202 && stats.events_accepted == 201 &&
                stats.events_refused == 1 && !stats.events_open);
    assert_true(!stats.duplicates && !stats.unknown);
    assert_int_equal(trg_client_room(c), 64);
    trg_client_close(c);
    events_once(&e, 202);
}

/* Events that are open when the daemon dies are sent whole to the next one; those that are Busy
 * when the client finishes are lost. */
static void events_outlive(struct server *s, bool is_shm)
{
    struct trg_client_roi rois[PARTS];
    static struct ends e;
    struct trg_client *c = open_client(s, is_shm, &e);

    e.event_rois = PARTS;
    event_of(0, FAULT_STALL, rois);
    assert_int_equal(trg_client_send(c, rois, PARTS), 0);
    send_events(c, 1, 10);
    server_end(s, SIGKILL, 10);
    server_spawn(s);
    send_events(c, 11, 10);
    assert_int_equal(trg_client_drain(c, WAIT), 0);
    events_once(&e, 21);
    assert_int_equal(e.events_of[TRG_CLIENT_DECIDED], 21);
    assert_int_equal(trg_client_room(c), 64);
    free(server_ask(s, "drain")); /* answers Busy from now on */
    send_events(c, 21, 5);
    assert_int_equal(trg_client_drain(c, 50), -ETIMEDOUT);
    trg_client_finish(c);
    assert_int_equal(trg_client_drain(c, WAIT), 0);
    events_once(&e, 26);
    assert_int_equal(trg_client_room(c), 0);
    trg_client_close(c);
    events_once(&e, 26);
    assert_int_equal(e.events_of[TRG_CLIENT_LOST], 5);
    free(server_ask(s, "resume"));
}

static void events_over_both(void **state)
{
    struct server s;

    (void)state;
    sharer_server(&s, config, menu);
    for (int is_shm = 0; is_shm < 2; is_shm++) {
        events_end(&s, is_shm);
        events_outlive(&s, is_shm);
    }
    server_check_ledger(&s);
    server_stop(&s);
}

static void refuse_options(struct trg_client_options o, int error, const char *want)
{
    struct trg_client *c = NULL;
    char why[256] = "";

    assert_int_equal(trg_client_open(&o, &c, why, sizeof why), error);
    assert_string_equal(why, want);
    assert_null(c);
}

static void bad_options(void **state)
{
    struct trg_client_options o = TRG_CLIENT_OPTIONS_INIT;

    (void)state;
    refuse_options(o, -EINVAL,
                   "the endpoint is \"\"; tcp://HOST:PORT, ipc://PATH and shm://PATH are allowed");
    o.endpoint = "ipc:///nonexistent/socket";
    refuse_options(o, -EINVAL, "the name is \"\"; 1 to 63 characters are allowed");
    o.name = "talk";
    refuse_options(o, -EINVAL, "there is no function for the ends of RoIs (ended)");
    o.ended = ended;
    o.timeout_ms = 30;
    refuse_options(o, -ETIMEDOUT, "no daemon answers at ipc:///nonexistent/socket within 30 ms");
    o.endpoint = "shm:///nonexistent/socket";
    refuse_options(o, -ENOENT,
                   "cannot connect to shm:///nonexistent/socket: No such file or directory");
    o.key_bytes = 65;
    refuse_options(o, -EINVAL, "the key has 65 bytes; at most 64 are allowed");
    assert_string_equal(trg_client_version(), TRIGD_VERSION);
    trg_client_close(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bad_options),      cmocka_unit_test(over_both),
        cmocka_unit_test(bad_rois),         cmocka_unit_test(the_next_daemon),
        cmocka_unit_test(closing_ends_all), cmocka_unit_test(events_over_both),
    };

    for (uint32_t i = 0; i < POINTS; i++) {
        phi[i] = (float)i * 0.1f - 2;
        rho[i] = 50;
        layer[i] = (uint8_t)(i % 8);
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
