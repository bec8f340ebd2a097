/* SPDX-License-Identifier: Apache-2.0 */
/* Each slope and layer against its spacepoint. */
#include "trigd/testing.h"

#include <stdio.h>
#include <stdlib.h>

#include "tut_steps.collections.h"

static int is_right(const struct trg_testing_roi *rois, uint32_t n)
{
    for (uint32_t r = 0; r < n; r++) {
        const float *rho = rois[r].in[0].column[TRG_SPACEPOINTS_RHO_COLUMN];
        const float *z = rois[r].in[0].column[TRG_SPACEPOINTS_Z_COLUMN];
        const uint8_t *layer = rois[r].in[0].column[TRG_SPACEPOINTS_LAYER_COLUMN];
        const float *cot = rois[r].out[0].column[TRG_SLOPES_COT_COLUMN];
        const uint8_t *got = rois[r].out[0].column[TRG_SLOPES_LAYER_COLUMN];

        if (rois[r].out[0].n != rois[r].in[0].n)
            return 0;
        for (uint32_t i = 0; i < rois[r].in[0].n; i++)
            if (cot[i] != z[i] / (rho[i] > 1.0f ? rho[i] : 1.0f) || got[i] != layer[i]) {
                printf("RoI %u: slope %u is %g\n", r, i, (double)cot[i]);
                return 0;
            }
    }
    return 1;
}

int main(int argc, char **argv)
{
    return trg_testing_main(argc, argv, NULL, is_right);
}
