/* SPDX-License-Identifier: Apache-2.0 */
/* Clients that die, stall, write nonsense or change what they sent: each costs its own RoIs at
 * most, and the conservation law holds to the last one.  A ZeroMQ client works on beside them. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "clock.h"
#include "fault.h"
#include "sharer.h"

static const char config[] =
    "devices: [{backend: cpu, index: 0, lanes: 2, slots: 2}]\n"
    "batching: {max_rois: 8}\n"
    "clients: {credits: 64, shm_mbytes: 4, max: 4, heartbeat_ms: 300, max_layer: 7}\n"
    "log: {level: error}\n";
static const char menu[] = "name: hostile\n"
                           "streams: [physics]\n"
                           "steps:\n"
                           "  - {name: f, plugin: fault, params: {stall_ms: 200}}\n"
                           "chains:\n"
                           "  - {name: c, id: 1, steps: [{step: f, cuts: [{value: n, min: 10}]}],\n"
                           "     streams: [physics]}\n";

/* A few RoIs of a ZeroMQ client come back as they must. */
static void works_for_others(struct server *s)
{
    struct link l;
    struct roi_spec specs[8];
    uint8_t result[8];

    link_open(&l, s);
    link_hello(&l, "bystander", 0);
    for (uint32_t i = 0; i < 8; i++)
        specs[i] = (struct roi_spec){.token = i, .l1id = i, .n = i * 3};
    link_send_rois(&l, specs, 8);
    link_collect(&l, 0, 8, result);
    for (uint32_t i = 0; i < 8; i++)
        assert_int_equal(result[i], specs[i].n >= 10);
    link_close(&l);
}

/* Runs `body` in a process of its own; it ends by _exit or by a signal. */
static pid_t start(void (*body)(struct server *s), struct server *s)
{
    pid_t pid = fork();

    assert_true(pid >= 0);
    if (pid)
        return pid;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    body(s);
    _exit(0);
}

/* Sends as fast as it is allowed to, for ever. */
static void pump(struct server *s)
{
    struct sharer c;
    uint64_t token = 0;
    bool gone = false;

    sharer_open(&c, s);
    sharer_hello(&c, "pump", 0);
    while (!gone) {
        struct roi_spec spec = {.token = token, .l1id = (uint32_t)token, .n = 100};
        struct shm_roi e = sharer_write(&c, &spec, NULL);

        if (shmclient_put(c.client, &e) < 0)
            _exit(3);
        shmclient_send(c.client);
        if (++token >= 60)
            sharer_receive(&c, 1, &gone);
        shmclient_give(c.client, e.in[0].at, shm_collection_bytes(TRG_SPACEPOINTS, false, spec.n));
    }
}

/* kill -9 of a client in full flow, again and again: its credits, its memory and its place come
 * back, and the books balance. */
static void killed(void **state)
{
    struct server s;

    (void)state;
    sharer_server(&s, config, menu);
    for (int i = 0; i < 12; i++) { /* three times the places that there are */
        uint64_t received = server_counter(&s, "received");
        pid_t pid = start(pump, &s);
        int status;

        while (server_counter(&s, "received") < received + 500) {
        }
        assert_int_equal(kill(pid, SIGKILL), 0);
        assert_int_equal(waitpid(pid, &status, 0), pid);
        assert_true(WIFSIGNALED(status));
        server_wait_counter(&s, "clients", 0);
    }
    works_for_others(&s);
    server_wait_counter(&s, "in_flight", 0);
    server_wait_counter(&s, "pool_rois", 0);
    server_end_well(&s);
}

/* Killed while a lane is held up with its RoIs: the region lives on until they are let go. */
static void killed_in_flight(void **state)
{
    struct server s;
    struct sharer c;
    struct roi_spec specs[32];

    (void)state;
    sharer_server(&s, config, menu);
    sharer_open(&c, &s);
    sharer_hello(&c, "short-lived", 0);
    for (uint32_t i = 0; i < 32; i++)
        specs[i] = (struct roi_spec){
            .token = i, .n = 2000, .roi_id = i % 8 ? (uint32_t)FAULT_NONE : (uint32_t)FAULT_STALL};
    sharer_send_rois(&c, specs, 32);
    server_wait_counter(&s, "received", 32);
    sharer_close(&c); /* no Bye */
    server_wait_counter(&s, "clients", 0);
    works_for_others(&s);
    server_wait_counter(&s, "in_flight", 0);
    assert_int_equal(server_counter(&s, "undeliverable"), 32);
    server_wait_counter(&s, "pool_rois", 0);
    server_end_well(&s);
}

/* The packet that says: look at the ring. */
static void wake(struct sharer *c)
{
    shm_packet_send(shmclient_fd(c->client), "", 1, -1);
}

