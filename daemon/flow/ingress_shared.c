/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdio.h>

#include "clock.h"
#include "flow/ingress_inner.h"
#include "transport/shm_entry.h"

#define SHARED_AT_ONCE 64u  /* RoIs of one co-located client, so that all have their turn */
#define SHARED_A_TURN  512u /* of all of them: large turns make large batches */
#define PACKETS_A_TURN 64u

/* Takes entries of one co-located client's ring; returns how many. */
static uint32_t take_entries(struct ingress *in, const struct peer *peer, uint64_t now)
{
    struct shm_region *region = peer->shm->region;
    uint32_t number = peer->shm->client, n = 0;
    uint32_t most =
        SHARED_AT_ONCE < in->limits.max_rois ? SHARED_AT_ONCE : in->limits.max_rois; /* tokens */
    const struct store_from from = {.region = region};
    struct shm_roi entry;
    int r = 0;

    while (peer->shm->region && n < most && (r = shm_region_take(region, &entry)) == 1) {
        struct wire_roi w;
        struct wire_error error;

        n++;
        if (shm_entry_check(&entry, region, &in->limits, &w, &error) < 0 ||
            !ingress_is_looked_at(in, &w, &error)) {
            ingress_error(in, peer, number, &error, &entry.token);
            continue;
        }
        stats_add(&in->stats->g.bytes_in, shm_entry_bytes(&w));
        ingress_roi(in, number, peer, &w, &from, now);
    }
    stats_add(&in->stats->g.messages, n);
    if (!peer->shm->region)
        number = CLIENTS_NONE; /* it was dropped while it was answered */
    ingress_busy(in, peer, number);
    if (peer->shm->region && r == -EPROTO)
        clients_drop(in->clients, number, "its place in the ring of RoIs is nonsense");
    return n;
}

/* Takes some of what each co-located client wrote, while there is time; those that are left are the
 * first of the next round. */
static uint32_t take_round(struct ingress *in, uint64_t until)
{
    struct shm_peers *shm = clients_shm(in->clients);
    uint32_t n = 0, first = in->shm_turn++;
    uint64_t now = 0;

    for (uint32_t i = 0; i < shm_peers_active(shm); i++) {
        struct peer peer = {.shm = shm_peers_at(shm, (first + i) % shm_peers_active(shm))};
        uint64_t begun;

        if (!shm_region_has_entries(peer.shm->region))
            continue;
        if (now >= until) {
            in->shm_turn = first + i;
            break;
        }
        begun = clock_ns();
        clients_at(in->clients, peer.shm->client)->heard_ns = begun;
        n += take_entries(in, &peer, begun);
        if (peer.shm->region)
            shm_region_taken(peer.shm->region);
        now = clock_ns();
        latency_add(&in->stats->stage[STATS_STAGE_decode], now - begun);
    }
    return n;
}

/* Takes what co-located clients wrote since the last turn; more than a round only where much lies
 * there, not where it comes as quickly as it is taken. */
static uint32_t take_shared(struct ingress *in)
{
    const uint64_t until = clock_ns() + INGRESS_NS;
    uint32_t n = 0, took;

    do {
        took = take_round(in, until);
        n += took;
    } while (took >= SHARED_AT_ONCE && n < SHARED_A_TURN && clock_ns() < until);
    return n;
}

/* Takes the packets on the sockets of co-located clients. */
static uint32_t take_packets(struct ingress *in)
{
    struct shm_peers *shm = clients_shm(in->clients);
    struct peer peer = {.shm = NULL};
    uint32_t n = 0;
    const void *bytes;
    int r = 0;

    while (n < PACKETS_A_TURN && (r = shm_peers_packet(shm, clock_ns(), &peer.shm, &bytes)) != 0) {
        uint32_t number = clients_find(in->clients, &peer);

        n++;
        if (r > 0) {
            ingress_message(in, &peer, bytes, (size_t)r, NULL);
        } else if (r == -EMSGSIZE) {
            struct wire_error error = {.code = TRIGD__V1__ERROR__CODE__TOO_LARGE};

            snprintf(error.text, sizeof error.text,
                     "a packet on the socket has at most %u bytes; this one had more",
                     SHM_PACKET_MAX);
            ingress_error(in, &peer, number, &error, NULL);
        } else if (number != CLIENTS_NONE) {
            clients_drop(in->clients, number, "its connection is closed");
        } else {
            shm_peer_hang_up(shm, peer.shm);
        }
    }
    return n;
}

uint32_t ingress_shared(struct ingress *in)
{
    return take_packets(in) + take_shared(in);
}
