/* SPDX-License-Identifier: Apache-2.0 */
/* directory.h - which shard a client belongs to: the one place where shards share something.
 *
 * Asked when clients come and go, never on the way of an RoI; has a lock, and may be called from
 * any thread.  A client that comes back under its name goes to the shard where it was; others go
 * where the sum of weights is least, as shards share their credits by weight each by itself.  A
 * connection of a co-located client goes there by its descriptor. */
#ifndef TRIGD_DIRECTORY_H
#define TRIGD_DIRECTORY_H
#include <stdbool.h>
#include <stdint.h>

#include "base/shards.h"

struct directory;
/* For n shards and at most so many clients in all of them. */
int directory_new(uint32_t n_shards, uint32_t most, struct directory **ret_directory);
/* Closes connections that were handed over and not taken.  NULL is fine. */
void directory_free(struct directory *d);

/* The shard for a client of that name (NULL: any); it is expected there. */
uint32_t directory_place(struct directory *d, const char *name, uint32_t weight);
/* A client came to a shard, or left it.  false: there are as many as are allowed. */
bool directory_enter(struct directory *d, uint32_t shard, const char *name, uint32_t weight);
void directory_leave(struct directory *d, uint32_t shard, const char *name, uint32_t weight);
bool directory_is_full(struct directory *d);

/* `wake_fd` is an eventfd that wakes the shard when it is handed a connection. */
void directory_listen(struct directory *d, uint32_t shard, int wake_fd);
/* Hands a connection to a shard: its descriptor, and a copy of the packet that it sent.  false: too
 * many wait there, or there is no memory; it is the caller's. */
bool directory_hand(struct directory *d, uint32_t shard, int fd, const void *packet, uint32_t n);
/* A connection that the shard was handed, or -1; its packet goes to `packet`, which has room. */
int directory_handed(struct directory *d, uint32_t shard, void *packet, uint32_t *ret_n);
#endif
