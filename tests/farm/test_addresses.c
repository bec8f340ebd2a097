/* SPDX-License-Identifier: Apache-2.0 */
/* Batches that clients send to nodes themselves: the test is the client and the nodes.  Whatever
 * becomes of an address, each RoI has one outcome, and the accounts balance.  It takes 2 to 3 s,
 * since each case has a farm of its own. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zmq.h>

#include <cmocka.h>

#include "clock.h"
#include "messages.h"
#include "pair.h"

#define KEYS   "name: sup, heartbeat_ms: 50, lost_beats: 200, again_ms: 0, address_kbytes: 1"
#define LONG   ", address_ms: 60000" /* no address is returned */
#define SHORT  ", address_ms: 50"
#define BYTES  30000u /* of a batch, as it is asked about */
#define POINTS 1000u
#define PLACES 8u

static struct place { /* of a node, as the client was told */
    uint32_t number;
    char endpoint[128];
} place[PLACES];
static uint32_t n_places;

/* What a client has to know of an address. */
struct address {
    uint32_t place;
    uint64_t token;
    unsigned char frame[ROUTE_BYTES];
    size_t n;
    struct route route;
};

/* ---------------------------------------------------------------- the farm */

static void say_hello(struct link *l, const char *name)
{
    Trigd__V1__Hello hello = TRIGD__V1__HELLO__INIT;

    hello.reaches_nodes = true;
    assert_int_equal(link_hello_with(l, name, &hello)->address_bytes, 1024);
}

static void open_farm(const char *farm, bool a_takes, bool b_takes)
{
    a = (struct fake){.takes_passes = a_takes};
    b = (struct fake){.takes_passes = b_takes};
    n_places = 0;
    pair_open(SOON, farm, 64);
    say_hello(&client, "client");
}

static struct fake *other(const struct fake *n)
{
    return n == &a ? &b : &a;
}

/* ---------------------------------------------------------------- the client */

static void ask_bytes(struct link *l, void *frames, size_t n)
{
    Trigd__V1__Ask ask = TRIGD__V1__ASK__INIT;
    const Trigd__V1__ToDaemon m = message_ask(&ask, frames, n);

    link_send(l, &m);
}

/* Asks about batches of `rois` RoIs each, with tokens from `first` on; each is of its own event. */
static void ask(uint64_t first, uint32_t batches, uint32_t rois)
{
    unsigned char frames[16 * ROUTE_BYTES];
    size_t n = 0;

    for (uint32_t i = 0; i < batches; i++) {
        const struct route r = {.n = rois,
                                .is_event = true,
                                .is_ask = true,
                                .run = 1,
                                .l1id = (uint32_t)first + i * rois,
                                .bytes = BYTES,
                                .token = first + i * rois};

        n += route_pack(&r, frames + n);
    }
    ask_bytes(&client, frames, n);
}

/* The next message to the client, while nodes live. */
static const Trigd__V1__FromDaemon *hear(Trigd__V1__FromDaemon__BodyCase kind)
{
    const uint64_t limit = clock_ns() + LIMIT_MS * NS_PER_MS;

    while (clock_ns() < limit) {
        const Trigd__V1__FromDaemon *m = link_receive(&client, 10);

        fake_beat(&a);
        fake_beat(&b);
        if (!m || m->body_case == TRIGD__V1__FROM_DAEMON__BODY_CREDIT)
            continue;
        assert_int_equal(m->body_case, kind);
        return m;
    }
    fail_msg("nothing came to the client");
    return NULL;
}

/* The next addresses; they come in one message. */
static void hear_addresses(struct address *ret, uint32_t n)
{
    const Trigd__V1__Addresses *m = hear(TRIGD__V1__FROM_DAEMON__BODY_ADDRESSES)->addresses;

    for (size_t i = 0; i < m->n_places; i++) {
        assert_true(n_places < PLACES);
        place[n_places].number = m->places[i]->number;
        assert_string_equal(m->places[i]->key, "");
        snprintf(place[n_places++].endpoint, sizeof place->endpoint, "%s", m->places[i]->endpoint);
    }
    assert_int_equal(m->n_addresses, n);
    for (uint32_t i = 0; i < n; i++) {
        const Trigd__V1__Address *one = m->addresses[i];

        ret[i] = (struct address){.place = one->place, .token = one->token, .n = one->frame.len};
        assert_in_range(ret[i].n, 1, ROUTE_BYTES);
        memcpy(ret[i].frame, one->frame.data, ret[i].n);
        assert_true(route_read(ret[i].frame, ret[i].n, &ret[i].route));
        assert_true(ret[i].route.has_pass);
    }
}

