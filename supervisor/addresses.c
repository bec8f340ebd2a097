/* SPDX-License-Identifier: Apache-2.0 */
/* addresses.c - large batches that clients send to nodes themselves.
 *
 * A flight without its body is given to a node as any other: what goes out is not the batch, but
 * the node's address and a pass, to the client.  The node takes the batch as the supervisor's, and
 * its answers come here.  What does not reach a node comes here after all (docs/farm.md). */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "farm.h"
#include "fields.h"
#include "log.h"

#define FAR_NS        (10 * NS_PER_S)
#define TAG_ADDRESSES TAG(7, BYTES) /* of FromDaemon */
#define TAG_PLACE     TAG(1, BYTES) /* of Addresses */
#define TAG_ADDRESS   TAG(2, BYTES)
#define LINK_BITS     11u /* of a place's number; the others are of the link's epoch */

_Static_assert(FARM_LINKS < 1u << LINK_BITS, "a link and 1 have room in a place's number");

int addresses_open(struct farm *f)
{
    const uint32_t n = f->config->clients.max;

    f->addressee = calloc(n, sizeof *f->addressee);
    f->addressees = calloc(n, sizeof *f->addressees);
    return f->addressee && f->addressees ? 0 : -ENOMEM;
}

void addresses_close(struct farm *f)
{
    for (uint32_t i = 0; f->addressee && i < f->config->clients.max; i++) {
        outbox_free(&f->addressee[i].box);
        free(f->addressee[i].told);
    }
    free(f->addressee);
    free(f->addressees);
}

static void forget_places(struct addressee *a)
{
    if (a->told)
        memset(a->told, 0, FARM_LINKS * sizeof *a->told);
}

/* What is known of a client that is there; anew for another one in its place. */
static struct addressee *addressee_of(struct farm *f, uint32_t client)
{
    struct addressee *a = &f->addressee[client];
    const uint32_t epoch = clients_at(f->clients, client)->epoch;

    if (a->epoch == epoch)
        return a;
    a->epoch = epoch;
    a->key[0] = '\0';
    a->far_ns = 0;
    a->box.n = a->box.n_items = 0;
    forget_places(a);
    return a;
}

void addresses_meet(struct farm *f, uint32_t client, const char *key)
{
    struct addressee *a = addressee_of(f, client);

    snprintf(a->key, sizeof a->key, "%.40s", key ? key : "");
}

/* ---------------------------------------------------------------- words to clients */

static void put(unsigned char **at, const void *bytes, size_t n)
{
    memcpy(*at, bytes, n);
    *at += n;
}

static void put_text(unsigned char **at, unsigned char tag, const void *text, size_t n)
{
    *(*at)++ = tag;
    *at += outbox_varint(*at, n);
    put(at, text, n);
}

/* Adds an item that is packed. */
static bool add(struct farm *f, uint32_t client, unsigned char tag, const unsigned char *bytes,
                size_t n)
{
    struct outbox *o = &f->addressee[client].box;
    unsigned char head[OUTBOX_VARINT], *to;
    const size_t n_head = outbox_varint(head, n);

    to = outbox_add(o, 1 + n_head + n);
    if (!to)
        return false;
    *to++ = tag;
    put(&to, head, n_head);
    put(&to, bytes, n);
    if (!o->n_items++)
        f->addressees[f->n_addressees++] = client;
    return true;
}

static void send_box(struct farm *f, uint32_t client)
{
    const struct client *c = clients_at(f->clients, client);
    struct addressee *a = &f->addressee[client];
    zmq_msg_t body;

    if (!a->box.n_items)
        return; /* it is of another client by now */
    if (outbox_seal(&a->box, TAG_ADDRESSES, &body) < 0) {
        forget_places(a); /* and the passes are not used */
        return;
    }
    if (c->is_used && c->epoch == a->epoch)
        clients_send_packed(f->clients, client, &body, 0);
    else
        zmq_msg_close(&body);
}

void addresses_flush(struct farm *f)
{
    for (uint32_t i = 0; i < f->n_addressees; i++)
        send_box(f, f->addressees[i]);
    f->n_addressees = 0;
}

/* What clients call a link while its epoch lasts. */
static uint32_t place_of(const struct farm *f, uint32_t link)
{
    return f->link[link].epoch << LINK_BITS | (link + 1);
}

