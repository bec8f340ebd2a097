/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdlib.h>
#include <zmq.h>

#include "addresses.h"
#include "clock.h"
#include "events.h"
#include "shard_endpoint.h"
#include "transport.h"

#define BUSY_PAUSE_NS (5 * NS_PER_MS) /* before RoIs that were answered Busy are sent again */
#define MESSAGES_MAX  64              /* taken at a time */
#define SLICE_MS      5u              /* longest sleep while something has to be done in time */
#define IDLE_MS       50u             /* longest sleep otherwise */

/* The flight of a token that was sent, or NULL (counted: it came twice, or was never sent). */
static struct flight *take(struct trg_client *c, uint64_t token)
{
    struct flight *f = c->room ? flights_of(c, token) : NULL;

    if (f && f->state == FLIGHT_SENT && f->token == token) {
        transport_end(c, f);
        c->stats.outstanding--;
        return f;
    }
    if (token < c->next_token)
        c->stats.duplicates++;
    else
        c->stats.unknown++;
    return NULL;
}

/* An array of at least n items of `size` bytes. */
static int make_room(void **array, size_t *most, size_t n, size_t size)
{
    void *larger;

    if (n <= *most)
        return 0;
    larger = realloc(*array, n * size);
    if (!larger)
        return -ENOMEM;
    *array = larger;
    *most = n;
    return 0;
}

static int fill_results(struct trg_client *c, const Trigd__V1__Decision *d,
                        struct trg_client_end *end)
{
    int r = make_room((void **)&c->results, &c->most_results, d->n_results, sizeof *c->results);

    if (r == 0)
        r = make_room((void **)&c->missing, &c->most_missing, d->n_missing, sizeof *c->missing);
    if (r < 0)
        return r;
    for (size_t i = 0; i < d->n_results; i++)
        c->results[i] = (struct trg_client_result){.step = d->results[i]->step,
                                                   .n_values = (uint32_t)d->results[i]->n_values,
                                                   .values = d->results[i]->values};
    for (size_t i = 0; i < d->n_missing; i++)
        c->missing[i] = (struct trg_client_missing){.collection = d->missing[i]->collection,
                                                    .chains = d->missing[i]->chains,
                                                    .n_chains = (uint32_t)d->missing[i]->n_chains};
    end->results = c->results;
    end->n_results = (uint32_t)d->n_results;
    end->missing = c->missing;
    end->n_missing = (uint32_t)d->n_missing;
    return 0;
}

static void count_decision(struct trg_client_stats *s, const Trigd__V1__Decision *d)
{
    s->decided++;
    *(d->accept ? &s->accepted : &s->rejected) += 1;
    s->late += d->late ? 1 : 0;
    s->repeated += d->repeated ? 1 : 0;
}

static int take_decision(struct trg_client *c, const Trigd__V1__Decision *d, uint64_t now)
{
    struct flight *f = take(c, d->token);
    struct trg_client_end end = {.kind = TRG_CLIENT_DECIDED,
                                 .inside = d,
                                 .received_ns = now,
                                 .run = d->run,
                                 .l1id = d->l1id,
                                 .roi_id = d->roi_id,
                                 .accept = d->accept,
                                 .late = d->late,
                                 .repeated = d->repeated,
                                 .status = (uint32_t)d->status,
                                 .latency_us = d->latency_us,
                                 .lane_us = d->lane_us,
                                 .wanted = d->wanted,
                                 .kept = d->kept,
                                 .menu_generation = d->menu_generation,
                                 .menu_key = d->menu_key,
                                 .prescale_key = d->prescale_key,
                                 .chains_raw = d->chains_raw,
                                 .chains = d->chains,
                                 .streams = d->streams,
                                 .unfinished = d->unfinished,
                                 .skipped = d->skipped,
                                 .n_unfinished = (uint32_t)d->n_unfinished,
                                 .n_skipped = (uint32_t)d->n_skipped,
                                 .n_chains_raw = (uint32_t)d->n_chains_raw,
                                 .n_chains = (uint32_t)d->n_chains,
                                 .n_streams = (uint32_t)d->n_streams};
    int r;

    if (!f)
        return 0;
    if (!f->was_told)
        count_decision(&c->stats, d);
    r = fill_results(c, d, &end);
    flights_end(c, f, &end);
    return r;
}

size_t trg_client_end_message(const struct trg_client_end *end, void *bytes, size_t room)
{
    const Trigd__V1__Decision *d = end->inside;
    const size_t n = d ? trigd__v1__decision__get_packed_size(d) : 0;

    if (d && n <= room)
        trigd__v1__decision__pack(d, bytes);
    return n;
}

static int take_busy(struct trg_client *c, const Trigd__V1__Busy *b)
{
    for (size_t i = 0; i < b->n_tokens; i++) {
        struct flight *f = take(c, b->tokens[i]);

        if (!f)
            continue;
        c->stats.busy++;
        flights_again(c, f, true);
    }
    c->again_ns = clock_ns() + BUSY_PAUSE_NS;
    if (b->reason != TRIGD__V1__BUSY__REASON__NO_HELLO || !c->is_welcome)
        return 0;
    /* a daemon that does not know us any more was started anew, or did not hear us for long */
    c->is_welcome = false;
    return client_say_hello(c, false);
}

