/* SPDX-License-Identifier: Apache-2.0 */
/* group.h - arguments of the kernels that test trigd/common/group.h. */
#ifndef KDTREE_TEST_GROUP_H
#define KDTREE_TEST_GROUP_H
#include "trigd/kernel.h"

struct group_par {
    trg_u32 n;    /* words that each group works on */
    trg_u32 room; /* words from one group's part of an array to the next one's */
    trg_u32 shift;
};
#endif
