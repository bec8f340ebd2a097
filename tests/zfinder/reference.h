/* SPDX-License-Identifier: Apache-2.0 */
/* reference.h - the z-finder once more: slow, obvious, straight from its definition.  Every pair of
 * points is looked at; nothing is sorted. */
#ifndef ZFINDER_REFERENCE_H
#define ZFINDER_REFERENCE_H
#include "generator.h"
#include "vertices.h"

struct reference {
    uint32_t digest, n_entries, n_points;
    uint32_t n_vertices;
    double z[ZF_PEAKS_MAX]; /* mm, highest first */
    double weight[ZF_PEAKS_MAX];
};

/* In float32, as the kernels count: the digest must agree to the bit. */
void reference_float(const struct zf_config *c, const struct generated *g, struct reference *ret);
/* In double precision, with the exact extrapolation of a helix that starts on the beam line; pairs
 * and one histogram only. */
void reference_double(const struct zf_config *c, const struct generated *g, struct reference *ret);
#endif
