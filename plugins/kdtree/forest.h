/* SPDX-License-Identifier: Apache-2.0 */
/* forest.h - what forest.c and search.c share of a forest. */
#ifndef KD_FOREST_H
#define KD_FOREST_H
#include "../common/lane.h"
#include "kdbuild.h"
#include "kdquery.h"
#include "trigd/kdtree.h"

#define KD_PIECE ((size_t)1 << 22) /* bytes of a copy */

enum kd_kernel {
    KD_TREES,
    KD_BLOCKS,
    KDL_KEYS,
    KDL_COUNT,
    KDL_SCAN,
    KDL_SCATTER,
    KDL_ROOTS,
    KDL_SIDES,
    KDL_MOVE,
    KDL_SUBTREES,
    KDS_BEGIN,
    KDS_GROUPS,
    KDS_ITEMS,
    KD_KERNELS
};

struct kd_inner {
    struct trg_device *d;
    struct trg_device_info device;
    struct trg_module *module, *large; /* large: NULL without */
    struct buffers buffers;            /* all of the forest */
    struct trg_kernel *kernel[KD_KERNELS];
    struct trg_buffer *orders, *keys, *side, *counts; /* see the kernels */
    struct trg_buffer *pinned;                        /* for kd_put and kd_get */
};
#endif
