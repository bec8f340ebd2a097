/* SPDX-License-Identifier: Apache-2.0 */
/* simulate.h - nodes with slots and a queue in virtual time, and rules that give them RoIs: that of
 * the supervisor is its own code (supervisor/policy.c). */
#ifndef TRIGD_BENCH_SIMULATE_H
#define TRIGD_BENCH_SIMULATE_H
#include <stdbool.h>
#include <stdint.h>

#define SIMULATE_NODES 1000u
#define SIMULATE_SLOTS 4u

enum rule { RULE_TRIGSUP, RULE_KNOWN, RULE_LEAST, RULE_TWO, RULE_ROUND_ROBIN, RULE_RANDOM, RULES };
extern const char *const rule_name[RULES];

struct simulation {
    enum rule rule;
    uint32_t nodes, rois;
    double load;    /* of what all nodes can do */
    double slow;    /* the first node needs so many times longer */
    bool is_random; /* service times are exponential, else constant; arrivals are Poisson */
    double old;     /* the second after which trigsup measures a node anew, in service times */
    double cost;    /* what the supervisor works on an RoI, one after the other, service times */
    uint64_t seed;
};
/* The 99 % quantile of the time from arrival to answer, in service times of a fast node; negative
 * without memory. */
double simulate_p99(const struct simulation *s);
#endif
