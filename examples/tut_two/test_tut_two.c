/* SPDX-License-Identifier: Apache-2.0 */
/* Both counts against a loop over the doublets; half of the RoIs name hits that are not there. */
#include "trigd/testing.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static int points(const struct trg_testing_roi *r, uint32_t a, uint32_t b)
{
    const float *x = r->in[0].column[TRG_HITS_X_COLUMN], *y = r->in[0].column[TRG_HITS_Y_COLUMN];
    const float *z = r->in[0].column[TRG_HITS_Z_COLUMN];
    const float ra = sqrtf(x[a] * x[a] + y[a] * y[a]), rb = sqrtf(x[b] * x[b] + y[b] * y[b]);

    return fabsf(z[a] * rb - z[b] * ra) < 150.0f * fabsf(rb - ra);
}

static int is_right(const struct trg_testing_roi *rois, uint32_t n)
{
    for (uint32_t r = 0; r < n; r++) {
        const uint32_t *inner = rois[r].in[1].column[0], *outer = rois[r].in[1].column[1];
        uint32_t good = 0, bad = 0;

        for (uint32_t i = 0; i < rois[r].in[1].n; i++) {
            const int there = inner[i] < rois[r].in[0].n && outer[i] < rois[r].in[0].n;

            bad += !there;
            good += there && points(&rois[r], inner[i], outer[i]);
        }
        if ((uint32_t)rois[r].result.value[0] != good || (uint32_t)rois[r].result.value[1] != bad) {
            printf("RoI %u: %g, %g instead of %u, %u\n", r, (double)rois[r].result.value[0],
                   (double)rois[r].result.value[1], good, bad);
            return 0;
        }
    }
    return 1;
}

/* Takes the second half of the hits from every other RoI. */
static int take_hits(struct trg_testing_roi *rois, uint32_t n)
{
    for (uint32_t r = 0; r < n; r += 2)
        rois[r].in[0].n /= 2;
    return 0;
}

int main(int argc, char **argv)
{
    struct trg_testing *t = NULL;
    struct trg_testing_roi *rois;
    uint32_t n;
    int failed = argc != 2 || trg_testing_open(argv[1], &t) < 0 ||
                 trg_testing_random(t, 200, 500, &rois, &n) < 0 || take_hits(rois, n) ||
                 trg_testing_each(t, NULL, rois, n, is_right) < 0;

    trg_testing_close(t);
    return failed;
}
