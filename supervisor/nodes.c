/* SPDX-License-Identifier: Apache-2.0 */
/* nodes.c - the table of nodes, and words to one of them. */
#include <string.h>

#include "farm.h"

uint32_t node_find(const struct farm *f, const char *name)
{
    for (uint32_t i = 0; i < f->n_nodes; i++)
        if (f->node[i].is_used && !strcmp(f->node[i].name, name))
            return i;
    return FARM_NODES_NONE;
}

const char *node_state(const struct node *n)
{
    if (n->is_lost)
        return "lost";
    if (n->refusal[0])
        return "refused";
    if (!n->is_welcome)
        return "joining";
    if (n->is_drained || n->is_rolled || !n->is_taking)
        return n->c.in_flight ? "draining" : "drained";
    if (n->is_outside)
        return "outside";
    return "serving";
}

void nodes_tell(struct farm *f, const struct farm_peer *peer, const Trigd__Farm__V1__ToNode *m)
{
    unsigned char bytes[1024];
    const size_t n = trigd__farm__v1__to_node__get_packed_size(m);

    if (n > sizeof bytes)
        return;
    trigd__farm__v1__to_node__pack(m, bytes);
    if (zmq_send(f->enlisting, peer->id, peer->n, ZMQ_SNDMORE | ZMQ_DONTWAIT) >= 0)
        zmq_send(f->enlisting, bytes, n, ZMQ_DONTWAIT);
}

void nodes_order(struct farm *f, uint32_t node, Trigd__Farm__V1__Order__What what)
{
    Trigd__Farm__V1__ToNode m = TRIGD__FARM__V1__TO_NODE__INIT;
    Trigd__Farm__V1__Order o = TRIGD__FARM__V1__ORDER__INIT;

    o.number = ++f->order;
    o.what = what;
    o.run = f->run.number;
    o.lumi_block = f->run.block;
    o.numbers = f->config->runs.numbers;
    m.body_case = TRIGD__FARM__V1__TO_NODE__BODY_ORDER;
    m.order = &o;
    nodes_tell(f, &f->node[node].peer, &m);
}
