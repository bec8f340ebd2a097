/* SPDX-License-Identifier: Apache-2.0 */
/* give.c - RoIs that wait go to nodes: one event's to one node, by credits in RoIs and bytes. */
#include <errno.h>
#include <string.h>

#include "clock.h"
#include "farm.h"
#include "log.h"

#define LOOKS    64u             /* flights looked at whose nodes have no room */
#define PAUSE_NS (1 * NS_PER_MS) /* for a node that returned RoIs or took no message */

bool node_serves(const struct node *n)
{
    return n->is_used && n->is_welcome && !n->is_lost && n->is_taking && !n->is_drained &&
           !n->is_rolled && !n->is_outside && !n->refusal[0];
}

static uint32_t room_of(const struct node *n)
{
    return n->credits > n->c.in_flight ? n->credits - (uint32_t)n->c.in_flight : 0;
}

/* Whether a node may get so many RoIs of the flight now.  A batch that is larger than all that it
 * takes goes there in parts. */
static bool may_take(const struct node *n, const struct flight *flight, uint32_t rois, uint64_t now)
{
    const size_t bytes = zmq_msg_size(&flight->body);

    if (!node_serves(n) || now < n->pause_ns || !room_of(n))
        return false;
    if (room_of(n) < rois && n->credits >= rois)
        return false;
    return !n->c.in_flight || n->bytes + bytes <= n->most_bytes;
}

/* Where RoIs of that event went lately, if that node is there and does not have this one. */
static uint32_t bound_to(const struct farm *f, struct flight *flight, uint32_t roi)
{
    uint32_t node;

    if (flight->is_routed && !flight->route.is_event)
        return FARM_NODES_NONE;
    node = events_find(&f->events, flight_event(flight, roi));
    return node != EVENTS_NONE && node_serves(&f->node[node]) && !flight_hold(flight, node)
               ? node
               : FARM_NODES_NONE;
}

/* The waiting RoIs that may go where the first of them goes: of one event, or of events that are
 * nowhere else. */
static struct mask part_for(struct farm *f, struct flight *flight, uint32_t first, uint32_t node)
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
            is_fit = bound == FARM_NODES_NONE || bound == node;
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

static void note_events(struct farm *f, const struct flight *flight, const struct mask *part,
                        uint32_t node)
{
    uint64_t last = 0;
    bool is_first = true;

    if (flight->is_routed && !flight->route.is_event)
        return;
    for (uint32_t i = mask_next(part, 0); i < ROUTE_ROIS; i = mask_next(part, i + 1)) {
        const uint64_t event = flight_event(flight, i);

        if (is_first || event != last)
            events_set(&f->events, event, node);
        is_first = false;
        last = event;
        if (flight->is_routed)
            break;
    }
}

int give_send(struct farm *f, uint32_t node, const struct route *route, zmq_msg_t *body)
{
    const struct node *n = &f->node[node];
    const struct link_id id = link_id_of(node, n->epoch);
    unsigned char bytes[ROUTE_BYTES];

    if (zmq_send(f->links, &id, sizeof id, ZMQ_SNDMORE | ZMQ_DONTWAIT) < 0)
        return -errno;
    if (route &&
        zmq_send(f->links, bytes, route_pack(route, bytes), ZMQ_SNDMORE | ZMQ_DONTWAIT) < 0)
        return -errno;
    return zmq_msg_send(body, f->links, ZMQ_DONTWAIT) < 0 ? -errno : 0;
}

/* Sends the batch with a routing frame: tokens are the supervisor's, its bytes stay as they are. */
static int send_part(struct farm *f, struct flight *flight, const struct mask *part, uint32_t node)
{
    struct route route = flight->route;
    const struct mask all = mask_first(flight->n);
    zmq_msg_t body;
    int r;

    route.n = flight->n;
    route.token = flights_token(&f->flights, flight);
    route.is_repeat |= flight->was_given_again;
    route.is_partial = memcmp(part, &all, sizeof all) != 0;
    memcpy(route.wanted, part->word, sizeof route.wanted);
    zmq_msg_init(&body);
    if (zmq_msg_copy(&body, &flight->body) < 0)
        return -errno;
    r = give_send(f, node, &route, &body);
    if (r < 0)
        zmq_msg_close(&body);
    return r;
}