static void take_error(struct trg_client *c, const Trigd__V1__Error *e, uint64_t now)
{
    struct trg_client_end end = {.kind = TRG_CLIENT_REFUSED,
                                 .received_ns = now,
                                 .error = (uint32_t)e->code,
                                 .text = e->text};
    struct flight *f = e->has_token ? take(c, e->token) : NULL;

    c->stats.errors++;
    client_notice(c, TRG_CLIENT_ERROR, e->text);
    if (!f)
        return;
    c->stats.refused += !f->was_told; /* refused for good: an answer, not a loss */
    flights_end(c, f, &end);
}

/* A daemon that came back wants the client at another shard. */
static int go_on(struct trg_client *c, uint32_t shard)
{
    char other[512];
    int r;

    if (shard_endpoint(c->endpoint, shard, other, sizeof other) < 0)
        return client_say_hello(c, false);
    transport_close(c);
    r = transport_open(c, other);
    return r < 0 ? r : client_say_hello(c, false);
}

static int take_message(struct trg_client *c, const Trigd__V1__FromDaemon *m)
{
    const uint64_t now = clock_ns();
    int r = 0;

    switch (m->body_case) {
    case TRIGD__V1__FROM_DAEMON__BODY_WELCOME:
        return m->welcome->shard ? go_on(c, m->welcome->shard) : client_take_welcome(c, m->welcome);
    case TRIGD__V1__FROM_DAEMON__BODY_DECISIONS:
        for (size_t i = 0; r == 0 && i < m->decisions->n_decisions; i++)
            r = take_decision(c, m->decisions->decisions[i], now);
        for (size_t i = 0; r == 0 && i < m->decisions->n_events; i++)
            events_decided(c, m->decisions->events[i], now);
        return r;
    case TRIGD__V1__FROM_DAEMON__BODY_BUSY:
        return take_busy(c, m->busy);
    case TRIGD__V1__FROM_DAEMON__BODY_CREDIT:
        return flights_grant(c, m->credit->credits);
    case TRIGD__V1__FROM_DAEMON__BODY_ERROR:
        take_error(c, m->error, now);
        return 0;
    case TRIGD__V1__FROM_DAEMON__BODY_ADDRESSES:
        return addresses_take(c, m->addresses, now);
    default:
        return 0; /* heartbeats only tell that the daemon lives */
    }
}

int trg_client_receive(struct trg_client *c)
{
    Trigd__V1__FromDaemon *m;
    int n = 0, r = 0;

    if (!transport_is_open(c))
        return 0;
    while (r == 0 && n < MESSAGES_MAX && (r = transport_receive(c, 0, &m)) == 1) {
        r = take_message(c, m);
        n++;
    }
    if (r == -ECONNRESET) {
        sending_lost(c);
        return n;
    }
    return r < 0 ? r : n;
}

/* ---------------------------------------------------------------- waiting */

/* Sleeps until something comes, the connection ends, or something has to be done. */
static void sleep_a_while(struct trg_client *c, uint64_t until_ns)
{
    const bool is_idle = c->is_welcome && !c->stats.waiting;
    const uint64_t now = clock_ns(), left_ms = now < until_ns ? (until_ns - now) / NS_PER_MS : 0;
    const uint64_t most = is_idle ? IDLE_MS : SLICE_MS;
    zmq_pollitem_t items[] = {{.fd = -1, .events = ZMQ_POLLIN},
                              {.socket = c->watch, .fd = -1, .events = ZMQ_POLLIN}};
    struct trg_client_source source;

    if (trg_client_sleep(c, &source)) {
        items[0].socket = source.socket;
        items[0].fd = source.fd;
        zmq_poll(items, c->watch ? 2 : 1, (long)(left_ms < most ? left_ms + 1 : most));
    }
    trg_client_awake(c);
}

/* Goes on until `is_done`, or the time is over. */
static int go(struct trg_client *c, uint32_t timeout_ms, uint64_t until_ended, uint32_t room,
              bool until_all)
{
    const uint64_t until = clock_ns() + timeout_ms * NS_PER_MS;

    for (;;) {
        int r = trg_client_receive(c), ticked;

        if (r < 0)
            return r;
        ticked = trg_client_tick(c);
        if (ticked < 0)
            return ticked;
        if (c->n_ended >= until_ended && trg_client_room(c) >= room &&
            !(until_all && flights_are_open(c)))
            return 0;
        if (clock_ns() >= until)
            return -ETIMEDOUT;
        if (!r)
            sleep_a_while(c, until);
    }
}

int trg_client_wait(struct trg_client *c, uint32_t timeout_ms)
{
    const uint64_t before = c->n_ended;
    int r = go(c, timeout_ms, before + 1, 0, false);

    return r < 0 && r != -ETIMEDOUT ? r : (int)(c->n_ended - before);
}

int trg_client_await_room(struct trg_client *c, uint32_t n, uint32_t timeout_ms)
{
    return go(c, timeout_ms, 0, n, false);
}

int trg_client_drain(struct trg_client *c, uint32_t timeout_ms)
{
    return go(c, timeout_ms, 0, 0, true);
}
