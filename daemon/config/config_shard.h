/* SPDX-License-Identifier: Apache-2.0 */
/* config_shard.h - the part of a configuration for one shard of several. */
#ifndef TRIGD_CONFIG_SHARD_H
#define TRIGD_CONFIG_SHARD_H
#include "config/config.h"

/* Bytes of the widest collection that an RoI may have. */
uint64_t config_largest(const struct config *c);
/* Whether the largest RoI fits twice into the part of the pool that each of n shards gets. */
bool config_shard_fits(const struct config *c, uint32_t n);
/* A copy with the shard's part of pool, threads of ZeroMQ and room for files, and with its own
 * endpoints: shard k listens at ipc://PATH.k and at the k-th port after that of a tcp endpoint;
 * shard 0 has them as they stand.  Text is borrowed but for the endpoints.  -ENOMEM; -ERANGE,
 * -ENAMETOOLONG: an endpoint that has none for each shard (logged). */
int config_shard(const struct config *c, uint32_t number, uint32_t n, struct config *ret_config);
void config_shard_free(struct config *c); /* one that is zero is fine */
#endif
