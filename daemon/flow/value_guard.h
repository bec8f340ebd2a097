/* SPDX-License-Identifier: Apache-2.0 */
/* value_guard.h - which values of an RoI have been checked, and where.
 *
 * Values are read once: the gatherer of a batch checks them on the copy (stage.h), so an algorithm
 * sees checked values only.  For columns in a client's memory, which the client can change at any
 * time, no other check counts.  Ingress checks only the values that it copies itself, not these nor
 * those of kept messages (held.h).  Columns that no lane has read when the chains of an RoI have
 * ended are checked here, so a bad value has the same answer as in a message, whichever columns the
 * menu reads.  What a worker says of bad values is looked at here as well, before the client is
 * refused: a plugin may have written over the worker's copy. */
#ifndef TRIGD_VALUE_GUARD_H
#define TRIGD_VALUE_GUARD_H
#include "check.h"
#include "memory/pool.h"

/* Checks collections that the RoI has, 1 << kind for each: whether one holds a value that is not
 * allowed. */
bool value_guard_find(const struct pool *pool, const struct roi *r, uint32_t kinds,
                      struct check_fault *ret_fault);
#endif
