/* SPDX-License-Identifier: Apache-2.0 */
/* ingress_passes.c - a batch that somebody sends in the name of a client, by its pass. */
#include "clock.h"
#include "flow/ingress_inner.h"
#include "transport/auth.h"

/* Tells a client that RoIs of a pass which it gave do not come. */
static void return_all(struct ingress *in, const struct peer *peer, uint32_t number)
{
    for (uint32_t i = 0; i < in->route->n; i++)
        if (route_wants(in->route, i))
            ingress_not_taken(in, peer, number, in->route->token + i,
                              TRIGD__V1__BUSY__REASON__UNUSED);
    ingress_busy(in, peer, number);
}

uint32_t ingress_issuer(struct ingress *in, const struct peer *peer, uint32_t sender,
                        zmq_msg_t *body)
{
    const size_t n = zmq_msg_size(body);
    const char *key = zmq_msg_gets(body, AUTH_KEY);
    struct wire_error error;
    uint32_t issuer = CLIENTS_NONE;

    switch (
        passes_use(clients_passes(in->clients), in->route, key, n, clock_ns(), &issuer, &error)) {
    case PASS_TAKEN:
        return issuer;
    case PASS_BACK:
        return_all(in, &clients_at(in->clients, issuer)->peer, issuer);
        break;
    case PASS_UNKNOWN:
        if (!n && sender != CLIENTS_NONE) /* it was dropped here, and gave the pass before */
            return_all(in, peer, sender);
        break;
    default:
        break; /* used, or false: nobody but its sender learns of it */
    }
    if (n)
        ingress_error(in, peer, sender, &error, NULL);
    return CLIENTS_NONE;
}
