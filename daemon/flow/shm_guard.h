/* SPDX-License-Identifier: Apache-2.0 */
/* shm_guard.h - which values in a client's memory have been looked at, and by whom.
 *
 * A client can change an RoI at any time, so only a look at a copy tells anything: the lane
 * checks what it gathers (stage.h), and what an algorithm is given has passed.  Ingress looks at no
 * value.  What no lane has read of an RoI when its chains have ended is checked here, so that a
 * bad value has the same answer as in a message, whatever the menu reads. */
#ifndef TRIGD_SHM_GUARD_H
#define TRIGD_SHM_GUARD_H
#include "check.h"
#include "memory/pool.h"

/* Checks the collections of an RoI in a client's memory that no lane has gathered (r->unseen):
 * whether one holds a value that is not allowed. */
bool shm_guard_rest(const struct pool *pool, const struct roi *r, struct check_fault *ret_fault);
#endif
