/* SPDX-License-Identifier: Apache-2.0 */
/* Counts the spacepoints of each RoI in layers that are not masked.  One group an RoI. */
#include "trigd/kernel.h"

#include "tut_mask.collections.h"
#include "tut_mask.h"

/* The rows of a condition are the items of RoI 0 of its span. */
TRG_FN trg_u32 is_masked(TRG_GLOBAL const trg_u8 *table, trg_u32 layer,
                         const struct tut_mask_par par)
{
    TRG_GLOBAL const trg_u8 *masked = TRG_MASKED_LAYERS_LAYER(table, par.mask);
    trg_u32 found = 0u;

    for (trg_u32 k = 0u; k < par.mask.n_items; k++)
        found |= masked[k] == layer ? 1u : 0u;
    return found;
}

TRG_KERNEL3(tut_mask_count, (const trg_u8, data), (const trg_u8, table), (trg_u32, counts),
            (struct tut_mask_par, par))
{
    TRG_GLOBAL const trg_u8 *layer = TRG_SPACEPOINTS_LAYER(data, par.points);
    const trg_u32 end = TRG_END(data, par.points, TRG_GID);
    trg_u32 n = 0u;

    for (trg_u32 i = TRG_BEGIN(data, par.points, TRG_GID) + TRG_LID; i < end; i += TRG_LSIZE)
        n += is_masked(table, layer[i], par) ? 0u : 1u;
    TRG_ATOMIC_ADD_GLOBAL(&counts[TRG_GID], n); /* integers: the order does not matter */
}
