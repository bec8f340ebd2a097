/* SPDX-License-Identifier: Apache-2.0 */
/* forest.h - what forest.c, search.c and count.c share of forests and queries. */
#ifndef KD_FOREST_H
#define KD_FOREST_H
#include "kdbuild.h"
#include "kdquery.h"
#include "trigd/common/lane.h"
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

enum { DFS_COUNT, DFS_FILL, BFS, SUM_TILES, SUM_ALL, OFFSETS, N_KERNELS };
struct kd_queries_inner {
    struct kd_forest *f;
    struct trg_module *module, *counting;            /* counting: NULL until kd_count is called */
    struct trg_kernel *kernel[N_KERNELS], *count[2]; /* count: by enum kd_region */
    struct trg_buffer *counts, *tiles, *fronts;
    uint32_t results_room, front_groups, group;
    uint32_t gang_most;
    size_t front_bytes;
    double expected;    /* results of a query, from the last search; below 0: not known */
    struct kdq_par par; /* what does not change */
};
#endif
