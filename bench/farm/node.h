/* SPDX-License-Identifier: Apache-2.0 */
/* node.h - nodes that do no work: they answer each batch, at once or after a time, behind trigsup
 * or behind a proxy. */
#ifndef TRIGD_BENCH_NODE_H
#define TRIGD_BENCH_NODE_H
#include <stdint.h>

#define NODE_SLOTS 4u /* RoIs that a node which takes time has in work */
/* First frame of a message whose second one is many routing frames with passes: the node answers as
 * if the batch of each had come. */
#define NODE_PASSES "passes"

/* A worker behind a proxy's DEALER: answers for ever.  Returns an exit code when it cannot. */
int node_behind_proxy(const char *endpoint);
/* A node of a supervisor: enlists at `farm` as `name`, takes RoIs at `endpoint`.  With a
 * `service_us` each RoI is in one of NODE_SLOTS slots for that time, or with `is_random` for one
 * drawn from an exponential distribution with that mean. */
struct node_setup {
    const char *farm, *endpoint, *name;
    uint64_t menu_key;
    double service_us;
    int is_random;
};
int node_of_farm(const struct node_setup *setup);
#endif