static void debit(struct farm *f, struct flight *flight, const struct mask *part, uint32_t node,
                  uint64_t now)
{
    struct hold *h = flight_hold(flight, FARM_NODES_NONE);
    struct node *n = &f->node[node];
    const uint32_t rois = mask_count(part);

    n->c.given += rois;
    n->c.in_flight += rois;
    f->policy[node].in_flight += rois;
    f->c.given += rois;
    f->c.waiting -= rois;
    h->node = node;
    h->rois = *part;
    h->had = (uint32_t)n->c.in_flight;
    h->bytes = (uint32_t)zmq_msg_size(&flight->body);
    h->since_ns = now;
    n->bytes += h->bytes;
    TAILQ_INSERT_TAIL(&n->holds, h, of_node);
    flights_stop_waiting(&f->flights, flight, part);
}

static uint32_t choose(struct farm *f, struct flight *flight, uint64_t now)
{
    const uint32_t rois = mask_count(&flight->waiting);

    for (uint32_t i = 0; i < f->n_nodes; i++)
        f->policy[i].may_take = may_take(&f->node[i], flight, rois, now) && !flight_hold(flight, i);
    return policy_choose(f->policy, f->n_nodes, rois, &f->turn);
}

/* Gives one node what it may have of a flight; whether it did. */
static bool give_part(struct farm *f, struct flight *flight, uint64_t now)
{
    const uint32_t first = mask_next(&flight->waiting, 0);
    uint32_t node = bound_to(f, flight, first);
    struct mask part;
    int r;

    if (!flight_hold(flight, FARM_NODES_NONE))
        return false; /* two nodes have RoIs of it */
    if (node == FARM_NODES_NONE)
        node = choose(f, flight, now);
    if (node == POLICY_NONE)
        return false;
    part = part_for(f, flight, first, node);
    if (!may_take(&f->node[node], flight, mask_count(&part), now))
        return false;
    cut(&part, room_of(&f->node[node]));
    r = send_part(f, flight, &part, node);
    if (r < 0) {
        f->node[node].pause_ns = now + PAUSE_NS;
        return r == -EAGAIN && give_part(f, flight, now); /* another node may take it */
    }
    debit(f, flight, &part, node, now);
    note_events(f, flight, &part, node);
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

void give_lost(struct farm *f, uint32_t node)
{
    struct node *n = &f->node[node];
    struct hold *h;

    while ((h = TAILQ_FIRST(&n->holds)) != NULL) {
        const struct mask lost = h->rois;
        const uint32_t rois = mask_count(&lost);
        struct mask held;

        n->c.lost += rois;
        f->c.lost += rois;
        n->c.in_flight -= rois;
        f->policy[node].in_flight -= rois;
        n->bytes -= h->bytes;
        TAILQ_REMOVE(&n->holds, h, of_node);
        h->node = FARM_NODES_NONE;
        held = flight_held(h->flight);
        give_again(f, h->flight, mask_without(&lost, &held));
        flights_put_if_done(&f->flights, h->flight);
    }
}

static void look_at_slow(struct farm *f, struct node *n, uint64_t now)
{
    const uint64_t limit = NS_PER_MS * f->config->farm.again_ms;
    struct hold *h;

    TAILQ_FOREACH(h, &n->holds, of_node)
    {
        if (now < h->since_ns + limit)
            break;
        if (!h->flight->was_given_again)
            give_again(f, h->flight, h->rois);
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

void give_tick(struct farm *f, uint64_t now)
{
    if (f->config->farm.again_ms)
        for (uint32_t i = 0; i < f->n_nodes; i++)
            if (f->node[i].is_used)
                look_at_slow(f, &f->node[i], now);
    if (f->config->limits.hard_ms)
        look_at_old(f, now);
}
