/* SPDX-License-Identifier: Apache-2.0 */
/* insert.h - a row of the smallest numbers that were found. */
#ifndef DOUBLETS_INSERT_H
#define DOUBLETS_INSERT_H
#include "trigd/kernel.h"

/* Puts a number into the sorted list of those found, which has room for the `cap` smallest. */
TRG_FN void dbt_insert(TRG_GLOBAL trg_u32 *row, trg_u32 cap, trg_u32 found, trg_u32 number)
{
    trg_u32 k = found;

    if (found >= cap) {
        if (cap == 0u || row[cap - 1u] < number)
            return;
        k = cap - 1u;
    }
    for (; k > 0u && row[k - 1u] > number; k--)
        row[k] = row[k - 1u];
    row[k] = number;
}
#endif
