/* SPDX-License-Identifier: Apache-2.0 */
/* For each RoI the sums of ET cos(phi) and ET sin(phi) in MeV, and the number of cells.  One group
 * an RoI. */
#include "trigd/math.h"

#include "tut_own.collections.h"
#include "tut_own.h"

/* To the nearest MeV; negative numbers as two's complement, which adds up the same. */
TRG_FN trg_u32 own_mev(float gev)
{
    return (trg_u32)(trg_i32)trg_floor(gev * 1000.0f + 0.5f);
}

TRG_KERNEL2(tut_own_sum, (const trg_u8, data), (trg_u32, sums), (struct tut_own_par, par))
{
    TRG_GLOBAL const float *et = TRG_CELLS_ET(data, par.cells),
                           *phi = TRG_CELLS_PHI(data, par.cells);
    TRG_GLOBAL const trg_u8 *quality = TRG_CELLS_QUALITY(data, par.cells);
    const trg_u32 end = TRG_END(data, par.cells, TRG_GID);
    trg_u32 x = 0u, y = 0u, n = 0u;

    for (trg_u32 i = TRG_BEGIN(data, par.cells, TRG_GID) + TRG_LID; i < end; i += TRG_LSIZE) {
        if (quality[i] > par.quality_max)
            continue;
        x += own_mev(et[i] * trg_cos(phi[i]));
        y += own_mev(et[i] * trg_sin(phi[i]));
        n++;
    }
    TRG_ATOMIC_ADD_GLOBAL(&sums[3u * TRG_GID], x);
    TRG_ATOMIC_ADD_GLOBAL(&sums[3u * TRG_GID + 1u], y);
    TRG_ATOMIC_ADD_GLOBAL(&sums[3u * TRG_GID + 2u], n);
}
