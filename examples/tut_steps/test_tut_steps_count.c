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
    struct trg_testing *t = NULL;
    struct trg_testing_roi *rois;
    uint32_t n;
    int failed = argc != 2 || trg_testing_open(argv[1], &t) < 0 ||
                 trg_testing_random(t, 200, 500, &rois, &n) < 0;

    for (uint32_t d = 0; !failed && d < trg_testing_devices(t); d++) {
        failed = trg_testing_run(t, d, settings, rois, n) < 0 || !is_right(rois, n);
        if (failed)
            printf("wrong on %s\n", trg_testing_device(t, d));
    }
    trg_testing_close(t);
    return failed;
}
