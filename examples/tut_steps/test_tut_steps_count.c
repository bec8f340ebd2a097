/* SPDX-License-Identifier: Apache-2.0 */
/* The count against a loop; that it also runs without a copy on the host is what check-plugin
 * tests. */
#include "trigd/testing.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "tut_steps_count.collections.h"

static const char *const settings[] = {"cot_max", "50", NULL};

static int is_right(const struct trg_testing_roi *rois, uint32_t n)
{
    for (uint32_t r = 0; r < n; r++) {
        const float *cot = rois[r].in[0].column[TRG_SLOPES_COT_COLUMN];
        uint32_t want = 0;

        for (uint32_t i = 0; i < rois[r].in[0].n; i++)
            want += fabsf(cot[i]) <= 50.0f;
        if ((uint32_t)rois[r].result.value[0] != want) {
            printf("RoI %u: %g instead of %u\n", r, (double)rois[r].result.value[0], want);
            return 0;
        }
    }
    return 1;
}

int main(int argc, char **argv)
{
    return trg_testing_main(argc, argv, settings, is_right);
}
