/* SPDX-License-Identifier: Apache-2.0 */
/* kinds.h - numbers of collections in this process: those of trigd itself, and those that plugins
 * declare, in the order in which they were met.
 *
 * A number stands for one declaration, by name and hash, until the process ends; two processes may
 * number the same declarations differently.  Any thread may add and look up.
 */
#ifndef TRIGD_KINDS_H
#define TRIGD_KINDS_H
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "trigd/event.h"

#define KINDS_MAX 32u /* so that a set of them is the bits of a word */

enum { /* those of trigd itself; messages of version 1 can hold the first three */
       TRG_KIND_NONE = 0,
       TRG_SPACEPOINTS = 1,
       TRG_HITS = 2,
       TRG_TRACKS = 3,
       TRG_DOUBLETS = 4,
       TRG_VERTICES = 5,
       TRG_PATHS = 6,
       TRG_VOXELS = 7,
       TRG_KIND_COUNT
};

extern _Atomic(const struct trg_collection *) kinds_table[KINDS_MAX];

/* The declaration of a kind; NULL for TRG_KIND_NONE and numbers that stand for nothing. */
static inline const struct trg_collection *kind_info(uint32_t kind)
{
    return kind < KINDS_MAX ? atomic_load_explicit(&kinds_table[kind], memory_order_acquire) : NULL;
}

/* Bytes of one item, all columns together; 0 for an unknown kind. */
static inline size_t kind_item_size(uint32_t kind)
{
    const struct trg_collection *info = kind_info(kind);
    size_t bytes = 0;

    for (uint32_t c = 0; info && c < info->n_columns; c++)
        bytes += trg_column_bytes(&info->column[c]);
    return bytes;
}

/* The kind whose declaration has the hash; TRG_KIND_NONE: none. */
static inline uint32_t kind_of_hash(uint64_t hash)
{
    const struct trg_collection *info;

    for (uint32_t k = 1; (info = kind_info(k)); k++)
        if (info->hash == hash)
            return k;
    return TRG_KIND_NONE;
}

/* The same for the lower half of a hash. */
static inline uint32_t kind_of_half(uint32_t half)
{
    const struct trg_collection *info;

    for (uint32_t k = 1; (info = kind_info(k)); k++)
        if ((uint32_t)info->hash == half)
            return k;
    return TRG_KIND_NONE;
}

/* Those that were added so far: 1 << kind each. */
static inline uint32_t kinds_declared(void)
{
    uint32_t set = 0;

    for (uint32_t k = TRG_KIND_COUNT; kind_info(k); k++)
        set |= 1u << k;
    return set;
}

/* Whether a declaration is a good one.  -EINVAL: `why` gets one sentence. */
int kind_check(const struct trg_collection *c, char *why, size_t why_bytes);
/* The number of a declaration, which is copied when it is new.  -EINVAL: it is no good one, or
 * differs from trigd's own of the same name; -ENOSPC: there are KINDS_MAX already; -ENOMEM.  `why`
 * gets one sentence. */
int kind_add(const struct trg_collection *c, uint32_t *ret_kind, char *why, size_t why_bytes);
#endif