static struct fake *node_at(const struct address *at)
{
    for (uint32_t i = 0; i < n_places; i++)
        if (place[i].number == at->place)
            return !strcmp(place[i].endpoint, a.endpoint) ? &a : &b;
    fail_msg("the client was not told where place %u is", at->place);
    return NULL;
}

static void send_batch(struct link *l, const struct address *at)
{
    struct roi_spec specs[ROUTE_ROIS];

    assert_int_equal(zmq_send(l->socket, at->frame, at->n, ZMQ_SNDMORE), at->n);
    for (uint32_t i = 0; i < at->route.n; i++)
        specs[i] =
            (struct roi_spec){.token = 999, .l1id = (uint32_t)at->token, .roi_id = i, .n = POINTS};
    link_send_rois(l, specs, at->route.n);
}

/* Sends a batch to its address, and has the node take what comes first. */
static struct fake *take_visit(const struct address *at)
{
    struct fake *n = node_at(at);
    struct link visit = {.context = zmq_ctx_new()};
    int linger = 5000;

    visit.socket = zmq_socket(visit.context, ZMQ_DEALER);
    assert_non_null(visit.socket);
    zmq_setsockopt(visit.socket, ZMQ_LINGER, &linger, sizeof linger);
    assert_int_equal(zmq_connect(visit.socket, n->endpoint), 0);
    send_batch(&visit, at);
    assert_true(fake_batch(n, both, 2, LIMIT_MS));
    assert_int_equal(n->route.token, at->route.token);
    zmq_close(visit.socket);
    zmq_ctx_term(visit.context);
    return n;
}

/* The same, where no address is returned: it is the batch. */
static struct fake *deliver(const struct address *at)
{
    struct fake *n = take_visit(at);

    assert_true(n->was_visited && !n->is_back);
    return n;
}

/* The next thing that comes to one of the nodes. */
static struct fake *next(void)
{
    return fake_next(both, 2);
}

static void expect_counts(uint32_t asked, uint32_t addressed, uint32_t unused, uint32_t fetched)
{
    assert_int_equal(fake_count(&server, NULL, "asked"), asked);
    assert_int_equal(fake_count(&server, NULL, "addressed"), addressed);
    assert_int_equal(fake_count(&server, NULL, "unused"), unused);
    assert_int_equal(fake_count(&server, NULL, "fetched"), fetched);
}

/* ---------------------------------------------------------------- by address */

/* Several at once, to the node that is best for each: debited at once, decided through the
 * supervisor. */
static void to_the_best_node(void **state)
{
    struct address at[3];
    struct fake *n[3];
    uint8_t got[6];

    (void)state;
    open_farm(KEYS LONG, true, true);
    ask(10, 3, 2);
    hear_addresses(at, 3);
    assert_int_equal(n_places, 2);
    assert_int_equal(fake_count(&server, NULL, "given"), 6);
    assert_int_equal(fake_count(&server, "a", "in_flight"), node_at(&at[0]) == &a ? 4 : 2);
    for (uint32_t i = 0; i < 3; i++) {
        assert_int_equal(at[i].token, 10 + 2 * i);
        assert_int_equal(at[i].route.n, 2);
        assert_int_equal(at[i].route.bytes, BYTES);
        assert_false(at[i].route.is_partial);
        n[i] = deliver(&at[i]);
        fake_decide(n[i], 0, 2, i != 1);
    }
    assert_ptr_equal(n[1], other(n[0]));
    link_collect(&client, 10, 6, got);
    for (uint32_t i = 0; i < 6; i++)
        assert_int_equal(got[i], i / 2 != 1);
    ask(10, 1, 2); /* of the event that was at n[0] */
    hear_addresses(at, 1);
    assert_ptr_equal(deliver(&at[0]), n[0]);
    fake_error(n[0], 1, "RoI 11: its eta is 12");
    assert_int_equal(hear(TRIGD__V1__FROM_DAEMON__BODY_ERROR)->error->token, 11);
    fake_decide(n[0], 0, 1, true);
    link_collect(&client, 10, 1, got);
    expect_counts(8, 8, 0, 0);
    pair_close();
}

