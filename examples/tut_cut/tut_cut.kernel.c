/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers of the spacepoints of each RoI that pass, in their order.  One group an RoI. */
#include "trigd/common/group.h"

#include "tut_cut.h"

TRG_KERNEL3(tut_cut_pick, (const trg_u8, data), (trg_u32, picked), (trg_u32, counts),
            (struct tut_cut_par, par))
{
    TRG_SHARED trg_u32 scratch[TRG_GROUP_SCRATCH];
    TRG_GLOBAL const float *rho = TRG_SPACEPOINTS_RHO(data, par.points);
    const trg_u32 from = TRG_BEGIN(data, par.points, TRG_GID);
    const trg_u32 end = TRG_END(data, par.points, TRG_GID);
    trg_u32 n = 0u;

    for (trg_u32 at = from; at < end; at += TRG_LSIZE) { /* the same for all work-items */
        const trg_u32 i = at + TRG_LID;
        const trg_u32 keep = i < end && rho[i] >= par.rho_min_mm && rho[i] < par.rho_max_mm;
        const trg_u32 place = trg_group_place(scratch, keep, &n);

        if (keep)
            picked[from + place] = i;
    }
    if (TRG_LID == 0u)
        counts[TRG_GID] = n;
}
