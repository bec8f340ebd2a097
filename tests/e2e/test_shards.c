/* SPDX-License-Identifier: Apache-2.0 */
/* Several shards: where clients go, and that control, menus, deaths of workers and the end of the
 * daemon reach all of them with exact ledgers. */
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
#include "sharer.h"

#define SHARDS 3u
#define N      8u

#define SETTINGS                                                 \
    "devices: [{backend: cpu, lanes: 2}]\n"                      \
    "threads: {shards: 3}\n"                                     \
    "pool: {rois: 3072, mbytes: 256}\n"                          \
    "clients: {max: 8, max_items: 65536, heartbeat_ms: 20000}\n" \
    "limits: {soft_ms: 0, hard_ms: 60000}\n"                     \
    "batching: {max_rois: 8, max_age_us: 500}\n"
#define MENU(name, prescale)                                                                    \
    "name: " name "\n"                                                                          \
    "streams: [physics]\n"                                                                      \
    "steps: [{name: f, plugin: fault}]\n"                                                       \
    "chains:\n"                                                                                 \
    "  - {name: c, id: 1, steps: [{step: f, cuts: [{value: n, min: 10}]}], prescale: " prescale \
    ",\n     streams: [physics]}\n"

static void say_hello(struct link *l, const char *name, bool may_move)
{
    Trigd__V1__Hello hello = TRIGD__V1__HELLO__INIT;
    const Trigd__V1__ToDaemon m = message_hello(&hello, name);

    hello.may_move = may_move;
    link_send(l, &m);
}

/* Says Hello as a client that may move; returns the shard that the Welcome names. */
static uint32_t hello_may_move(struct link *l, const char *name)
{
    say_hello(l, name, true);
    return link_expect(l, TRIGD__V1__FROM_DAEMON__BODY_WELCOME)->welcome->shard;
}

/* A connection to one shard. */
static void open_at(struct link *l, const struct server *s, uint32_t shard)
{
    struct server at = *s;

    at.shards = 1;
    if (shard)
        snprintf(at.endpoint, sizeof at.endpoint, "%.100s.%u", s->endpoint, shard);
    link_open(l, &at);
}

/* Goes where the daemon wants a client of that name; returns the shard. */
static uint32_t open_placed(struct link *l, const struct server *s, const char *name)
{
    uint32_t shard;

    open_at(l, s, 0);
    shard = hello_may_move(l, name);
    if (!shard)
        return 0;
    link_close(l);
    open_at(l, s, shard);
    assert_int_equal(hello_may_move(l, name), 0); /* it stays there */
    return shard;
}

static void send_some(struct link *l, uint64_t first, uint32_t fault)
{
    struct roi_spec specs[N];

    for (uint32_t i = 0; i < N; i++)
        specs[i] = (struct roi_spec){.token = first + i,
                                     .l1id = (uint32_t)first + i,
                                     .roi_id = i == 0 && fault ? fault : i + 1,
                                     .n = 50};
    link_send_rois(l, specs, N);
}

static void expect_all(struct link *l, uint64_t first, uint8_t of_first, uint8_t of_others)
{
    uint8_t result[N];

    link_collect(l, first, N, result);
    for (uint32_t i = 0; i < N; i++)
        assert_int_equal(result[i] & 127u, i ? of_others : of_first);
}

/* One RoI and its decision. */
static void use(struct link *l)
{
    const struct roi_spec spec = {.token = 1, .roi_id = 1, .n = 50};

    link_send_rois(l, &spec, 1);
    link_collect(l, 1, 1, NULL);
}

static void end_well(struct server *s, struct link *l, uint32_t n)
{
    server_wait_counter(s, "in_flight", 0);
    server_check_ledger(s);
    for (uint32_t i = 0; i < n; i++)
        link_close(&l[i]);
    server_stop(s);
}

/* Those that may move are spread over all shards, come back under their name where they were, and
 * one that cannot stays; there are no more than clients.max in all shards. */
static void clients_are_spread(void **state)
{
    struct server s;
    struct link l[SHARDS], old, back, more[5];
    uint32_t at[SHARDS], seen = 0;
    const Trigd__V1__Error *e;

    (void)state;
    server_start(&s, SETTINGS, MENU("spread", "1"));
    for (uint32_t i = 0; i < SHARDS; i++) {
        const char name[] = {(char)('a' + i), '\0'};

        at[i] = open_placed(&l[i], &s, name);
        seen |= 1u << at[i];
    }
    assert_int_equal(seen, (1u << SHARDS) - 1);
    open_at(&old, &s, 0);
    assert_true(link_hello(&old, "old", 0) > 0);
    link_close(&l[1]);
    server_wait_counter(&s, "clients", 3);
    assert_int_equal(open_placed(&back, &s, "b"), at[1]);
    for (uint32_t i = 0; i < 4; i++) {
        open_at(&more[i], &s, i % SHARDS);
        assert_true(link_hello(&more[i], "more", 0) > 0);
    }
    server_wait_counter(&s, "clients", 8);
    use(&old); /* a client without RoIs would give way to the next one */
    use(&back);
    use(&l[0]);
    use(&l[2]);
    for (uint32_t i = 0; i < 4; i++)
        use(&more[i]);
    open_at(&more[4], &s, 2);
    say_hello(&more[4], "one too many", false);
    e = link_expect(&more[4], TRIGD__V1__FROM_DAEMON__BODY_ERROR)->error;
    assert_non_null(strstr(e->text, "its 8 clients already"));
    for (uint32_t i = 0; i < 5; i++)
        link_close(&more[i]);
    link_close(&old);
    link_close(&back);
    link_close(&l[0]);
    link_close(&l[2]);
    server_stop(&s);
}

