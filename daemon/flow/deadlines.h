/* SPDX-License-Identifier: Apache-2.0 */
/* deadlines.h - the RoIs in flight whose clients gave them a deadline, the earliest first.
 *
 * RoIs without one stand in the list by arrival alone (rois.c): their limit is the same for all. */
#ifndef TRIGD_DEADLINES_H
#define TRIGD_DEADLINES_H
#include "memory/pool.h"

struct deadlines;
/* -ENOMEM. */
int deadlines_new(struct pool *pool, struct deadlines **ret_deadlines);
void deadlines_free(struct deadlines *d); /* NULL is fine */

/* Enters an RoI with its deadline_ns, which does not change while it is here. */
void deadlines_put(struct deadlines *d, uint32_t roi);
/* Takes it out; it is here. */
void deadlines_remove(struct deadlines *d, uint32_t roi);
/* The RoI with the earliest deadline; POOL_NONE: there is none. */
uint32_t deadlines_first(const struct deadlines *d);
#endif
