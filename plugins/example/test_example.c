/* SPDX-License-Identifier: Apache-2.0 */
/* The plugin on every device of the machine, with RoIs of all kinds: counts against a plain loop.
 */
#include "trigd/testing.h"

#include <stdio.h>
#include <stdlib.h>

/* Whether each RoI has the count of a loop over its spacepoints. */
static int is_right(const struct trg_testing_roi *rois, uint32_t n, float rho_max_mm)
{
    for (uint32_t i = 0; i < n; i++) {
        const float *rho = rois[i].in[0].column[TRG_SPACEPOINTS_RHO_COLUMN];
        uint32_t want = 0;

        for (uint32_t k = 0; k < rois[i].in[0].n; k++)
            want += rho[k] < rho_max_mm;
        if (rois[i].result.status != TRG_OK || (uint32_t)rois[i].result.value[0] != want) {
            printf("RoI %u: %g instead of %u\n", i, (double)rois[i].result.value[0], want);
            return 0;
        }
    }
    return 1;
}

/* All devices with one value of the parameter; 0 when all are right. */
static int check(struct trg_testing *t, struct trg_testing_roi *rois, uint32_t n, const char *cut)
{
    const char *const settings[] = {"rho_max_mm", cut, NULL};

    for (uint32_t d = 0; d < trg_testing_devices(t); d++)
        if (trg_testing_run(t, d, settings, rois, n) < 0 || !is_right(rois, n, strtof(cut, NULL))) {
            printf("wrong on %s\n", trg_testing_device(t, d));
            return 1;
        }
    return 0;
}

int main(int argc, char **argv)
{
    struct trg_testing *t = NULL;
    struct trg_testing_roi *rois;
    uint32_t n;
    int failed;

    if (argc != 2 || trg_testing_open(argv[1], &t) < 0)
        return 1;
    failed = trg_testing_random(t, 200, 700, &rois, &n) < 0 || check(t, rois, n, "100") ||
             check(t, rois, n, "0") || check(t, rois, n, "2000");
    trg_testing_close(t);
    return failed;
}
