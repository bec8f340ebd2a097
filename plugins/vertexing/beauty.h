/* SPDX-License-Identifier: Apache-2.0 */
/* beauty.h - how much an event looks like one with a b decay, from its vertices: a sum of steps in
 * seventeen features, trained by bench/vertexing/train. */
#ifndef VX_BEAUTY_H
#define VX_BEAUTY_H
#include <stdint.h>

#include "trigd/plugin.h"
#include "vertexing.h"

enum { /* lengths in mm, logarithms natural, of 1 + ... where something may be missing */
       VX_B_SIGNIFICANCE_2, /* log of the largest flight significance of a candidate */
       VX_B_SIGNIFICANCE_3, /* and of one with three tracks */
       VX_B_SIGNIFICANCE_4,
       VX_B_TRACKS,     /* most tracks of a candidate at five sigmas */
       VX_B_CANDIDATES, /* that are at five sigmas */
       VX_B_DISPLACED,  /* tracks, as n_displaced counts them */
       VX_B_IP,         /* log of the largest impact parameter in sigmas */
       VX_B_SELECTED,   /* tracks in the graph */
       VX_B_EDGES,      /* pairs that are left */
       VX_B_FLIGHT,     /* log of the best candidate's: most tracks, then significance */
       VX_B_RADIUS,     /* its flight across the beam */
       VX_B_SLOPE,      /* of its flight */
       VX_B_CHI2,       /* for each degree of freedom */
       VX_B_BACKWARD,   /* 1: it flew against the beam's direction */
       VX_B_PAIRS,      /* scores of pairs (pairs.h) that are left: what is above 0, added up */
       VX_B_SURE,       /* above 1 */
       VX_B_BEST,       /* the largest, and VX_SCORE_ZERO */
       VX_B_FEATURES
};

/* Below a threshold, or at it, is left: of the root, then of the child that it leads to. */
struct beauty_tree {
    uint8_t feature[3];
    float threshold[3], leaf[4];
};

/* The features of an RoI with n_pv primary vertices, then others, as rows of the answer. */
void vx_beauty_features(const uint32_t *rows, uint32_t n_pv, uint32_t n,
                        const struct vx_counts *counts, float *ret_features);
/* The discriminant; the larger, the more like a b decay.  By the rows of a table b_trees, or, where
 * table->collection is NULL, by the trees of beauty_model.h. */
float vx_beauty(const struct trg_input *table, const float *features);
#endif
