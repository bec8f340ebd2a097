/* SPDX-License-Identifier: Apache-2.0 */
/* Counts the spacepoints of each RoI that lie inside a radius.  One group an RoI. */
#include "trigd/kernel.h"

#include "example.h"

TRG_KERNEL2(example_count, const trg_u8, data, trg_u32, counts, struct example_par, par)
{
    TRG_GLOBAL const trg_u32 *first = TRG_OFFSETS(data, par.points);
    TRG_GLOBAL const float *rho = TRG_COLUMN(float, data, par.points, 1);
    trg_u32 n = 0;

    for (trg_u32 i = first[TRG_GID] + TRG_LID; i < first[TRG_GID + 1]; i += TRG_LSIZE)
        n += rho[i] < par.rho_max_mm ? 1u : 0u;
    TRG_ATOMIC_ADD_GLOBAL(&counts[TRG_GID], n); /* integers: the order does not matter */
}
