/* SPDX-License-Identifier: Apache-2.0 */
/* Sums all columns of the towers of each RoI, in whole numbers. */
#include "trigd/kernel.h"

#include "seeding.collections.h"
#include "seeding.h"

TRG_KERNEL2(seeding_sum, (const trg_u8, data), (trg_u32, sums), (struct seeding_par, par))
{
    TRG_GLOBAL const trg_u16 *et = TRG_TOWERS_ET_MEV(data, par.towers);
    TRG_GLOBAL const trg_i8 *eta = TRG_TOWERS_ETA(data, par.towers);
    TRG_GLOBAL const trg_f16 *layers = TRG_TOWERS_SAMPLINGS(data, par.towers);
    const trg_u32 end = TRG_END(data, par.towers, TRG_GID);
    trg_u32 sum = 0;

    for (trg_u32 i = TRG_BEGIN(data, par.towers, TRG_GID) + TRG_LID; i < end; i += TRG_LSIZE) {
        sum += et[i] + (trg_u32)(eta[i] + 100);
        for (trg_u32 k = 0; k < TRG_TOWERS_SAMPLINGS_LENGTH; k++)
            sum += (trg_u32)trg_f16_value(layers[TRG_TOWERS_SAMPLINGS_LENGTH * i + k]);
    }
    TRG_ATOMIC_ADD_GLOBAL(&sums[TRG_GID], sum);
}
