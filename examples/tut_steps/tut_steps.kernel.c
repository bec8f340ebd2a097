/* SPDX-License-Identifier: Apache-2.0 */
/* A slope for each spacepoint, at the same place.  One group an RoI. */
#include "trigd/kernel.h"

#include "tut_steps.collections.h"
#include "tut_steps.h"

TRG_KERNEL2(tut_steps_slopes, (const trg_u8, data), (trg_u8, out), (struct tut_steps_par, par))
{
    TRG_GLOBAL const float *rho = TRG_SPACEPOINTS_RHO(data, par.points);
    TRG_GLOBAL const float *z = TRG_SPACEPOINTS_Z(data, par.points);
    TRG_GLOBAL const trg_u8 *layer = TRG_SPACEPOINTS_LAYER(data, par.points);
    TRG_GLOBAL float *cot = TRG_SLOPES_COT_OUT(out, par.slopes);
    TRG_GLOBAL trg_u8 *layer_out = TRG_SLOPES_LAYER_OUT(out, par.slopes);
    const trg_u32 end = TRG_END(data, par.points, TRG_GID);

    for (trg_u32 i = TRG_BEGIN(data, par.points, TRG_GID) + TRG_LID; i < end; i += TRG_LSIZE) {
        cot[i] = z[i] / (rho[i] > 1.0f ? rho[i] : 1.0f);
        layer_out[i] = layer[i];
    }
}
