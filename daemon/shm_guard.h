/* SPDX-License-Identifier: Apache-2.0 */
/* shm_guard.h - the second look at values that lie in a client's memory.
 *
 * Ingress checks an RoI where the client wrote it, and answers an Error if it is wrong.  The client
 * could change it afterwards, so a lane looks again at its own copy, which nobody else can
 * write to: whatever an algorithm is given has passed the checks. */
#ifndef TRIGD_SHM_GUARD_H
#define TRIGD_SHM_GUARD_H
#include "pool.h"

/* Looks at the collection `in` of the RoIs roi[0 .. n-1], as stage_fill laid it out at in->host,
 * where it came from a client's memory.  An RoI that is wrong now is marked is_spoilt, which
 * fails it, and its items are all made zero.  On a lane's thread, while it has the batch. */
void shm_guard(const struct pool *pool, const uint32_t *roi, uint32_t n, enum trg_kind kind,
               const struct trg_span *span, unsigned char *staged);
#endif
