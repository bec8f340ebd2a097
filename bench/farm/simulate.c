/* SPDX-License-Identifier: Apache-2.0 */
#include "simulate.h"

#include <math.h>
#include <stdlib.h>

#include "policy.h"
#include "result.h"

#define UNIT 1e9 /* a service time, in what policy.h takes for ns */

const char *const rule_name[RULES] = {"trigsup",      "rates known", "least in flight",
                                      "power of two", "round robin", "random"};

struct waiting {
    double came, arrived; /* at the supervisor, at the node */
    uint32_t had, next;
};

struct node {
    double end[SIMULATE_SLOTS]; /* INFINITY: free */
    double had;                 /* when it last had RoIs */
    uint32_t roi[SIMULATE_SLOTS];
    uint32_t first, last; /* of its queue; UINT32_MAX: empty */
};

struct world {
    const struct simulation *s;
    struct node node[SIMULATE_NODES];
    struct policy_node policy[SIMULATE_NODES];
    struct waiting *roi; /* [rois] */
    double *took;
    uint32_t n_took, turn;
    uint64_t random;
};

static double draw(struct world *w)
{
    w->random = w->random * 6364136223846793005u + 1442695040888963407u;
    return ((double)(w->random >> 11) + 0.5) / (double)(UINT64_C(1) << 53);
}

static uint32_t any(struct world *w)
{
    return (uint32_t)(draw(w) * w->s->nodes);
}

static double mean_time(const struct world *w, uint32_t node)
{
    return node == 0 ? w->s->slow : 1;
}

/* What trigsup would do if it did not have to measure: a bound. */
static uint32_t first_to_end(struct world *w)
{
    double best = INFINITY;
    uint32_t chosen = 0;

    w->turn++;
    for (uint32_t k = 0; k < w->s->nodes; k++) {
        const uint32_t i = (w->turn + k) % w->s->nodes;
        const double queue = (w->policy[i].in_flight + 1.0) / SIMULATE_SLOTS,
                     time = mean_time(w, i) * (queue > 1 ? queue : 1);

        if (time < best) {
            best = time;
            chosen = i;
        }
    }
    return chosen;
}

static uint32_t choose(struct world *w)
{
    uint32_t a = any(w), b = any(w);

    switch (w->s->rule) {
    case RULE_TRIGSUP:
        return policy_choose(w->policy, w->s->nodes, 1, &w->turn);
    case RULE_KNOWN:
        return first_to_end(w);
    case RULE_LEAST:
        for (uint32_t i = 0; i < w->s->nodes; i++)
            if (w->policy[i].in_flight < w->policy[a].in_flight)
                a = i;
        return a;
    case RULE_TWO:
        return w->policy[a].in_flight < w->policy[b].in_flight ? a : b;
    case RULE_ROUND_ROBIN:
        return w->s->nodes ? w->turn++ % w->s->nodes : 0;
    default:
        return a;
    }
}

static void begin(struct world *w, uint32_t node, uint32_t slot, uint32_t roi, double now)
{
    const double mean = mean_time(w, node);

    w->node[node].roi[slot] = roi;
    w->node[node].end[slot] = now + (w->s->is_random ? -log(draw(w)) * mean : mean);
}

static void look_at_idle(struct world *w, double now)
{
    for (uint32_t i = 0; i < w->s->nodes; i++) {
        if (w->policy[i].in_flight)
            w->node[i].had = now;
        else if (now > w->node[i].had + w->s->old)
            policy_age(&w->policy[i]);
    }
}

/* The supervisor gives it out `now`; it came to it before. */
static void arrive(struct world *w, uint32_t roi, double came, double now)
{
    const uint32_t i = choose(w);
    struct node *n = &w->node[i];

    w->roi[roi] = (struct waiting){
        .came = came, .arrived = now, .had = ++w->policy[i].in_flight, .next = UINT32_MAX};
    for (uint32_t k = 0; k < SIMULATE_SLOTS; k++)
        if (isinf(n->end[k])) {
            begin(w, i, k, roi, now);
            return;
        }
    if (n->first == UINT32_MAX)
        n->first = roi;
    else
        w->roi[n->last].next = roi;
    n->last = roi;
}

static void finish(struct world *w, uint32_t i, uint32_t slot)
{
    struct node *n = &w->node[i];
    const struct waiting *roi = &w->roi[n->roi[slot]];
    const double now = n->end[slot];

    w->policy[i].in_flight--;
    policy_answered(&w->policy[i], roi->had, (uint64_t)((now - roi->arrived) * UNIT));
    w->took[w->n_took++] = now - roi->came;
    n->end[slot] = INFINITY;
    if (n->first == UINT32_MAX)
        return;
    begin(w, i, slot, n->first, now);
    n->first = w->roi[n->first].next;
}

/* Finishes what ends before `until`. */
static void run(struct world *w, double until)
{
    for (;;) {
        uint32_t node = 0, slot = 0;

        for (uint32_t i = 0; i < w->s->nodes; i++)
            for (uint32_t k = 0; k < SIMULATE_SLOTS; k++)
                if (w->node[i].end[k] < w->node[node].end[slot]) {
                    node = i;
                    slot = k;
                }
        if (w->node[node].end[slot] > until || isinf(w->node[node].end[slot]))
            return;
        finish(w, node, slot);
    }
}

double simulate_p99(const struct simulation *s)
{
    struct world *w = calloc(1, sizeof *w);
    const double rate = s->load * SIMULATE_SLOTS * (s->nodes - 1 + 1 / s->slow);
    const uint32_t skipped = s->rois / 10; /* until it has settled */
    double now = 0, given = 0, p99 = -1;

    if (!w)
        return -1;
    w->s = s;
    w->random = s->seed;
    w->roi = calloc(s->rois, sizeof *w->roi);
    w->took = calloc(s->rois, sizeof *w->took);
    for (uint32_t i = 0; i < s->nodes; i++) {
        w->policy[i].may_take = true;
        w->node[i].first = UINT32_MAX;
        for (uint32_t k = 0; k < SIMULATE_SLOTS; k++)
            w->node[i].end[k] = INFINITY;
    }
    for (uint32_t i = 0; w->roi && w->took && i < s->rois; i++) {
        now -= log(draw(w)) / rate;
        given = (given > now ? given : now) + s->cost;
        run(w, given);
        look_at_idle(w, given);
        arrive(w, i, now, given);
    }
    if (w->roi && w->took) {
        run(w, INFINITY);
        p99 = result_quantile(w->took + skipped, w->n_took - skipped, 0.99);
    }
    free(w->roi);
    free(w->took);
    free(w);
    return p99;
}
