/* SPDX-License-Identifier: Apache-2.0 */
/* vertices.h - the last step on the host: peaks to vertices. */
#ifndef ZFINDER_VERTICES_H
#define ZFINDER_VERTICES_H
#include "parameters.h"

struct zf_vertex {
    float z_mm, weight, significance;
};

/* Vertices from the raw peaks of one RoI, highest first; returns how many (at most n_peaks of the
 * config).  *ret_truncated: the list ended before the search did. */
uint32_t zf_vertices(const struct zf_config *c, const struct zf_roi *roi,
                     const struct zf_peak *peaks, uint32_t n_peaks, const struct zf_summary *s,
                     double background, struct zf_vertex *ret_vertices, uint32_t *ret_truncated);
#endif
