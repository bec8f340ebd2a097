/* SPDX-License-Identifier: Apache-2.0 */
/* give.c - RoIs that wait go to shards of nodes: one event's to one, by credits in RoIs and bytes.
 */
#include <errno.h>
#include <string.h>

#include "clock.h"
#include "farm.h"
#include "log.h"

#define LOOKS    64u             /* flights looked at whose nodes have no room */
#define PAUSE_NS (1 * NS_PER_MS) /* for a node that returned RoIs or took no message */
#define OLD_NS   (1 * NS_PER_S)  /* a rate is old when the shard has had no RoIs for so long */

bool node_serves(const struct node *n)
{
    return n->is_used && n->is_welcome && !n->is_lost && n->is_taking && !n->is_drained &&
           !n->is_rolled && !n->is_outside && !n->refusal[0];
}

static uint32_t room_of(const struct link *l)
{
    return l->credits > l->in_flight ? l->credits - l->in_flight : 0;
}

static bool link_serves(const struct farm *f, const struct link *l)
{
    return l->is_used && node_serves(&f->node[l->node]);
}

/* Whether a shard may get so many RoIs of the flight now.  A batch that is larger than all that it
 * takes goes there in parts.  Shards have equal parts of a node's pool. */
static bool may_take(const struct farm *f, const struct link *l, const struct flight *flight,
                     uint32_t rois, uint64_t now)
{
    const struct node *n = &f->node[l->node];

    if (!link_serves(f, l) || now < l->pause_ns || !room_of(l))
        return false;
    if (!flight->has_body && !l->takes_passes)
        return false;
    if (room_of(l) < rois && l->credits >= rois)
        return false;
    return !l->in_flight || l->bytes + flight->bytes <= n->most_bytes / n->n_links;
}

/* Whether RoIs of the flight are there; once given again, they go to another node. */
static bool is_there(const struct farm *f, const struct flight *flight, uint32_t link)
{
    for (uint32_t i = 0; i < FLIGHT_HOLDS; i++) {
        const uint32_t at = flight->hold[i].link;

        if (at == link || (at != FARM_LINKS_NONE && flight->was_given_again &&
                           f->link[at].node == f->link[link].node))
            return true;
    }
    return false;
}

/* Where RoIs of that event went lately, if that shard is there and does not have this one. */
static uint32_t bound_to(const struct farm *f, const struct flight *flight, uint32_t roi)
{
    uint32_t link;

    if (flight->is_routed && !flight->route.is_event)
        return FARM_LINKS_NONE;
    link = events_find(&f->events, flight_event(flight, roi));
    return link != EVENTS_NONE && link_serves(f, &f->link[link]) && !is_there(f, flight, link)
               ? link
               : FARM_LINKS_NONE;
}

/* The waiting RoIs that may go where the first of them goes: of one event, or of events that are
 * nowhere else. */
static struct mask part_for(struct farm *f, struct flight *flight, uint32_t first, uint32_t link)
{
    struct mask part = {{0}};
    uint64_t event = flight_event(flight, first);
    bool is_fit = true;

    if (flight->is_routed)
        return flight->waiting;
    for (uint32_t i = first; i < ROUTE_ROIS; i = mask_next(&flight->waiting, i + 1)) {
        if (flight->roi[i].event != event) {
            const uint32_t bound = bound_to(f, flight, i);

            event = flight->roi[i].event;
            is_fit = bound == FARM_LINKS_NONE || bound == link;
        }
        if (is_fit)
            mask_add(&part, i);
    }
    return part;
}

static void cut(struct mask *part, uint32_t most)
{
    uint32_t n = 0;

    for (uint32_t i = mask_next(part, 0); i < ROUTE_ROIS; i = mask_next(part, i + 1))
        if (++n > most)
            mask_drop(part, i);
}

static void note_event(struct farm *f, const struct flight *flight, uint64_t event, uint32_t link)
{
    struct events_entry *e = events_set(&f->events, event, link);

    e->client = flight->client;
    e->client_epoch = flight->client_epoch;
    e->is_told &= flight->was_given_again; /* what a client sends anew it has no decision of */
}

static void note_events(struct farm *f, const struct flight *flight, const struct mask *part,
                        uint32_t link)
{
    uint64_t last = 0;
    bool is_first = true;

    if (flight->is_routed && !flight->route.is_event)
        return;
    for (uint32_t i = mask_next(part, 0); i < ROUTE_ROIS; i = mask_next(part, i + 1)) {
        const uint64_t event = flight_event(flight, i);

        if (is_first || event != last)
            note_event(f, flight, event, link);
        is_first = false;
        last = event;
        if (flight->is_routed)
            break;
    }
}

