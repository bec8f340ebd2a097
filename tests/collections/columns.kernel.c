/* SPDX-License-Identifier: Apache-2.0 */
/* Reads a column of each type by its name and writes what it read, as whole numbers of 1/8. */
#include "trigd/kernel.h"

#include "columns.h"
#include "samples.collections.h"

TRG_FN trg_i32 eighths(float x)
{
    return (trg_i32)(x * 8.0f);
}

TRG_KERNEL3(columns, (const trg_u8, data), (trg_u8, copy), (trg_i32, out),
            (struct columns_par, par))
{
    for (trg_u32 i = TRG_LID; i < par.in.n_items; i += TRG_LSIZE) {
        TRG_GLOBAL trg_i32 *o = out + COLUMNS_WORDS * i;

        o[0] = eighths(TRG_SAMPLES_E(data, par.in)[i]);
        o[1] = (trg_i32)TRG_SAMPLES_A(data, par.in)[i];
        o[2] = (trg_i32)TRG_SAMPLES_B(data, par.in)[i];
        o[3] = (trg_i32)TRG_SAMPLES_C(data, par.in)[i];
        o[4] = TRG_SAMPLES_D(data, par.in)[i];
        o[5] = TRG_SAMPLES_F(data, par.in)[i];
        o[6] = TRG_SAMPLES_G(data, par.in)[i];
        o[7] = (trg_i32)trg_as_u32(trg_f16_value(TRG_SAMPLES_H(data, par.in)[i]));
        o[8] = 0;
        for (trg_u32 k = 0; k < TRG_SAMPLES_MOMENTUM_LENGTH; k++)
            o[8] +=
                (trg_i32)(k + 1u) *
                eighths(TRG_SAMPLES_MOMENTUM(data, par.in)[TRG_SAMPLES_MOMENTUM_LENGTH * i + k]);
        o[9] = 0;
        for (trg_u32 k = 0; k < TRG_SAMPLES_PULSE_LENGTH; k++)
            o[9] += (trg_i32)(k + 1u) * eighths(trg_f16_value(TRG_SAMPLES_PULSE(
                                            data, par.in)[TRG_SAMPLES_PULSE_LENGTH * i + k]));
        TRG_SAMPLES_F_OUT(copy, par.in)[i] = TRG_SAMPLES_F(data, par.in)[i];
        TRG_SAMPLES_D_OUT(copy, par.in)[i] = TRG_SAMPLES_D(data, par.in)[i];
    }
}
