/* SPDX-License-Identifier: Apache-2.0 */
/* truth.h - hits from clusters beside the places where the generator's particles crossed sensors.
 *
 * A hit belongs to the particles that crossed its sensor within TRUTH_NEAR of it in x and y. */
#ifndef CLUSTERS_TRUTH_H
#define CLUSTERS_TRUTH_H
#include "../hough/match.h"
#include "banks.h"
#include "generator.h"
#include "geometry.h"

#define TRUTH_NEAR  0.1 /* mm */
#define TRUTH_WIDTH 3u  /* hits that span one, two, more columns or rows */

struct truth {                 /* sums over events */
    uint64_t crossings, found; /* found: there is a hit near */
    uint64_t hits, true_hits;  /* true: there is a crossing near */
    struct truth_width {       /* along columns and rows, of the hits nearest to a crossing */
        uint64_t n;
        double square, pull_square; /* mm^2; in errors */
    } width[TRUTH_WIDTH];
};

/* Adds an event of the preset velo-banks. */
void truth_add(struct truth *t, const struct geometry *g, const struct generated *roi,
               const struct clusters_config *c, const struct products *found);
double truth_efficiency(const struct truth *t);
double truth_purity(const struct truth *t);
/* Root mean square of the residuals along columns and rows, um; with width TRUTH_WIDTH of all. */
double truth_resolution(const struct truth *t, uint32_t width);
double truth_pull(const struct truth *t, uint32_t width);

/* The hits as an event of the tests of hough, with their particles.  -ENOMEM. */
int truth_event(const struct generated *roi, const struct products *found, struct event *ret);
#endif
