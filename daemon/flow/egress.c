/* SPDX-License-Identifier: Apache-2.0 */
#include "flow/egress.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "flow/spans.h"
#include "transport/refusal.h"

#define MESSAGE_DECISIONS 256u /* most decisions in one message */
#define CHAINS_TIMED      16u  /* of a menu with more only some RoIs are timed for chains */
#define SHARED_DECISIONS  64u  /* and in one that has to fit the ring of a co-located client */

/* Decisions of one client that wait for the flush, as a list through `next`. */
struct outbox {
    uint32_t client; /* place; it may be another client's by now */
    uint32_t first, last, n;
};

/* Worst case of what one decision takes in the scratch memory. */
#define DECISION_BYTES                                                              \
    (sizeof(Trigd__V1__Decision) +                                                  \
     MENU_STEPS_MAX * (sizeof(Trigd__V1__StepResult) + sizeof(void *)) +            \
     (4 * MENU_CHAINS_MAX + MENU_STREAMS_MAX + MENU_STEPS_MAX) * sizeof(uint32_t) + \
     KINDS_MAX * (sizeof(Trigd__V1__Missing) + sizeof(void *)) + 64)

struct egress {
    uint64_t soft_ns, hard_ns;
    uint64_t decided_ns; /* the last decision */
    struct pool *pool;
    struct clients *clients;
    struct stats *stats;
    struct streams *streams;
    uint32_t shard;
    struct recall *recall; /* NULL: no decision is kept */
    struct spans *spans;
    uint32_t n_untimed; /* RoIs whose chains were not told of their latency, since the last */
    struct event_sender *events;
    struct engine **engine; /* by RoI: who decided it */
    uint32_t *next;         /* by RoI: next in its outbox */
    uint32_t *outbox_of;    /* by client: its outbox in this turn, or CLIENTS_NONE */
    struct outbox *outbox;  /* [clients] */
    uint32_t n_outboxes;
    unsigned char *scratch; /* one message on its way to protobuf */
    size_t scratch_used;
    Trigd__V1__Decision *list[MESSAGE_DECISIONS];
};

int egress_open(const struct config *config, struct pool *pool, struct clients *clients,
                struct stats *stats, struct streams *streams, uint32_t shard, struct recall *recall,
                struct egress **ret_egress)
{
    struct egress *e = calloc(1, sizeof *e);
    uint32_t n_clients = STATS_CLIENTS_MAX;

    if (!e)
        return -ENOMEM;
    e->soft_ns = NS_PER_MS * config->limits.soft_ms;
    e->hard_ns = NS_PER_MS * config->limits.hard_ms;
    e->pool = pool;
    e->clients = clients;
    e->stats = stats;
    e->streams = streams;
    e->shard = shard;
    e->recall = recall;
    e->engine = calloc(pool->n_rois, sizeof *e->engine);
    e->next = calloc(pool->n_rois, sizeof *e->next);
    e->outbox_of = calloc(n_clients, sizeof *e->outbox_of);
    e->outbox = calloc(n_clients, sizeof *e->outbox);
    e->scratch = malloc(MESSAGE_DECISIONS * DECISION_BYTES);
    if (!e->engine || !e->next || !e->outbox_of || !e->outbox || !e->scratch) {
        egress_close(e);
        return -ENOMEM;
    }
    if (event_sender_new(clients, stats, &e->events) < 0) {
        egress_close(e);
        return -ENOMEM;
    }
    if (spans_new(&e->spans) < 0) {
        egress_close(e);
        return -ENOMEM;
    }
    for (uint32_t i = 0; i < n_clients; i++)
        e->outbox_of[i] = CLIENTS_NONE;
    *ret_egress = e;
    return 0;
}

void egress_close(struct egress *e)
{
    if (!e)
        return;
    event_sender_free(e->events);
    spans_free(e->spans);
    free(e->engine);
    free(e->next);
    free(e->outbox_of);
    free(e->outbox);
    free(e->scratch);
    free(e);
}

struct pool *egress_pool(struct egress *e)
{
    return e->pool;
}

/* ---------------------------------------------------------------- counting */

/* The client in a place; NULL when it has gone, and another may be there. */
static struct client *still_there(struct egress *e, uint32_t number, uint32_t epoch)
{
    struct client *client = clients_at(e->clients, number);

    return client->is_used && client->epoch == epoch ? client : NULL;
}

/* The client that asked, or NULL when it has gone. */
static struct client *asker(struct egress *e, const struct roi *r)
{
    return still_there(e, r->client, r->client_epoch);
}

bool egress_is_there(struct egress *e, uint32_t client, uint32_t epoch)
{
    return still_there(e, client, epoch) != NULL;
}

/* The latency of an RoI goes to its chains; with a large menu only that of 1 in so many RoIs, so
 * that it costs the same for each. */
