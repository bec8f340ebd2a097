/* SPDX-License-Identifier: Apache-2.0 */
/* Counts slopes.  How many an RoI has is known from the offsets on the device: the host may not
 * know it.  One group an RoI. */
#include "trigd/kernel.h"

#include "tut_steps_count.collections.h"
#include "tut_steps_count.h"

TRG_KERNEL2(tut_steps_count_run, (const trg_u8, data), (trg_u32, counts),
            (struct tut_steps_count_par, par))
{
    TRG_GLOBAL const float *cot = TRG_SLOPES_COT(data, par.slopes);
    const trg_u32 end = TRG_END(data, par.slopes, TRG_GID);
    trg_u32 n = 0u;

    for (trg_u32 i = TRG_BEGIN(data, par.slopes, TRG_GID) + TRG_LID; i < end; i += TRG_LSIZE)
        n += trg_fabs(cot[i]) <= par.cot_max ? 1u : 0u;
    TRG_ATOMIC_ADD_GLOBAL(&counts[TRG_GID], n);
}
