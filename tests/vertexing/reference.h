/* SPDX-License-Identifier: Apache-2.0 */
/* reference.h - the same things again: slow, obvious, in double precision. */
#ifndef VX_REFERENCE_H
#define VX_REFERENCE_H
#include <stdint.h>

struct ref_line {
    double p[3], u[3]; /* a point and the unit direction */
    double var;        /* across the track */
};

/* Distance of two lines, for every angle. */
double ref_distance(const struct ref_line *a, const struct ref_line *b);
/* The middle of the closest points of two lines that are not parallel. */
void ref_crossing(const struct ref_line *a, const struct ref_line *b, double *ret_point);
/* Distance of a line from a point. */
double ref_miss(const struct ref_line *a, const double *point);
/* Smallest member of the component of each of n nodes. */
void ref_components(uint32_t n, uint32_t n_edges, const uint32_t (*edges)[2], uint32_t *ret_labels);
/* The point that n lines miss least with given weights: minimum of sum w d^2 / var. */
void ref_vertex(const struct ref_line *lines, const double *weights, uint32_t n, double *ret_point,
                double *ret_cov); /* xx yy zz */
#endif
