/* SPDX-License-Identifier: Apache-2.0 */
#include "connection.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "clock.h"
#include "decisions.h"
#include "kinds.h"

#define KEY_BYTES     16u
#define PENDING_LEAST 64u
#define STRIDE        7919u /* of the first RoIs of connections */

/* ---------------------------------------------------------------- what comes back */

static void compare_truth(struct connection *c, const struct trg_client_end *end, uint32_t which)
{
    const struct source_roi *r = &c->source->roi[which];

    if (!r->has_truth || c->z_value < 0)
        return;
    for (uint32_t i = 0; i < end->n_results; i++) {
        if ((int)end->results[i].step != c->z_step || (int)end->results[i].n_values <= c->z_value)
            continue;
        c->tally->with_truth++;
        if (fabsf(end->results[i].values[c->z_value] - r->truth_z_mm) <= 1.0f)
            c->tally->within_1mm++;
    }
}

static void add_latency(struct tally *t, const struct trg_client_end *end, uint64_t from_ns)
{
    const uint64_t now = end->received_ns, all_ns = now > end->sent_ns ? now - end->sent_ns : 0;
    const uint64_t lane_ns = end->lane_us * NS_PER_US, daemon_ns = end->latency_us * NS_PER_US;

    latency_add(&t->latency, now > from_ns ? now - from_ns : 0);
    latency_add(&t->way, all_ns > daemon_ns ? all_ns - daemon_ns : 0);
    if (lane_ns)
        latency_add(&t->added, all_ns > lane_ns ? all_ns - lane_ns : 0);
}

static void take_decision(struct connection *c, const struct trg_client_end *end,
                          const struct pending *p)
{
    struct tally *t = c->tally;

    if (c->decisions)
        decisions_add(c->decisions, end);
    t->decided++;
    *(end->accept ? &t->accepted : &t->rejected) += 1;
    t->late += end->late ? 1 : 0;
    t->repeated += end->repeated ? 1 : 0;
    if (end->status < sizeof t->status / sizeof *t->status)
        t->status[end->status]++;
    for (uint32_t i = 0; i < end->n_chains; i++)
        if (end->chains[i] < CONNECTION_NAMES_MAX)
            t->chain[end->chains[i]]++;
    for (uint32_t i = 0; i < end->n_streams; i++)
        if (end->streams[i] < sizeof t->stream / sizeof *t->stream)
            t->stream[end->streams[i]]++;
    if (p->from_ns >= c->timed_from_ns)
        add_latency(t, end, p->from_ns);
    compare_truth(c, end, p->which);
}

static void take_end(void *arg, const struct trg_client_end *end)
{
    struct connection *c = arg;

    if (end->kind == TRG_CLIENT_DECIDED)
        take_decision(c, end, &c->pending[end->user]);
    else if (end->kind == TRG_CLIENT_REFUSED)
        c->tally->refused++;
    else
        *(end->not_taken ? &c->tally->not_taken : &c->tally->lost) += 1;
    c->free[c->n_free++] = (uint32_t)end->user;
}

static void take_event_end(void *arg, const struct trg_client_event_end *end)
{
    ((struct connection *)arg)->tally->events_lost += end->kind == TRG_CLIENT_LOST;
}

static void take_notice(void *arg, enum trg_client_notice notice, const char *text)
{
    struct connection *c = arg;
    struct tally *t = c->tally;

    if (notice != TRG_CLIENT_ERROR)
        c->is_gone = notice == TRG_CLIENT_GONE;
    else if (!t->first_error[0])
        snprintf(t->first_error, sizeof t->first_error, "%s", text);
}

/* ---------------------------------------------------------------- open and close */

void connection_declare(struct trg_client_options *options, const struct trg_collection **room)
{
    options->collections = room;
    for (uint32_t left = kinds_declared(); left; left &= left - 1)
        room[options->n_collections++] = kind_info((uint32_t)__builtin_ctz(left));
}

int connection_open(struct connection *c, void *zmq_context, const char *endpoint, const char *name,
                    uint32_t want_credits, uint32_t timeout_ms)
{
    struct trg_client_options o = TRG_CLIENT_OPTIONS_INIT;
    const struct trg_collection *declared[KINDS_MAX];
    unsigned char key[KEY_BYTES];
    char why[512];
    int r;

    o.endpoint = endpoint;
    o.name = name;
    o.want_credits = want_credits;
    o.timeout_ms = timeout_ms;
    o.zmq_context = zmq_context;
    o.reaches_nodes = !c->no_addresses;
    o.ended = take_end;
    o.event_ended = take_event_end;
    o.noticed = take_notice;
    o.arg = c;
    connection_declare(&o, declared);
    if (c->has_key) {
        if (getrandom(key, sizeof key, 0) != (ssize_t)sizeof key)
            return -EIO;
        o.key = key;
        o.key_bytes = sizeof key;
    }
    c->next_which = (uint32_t)((uint64_t)c->number * STRIDE % c->source->n);
    c->next_which -= c->source->roi[c->next_which].part; /* events are whole */
    c->next_l1id = c->number;
    r = trg_client_open(&o, &c->client, why, sizeof why);
    if (r < 0)
        fprintf(stderr, "trigreplay: %s\n", why);
    else if (c->decisions)
        decisions_begin(c->decisions, c->client);
    return r;
}

