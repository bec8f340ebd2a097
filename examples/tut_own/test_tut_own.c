/* SPDX-License-Identifier: Apache-2.0 */
/* The sum against one in double precision; each cell is rounded to 1 MeV. */
#include "trigd/testing.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "tut_own.collections.h"

static int is_right(const struct trg_testing_roi *rois, uint32_t n)
{
    for (uint32_t r = 0; r < n; r++) {
        const float *et = rois[r].in[0].column[TRG_CELLS_ET_COLUMN];
        const float *phi = rois[r].in[0].column[TRG_CELLS_PHI_COLUMN];
        const uint8_t *quality = rois[r].in[0].column[TRG_CELLS_QUALITY_COLUMN];
        double x = 0, y = 0;
        uint32_t cells = 0;

        for (uint32_t i = 0; i < rois[r].in[0].n; i++) {
            x += quality[i] > 1 ? 0 : (double)et[i] * cos((double)phi[i]);
            y += quality[i] > 1 ? 0 : (double)et[i] * sin((double)phi[i]);
            cells += quality[i] <= 1;
        }
        if ((uint32_t)rois[r].result.value[1] != cells ||
            fabs((double)rois[r].result.value[0] - sqrt(x * x + y * y)) > 0.001 * cells + 0.01) {
            printf("RoI %u: %g of %u cells instead of %g\n", r, (double)rois[r].result.value[0],
                   cells, sqrt(x * x + y * y));
            return 0;
        }
    }
    return 1;
}

int main(int argc, char **argv)
{
    return trg_testing_main(argc, argv, NULL, is_right);
}