/* A batch that is larger than a node goes in parts; beyond its credits a client gets no address. */
static void within_credits(void **state)
{
    const uint64_t limit = clock_ns() + LIMIT_MS * NS_PER_MS;
    const Trigd__V1__FromDaemon *m;
    struct address at[2];
    uint64_t wanted[2];

    (void)state;
    open_farm(KEYS LONG, true, true);
    while (server_row_number(&server, "clients", "client", "credits") < 100) {
        assert_true(clock_ns() < limit);
        fake_beat(&a);
        fake_beat(&b);
    }
    ask(0, 1, 100);
    hear_addresses(at, 2);
    assert_ptr_not_equal(node_at(&at[0]), node_at(&at[1]));
    for (uint32_t i = 0; i < 2; i++) {
        assert_true(at[i].route.is_partial);
        assert_int_equal(at[i].route.n, 100);
        wanted[i] = at[0].route.wanted[i] ^ at[1].route.wanted[i];
        assert_int_equal(at[0].route.wanted[i] & at[1].route.wanted[i], 0);
    }
    assert_true(wanted[0] == UINT64_MAX && wanted[1] == (UINT64_C(1) << 36) - 1);
    ask(1000, 1, 200);
    m = hear(TRIGD__V1__FROM_DAEMON__BODY_BUSY);
    assert_int_equal(m->busy->reason, TRIGD__V1__BUSY__REASON__NO_CREDIT);
    assert_in_range(m->busy->n_tokens, 200 - 28, 200);
    pair_close();
}

/* ---------------------------------------------------------------- lost and slow */

/* It goes with RoIs: the client sends those to another one that have no decision. */
static void of_a_lost_node(void **state)
{
    Trigd__Farm__V1__FromNode m = TRIGD__FARM__V1__FROM_NODE__INIT;
    Trigd__Farm__V1__Leave leave = TRIGD__FARM__V1__LEAVE__INIT;
    struct address at, again;
    struct fake *first, *second;

    (void)state;
    open_farm(KEYS LONG, true, true);
    ask(0, 1, 4);
    hear_addresses(&at, 1);
    first = deliver(&at);
    fake_decide(first, 0, 1, true);
    link_collect(&client, 0, 1, NULL);
    first->is_mute = true;
    m.body_case = TRIGD__FARM__V1__FROM_NODE__BODY_LEAVE;
    m.leave = &leave;
    leave.why = (char *)(uintptr_t) "it is unwell";
    fake_send(first, &m);
    hear_addresses(&again, 1);
    assert_ptr_equal(node_at(&again), other(first));
    assert_true(again.route.is_repeat && again.route.is_partial);
    assert_int_equal(again.route.wanted[0], 0xe);
    second = deliver(&again);
    fake_decide(second, 1, 3, true);
    link_collect(&client, 1, 3, NULL);
    assert_int_equal(fake_count(&server, NULL, "again"), 3);
    expect_counts(4, 7, 0, 0);
    pair_close();
}

/* Whether a batch came to its node before the supervisor wanted to know that: it takes a while. */
static bool play_slow_node(unsigned address_ms)
{
    struct address at;
    struct fake *n;
    char farm[160];

    snprintf(farm, sizeof farm, KEYS ", address_ms: %u", address_ms);
    open_farm(farm, true, true);
    ask(0, 1, 2);
    hear_addresses(&at, 1);
    n = take_visit(&at);
    if (n->is_back)
        return false;
    assert_true(fake_batch(n, both, 2, LIMIT_MS + (int)address_ms));
    assert_true(n->is_back && !n->was_visited);
    assert_int_equal(n->route.pass.serial, at.route.pass.serial);
    assert_false(fake_batch(n, both, 2, 100)); /* it is asked once */
    fake_decide(n, 0, 2, true);
    link_collect(&client, 0, 2, NULL);
    expect_counts(2, 2, 0, 0);
    return true;
}

