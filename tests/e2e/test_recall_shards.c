/* SPDX-License-Identifier: Apache-2.0 */
/* Clients with a key reach their shard again over shared memory and over ipc, whoever comes and
 * goes meanwhile: what they send again is answered with the decision that was made. */
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
#include "messages.h"
#include "shard_endpoint.h"
#include "sharer.h"

#define N       8u  /* RoIs of each */
#define ASKERS  10u /* those with odd numbers share memory */
#define PASSERS 12u
#define ROUNDS  6u

static const char config[] = "devices: [{backend: cpu, lanes: 1}]\n"
                             "threads: {shards: 3}\n"
                             "pool: {rois: 3072, mbytes: 256}\n"
                             "clients: {max: 64, credits: 16, max_items: 65536, shm_mbytes: 1}\n"
                             "limits: {soft_ms: 0, hard_ms: 60000}\n"
                             "batching: {max_rois: 8, max_age_us: 500}\n";
static const char menu[] = "name: recall\n"
                           "streams: [physics]\n"
                           "steps: [{name: f, plugin: fault, params: {stall_ms: 500}}]\n"
                           "chains:\n"
                           "  - {name: c, id: 1, steps: [{step: f}], prescale: 1,\n"
                           "     streams: [physics]}\n";

struct asker { /* a client */
    bool is_open, is_shm;
    struct link l;
    struct sharer c;
};

static void open_link(struct asker *a, const struct server *s, Trigd__V1__Hello *hello)
{
    char endpoint[160];
    uint32_t shard = 0;

    hello->may_move = true;
    do { /* where the Welcome sends it */
        assert_int_equal(shard_endpoint(s->endpoint, shard, endpoint, sizeof endpoint), 0);
        link_open_with(&a->l, endpoint, NULL, NULL);
        shard = link_hello_with(&a->l, "asker", hello)->shard;
        if (shard)
            link_close(&a->l);
    } while (shard);
}

/* A client with a key, or with none: "". */
static void open_asker(struct asker *a, const struct server *s, bool is_shm, const char *key)
{
    Trigd__V1__Hello hello = TRIGD__V1__HELLO__INIT;

    *a = (struct asker){.is_open = true, .is_shm = is_shm};
    hello.key.data = (uint8_t *)(uintptr_t)key;
    hello.key.len = strlen(key);
    if (is_shm) {
        const Trigd__V1__ToDaemon m = message_hello(&hello, "asker");

        sharer_open(&a->c, s);
        sharer_tell(&a->c, &m);
        sharer_expect(&a->c, TRIGD__V1__FROM_DAEMON__BODY_WELCOME);
    } else {
        open_link(a, s, &hello);
    }
}

static void close_asker(struct asker *a)
{
    if (a->is_open && a->is_shm)
        sharer_close(&a->c);
    else if (a->is_open)
        link_close(&a->l);
    a->is_open = false;
}

/* The RoIs of one client are those of events with its number. */
static void send_all(struct asker *a, uint32_t number, uint32_t fault)
{
    struct roi_spec specs[N];

    for (uint32_t i = 0; i < N; i++)
        specs[i] = (struct roi_spec){
            .token = i, .l1id = number, .roi_id = i == 0 && fault ? fault : i + 1, .n = 5};
    if (a->is_shm)
        sharer_send_rois(&a->c, specs, N);
    else
        link_send_rois(&a->l, specs, N);
}

/* One decision for each RoI, all repeated or none. */
static void expect_all(struct asker *a, uint32_t number, bool repeated)
{
    for (uint32_t n = 0; n < N;) {
        const Trigd__V1__FromDaemon *m =
            a->is_shm ? sharer_expect(&a->c, TRIGD__V1__FROM_DAEMON__BODY_DECISIONS)
                      : link_expect(&a->l, TRIGD__V1__FROM_DAEMON__BODY_DECISIONS);

        for (size_t i = 0; i < m->decisions->n_decisions; i++) {
            assert_int_equal(m->decisions->decisions[i]->l1id, number);
            assert_int_equal(m->decisions->decisions[i]->repeated, repeated);
        }
        n += (uint32_t)m->decisions->n_decisions;
    }
}

static void open_numbered(struct asker *a, const struct server *s, uint32_t number)
{
    char key[16];

    snprintf(key, sizeof key, "key %u", number);
    open_asker(a, s, number % 2, key);
}

/* Another client of those without key, in a place that changes: the shard with fewest clients is
 * another one each time. */
