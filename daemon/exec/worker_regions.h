/* SPDX-License-Identifier: Apache-2.0 */
/* worker_regions.h - in a worker process: the pool of a shard and the memory of its co-located
 * clients, mapped read-only at the offsets that they have in the front, and open to the device
 * where that can read memory of the host. */
#ifndef TRIGD_WORKER_REGIONS_H
#define TRIGD_WORKER_REGIONS_H
#include "exec/runner.h"
#include "exec/worker_wire.h"

struct worker_regions;
/* Maps the pool's data.  The file may be closed after that. */
int worker_regions_new(const struct worker_shard_message *s, uint32_t max_layer, int pool_fd,
                       struct worker_regions **ret_regions);
/* No runner uses it.  NULL is fine. */
void worker_regions_free(struct worker_regions *r);
/* Lets the device read memory of clients, where it can, within a budget that lives longer. */
int worker_regions_expose(struct worker_regions *r, struct trg_device *device,
                          struct pieces_budget *budget);
/* As runners see it, for as long as it lives. */
const struct runner_memory *worker_regions_memory(const struct worker_regions *r);

/* Maps the memory of a client in the place that the message says, or with fd -1 nothing. */
void worker_regions_map(struct worker_regions *r, const struct worker_region_message *m, int fd);
/* Without runners to ask for pieces: asks for those that clients have written to.  NULL is fine. */
void worker_regions_look(struct worker_regions *r);
/* Opens one piece that runners asked for to the device: whether there was one.  NULL is fine. */
bool worker_regions_step(struct worker_regions *r);
#endif
