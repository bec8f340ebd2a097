/* SPDX-License-Identifier: Apache-2.0 */
/* truth.h - the z-finder's vertices against the truth, for spacepoints in either layout. */
#ifndef ZFINDER_TRUTH_H
#define ZFINDER_TRUTH_H
#include <stdint.h>

#include "generator.h"
#include "trigd/plugin.h"

struct found { /* RoIs with the first vertex within 1 mm of the hard scatter */
    uint32_t good;
    double mean_dz, error_dz; /* of their distances, mm, and its error; 0 when there are none */
};
struct found count_found(const struct generated *rois, uint32_t n,
                         const struct trg_result *results);

/* Replaces phi, rho and z by what comes out after they were sent as 16-bit numbers over the range
 * of the RoI's own.  0, or what encoding_fit says; -ENOMEM. */
int quantize(struct generated *roi);
#endif