/* Positions that cannot be: the client is dropped. */
static void nonsense_positions(void **state)
{
    const struct roi_spec spec = {.token = 1, .n = 20};
    struct server s;
    struct sharer c;

    (void)state;
    sharer_server(&s, config, menu);
    sharer_open(&c, &s);
    sharer_hello(&c, "up", 0);
    atomic_store(&shmclient_head(c.client)->up_head, 0x7fffffff);
    wake(&c);
    sharer_expect_gone(&c);
    sharer_close(&c);
    works_for_others(&s);

    /* down_tail is only looked at when the ring seems full */
    sharer_open(&c, &s);
    sharer_hello(&c, "down", 0);
    atomic_store(&shmclient_head(c.client)->down_tail, UINT64_MAX / 2);
    sharer_send_rois(&c, &spec, 1);
    sharer_collect(&c, 1, 1, NULL);
    sharer_close(&c);
    works_for_others(&s);
    server_wait_counter(&s, "clients", 0);
    server_end_well(&s);
}

static uint32_t next(uint32_t *seed)
{
    *seed = *seed * 1664525u + 1013904223u;
    return *seed >> 3;
}

/* Random bytes over everything but the two positions that would end it, then over all. */
static void scribble(struct server *s)
{
    uint32_t seed = (uint32_t)getpid() * 2654435761u;
    uint64_t limit = clock_ns() + 30 * NS_PER_S;
    struct sharer c;
    struct shm_head *h;
    unsigned char *start;

    sharer_open(&c, s);
    sharer_hello(&c, "scribbler", 0);
    h = shmclient_head(c.client);
    start = (unsigned char *)h;
    for (uint32_t i = 0; i < 3000; i++) {
        struct shm_roi *e = (struct shm_roi *)(void *)(start + h->up_at) + i % h->entries;

        for (uint32_t k = 0; k < sizeof *e; k++)
            ((unsigned char *)e)[k] = (unsigned char)next(&seed);
        if (next(&seed) % 2)
            e->kinds &= 0xe;
        for (uint32_t k = 0; k < SHM_KINDS && next(&seed) % 4; k++) {
            e->in[k].n %= 5000;
            e->in[k].at = e->in[k].at % h->data_bytes & ~(uint64_t)63;
        }
        for (uint32_t k = 0; k < 64; k++)
            start[h->data_at + next(&seed) % 100000] = (unsigned char)next(&seed);
        atomic_store(&h->up_head, i + 1);
        atomic_store(&h->client_sleeps, next(&seed) % 2);
        atomic_store(&h->down_tail, atomic_load(&h->down_head));
        if (i % 16 == 0)
            wake(&c);
        while (i + 1 - atomic_load(&h->up_tail) > 32) {
            struct timespec t = {.tv_nsec = 100000};

            if (clock_ns() > limit)
                _exit(4);
            nanosleep(&t, NULL);
        }
    }
    for (uint32_t k = 0; k < 4096; k++)
        start[k] = (unsigned char)next(&seed);
    wake(&c);
}

static void scribblers(void **state)
{
    struct server s;
    pid_t pid[3];

    (void)state;
    sharer_server(&s, config, menu);
    for (int i = 0; i < 3; i++)
        pid[i] = start(scribble, &s);
    works_for_others(&s);
    for (int i = 0; i < 3; i++) {
        int status;

        assert_int_equal(waitpid(pid[i], &status, 0), pid[i]);
        assert_int_equal(status, 0);
    }
    server_wait_counter(&s, "clients", 0);
    assert_true(server_counter(&s, "errors") > 1000);
    works_for_others(&s);
    server_end_well(&s);
}

/* Sends good RoIs and changes their values for as long as the daemon has them. */
static void change(struct server *s)
{
    struct sharer c;
    bool gone = false;
    uint64_t until = clock_ns() + NS_PER_S / 2, seed = 1;

    sharer_open(&c, s);
    sharer_hello(&c, "changer", 0);
    for (uint64_t token = 0; !gone && (token < 20 || clock_ns() < until); token++) {
        struct roi_spec spec = {.token = token, .n = 3000};
        struct shm_roi e;
        float *phi, good;

        e = sharer_write(&c, &spec, &phi);
        good = phi[spec.n - 1];
        sharer_put(&c, &e);
        for (uint32_t i = 0; i < 4000; i++) {
            seed = seed * 6364136223846793005u + 1;
            *(volatile float *)&phi[spec.n - 1] = seed >> 63 ? 1e30f : good;
            *((volatile unsigned char *)phi + shm_column(TRG_SPACEPOINTS, false, spec.n, 3)) =
                seed >> 62 & 1 ? 255 : 1;
        }
        while (!sharer_receive(&c, 1000, &gone) && !gone) {
        }
        shmclient_give(c.client, e.in[0].at, shm_collection_bytes(TRG_SPACEPOINTS, false, spec.n));
    }
}

