/* SPDX-License-Identifier: Apache-2.0 */
/* The highest bin of each RoI's histogram of z: (count << 8) + (255 - bin), so that the largest
 * such number is the highest bin and the first among equals.  One group an RoI. */
#include "trigd/kernel.h"

#include "tut_histogram.h"

TRG_KERNEL2(tut_histogram_peak, (const trg_u8, data), (trg_u32, peaks),
            (struct tut_histogram_par, par))
{
    TRG_SHARED trg_u32 bins[TUT_HISTOGRAM_BINS];
    TRG_GLOBAL const float *z = TRG_SPACEPOINTS_Z(data, par.points);
    const trg_u32 end = TRG_END(data, par.points, TRG_GID);

    for (trg_u32 k = TRG_LID; k < TUT_HISTOGRAM_BINS; k += TRG_LSIZE)
        bins[k] = 0u;
    TRG_BARRIER(); /* all bins are zero before one is filled */
    for (trg_u32 i = TRG_BEGIN(data, par.points, TRG_GID) + TRG_LID; i < end; i += TRG_LSIZE) {
        const float at = trg_floor(z[i] / par.bin_mm) + 128.0f;

        if (at >= 0.0f && at < 256.0f)
            TRG_ATOMIC_ADD_LOCAL(&bins[(trg_u32)at], 1u);
    }
    TRG_BARRIER(); /* all spacepoints are in */
    for (trg_u32 k = TRG_LID; k < TUT_HISTOGRAM_BINS; k += TRG_LSIZE)
        TRG_ATOMIC_MAX_GLOBAL(&peaks[TRG_GID], (bins[k] << 8) + (255u - k));
}
