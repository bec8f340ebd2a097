/* SPDX-License-Identifier: Apache-2.0 */
/* Menus that add and remove a collection are loaded one after the other while clients send: each
 * RoI has one decision, which is that of one menu, and all books agree to the RoI. */
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cells.collections.h"
#include "clock.h"
#include "sharer.h"
#include "trigd/client.h"

#define POINTS 20u
#define CELLS  9u
#define MOST   4000000u
#define WAIT   20000u

static const char config[] = "devices: [{backend: cpu, index: 0, lanes: 1, slots: 2}]\n"
                             "clients: {credits: 256, shm_mbytes: 4}\n";
#define OF_POINTS "  - {name: points, id: 1, steps: [{step: f}], streams: [physics]}\n"
#define OF_CELLS                                                                         \
    "  - {name: cells, id: 2, steps: [{step: t, cuts: [{value: n, min: 9, max: 9}]}],\n" \
    "     streams: [physics]}\n"

enum what { BOTH, ONLY_POINTS, ONLY_CELLS };
static const char *const menu[] = {
    [BOTH] = "streams: [physics]\n"
             "steps: [{name: f, plugin: fault}, {name: t, plugin: tallying}]\n"
             "chains:\n" OF_POINTS OF_CELLS,
    [ONLY_POINTS] = "streams: [physics]\nsteps: [{name: f, plugin: fault}]\nchains:\n" OF_POINTS,
    [ONLY_CELLS] = "streams: [physics]\nsteps: [{name: t, plugin: tallying}]\nchains:\n" OF_CELLS};
static const enum what sequence[] = {BOTH,        ONLY_POINTS, ONLY_CELLS, BOTH,
                                     ONLY_POINTS, BOTH,        ONLY_CELLS, ONLY_POINTS};
#define LOADS (sizeof sequence / sizeof *sequence)

static float zero[POINTS], et[CELLS];
static uint8_t layer[POINTS];
static uint16_t number[CELLS];

struct sender {
    const char *name;
    bool has_cells;
    struct trg_client *client;
    pthread_t thread;
    uint32_t n_sent, n_ended, n_wrong;
    _Atomic uint32_t of_menu[LOADS + 1]; /* by generation, from 1 */
    char wrong[256];                     /* the first one that is not what its menu says */
    uint8_t by_user[MOST];
};
static _Atomic bool is_over;

/* "0 - 1": the chains that accept, by number in the menu, and after a dash those that lack cells.
 */
static void describe(const struct trg_client_end *end, char *text, size_t bytes)
{
    size_t n = 0;

    for (uint32_t i = 0; i < end->n_chains; i++)
        n += (size_t)snprintf(text + n, bytes - n, "%u ", end->chains[i]);
    n += (size_t)snprintf(text + n, bytes - n, "-");
    for (uint32_t i = 0; end->n_missing && i < end->missing[0].n_chains; i++)
        n += (size_t)snprintf(text + n, bytes - n, " %u", end->missing[0].chains[i]);
}

static const char *wanted(const struct sender *s, enum what what)
{
    static const char *const with[] = {"0 1 -", "0 -", "0 -"};
    static const char *const without[] = {"0 - 1", "0 -", "- 0"};

    return (s->has_cells ? with : without)[what];
}

/* Nothing may fail on this thread: cmocka would leave the wrong stack. */
static void ended(void *arg, const struct trg_client_end *end)
{
    struct sender *s = arg;
    const uint32_t generation = end->menu_generation;
    char text[128] = "no decision";

    s->n_ended++;
    s->by_user[end->user]++;
    if (end->kind == TRG_CLIENT_DECIDED && end->status == TRG_CLIENT_OK && generation >= 1 &&
        generation <= LOADS) {
        describe(end, text, sizeof text);
        atomic_fetch_add(&s->of_menu[generation], 1);
        if (!strcmp(text, wanted(s, sequence[generation - 1])))
            return;
    }
    if (!s->n_wrong++)
        snprintf(s->wrong, sizeof s->wrong, "kind %u, status %u, generation %u: %s %s", end->kind,
                 end->status, generation, text, end->text);
}

