/* SPDX-License-Identifier: Apache-2.0 */
#include "flow/ingress.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "clock.h"
#include "flow/ingress_inner.h"
#include "log.h"

#define LOOK_NS (20 * NS_PER_US) /* between two looks at an empty socket while memory is busy */
/* Of messages in a turn: the turn gathers their columns at its end, and finds in a cache those that
 * another core has just received. */
#define BYTES_A_TURN (2u << 20)

int ingress_open(const struct config *config, struct pool *pool, struct clients *clients,
                 struct stats *stats, struct dispatch *next, struct egress *out,
                 struct recall *recall, struct ingress **ret_ingress)
{
    struct ingress *in = calloc(1, sizeof *in);
    int r = -ENOMEM;

    if (!in)
        return -ENOMEM;
    in->config = config;
    in->pool = pool;
    in->clients = clients;
    in->stats = stats;
    in->next = next;
    in->out = out;
    in->recall = recall;
    in->held = clients_held(clients);
    in->ticked_ns = clock_ns();
    in->limits =
        (struct wire_limits){.max_message_bytes = config->clients.max_message_kbytes * 1024u,
                             .max_rois = config->clients.max_rois,
                             .max_items = config->clients.max_items,
                             .max_layer = config->clients.max_layer};
    in->tokens =
        calloc(config->clients.max_rois > ROUTE_ROIS ? config->clients.max_rois : ROUTE_ROIS,
               sizeof *in->tokens);
    if (!in->tokens)
        goto fail;
    r = wire_decoder_new(&in->limits, &in->decoder);
    if (r < 0)
        goto fail;
    *ret_ingress = in;
    return 0;
fail:
    ingress_close(in);
    return r;
}

void ingress_close(struct ingress *in)
{
    if (!in)
        return;
    wire_decoder_free(in->decoder);
    free(in->tokens);
    free(in);
}

void ingress_set_draining(struct ingress *in, bool draining, bool for_stream)
{
    in->draining = draining;
    in->for_stream = for_stream;
}

void ingress_tick(struct ingress *in, uint64_t now_ns)
{
    struct stats_global *g = &in->stats->g;

    if (in->draining || in->pool_was_full || in->pool->n_used == in->pool->n_rois) {
        stats_add(&g->dead_ns, now_ns - in->ticked_ns);
        stats_add(!in->draining    ? &g->dead_pool_ns
                  : in->for_stream ? &g->dead_stream_ns
                                   : &g->dead_drain_ns,
                  now_ns - in->ticked_ns);
    }
    in->ticked_ns = now_ns;
}

/* Takes messages while there is time: a message may be large. */
static uint32_t take_messages(struct ingress *in, uint32_t most)
{
    const uint64_t until = clock_ns() + INGRESS_NS;
    size_t bytes = 0;
    uint32_t n = 0;

    while (n < most && bytes < BYTES_A_TURN && in->seen_ns < until) {
        struct peer peer;
        struct route route;
        zmq_msg_t body;
        int r = clients_receive(in->clients, &peer, &route, &body);

        if (r == 0) {
            in->empty_ns = clock_ns();
            break;
        }
        n++;
        if (r == 1) {
            bytes += zmq_msg_size(&body);
            in->route = route.n ? &route : NULL;
            ingress_message(in, &peer, zmq_msg_data(&body), zmq_msg_size(&body), &body);
            in->route = NULL;
            zmq_msg_close(&body);
        } else if (r == -EBADMSG) {
            struct wire_error error = {.code = TRIGD__V1__ERROR__CODE__MALFORMED};

            snprintf(
                error.text, sizeof error.text,
                "a message of trigd is one ZeroMQ frame, after a routing frame or alone; this one "
                "had more or none");
            ingress_error(in, &peer, clients_find(in->clients, &peer), &error, NULL);
        } else {
            log_error("ingress", "cannot receive", "error=\"%s\"", zmq_strerror(-r));
            break;
        }
    }
    return n;
}

uint32_t ingress_turn(struct ingress *in, uint32_t most)
{
    uint32_t n = 0;

    if (clients_shm(in->clients))
        n = ingress_shared(in);
    if (n && clock_ns() < in->empty_ns + LOOK_NS)
        return n; /* ZeroMQ asks the system each time that it has nothing */
    return n + take_messages(in, most);
}