int give_send(struct farm *f, uint32_t link, const void *route, size_t n, zmq_msg_t *body)
{
    const struct link_id id = link_id_of(link, f->link[link].epoch);

    if (zmq_send(f->links, &id, sizeof id, ZMQ_SNDMORE | ZMQ_DONTWAIT) < 0)
        return -errno;
    if (n && zmq_send(f->links, route, n, ZMQ_SNDMORE | ZMQ_DONTWAIT) < 0)
        return -errno;
    return zmq_msg_send(body, f->links, ZMQ_DONTWAIT) < 0 ? -errno : 0;
}

/* The routing frame for RoIs of a flight: tokens are the supervisor's. */
static struct route route_of(const struct farm *f, const struct flight *flight,
                             const struct mask *part)
{
    struct route route = flight->route;
    const struct mask all = mask_first(flight->n);

    route.n = flight->n;
    route.token = flights_token(&f->flights, flight);
    route.is_repeat |= flight->was_given_again;
    route.is_partial = memcmp(part, &all, sizeof all) != 0;
    memcpy(route.wanted, part->word, sizeof route.wanted);
    return route;
}

/* Sends the batch behind a routing frame, its bytes as they are; or its client is to. */
static int send_part(struct farm *f, struct flight *flight, const struct mask *part, uint32_t link,
                     uint64_t now)
{
    const struct route route = route_of(f, flight, part);
    unsigned char bytes[ROUTE_BYTES];
    zmq_msg_t body;
    int r;

    if (!flight->has_body)
        return addresses_give(f, flight, &route, link, now);
    zmq_msg_init(&body);
    if (zmq_msg_copy(&body, &flight->body) < 0)
        return -errno;
    r = give_send(f, link, bytes, route_pack(&route, bytes), &body);
    if (r < 0)
        zmq_msg_close(&body);
    return r;
}

static void debit(struct farm *f, struct flight *flight, const struct mask *part, uint32_t link,
                  uint64_t now)
{
    struct hold *h = flight_hold(flight, FARM_LINKS_NONE);
    struct link *l = &f->link[link];
    struct node *n = &f->node[l->node];
    const uint32_t rois = mask_count(part);

    n->c.given += rois;
    n->c.in_flight += rois;
    l->in_flight += rois;
    f->policy[link].in_flight += rois;
    f->c.given += rois;
    f->c.waiting -= rois;
    h->link = link;
    h->rois = *part;
    h->is_open = !flight->has_body;
    h->serial = l->serial;
    if (h->is_open) {
        n->c.addressed += rois;
        f->c.addressed += rois;
        TAILQ_INSERT_TAIL(&l->open, h, of_open);
    }
    h->had = l->in_flight;
    h->bytes = flight->bytes;
    h->since_ns = l->had_ns = now;
    l->bytes += h->bytes;
    TAILQ_INSERT_TAIL(&l->holds, h, of_link);
    flights_stop_waiting(&f->flights, flight, part);
}

/* Whether shards get RoIs, and none of them takes passes. */
static bool has_no_address(const struct farm *f)
{
    bool serves = false;

    for (uint32_t i = 0; i < f->n_links; i++) {
        if (!link_serves(f, &f->link[i]))
            continue;
        if (f->link[i].takes_passes)
            return false;
        serves = true;
    }
    return serves;
}

static uint32_t choose(struct farm *f, struct flight *flight, uint64_t now)
{
    const uint32_t rois = mask_count(&flight->waiting);

    for (uint32_t i = 0; i < f->n_links; i++)
        f->policy[i].may_take =
            may_take(f, &f->link[i], flight, rois, now) && !is_there(f, flight, i);
    return policy_choose(f->policy, f->n_links, rois, &f->turn);
}

/* Gives one shard what it may have of a flight; whether it did. */
static bool give_part(struct farm *f, struct flight *flight, uint64_t now)
{
    const uint32_t first = mask_next(&flight->waiting, 0);
    uint32_t link = bound_to(f, flight, first);
    struct mask part;
    int r;

    if (!flight_hold(flight, FARM_LINKS_NONE))
        return false; /* two shards have RoIs of it */
    if (!flight->has_body && !addresses_may_go(f, flight, now))
        return false;
    if (link == FARM_LINKS_NONE)
        link = choose(f, flight, now);
    if (!flight->has_body &&
        (link == POLICY_NONE ? has_no_address(f) : !f->link[link].takes_passes))
        addresses_fetch(f, flight);
    if (link == POLICY_NONE || flight->is_fetched)
        return false;
    part = part_for(f, flight, first, link);
    if (!may_take(f, &f->link[link], flight, mask_count(&part), now))
        return false;
    cut(&part, room_of(&f->link[link]));
    r = send_part(f, flight, &part, link, now);
    if (r < 0) {
        f->link[link].pause_ns = now + PAUSE_NS;
        return r == -EAGAIN && give_part(f, flight, now); /* another one may take it */
    }
    debit(f, flight, &part, link, now);
    note_events(f, flight, &part, link);
    return true;
}

