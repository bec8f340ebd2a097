/* SPDX-License-Identifier: Apache-2.0 */
/* scan.h - sums of 64 bits over a group, and the items of a launch. */
#ifndef PATHS_SCAN_H
#define PATHS_SCAN_H
#include "paths.h"

/* As trg_group_scan, for 64 bits: turns `mine` into the sum of what the work-items before this one
 * have, and sets `total` to that of all.  `buffer` is shared, of PA_GROUP_MAX trg_u64; all of the
 * group come here. */
#define PA_GROUP_SUM(buffer, mine, total)                                          \
    do {                                                                           \
        const trg_u64 own_ = (mine);                                               \
        (buffer)[TRG_LID] = own_;                                                  \
        TRG_BARRIER();                                                             \
        for (trg_u32 step_ = 1u; step_ < TRG_LSIZE; step_ *= 2u) {                 \
            const trg_u64 add_ = TRG_LID >= step_ ? (buffer)[TRG_LID - step_] : 0; \
            TRG_BARRIER();                                                         \
            (buffer)[TRG_LID] += add_;                                             \
            TRG_BARRIER();                                                         \
        }                                                                          \
        (mine) = (buffer)[TRG_LID] - own_;                                         \
        (total) = (buffer)[TRG_LSIZE - 1u];                                        \
        TRG_BARRIER();                                                             \
    } while (0)

/* The items of a launch: i from this work-item's first one, in strides, below n. */
#define PA_EACH(i, n)                                                       \
    for (trg_u32 i = TRG_GID * TRG_LSIZE + TRG_LID, n_##i = (n); i < n_##i; \
         i += TRG_GROUPS * TRG_LSIZE)

/* Adds 1 to a counter in global memory; returns what it was. */
#define PA_COUNT(p) (TRG_GROUPS * TRG_LSIZE == 1u ? (*(p))++ : TRG_ATOMIC_ADD_GLOBAL((p), 1u))
#endif
