/* SPDX-License-Identifier: Apache-2.0 */
/* crowd.h - clients of one server, a thread each, and what they measure together. */
#ifndef TRIGD_BENCH_CROWD_H
#define TRIGD_BENCH_CROWD_H
#include "client.h"

#define CROWD_MAX 32u

struct crowd {
    struct client client[CROWD_MAX];
    uint32_t n;
    void *message; /* that all of them send */
};

/* What a run gave. */
struct crowd_run {
    double rate; /* answers a second */
    double p50_us, p99_us, p999_us, most_us;
    double cpu_us; /* of the server, for an answer */
};

/* Connects n clients with a window each.  Negative errno. */
int crowd_open(struct crowd *c, const struct server *s, uint32_t n, uint32_t window);
void crowd_close(struct crowd *c);
/* From now on all send an RoI with so many spacepoints.  Negative errno. */
int crowd_points(struct crowd *c, uint32_t points);
/* As client_run, with the rate shared out. */
int crowd_run(struct crowd *c, const struct server *s, double seconds, double rate,
              struct crowd_run *ret_run);
#endif
