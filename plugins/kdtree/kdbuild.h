/* SPDX-License-Identifier: Apache-2.0 */
/* kdbuild.h - what the kernels that build trees and their host side share.  4-byte members only. */
#ifndef KD_BUILD_H
#define KD_BUILD_H
#include "trigd/kernel.h"

#define KD_BUILD_GROUP 256u /* work-items that build a tree */

struct kd_build_par {
    trg_u32 k;       /* dimensions */
    trg_u32 room;    /* places for points: the stride of all arrays */
    trg_u32 at;      /* where the points' coordinates begin in their buffer */
    trg_u32 by_hand; /* 1: on the CPU, the version written for it */
    trg_u32 level;   /* kd_build_subtrees, kd_select_*: depth of the subtrees */
    trg_u32 which;   /* kd_build_subtrees: bit d: the order of dimension d is in the second half */
    trg_u32 n;       /* points of the one tree */
    trg_u32 tiles;   /* of the sort and of the levels above */
    trg_u32 shift;   /* of the sort's pass */
};
#endif
