/* SPDX-License-Identifier: Apache-2.0 */
/* affinity.h - which cores the daemon's threads run on (hwloc).
 *
 * A thread enters a place before it starts others or allocates, and leaves it afterwards: threads
 * that are started inside (of a lane, of ZeroMQ, of a GPU's driver) inherit the place, and memory
 * that is touched first inside is on its NUMA node.
 */
#ifndef TRIGD_AFFINITY_H
#define TRIGD_AFFINITY_H
#include <stddef.h>

#include "config/config.h"

struct affinity;
/* Reads the machine and the config.  -EINVAL when the config names a core that the process may not
 * use (logged).  Without pinning the functions below do nothing. */
int affinity_open(const struct config *c, struct affinity **ret_affinity);
void affinity_close(struct affinity *a); /* NULL is fine */

/* How long a thread may look for work before it sleeps; 0 where that would take a core from
 * other work. */
uint64_t affinity_spin_ns(const struct affinity *a, const struct config *c);

/* Cores that the process may use, of a made-up machine (HWLOC_SYNTHETIC) all. */
uint32_t affinity_cores(const struct affinity *a);
/* The same without a configuration. */
uint32_t affinity_host_cores(void);
/* The number of shards of a daemon: threads.shards, else one for each core of threads.io,
 * else one for each SHARD_CORES cores. */
uint32_t affinity_shards(const struct affinity *a, const struct config *c);
/* The calling thread becomes the I/O thread of a shard and stays there. */
void affinity_be_io(struct affinity *a, uint32_t shard);
/* The calling thread is where ZeroMQ's threads shall be, until affinity_leave. */
void affinity_enter_zmq(struct affinity *a);
/* The same for threads that gather. */
void affinity_enter_gather(struct affinity *a);
struct affinity_place { /* of a lane */
    int unit;           /* its core; -1: any */
    uint32_t node;      /* the NUMA node of that, from 0 */
};
/* Where the next lane shall be: on the next core in turn, first among those that are near the
 * device `pci` ("" or NULL: any). */
void affinity_next_lane(struct affinity *a, const char *pci, struct affinity_place *ret_place);
/* The calling thread is there, until affinity_leave. */
void affinity_enter(struct affinity *a, const struct affinity_place *place);
/* The calling thread is where it was when affinity_open was called. */
void affinity_leave(struct affinity *a);
#endif
