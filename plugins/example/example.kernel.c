/* SPDX-License-Identifier: Apache-2.0 */
/* Counts the spacepoints of each RoI that lie inside a radius.  One group an RoI. */
#include "trigd/kernel.h"

#include "example.h"

TRG_KERNEL2(example_count, (const trg_u8, data), (trg_u32, counts), (struct example_par, par))
{
    TRG_GLOBAL const float *rho = TRG_SPACEPOINTS_RHO(data, par.points);
    const trg_u32 end = TRG_END(data, par.points, TRG_GID);
    trg_u32 n = 0;

    for (trg_u32 i = TRG_BEGIN(data, par.points, TRG_GID) + TRG_LID; i < end; i += TRG_LSIZE)
        n += rho[i] < par.rho_max_mm ? 1u : 0u;
    TRG_ATOMIC_ADD_GLOBAL(&counts[TRG_GID], n); /* integers: the order does not matter */
}
