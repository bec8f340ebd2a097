/* SPDX-License-Identifier: Apache-2.0 */
/* shard_endpoint.h - where a shard of a daemon listens, by the endpoint of shard 0: at
 * ipc://PATH.k, and at the k-th port after that of a tcp endpoint (docs/protocol.md). */
#ifndef TRIGD_SHARD_ENDPOINT_H
#define TRIGD_SHARD_ENDPOINT_H
#include <stddef.h>
#include <stdint.h>

/* 0; -EINVAL: a tcp endpoint whose port is not a number above 0; -ERANGE: the port is above 65535;
 * -ENAMETOOLONG.  Shard 0 has the endpoint itself, as shm:// has for all. */
int shard_endpoint(const char *endpoint, uint32_t shard, char *ret_endpoint, size_t bytes);
#endif
