/* SPDX-License-Identifier: Apache-2.0 */
/* event_registry.h - which shard has which events that are not over: so two clients that send RoIs
 * of one event are noticed although they are served by different shards.
 *
 * Shared by all shards, with a lock; an event needs it twice.
 */
#ifndef TRIGD_EVENT_REGISTRY_H
#define TRIGD_EVENT_REGISTRY_H
#include <stdbool.h>
#include <stdint.h>

struct event_registry;
/* For at most `most` events at a time. */
int event_registry_new(uint32_t most, struct event_registry **ret_registry);
void event_registry_free(struct event_registry *r); /* NULL is fine */

/* Notes an event of a shard, and the key of its client (0: none).  false: another shard has it,
 * unless from the same client, which came to this one.  With NULL, which stands for a daemon of one
 * shard, nobody has. */
bool event_registry_claim(struct event_registry *r, uint32_t run, uint32_t l1id, uint32_t shard,
                          uint64_t key);
/* It is over there. */
void event_registry_release(struct event_registry *r, uint32_t run, uint32_t l1id, uint32_t shard);
#endif
