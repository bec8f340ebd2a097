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
    struct trg_testing *t = NULL;
    struct trg_testing_roi *rois;
    uint32_t n;
    int failed = argc != 2 || trg_testing_open(argv[1], &t) < 0 ||
                 trg_testing_random(t, 200, 500, &rois, &n) < 0;

    for (uint32_t d = 0; !failed && d < trg_testing_devices(t); d++) {
        failed = trg_testing_run(t, d, NULL, rois, n) < 0 || !is_right(rois, n);
        if (failed)
            printf("wrong on %s\n", trg_testing_device(t, d));
    }
    trg_testing_close(t);
    return failed;
}
