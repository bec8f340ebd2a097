/* SPDX-License-Identifier: Apache-2.0 */
/* The functions of trigd/math.h, each over an array of pairs of arguments. */
#include "trigd/math.h"

#include "math_par.h"

TRG_KERNEL2(math_run, (const float, in), (float, out), (struct math_par, par))
{
    for (trg_u32 i = TRG_GID * TRG_LSIZE + TRG_LID; i < par.n; i += TRG_GROUPS * TRG_LSIZE) {
        const float x = in[2u * i], y = in[2u * i + 1u];
        float v = x;

        if (par.which == MATH_SIN)
            v = trg_sin(x);
        else if (par.which == MATH_COS)
            v = trg_cos(x);
        else if (par.which == MATH_ATAN2)
            v = trg_atan2(y, x);
        else if (par.which == MATH_EXP)
            v = trg_exp(x);
        else if (par.which == MATH_LOG)
            v = trg_ln(x);
        else if (par.which == MATH_POW)
            v = trg_pow(x, y);
        out[i] = v;
    }
}
