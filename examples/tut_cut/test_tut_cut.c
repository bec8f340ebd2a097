/* SPDX-License-Identifier: Apache-2.0 */
/* The product against a loop of its own: which spacepoints, in which order, and when it is
 * TRUNCATED. */
#include "trigd/testing.h"

#include <stdio.h>
#include <stdlib.h>

#define MOST 150u
static const char *const settings[] = {"rho_min_mm", "50",  "rho_max_mm", "900",
                                       "max_points", "150", NULL};

static int is_product(const struct trg_testing_roi *r, uint32_t *ret_wanted)
{
    const float *rho = r->in[0].column[TRG_SPACEPOINTS_RHO_COLUMN];
    const float *z = r->in[0].column[TRG_SPACEPOINTS_Z_COLUMN];
    const float *got = r->out[0].column[TRG_SPACEPOINTS_Z_COLUMN];
    uint32_t n = 0;

    for (uint32_t i = 0; i < r->in[0].n; i++) {
        if (rho[i] < 50.0f || rho[i] >= 900.0f)
            continue;
        if (n < MOST && (n >= r->out[0].n || got[n] != z[i]))
            return 0;
        n++;
    }
    *ret_wanted = n;
    return r->out[0].n == (n < MOST ? n : MOST);
}

static int is_right(const struct trg_testing_roi *rois, uint32_t n)
{
    for (uint32_t r = 0; r < n; r++) {
        uint32_t wanted = 0;

        if (!is_product(&rois[r], &wanted) || rois[r].result.wanted != wanted ||
            rois[r].result.status != (wanted > MOST ? TRG_TRUNCATED : TRG_OK)) {
            printf("RoI %u: %u kept of %u\n", r, rois[r].out[0].n, wanted);
            return 0;
        }
    }
    return 1;
}

int main(int argc, char **argv)
{
    return trg_testing_main(argc, argv, settings, is_right);
}