static void add_stats(struct tally *t, const struct trg_client_stats *s)
{
    t->sent += s->sent;
    t->busy += s->busy;
    t->resent += s->resent;
    t->errors += s->errors;
    t->duplicates += s->duplicates;
    t->unknown += s->unknown;
    t->bytes_out += s->bytes_out;
    t->to_nodes += s->to_nodes;
    t->events_sent += s->events_sent;
    t->events_accepted += s->events_accepted;
    t->events_rejected += s->events_rejected;
    t->events_failed += s->events_failed;
    t->events_refused += s->events_refused;
}

void connection_close(struct connection *c)
{
    struct trg_client_stats s = {.size = sizeof s};

    if (c->client) {
        trg_client_stats(c->client, &s);
        add_stats(c->tally, &s);
        c->tally->gone += c->is_gone;
        trg_client_close(c->client); /* the rest ends as lost */
    }
    free(c->pending);
    free(c->free);
    memset(c, 0, sizeof *c);
}

bool connection_is_done(const struct connection *c)
{
    struct trg_client_stats s = {.size = sizeof s};

    trg_client_stats(c->client, &s);
    return !s.outstanding && !s.waiting && !s.events_open;
}

void connection_finish(struct connection *c)
{
    trg_client_finish(c->client);
}

/* ---------------------------------------------------------------- sending */

uint32_t connection_together(const struct connection *c, uint32_t ahead)
{
    return c->source->roi[(c->next_which + ahead) % c->source->n].parts;
}

/* Room for twice as many RoIs on their way. */
static int grow(struct connection *c)
{
    const uint32_t n = c->n_pending ? 2 * c->n_pending : PENDING_LEAST;
    struct pending *pending = realloc(c->pending, n * sizeof *pending);
    uint32_t *places;

    if (!pending)
        return -ENOMEM;
    c->pending = pending;
    places = realloc(c->free, n * sizeof *places);
    if (!places)
        return -ENOMEM;
    c->free = places;
    for (uint32_t i = n; i > c->n_pending; i--)
        c->free[c->n_free++] = i - 1;
    c->n_pending = n;
    return 0;
}

/* The next RoI of the source; those of an event have its number. */
static void next_roi(struct connection *c, uint64_t from_ns, struct trg_client_roi *ret_roi)
{
    const uint32_t place = c->free[--c->n_free], which = c->next_which;
    const struct source_roi *r = &c->source->roi[which];

    c->pending[place] = (struct pending){.from_ns = from_ns, .which = which};
    if (c->columns)
        *ret_roi = *columns_roi(c->columns, which);
    else
        *ret_roi = (struct trg_client_roi){.info.run = r->run,
                                           .event_rois = r->event_rois,
                                           .packed = r->bytes,
                                           .packed_bytes = r->n};
    ret_roi->info.l1id = c->next_l1id;
    ret_roi->user = place;
    c->next_which = which + 1 < c->source->n ? which + 1 : 0;
    if (r->part + 1 == r->parts)
        c->next_l1id += c->n_connections;
}

/* One of the RoIs is larger than the daemon takes: it is refused, with the others of its event. */
static int send_apart(struct connection *c, const struct trg_client_roi *rois, uint32_t n)
{
    int r = 0;

    for (uint32_t i = 0, k; r == 0 && i < n; i += k) {
        k = c->source->roi[c->pending[rois[i].user].which].parts;
        r = trg_client_send(c->client, &rois[i], k);
        if (r != -EMSGSIZE)
            continue;
        for (uint32_t part = i; part < i + k; part++)
            c->free[c->n_free++] = (uint32_t)rois[part].user;
        c->tally->sent += k;
        c->tally->refused += k;
        r = 0;
    }
    return r;
}

int connection_send(struct connection *c, const uint64_t *from_ns, uint32_t n)
{
    struct trg_client_roi rois[TRG_CLIENT_BATCH_MAX];
    int r = 0;

    while (r == 0 && c->n_free < n)
        r = grow(c);
    for (uint32_t i = 0; r == 0 && i < n; i++)
        next_roi(c, from_ns[i], &rois[i]);
    if (r == 0)
        r = trg_client_send(c->client, rois, n);
    return r == -EMSGSIZE ? send_apart(c, rois, n) : r;
}
