/* SPDX-License-Identifier: Apache-2.0 */
/* clusters.h - what the kernels and the host side of the clustering share.  4-byte members only.
 *
 * Words: an `item` is what an RoI holds, a super-pixel or a pixel; a `node` is a set of pixels of
 * one item that are known to touch; nodes that touch are joined, and the one with the lowest number
 * is their `root`, which stands for the cluster. */
#ifndef CLUSTERS_H
#define CLUSTERS_H
#include "trigd/kernel.h"

/* Whether this build of the kernels is for a core with AVX-512. */
#if defined(__AVX512BW__) && !defined(__OPENCL_VERSION__) && !defined(__CUDACC__)
#define CL_VECTORS 1
#else
#define CL_VECTORS 0
#endif

/* Where the scratch memory of an RoI is that begins with item `begin` of the batch.  A core works
 * on one RoI after the other, each a launch, in the same memory, which stays in its cache. */
#if defined(__OPENCL_VERSION__) || defined(__CUDACC__)
#define CL_AT(begin) (begin)
#else
#define CL_AT(begin) (0u * (begin))
#endif

#define CL_GROUP 256u
#define CL_FEW   3072u       /* nodes of an RoI whose parents are in shared memory in CUDA */
#define CL_BAD   0xffffffffu /* key of an item that cannot be */

/* Super-pixels: the key is sensor, column, row of the super-pixel, in these bits. */
#define CL_ROW_BITS    6u
#define CL_COLUMN_BITS 9u
#define CL_ROWS        4u /* of pixels in a super-pixel */
#define CL_COLUMNS     2u
#define CL_NODES       2u          /* sets of pixels in a super-pixel that do not touch */
#define CL_ALONE       0x100u      /* beside its pattern: nothing touches it */
#define CL_RESERVED    0x7f800000u /* bits of a word that are 0 */

struct cl_sensor {
    float column[3], row[3], corner[3]; /* as in geometry.h */
    trg_u32 layer;
};

struct cl_par { /* of a launch, of either plugin */
    struct trg_span in, hits, clusters;
    trg_u32 n_rois;
    trg_u32 room; /* items of a batch, at most */
    trg_u32 n_sensors, n_columns, n_rows;
    trg_u32 with_clusters;         /* somebody reads that product: it is written */
    trg_u32 hint;                  /* the readout says which super-pixels have no neighbours */
    trg_u32 row_bits, column_bits; /* of the key of a single pixel */
    float row_pitch;               /* mm */
    float sigma[3]; /* in pitches: of clusters that span one, two, more columns or rows */
};

/* Sums over the pixels of a node, each an array over the nodes: they add to those of the root. */
enum cl_sum { CL_SIZE, CL_SUM_COLUMN, CL_SUM_ROW, CL_COLUMN_BIT, CL_ROW_BIT, CL_SUMS };

/* Arrays of `room` words each in the scratch memory of a slot; those of nodes take two. */
enum cl_array {
    CL_KEY,
    CL_KEY_2,   /* sorting goes to and fro */
    CL_PATTERN, /* beside the keys */
    CL_PATTERN_2,
    CL_LIST,
    CL_SLOT,
    CL_PARENT,
    CL_SUM = CL_PARENT + 2,
    CL_ARRAYS = CL_SUM + 2 * CL_SUMS
};

/* The state of a batch: a counter, then for each RoI its number of clusters, then for each block of
 * RoIs that of all up to its end; both plus one, 0 while they are not known. */
#define CL_BLOCK               64u
#define CL_STATE_COUNTS        1u
#define CL_STATE_WORDS(n_rois) (CL_STATE_COUNTS + (n_rois) + (n_rois) / CL_BLOCK)

struct cl_summary { /* one RoI */
    trg_u32 n_items, n_bad, n_clusters, n_pixels;
};
#endif
