/* SPDX-License-Identifier: Apache-2.0 */
/* trigd/kdtree.h - k-d trees on a device: builds forests or one large tree, searches boxes.  A
 * library of its own, libtrigd-kdtree.a (CMake: trigd::kdtree); docs/kdtree.md describes the tree.
 *
 * Threads: a forest belongs to one thread and one queue at a time.  Errors: 0 or a negative errno,
 * logged by the device where it is first known. */
#ifndef TRG_KDTREE_H
#define TRG_KDTREE_H
#include "trigd/device.h"

#ifdef __cplusplus
extern "C" {
#endif

#define KD_DIMS_MAX   8u /* dimensions of a point */
#define KD_NO_PERIOD  KD_DIMS_MAX
#define KD_POINTS_MAX 0x8000000u /* of all trees of a forest: 2^27, for 32-bit indices */

enum kd_build {
    KD_BUILD_AUTO, /* on the CPU by hand; else one large tree by sorting, and a forest by groups */
    KD_BUILD_GROUPS, /* a group a tree */
    KD_BUILD_SORT,   /* one tree, all groups: sorted once, then partitioned level by level */
    KD_BUILD_SELECT, /* one tree, all groups: selection at every node, as in the report of 2016 */
    KD_BUILD_HAND    /* written for the CPU, a tree at a time; there only */
};

enum kd_search {
    KD_SEARCH_AUTO, /* on the CPU by hand, on a GPU breadth first with the gang for the boxes' size
                     */
    KD_SEARCH_DEPTH_FIRST,   /* a work-item a query */
    KD_SEARCH_BREADTH_FIRST, /* a gang a query */
    KD_SEARCH_HAND           /* written for the CPU; there only */
};

enum kd_region {
    KD_BOXES,
    KD_BALLS /* of one radius in all dimensions */
};

struct kd_forest_setup {
    struct trg_device *device;
    uint32_t k;          /* 2 .. KD_DIMS_MAX */
    uint32_t max_points; /* of all trees together, 1 .. KD_POINTS_MAX */
    uint32_t max_trees;  /* >= 1 */
    uint32_t large;      /* 1: with the memory that KD_BUILD_SORT and KD_BUILD_SELECT need */
};

/* Trees and the memory to build them.  Read and write the buffers, do not replace them. */
struct kd_forest {
    uint32_t k, room, max_trees; /* room: the stride of coordinates; >= max_points */
    struct trg_buffer *points;   /* float [k][room]: the caller's */
    struct trg_buffer
        *trees; /* u32 [max_trees][2]: first point and number of points: the caller's */
    struct trg_buffer *nodes; /* float [k][room]: of tree t from its first point's place on */
    struct trg_buffer
        *ids; /* u32 [room]: number of the point (its place in `points`) of each node */
    struct trg_buffer
        *blocks;            /* on the CPU: the copy for searches by hand, see blocks.h; else NULL */
    struct kd_inner *inner; /* the rest */
};

/* -EINVAL: something outside the ranges above. */
int kd_forest_new(const struct kd_forest_setup *setup, struct kd_forest **ret_forest);
void kd_forest_free(struct kd_forest *f); /* NULL is fine */

/* Enqueues the building of trees 0 .. n_trees - 1 from `points` and `trees`, which kernels or
 * writes enqueued before have filled.  `n` is the number of points of the only tree, and ignored
 * with several.  Points with NaN are part of a tree and never found.  -EINVAL: `how` does not fit
 * this device or number of trees. */
int kd_build(struct kd_forest *f, struct trg_queue *q, enum kd_build how, uint32_t n_trees,
             uint32_t n);

/* Builds the only tree, of the points that are there, on so many cores of the CPU, and waits: the
 * threads are made for it, and the caller is one of them.  -EINVAL: no core, more points than there
 * is room for, or not the CPU. */
int kd_build_by_cores(struct kd_forest *f, uint32_t cores, uint32_t n);

struct kd_queries_setup {
    uint32_t max_queries; /* >= 1 */
    uint32_t gang;        /* work-items that share a query breadth first: 1, 2, 4, 8, 16 or 32; for
                           * KD_SEARCH_AUTO the most of them */
    uint32_t front_room;  /* nodes of one level that a gang has room for, >= 2; 0: 1024 */
    uint32_t period_dim;  /* KD_NO_PERIOD: none */
    float period;         /* coordinates of that dimension are in [-period / 2, period / 2] */
};

/* Boxes and the points found in them.  A box of a periodic dimension may begin or end outside of
 * the period's range: its part outside is searched on the other side. */
struct kd_queries {
    uint32_t room; /* the stride of boxes and offsets */
    struct trg_buffer
        *boxes;                 /* float [2][k][room]: low ends, then high ends, both inside: the
                                 * caller's; of   balls the centres [k][room], then the radii [room] */
    struct trg_buffer *tree_of; /* u32 [room]: the tree to search: the caller's */
    struct trg_buffer
        *results; /* u32 [n_results]: numbers of points, in the order of their nodes */
    uint32_t n_results;
    struct trg_buffer *counts; /* u32 [room]: by kd_count */
    struct kd_queries_inner *inner;
};

int kd_queries_new(struct kd_forest *f, const struct kd_queries_setup *setup,
                   struct kd_queries **ret_queries);
void kd_queries_free(struct kd_queries *s); /* NULL is fine; before the forest */

/* Searches n boxes and waits for the results, whose memory is sized by their number.  `largest` is
 * the number of points of the largest tree that is searched, or more.  -EOVERFLOW: 2^32 - 1 results
 * or more; search fewer boxes. */
int kd_search(struct kd_queries *s, struct trg_queue *q, enum kd_search how, uint32_t n,
              uint32_t largest);

/* Enqueues the counting of the points in each of n boxes or balls, to `counts`: no list is made,
 * and nothing is waited for.  A point is in a ball when the sum of its squared distances in
 * float32, dimension by dimension, is at most the squared radius.  By hand on the CPU; elsewhere a
 * group a query.  -EINVAL: more queries than there is room for, or balls with a periodic dimension.
 */
int kd_count(struct kd_queries *s, struct trg_queue *q, enum kd_region region, uint32_t n);

/* Where the results of each of the n queries begin, and their end: copied to `ret` [n + 1]. */
int kd_offsets(struct kd_queries *s, struct trg_queue *q, uint32_t *ret);

/* Copies between plain memory and a buffer of the device, in pieces; waits. */
int kd_put(struct kd_forest *f, struct trg_queue *q, struct trg_buffer *to, size_t at,
           const void *from, size_t bytes);
int kd_get(struct kd_forest *f, struct trg_queue *q, struct trg_buffer *from, size_t at, void *to,
           size_t bytes);

#ifdef __cplusplus
}
#endif
#endif
