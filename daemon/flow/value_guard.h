/* SPDX-License-Identifier: Apache-2.0 */
/* value_guard.h - which values of an RoI have been looked at, and by whom.
 *
 * Values are touched once: whoever gathers a batch checks them on the copy (stage.h), and what an
 * algorithm is given has passed.  Of what lies in a client's memory, which it can change at any
 * time, only that tells anything.  Ingress looks at no value of these, nor of messages that are
 * kept (held.h); what it copies itself it checks.  What no lane has read of an RoI when its chains
 * have ended is checked here, so that a bad value has the same answer as in a message, whatever the
 * menu reads. */
#ifndef TRIGD_VALUE_GUARD_H
#define TRIGD_VALUE_GUARD_H
#include "check.h"
#include "memory/pool.h"

/* Checks the collections of an RoI that no lane has gathered (r->unseen):
 * whether one holds a value that is not allowed. */
bool value_guard_rest(const struct pool *pool, const struct roi *r, struct check_fault *ret_fault);
#endif
