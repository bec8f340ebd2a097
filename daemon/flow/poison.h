/* SPDX-License-Identifier: Apache-2.0 */
/* poison.h - RoIs that ended a worker, so that one that is sent again reaches none, also after a
 * restart of the daemon.
 *
 * An RoI is known by all that a plugin sees of it: its numbers, its window and its columns.  One
 * list for all shards, at most workers.remember long; when it is full the oldest one is forgotten.
 * It is kept in state_dir/poison, by a thread of its own.  Any thread may call all of these. */
#ifndef TRIGD_POISON_H
#define TRIGD_POISON_H
#include <stdbool.h>

#include "config/config.h"
#include "flow/poison_file.h"
#include "memory/pool.h"

struct poison;
/* Reads the list.  Another daemon that has the file keeps it: this one remembers in memory. */
int poison_open(const struct config *config, struct poison **ret_poison);
/* Writes what is not written yet.  NULL is fine. */
void poison_close(struct poison *p);

/* Whether an RoI is on the list; it is counted there.  Takes 1 ns for almost all RoIs. */
bool poison_knows(struct poison *p, const struct pool *pool, const struct roi *r);
/* Puts an RoI on the list. */
void poison_add(struct poison *p, const struct pool *pool, const struct roi *r, const char *reason);
/* Empties the list; returns how many there were. */
uint32_t poison_clear(struct poison *p);
/* A copy of the list, oldest first, owned by the caller; NULL without memory. */
struct poison_entry *poison_list(struct poison *p, uint32_t *ret_n);
#endif