/* A node with a batch is asked later whether it has come, and says nothing: it is just slow. */
static void of_a_slow_node(void **state)
{
    (void)state;
    for (unsigned address_ms = 50; !play_slow_node(address_ms); address_ms *= 4) {
        assert_true(address_ms < 60000); /* this machine takes its time */
        link_close(&client);
        fake_close(&a);
        fake_close(&b);
        server_stop(&server);
    }
    pair_close();
}

/* ---------------------------------------------------------------- not used */

/* The client does not reach the node: its batch comes through the supervisor, and so do those that
 * follow. */
static void never_came(void **state)
{
    struct address at, here;
    struct fake *n;

    (void)state;
    open_farm(KEYS SHORT, true, true);
    ask(0, 1, 2);
    hear_addresses(&at, 1);
    n = next();
    assert_true(n->is_back && n == node_at(&at));
    assert_int_equal(n->route.token, at.route.token);
    fake_busy(n, 0, 2, TRIGD__V1__BUSY__REASON__UNUSED);
    hear_addresses(&here, 1);
    assert_int_equal(here.place, 0);
    assert_int_equal(here.token, 0);
    assert_int_equal(fake_count(&server, NULL, "waiting"), 2);
    send_batch(&client, &here);
    n = next();
    assert_false(n->route.has_pass || n->was_visited);
    fake_decide(n, 0, 2, true);
    link_collect(&client, 0, 2, NULL);
    ask(7, 1, 1);
    hear_addresses(&here, 1);
    assert_int_equal(here.place, 0);
    send_batch(&client, &here);
    fake_decide(next(), 0, 1, true);
    link_collect(&client, 7, 1, NULL);
    expect_counts(3, 2, 2, 3);
    assert_int_equal(fake_count(&server, node_at(&at)->name, "unused"), 2);
    pair_close();
}

/* Nodes without passes get their batches through the supervisor. */
static void older_nodes(void **state)
{
    struct address at;
    struct fake *n;

    (void)state;
    open_farm(KEYS LONG, false, false);
    ask(0, 1, 1);
    hear_addresses(&at, 1);
    assert_int_equal(at.place, 0);
    send_batch(&client, &at);
    n = next();
    assert_false(n->was_visited);
    fake_decide(n, 0, 1, true);
    link_collect(&client, 0, 1, NULL);
    expect_counts(1, 0, 0, 1);
    pair_close();
}

static void one_older_node(void **state)
{
    struct address at[4];

    (void)state;
    open_farm(KEYS LONG, false, true);
    ask(0, 4, 1);
    hear_addresses(at, 4);
    for (uint32_t i = 0; i < 4; i++) {
        assert_ptr_equal(deliver(&at[i]), &b);
        fake_decide(&b, 0, 1, true);
    }
    link_collect(&client, 0, 4, NULL);
    pair_close();
}

/* ---------------------------------------------------------------- clients that go */

static void leave(void)
{
    Trigd__V1__ToDaemon m = TRIGD__V1__TO_DAEMON__INIT;
    Trigd__V1__Bye bye = TRIGD__V1__BYE__INIT;

    m.body_case = TRIGD__V1__TO_DAEMON__BODY_BYE;
    m.bye = &bye;
    link_send(&client, &m);
    server_wait_counter(&server, "clients", 0);
}

/* With an address in its hand, which the node gives back. */
static void goes_with_an_address(void **state)
{
    struct address at;
    struct fake *n;

    (void)state;
    open_farm(KEYS SHORT, true, true);
    ask(0, 1, 3);
    hear_addresses(&at, 1);
    leave();
    n = next();
    assert_true(n->is_back);
    fake_busy(n, 0, 3, TRIGD__V1__BUSY__REASON__UNUSED);
    fake_wait(&server, NULL, "unsent", 3, both, 2);
    assert_int_equal(server_counter(&server, "failed"), 3);
    assert_int_equal(server_counter(&server, "in_flight"), 0);
    pair_close();
}

