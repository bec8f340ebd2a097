/* SPDX-License-Identifier: Apache-2.0 */
/* Puts the hits of each RoI where the alignment says that their layers are: columns x, y, z and
 * layer of a block with the items in the same places.  One group an RoI. */
#include "align.h"

TRG_KERNEL3(hg_align, (const trg_u8, data), (const struct hg_placement, layers), (trg_u8, moved),
            (struct hg_align_par, par))
{
    TRG_GLOBAL const float *x = TRG_HITS_X(data, par.in);
    TRG_GLOBAL const float *y = TRG_HITS_Y(data, par.in);
    TRG_GLOBAL const float *z = TRG_HITS_Z(data, par.in);
    TRG_GLOBAL const trg_u16 *layer = TRG_HITS_LAYER(data, par.in);
    const trg_u32 end = TRG_END(data, par.in, TRG_GID);

    for (trg_u32 i = TRG_BEGIN(data, par.in, TRG_GID) + TRG_LID; i < end; i += TRG_LSIZE) {
        float to[3] = {x[i], y[i], z[i]};

        if (layer[i] < HG_ALIGN_LAYERS) {
            TRG_GLOBAL const struct hg_placement *p = &layers[layer[i]];
            const float arm = z[i] - p->z;

            for (trg_u32 k = 0u; k < 3u; k++)
                to[k] +=
                    p->turn[k][0] * x[i] + p->turn[k][1] * y[i] + p->turn[k][2] * arm + p->shift[k];
        }
        TRG_HITS_X_OUT(moved, par.moved)[i] = to[0];
        TRG_HITS_Y_OUT(moved, par.moved)[i] = to[1];
        TRG_HITS_Z_OUT(moved, par.moved)[i] = to[2];
        TRG_HITS_LAYER_OUT(moved, par.moved)[i] = layer[i];
    }
}
