/* SPDX-License-Identifier: Apache-2.0 */
/* steps.h - what the kernels of zfinder_steps and their host side share.  4-byte members only. */
#ifndef ZFINDER_STEPS_H
#define ZFINDER_STEPS_H
#include "trigd/kernel.h"

#define ZS_LAYERS   32u
#define ZS_BINS_MAX 1024u
#define ZS_PLACES   4096.0f /* of a millimetre, in sums of integers */

struct zs_par {
    trg_u32 slices;              /* of all RoIs */
    trg_u32 bins;                /* of a slice's histogram, at most ZS_BINS_MAX */
    float z_max, per_mm;         /* z from -z_max to z_max mm; bins a mm */
    trg_u32 first, of, groups_x; /* of the sums, see there */
};

/* A slice: its points and those of its neighbours, layer by layer, those of the slice first. */
struct zs_slice {
    trg_u32 first[ZS_LAYERS + 1u]; /* first point of each layer, in all points of the batch */
    trg_u32 own[ZS_LAYERS];        /* points of the slice itself */
    trg_u32 pair[ZS_LAYERS + 1u];  /* number of the layer's first pair */
};
#endif
