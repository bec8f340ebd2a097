/* SPDX-License-Identifier: Apache-2.0 */
/* block.h - the data behind the collections of an RoI: the records of the menu's steps and chains,
 * and room for those products that a step with batches of its own reads. */
#ifndef TRIGD_BLOCK_H
#define TRIGD_BLOCK_H
#include "exec/engine.h"

/* The bytes of all that; `n_in` counts the RoI's items by kind. */
uint64_t block_bytes(const struct engine *e, const uint32_t *n_in);
/* Lays it out from offset `at` of the pool on. */
void block_init(const struct engine *e, const struct pool *pool, struct roi *r, uint64_t at,
                const uint32_t *n_in);
#endif
