/* SPDX-License-Identifier: Apache-2.0 */
/* The highest bin against a histogram of its own. */
#include "trigd/testing.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static const char *const settings[] = {"bin_mm", "25", NULL};

static int is_right(const struct trg_testing_roi *rois, uint32_t n)
{
    for (uint32_t r = 0; r < n; r++) {
        const float *z = rois[r].in[0].column[TRG_SPACEPOINTS_Z_COLUMN],
                    *got = rois[r].result.value;
        uint32_t bins[256] = {0}, best = 0;

        for (uint32_t i = 0; i < rois[r].in[0].n; i++) {
            const double at = floor((double)(z[i] / 25.0f)) + 128;

            if (at >= 0 && at < 256)
                bins[(int)at]++;
        }
        for (uint32_t k = 1; k < 256; k++)
            best = bins[k] > bins[best] ? k : best;
        if ((uint32_t)got[0] != bins[best] ||
            (bins[best] && fabsf(got[1] - ((float)best - 127.5f) * 25.0f) > 1e-3f)) {
            printf("RoI %u: %g at %g instead of %u in bin %u\n", r, (double)got[0], (double)got[1],
                   bins[best], best);
            return 0;
        }
    }
    return 1;
}

int main(int argc, char **argv)
{
    return trg_testing_main(argc, argv, settings, is_right);
}
