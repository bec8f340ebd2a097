/* SPDX-License-Identifier: Apache-2.0 */
/* bins.h - what all kernels of histograms share: the bin of an entry, and what it weighs. */
#ifndef VX_BINS_H
#define VX_BINS_H
#include "histogram.h"

struct vx_entries { /* of one RoI */
    TRG_GLOBAL const float *z;
    TRG_GLOBAL const trg_u32 *weights;
    trg_u32 weighted, n; /* weighted 0: each counts 1, weights are not read */
};

struct vx_share { /* of a group in the work of an RoI */
    trg_u32 part, parts;
};

/* The bin of an entry; n_bins when it is outside. */
TRG_FN trg_u32 vx_bin(struct vx_grid g, float z)
{
    const float b = (z - g.first) * g.inv_width;

    return b >= 0.0f && b < (float)g.n_bins ? (trg_u32)b : g.n_bins;
}

#define VX_WEIGHT(par, weights, i) ((par).weighted ? (weights)[i] : 1u)
#endif
