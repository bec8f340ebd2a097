/* SPDX-License-Identifier: Apache-2.0 */
/* samples.h - random inputs: bare graphs, and tracks on cylinders with doublets that mix them. */
#ifndef PATHS_SAMPLES_H
#define PATHS_SAMPLES_H
#include "driver.h"

/* `n` doublets between hits at random places on `layers` layers; on average every hit has `degree`
 * doublets that begin there.  Some are turned round, or name hits that do not exist. */
void sample_graph(uint64_t *random, uint32_t n, uint32_t layers, double degree, struct roi *ret);

/* A helix from the beam line: transverse and longitudinal place after arc length s. */
struct helix {
    double pt, phi, cot, d0, z0; /* pT with the sign of the charge */
};
/* Where the helix crosses the cylinder of radius r mm, in a field of `field_t`.  False: nowhere. */
bool helix_cross(const struct helix *h, double field_t, double r, double *ret_x, double *ret_y,
                 double *ret_z);

/* Tracks on `layers` cylinders 40 mm apart, with their doublets, and as many doublets to hits of
 * other tracks close by; all in random order. */
void sample_tracks(uint64_t *random, uint32_t n_tracks, uint32_t layers, double field_t,
                   struct roi *ret);
/* Puts the doublets in order of their inner hit. */
void sample_sort(struct roi *r);
#endif
