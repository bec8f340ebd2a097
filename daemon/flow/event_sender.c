/* SPDX-License-Identifier: Apache-2.0 */
#include "flow/event_sender.h"

#include <errno.h>
#include <stdlib.h>

#include "clock.h"

#define WAITING_MAX 128u

struct message { /* one decision on its way to protobuf */
    Trigd__V1__EventDecision m;
    uint32_t raw[MENU_CHAINS_MAX], chains[MENU_CHAINS_MAX], streams[MENU_STREAMS_MAX];
};

struct event_sender {
    struct clients *clients;
    struct stats *stats;
    struct event_decision waiting[WAITING_MAX];
    uint32_t n_waiting;
    struct message message[WAITING_MAX];
    Trigd__V1__EventDecision *list[WAITING_MAX];
};

int event_sender_new(struct clients *clients, struct stats *stats, struct event_sender **ret)
{
    struct event_sender *s = calloc(1, sizeof *s);

    if (!s)
        return -ENOMEM;
    s->clients = clients;
    s->stats = stats;
    *ret = s;
    return 0;
}

void event_sender_free(struct event_sender *s)
{
    free(s);
}

static size_t list_bits(const uint64_t *bits, uint32_t words, uint32_t *list)
{
    size_t n = 0;

    for (uint32_t w = 0; w < words; w++)
        for (uint64_t b = bits[w]; b; b &= b - 1)
            list[n++] = 64 * w + (uint32_t)__builtin_ctzll(b);
    return n;
}

static void form(const struct event_decision *d, uint64_t now_ns, struct message *to)
{
    Trigd__V1__EventDecision *m = &to->m;

    trigd__v1__event_decision__init(m);
    m->run = d->run;
    m->l1id = d->l1id;
    m->rois = d->n_rois;
    m->came = d->n_came;
    m->accept = d->accept;
    m->status = (Trigd__V1__Status)d->status;
    m->late = d->is_late;
    m->repeated = d->is_repeat;
    m->latency_us = (uint32_t)((now_ns - d->first_ns) / NS_PER_US);
    m->menu_generation = d->generation;
    m->menu_key = d->menu_key;
    m->prescale_key = d->prescale_key;
    m->conditions_key = d->conditions_key;
    m->chains_raw = to->raw;
    m->n_chains_raw = list_bits(d->raw.w, d->n_words, to->raw);
    m->chains = to->chains;
    m->n_chains = list_bits(d->accepted.w, d->n_words, to->chains);
    m->streams = to->streams;
    m->n_streams = list_bits(&d->streams, 1, to->streams);
}

static bool is_there(const struct event_sender *s, const struct event_decision *d)
{
    const struct client *client = clients_at(s->clients, d->client);

    return client->is_used && client->epoch == d->epoch;
}

void event_sender_flush(struct event_sender *s)
{
    const uint64_t now_ns = clock_ns();

    for (uint32_t i = 0, n; i < s->n_waiting; i += n) {
        const struct event_decision *d = &s->waiting[i];
        Trigd__V1__DecisionBatch batch = TRIGD__V1__DECISION_BATCH__INIT;
        Trigd__V1__FromDaemon m = TRIGD__V1__FROM_DAEMON__INIT;

        for (n = 0; i + n < s->n_waiting && d[n].client == d->client && d[n].epoch == d->epoch;
             n++) {
            form(&d[n], now_ns, &s->message[n]);
            s->list[n] = &s->message[n].m;
        }
        if (!is_there(s, d)) {
            stats_add(&s->stats->g.undeliverable, n);
            continue;
        }
        batch.n_events = n;
        batch.events = s->list;
        m.body_case = TRIGD__V1__FROM_DAEMON__BODY_DECISIONS;
        m.decisions = &batch;
        clients_send(s->clients, d->client, &m, n);
    }
    s->n_waiting = 0;
}

void event_sender_add(struct event_sender *s, const struct event_decision *d)
{
    if (s->n_waiting == WAITING_MAX)
        event_sender_flush(s);
    s->waiting[s->n_waiting++] = *d;
}