void give_turn(struct farm *f, uint64_t now)
{
    struct flight *flight, *next;
    uint32_t looks = 0;

    for (flight = TAILQ_FIRST(&f->flights.waiting); flight && looks < LOOKS; flight = next) {
        next = TAILQ_NEXT(flight, of_waiting);
        while (flight->is_waiting && give_part(f, flight, now)) {
        }
        looks += flight->is_waiting;
    }
}

/* ---------------------------------------------------------------- once more */

/* RoIs of a hold that are open and nowhere else, or nowhere else but there. */
static void give_again(struct farm *f, struct flight *flight, struct mask rois)
{
    rois = mask_and(&rois, &flight->open);
    rois = mask_without(&rois, &flight->waiting);
    if (mask_is_empty(&rois))
        return;
    if (flight->was_given_again) { /* two nodes did not bring it about */
        settle_force(f, flight, &rois, TRIGD__V1__STATUS__ALGO_FAILED);
        return;
    }
    flight->was_given_again = true;
    f->c.again += mask_count(&rois);
    f->c.waiting += mask_count(&rois);
    flights_wait(&f->flights, flight, &rois, true);
}

static void lose_link(struct farm *f, uint32_t link)
{
    struct link *l = &f->link[link];
    struct node *n = &f->node[l->node];
    struct hold *h;

    while ((h = TAILQ_FIRST(&l->holds)) != NULL) {
        const struct mask lost = h->rois;
        const uint32_t rois = mask_count(&lost);
        struct mask held;

        n->c.lost += rois;
        f->c.lost += rois;
        n->c.in_flight -= rois;
        l->in_flight -= rois;
        f->policy[link].in_flight -= rois;
        settle_let_go(f, h);
        held = flight_held(h->flight);
        give_again(f, h->flight, mask_without(&lost, &held));
        flights_put_if_done(&f->flights, h->flight);
    }
}

void give_lost(struct farm *f, uint32_t node)
{
    for (uint32_t i = 0; i < f->node[node].n_links; i++)
        lose_link(f, f->node[node].link[i]);
}

static void look_at_slow(struct farm *f, const struct link *l, uint64_t now)
{
    const uint64_t limit = NS_PER_MS * f->config->farm.again_ms;
    struct hold *h;

    TAILQ_FOREACH(h, &l->holds, of_link)
    {
        if (now < h->since_ns + limit)
            break;
        if (!h->flight->was_given_again)
            give_again(f, h->flight, h->rois);
    }
}

/* Has the node hand back the pass of RoIs that may not have come: it answers Busy for them if they
 * have not, and then they cannot come any more. */
static int hand_back(struct farm *f, const struct hold *h)
{
    const struct link *l = &f->link[h->link];
    struct route route = route_of(f, h->flight, &h->rois);
    unsigned char bytes[ROUTE_BYTES];
    zmq_msg_t nothing;

    route.pass.serial = h->serial;
    zmq_msg_init(&nothing);
    return give_send(f, h->link, bytes, pass_pack(&l->signer, &route, bytes), &nothing);
}

static void look_at_unused(struct farm *f, struct link *l, uint64_t now)
{
    const uint64_t limit = NS_PER_MS * f->config->farm.address_ms;
    struct hold *h;

    while ((h = TAILQ_FIRST(&l->open)) != NULL && now >= h->since_ns + limit &&
           hand_back(f, h) == 0) {
        TAILQ_REMOVE(&l->open, h, of_open);
        h->is_open = false;
    }
}

static void look_at_old(struct farm *f, uint64_t now)
{
    const uint64_t limit = NS_PER_MS * f->config->limits.hard_ms;
    struct flight *flight = TAILQ_FIRST(&f->flights.by_age), *next;

    for (; flight && now >= flight->received_ns + limit; flight = next) {
        const struct mask open = flight->open;

        next = TAILQ_NEXT(flight, by_age);
        settle_force(f, flight, &open, TRIGD__V1__STATUS__TIMEOUT);
        settle_clear(f, flight);
    }
}

/* A shard that gets no RoIs is not measured either. */
static void look_at_idle(struct farm *f, uint32_t link, uint64_t now)
{
    struct link *l = &f->link[link];

    if (l->in_flight)
        l->had_ns = now;
    else if (now > l->had_ns + OLD_NS)
        policy_age(&f->policy[link]);
}

void give_tick(struct farm *f, uint64_t now)
{
    for (uint32_t i = 0; i < f->n_links; i++) {
        if (!f->link[i].is_used)
            continue;
        look_at_idle(f, i, now);
        look_at_unused(f, &f->link[i], now);
        if (f->config->farm.again_ms)
            look_at_slow(f, &f->link[i], now);
    }
    addresses_tick(f);
    if (f->config->limits.hard_ms)
        look_at_old(f, now);
}
