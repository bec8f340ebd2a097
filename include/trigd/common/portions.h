/* SPDX-License-Identifier: Apache-2.0 */
/* trigd/common/portions.h - dealing out lists of very different lengths within a group, so that no
 * work-item waits for the one with the longest list.
 *
 * Each work-item cuts its list into portions; begin[TRG_LID] is trg_group_scan of their number, so
 * that portions are numbered through the group.  After a barrier work-items take portions in
 * strides of TRG_LSIZE, and trg_portion_owner says whose list each belongs to. */
#ifndef TRG_COMMON_PORTIONS_H
#define TRG_COMMON_PORTIONS_H
#include "trigd/kernel.h"

/* Whose portion number i is: the last of n >= 1 lists whose portions begin at or before i.  `begin`
 * ascends from 0 on; a list without portions begins where the next one does, and owns none. */
TRG_FN trg_u32 trg_portion_owner(TRG_LOCAL const trg_u32 *begin, trg_u32 n, trg_u32 i)
{
    trg_u32 at = 0u;

    while (n > 1u) { /* no branch depends on the data */
        const trg_u32 step = n / 2u;

        at += begin[at + step] <= i ? step : 0u;
        n -= step;
    }
    return at;
}
#endif
