/* SPDX-License-Identifier: Apache-2.0 */
/* kdbuild.h - what the kernels that build trees and their host side share.  4-byte members only. */
#ifndef KD_BUILD_H
#define KD_BUILD_H
#include "trigd/kernel.h"

#define KD_BUILD_GROUP   256u  /* work-items that build a tree */
#define KD_SELECT_GROUP  1024u /* that select in a node on a GPU: the first has all points */
#define KD_TILE          2048u /* points that a group sorts or partitions at a time */
#define KD_SUBTREE_BELOW 2048u /* points: smaller subtrees are finished by a group each */
#define KD_ITEM_BELOW    96u   /* points: smaller nodes are selected by a work-item each */

struct kd_build_par {
    trg_u32 k;       /* dimensions */
    trg_u32 room;    /* places for points: the stride of all arrays */
    trg_u32 at;      /* where the points' coordinates begin in their buffer */
    trg_u32 by_hand; /* 1: on the CPU, the version written for it */
    trg_u32 levels;  /* by hand: how many, 0: all, of subtree `which` below depth `level` */
    trg_u32 parts;   /* of the blocks: part `which` is made */
    /* of one large tree: */
    trg_u32 n;     /* its points */
    trg_u32 level; /* depth of the subtrees that are worked on */
    trg_u32 which; /* bit d: the order of dimension d is in the second half of its array */
    trg_u32 tiles; /* of KD_TILE points */
    trg_u32 shift; /* of the sort's pass */
};
#endif
