/* SPDX-License-Identifier: Apache-2.0 */
/* Counts against a loop of its own, on RoIs of all kinds. */
#include "trigd/testing.h"

#include <stdio.h>
#include <stdlib.h>

static int is_right(const struct trg_testing_roi *rois, uint32_t n)
{
    for (uint32_t r = 0; r < n; r++) {
        const float *rho = rois[r].in[0].column[TRG_SPACEPOINTS_RHO_COLUMN];
        uint32_t want = 0;

        for (uint32_t i = 0; i < rois[r].in[0].n; i++)
            want += rho[i] < 100.0f;
        if (rois[r].result.status != TRG_OK || (uint32_t)rois[r].result.value[0] != want) {
            printf("RoI %u: %g instead of %u\n", r, (double)rois[r].result.value[0], want);
            return 0;
        }
    }
    return 1;
}

int main(int argc, char **argv)
{
    return trg_testing_main(argc, argv, NULL, is_right);
}
