/* SPDX-License-Identifier: Apache-2.0 */
#include "policy.h"

#define REMEMBERED       512u /* answers that the means go over */
#define REMEMBERED_LEAST 128u
#define ALIKE            1.2 /* times that differ by less are the same */
#define UNSEEN           2.0 /* rate of a node that never had enough to do, over what it showed */

static void add(double *mean, uint32_t n, double value)
{
    *mean += (value - *mean) / n;
}

void policy_age(struct policy_node *node)
{
    node->is_old = true;
}

void policy_answered(struct policy_node *node, uint32_t had, uint64_t ns)
{
    if (node->is_old) {
        node->n = node->n_least = 0;
        node->had = node->ns = node->least_ns = 0;
        node->is_old = false;
    }
    node->n += node->n < REMEMBERED;
    add(&node->had, node->n, had);
    add(&node->ns, node->n, (double)ns);
    if (2 * (double)had > node->had + 1)
        return;
    node->n_least += node->n_least < REMEMBERED_LEAST;
    add(&node->least_ns, node->n_least, (double)ns);
}

double policy_rate(const struct policy_node *node)
{
    return node->n && node->ns > 0 ? node->had / node->ns * 1e9 : 0;
}

/* What was measured long ago does not count, so that the node gets something; until it has answered
 * that, it counts again. */
static bool is_unknown(const struct policy_node *node)
{
    return node->is_old && !node->in_flight;
}

/* What counts of it.  A node that answers what it has as soon as what it had when it had little has
 * slots to spare, and a rate above the measured one: it would get a second RoI too late, and so
 * never show what it can do. */
static double known_rate(const struct policy_node *node)
{
    if (is_unknown(node))
        return 0;
    return node->ns < ALIKE * node->least_ns ? UNSEEN * policy_rate(node) : policy_rate(node);
}

/* Of the nodes that are known, for those that are not: a new node begins as one of them. */
static double mean_rate(const struct policy_node *nodes, uint32_t n_nodes)
{
    double sum = 0;
    uint32_t n = 0;

    for (uint32_t i = 0; i < n_nodes; i++) {
        const double rate = known_rate(&nodes[i]);

        sum += rate;
        n += rate > 0;
    }
    return n ? sum / n : 1;
}

struct offer { /* of a node: when the RoIs would be answered, and how much of that it has to do
                  first */
    double time, queue;
};

static struct offer offer_of(const struct policy_node *node, uint32_t rois, double unknown)
{
    const double rate = known_rate(node), least = is_unknown(node) ? 0 : node->least_ns * 1e-9;
    struct offer o = {.queue = ((double)node->in_flight + rois) / (rate > 0 ? rate : unknown)};

    o.time = o.queue > least ? o.queue : least;
    return o;
}

/* Of nodes that are as good as each other the one with less to do is better: idle ones all get
 * RoIs. */
static bool is_better(const struct offer *a, const struct offer *b)
{
    if (a->time * ALIKE < b->time || b->time * ALIKE < a->time)
        return a->time < b->time;
    return a->queue < b->queue;
}

uint32_t policy_choose(const struct policy_node *nodes, uint32_t n_nodes, uint32_t rois,
                       uint32_t *turn)
{
    const double unknown = mean_rate(nodes, n_nodes);
    struct offer best = {.time = 0};
    uint32_t chosen = POLICY_NONE;

    ++*turn;
    for (uint32_t k = 0; k < n_nodes; k++) {
        const uint32_t i = (*turn + k) % n_nodes;
        struct offer o;

        if (!nodes[i].may_take)
            continue;
        o = offer_of(&nodes[i], rois, unknown);
        if (chosen != POLICY_NONE && !is_better(&o, &best))
            continue;
        chosen = i;
        best = o;
    }
    return chosen;
}