/* While its batch is waited for here. */
static void goes_before_it_sends(void **state)
{
    struct address at;

    (void)state;
    open_farm(KEYS LONG, false, false);
    ask(0, 1, 3);
    hear_addresses(&at, 1);
    leave();
    fake_wait(&server, NULL, "unsent", 3, both, 2);
    assert_int_equal(server_counter(&server, "failed"), 3);
    pair_close();
}

/* ---------------------------------------------------------------- bad input */

static void refuse_ask(unsigned char *frames, size_t n, const char *sentence)
{
    const Trigd__V1__FromDaemon *m;

    ask_bytes(&client, frames, n);
    m = hear(TRIGD__V1__FROM_DAEMON__BODY_ERROR);
    assert_string_equal(m->error->text, sentence);
    assert_false(m->error->has_token);
}

static void bad_asks(void **state)
{
    struct route good = {.n = 1, .is_ask = true, .bytes = BYTES, .token = 1}, bad = good;
    unsigned char frames[4 * ROUTE_BYTES] = {0};
    size_t n = route_pack(&good, frames);

    (void)state;
    open_farm(KEYS LONG, true, true);
    refuse_ask(frames, 0, "Ask holds 0 bytes; 32 for each batch are allowed");
    refuse_ask(frames, n + 1, "Ask holds 33 bytes; 32 for each batch are allowed");
    refuse_ask(frames, 2 * n, "Ask holds something that is no routing frame which asks");
    bad.is_ask = false;
    bad.bytes = 0;
    route_pack(&bad, frames + n);
    refuse_ask(frames, 2 * n, "Ask holds something that is no routing frame which asks");
    bad = good;
    bad.bytes = 0;
    route_pack(&bad, frames + n);
    refuse_ask(frames, 2 * n, "a batch that is asked about has 0 bytes; 1 to 16777216 are allowed");
    bad.bytes = 16777217;
    route_pack(&bad, frames + n);
    refuse_ask(frames, 2 * n,
               "a batch that is asked about has 16777217 bytes; 1 to 16777216 are allowed");
    assert_int_equal(server_counter(&server, "received"), 0); /* none of the good ones either */
    pair_close();
}

/* A body that the supervisor waits for comes from its client, and from nobody else. */
static void bodies_of_others(void **state)
{
    static const char sentence[] = "no RoIs of this client are waited for under the pass";
    struct address at, wrong;
    struct link thief;

    (void)state;
    open_farm(KEYS LONG, false, false);
    ask(0, 1, 1);
    hear_addresses(&at, 1);
    link_open(&thief, &server);
    fake_beat(&a);
    fake_beat(&b);
    say_hello(&thief, "thief");
    send_batch(&thief, &at);
    assert_string_equal(link_expect(&thief, TRIGD__V1__FROM_DAEMON__BODY_ERROR)->error->text,
                        sentence);
    link_close(&thief);
    wrong = at;
    wrong.frame[17] ^= 1; /* the token */
    send_batch(&client, &wrong);
    assert_string_equal(hear(TRIGD__V1__FROM_DAEMON__BODY_ERROR)->error->text, sentence);
    send_batch(&client, &at);
    fake_decide(next(), 0, 1, true);
    link_collect(&client, 0, 1, NULL);
    pair_close();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(to_the_best_node),     cmocka_unit_test(within_credits),
        cmocka_unit_test(of_a_lost_node),       cmocka_unit_test(of_a_slow_node),
        cmocka_unit_test(never_came),           cmocka_unit_test(older_nodes),
        cmocka_unit_test(one_older_node),       cmocka_unit_test(goes_with_an_address),
        cmocka_unit_test(goes_before_it_sends), cmocka_unit_test(bad_asks),
        cmocka_unit_test(bodies_of_others),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