/* Tells a client once where a place is. */
static bool tell_place(struct farm *f, uint32_t client, uint32_t link)
{
    struct addressee *a = addressee_of(f, client);
    const struct link *l = &f->link[link];
    const bool has_key = f->auth && !strncmp(l->endpoint, "tcp://", 6);
    const char *key = has_key ? f->node[l->node].peer.key : "";
    const uint32_t number = place_of(f, link);
    unsigned char bytes[FARM_SENTENCE + KEYFILE_KEY + 32], *at = bytes;

    if (!a->told)
        a->told = calloc(FARM_LINKS, sizeof *a->told);
    if (!a->told)
        return false;
    if (a->told[link] == l->epoch)
        return true;
    *at++ = TAG(1, FIXED32);
    put(&at, &number, sizeof number);
    put_text(&at, TAG(2, BYTES), l->endpoint, strlen(l->endpoint));
    if (*key)
        put_text(&at, TAG(3, BYTES), key, strlen(key));
    if (!add(f, client, TAG_PLACE, bytes, (size_t)(at - bytes)))
        return false;
    a->told[link] = l->epoch;
    return true;
}

static bool tell_address(struct farm *f, const struct flight *flight, uint32_t place,
                         const unsigned char *frame, size_t n)
{
    const uint64_t token = flight_client_token(flight, 0);
    unsigned char bytes[ROUTE_BYTES + 32], *at = bytes;

    *at++ = TAG(1, FIXED64);
    put(&at, &token, sizeof token);
    *at++ = TAG(2, FIXED32);
    put(&at, &place, sizeof place);
    put_text(&at, TAG(3, BYTES), frame, n);
    return add(f, flight->client, TAG_ADDRESS, bytes, (size_t)(at - bytes));
}

/* ---------------------------------------------------------------- giving */

/* Nobody has the body of RoIs any more. */
static void give_up(struct farm *f, struct flight *flight)
{
    const struct mask lost = flight->waiting;

    f->c.unsent += mask_count(&lost);
    settle_force(f, flight, &lost, TRIGD__V1__STATUS__ALGO_FAILED);
    settle_clear(f, flight);
}

bool addresses_may_go(struct farm *f, struct flight *flight, uint64_t now)
{
    if (!settle_asker(f, flight)) {
        give_up(f, flight);
        return false;
    }
    if (f->config->farm.address_kbytes && now >= addressee_of(f, flight->client)->far_ns)
        return true;
    addresses_fetch(f, flight);
    return false;
}

int addresses_give(struct farm *f, const struct flight *flight, const struct route *route,
                   uint32_t link, uint64_t now)
{
    struct link *l = &f->link[link];
    struct route r = *route;
    unsigned char frame[ROUTE_BYTES];
    size_t n;

    r.bytes = flight->bytes;
    r.pass = (struct route_pass){.serial = l->serial + 1,
                                 .expires_ns = now + NS_PER_MS * f->config->farm.address_ms,
                                 .holder =
                                     pass_holder(&l->signer, addressee_of(f, flight->client)->key)};
    n = pass_pack(&l->signer, &r, frame);
    if (!tell_place(f, flight->client, link) ||
        !tell_address(f, flight, place_of(f, link), frame, n))
        return -ENOMEM;
    l->serial++;
    return 0;
}

/* The frame's token is the supervisor's, so that the body finds its flight; its pass holds nowhere.
 */
void addresses_fetch(struct farm *f, struct flight *flight)
{
    struct route r = flight->route;
    unsigned char frame[ROUTE_BYTES];

    r.n = flight->n;
    r.token = flights_token(&f->flights, flight);
    r.has_pass = true;
    r.bytes = flight->bytes;
    r.is_partial = true;
    memcpy(r.wanted, flight->open.word, sizeof r.wanted);
    if (!tell_address(f, flight, 0, frame, route_pack(&r, frame)))
        return; /* once more with the next turn */
    f->c.fetched += mask_count(&flight->waiting);
    flights_fetch(&f->flights, flight);
}

void addresses_unused(struct farm *f, const struct flight *flight, uint32_t link, uint64_t now)
{
    const struct client *client = settle_asker(f, flight);
    struct addressee *a;

    if (!client)
        return;
    a = addressee_of(f, flight->client);
    if (now >= a->far_ns)
        log_warn("farm", "a client's RoIs do not come to a node: they go through the supervisor",
                 "client=\"%s\" node=\"%s\" endpoint=\"%s\" for_s=%llu", client->name,
                 f->node[f->link[link].node].name, f->link[link].endpoint,
                 (unsigned long long)(FAR_NS / NS_PER_S));
    a->far_ns = now + FAR_NS;
}

void addresses_tick(struct farm *f)
{
    struct flight *flight, *next;

    for (flight = TAILQ_FIRST(&f->flights.fetched); flight; flight = next) {
        next = TAILQ_NEXT(flight, of_waiting);
        if (!settle_asker(f, flight))
            give_up(f, flight);
    }
}
