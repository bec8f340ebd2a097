/* SPDX-License-Identifier: Apache-2.0 */
/* steps_slices.h - generated RoIs as the thesis's kernels take them: slices of phi, each with its
 * points and those of its neighbours. */
#ifndef ZFINDER_STEPS_SLICES_H
#define ZFINDER_STEPS_SLICES_H
#include "steps.h"

#define ZS_ROIS 16u

struct slices {
    const char *preset;
    struct zs_par par;
    struct zs_slice *slice; /* [par.slices] */
    float *rho, *z; /* [n_points]: of all slices, so that most points are there three times */
    uint32_t n_points;
    uint32_t first[ZS_ROIS], of[ZS_ROIS]; /* slices of each RoI */
    uint32_t histograms;                  /* of the RoI with most */
    double points, pairs;                 /* of an RoI, the mean */
    double entries, sum, entries_first;   /* within z_max: of all RoIs; sum of z; of the first */
};

/* RoIs of trigreplay, slices of 0.2 degrees.  A negative errno. */
int slices_make(const char *preset, struct slices *ret);
void slices_free(struct slices *s);
#endif
