/* SPDX-License-Identifier: Apache-2.0 */
/* store.h - gives a checked RoI its block of the pool, and says where its columns lie: in the
 * block, in the message that it came in, or in the memory of a co-located client. */
#ifndef TRIGD_STORE_H
#define TRIGD_STORE_H
#include "exec/engine.h"
#include "memory/held.h"
#include "memory/shm_region.h"
#include "wire.h"

struct store_from { /* at most one of the two; none: the columns are copied */
    struct shm_region *region;
    struct held *held; /* with the number of the kept message */
    uint32_t message;
};

/* Fills block, steps, chains and collections of a fresh record.  -ENOSPC: the pool is full. */
int store_roi(struct pool *pool, const struct engine *engine, const struct wire_roi *w,
              const struct store_from *from, struct roi *r);
#endif