static void time_chains(struct egress *e, struct engine *engine, const struct roi *r, uint64_t ns)
{
    const struct plan *p = engine->menu->plan;
    const uint64_t *ran = chains_of(p, pool_at(e->pool, r->chains), CHAINS_RAN);

    if (e->n_untimed++ < engine->menu->n_chains / CHAINS_TIMED)
        return;
    e->n_untimed = 0;
    for (uint32_t w = 0; w < p->n_words; w++)
        for (uint64_t left = ran[w]; left; left &= left - 1)
            latency_add(&engine->chain[64 * w + (uint32_t)__builtin_ctzll(left)]->latency, ns);
}

void egress_batch(struct egress *e, const struct stats_lane *lane, const struct lane_done *b)
{
    spans_batch(e->spans, lane, b);
}

void egress_time(struct egress *e, struct roi *r)
{
    const uint64_t age = (e->decided_ns = clock_ns()) - r->received_ns;

    r->is_late = (e->soft_ns && age >= e->soft_ns) || (e->hard_ns && age >= e->hard_ns) ||
                 (r->deadline_ns && e->decided_ns >= r->deadline_ns);
    r->latency_us = (uint32_t)(age / NS_PER_US);
}

static void count(struct egress *e, struct engine *engine, uint32_t roi, struct client *client)
{
    const struct roi *r = &e->pool->rois[roi];
    const uint64_t now = e->decided_ns, ns = now - r->received_ns;
    struct stats_global *g = &e->stats->g;
    bool failed = roi_has_failed(r->status);

    stats_sub(&g->in_flight, 1);
    stats_add(failed ? &g->failed : r->accept ? &g->accepted : &g->rejected, 1);
    if (r->is_late)
        stats_add(&g->late, 1);
    if (r->status == TRIGD__V1__STATUS__TIMEOUT)
        stats_add(&g->timeouts, 1);
    if (r->status == TRIGD__V1__STATUS__TRUNCATED)
        stats_add(&g->truncated, 1);
    latency_add(&e->stats->stage[STATS_STAGE_total], ns);
    time_chains(e, engine, r, ns);
    spans_decided(e->spans, &e->stats->slow, r, roi, client ? client->stats->name : NULL, now);
    if (!client)
        return;
    client->outstanding--;
    latency_add(&client->stats->latency, ns);
    stats_sub(&client->stats->in_flight, 1);
    stats_add(failed      ? &client->stats->failed
              : r->accept ? &client->stats->accepted
                          : &client->stats->rejected,
              1);
}

bool egress_may_pass_truncated(struct egress *e, const struct roi *r)
{
    struct client *client = asker(e, r);

    if (!client || clients_may_pass_truncated(e->clients, client, clock_ns())) {
        stats_add(&e->stats->g.truncated_passed, 1);
        return true;
    }
    stats_add(&e->stats->g.truncated_over, 1);
    stats_add(&client->stats->truncated_over, 1);
    return false;
}

/* Lets the decision leave with the next flush. */
static void put_into_outbox(struct egress *e, uint32_t roi)
{
    struct roi *r = &e->pool->rois[roi];
    struct outbox *box;

    if (!asker(e, r)) {
        stats_add(&e->stats->g.undeliverable, 1);
        egress_let_go(e, roi);
        return;
    }
    r->is_leaving = true;
    if (e->outbox_of[r->client] == CLIENTS_NONE) {
        e->outbox_of[r->client] = e->n_outboxes;
        e->outbox[e->n_outboxes++] = (struct outbox){.client = r->client, .first = roi};
    } else {
        e->next[e->outbox[e->outbox_of[r->client]].last] = roi;
    }
    box = &e->outbox[e->outbox_of[r->client]];
    box->last = roi;
    box->n++;
}

/* ---------------------------------------------------------------- sending */

static void *take(struct egress *e, size_t bytes)
{
    void *p = e->scratch + e->scratch_used;

    e->scratch_used += (bytes + 7) & ~(size_t)7;
    return p;
}

/* Lists the numbers of the set bits. */
static void list_bits(struct egress *e, const uint64_t *bits, uint32_t words, size_t *ret_n,
                      uint32_t **ret_list)
{
    uint32_t *list = (uint32_t *)(void *)(e->scratch + e->scratch_used);
    size_t n = 0;

    for (uint32_t w = 0; w < words; w++)
        for (uint64_t b = bits[w]; b; b &= b - 1)
            list[n++] = 64 * w + (uint32_t)__builtin_ctzll(b);
    *ret_n = n;
    *ret_list = take(e, n * sizeof *list);
}