/* However it goes, each is refused, decided on values that passed the checks, or failed. */
static void changers(void **state)
{
    struct server s;
    pid_t pid[2];

    (void)state;
    sharer_server(&s, config, menu);
    for (int i = 0; i < 2; i++)
        pid[i] = start(change, &s);
    for (int i = 0; i < 2; i++) {
        int status;

        works_for_others(&s);
        assert_int_equal(waitpid(pid[i], &status, 0), pid[i]);
        assert_int_equal(status, 0);
    }
    assert_true(server_counter(&s, "received") + server_counter(&s, "errors") > 20);
    server_end_well(&s);
}

/* Says nothing for three heartbeats: forgotten, and told so by the end of its connection. */
static void silent(void **state)
{
    struct server s;
    struct sharer c;

    (void)state;
    sharer_server(&s, config, menu);
    sharer_open(&c, &s);
    sharer_hello(&c, "silent", 0);
    sharer_expect_gone(&c);
    server_wait_counter(&s, "clients", 0);
    sharer_close(&c);
    server_end_well(&s);
}

/* Never takes an answer out of the ring: forgotten once 4096 wait beside it. */
static void does_not_read(void **state)
{
    struct server s;
    struct sharer c;
    struct roi_spec spec = {.n = 20};
    struct shm_roi e;
    uint64_t limit = clock_ns() + 30 * NS_PER_S;

    (void)state;
    sharer_server(&s, config, menu);
    sharer_open(&c, &s);
    sharer_hello(&c, "deaf", 0);
    e = sharer_write(&c, &spec, NULL);
    e.in[0].at = 8; /* each costs an Error of its own */
    while (server_counter(&s, "clients") && clock_ns() < limit) {
        for (int i = 0; i < 2000 && shmclient_put(c.client, &e) == 0; i++) {
        }
        shmclient_send(c.client);
    }
    server_wait_counter(&s, "clients", 0);
    assert_true(server_counter(&s, "errors") > 4096);
    sharer_close(&c);
    works_for_others(&s);
    server_end_well(&s);
}

/* Packets that are no messages, too long, or too early. */
static void bad_packets(void **state)
{
    unsigned char junk[200] = {0xff, 0xff};
    const struct roi_spec spec = {.token = 9, .n = 20};
    struct server s;
    struct sharer c;
    struct shm_roi e;
    Trigd__V1__FromDaemon *m;

    (void)state;
    sharer_server(&s, config, menu);
    sharer_open(&c, &s);
    assert_int_equal(shm_packet_send(shmclient_fd(c.client), junk, sizeof junk, -1), 0);
    m = sharer_expect(&c, TRIGD__V1__FROM_DAEMON__BODY_ERROR);
    assert_int_equal(m->error->code, TRIGD__V1__ERROR__CODE__MALFORMED);
    /* a descriptor that nobody asked for is closed */
    assert_int_equal(shm_packet_send(shmclient_fd(c.client), junk, sizeof junk, 0), 0);
    sharer_expect(&c, TRIGD__V1__FROM_DAEMON__BODY_ERROR);
    sharer_hello(&c, "late", 0);
    e = sharer_write(&c, &spec, NULL);
    sharer_put(&c, &e);
    sharer_collect(&c, 9, 1, NULL);
    sharer_close(&c);
    server_end_well(&s);
}

/* All places taken: an Error that says so; one that left makes room. */
static void too_many(void **state)
{
    Trigd__V1__ToDaemon hello = TRIGD__V1__TO_DAEMON__INIT;
    Trigd__V1__Hello body = TRIGD__V1__HELLO__INIT;
    struct server s;
    struct sharer c[5];
    Trigd__V1__FromDaemon *m;

    (void)state;
    sharer_server(&s, config, menu);
    for (int i = 0; i < 5; i++)
        sharer_open(&c[i], &s);
    for (int i = 0; i < 4; i++)
        sharer_hello(&c[i], "one of four", 4);
    body.protocol = 1;
    body.name = (char *)"fifth";
    hello.body_case = TRIGD__V1__TO_DAEMON__BODY_HELLO;
    hello.hello = &body;
    sharer_tell(&c[4], &hello);
    m = sharer_expect(&c[4], TRIGD__V1__FROM_DAEMON__BODY_ERROR);
    assert_int_equal(m->error->code, TRIGD__V1__ERROR__CODE__TOO_LARGE);
    sharer_close(&c[0]);
    server_wait_counter(&s, "clients", 3);
    sharer_hello(&c[4], "fifth", 4);
    for (int i = 1; i < 5; i++)
        sharer_close(&c[i]);
    server_wait_counter(&s, "clients", 0);
    server_end_well(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(killed),
        cmocka_unit_test(killed_in_flight),
        cmocka_unit_test(nonsense_positions),
        cmocka_unit_test(scribblers),
        cmocka_unit_test(changers),
        cmocka_unit_test(silent),
        cmocka_unit_test(does_not_read),
        cmocka_unit_test(bad_packets),
        cmocka_unit_test(too_many),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
