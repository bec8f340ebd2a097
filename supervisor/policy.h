/* SPDX-License-Identifier: Apache-2.0 */
/* policy.h - which node gets the next RoIs.
 *
 * Each node has a rate, measured here: how many RoIs it had when those that it answered were given,
 * over the time until it answered (Little's law).  The next ones go where those in flight, and they
 * themselves, end first at that rate, but never sooner than the node needs for few.  A node that
 * was never full may do more than it showed, and counts as such until it is.  Counts are the
 * supervisor's own and exact: nothing that a node reports goes in.  A rate that was measured long
 * ago does not keep RoIs from a node: one that was slow once has another chance, with one batch.
 * docs/farm.md compares this with other rules; bench/farm simulates it. */
#ifndef TRIGSUP_POLICY_H
#define TRIGSUP_POLICY_H
#include <stdbool.h>
#include <stdint.h>

#define POLICY_NONE UINT32_MAX

struct policy_node {
    bool may_take;       /* the RoIs in question; set by the caller before each choice */
    uint32_t in_flight;  /* RoIs given and not answered */
    double had, ns;      /* means: RoIs in flight with one that was given, and its time */
    double least_ns;     /* mean time of those that were given when few were in flight */
    uint32_t n, n_least; /* answers in the means, up to those that they remember */
    bool is_old;         /* the means are: they are shown, and count while it has RoIs */
};

/* One of `rois` RoIs, which was given when the node had `had`, was answered after `ns`. */
void policy_answered(struct policy_node *node, uint32_t had, uint64_t ns);
/* The node for so many RoIs, or POLICY_NONE.  `turn` breaks ties; it grows. */
uint32_t policy_choose(const struct policy_node *nodes, uint32_t n_nodes, uint32_t rois,
                       uint32_t *turn);
/* It has had no RoIs for long: it gets some as a new one does, and is measured anew from the next
 * answer on. */
void policy_age(struct policy_node *node);
/* RoIs that a node answers in a second, measured last; 0: not known. */
double policy_rate(const struct policy_node *node);
#endif