/* RoIs of all shards, over ZeroMQ and shared memory, in the batches of the same lanes. */
static void all_shards_decide(void **state)
{
    struct server s;
    struct link l[SHARDS];
    struct sharer c[SHARDS];
    struct roi_spec specs[N];

    (void)state;
    sharer_server(&s, SETTINGS, MENU("decide", "1"));
    for (uint32_t i = 0; i < SHARDS; i++) {
        open_at(&l[i], &s, i);
        assert_true(link_hello(&l[i], "socket", 0) > 0);
        sharer_open(&c[i], &s);
        assert_true(sharer_hello(&c[i], "memory", 0) > 0);
    }
    for (uint32_t round = 0; round < 50; round++) {
        for (uint32_t i = 0; i < SHARDS; i++) {
            for (uint32_t k = 0; k < N; k++)
                specs[k] = (struct roi_spec){.token = k, .roi_id = k + 1, .n = k < 4 ? 5 : 50};
            sharer_send_rois(&c[i], specs, N);
            send_some(&l[i], round * N, 0);
        }
        for (uint32_t i = 0; i < SHARDS; i++) {
            uint8_t result[N];

            sharer_collect(&c[i], 0, N, result);
            for (uint32_t k = 0; k < N; k++)
                assert_int_equal(result[k], k < 4 ? 0 : 1);
            expect_all(&l[i], round * N, 1, 1);
        }
    }
    assert_int_equal(server_counter(&s, "received"), 50 * 2 * SHARDS * N);
    for (uint32_t i = 0; i < SHARDS; i++)
        sharer_close(&c[i]);
    end_well(&s, l, SHARDS);
}

/* A worker that dies costs each shard one more run of its RoIs; the culprit is found. */
static void a_worker_dies_under_all(void **state)
{
    struct server s;
    struct link l[SHARDS];

    (void)state;
    server_start(&s, SETTINGS, MENU("death", "1"));
    for (uint32_t i = 0; i < SHARDS; i++) {
        open_at(&l[i], &s, i);
        assert_true(link_hello(&l[i], "mourner", 0) > 0);
    }
    for (uint32_t round = 0; round < 3; round++) {
        for (uint32_t i = 0; i < SHARDS; i++)
            send_some(&l[i], round * N, i == round ? FAULT_CRASH : 0);
        for (uint32_t i = 0; i < SHARDS; i++)
            expect_all(&l[i], round * N,
                       i == round ? (uint8_t)(1u | TRIGD__V1__STATUS__ALGO_FAILED << 1) : 1, 1);
    }
    assert_int_equal(server_counter(&s, "poison"), 3);
    end_well(&s, l, SHARDS);
}

/* The operator's commands reach all shards before they are answered. */
static void control_reaches_all(void **state)
{
    struct server s;
    struct link l[SHARDS];

    (void)state;
    server_start(&s, SETTINGS, MENU("control", "1"));
    for (uint32_t i = 0; i < SHARDS; i++) {
        open_at(&l[i], &s, i);
        assert_true(link_hello(&l[i], "asker", 0) > 0);
    }
    for (uint64_t round = 0; round < 8; round++) {
        const bool is_on = round % 2;

        free(server_ask(&s, is_on ? "prescale c 1 now" : "prescale c 0 now"));
        for (uint32_t i = 0; i < SHARDS; i++) {
            send_some(&l[i], round * N, 0);
            expect_all(&l[i], round * N, is_on, is_on);
        }
    }
    free(server_ask(&s, "prescale-reset now")); /* else the operator's stay over the reload */
    server_menu(&s, MENU("control again", "0"));
    free(server_ask(&s, "reload"));
    for (uint32_t i = 0; i < SHARDS; i++) {
        send_some(&l[i], 100, 0);
        expect_all(&l[i], 100, 0, 0);
    }
    free(server_ask(&s, "drain"));
    for (uint32_t i = 0; i < SHARDS; i++) {
        send_some(&l[i], 200, 0);
        assert_int_equal(link_expect(&l[i], TRIGD__V1__FROM_DAEMON__BODY_BUSY)->busy->n_tokens, N);
    }
    free(server_ask(&s, "resume"));
    for (uint32_t i = 0; i < SHARDS; i++) {
        send_some(&l[i], 300, 0);
        expect_all(&l[i], 300, 0, 0);
    }
    end_well(&s, l, SHARDS);
}

/* Menus come and go while all shards have RoIs in flight. */
static void reload_under_load_of_all(void **state)
{
    struct server s;
    struct link l[SHARDS];

    (void)state;
    server_start(&s, SETTINGS, MENU("before", "1"));
    for (uint32_t i = 0; i < SHARDS; i++) {
        open_at(&l[i], &s, i);
        assert_true(link_hello(&l[i], "loader", 0) > 0);
    }
    for (uint64_t round = 0; round < 6; round++) {
        for (uint32_t i = 0; i < SHARDS; i++)
            send_some(&l[i], round * N, 0);
        server_menu(&s, round % 2 ? MENU("odd", "1") : MENU("even", "1"));
        free(server_ask(&s, "reload"));
        for (uint32_t i = 0; i < SHARDS; i++)
            expect_all(&l[i], round * N, 1, 1);
    }
    assert_int_equal(server_counter(&s, "menu_generation"), 7);
    assert_int_equal(server_counter(&s, "reload_failures"), 0);
    end_well(&s, l, SHARDS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(clients_are_spread), cmocka_unit_test(all_shards_decide),
        cmocka_unit_test(a_worker_dies_under_all), cmocka_unit_test(control_reaches_all),
        cmocka_unit_test(reload_under_load_of_all)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