static void list_results(struct egress *e, const struct menu *menu, struct roi *r,
                         Trigd__V1__Decision *m)
{
    size_t n = (size_t)__builtin_popcountll(r->done), k = 0;
    Trigd__V1__StepResult *result = take(e, n * sizeof *result);

    m->results = take(e, n * sizeof *m->results);
    for (uint64_t b = r->done; b; b &= b - 1, k++) {
        uint32_t step = (uint32_t)__builtin_ctzll(b);

        trigd__v1__step_result__init(&result[k]);
        result[k].step = step;
        result[k].n_values = menu->steps[step].plugin->n_values;
        result[k].values = pool_steps(e->pool, r)[step].result.value;
        m->results[k] = &result[k];
    }
    m->n_results = n;
}

/* Chains that failed because the RoI lacks a collection, each under the first that it lacks. */
static void list_missing(struct egress *e, const struct plan *p, struct roi *r,
                         Trigd__V1__Decision *m)
{
    const uint64_t *lacking = chains_of(p, pool_at(e->pool, r->chains), CHAINS_LACKING);
    struct plan_bits left = {{0}}, here;
    uint64_t any = 0;

    for (uint32_t w = 0; w < p->n_words; w++)
        any |= left.w[w] = lacking[w];
    if (!any)
        return;
    m->missing = take(e, KINDS_MAX * sizeof(void *));
    for (uint32_t kinds = p->reads & ~r->kinds; kinds; kinds &= kinds - 1) {
        const uint32_t kind = (uint32_t)__builtin_ctz(kinds);
        Trigd__V1__Missing *missing = take(e, sizeof *missing);

        for (uint32_t w = 0; w < p->n_words; w++) {
            here.w[w] = left.w[w] & p->needs[kind].w[w];
            left.w[w] &= ~here.w[w];
        }
        trigd__v1__missing__init(missing);
        missing->collection = (char *)(uintptr_t)kind_info(kind)->name;
        list_bits(e, here.w, p->n_words, &missing->n_chains, &missing->chains);
        if (missing->n_chains)
            m->missing[m->n_missing++] = missing;
    }
}

static Trigd__V1__Decision *form(struct egress *e, uint32_t roi)
{
    struct roi *r = &e->pool->rois[roi];
    const struct plan *p = e->engine[roi]->menu->plan;
    void *chains = pool_at(e->pool, r->chains);
    Trigd__V1__Decision *m = take(e, sizeof *m);

    trigd__v1__decision__init(m);
    m->token = r->token;
    m->run = r->info.run;
    m->l1id = r->info.l1id;
    m->roi_id = r->info.roi_id;
    m->accept = r->accept;
    m->status = (Trigd__V1__Status)r->status;
    m->late = r->is_late;
    m->latency_us = r->latency_us;
    m->lane_us = (uint32_t)(r->lane_ns / NS_PER_US);
    m->wanted = r->wanted;
    m->kept = r->kept;
    m->menu_generation = e->engine[roi]->generation;
    m->repeated = r->is_repeat;
    m->menu_key = e->engine[roi]->menu->hash;
    m->prescale_key = r->prescale_key;
    m->conditions_key = r->conditions_key;
    list_bits(e, &r->streams, 1, &m->n_streams, &m->streams);
    if (p->reads & ~r->kinds)
        list_missing(e, p, r, m);
    if (r->status > TRIGD__V1__STATUS__TRUNCATED)
        return m;
    list_bits(e, chains_of(p, chains, CHAINS_RAW), p->n_words, &m->n_chains_raw, &m->chains_raw);
    list_bits(e, chains_of(p, chains, CHAINS_ACCEPTED), p->n_words, &m->n_chains, &m->chains);
    if (r->is_early)
        list_bits(e, chains_of(p, chains, CHAINS_RUNNING), p->n_words, &m->n_unfinished,
                  &m->unfinished);
    if (chains_skipped(chains)) {
        const uint64_t skipped = chains_skipped(chains);

        list_bits(e, &skipped, 1, &m->n_skipped, &m->skipped);
    }
    list_results(e, e->engine[roi]->menu, r, m);
    return m;
}

static void send_list(struct egress *e, uint32_t client, Trigd__V1__Decision **list, uint32_t n)
{
    Trigd__V1__DecisionBatch batch = TRIGD__V1__DECISION_BATCH__INIT;
    Trigd__V1__FromDaemon m = TRIGD__V1__FROM_DAEMON__INIT;

    batch.n_decisions = n;
    batch.decisions = list;
    m.body_case = TRIGD__V1__FROM_DAEMON__BODY_DECISIONS;
    m.decisions = &batch;
    clients_send(e->clients, client, &m, n);
}

/* ---------------------------------------------------------------- decisions asked for again */

static void send_again(struct egress *e, uint32_t client, uint64_t token, Trigd__V1__Decision *d)
{
    d->token = token;
    d->repeated = true;
    send_list(e, client, &d, 1);
}

