/* SPDX-License-Identifier: Apache-2.0 */
/* score.h - how good vertices are, with the definitions of LHCb's primary-vertex checker:
 *
 * A collision with four tracks or more can be reconstructed; it is isolated when the next such is
 * more than 10 mm away in z, close otherwise.  It is found when a primary vertex lies within five
 * of that vertex's own errors in z (and half a millimetre) of it; a vertex and a collision go
 * together once, nearest first.  A primary vertex that goes with no collision of two tracks or more
 * is false. */
#ifndef VX_SCORE_H
#define VX_SCORE_H
#include "driver.h"

#define SCORE_BINS 10u /* of resolution, by tracks: score_bin_low */

struct score_bin {
    uint32_t n, left_out; /* within ten times the error in x, y and z; beyond in one of them */
    double sum2[3];       /* of residuals in x, y, z of the former */
    double pull2[3];      /* of residuals over errors */
};

struct score {
    uint32_t events;
    uint32_t all, all_found, isolated, isolated_found, close, close_found;
    uint32_t pairs, near, near4; /* of two tracks or more; with a vertex of their own within 1 mm */
    uint32_t reconstructed, false_ones; /* of events whose truth has vertices */
    struct score_bin bin[SCORE_BINS];
    uint32_t b_decays, b_found; /* decays with two tracks or more; a candidate within 5 sigma */
};

extern const uint32_t score_bin_low[SCORE_BINS + 1];

void score_add(struct score *s, const struct event *e, const struct vx_answer *a);
/* part / all, and its binomial error. */
double score_ratio(uint32_t part, uint32_t all, double *ret_error);
#endif