static void pass_by(struct asker *passer, const struct server *s, uint32_t turn)
{
    struct asker *a = &passer[turn * 5 % PASSERS];

    close_asker(a);
    open_asker(a, s, turn % 3, "");
    send_all(a, 1000, 0);
    expect_all(a, 1000, false);
}

static void others_come_and_go(void **state)
{
    struct server s;
    static struct asker asker[ASKERS], passer[PASSERS];
    uint32_t turn = 0;

    (void)state;
    sharer_server(&s, config, menu);
    for (uint32_t i = 0; i < ASKERS; i++) {
        open_numbered(&asker[i], &s, i);
        send_all(&asker[i], i, 0);
        expect_all(&asker[i], i, false);
    }
    for (uint32_t round = 0; round < ROUNDS; round++) {
        for (uint32_t i = 0; i < ASKERS; i++)
            if ((i + round) % 3) /* some stay */
                close_asker(&asker[i]);
        pass_by(passer, &s, turn++);
        for (uint32_t k = 0; k < ASKERS; k++) {
            const uint32_t i = (k * 7 + round) % ASKERS;

            if (!asker[i].is_open)
                open_numbered(&asker[i], &s, i);
            send_all(&asker[i], i, 0);
            expect_all(&asker[i], i, true);
            if (k % 3 == 0)
                pass_by(passer, &s, turn++);
        }
    }
    server_wait_counter(&s, "repeated", ROUNDS * ASKERS * N);
    assert_int_equal(server_counter(&s, "received"), (ASKERS + turn) * N);
    for (uint32_t i = 0; i < ASKERS; i++)
        close_asker(&asker[i]);
    for (uint32_t i = 0; i < PASSERS; i++)
        close_asker(&passer[i]);
    server_end_well(&s);
}

/* RoIs that are in flight when their clients end are decided once, for those that come back: the
 * one over ipc by shared memory, the others the other way. */
static void in_flight_by_another_way(void **state)
{
    struct server s;
    struct asker first[4], again[4];

    (void)state;
    sharer_server(&s, config, menu);
    for (uint32_t i = 0; i < 4; i++) {
        open_numbered(&first[i], &s, i);
        send_all(&first[i], i, FAULT_STALL);
    }
    server_wait_counter(&s, "received", 4 * N);
    for (uint32_t i = 0; i < 4; i++)
        close_asker(&first[i]);
    for (uint32_t k = 0; k < 4; k++) {
        const uint32_t i = 3 - k;
        char key[16];

        snprintf(key, sizeof key, "key %u", i);
        open_asker(&again[i], &s, i % 2 == 0, key);
        send_all(&again[i], i, FAULT_STALL);
    }
    for (uint32_t i = 0; i < 4; i++)
        expect_all(&again[i], i, true);
    assert_int_equal(server_counter(&s, "received"), 4 * N);
    for (uint32_t i = 0; i < 4; i++)
        close_asker(&again[i]);
    server_end_well(&s);
}

/* Many Hellos lie at the socket when shard 0 looks. */
static void all_at_once(void **state)
{
    enum { MANY = 60 };
    static struct asker a[MANY];
    struct server s;

    (void)state;
    sharer_server(&s, config, menu);
    for (uint32_t round = 0; round < 2; round++) {
        for (uint32_t i = 0; i < MANY; i++) {
            Trigd__V1__Hello hello = TRIGD__V1__HELLO__INIT;
            const Trigd__V1__ToDaemon m = message_hello(&hello, "asker");
            char key[16];

            snprintf(key, sizeof key, "key %u", i);
            hello.key.data = (uint8_t *)key;
            hello.key.len = strlen(key);
            a[i] = (struct asker){.is_open = true, .is_shm = true};
            sharer_open(&a[i].c, &s);
            sharer_tell(&a[i].c, &m);
        }
        for (uint32_t i = 0; i < MANY; i++) {
            sharer_expect(&a[i].c, TRIGD__V1__FROM_DAEMON__BODY_WELCOME);
            send_all(&a[i], i, 0);
        }
        for (uint32_t i = 0; i < MANY; i++)
            expect_all(&a[i], i, round > 0);
        for (uint32_t i = 0; i < MANY; i++)
            close_asker(&a[i]);
        server_wait_counter(&s, "clients", 0);
    }
    assert_int_equal(server_counter(&s, "received"), MANY * N);
    server_end_well(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(others_come_and_go),
                                       cmocka_unit_test(in_flight_by_another_way),
                                       cmocka_unit_test(all_at_once)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