static void *send_on(void *arg)
{
    struct sender *s = arg;
    const struct trg_client_items items[] = {
        {.declaration = &trg_spacepoints, .column = {zero, zero, zero, layer}, .n = POINTS},
        {.declaration = &trg_reload_cells, .column = {et, number}, .n = CELLS}};

    while (!atomic_load(&is_over) && s->n_sent < MOST) {
        const struct trg_client_roi roi = {
            .info = {.run = 1, .l1id = s->n_sent, .phi_half_rad = 4, .lumi_block = 1},
            .collections = items,
            .n_collections = s->has_cells ? 2 : 1,
            .user = s->n_sent};

        if (trg_client_await_room(s->client, 1, WAIT) < 0 ||
            trg_client_send(s->client, &roi, 1) < 0)
            break;
        s->n_sent++;
    }
    trg_client_drain(s->client, WAIT);
    return NULL;
}

static void begin(struct sender *s, const struct server *server, const char *endpoint)
{
    static const struct trg_collection *const declared[] = {&trg_reload_cells};
    struct trg_client_options o = TRG_CLIENT_OPTIONS_INIT;
    char where[160], why[256] = "";

    snprintf(where, sizeof where, endpoint, server->folder);
    o.endpoint = where;
    o.name = s->name;
    o.ended = ended;
    o.arg = s;
    o.collections = declared;
    o.n_collections = s->has_cells;
    if (trg_client_open(&o, &s->client, why, sizeof why) < 0)
        fail_msg("%s", why);
    assert_int_equal(pthread_create(&s->thread, NULL, send_on, s), 0);
}

/* Until RoIs of that client were decided by that menu. */
static void await(struct sender *s, uint32_t generation)
{
    const uint64_t limit = clock_ns() + 20 * NS_PER_S;

    while (!atomic_load(&s->of_menu[generation])) {
        if (clock_ns() > limit)
            fail_msg("%s: no decision of menu %u", s->name, generation);
        sched_yield();
    }
}

static void end(struct sender *s)
{
    pthread_join(s->thread, NULL);
    if (s->n_wrong)
        fail_msg("%s: %u RoIs ended otherwise: %s", s->name, s->n_wrong, s->wrong);
    assert_int_equal(s->n_ended, s->n_sent);
    for (uint32_t i = 0; i < s->n_sent; i++)
        assert_int_equal(s->by_user[i], 1);
    trg_client_close(s->client);
}

/* RoIs that other menus than that decided. */
static uint64_t decided(const struct sender *s, enum what without)
{
    uint64_t n = 0;

    for (uint32_t i = 0; i < LOADS; i++)
        n += sequence[i] == without ? 0 : atomic_load(&s->of_menu[i + 1]);
    return n;
}

/* Once the turn that decided the last RoI has ended. */
static void expect_chain(struct server *s, const char *chain, const char *counter, uint64_t count)
{
    server_wait_row(s, "chains", chain, counter, count, count);
}

static void collections_come_and_go(void **state)
{
    static struct sender with = {.name = "with", .has_cells = true}, without = {.name = "without"};
    struct server s;

    (void)state;
    sharer_server(&s, config, menu[sequence[0]]);
    begin(&with, &s, "shm://%s/shm");
    begin(&without, &s, "ipc://%s/in");
    for (uint32_t generation = 1; generation <= LOADS; generation++) {
        if (generation > 1) {
            server_menu(&s, menu[sequence[generation - 1]]);
            server_expect(&s, "reload", "reloaded");
        }
        await(&with, generation);
        await(&without, generation);
        server_check_ledger(&s);
    }
    atomic_store(&is_over, true);
    end(&with);
    end(&without);
    server_check_ledger(&s);
    server_wait_counter(&s, "received", with.n_sent + without.n_sent);
    server_wait_counter(&s, "in_flight", 0);
    assert_int_equal(server_counter(&s, "failed"), 0);
    expect_chain(&s, "cells", "pass", decided(&with, ONLY_POINTS));
    expect_chain(&s, "cells", "missing", decided(&without, ONLY_POINTS));
    expect_chain(&s, "points", "pass", decided(&with, ONLY_CELLS) + decided(&without, ONLY_CELLS));
    expect_chain(&s, "points", "missing", 0);
    server_stop(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(collections_come_and_go)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