/* Keeps a decision that was just made; answers who sent the RoI again meanwhile. */
static void remember(struct egress *e, uint32_t roi)
{
    struct roi *r = &e->pool->rois[roi];
    Trigd__V1__Decision *d = form(e, roi);
    struct recall_asker a;
    struct client *client;

    if (recall_keep(e->recall, r->recall - 1, d, &a) &&
        (client = still_there(e, a.client, a.epoch)) != NULL) {
        client->outstanding--;
        send_again(e, a.client, a.token, d);
    }
    r->recall = 0;
    e->scratch_used = 0;
}

/* The same for an RoI that gets no decision. */
static void forget(struct egress *e, struct roi *r, const struct wire_error *error)
{
    struct recall_asker a;
    struct client *client;

    if (recall_drop(e->recall, r->recall - 1, &a) &&
        (client = still_there(e, a.client, a.epoch)) != NULL) {
        client->outstanding--;
        refusal_send(e->clients, e->stats, &client->peer, a.client, error, &a.token);
    }
    r->recall = 0;
}

bool egress_repeat(struct egress *e, uint32_t client, uint64_t token, uint32_t entry)
{
    Trigd__V1__Decision *d = recall_decision(e->recall, entry);

    if (!d)
        return false;
    send_again(e, client, token, d);
    trigd__v1__decision__free_unpacked(d, NULL);
    return true;
}

/* ---------------------------------------------------------------- decided RoIs */

static void put_into_streams(struct egress *e, uint32_t roi)
{
    const struct engine *engine = e->engine[roi];
    Trigd__V1__Decision *d = form(e, roi);

    streams_put(e->streams, e->shard, e->pool, &e->pool->rois[roi], engine->menu,
                engine->generation, d);
    e->scratch_used = 0;
}

void egress_roi(struct egress *e, struct engine *engine, uint32_t roi)
{
    struct roi *r = &e->pool->rois[roi];

    count(e, engine, roi, asker(e, r));
    e->engine[roi] = engine;
    if (r->recall)
        remember(e, roi);
    if (r->streams & engine->menu->filed)
        put_into_streams(e, roi);
    put_into_outbox(e, roi);
}

void egress_refused(struct egress *e, struct engine *engine, uint32_t roi,
                    const struct wire_error *error)
{
    struct roi *r = &e->pool->rois[roi];
    struct client *client = asker(e, r);

    count(e, engine, roi, client);
    e->engine[roi] = engine;
    if (client)
        refusal_send(e->clients, e->stats, &client->peer, r->client, error, &r->token);
    else
        stats_add(&e->stats->g.undeliverable, 1);
    if (r->recall)
        forget(e, r, error);
    egress_let_go(e, roi);
}

/* ---------------------------------------------------------------- the flush */

static void send_message(struct egress *e, uint32_t client, uint32_t n)
{
    send_list(e, client, e->list, n);
    e->scratch_used = 0;
}

/* Sends one client's decisions and lets go of their RoIs. */
static void flush_outbox(struct egress *e, const struct outbox *box)
{
    uint32_t most =
        clients_at(e->clients, box->client)->peer.shm ? SHARED_DECISIONS : MESSAGE_DECISIONS;
    uint32_t roi = box->first, n = 0;

    for (uint32_t i = 0; i < box->n; i++) {
        uint32_t next = e->next[roi];

        if (!asker(e, &e->pool->rois[roi]))
            stats_add(&e->stats->g.undeliverable, 1);
        else
            e->list[n++] = form(e, roi);
        if (n == most || (n && i + 1 == box->n)) {
            send_message(e, box->client, n);
            n = 0;
        }
        e->pool->rois[roi].is_leaving = false;
        roi = next;
    }
}

void egress_flush(struct egress *e)
{
    for (uint32_t i = 0; i < e->n_outboxes; i++) {
        struct outbox *box = &e->outbox[i];
        uint32_t roi = box->first;

        e->outbox_of[box->client] = CLIENTS_NONE;
        flush_outbox(e, box);
        for (uint32_t k = 0; k < box->n; k++) {
            uint32_t next = e->next[roi];

            egress_let_go(e, roi);
            roi = next;
        }
    }
    e->n_outboxes = 0;
    event_sender_flush(e->events);
}

void egress_event(struct egress *e, const struct event_decision *d)
{
    event_sender_add(e->events, d);
}

void egress_let_go(struct egress *e, uint32_t roi)
{
    const struct roi *r = &e->pool->rois[roi];

    if (!r->is_decided || r->pending || r->is_leaving)
        return;
    e->engine[roi]->n_rois--;
    if (r->region)
        shm_region_release(shm_peers_window(clients_shm(e->clients)), r->region);
    if (r->message)
        held_release(clients_held(e->clients), r->message);
    pool_put(e->pool, roi);
}
