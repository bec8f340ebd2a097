/* SPDX-License-Identifier: Apache-2.0 */
/* The value against a loop of its own, with the mask of a file; without one the plugin cannot run.
 */
#include "trigd/testing.h"

#include <stdio.h>

static int is_right(const struct trg_testing_roi *rois, uint32_t n)
{
    for (uint32_t r = 0; r < n; r++) {
        const unsigned char *layer = rois[r].in[0].column[TRG_SPACEPOINTS_LAYER_COLUMN];
        uint32_t want = 0;

        for (uint32_t i = 0; i < rois[r].in[0].n; i++)
            want += layer[i] != 3 && layer[i] != 0 && layer[i] != 17; /* as masked.yaml has it */
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
    int failed = argc != 3 || trg_testing_open(argv[1], &t) < 0 ||
                 trg_testing_random(t, 200, 500, &rois, &n) < 0 ||
                 trg_testing_run(t, 0, NULL, rois, n) == 0 ||
                 trg_testing_conditions(t, argv[2]) < 0 ||
                 trg_testing_each(t, NULL, rois, n, is_right) < 0;

    trg_testing_close(t);
    return failed;
}
