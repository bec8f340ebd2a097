/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdio.h>

#include "addresses.h"
#include "clock.h"
#include "encode.h"
#include "events.h"
#include "transport.h"

#define OPEN_PAUSE_NS (50 * NS_PER_MS) /* between two looks for a daemon that is gone */
#define WATCH_NS      (5 * NS_PER_MS)

uint32_t trg_client_room(const struct trg_client *c)
{
    const uint32_t taken = c->stats.outstanding + c->stats.waiting + c->n_told;

    return c->is_welcome && !c->is_finishing && c->stats.credits > taken ? c->stats.credits - taken
                                                                         : 0;
}

static int send_flights(struct trg_client *c, struct flight *const *flights, uint32_t n)
{
    uint64_t now;
    int r;

    for (uint32_t i = 0; i < n; i++) {
        flights[i]->state = FLIGHT_SENT;
        flights[i]->sendings++;
        flights[i]->not_taken = false;
    }
    r = addresses_send(c, flights, n);
    if (r < 0)
        return r;
    now = clock_ns();
    for (uint32_t i = 0; i < n; i++)
        flights[i]->sent_ns = now;
    c->stats.outstanding += (uint32_t)r;
    return r;
}

int trg_client_send(struct trg_client *c, const struct trg_client_roi *rois, uint32_t n)
{
    struct flight *flights[TRG_CLIENT_BATCH_MAX];
    uint32_t events[TRG_CLIENT_BATCH_MAX];
    uint64_t shared[TRG_CLIENT_BATCH_MAX];
    char why[WHY_BYTES];
    int r = 0;

    if (n > TRG_CLIENT_BATCH_MAX)
        return -E2BIG;
    if (n > trg_client_room(c))
        return -EAGAIN;
    for (uint32_t i = 0; r == 0 && i < n; i++) {
        r = encode_check(c, &rois[i], why, sizeof why);
        if (r == 0)
            r = transport_check(c, &rois[i], &shared[i], why, sizeof why);
    }
    if (r == 0)
        r = events_begin(c, rois, n, events, why, sizeof why);
    if (r != 0) {
        client_notice(c, TRG_CLIENT_ERROR, why);
        return r;
    }
    for (uint32_t i = 0; i < n; i++) {
        flights[i] = flights_new(c, &rois[i]);
        flights[i]->state = FLIGHT_SENT; /* its place is taken */
        flights[i]->bytes = shared[i];
        events_join(c, events[i], flights[i]);
    }
    c->stats.sent += n;
    r = n ? send_flights(c, flights, n) : 0;
    return r < 0 ? r : 0;
}

/* ---------------------------------------------------------------- again */

/* Sends an RoI that waits; another daemon than its first may not take one of its size. */
static int send_again(struct trg_client *c, struct flight *f)
{
    struct trg_client_end end = {.kind = TRG_CLIENT_REFUSED,
                                 .error = TRIGD__V1__ERROR__CODE__TOO_LARGE};
    char why[WHY_BYTES];

    if (transport_check(c, &f->roi, &f->bytes, why, sizeof why) == 0)
        return send_flights(c, &f, 1);
    end.text = why;
    c->stats.refused++;
    flights_end(c, f, &end);
    return 1;
}

static int send_waiting(struct trg_client *c, uint64_t now_ns)
{
    while (c->is_welcome && c->stats.waiting && c->stats.outstanding < c->stats.credits &&
           now_ns >= c->again_ns) {
        int r = send_again(c, flights_of(c, c->again[--c->stats.waiting]));

        if (r < 0)
            return r;
        if (r == 0)
            break; /* no room: it is among them again */
    }
    return 0;
}

void trg_client_finish(struct trg_client *c)
{
    c->is_finishing = true;
    while (c->stats.waiting)
        flights_lose(c, flights_of(c, c->again[--c->stats.waiting]));
    if (!transport_is_open(c))
        events_close(c);
}

/* All that was unanswered, and what was answered of open events, goes to the next daemon. */
static void keep_all(struct trg_client *c)
{
    for (uint32_t i = 0; i < c->room; i++) {
        if (c->flight[i].state != FLIGHT_SENT && c->flight[i].state != FLIGHT_TOLD)
            continue;
        c->flight[i].is_repeat = true;
        flights_again(c, &c->flight[i], false);
        c->stats.resent++;
    }
    events_again(c);
}

void sending_lost(struct trg_client *c)
{
    transport_close(c);
    addresses_close(c);
    if (c->is_finishing)
        flights_lose_all(c);
    else
        keep_all(c);
    c->n_told = c->stats.outstanding = c->stats.credits = 0; /* a Welcome will tell */
    c->is_welcome = false;
    c->open_ns = 0;
    client_notice(c, TRG_CLIENT_GONE, "the connection to the daemon ended");
}

/* Looks for the next daemon; nobody being there is no error. */
static int find_daemon(struct trg_client *c, uint64_t now_ns)
{
    int r;

    if (c->is_finishing || now_ns < c->open_ns)
        return 0;
    c->open_ns = now_ns + OPEN_PAUSE_NS;
    r = transport_open(c, c->endpoint);
    if (r == 0)
        return client_say_hello(c, c->may_move);
    transport_close(c);
    return r == -ENOENT || r == -ECONNREFUSED ? 0 : r;
}

static int beat(struct trg_client *c, uint64_t now_ns)
{
    Trigd__V1__ToDaemon m = TRIGD__V1__TO_DAEMON__INIT;
    Trigd__V1__Heartbeat beat = TRIGD__V1__HEARTBEAT__INIT;

    if (now_ns < c->spoken_ns + NS_PER_MS * c->heartbeat_ms / 2)
        return 0;
    beat.sent_ns = now_ns;
    m.body_case = TRIGD__V1__TO_DAEMON__BODY_HEARTBEAT;
    m.heartbeat = &beat;
    return transport_tell(c, &m);
}

int trg_client_tick(struct trg_client *c)
{
    const uint64_t now_ns = clock_ns();
    int r;

    if (!transport_is_open(c))
        return find_daemon(c, now_ns);
    if (now_ns > c->watched_ns + WATCH_NS) {
        c->watched_ns = now_ns;
        if (transport_is_lost(c)) {
            sending_lost(c);
            return find_daemon(c, now_ns);
        }
    }
    if (!c->is_welcome && now_ns > c->hello_ns + CLIENT_HELLO_NS)
        return client_say_hello(c, false);
    r = send_waiting(c, now_ns);
    addresses_tick(c, now_ns);
    return r < 0 ? r : beat(c, now_ns);
}
